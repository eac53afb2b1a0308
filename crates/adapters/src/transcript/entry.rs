//! What a transcript is made of, the same for every agent, and how much of it is kept.

use std::fmt;

use coven_model::{ModelRetry, TokenUsage, TranscriptStep};
use coven_terminal::sanitise::strip;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::JsonNode;
use crate::visible::visible;

/// Most of one thing the agent said, thought or answered. Answers are for people and for the next
/// step; a mebibyte is a thick book.
pub const TEXT_LIMIT: usize = 1024 * 1024;

/// Most of what one tool was given or returned. The whole is on the tape.
pub(crate) const TOOL_LIMIT: usize = 64 * 1024;

/// Most of a line that was not understood, and of a message for people.
pub(crate) const LINE_EXCERPT: usize = 4 * 1024;

/// Most of a name or an id.
const NAME_LIMIT: usize = 256;

/// Most of one text inside the input of a tool, when the whole input is too large.
const INNER_LIMIT: usize = 2 * 1024;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TranscriptItem {
    /// The agent named its conversation.
    Session {
        /// The id to resume it by.
        id: String,
        /// The model, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The agent said something.
    Text {
        text: TextExcerpt,
        /// Whether it is a piece that continues the piece before it. Otherwise it is whole.
        delta: bool,
        /// Whether this piece is the first of its message.
        #[serde(default, skip_serializing_if = "is_false")]
        begins: bool,
    },
    /// The agent thought aloud.
    Thinking {
        text: TextExcerpt,
        /// Whether it is a piece that continues the piece before it. Otherwise it is whole.
        #[serde(default, skip_serializing_if = "is_false")]
        delta: bool,
    },
    /// The agent was told something over its channel.
    Prompt { text: TextExcerpt },
    /// The agent uses a tool.
    ToolCall {
        /// Which call this is, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool, as the agent calls it.
        name: String,
        /// What the tool is given. Too much of it is shortened, text by text; what is still too
        /// much is the beginning of its JSON, as text.
        input: Value,
    },
    ToolResult {
        /// Which call it answers, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Whether the tool did what it was asked to.
        ok: bool,
        output: TextExcerpt,
    },
    /// The agent says what it intends to do. It replaces the plan before it.
    Plan { steps: Vec<TranscriptStep> },
    /// The agent says how it changes a file.
    Diff {
        /// Which call makes the change, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The file; missing for everything that a turn changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// A unified diff.
        diff: TextExcerpt,
        /// How many lines come, in all of the diff.
        added: u64,
        /// How many lines go, in all of the diff.
        removed: u64,
    },
    /// The agent was not allowed to do something.
    Denial(ToolDenial),
    /// The agent tries to reach its model again.
    Retry(ModelRetry),
    Error {
        /// What, in the agent's words.
        message: String,
        /// Whether the agent says that this ended its turn.
        fatal: bool,
    },
    /// Something worth knowing: a warning, or a line on standard error.
    Warning {
        /// What, in the agent's words.
        message: String,
    },
    Usage {
        usage: TokenUsage,
        /// Whether this is all of the run so far and replaces what was told before. Otherwise it
        /// comes on top. Either way it is about this run alone: what a resumed conversation had
        /// used before is already taken off.
        cumulative: bool,
    },
    /// The agent says that its turn is over.
    Result {
        /// Whether it says that it succeeded.
        ok: bool,
        /// Its answer when it succeeded, what went wrong otherwise, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<TextExcerpt>,
        /// How many turns with its model it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turns: Option<u64>,
        /// How long it took by its own clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A helper of the agent said or did something.
    Subagent {
        /// What it is called: `subagent reviewer (Look at the diff)`.
        by: String,
        item: Box<Self>,
    },
    /// A line that was not understood, or only in part.
    Unknown {
        /// Its beginning, and how much more there was.
        line: TextExcerpt,
    },
}

impl TranscriptItem {
    /// Whether the agent said or did it, or it came of that: otherwise it is about the run.
    pub(crate) const fn is_said_or_done(&self) -> bool {
        matches!(
            self,
            Self::Text { .. }
                | Self::Thinking { .. }
                | Self::ToolCall { .. }
                | Self::ToolResult { .. }
                | Self::Plan { .. }
                | Self::Diff { .. }
                | Self::Denial(_)
        )
    }
}

/// Something the agent wanted to do and was not allowed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDenial {
    /// The tool, as the agent calls it.
    pub tool: String,
    /// What it wanted to do with it, or why it may not. One line, may be empty.
    pub detail: String,
}

impl fmt::Display for ToolDenial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() {
            formatter.write_str(&self.tool)
        } else {
            write!(formatter, "{}: {}", self.tool, self.detail)
        }
    }
}

/// Text of which a part may have been left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextExcerpt {
    pub text: String,
    /// How many bytes were left out: at the end, unless the place where the excerpt stands says
    /// otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

impl TextExcerpt {
    /// The beginning of a text.
    pub(crate) fn of(text: &str, limit: usize) -> Self {
        let kept = text.floor_char_boundary(limit);
        Self { text: text[..kept].to_owned(), omitted: (text.len() - kept) as u64 }
    }

    /// The beginning of something that ought to be text, of which `omitted` bytes are gone
    /// already.
    pub(crate) fn of_bytes(bytes: &[u8], omitted: u64, limit: usize) -> Self {
        let mut kept = bytes.len().min(limit);
        if omitted > 0 || kept < bytes.len() {
            // Not in the middle of a character: up to three bytes of it may be before the cut.
            let whole = |kept: &usize| {
                str::from_utf8(&bytes[..*kept])
                    .map_or_else(|bad| bad.error_len().is_some(), |_| true)
            };
            kept = (kept.saturating_sub(3)..=kept).rev().find(whole).unwrap_or(kept);
        }
        let text = String::from_utf8_lossy(&bytes[..kept]).into_owned();
        Self { text, omitted: omitted + (bytes.len() - kept) as u64 }
    }

    /// Whether nothing was left out.
    pub const fn is_whole(&self) -> bool {
        self.omitted == 0
    }

    /// How many bytes the whole text has.
    pub const fn length(&self) -> u64 {
        self.text.len() as u64 + self.omitted
    }
}

impl fmt::Display for TextExcerpt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)?;
        if self.omitted > 0 {
            write!(formatter, "… ({} more bytes)", self.omitted)?;
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A message for people as one clean line: without control characters, short enough to show.
pub(crate) fn one_line(text: &str) -> String {
    // What is cut off first cannot cost time; blanks are taken together afterwards.
    let (head, is_cut) = head_of(text);
    shortened_line(&strip(head.as_bytes()), is_cut)
}

/// What an agent asks for, as one line in which nothing is hidden: what would not show has a sign.
pub(crate) fn visible_line(text: &str) -> String {
    let (head, is_cut) = head_of(text);
    shortened_line(&visible(head), is_cut)
}

fn head_of(text: &str) -> (&str, bool) {
    let head = &text[..text.floor_char_boundary(4 * LINE_EXCERPT)];
    (head, head.len() < text.len())
}

fn shortened_line(text: &str, is_cut: bool) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let kept = line.floor_char_boundary(LINE_EXCERPT);
    if is_cut || kept < line.len() { format!("{}…", &line[..kept]) } else { line }
}

/// A name as one short line.
pub(crate) fn name(text: &str) -> String {
    let mut name = visible_line(text);
    name.truncate(name.floor_char_boundary(NAME_LIMIT));
    name
}

/// What a tool is given, shortened when it is too much.
pub(crate) fn input(given: JsonNode<'_>) -> Value {
    let fits =
        |value: &Value| serde_json::to_string(value).is_ok_and(|json| json.len() <= TOOL_LIMIT);
    let mut value = given.to_value().unwrap_or_default();
    if fits(&value) {
        return value;
    }
    shorten(&mut value);
    if fits(&value) {
        return value;
    }
    Value::String(TextExcerpt::of(&value.to_string(), TOOL_LIMIT).to_string())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > INNER_LIMIT => {
            *text = TextExcerpt::of(text, INNER_LIMIT).to_string();
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_excerpt_ends_between_characters_and_says_what_is_missing() {
        let excerpt = TextExcerpt::of("aé漢", 4);
        assert_eq!((excerpt.text.as_str(), excerpt.omitted), ("aé", 3));
        assert_eq!(excerpt.to_string(), "aé… (3 more bytes)");
        for limit in 0..8 {
            let bytes = TextExcerpt::of_bytes("aé漢".as_bytes(), 0, limit);
            assert_eq!(bytes, TextExcerpt::of("aé漢", limit), "{limit}");
        }
        let broken = TextExcerpt::of_bytes(b"a\xff\xff\xff\xffb", 10, 5);
        assert_eq!(
            (broken.text.as_str(), broken.omitted),
            ("a\u{fffd}\u{fffd}\u{fffd}\u{fffd}", 11)
        );
    }

    #[test]
    fn a_large_input_keeps_its_shape_if_it_can() {
        let large = "x".repeat(1_000_000);
        let short = input(JsonNode::Kept(&json!({ "path": "a", "content": large })));
        assert_eq!(short["path"], "a");
        assert!(short["content"].as_str().unwrap().ends_with("x… (997952 more bytes)"));
        let many = input(JsonNode::Kept(&json!(vec!["word"; 100_000])));
        assert!(many.as_str().unwrap().starts_with("[\"word\","));
        assert!(many.as_str().unwrap().len() < TOOL_LIMIT + 40);
    }

    #[test]
    fn a_message_is_one_clean_line() {
        assert_eq!(one_line(" \u{1b}[31ma\r\n\tb\u{0}\u{7} "), "a b");
        assert_eq!(one_line(&"é".repeat(9000)).chars().count(), LINE_EXCERPT / 2 + 1);
        assert_eq!(name(&"n".repeat(1000)).len(), NAME_LIMIT);
    }
}
