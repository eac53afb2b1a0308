//! What ends the agent before it has done its work.

use std::io;
use std::path::PathBuf;

use crate::script;
use crate::session;

/// The longest prompt or script, in bytes. Longer ones are more likely a mistake than intended.
pub const MAX_PROMPT: usize = 4 * 1024 * 1024;

/// Why the agent could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A headless run without a prompt has nothing to do and no person to ask.
    #[error("a headless run needs a prompt")]
    NoPrompt,
    #[error("the prompt is not UTF-8: byte {at} cannot be read as text")]
    PromptNotText {
        /// Where the first wrong byte is, counted from 1.
        at: usize,
    },
    #[error("the prompt is longer than {} MiB", MAX_PROMPT >> 20)]
    PromptTooLong,
    /// The prompt could not be read from the input.
    #[error("cannot read the prompt from stdin")]
    Input(#[source] io::Error),
    /// The script could not be read.
    #[error("cannot read the script {}", path.display())]
    ScriptUnreadable { path: PathBuf, source: io::Error },
    #[error("{}:{line}: {problem}", path.display())]
    Script { path: PathBuf, line: usize, problem: script::DirectiveProblem },
    /// The directives of `--first` have a mistake.
    #[error("--first: {0}")]
    First(script::DirectiveProblem),
    /// The session could not be started or found.
    #[error(transparent)]
    Session(#[from] session::Error),
    /// A stream of ours could not be written.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    /// The input of the Agent Client Protocol, or what has to be set up for it, failed.
    #[error("cannot talk to the client")]
    Client(#[source] io::Error),
    /// The terminal does not behave like one.
    #[error("cannot use the terminal")]
    Terminal(#[source] io::Error),
    /// A process that belongs to a test could not be started or went wrong.
    #[error("cannot {what}")]
    Helper { what: &'static str, source: io::Error },
}

impl Error {
    /// The exit code that goes with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoPrompt
            | Self::PromptNotText { .. }
            | Self::PromptTooLong
            | Self::ScriptUnreadable { .. }
            | Self::Script { .. }
            | Self::First(_) => 2,
            Self::Session(error) if error.is_usage() => 2,
            _ => 1,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoPrompt => Some(
                "give it as the last argument, on stdin, or as --script FILE; \
                 for a conversation, start the agent on a terminal"
                    .to_owned(),
            ),
            Self::PromptNotText { .. } => Some("put the bytes into a file and name it".to_owned()),
            Self::PromptTooLong => Some("put the text into a file and name it".to_owned()),
            Self::Script { problem, .. } | Self::First(problem) => problem.hint(),
            Self::Session(error) => error.hint(),
            _ => None,
        }
    }

    /// Whether the reader of our output has closed it, which is not a failure of the agent.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
