//! Tool calls as the protocol shows them, and what the client is asked about them.

use serde_json::{Value, json};

use crate::script::ToolUse;
use crate::tool::ToolCall;

/// A tool call that was announced to the client.
#[derive(Clone, Debug)]
pub(super) struct AnnouncedCall {
    pub(super) id: String,
    title: String,
    kind: &'static str,
    pub(super) input: Value,
}

impl AnnouncedCall {
    pub(super) fn tool(id: String, tool: &ToolUse) -> Self {
        let (title, kind) = match tool {
            ToolUse::Command(command) => (command.clone(), "execute"),
            ToolUse::Write { path, .. } => (format!("Write {}", path.display()), "edit"),
        };
        Self { id, title, kind, input: ToolCall::of(tool).input }
    }

    pub(super) fn question(id: String, question: &str, options: &[String]) -> Self {
        let input = ToolCall::question(question, options).input;
        Self { id, title: question.to_owned(), kind: "other", input }
    }

    /// What the client hears of the call before anything is done.
    pub(super) fn pending(&self) -> Value {
        json!({
            "toolCallId": self.id,
            "title": self.title,
            "kind": self.kind,
            "status": "pending",
            "rawInput": self.input,
        })
    }

    pub(super) fn announcement(&self) -> Value {
        let mut update = self.pending();
        update["sessionUpdate"] = "tool_call".into();
        update
    }

    pub(super) fn in_progress(&self) -> Value {
        json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": self.id,
            "status": "in_progress",
        })
    }

    pub(super) fn ended(&self, ok: bool, output: &str) -> Value {
        json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": self.id,
            "status": if ok { "completed" } else { "failed" },
            "content": [{ "type": "content", "content": { "type": "text", "text": output } }],
            "rawOutput": { "output": output },
        })
    }
}

/// What the client is asked.
#[derive(Debug)]
pub(super) enum ClientQuestion {
    /// Whether the tool may be used.
    Permission(ToolUse),
    /// Which of these it is to be.
    Choice(Vec<String>),
}

impl ClientQuestion {
    /// The options the client has. The protocol knows no choices but those about permissions, so a
    /// choice is a permission with one option for each.
    pub(super) fn options(&self) -> Value {
        let option = |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
        match self {
            Self::Permission(_) => json!([
                option("allow_once", "Allow once", "allow_once"),
                option("allow_always", "Always allow", "allow_always"),
                option("reject_once", "Reject", "reject_once"),
            ]),
            Self::Choice(labels) => {
                labels.iter().map(|label| option(label, label, "allow_once")).collect()
            }
        }
    }
}

/// What the client decided.
#[derive(Debug, PartialEq)]
pub(super) enum ClientDecision {
    Selected(String),
    Cancelled,
    /// An error, or nothing that can be understood. It allows nothing.
    Unclear,
}

impl ClientDecision {
    pub(super) fn read(result: Option<&Value>) -> Self {
        let outcome = result.map(|result| &result["outcome"]);
        match outcome.and_then(|outcome| outcome["outcome"].as_str()) {
            Some("cancelled") => Self::Cancelled,
            Some("selected") => match outcome.and_then(|outcome| outcome["optionId"].as_str()) {
                Some(option) => Self::Selected(option.to_owned()),
                None => Self::Unclear,
            },
            _ => Self::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_selected_option_is_one() {
        let read = |result: Value| ClientDecision::read(Some(&result));
        let selected = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
        assert_eq!(read(selected), ClientDecision::Selected("allow_once".to_owned()));
        assert_eq!(
            read(json!({ "outcome": { "outcome": "cancelled" } })),
            ClientDecision::Cancelled
        );
        for unclear in [
            json!(null),
            json!("allow_once"),
            json!({ "outcome": "selected", "optionId": "allow_once" }),
            json!({ "outcome": { "outcome": "selected" } }),
            json!({ "outcome": { "outcome": "other", "optionId": "allow_once" } }),
        ] {
            assert_eq!(read(unclear.clone()), ClientDecision::Unclear, "{unclear}");
        }
        assert_eq!(ClientDecision::read(None), ClientDecision::Unclear);
    }
}
