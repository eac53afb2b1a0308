//! What a played process does, step by step.

use std::collections::VecDeque;
use std::io;

use crate::domain::{ExitStatus, PaneStream};

/// One step. Each is taken when the pane is read.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    Print(PaneStream, VecDeque<u8>),
    /// Nothing to read this time.
    Wait,
    /// Nothing to read until the process is stopped.
    Hang,
    /// The streams end, and the process lives on.
    CloseStreams,
    Fail(io::ErrorKind, String),
    /// The process is gone. What is printed after this was printed before and not yet read.
    Exit(Option<ExitStatus>),
}

/// A part to play: what is printed, when, and how it ends. A script without an ending exits with
/// 0 after its last step.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) steps: VecDeque<ScriptStep>,
    pub(super) at_most: Option<usize>,
    pub(super) takes: Option<usize>,
    pub(super) ignores_polite: bool,
    pub(super) survives_force: usize,
    pub(super) last_words: Vec<u8>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    fn step(mut self, step: ScriptStep) -> Self {
        self.steps.push_back(step);
        self
    }

    /// Prints to standard output, or to the terminal.
    #[must_use]
    pub fn output(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(ScriptStep::Print(PaneStream::Output, bytes.as_ref().iter().copied().collect()))
    }

    /// Prints to standard error.
    #[must_use]
    pub fn error(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(ScriptStep::Print(PaneStream::Error, bytes.as_ref().iter().copied().collect()))
    }

    /// Has nothing to read once.
    #[must_use]
    pub fn pause(self) -> Self {
        self.step(ScriptStep::Wait)
    }

    /// Goes on without printing until it is stopped.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(ScriptStep::Hang)
    }

    /// Closes its streams and goes on until it is stopped.
    #[must_use]
    pub fn close_streams(self) -> Self {
        self.step(ScriptStep::CloseStreams)
    }

    /// Cannot be read any more.
    #[must_use]
    pub fn read_error(self, kind: io::ErrorKind, text: &str) -> Self {
        self.step(ScriptStep::Fail(kind, text.to_owned()))
    }

    /// Exits with a code. What the script prints after this is still to be read when it is gone.
    #[must_use]
    pub fn exit(self, code: i32) -> Self {
        self.step(ScriptStep::Exit(Some(ExitStatus::Code(code))))
    }

    /// Is ended by a signal.
    #[must_use]
    pub fn killed(self, signal: i32) -> Self {
        self.step(ScriptStep::Exit(Some(ExitStatus::Signal(signal))))
    }

    /// Ends without an exit status, as a process does whose holder was killed.
    #[must_use]
    pub fn vanish(self) -> Self {
        self.step(ScriptStep::Exit(None))
    }

    /// Gives at most this many bytes in one read.
    #[must_use]
    pub fn in_reads_of(self, bytes: usize) -> Self {
        Self { at_most: Some(bytes.max(1)), ..self }
    }

    /// Takes at most this many bytes of input between two reads.
    #[must_use]
    pub fn takes_input_of(self, bytes: usize) -> Self {
        Self { takes: Some(bytes), ..self }
    }

    /// Does not end when it is asked to.
    #[must_use]
    pub fn ignore_polite_stop(self) -> Self {
        Self { ignores_polite: true, ..self }
    }

    /// Is still there after force was used this many times.
    #[must_use]
    pub fn survive_force(self, times: usize) -> Self {
        Self { survives_force: times, ..self }
    }

    /// Prints this when it is asked to end, before it does.
    #[must_use]
    pub fn last_words(self, bytes: impl AsRef<[u8]>) -> Self {
        Self { last_words: bytes.as_ref().to_vec(), ..self }
    }
}
