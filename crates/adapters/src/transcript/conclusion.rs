//! Whether a run succeeded. How the process ended and what the agent said itself decide together:
//! exit 0 is not success, and what was not understood is never "done".

use coven_model::{JobOutcome, ModelRetry, ProcessEnding, TokenUsage};

use super::entry::{TextExcerpt, ToolDenial};
use super::format::TranscriptFormat;
use super::known_causes;
use super::run::{RunProgress, TurnEnd};

/// How many denied tools are named in a reason; more are counted.
const MAX_NAMED_DENIALS: usize = 5;

/// What came of a run.
///
/// Denials alone do not make a run fail. An agent that may only read, tried to write, was told no
/// and still answered has done what it was there for. They are listed here and named in the
/// reason, so that a caller who wants to be stricter can be. The exception is a denial after which
/// the agent was stopped instead of told, which opencode does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunConclusion {
    /// Whether the run counts as done.
    pub ok: bool,
    /// Why, in words. One line.
    pub reason: String,
    /// The agent's last answer; an empty one, if it says that it is done and has said nothing. Of
    /// plain text, its end: there the beginning is what was left out.
    pub answer: Option<TextExcerpt>,
    /// What this run used up, without what a resumed conversation had used before.
    pub usage: TokenUsage,
    /// What the agent was not allowed to do; the first [`DENIALS_LIMIT`](super::DENIALS_LIMIT).
    pub denials: Vec<ToolDenial>,
    /// The id of the agent's conversation, to resume it.
    pub session: Option<String>,
    /// The attempt to reach its model that the agent was at when it ended.
    pub retry: Option<ModelRetry>,
    /// Whether the agent said itself that its turn was over, well or not. Never for plain text.
    pub complete: bool,
}

impl RunConclusion {
    /// As the outcome of an attempt that ended like that.
    pub fn into_outcome(self, ending: ProcessEnding) -> JobOutcome {
        JobOutcome {
            omitted: self.answer.as_ref().map_or(0, |answer| answer.omitted),
            output: self.answer.map(|answer| answer.text),
            usage: self.usage,
            denials: self.denials.iter().map(ToString::to_string).collect(),
            agent_session: self.session,
            retry: self.retry,
            ..JobOutcome::new(self.ok, ending, self.reason)
        }
    }
}

pub(super) fn conclude(
    run: RunProgress,
    format: TranscriptFormat,
    ending: &ProcessEnding,
    accepted: &[i32],
) -> RunConclusion {
    let ended_well = match ending {
        ProcessEnding::Exited { code } => accepted.contains(code),
        // It was completed without an exit, so only its own word is left. Text has none.
        ProcessEnding::Alive => format.has_result(),
        ProcessEnding::Signalled { .. }
        | ProcessEnding::TimedOut
        | ProcessEnding::Stopped
        | ProcessEnding::NotStarted
        | ProcessEnding::Lost => false,
    };
    let said_so = !format.has_result() || run.end == TurnEnd::Succeeded;
    let ok = ended_well && said_so && run.spoiled.is_none();
    let reason =
        if ok { success(&run, format, ending) } else { failure(&run, format, ending, ended_well) };
    let silent = run.end == TurnEnd::Succeeded && format.has_result();
    RunConclusion {
        ok,
        reason,
        answer: run.answer.text.or_else(|| silent.then(TextExcerpt::default)),
        usage: run.usage,
        denials: run.denials,
        session: run.session,
        retry: run.retry,
        complete: matches!(run.end, TurnEnd::Succeeded | TurnEnd::Failed(_)),
    }
}

fn success(run: &RunProgress, format: TranscriptFormat, ending: &ProcessEnding) -> String {
    let reason = if format.has_result() {
        "the agent says it is done".to_owned()
    } else {
        ending.to_string()
    };
    let cut = run
        .answer
        .text
        .as_ref()
        .filter(|answer| !answer.is_whole())
        .map(|answer| format!("; its answer was cut, {} bytes are missing", answer.omitted));
    reason + &denied(run) + &cut.unwrap_or_default()
}

fn failure(
    run: &RunProgress,
    format: TranscriptFormat,
    ending: &ProcessEnding,
    ended_well: bool,
) -> String {
    let how = match ending {
        ProcessEnding::Exited { code } => match meaning(format, *code) {
            Some(meaning) => format!("{ending} ({meaning})"),
            None => ending.to_string(),
        },
        _ => ending.to_string(),
    };
    // Noise is no reason; but a program that fails mostly says why in its last line.
    let failed = !ended_well && matches!(ending, ProcessEnding::Exited { .. });
    let last = run.hint.last.as_deref().filter(|_| failed);
    let told = run.error.as_deref().or(run.hint.error.as_deref()).or(last);
    let told = told.map(|told| known_causes::explain(told).unwrap_or_else(|| told.to_owned()));
    let because = |why: Option<&str>| why.map(|why| format!(": {why}")).unwrap_or_default();
    let retrying = run.retry.as_ref().map(|retry| format!(", {retry}")).unwrap_or_default();
    let told = told.as_deref();
    let reason = match (&run.end, &run.spoiled) {
        (_, Some(why)) if ended_well => why.clone(),
        (_, Some(why)) => format!("{how}: {why}"),
        (TurnEnd::Failed(why), None) => {
            let why = why.as_deref().or(told).unwrap_or("it does not say why");
            if ended_well {
                format!("the agent says it failed: {why}")
            } else {
                format!("{how}: {why}")
            }
        }
        (TurnEnd::Succeeded, None) => format!("{how}, although the agent says it is done"),
        (TurnEnd::Reopened, None) => {
            format!(
                "ended without a result, in the middle of another turn ({how}){retrying}{}",
                because(told)
            )
        }
        (TurnEnd::Open, None) if ended_well && format.has_result() => {
            format!("ended without a result ({how}){retrying}{}", because(told))
        }
        (TurnEnd::Open, None) => format!("{how}{retrying}{}", because(told)),
    };
    reason + &denied(run)
}

fn denied(run: &RunProgress) -> String {
    let mut tools: Vec<&str> = run.denials.iter().map(|denial| denial.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    match tools.len() {
        0 => String::new(),
        1..=MAX_NAMED_DENIALS => format!("; {} denied: {}", times(run.denied), tools.join(", ")),
        more => format!(
            "; {} denied: {} and {} other tools",
            times(run.denied),
            tools[..MAX_NAMED_DENIALS].join(", "),
            more - MAX_NAMED_DENIALS
        ),
    }
}

fn times(count: u64) -> String {
    if count == 1 { "1 tool use was".to_owned() } else { format!("{count} tool uses were") }
}

/// What an exit code means that says more than "failed".
fn meaning(format: TranscriptFormat, code: i32) -> Option<&'static str> {
    match (format, code) {
        // Gemini exits with the HTTP status, of which the system keeps one byte.
        (TranscriptFormat::GeminiStreamJson, 144) => Some("the API answered 400"),
        (TranscriptFormat::GeminiStreamJson, 41) => Some("not logged in"),
        (TranscriptFormat::GeminiStreamJson, 42) => Some("bad input or unknown session"),
        (TranscriptFormat::GeminiStreamJson, 53) => Some("too many turns"),
        (TranscriptFormat::GeminiStreamJson, 55) => Some("the folder is not trusted"),
        _ => None,
    }
}
