//! One process of git, from its start to its end: its input is written and its output read while a
//! deadline runs, and when that has passed, the process and everything in its group is ended.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::{CommandLine, Error};

/// How much git may print before it is ended: the list of a million long paths fits.
const MAX_OUTPUT_BYTES: u64 = 512 << 20;

/// How much of what git says to its standard error is kept.
const MAX_WORDS_BYTES: u64 = 64 << 10;

/// How long a process may take to end itself after SIGTERM, with which git removes its lock files.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the rest of the output is waited for after git itself has ended: a process that a hook
/// left behind may hold the pipe open for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// What writes the standard input of a process, on a thread of its own.
pub(crate) type Feed = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

#[derive(Default)]
pub(crate) enum Input {
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    File(File),
    Feed(Feed),
}

/// How one process ended.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) words: String,
    /// Set where the input could not be produced; a process that stopped reading is not that.
    pub(crate) input_error: Option<io::Error>,
}

enum Event {
    Exited,
    Drained { too_much: bool },
    Fed(io::Result<()>),
}

type Shared = Arc<Mutex<Vec<u8>>>;

/// Runs a process to its end. `output` takes its standard output instead of memory.
pub(crate) fn run(
    line: &CommandLine,
    input: Input,
    output: Option<File>,
    limit: Duration,
) -> Result<Finished, Error> {
    let deadline = Instant::now() + limit;
    let mut child = spawn(line, &input, output)?;
    let pid = Pid::from_child(&child);
    // One slot for each event there can be, so that no thread waits for us after we have gone.
    let (sender, events) = sync_channel(5);
    let mut waiting = Waiting { exited: false, pipes: 0, feeding: false, input_error: None };
    let stdout = follow(child.stdout.take(), MAX_OUTPUT_BYTES, &sender, &mut waiting.pipes);
    let stderr = follow(child.stderr.take(), MAX_WORDS_BYTES, &sender, &mut waiting.pipes);
    waiting.feeding = feed(&mut child, input, &sender);
    watch(pid, sender);

    let verdict = waiting.until_done(&events, deadline);
    if let Some(why) = verdict {
        end_group(pid, &mut waiting, &events);
        let words = text_of(&stderr);
        reap(&mut child, waiting.exited);
        let verb = line.verb();
        return Err(match why {
            Verdict::Late => Error::Deadline { verb, limit, words },
            Verdict::TooMuch => Error::TooMuchOutput { verb, limit: MAX_OUTPUT_BYTES },
        });
    }
    let status = child.wait().map_err(|error| Error::io("wait for", &line.program, error))?;
    let input_error = waiting.input_error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    let ExitParts { code, signal } = parts(status);
    Ok(Finished { code, signal, stdout: take(&stdout), words: text_of(&stderr), input_error })
}

struct ExitParts {
    code: Option<i32>,
    signal: Option<i32>,
}

fn parts(status: ExitStatus) -> ExitParts {
    ExitParts { code: status.code(), signal: status.signal() }
}

fn spawn(line: &CommandLine, input: &Input, output: Option<File>) -> Result<Child, Error> {
    // What the system says about a folder that is missing reads as if the program were.
    let start = |source| match std::fs::metadata(&line.cwd) {
        Ok(found) if found.is_dir() => Error::Start { program: line.program.clone(), source },
        Ok(_) => Error::io("work in", &line.cwd, io::ErrorKind::NotADirectory.into()),
        Err(error) => Error::io("work in", &line.cwd, error),
    };
    let stdin = match input {
        Input::Nothing => Stdio::null(),
        Input::File(file) => file.try_clone().map_err(start)?.into(),
        Input::Bytes(_) | Input::Feed(_) => Stdio::piped(),
    };
    Command::new(&line.program)
        .args(&line.args)
        .env_clear()
        .envs(line.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&line.cwd)
        .stdin(stdin)
        .stdout(output.map_or_else(Stdio::piped, Stdio::from))
        .stderr(Stdio::piped())
        // A group of its own, so that what git has started can be ended with it.
        .process_group(0)
        .spawn()
        .map_err(start)
}

/// Reads a pipe on a thread. What goes beyond the limit is read and dropped, and said.
fn follow<R: Read + Send + 'static>(
    pipe: Option<R>,
    limit: u64,
    sender: &SyncSender<Event>,
    pipes: &mut usize,
) -> Shared {
    let shared = Shared::default();
    let Some(mut pipe) = pipe else { return shared };
    *pipes += 1;
    let (kept, sender) = (Arc::clone(&shared), sender.clone());
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        let mut too_much = false;
        while let Ok(count) = pipe.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if (kept.len() + count) as u64 <= limit {
                kept.extend_from_slice(&buffer[..count]);
            } else {
                too_much = true;
                if limit == MAX_OUTPUT_BYTES {
                    break;
                }
            }
        }
        let too_much = too_much && limit == MAX_OUTPUT_BYTES;
        // Fails only if the call was given up in the meantime.
        sender.send(Event::Drained { too_much }).ok();
    });
    shared
}

fn feed(child: &mut Child, input: Input, sender: &SyncSender<Event>) -> bool {
    let Some(mut stdin) = child.stdin.take() else { return false };
    let write: Feed = match input {
        Input::Bytes(bytes) => Box::new(move |stdin| stdin.write_all(&bytes)),
        Input::Feed(feed) => feed,
        Input::Nothing | Input::File(_) => return false,
    };
    let sender = sender.clone();
    thread::spawn(move || {
        let result = write(&mut stdin);
        drop(stdin);
        // Fails only if the call was given up in the meantime.
        sender.send(Event::Fed(result)).ok();
    });
    true
}

/// Waits for the end of the process without taking its exit status: as long as that is not taken,
/// its number is not given to another process, and a signal to its group hits no stranger.
fn watch(pid: Pid, sender: SyncSender<Event>) {
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        // Fails only if the call was given up in the meantime.
        sender.send(Event::Exited).ok();
    });
}

enum Verdict {
    Late,
    TooMuch,
}

struct Waiting {
    exited: bool,
    pipes: usize,
    feeding: bool,
    input_error: Option<io::Error>,
}

impl Waiting {
    fn until_done(&mut self, events: &Receiver<Event>, deadline: Instant) -> Option<Verdict> {
        let mut deadline = deadline;
        while !self.exited || self.pipes > 0 || self.feeding {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Exited) => {
                    self.exited = true;
                    deadline = deadline.min(Instant::now() + DRAIN_TIMEOUT);
                }
                Ok(Event::Drained { too_much: true }) => return Some(Verdict::TooMuch),
                Ok(Event::Drained { .. }) => self.pipes -= 1,
                Ok(Event::Fed(result)) => {
                    self.feeding = false;
                    self.input_error = result.err();
                }
                Err(RecvTimeoutError::Timeout) if self.exited => return None,
                Err(_) => return Some(Verdict::Late),
            }
        }
        None
    }
}

/// Ends a group: SIGTERM first, so that git removes its lock files, then SIGKILL.
fn end_group(pid: Pid, waiting: &mut Waiting, events: &Receiver<Event>) {
    // A group that has ended in the meantime is what we want.
    kill_process_group(pid, Signal::TERM).ok();
    let until = Instant::now() + TERMINATION_TIMEOUT;
    while !waiting.exited || waiting.pipes > 0 {
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Exited) => waiting.exited = true,
            Ok(Event::Drained { .. }) => waiting.pipes = waiting.pipes.saturating_sub(1),
            Ok(Event::Fed(_)) => waiting.feeding = false,
            Err(_) => break,
        }
    }
    kill_process_group(pid, Signal::KILL).ok();
    if !waiting.exited {
        let until = Instant::now() + TERMINATION_TIMEOUT;
        while let Ok(event) = events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if matches!(event, Event::Exited) {
                waiting.exited = true;
                break;
            }
        }
    }
}

/// Takes the exit status, so that no zombie is left. A process that SIGKILL did not end waits for a
/// disk: it is left alone, and its parent takes it over.
fn reap(child: &mut Child, exited: bool) {
    if exited {
        // The caller gets the deadline as the error; the status adds nothing to it.
        child.wait().ok();
    }
}

fn take(shared: &Shared) -> Vec<u8> {
    std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner))
}

fn text_of(shared: &Shared) -> String {
    String::from_utf8_lossy(&take(shared)).trim().to_owned()
}
