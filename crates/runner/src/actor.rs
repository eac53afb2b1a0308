//! The actor behind a runner: the only one that touches the process.

mod answering;
mod ending;
mod eyes;
mod handle;
mod resting;
mod sending;
mod terminal;

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coven_adapters::transcript::{Decoder, Entry};
use coven_adapters::{AgentAdapter, OutputChunk};
use coven_model::{Outcome, Timestamp, Verdict};
use coven_runtime::domain::{Pane, ReadOutcome, Stream};
use coven_runtime::readiness::watch;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot, watch as kept};

use crate::event::Event;
use crate::launch::StartError;
use crate::mark::{self, Mark};
use crate::news::Teller;
use crate::outcome::Cause;
use crate::output::Output;
use crate::redact::Redactor;
use crate::task::Task;

pub use ending::StopError;
use ending::Stopping;
pub(crate) use eyes::Eyes;
use handle::Answered;
pub(crate) use handle::{Handle, Request};

/// How much is read before anything else gets a turn.
const TURN: usize = 64 * 1024;

thread_local! {
    /// What is read into. An agent that does nothing needs none of its own.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How many reads make a turn.
const READS: usize = 4;

/// How often bytes that the process does not take are tried again.
const RETRY: Duration = Duration::from_millis(20);

/// How often a process without a descriptor, or one that closed its output, is looked at.
const POLL: Duration = Duration::from_millis(20);

/// How many requests may wait.
const REQUESTS: usize = 64;

/// Everything about one agent.
pub(crate) struct Actor {
    adapter: Arc<dyn AgentAdapter>,
    task: Task,
    pane: Box<dyn Pane>,
    eyes: Eyes,
    folder: Option<PathBuf>,
    output: Output,
    redactor: Redactor,
    /// Where output is read to.
    /// What the process has not taken yet.
    unsent: Vec<u8>,
    /// Writes that must not follow each other too closely, and when they are due.
    later: Vec<(Duration, Vec<u8>)>,
    events: Teller,
    verdict: kept::Sender<Verdict>,
    /// Since when the agent does what the verdict says.
    since: kept::Sender<Timestamp>,
    outcome: kept::Sender<Option<Outcome>>,
    started: Instant,
    /// When the agent was started, and what it was doing when it was found.
    born: Timestamp,
    before: Option<Mark>,
    /// Every stream has ended.
    ended: bool,
    /// There may be more to read.
    more: bool,
    cause: Option<Cause>,
    stopping: Option<Stopping>,
    stop_replies: Vec<oneshot::Sender<Result<Outcome, StopError>>>,
    session: Option<String>,
    /// How many inputs the task's queue had.
    queue_length: usize,
    /// The outcome of a task that was done before its process ended.
    finished: Option<Outcome>,
    /// How many times the terminal was resized.
    resizes: u64,
}

impl Actor {
    pub(crate) fn new(
        adapter: Arc<dyn AgentAdapter>,
        task: Task,
        pane: Box<dyn Pane>,
        eyes: Eyes,
        folder: Option<PathBuf>,
        offset: u64,
    ) -> Self {
        let redactor = Redactor::new(task.secrets.iter().cloned());
        let (verdict, now) = (eyes.verdict(), mark::now());
        Self {
            adapter,
            pane,
            eyes,
            folder,
            output: Output::new(offset, &redactor),
            redactor,
            unsent: Vec::new(),
            later: Vec::new(),
            events: Teller::new(),
            verdict: kept::Sender::new(verdict),
            since: kept::Sender::new(now),
            outcome: kept::Sender::new(None),
            started: Instant::now(),
            born: now,
            before: None,
            ended: false,
            more: true,
            cause: None,
            stopping: None,
            stop_replies: Vec::new(),
            session: task.resume.clone(),
            queue_length: task.pending_inputs.len(),
            finished: None,
            resizes: 0,
            task,
        }
    }

    /// Says which conversation this is, where that is known from the start.
    pub(crate) fn with_session(mut self, session: Option<String>) -> Self {
        self.session = session.or(self.session);
        self
    }

    /// Says what the agent was doing when it was found.
    pub(crate) fn with_past(mut self, last: Option<Mark>) -> Self {
        self.born = last.as_ref().and_then(|last| last.started).unwrap_or(self.born);
        self.before = last;
        self
    }

    /// Lets the actor run. It ends with its process, or earlier only if the reactor does.
    pub(crate) fn spawn(self) -> Result<Handle, StartError> {
        let descriptor = match self.pane.readiness() {
            Some(descriptor) => Some(descriptor.try_clone_to_owned().map_err(StartError::Watch)?),
            None => None,
        };
        let descriptor = descriptor.map(watch).transpose().map_err(StartError::Watch)?;
        let (requests, receiver) = mpsc::channel(REQUESTS);
        let handle = Handle::new(
            requests,
            &self.events,
            (self.verdict.subscribe(), self.since.subscribe()),
            self.outcome.subscribe(),
        );
        tokio::spawn(self.run(descriptor, receiver));
        Ok(handle)
    }

    async fn run(
        mut self,
        descriptor: Option<AsyncFd<OwnedFd>>,
        mut requests: mpsc::Receiver<Request>,
    ) {
        let mut listening = true;
        loop {
            self.advance();
            if self.is_over() {
                break;
            }
            let wait = self.deadline(descriptor.is_some());
            let sleep = async {
                match wait {
                    Some(due) => tokio::time::sleep_until((self.started + due).into()).await,
                    None => std::future::pending().await,
                }
            };
            let readable = async {
                match &descriptor {
                    Some(descriptor) => descriptor.readable().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                request = requests.recv(), if listening => match request {
                    Some(Request::Detach(reply)) => {
                        drop(self);
                        let _ = reply.send(());
                        return;
                    }
                    Some(request) => self.request(request),
                    None => listening = false,
                },
                ready = readable => match ready {
                    // Readiness is taken back first, so that what comes now is seen next time.
                    Ok(mut ready) => {
                        ready.clear_ready();
                        self.more = true;
                    }
                    Err(_) => self.more = true,
                },
                () = sleep => {}
            }
        }
        self.report_end();
    }

    /// How long the agent has been followed.
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Does everything there is to do.
    fn advance(&mut self) {
        if self.more || self.ended {
            self.read();
        }
        self.write_later();
        self.flush();
        self.look();
        self.mind_time();
        self.flush();
    }

    /// When to go on if nothing happens before.
    fn deadline(&self, watched: bool) -> Option<Duration> {
        let now = self.now();
        if self.more {
            return Some(now);
        }
        let retry = (!self.unsent.is_empty()).then(|| now + RETRY);
        let poll = (!watched || self.ended || self.stopping.is_some()).then(|| now + POLL);
        let later = self.later.iter().map(|(due, _)| *due).min();
        [retry, poll, later, self.eyes_deadline(), self.time_deadline()].into_iter().flatten().min()
    }

    /// Reads one turn of output.
    fn read(&mut self) {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(TURN, 0);
            self.read_to(buffer);
        });
    }

    fn read_to(&mut self, buffer: &mut [u8]) {
        for _ in 0..READS {
            match self.pane.read(buffer) {
                Ok(ReadOutcome::Data(stream, length)) => self.take(stream, &buffer[..length]),
                Ok(ReadOutcome::Pending) => {
                    self.more = false;
                    return;
                }
                // A pane that cannot be read any more has nothing to say any more.
                Ok(ReadOutcome::End) | Err(_) => {
                    self.more = false;
                    self.ended = true;
                    return;
                }
            }
        }
        self.more = true;
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let event = self.output.feed(stream, bytes);
        if let Event::Output { clean, .. } = &event {
            self.adapter.observe(OutputChunk {
                on_stderr: stream == Stream::Error,
                raw: bytes,
                clean,
            });
        }
        self.tell(event);
        let now = self.now();
        match &mut self.eyes {
            Eyes::Terminal(terminal) => {
                let replies = terminal.feed(bytes, now);
                self.unsent.extend(replies);
            }
            Eyes::Transcript(decoder) => {
                let entries = decode(decoder, stream, bytes);
                self.entries(entries);
            }
            Eyes::Gone => {}
        }
    }

    fn entries(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            match &entry {
                Entry::Session { id, .. } => self.session = Some(id.clone()),
                Entry::Usage { usage, .. } => self.tell(Event::Usage(*usage)),
                _ => {}
            }
            self.tell(Event::Entry(Arc::new(entry)));
        }
    }

    /// Tells whoever listens. Nobody need.
    fn tell(&self, event: Event) {
        self.events.tell(event);
    }

    /// Queues bytes for the process.
    fn write(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        let now = self.now();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.typed(now);
        }
    }

    fn write_later(&mut self) {
        let now = self.now();
        while let Some(at) = self.later.iter().position(|(due, _)| *due <= now) {
            let (_, bytes) = self.later.remove(at);
            self.write(&bytes);
        }
    }

    /// Writes what the process takes.
    fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match self.pane.write(&self.unsent) {
                Ok(0) => return,
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.unsent.clear(),
            }
        }
    }
}

fn decode(decoder: &mut Decoder, stream: Stream, bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    match stream {
        Stream::Output => decoder.feed_stdout(bytes, &mut |entry| entries.push(entry)),
        Stream::Error => decoder.feed_stderr(bytes, &mut |entry| entries.push(entry)),
    }
    entries
}
