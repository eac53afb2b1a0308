//! The actor behind a runner: the only task that touches the process.
//!
//! What it decides is in values that know no process: [`Lifecycle`] for the phases of the process,
//! [`DeliveryQueue`](crate::delivery::DeliveryQueue) for messages,
//! [`PendingAnswer`](crate::answer::PendingAnswer) for answers, [`InputQueue`] for bytes on their
//! way. The actor feeds them with what happens and with the time, and does what they say.

mod answering;
mod attention;
mod channel;
mod ending;
mod handle;
mod input;
mod interrupting;
mod keyboard;
mod lifecycle;
mod line_sight;
mod published;
mod question;
mod reader;
mod screen;
mod sending;
mod terminal;
mod unread;

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coven_adapters::{AgentAdapter, OutputChunk, TypedText};
use coven_model::{AgentVerdict, EvidenceSource, ModelRetry, VerdictEvidence};
use coven_runtime::domain::{Pane, PaneStream, ReadOutcome, StopMode};
use coven_runtime::readiness::watch;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::event::RunnerEvent;
use crate::launch::StartError;
use crate::output::OutputStreams;
use crate::redact::Redactor;
use crate::task::AgentTask;

pub(crate) use attention::READER_LOOK_TIME;
pub(crate) use channel::{ChannelProgress, ChannelReader};
pub use ending::StopError;
pub(crate) use handle::{ActorHandle, Request};
use handle::{Reply, StopReply};
use input::{InputQueue, InputSecrecy};
pub(crate) use keyboard::{LineTypist, TypedLine};
use lifecycle::Lifecycle;
use published::PublishedState;
pub(crate) use reader::AgentReader;
pub(crate) use unread::DELETE_LINE;

/// How many bytes are read at once.
const READ_SIZE: usize = 64 * 1024;

/// How many reads make a turn, after which requests and deadlines get theirs.
const READS_PER_TURN: usize = 4;

/// How many requests may wait.
const REQUEST_CAPACITY: usize = 64;

thread_local! {
    /// What is read into. An agent that does nothing needs none of its own.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the output of a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputReading {
    /// There may be more to read at once.
    More,
    /// There is nothing until the pane says so.
    Waiting,
    /// Every stream has ended.
    Ended,
}

/// Why an actor stops following its process.
enum LoopEnd {
    /// Nothing of the process is left.
    Exited,
    /// A handle asked for it. The process is left as it is.
    Detached(Reply<()>),
}

/// One agent and everything that is known of it.
pub(crate) struct RunnerActor {
    adapter: Arc<dyn AgentAdapter>,
    task: AgentTask,
    /// The folder of the attempt, where its screen is saved.
    folder: Option<PathBuf>,
    /// When the agent began to be followed. All times here count from it.
    started: Instant,
    pane: Box<dyn Pane>,
    reading: OutputReading,
    input: InputQueue,
    output: OutputStreams,
    redactor: Redactor,
    reader: AgentReader,
    lifecycle: Lifecycle<StopReply>,
    published: Arc<PublishedState>,
    /// The agent's own id for its conversation.
    session: Option<String>,
    /// How much of its output is known to be lost.
    lost: u64,
}

impl RunnerActor {
    pub(crate) fn new(
        adapter: Arc<dyn AgentAdapter>,
        task: AgentTask,
        pane: Box<dyn Pane>,
        reader: AgentReader,
        folder: Option<PathBuf>,
        offset: u64,
    ) -> Self {
        let redactor = Redactor::new(task.secrets.iter().cloned());
        Self {
            folder,
            started: Instant::now(),
            pane,
            reading: OutputReading::More,
            input: InputQueue::default(),
            output: OutputStreams::new(offset, &redactor),
            redactor,
            lifecycle: Lifecycle::new(task.timeout, adapter.config().grace()),
            published: Arc::new(PublishedState::new(reader.verdict())),
            reader,
            session: task.resume.clone(),
            lost: 0,
            adapter,
            task,
        }
    }

    /// Says which conversation this is, where that is known from the start.
    pub(crate) fn with_session(mut self, session: Option<String>) -> Self {
        self.session = session.or(self.session);
        self
    }

    /// Lets the actor run. It ends with its process, when it is detached, or with the reactor. If
    /// it panics, that is the outcome of its task.
    pub(crate) fn spawn(mut self) -> Result<ActorHandle, StartError> {
        let descriptor = self.pane.readiness().ok_or_else(|| {
            let reason = "its pane does not tell when something happens";
            StartError::Watch(io::Error::new(io::ErrorKind::Unsupported, reason))
        })?;
        let descriptor = descriptor.try_clone_to_owned().map_err(StartError::Watch)?;
        let descriptor = watch(descriptor).map_err(StartError::Watch)?;
        let (requests, receiver) = mpsc::channel(REQUEST_CAPACITY);
        let handle = ActorHandle::new(requests, &self.published);
        // After the first subscription was made, so that it misses nothing.
        self.begin_channel();
        tokio::spawn(self.run(descriptor, receiver));
        Ok(handle)
    }

    /// Follows the process until nothing of it is left or a handle detaches it.
    async fn follow(
        &mut self,
        descriptor: &AsyncFd<OwnedFd>,
        requests: &mut mpsc::Receiver<Request>,
    ) -> LoopEnd {
        let mut has_handles = true;
        loop {
            self.advance();
            if self.is_over() {
                return LoopEnd::Exited;
            }
            let due = self.deadline().map(|due| self.started + due);
            let sleep = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                request = requests.recv(), if has_handles => match request {
                    Some(Request::Detach(reply)) => return LoopEnd::Detached(reply),
                    Some(request) => self.request(request),
                    None => has_handles = false,
                },
                ready = descriptor.readable() => {
                    // Readiness is taken back first, so that what comes now is seen next time.
                    if let Ok(mut ready) = ready {
                        ready.clear_ready();
                    }
                    self.look_again();
                },
                () = sleep => {}
            }
        }
    }

    /// How long the agent has been followed.
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Does everything there is to do.
    fn advance(&mut self) {
        if self.reading != OutputReading::Waiting {
            self.read();
        }
        if self.pane.lost() > self.lost {
            self.lost = self.pane.lost();
            self.repaint();
        }
        self.notice_input_mode();
        self.write_due();
        self.flush();
        self.settle_unverified();
        self.look();
        self.watch_channel();
        self.save_channel();
        self.tick();
        self.flush();
    }

    /// When to go on if nothing happens before.
    fn deadline(&self) -> Option<Duration> {
        if self.reading == OutputReading::More {
            return Some(Duration::ZERO);
        }
        let deadlines = [
            self.input.deadline(),
            self.reader_deadline(),
            self.channel_deadline(),
            self.lifecycle.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// The pane may have something to tell.
    fn look_again(&mut self) {
        if self.reading == OutputReading::Waiting {
            self.reading = OutputReading::More;
        }
    }

    /// Reads one turn of output.
    fn read(&mut self) {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(READ_SIZE, 0);
            for _ in 0..READS_PER_TURN {
                match self.pane.read(buffer) {
                    Ok(ReadOutcome::Data(stream, length)) => self.take(stream, &buffer[..length]),
                    Ok(ReadOutcome::Pending) => {
                        if self.reading != OutputReading::Ended {
                            self.reading = OutputReading::Waiting;
                        }
                        return;
                    }
                    // A pane that cannot be read any more has nothing to say any more.
                    Ok(ReadOutcome::End) | Err(_) => {
                        self.reading = OutputReading::Ended;
                        return;
                    }
                }
            }
            self.reading = OutputReading::More;
        });
    }

    fn take(&mut self, stream: PaneStream, bytes: &[u8]) {
        let event = self.output.feed(stream, bytes);
        if let RunnerEvent::Output { clean, .. } = &event {
            self.adapter.observe(OutputChunk {
                on_stderr: stream == PaneStream::Error,
                raw: bytes,
                clean,
            });
        }
        self.tell(event);
        let now = self.now();
        match &mut self.reader {
            AgentReader::Terminal(terminal) => {
                let replies = terminal.feed(bytes, now);
                self.input.push(&replies);
            }
            AgentReader::Transcript(decoder) => {
                let session = self.published.tell_entries(reader::decode(decoder, stream, bytes));
                self.session = session.or(self.session.take());
                let retry = decoder.retry().cloned();
                self.report_retry(retry);
            }
            AgentReader::Channel(_) => self.hear(stream, bytes),
        }
    }

    /// Publishes that an agent without a terminal tries to reach its model again, or got through.
    fn report_retry(&self, retry: Option<ModelRetry>) {
        let retry = retry.map(|retry| Box::new(self.redactor.clean_retry(&retry)));
        let known = self.published.verdict.borrow().clone();
        if known.retry == retry {
            return;
        }
        let evidence = match &retry {
            None => AgentReader::headless_verdict().evidence,
            Some(retry) => VerdictEvidence {
                source: EvidenceSource::Transcript,
                rule: "retry".to_owned(),
                region: "output".to_owned(),
                text: retry.to_string(),
                ..known.evidence
            },
        };
        self.published.set_verdict(AgentVerdict { evidence, retry, ..known }, None);
    }

    fn tell(&self, event: RunnerEvent) {
        self.published.tell(event);
    }

    /// Queues bytes of an answer or a message, and notes how many belong together.
    fn write_input(&mut self, bytes: &[u8], together: usize) {
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.typed_bytes = u32::try_from(together).unwrap_or(u32::MAX);
            terminal.typed_pieces += 1;
            terminal.reader_watch.typed();
            let is_line = self.pane.input_mode().is_some_and(|mode| mode.collects_lines);
            terminal.has_open_line = is_line && !bytes.ends_with(b"\r") && !bytes.ends_with(b"\n");
        }
        self.write(bytes);
    }

    /// Takes note of what the terminal does with what is typed.
    fn notice_input_mode(&mut self) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let mode = self.pane.input_mode();
        if mode.is_some_and(|mode| !mode.collects_lines) {
            terminal.keyboard.line.clear();
        }
        let typed = match mode {
            Some(mode) if mode.hides_line() => TypedText::Hidden,
            Some(mode) if mode.collects_lines => TypedText::Line,
            _ => TypedText::Shown,
        };
        if terminal.sniffer.typed_text() != typed {
            terminal.sniffer.set_typed_text(typed);
            terminal.pace.changed(now);
        }
    }

    /// Queues bytes for the process, as typed by a person.
    fn write(&mut self, bytes: &[u8]) {
        self.input.push(bytes);
        self.note_typing();
    }

    /// Writes what must not be recorded. What the process prints of it is taken out as well.
    fn write_secret(&mut self, bytes: &[u8]) {
        self.input.push_as(bytes, InputSecrecy::Secret);
        self.note_typing();
    }

    fn write_due(&mut self) {
        if self.input.push_due(self.now()) {
            self.note_typing();
        }
    }

    fn note_typing(&mut self) {
        let now = self.now();
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.sniffer.typed(now);
            // What it does about that, nobody knows yet: it has the time again.
            self.published.unexplained.send_replace(false);
        }
    }

    /// Writes what the process takes. For the rest the pane says when there is room.
    fn flush(&mut self) {
        self.input.flush(|bytes, secrecy| match secrecy {
            InputSecrecy::Plain => self.pane.write(bytes),
            InputSecrecy::Secret => self.pane.write_secret(bytes),
        });
    }

    /// Ends the process, politely or not.
    fn stop_pane(&mut self, stop: StopMode) {
        // A process that has ended meanwhile cannot be asked. One that still runs although this
        // failed is found at the deadline of the stop.
        drop(self.pane.stop(stop));
        self.look_again();
    }
}
