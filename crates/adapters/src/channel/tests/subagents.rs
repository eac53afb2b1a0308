//! Helpers of Claude's main agent: what they ask, say and do has their name. The shapes are those of
//! the Agent SDK's types (`agent_id`, `parent_tool_use_id`, `task_started`); no recording has them.

use super::*;
use crate::view::TranscriptView;
use coven_model::TranscriptPart;

const KIND: ChannelKind = ChannelKind::ClaudeStdio;
const REVIEWER: &str = "subagent reviewer (Look at the diff)";

/// A call of a tool, by the main agent or by the helper that `parent` began.
fn call(id: &str, tool: &str, input: &Value, parent: Option<&str>) -> Value {
    let part = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    json!({
        "type": "assistant", "parent_tool_use_id": parent, "session_id": "s",
        "message": {"id": id, "role": "assistant", "content": [part]},
    })
}

fn begin(tool: &str) -> Value {
    let input = json!({
        "subagent_type": "reviewer", "description": "Look at the diff", "prompt": "…",
    });
    call("task-1", tool, &input, None)
}

/// The request of a call, with the fields that a helper's has.
fn asks(call: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut request = permission(KIND, 1, "make");
    request["request"]["tool_use_id"] = call.into();
    change(&mut request);
    request
}

fn by(codec: &ChannelCodec) -> Option<&str> {
    codec.open().next().unwrap().by.as_deref()
}

#[test]
fn a_request_names_the_helper_whose_call_it_is_about() {
    for tool in ["Task", "Agent"] {
        let mut codec = working(KIND);
        printed(&mut codec, &begin(tool));
        printed(&mut codec, &call("c1", "Bash", &json!({"command": "make"}), Some("task-1")));
        let saved = serde_json::to_string(&codec).unwrap();
        let mut codec: ChannelCodec = serde_json::from_str(&saved).unwrap();
        printed(&mut codec, &asks("c1", |_| {}));
        assert_eq!(by(&codec), Some(REVIEWER), "{tool}");
        let question = codec.open().next().unwrap();
        assert_eq!(question.extras(None), [""; 0], "rules are held against its command");
    }
}

#[test]
fn a_request_names_the_helper_by_its_id_or_by_the_call_that_began_it() {
    let mut codec = working(KIND);
    printed(&mut codec, &begin("Task"));
    let started = json!({
        "type": "system", "subtype": "task_started", "task_id": "a17", "tool_use_id": "task-1",
        "description": "Look at the diff", "subagent_type": "reviewer",
    });
    assert_eq!(printed(&mut codec, &started), []);
    // One in the background goes on after the turn in which it was begun.
    printed(&mut codec, &end_of_turn(KIND));
    printed(&mut codec, &asks("c2", |request| request["request"]["agent_id"] = "a17".into()));
    assert_eq!(by(&codec), Some(REVIEWER));
    let mut codec = working(KIND);
    printed(&mut codec, &begin("Task"));
    printed(&mut codec, &asks("c3", |request| request["parent_tool_use_id"] = "task-1".into()));
    assert_eq!(by(&codec), Some(REVIEWER));
}

#[test]
fn a_helper_that_was_not_announced_is_told_as_one_all_the_same() {
    let mut codec = working(KIND);
    let id = format!("a17{}", "x".repeat(300));
    printed(&mut codec, &asks("c1", |request| request["request"]["agent_id"] = id.into()));
    let by = by(&codec).unwrap();
    assert!(by.starts_with("a subagent (a17x") && by.len() < 80, "{by}");
    let mut codec = working(KIND);
    printed(&mut codec, &call("c1", "Bash", &json!({"command": "make"}), Some("unknown")));
    printed(&mut codec, &asks("c1", |_| {}));
    assert_eq!(self::by(&codec), Some("a subagent"));
}

#[test]
fn a_request_of_the_main_agent_has_no_helper() {
    let mut codec = working(KIND);
    printed(&mut codec, &begin("Task"));
    printed(&mut codec, &call("c1", "Bash", &json!({"command": "make"}), None));
    printed(&mut codec, &asks("c1", |_| {}));
    assert_eq!(by(&codec), None);
    // Beginning a helper is what the main agent does.
    printed(&mut codec, &asks("task-1", |request| request["request_id"] = "q2".into()));
    assert_eq!(codec.open().nth(1).unwrap().by, None);
}

#[test]
fn a_transcript_says_what_a_helper_said_did_and_asked() {
    let mut parts = Vec::new();
    let mut view = TranscriptView::channel(working(KIND));
    let said = |parent: Value, text: &str| {
        json!({
            "type": "assistant", "parent_tool_use_id": parent,
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        })
    };
    let result = json!({
        "type": "user", "parent_tool_use_id": "task-1", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "made"},
        ]},
    });
    let messages = [
        said(Value::Null, "I look"),
        begin("Task"),
        said("task-1".into(), "I read"),
        call("c1", "Bash", &json!({"command": "make"}), Some("task-1")),
        asks("c1", |_| {}),
        result,
        said(Value::Null, "done"),
        end_of_turn(KIND),
    ];
    for message in messages {
        view.printed(&json_rpc::json_line(&message), &mut |part| parts.push(part));
    }
    let text = |text: &str| if text.starts_with('{') { "begins" } else { text }.to_owned();
    let told: Vec<_> = parts.iter().map(|part| (text(&part.text), part.by.as_deref())).collect();
    let by = Some(REVIEWER);
    assert_eq!(
        told,
        [
            ("I look", None),
            ("begins", None),
            ("I read", by),
            ("make", by),
            ("make", by),
            ("made", by),
            ("no longer asked", None),
            ("done", None),
            ("done", None),
        ]
        .map(|(text, by)| (text.to_owned(), by))
    );
    let last = &parts.last().unwrap().part;
    assert!(matches!(last, TranscriptPart::Final { repeated: true, .. }), "{last:?}");
}
