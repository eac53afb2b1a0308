//! Plans and changes that agents announce over a channel. Their shapes are those of the published
//! protocols; the recorded conversations have none.

use super::*;

fn items(events: &[ChannelEvent]) -> Vec<Value> {
    let item = |event: &ChannelEvent| match event {
        ChannelEvent::Item { item } => Some(serde_json::to_value(item).unwrap()),
        _ => None,
    };
    events.iter().filter_map(item).collect()
}

fn update(update: &Value) -> Value {
    let params = json!({"sessionId": "S", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

#[test]
fn the_plan_of_an_acp_agent_is_told_whenever_it_changes() {
    let mut codec = working(ChannelKind::Acp);
    let plan = json!({"sessionUpdate": "plan", "entries": [
        {"content": "look", "priority": "high", "status": "in_progress"},
        {"content": "write", "priority": "low", "status": "pending"},
    ]});
    let told = items(&printed(&mut codec, &update(&plan)));
    let steps = json!([
        {"text": "look", "status": "in-progress"}, {"text": "write", "status": "pending"},
    ]);
    assert_eq!(told, [json!({"type": "plan", "steps": steps})]);
    let cleared = update(&json!({"sessionUpdate": "plan", "entries": []}));
    assert_eq!(printed(&mut codec, &cleared), [], "an empty plan is understood");
}

#[test]
fn the_changes_of_an_acp_call_are_told_once() {
    let diff = json!({"type": "diff", "path": "a.rs", "oldText": "one\n", "newText": "two\n"});
    let call = |status: &str| {
        update(&json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "kind": "edit", "status": status,
            "rawInput": {"note": "x"}, "content": [diff],
        }))
    };
    let mut codec = working(ChannelKind::Acp);
    assert_eq!(printed(&mut codec, &call("pending")), [], "it is not told before it runs");
    let kinds = |events: &[ChannelEvent]| {
        items(events).iter().map(|item| item["type"].clone()).collect::<Vec<_>>()
    };
    let running = printed(&mut codec, &call("in_progress"));
    assert_eq!(kinds(&running), ["tool-call", "diff"]);
    assert_eq!(items(&running)[1]["diff"]["text"], "-one\n+two\n");
    assert_eq!(items(&running)[1]["call"], "c");
    assert_eq!(kinds(&printed(&mut codec, &call("completed"))), ["tool-result"]);

    // Where the input says the same, it is told from there.
    let edit = update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": "d", "kind": "edit", "status": "in_progress",
        "rawInput": {"file_path": "a.rs", "old_string": "one", "new_string": "two"},
        "content": [diff],
    }));
    assert_eq!(kinds(&printed(&mut codec, &edit)), ["tool-call", "diff"]);
}

#[test]
fn codex_tells_its_plan_at_once_and_the_changes_of_a_turn_when_it_is_over() {
    let mut codec = working(ChannelKind::CodexAppServer);
    let plan = json!({"method": "turn/plan/updated", "params": {
        "threadId": "T", "turnId": "U", "explanation": null,
        "plan": [{"step": "look", "status": "completed"}, {"step": "write", "status": "inProgress"}],
    }});
    let steps = json!([
        {"text": "look", "status": "completed"}, {"text": "write", "status": "in-progress"},
    ]);
    assert_eq!(items(&printed(&mut codec, &plan)), [json!({"type": "plan", "steps": steps})]);
    for text in ["@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1,2 @@\n-a\n+b\n+c\n"] {
        let diff = json!({"method": "turn/diff/updated", "params": {
            "threadId": "T", "turnId": "U", "diff": text,
        }});
        assert_eq!(printed(&mut codec, &diff), [], "it grows until the turn is over");
    }
    let done = json!({"method": "turn/completed", "params": {
        "threadId": "T", "turn": {"id": "U", "status": "completed"},
    }});
    let told = items(&printed(&mut codec, &done));
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["added"], &told[0]["removed"]), (&json!(2), &json!(1)));
    assert_eq!(told[0]["path"], Value::Null);
}

#[test]
fn a_file_change_of_codex_has_its_diffs_with_its_call() {
    let mut codec = working(ChannelKind::CodexAppServer);
    let begun = json!({"method": "item/started", "params": {"threadId": "T", "turnId": "U", "item": {
        "type": "fileChange", "id": "I", "status": "inProgress", "changes": [
            {"path": "a.rs", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"},
            {"path": "new.rs", "kind": {"type": "add"}, "diff": "fn new() {}\n"},
        ],
    }}});
    let told = items(&printed(&mut codec, &begun));
    let kinds: Vec<_> = told.iter().map(|item| (&item["type"], &item["path"])).collect();
    let diff = json!("diff");
    assert_eq!(kinds[1..], [(&diff, &json!("a.rs")), (&diff, &json!("new.rs"))]);
    assert_eq!(told[2]["diff"]["text"], "+fn new() {}\n");
    assert!(told.iter().skip(1).all(|item| item["call"] == "I"));
}
