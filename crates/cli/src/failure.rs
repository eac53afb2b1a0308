//! How a command fails: what went wrong, what to do about it, and the exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// The exit codes, as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// What was asked for failed.
    Failed = 1,
    /// It was asked for wrongly.
    Usage = 2,
}

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    hint: Option<String>,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { code: Code::Failed, message: message.to_string(), hint: None }
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: Code::Usage, message: message.to_string(), hint: None }
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// A failure that was already told in full.
    pub(crate) fn told() -> Self {
        Self::failed("")
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(format!("could not write to stdout: {error}"))
    }
}

/// Tells how a command ended. Whoever closed our output, as `head` does, has seen enough.
pub(crate) fn exit(result: Result) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if !failure.message.is_empty() {
        eprintln!("error: {}", failure.message);
    }
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(failure.code as u8)
}
