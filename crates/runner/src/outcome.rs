//! How a task ended: exit code, signal, timeout and what the agent itself said, together.

use coven_adapters::transcript::{TranscriptDecoder, TranscriptItem};
use coven_model::{JobOutcome, ModelRetry, ProcessEnding};
use coven_runtime::domain::ExitStatus;

use crate::task::OkCodes;

/// Why the process is being ended, if it was us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeCause {
    /// A caller stopped it.
    Stopped,
    /// Its time was up.
    TimedOut,
    /// Its task was over before, with this outcome.
    Completed(Box<JobOutcome>),
}

/// How the process ended, as far as is known.
pub(crate) fn ending(cause: Option<&OutcomeCause>, status: Option<ExitStatus>) -> ProcessEnding {
    match (cause, status) {
        (Some(OutcomeCause::Stopped | OutcomeCause::Completed(_)), _) => ProcessEnding::Stopped,
        (Some(OutcomeCause::TimedOut), _) => ProcessEnding::TimedOut,
        (None, Some(ExitStatus::Code(code))) => ProcessEnding::Exited { code },
        (None, Some(ExitStatus::Signal(signal))) => ProcessEnding::Signalled { signal },
        (None, None) => ProcessEnding::Lost,
    }
}

/// The outcome of an agent on a terminal, which has nothing but its exit to go by.
pub(crate) fn of_terminal(
    ending: ProcessEnding,
    ok: &OkCodes,
    session: Option<String>,
    retry: Option<ModelRetry>,
) -> JobOutcome {
    let good = matches!(&ending, ProcessEnding::Exited { code } if ok.contains(*code));
    let reason = match &ending {
        ProcessEnding::Exited { code } if good => format!("it ended with exit code {code}"),
        ProcessEnding::Exited { code } => {
            format!("it ended with exit code {code}, which is no success")
        }
        ProcessEnding::Signalled { signal } => format!("it was ended by signal {signal}"),
        ProcessEnding::TimedOut => "its time was up".to_owned(),
        ProcessEnding::Stopped => "it was stopped".to_owned(),
        ProcessEnding::NotStarted => "it could not be started".to_owned(),
        ProcessEnding::Alive => "it still runs".to_owned(),
        ProcessEnding::Lost => "it is gone, and nobody saw how it ended".to_owned(),
    };
    let reason = match retry.as_ref().filter(|_| !good) {
        Some(retry) => format!("{reason}, {retry}"),
        None => reason,
    };
    JobOutcome { agent_session: session, retry, ..JobOutcome::new(good, ending, reason) }
}

/// The outcome of a task that is done though its program need not have ended.
pub(crate) fn completed(alive: bool, session: Option<String>) -> JobOutcome {
    let ending = if alive { ProcessEnding::Alive } else { ProcessEnding::Stopped };
    let reason = "every input was sent and its turn is over";
    JobOutcome { agent_session: session, ..JobOutcome::new(true, ending, reason) }
}

/// The outcome of a task that could not be followed any more because of a mistake in our own code.
/// Its process was ended, because nothing watches it.
pub(crate) fn of_panic(message: &str) -> JobOutcome {
    let reason = format!("coven failed while it followed the agent, and ended it: {message}");
    JobOutcome::new(false, ProcessEnding::Stopped, reason)
}

/// The outcome of a headless run.
pub(crate) fn of_transcript(
    decoder: TranscriptDecoder,
    ending: ProcessEnding,
    ok: &OkCodes,
    emit: &mut impl FnMut(TranscriptItem),
) -> JobOutcome {
    let codes = match (&ending, ok) {
        (_, OkCodes::These(codes)) => codes.clone(),
        (ProcessEnding::Exited { code }, OkCodes::Any) => vec![*code],
        (_, OkCodes::Any) => Vec::new(),
    };
    let conclusion = decoder.accepting(codes).finish(&ending, emit);
    conclusion.into_outcome(ending)
}
