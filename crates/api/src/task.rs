//! One task: its screen, its output, its agent.

use coven_model::{AgentMode, AgentVerdict, AttemptId, Timestamp, TokenUsage, TranscriptEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which attempt is meant; the newest unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttemptQuery {
    /// The attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// What an agent's terminal shows, or showed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskScreen {
    /// The attempt that this is about.
    pub attempt: AttemptId,
    /// The width of the terminal in columns.
    pub cols: u16,
    /// The height of the terminal in rows.
    pub rows: u16,
    /// The window title that the program set.
    pub title: String,
    /// The cursor's place, from 0: row, then column.
    pub cursor: (u16, u16),
    /// Whether the cursor is shown.
    pub cursor_visible: bool,
    /// The rows as text, the trailing blanks removed.
    pub lines: Vec<String>,
    /// The bytes that paint exactly this on an empty terminal of this size, in base 64.
    pub dump: String,
    /// Up to where in the output this is.
    pub offset: u64,
    /// Whether its process is followed now.
    pub live: bool,
}

/// What `GET …/output` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputQuery {
    /// The attempt; the newest unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// From here on; from the beginning unless said. A negative number counts from the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// At most so many bytes; 1 MiB unless said, 16 MiB at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub limit: Option<u64>,
    /// Which stream; both unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<OutputStream>,
    /// The bytes as they came, as `application/octet-stream`, and not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<bool>,
}

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// What the process prints to its standard output or terminal.
    Out,
    /// What it complains about; of a process on a terminal there is none apart.
    Err,
}

/// A piece of what a process printed, without escape sequences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputText {
    /// The attempt that this is about.
    pub attempt: AttemptId,
    /// The offset of the first byte of this piece on the tape.
    pub offset: u64,
    /// Where the next piece begins.
    pub next: u64,
    /// Where the output ends so far.
    pub end: u64,
    /// Whether more may come.
    pub live: bool,
    /// How many bytes before `offset` are no longer kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// The text, without escape sequences.
    pub text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// What `GET …/log` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogQuery {
    /// The attempt; the newest unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// From this line on; from the beginning unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Only so many of the last lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u64>,
}

/// What the terminal of a task showed, line by line: what scrolled off, then what stands on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogText {
    /// The attempt that this is about.
    pub attempt: AttemptId,
    /// The number of the first of `lines`; the log begins with 0.
    pub first: u64,
    /// The lines, without colours; at most 20,000 at a time.
    pub lines: Vec<String>,
    /// How many of the last lines stand on the screen and may still change. A program that prints
    /// all of its text again may also change lines before these.
    pub standing: u64,
    /// How many bytes of the output are in no line, because they are no longer kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Whether more may come.
    pub live: bool,
}

/// What `GET …/transcript` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TranscriptQuery {
    /// The attempt; the newest unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Only entries after the one with this id; from the beginning unless said. Of a stream, the
    /// header `Last-Event-ID` counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Only so many of the last entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub tail: Option<u64>,
    /// At most so many entries; 1,000 unless said. A stream has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: Option<u64>,
    /// Whether long texts are given with as much as is read of one message: up to 64 KiB of what a
    /// tool is given and returns, and 1 MiB of what an agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<bool>,
}

/// What an agent without a terminal said and did, readable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskTranscript {
    /// The attempt that this is about.
    pub attempt: AttemptId,
    /// What it said and did, in order.
    pub entries: Vec<TranscriptEntry>,
    /// Where to go on: the id of the last entry, or the `after` that was asked for.
    pub next: u64,
    /// Whether there are more entries after these already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// How many bytes of the output are in no entry, because they are no longer kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// What it used up until the last of these entries, as far as it tells.
    #[serde(default, skip_serializing_if = "TokenUsage::is_unknown")]
    pub usage: TokenUsage,
    /// Whether more may come.
    pub live: bool,
}

/// Why we think that an agent does what we say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictExplanation {
    /// The attempt that this is about.
    pub attempt: AttemptId,
    /// The type of the task's adapter.
    pub adapter: String,
    /// On a terminal, or without one.
    pub mode: AgentMode,
    /// What it is doing, with the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<AgentVerdict>,
    /// Since when the agent has been in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The same in words: what was seen where, by which rule.
    pub words: String,
    /// What its screen shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// What is typed. Exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = crate::openapi::one_of(&[
    ("message", "string"), ("paste", "string"), ("keys", "array"),
])))]
pub struct TypeRequest {
    /// A message: typed, verified to have arrived, and sent off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// A text that is put into the input box, and not sent off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paste: Option<String>,
    /// Keys by name, such as `Enter`, `Esc`, `Ctrl+C`, `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1000))]
    pub keys: Option<Vec<String>>,
}

/// What became of what was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeResponse {
    /// Whether it arrived. A message that did not yet is typed as soon as the agent takes it.
    pub delivered: bool,
    /// Whether the agent has not started yet, because as many agents run as may at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
}

/// A size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScreenSize {
    /// Columns, 2 to 1,000.
    #[schemars(range(min = 2, max = 1000))]
    pub cols: u16,
    /// Rows, 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
}

/// What an agent on a terminal reports by itself: the event of its own hook. Everything else that it
/// sends along is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    /// The name that the agent gives the event, such as `Stop`.
    pub hook_event_name: String,
}

/// What a report is answered: nothing, so that it decides nothing for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportAnswer {}
