//! The lines of `stream-json`. Their shape is the one Claude Code prints, which other agents have
//! taken over; only the fields that say something here are there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum TranscriptEvent {
    System(SystemEvent),
    Assistant { message: AssistantMessage, session_id: String },
    User { message: UserMessage, session_id: String },
    Result(Box<ResultEvent>),
}

/// What is said about the run itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum SystemEvent {
    Init {
        cwd: String,
        session_id: String,
        tools: Vec<String>,
        model: String,
        #[serde(rename = "permissionMode")]
        permission_mode: String,
        version: String,
    },
    PermissionDenied {
        tool_name: String,
        tool_use_id: String,
        message: String,
        session_id: String,
    },
}

/// What the agent says or wants to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AssistantMessage {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) model: String,
    pub(crate) content: Vec<ContentPart>,
    pub(crate) usage: TokenCounts,
}

/// What comes back to the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserMessage {
    pub(crate) role: String,
    pub(crate) content: Vec<ContentPart>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentPart {
    Text { text: String },
    ToolUse { id: String, name: String, input: Value },
    ToolResult { tool_use_id: String, content: String, is_error: bool },
}

/// How the run ended. It is the last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResultEvent {
    pub(crate) subtype: ResultSubtype,
    pub(crate) is_error: bool,
    pub(crate) result: String,
    pub(crate) session_id: String,
    pub(crate) num_turns: u64,
    pub(crate) duration_ms: u64,
    /// Of the whole session, not of this run; only where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total_cost_usd: Option<f64>,
    pub(crate) usage: TokenCounts,
    pub(crate) permission_denials: Vec<PermissionDenial>,
}

/// Whether the run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResultSubtype {
    Success,
    ErrorDuringExecution,
}

/// Something that was wanted and not allowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of the fields in the output")]
pub(crate) struct PermissionDenial {
    pub(crate) tool_name: String,
    pub(crate) tool_use_id: String,
    pub(crate) tool_input: Value,
}

/// How many tokens were used. They are made up, but always alike: four characters are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of the fields in the output")]
pub(crate) struct TokenCounts {
    pub(crate) input_tokens: u64,
    pub(crate) cache_read_input_tokens: u64,
    pub(crate) output_tokens: u64,
}

impl TokenCounts {
    pub(crate) fn of(read: &str, said: &str) -> Self {
        let tokens = |text: &str| (text.chars().count() as u64).div_ceil(4);
        Self { input_tokens: tokens(read), output_tokens: tokens(said), ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> String {
        value.to_owned()
    }

    fn events() -> Vec<TranscriptEvent> {
        let input = serde_json::json!({ "command": "ls \n\"" });
        let usage = TokenCounts::of("12345", "1234");
        let message = |content| AssistantMessage {
            id: text("msg_1"),
            role: text("assistant"),
            model: text("m"),
            content: vec![content],
            usage,
        };
        let tool = ContentPart::ToolUse { id: text("t"), name: text("Bash"), input: input.clone() };
        let result =
            ContentPart::ToolResult { tool_use_id: text("t"), content: text("no"), is_error: true };
        let denial = PermissionDenial {
            tool_name: text("Bash"),
            tool_use_id: text("t"),
            tool_input: input.clone(),
        };
        vec![
            TranscriptEvent::System(SystemEvent::Init {
                cwd: text("/tmp"),
                session_id: text("s"),
                tools: vec![text("Bash")],
                model: text("m"),
                permission_mode: text("ask"),
                version: text("0.1.0"),
            }),
            TranscriptEvent::Assistant {
                message: message(ContentPart::Text { text: text("hi") }),
                session_id: text("s"),
            },
            TranscriptEvent::Assistant { message: message(tool), session_id: text("s") },
            TranscriptEvent::System(SystemEvent::PermissionDenied {
                tool_name: text("Bash"),
                tool_use_id: text("t"),
                message: text("no"),
                session_id: text("s"),
            }),
            TranscriptEvent::User {
                message: UserMessage { role: text("user"), content: vec![result] },
                session_id: text("s"),
            },
            TranscriptEvent::Result(Box::new(ResultEvent {
                subtype: ResultSubtype::ErrorDuringExecution,
                is_error: true,
                result: text("oh"),
                session_id: text("s"),
                num_turns: 2,
                duration_ms: 5,
                total_cost_usd: Some(0.25),
                usage,
                permission_denials: vec![denial],
            })),
        ]
    }

    #[test]
    fn every_line_can_be_read_back() {
        for event in events() {
            let line = serde_json::to_string(&event).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<TranscriptEvent>(&line).unwrap(), event, "{line}");
        }
    }

    #[test]
    fn lines_have_the_shape_that_others_know() {
        let lines: Vec<String> =
            events().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"type":"system","subtype":"init","cwd":"/tmp","session_id":"s","tools":["Bash"],"model":"m","permissionMode":"ask","version":"0.1.0"}
        {"type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":2,"cache_read_input_tokens":0,"output_tokens":1}},"session_id":"s"}
        {"type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls \n\""}}],"usage":{"input_tokens":2,"cache_read_input_tokens":0,"output_tokens":1}},"session_id":"s"}
        {"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","message":"no","session_id":"s"}
        {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]},"session_id":"s"}
        {"type":"result","subtype":"error_during_execution","is_error":true,"result":"oh","session_id":"s","num_turns":2,"duration_ms":5,"total_cost_usd":0.25,"usage":{"input_tokens":2,"cache_read_input_tokens":0,"output_tokens":1},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls \n\""}}]}
        "#);
    }

    #[test]
    fn four_characters_are_a_token() {
        let usage = TokenCounts::of("", "12345");
        assert_eq!((usage.input_tokens, usage.output_tokens), (0, 2));
    }
}
