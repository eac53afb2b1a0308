//! What an agent said and did, the same for every agent and for every way to follow it.
//!
//! An entry has a text that a person can read and, by its kind, the structure behind that text. A
//! reader that does not know a kind shows the text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Timestamp;
use crate::usage::TokenUsage;
use crate::verdict::AwaitingKind;

/// One thing that an agent said or did, or was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptEntry {
    /// The place of the entry, to go on after it. Ids grow from entry to entry, with holes, and
    /// an entry has the same id whenever it is asked for.
    pub id: u64,
    /// When it happened, in milliseconds since the process started.
    pub at: u64,
    /// What a person reads: what was said, the command, the result, the diff. It has no escape
    /// sequences and is not to be trusted.
    pub text: String,
    /// How many bytes of the text are left out at its end. Asked for with `whole`, the entry has
    /// as much as is read of one message; the output of the task has all of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// The helper that said, did or asked it, such as `subagent reviewer (Look at the diff)`.
    /// Missing for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Which kind of entry it is, and what belongs to that kind.
    #[serde(flatten)]
    pub part: TranscriptPart,
}

/// The kind of an entry, with what else is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TranscriptPart {
    /// The agent was told something.
    Prompt,
    /// The agent said something.
    Text {
        /// Whether the text goes on where the text of the entry before it ends.
        #[serde(default, skip_serializing_if = "is_false")]
        continues: bool,
    },
    /// The agent thought aloud.
    Thinking {
        /// Whether the text goes on where the text of the entry before it ends.
        #[serde(default, skip_serializing_if = "is_false")]
        continues: bool,
    },
    /// The agent uses a tool. The text is what it uses it for, in short.
    Tool {
        /// Which call this is, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The tool, as the agent calls it.
        tool: String,
        /// What the tool is given. Long texts in it are cut.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
    },
    /// What a tool returned.
    Result {
        /// Which call it answers, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Whether the tool did what it was asked to.
        ok: bool,
    },
    /// The agent changes a file. The text is a unified diff.
    Diff {
        /// The call of a tool that makes the change, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The file; missing for everything that a turn changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// How many lines come.
        added: u64,
        /// How many lines go.
        removed: u64,
    },
    /// What the agent intends to do. It replaces the plan before it.
    Plan {
        /// The steps in their order.
        steps: Vec<TranscriptStep>,
    },
    /// The agent asks, and waits for an answer.
    Question {
        /// The agent's id of the question.
        request: String,
        /// Which kind of answer it waits for.
        awaiting: AwaitingKind,
        /// The tool that it asks about.
        tool: String,
        /// Which call it asks about, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// What the agent offers as answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<String>,
    },
    /// A question is not open any more.
    Answered {
        /// The agent's id of the question.
        request: String,
        /// Whether it was answered. Otherwise the agent took it back, or its turn ended.
        answered: bool,
    },
    /// What the agent has used up.
    Usage {
        /// All that is known to be used so far.
        usage: TokenUsage,
    },
    /// The agent may not use its model for now.
    Limit {
        /// When it may again, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Something went wrong, or the agent was not allowed to do something.
    Error {
        /// The tool that was not allowed, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Something about the run itself: the conversation, a warning, a line on standard error.
    System,
    /// A message that was not understood.
    Unknown,
    /// The agent says that its turn is over. The text is its answer, or why it failed.
    Final {
        /// Whether the turn succeeded.
        ok: bool,
        /// Whether the text is what the agent said right before, once more.
        #[serde(default, skip_serializing_if = "is_false")]
        repeated: bool,
    },
}

/// One step of what an agent intends to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptStep {
    /// What is to be done. One line.
    pub text: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How far a step of an agent's plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    /// It has not begun.
    Pending,
    /// The agent is at it.
    InProgress,
    /// It is done.
    Completed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_flat_object_and_reads_back() {
        let call = Some("c1".to_owned());
        let entry = TranscriptEntry {
            id: 1 << 52,
            at: 7,
            text: "ls".to_owned(),
            omitted: 0,
            by: None,
            part: TranscriptPart::Tool { call, tool: "Bash".to_owned(), input: Value::Null },
        };
        let json = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            json,
            r#"{"id":4503599627370496,"at":7,"text":"ls","kind":"tool","call":"c1","tool":"Bash"}"#
        );
        assert_eq!(serde_json::from_str::<TranscriptEntry>(&json).unwrap(), entry);
    }
}
