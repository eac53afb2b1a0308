//! How a task ended: exit code, signal, timeout and what the agent itself said, together.

use coven_adapters::transcript::{Decoder, Entry};
use coven_model::{Ending, Outcome};
use coven_runtime::domain::ExitStatus;

use crate::task::OkCodes;

/// Why the process is being ended, if it was us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A caller stopped it.
    Stopped,
    /// Its time was up.
    TimedOut,
    /// Its task was over before, with this outcome.
    Completed(Box<Outcome>),
}

/// How the process ended, as far as is known.
pub(crate) fn ending(cause: Option<&Cause>, status: Option<ExitStatus>) -> Ending {
    match (cause, status) {
        (Some(Cause::Stopped | Cause::Completed(_)), _) => Ending::Stopped,
        (Some(Cause::TimedOut), _) => Ending::TimedOut,
        (None, Some(ExitStatus::Code(code))) => Ending::Exited { code },
        (None, Some(ExitStatus::Signal(signal))) => Ending::Signalled { signal },
        (None, None) => Ending::Lost,
    }
}

/// The outcome of an agent on a terminal, which has nothing but its exit to go by.
pub(crate) fn of_terminal(ending: Ending, ok: &OkCodes, session: Option<String>) -> Outcome {
    let good = matches!(&ending, Ending::Exited { code } if ok.contains(*code));
    let reason = match &ending {
        Ending::Exited { code } if good => format!("it ended with exit code {code}"),
        Ending::Exited { code } => format!("it ended with exit code {code}, which is no success"),
        Ending::Signalled { signal } => format!("it was ended by signal {signal}"),
        Ending::TimedOut => "its time was up".to_owned(),
        Ending::Stopped => "it was stopped".to_owned(),
        Ending::NotStarted => "it could not be started".to_owned(),
        Ending::Alive => "it still runs".to_owned(),
        Ending::Lost => "it is gone, and nobody saw how it ended".to_owned(),
    };
    Outcome { agent_session: session, ..Outcome::new(good, ending, reason) }
}

/// The outcome of a task that is done though its program need not have ended.
pub(crate) fn completed(alive: bool, session: Option<String>) -> Outcome {
    let ending = if alive { Ending::Alive } else { Ending::Stopped };
    let reason = "every input was sent and its turn is over";
    Outcome { agent_session: session, ..Outcome::new(true, ending, reason) }
}

/// The outcome of a task that could not be followed any more because of a mistake in our own code.
/// Its process was ended, because nothing watches it.
pub(crate) fn of_panic(message: &str) -> Outcome {
    let reason = format!("coven failed while it followed the agent, and ended it: {message}");
    Outcome::new(false, Ending::Stopped, reason)
}

/// The outcome of a headless run.
pub(crate) fn of_transcript(
    decoder: Decoder,
    ending: Ending,
    ok: &OkCodes,
    emit: &mut impl FnMut(Entry),
) -> Outcome {
    let codes = match (&ending, ok) {
        (_, OkCodes::These(codes)) => codes.clone(),
        (Ending::Exited { code }, OkCodes::Any) => vec![*code],
        (_, OkCodes::Any) => Vec::new(),
    };
    let conclusion = decoder.accepting(codes).finish(&ending, emit);
    conclusion.into_outcome(ending)
}
