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

/// How many of its last lines are quoted of a program that fails at its start, and how many
/// characters of them.
const MAX_LAST_LINES: usize = 3;
const MAX_LAST_CHARS: usize = 300;

/// What a program that failed at its start said last, in one line: the last lines of its screen
/// that have words.
pub(crate) fn last_words(screen: &str) -> Option<String> {
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let mut lines: Vec<&str> =
        screen.lines().map(str::trim).filter(has_words).rev().take(MAX_LAST_LINES).collect();
    lines.reverse();
    let words = lines.join(" ");
    let from = words.char_indices().rev().nth(MAX_LAST_CHARS).map_or(0, |(at, _)| at);
    let words = if from > 0 { format!("…{}", &words[from..]) } else { words };
    (!words.is_empty()).then_some(words)
}

/// The outcome of an agent on a terminal, which has nothing but its exit to go by, and its last
/// words where it failed at its start.
pub(crate) fn of_terminal(
    ending: ProcessEnding,
    ok: &OkCodes,
    session: Option<String>,
    retry: Option<ModelRetry>,
    last_words: Option<&str>,
) -> JobOutcome {
    let good = matches!(&ending, ProcessEnding::Exited { code } if ok.contains(*code));
    let reason = match &ending {
        ProcessEnding::Exited { code } if good => format!("it ended with exit code {code}"),
        ProcessEnding::Exited { code } => match last_words {
            Some(words) => format!("it ended at its start with exit code {code}: {words}"),
            None => format!("it ended with exit code {code}, which is no success"),
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_last_lines_that_have_any() {
        let screen = "one\n two \n\nerror: bad option\n╰────╯\n  see --help\n\n";
        assert_eq!(last_words(screen).as_deref(), Some("two error: bad option see --help"));
        assert_eq!(last_words("╭──╮\n\n"), None);
        let long = last_words(&"ä".repeat(1000)).unwrap();
        assert_eq!(long.chars().count(), MAX_LAST_CHARS + 2);
        assert!(long.starts_with('…'));
    }
}
