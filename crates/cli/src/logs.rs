//! `coven logs`: what tasks printed, or showed on their terminals.

mod screen;
mod tail;
mod whole_lines;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use coven_api::ApiClient;
use coven_api::client::StreamedEvent;
use coven_api::task::{LogQuery, LogText, OutputQuery, OutputStream, TranscriptQuery};
use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::{AgentMode, JobOutcome, TranscriptEntry};
use serde_json::{Value, json};

use crate::connect::{self, block_on};
use crate::events::EventPump;
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget, TaskFilter};
use crate::printed::PrintedOutput;
use crate::signals::{SignalEvent, SignalListener};
use crate::transcript::TranscriptText;
use crate::{output, transcript};

use screen::ShownLines;
use tail::{TailPrinter, TailSearch};
use whole_lines::WholeLines;

/// How long the log of a terminal is left alone after a look: a program that paints all the time
/// makes an event of each piece.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How many entries of a transcript are asked for at once: as many as there may be in one answer.
/// For each answer the daemon reads up to two blocks of the tape again, so fewer take longer.
const MAX_PAGE_ENTRIES: usize = 10_000;

/// What `coven logs` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven logs                          the newest session of this folder
  coven logs brisk-otter              what its tasks printed, one after the other
  coven logs brisk-otter/build.3 -f   one task, and what it prints from now on
  coven logs brisk-otter --tail 20    the last lines of each task
  coven logs brisk-otter/plan --raw   exactly the bytes, also those that colour and move
  coven logs brisk-otter/plan --attempt 1

Of an agent on a terminal it shows what a person saw there: what scrolled off, and what stands on
the screen, each line once. Of an agent without a terminal it shows what it said and did, with its
tools, plans and changes; --plain shows its output instead, --json every entry as it is.")]
pub(crate) struct Arguments {
    /// The session, or a task of it; the newest of this folder unless said.
    #[arg(value_name = "NAME[/TASK]", default_value = find::NEWEST, add = crate::complete::sessions())]
    target: SessionTarget,
    /// Go on with what is printed from now on.
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines, and with --follow what comes after them.
    #[arg(long, value_name = "LINES", conflicts_with = "raw")]
    tail: Option<usize>,
    #[command(flatten)]
    form: LogForm,
    /// Which attempt; the newest unless said.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Only what went to stdout, or to stderr.
    #[arg(long, value_name = "STREAM", value_parser = ["out", "err"])]
    stream: Option<String>,
}

/// In which form the log is printed; as a person would read it unless said.
#[derive(clap::Args)]
struct LogForm {
    /// The bytes as they came.
    #[arg(long, conflicts_with = "plain")]
    raw: bool,
    /// The output without escape sequences, also where more is known.
    #[arg(long)]
    plain: bool,
    /// Each line, or what an agent said or did, as a line of JSON.
    #[arg(long, conflicts_with_all = ["raw", "tail"])]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::workflow(&client, &arguments.target.session).await?;
        if arguments.target.task.is_some() || arguments.follow {
            let wanted = if arguments.follow { TaskFilter::Running } else { TaskFilter::Started };
            let task = find::choose(&workflow, arguments.target.task.as_deref(), wanted)?;
            return TaskLog::new(&client, &workflow, task, arguments)?.show().await;
        }
        let begun: Vec<&TaskItem> = workflow.tasks.iter().filter(|task| task.attempt > 0).collect();
        if begun.is_empty() {
            return Err(CommandFailure::failed(format!(
                "{} has printed nothing yet",
                workflow.item.name
            )));
        }
        let several = begun.len() > 1;
        for (place, task) in begun.into_iter().enumerate() {
            if several && !arguments.form.json {
                let gap = if place > 0 { "\n" } else { "" };
                output::line(&format!("{gap}==> {} <==", task.id))?;
            }
            TaskLog::new(&client, &workflow, task, arguments)?.show().await?;
            if output::is_reader_gone() {
                break;
            }
        }
        Ok(())
    })
}

/// How many entries are asked for to have so many lines: some are not shown.
fn tail_entries(lines: usize) -> u64 {
    (2 * lines.max(10)).min(MAX_PAGE_ENTRIES) as u64
}

/// Where the words of a task come from.
enum LogSource {
    /// What it said and did, shown up to the entry with this id.
    Transcript { after: Option<u64> },
    /// What its terminal showed.
    Screen(ShownLines),
    /// What it printed, shown up to here.
    Stream { offset: u64 },
}

impl LogSource {
    /// When it must be looked at again, even if nothing happens.
    fn due(&self) -> Option<Instant> {
        match self {
            Self::Screen(shown) => shown.due(Instant::now()),
            Self::Transcript { .. } | Self::Stream { .. } => None,
        }
    }
}

/// What one task printed.
struct TaskLog<'a> {
    client: &'a ApiClient,
    /// By what requests name the session.
    id: String,
    workflow: &'a WorkflowDetails,
    task: &'a TaskItem,
    arguments: &'a Arguments,
    text: TailPrinter,
    transcript: TranscriptText,
    /// For programs, which get whole lines.
    lines: WholeLines,
    /// Between exact bytes and a terminal.
    printed: Option<PrintedOutput>,
}

impl<'a> TaskLog<'a> {
    fn new(
        client: &'a ApiClient,
        workflow: &'a WorkflowDetails,
        task: &'a TaskItem,
        arguments: &'a Arguments,
    ) -> Result<Self> {
        let mut printed = None;
        if arguments.form.raw && std::io::stdout().is_terminal() {
            printed = Some(PrintedOutput::new()?);
        }
        let text = TailPrinter::new(arguments.tail);
        let (transcript, lines) = (TranscriptText::new(output::paint()), WholeLines::default());
        let id = workflow.item.address();
        Ok(Self { client, id, workflow, task, arguments, text, transcript, lines, printed })
    }

    async fn show(mut self) -> Result {
        let mut events = self
            .arguments
            .follow
            .then(|| EventPump::session(self.client, &self.id, Some(self.workflow.last_seq)));
        let mut source = self.source().await;
        let mut signals = SignalListener::listen()?;
        if let LogSource::Stream { offset } = &mut source {
            self.to_tail(offset).await?;
        }
        loop {
            let live = match &mut source {
                LogSource::Transcript { after } => self.entries(after).await?,
                LogSource::Screen(shown) => self.screen(shown).await?,
                LogSource::Stream { offset } => self.output(offset).await?,
            };
            self.text.begin()?;
            if output::is_reader_gone() {
                return Ok(());
            }
            let Some(events) = events.as_mut().filter(|_| live) else { break };
            tokio::select! {
                told = signals.next() => if told != SignalEvent::Resized { break },
                () = self.more(events, source.due()) => {}
            }
        }
        if self.task.lost > 0 {
            // What the end lacks is in no gap of what was read.
            output::say!("note: {}", JobOutcome::lost_text(self.task.lost));
        }
        if let Some(last) = self.lines.last() {
            return self.told("line", None, &last);
        }
        if self.text.is_at_line_end() || self.arguments.form.raw {
            Ok(())
        } else {
            output::line("")
        }
    }

    /// Where its words come from.
    async fn source(&self) -> LogSource {
        if self.has_transcript().await {
            return LogSource::Transcript { after: None };
        }
        let Arguments { form, stream, .. } = self.arguments;
        if self.task.mode == AgentMode::Interactive && !form.raw && stream.is_none() {
            return LogSource::Screen(ShownLines::default());
        }
        LogSource::Stream { offset: 0 }
    }

    /// What is new of what its terminal showed; whether more may come.
    async fn screen(&mut self, shown: &mut ShownLines) -> Result<bool> {
        let log = self.lines(shown.from()).await?;
        let live = log.live;
        let new = if self.arguments.follow { shown.next(&log, Instant::now()) } else { log.lines };
        for line in new {
            if self.arguments.form.json {
                self.told("line", None, &line)?;
            } else {
                self.text.write(&format!("{}\n", output::clean(&line)))?;
            }
        }
        Ok(live)
    }

    /// Says that bytes are missing in what is shown, unless the end says that they are lost.
    fn say_dropped(&self, bytes: u64) {
        if bytes > self.task.lost {
            output::say!(
                "note: {bytes} bytes are missing here: they are no longer kept, or the disk was full"
            );
        }
    }

    /// All lines of its terminal from a number on.
    async fn lines(&self, from: u64) -> Result<LogText> {
        let tail = self.arguments.tail.filter(|_| !self.arguments.follow);
        let tail = tail.map(|lines| lines as u64);
        let query = LogQuery { attempt: self.arguments.attempt, from: Some(from), tail };
        let (id, task) = (self.id.as_str(), self.task.id.as_str());
        let mut log = self.client.log(id, task, query).await?;
        if from == 0 {
            self.say_dropped(log.dropped);
        }
        loop {
            let from = Some(log.first + log.lines.len() as u64);
            let more = self.client.log(id, task, LogQuery { from, tail: None, ..query }).await?;
            if more.lines.is_empty() {
                return Ok(log);
            }
            (log.standing, log.live) = (more.standing, more.live);
            log.lines.extend(more.lines);
        }
    }

    /// Whether more is known of it than what it printed.
    async fn has_transcript(&self) -> bool {
        let Arguments { form, stream, .. } = self.arguments;
        if form.raw || form.plain || stream.is_some() || !transcript::is_expected(self.task) {
            return false;
        }
        let attempt = self.arguments.attempt;
        let query = TranscriptQuery { attempt, limit: Some(1), ..TranscriptQuery::default() };
        let told = self.client.transcript(self.id.as_str(), self.task.id.as_str(), &query).await;
        told.is_ok_and(|told| !told.entries.is_empty() || told.live)
    }

    /// What is new in what it said and did; whether more may come.
    async fn entries(&mut self, after: &mut Option<u64>) -> Result<bool> {
        loop {
            let mut query = TranscriptQuery {
                attempt: self.arguments.attempt,
                after: *after,
                limit: Some(MAX_PAGE_ENTRIES as u64),
                ..TranscriptQuery::default()
            };
            if let (None, Some(lines)) = (*after, self.arguments.tail) {
                query.tail = Some(tail_entries(lines));
            }
            let told =
                self.client.transcript(self.id.as_str(), self.task.id.as_str(), &query).await?;
            if after.is_none() {
                self.say_dropped(told.dropped);
            }
            if self.arguments.form.json {
                let items: Vec<Value> =
                    told.entries.iter().filter_map(|entry| self.entry(entry)).collect();
                output::json_lines(&items)?;
            } else {
                self.text.write(&self.transcript.of(&told.entries))?;
            }
            *after = Some(told.next);
            if !told.more || output::is_reader_gone() {
                return Ok(told.live);
            }
        }
    }

    /// An entry of what it said and did, with its task.
    fn entry(&self, entry: &TranscriptEntry) -> Option<Value> {
        let mut item = serde_json::to_value(entry).ok()?;
        item["task"] = json!(self.task.id);
        Some(item)
    }

    /// Moves the offset to where the last lines that are wanted begin, or somewhat before. Reads
    /// from the end, so that it takes no longer for a long output than for a short one.
    async fn to_tail(&self, offset: &mut u64) -> Result {
        let Some(lines) = self.arguments.tail else { return Ok(()) };
        let mut search = TailSearch::new(lines);
        while let Some((from, limit)) = search.next() {
            let query = OutputQuery { limit: Some(limit), ..self.query(Some(from)) };
            search
                .take(&self.client.output(self.id.as_str(), self.task.id.as_str(), &query).await?);
        }
        let (place, missed) = search.place();
        if missed > 0 {
            output::say!("note: {missed} bytes are no longer kept");
        }
        *offset = place;
        Ok(())
    }

    fn query(&self, offset: Option<i64>) -> OutputQuery {
        let stream = match self.arguments.stream.as_deref() {
            Some("out") => Some(OutputStream::Out),
            Some(_) => Some(OutputStream::Err),
            None => None,
        };
        OutputQuery { attempt: self.arguments.attempt, offset, stream, ..OutputQuery::default() }
    }

    /// What is new in its output; whether more may come.
    async fn output(&mut self, offset: &mut u64) -> Result<bool> {
        loop {
            let query = self.query(i64::try_from(*offset).ok());
            let (id, task) = (&self.id.clone(), self.task.id.as_str());
            if self.arguments.form.raw {
                let (bytes, next) = self.client.output_bytes(id, task, &query).await?;
                self.print(&bytes)?;
                if output::is_reader_gone() {
                    return Ok(false);
                }
                if next <= *offset {
                    let now = self.client.workflow(id).await?;
                    return Ok(now
                        .tasks
                        .iter()
                        .any(|found| found.id == self.task.id && found.live));
                }
                *offset = next;
                continue;
            }
            let piece = self.client.output(id, task, &query).await?;
            self.say_dropped(piece.dropped);
            if self.arguments.form.json {
                self.told_lines(&piece.text)?;
            } else if !piece.text.is_empty() {
                self.text.write(&piece.text.replace('\r', ""))?;
            }
            let forth = piece.next > *offset;
            *offset = piece.next;
            if !forth || piece.next >= piece.end || output::is_reader_gone() {
                return Ok(piece.live);
            }
        }
    }

    /// One thing as a line of JSON.
    fn told(&self, kind: &str, tool: Option<&str>, text: &str) -> Result {
        output::json_lines(&[self.item(kind, tool, text)])
    }

    fn item(&self, kind: &str, tool: Option<&str>, text: &str) -> Value {
        let mut item = json!({"task": self.task.id, "kind": kind, "text": text});
        if let Some(tool) = tool {
            item["tool"] = json!(tool);
        }
        item
    }

    /// The lines of a piece of output, as soon as each is whole.
    fn told_lines(&mut self, text: &str) -> Result {
        let lines = self.lines.push(&text.replace('\r', ""));
        let items: Vec<Value> = lines.iter().map(|line| self.item("line", None, line)).collect();
        output::json_lines(&items)
    }

    /// Prints exact bytes: to another program all of them, to a terminal what does not reach beyond
    /// its screen.
    fn print(&mut self, bytes: &[u8]) -> Result {
        match &mut self.printed {
            Some(printed) => printed.print(bytes),
            None => output::bytes(bytes),
        }
    }

    /// Waits until this task printed something or something else happened to it, or until it is
    /// time.
    async fn more(&self, events: &mut EventPump, due: Option<Instant>) {
        if due.is_some() {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        loop {
            let due = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            let next = tokio::select! {
                next = events.next() => next,
                () = due => return,
            };
            match next {
                Ok(Some(StreamedEvent::Event(envelope))) => {
                    if envelope.data.get("task").and_then(|task| task.as_str())
                        == Some(self.task.id.as_str())
                    {
                        return;
                    }
                }
                Ok(Some(StreamedEvent::Reconnecting(_))) => drop(connect::daemon().await),
                // At the end, what is left is read once more.
                Ok(Some(_) | None) | Err(_) => return,
            }
        }
    }
}
