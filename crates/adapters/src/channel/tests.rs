//! The codecs against what the real CLIs said, and against what no CLI should say.

mod announced;
mod announced_calls;
mod answers;
mod bad_input;
mod beside_input;
mod contradictions;
mod damaged;
mod exact_ids;
mod exchange;
mod hidden_text;
mod options;
mod spoken;
mod subagents;
mod transcripts;
mod unread;
mod untaken;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::transcript::{TextExcerpt, TranscriptItem};

/// The recorded conversations, by the CLI that had them.
const TRANSCRIPTS: [(&str, ChannelKind); 24] = [
    ("claude-stdio-allow", ChannelKind::ClaudeStdio),
    ("claude-stdio-always", ChannelKind::ClaudeStdio),
    ("claude-stdio-always2", ChannelKind::ClaudeStdio),
    ("claude-stdio-deny", ChannelKind::ClaudeStdio),
    ("claude-stdio-killed", ChannelKind::ClaudeStdio),
    ("claude-stdio-killed-resume", ChannelKind::ClaudeStdio),
    ("claude-stdio-question", ChannelKind::ClaudeStdio),
    ("claude-stdio-quota", ChannelKind::ClaudeStdio),
    ("claude-stdio-quota-subscriber", ChannelKind::ClaudeStdio),
    ("codex-app-server-accept", ChannelKind::CodexAppServer),
    ("codex-decline", ChannelKind::CodexAppServer),
    ("codex-killed", ChannelKind::CodexAppServer),
    ("codex-killed-resume", ChannelKind::CodexAppServer),
    ("codex-usage-limit", ChannelKind::CodexAppServer),
    ("claude-agent-acp", ChannelKind::Acp),
    ("claude-agent-acp-load", ChannelKind::Acp),
    ("copilot-acp", ChannelKind::Acp),
    ("copilot-acp-load", ChannelKind::Acp),
    ("gemini-acp", ChannelKind::Acp),
    ("gemini-acp-load", ChannelKind::Acp),
    ("opencode-acp", ChannelKind::Acp),
    ("opencode-acp-load", ChannelKind::Acp),
    ("qwen-acp", ChannelKind::Acp),
    ("qwen-acp-load", ChannelKind::Acp),
];

/// One message of a conversation.
#[derive(Clone, Debug)]
struct Record {
    direction: ChannelDirection,
    message: Value,
    bytes: Vec<u8>,
}

impl Record {
    fn new(direction: ChannelDirection, message: Value) -> Self {
        let bytes = json_rpc::json_line(&message);
        Self { direction, message, bytes }
    }

    /// The request that this message asks with, if it is one of the agent's that a person answers.
    fn asks(&self) -> Option<RequestId> {
        let message = JsonNode::Kept(&self.message);
        if self.direction == ChannelDirection::In {
            return None;
        }
        if message.get("request").get("subtype").str() == Some("can_use_tool") {
            return RequestId::read(message.get("request_id"));
        }
        let method = message.get("method").str()?;
        let asks = method.ends_with("/requestApproval") || method == "session/request_permission";
        RequestId::read(message.get("id")).filter(|_| asks)
    }

    /// The request that this message answers, if it is one of ours.
    fn answers(&self) -> Option<RequestId> {
        let message = JsonNode::Kept(&self.message);
        if self.direction == ChannelDirection::Out {
            return None;
        }
        if message.get("type").str() == Some("control_response") {
            return RequestId::read(message.get("response").get("request_id"));
        }
        RequestId::read(message.get("id")).filter(|_| message.get("result").exists())
    }
}

fn records(name: &str) -> Vec<Record> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/channels");
    let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    let read = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let direction = match record["dir"].as_str().unwrap() {
            "<<" => ChannelDirection::Out,
            ">>" => ChannelDirection::In,
            // How the process ended.
            _ => return None,
        };
        Some(Record::new(direction, record["msg"].take()))
    };
    text.lines().filter_map(read).collect()
}

fn codec(kind: ChannelKind) -> ChannelCodec {
    ChannelCodec::new(kind, ChannelOptions::default())
}

fn feed(codec: &mut ChannelCodec, direction: ChannelDirection, bytes: &[u8]) -> Vec<ChannelEvent> {
    let mut events = Vec::new();
    codec.feed(direction, bytes, &mut |event| events.push(event));
    assert!(codec.buffered() <= CHANNEL_BUFFER_LIMIT);
    events
}

fn feed_all<'a>(
    codec: &mut ChannelCodec,
    records: impl IntoIterator<Item = &'a Record>,
) -> Vec<ChannelEvent> {
    let each = |record: &Record| feed(codec, record.direction, &record.bytes);
    records.into_iter().flat_map(each).collect()
}

fn printed(codec: &mut ChannelCodec, message: &Value) -> Vec<ChannelEvent> {
    feed(codec, ChannelDirection::Out, &json_rpc::json_line(message))
}

fn written(codec: &mut ChannelCodec, message: &[u8]) -> Vec<ChannelEvent> {
    feed(codec, ChannelDirection::In, message)
}

fn open(codec: &ChannelCodec) -> Vec<RequestId> {
    codec.open().map(|question| question.request.clone()).collect()
}

/// A request for permission to run a command, in each protocol.
fn permission(kind: ChannelKind, id: i64, command: &str) -> Value {
    match kind {
        ChannelKind::ClaudeStdio => json!({
            "type": "control_request", "request_id": format!("question-{id}"),
            "request": {
                "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": format!("call-{id}"),
                "input": {"command": command},
            },
        }),
        ChannelKind::CodexAppServer => json!({
            "method": "item/commandExecution/requestApproval", "id": id,
            "params": {"threadId": "T", "turnId": "U", "itemId": "I", "command": command},
        }),
        ChannelKind::Acp => json!({
            "jsonrpc": "2.0", "id": id, "method": "session/request_permission",
            "params": {
                "sessionId": "S",
                "toolCall": {
                    "toolCallId": format!("call-{id}"), "kind": "execute", "title": command,
                    "rawInput": {"command": command},
                },
                "options": [
                    {"optionId": "always", "kind": "allow_always", "name": "Always"},
                    {"optionId": "once_and_switch", "kind": "allow_once", "name": "Switch"},
                    {"optionId": "once", "kind": "allow_once", "name": "Once"},
                    {"optionId": "no", "kind": "reject_once", "name": "No"},
                ],
            },
        }),
    }
}

fn request_id(kind: ChannelKind, id: i64) -> RequestId {
    match kind {
        ChannelKind::ClaudeStdio => RequestId::Text(format!("question-{id}")),
        ChannelKind::CodexAppServer | ChannelKind::Acp => RequestId::Number(id),
    }
}

/// A codec in the middle of its first turn.
fn working(kind: ChannelKind) -> ChannelCodec {
    let mut codec = codec(kind);
    let prompt = match kind {
        ChannelKind::ClaudeStdio => {
            json!({"type": "user", "message": {"role": "user", "content": "do it"}})
        }
        ChannelKind::CodexAppServer => json!({
            "id": 3, "method": "turn/start",
            "params": {"threadId": "T", "input": [{"type": "text", "text": "do it"}]},
        }),
        ChannelKind::Acp => json!({
            "jsonrpc": "2.0", "id": 3, "method": "session/prompt",
            "params": {"sessionId": "S", "prompt": [{"type": "text", "text": "do it"}]},
        }),
    };
    let events = written(&mut codec, &json_rpc::json_line(&prompt));
    let text = TextExcerpt { text: "do it".to_owned(), omitted: 0 };
    let prompt = ChannelEvent::Item { item: TranscriptItem::Prompt { text } };
    assert_eq!(events, [prompt, ChannelEvent::Working]);
    if kind == ChannelKind::CodexAppServer {
        let turn =
            json!({"method": "turn/started", "params": {"threadId": "T", "turn": {"id": "U"}}});
        assert_eq!(printed(&mut codec, &turn), []);
    }
    codec
}

fn approve(request: RequestId) -> ChannelOrder {
    ChannelOrder::Answer { request, decision: ChannelDecision::Approve }
}

fn deny(request: RequestId, text: &str) -> ChannelOrder {
    let text = Some(text.to_owned());
    ChannelOrder::Answer { request, decision: ChannelDecision::Deny { text } }
}

fn end_of_turn(kind: ChannelKind) -> Value {
    match kind {
        ChannelKind::ClaudeStdio => {
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "done"})
        }
        ChannelKind::CodexAppServer => json!({
            "method": "turn/completed",
            "params": {"threadId": "T", "turn": {"id": "U", "status": "completed"}},
        }),
        ChannelKind::Acp => {
            json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}})
        }
    }
}
