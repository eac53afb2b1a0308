//! What the client is asked, and what comes of each answer.

use serde_json::{Value, json};

use super::client::Workspace;
use crate::options::PermissionMode;

#[test]
fn an_allowed_command_runs_in_the_folder_of_the_session() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "say first; approve pwd");
    let question = client.until_question();
    assert_eq!(
        question["params"],
        json!({
            "sessionId": session,
            "toolCall": {
                "toolCallId": "call_1_1",
                "title": "pwd",
                "kind": "execute",
                "status": "pending",
                "rawInput": { "command": "pwd" },
            },
            "options": [
                { "optionId": "allow_once", "name": "Allow once", "kind": "allow_once" },
                { "optionId": "allow_always", "name": "Always allow", "kind": "allow_always" },
                { "optionId": "reject_once", "name": "Reject", "kind": "reject_once" },
            ],
        })
    );
    client.select(&question, "allow_once");
    let messages = client.until_response(turn);
    let folder = place.work().canonicalize().unwrap();
    let expected = format!("in_progress\ncompleted: {}\nsays: Done.\nusage", folder.display());
    assert_eq!(messages.summary(), expected);
    assert_eq!(messages.updates[1]["rawOutput"]["output"], folder.to_str().unwrap());
    assert_eq!(messages.stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn a_rejected_command_is_not_run_and_the_turn_goes_on() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "approve touch made; say after");
    let question = client.until_question();
    client.select(&question, "reject_once");
    let messages = client.until_response(turn);
    assert_eq!(
        messages.summary(),
        "failed: The client rejected this.\nsays: I was not allowed to run: touch made\n\
         says: \nafter\nusage"
    );
    assert_eq!(messages.stop_reason(), "end_turn");
    assert!(!place.work().join("made").exists());
    client.close().assert_clean();
}

#[test]
fn nothing_but_an_option_that_allows_is_leave() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let error = json!({ "error": { "code": -32601, "message": "no" } });
    let selected = |option: Value| json!({ "result": { "outcome": { "outcome": "selected", "optionId": option } } });
    for answer in [error, json!({ "result": null }), selected("yes".into()), selected(1.into())] {
        let turn = client.prompt(&session, "approve touch made");
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = client.until_question()["id"].clone();
        client.send(&answer);
        let messages = client.until_response(turn);
        assert!(messages.summary().contains("I was not allowed"), "{}", messages.summary());
        assert!(!place.work().join("made").exists());
    }
    client.close().assert_clean();
}

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "approve echo a; approve echo a; approve echo b");
    let first = client.until_question();
    client.select(&first, "allow_always");
    let second = client.until_question();
    assert_eq!(second["params"]["toolCall"]["rawInput"]["command"], "echo b");
    assert_ne!(first["id"], second["id"]);
    client.select(&second, "reject_once");
    assert_eq!(client.until_response(turn).stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn an_outcome_of_cancelled_cancels_the_turn() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "approve touch made; say never");
    let question = client.until_question();
    client.respond(&question, &json!({ "outcome": "cancelled" }));
    let messages = client.until_response(turn);
    assert_eq!(messages.summary(), "failed: The client cancelled this.\nusage");
    assert_eq!(messages.stop_reason(), "cancelled");
    assert!(!place.work().join("made").exists());
    client.close().assert_clean();
}

#[test]
fn the_permissions_decide_what_is_asked() {
    let place = Workspace::new();
    let prompt = "approve echo ran; write ./made.txt text";
    let refused = "failed: The mode of the session does not allow this.";
    for (permissions, expected) in [
        (PermissionMode::All, ["in_progress\ncompleted: ran", "in_progress\ncompleted: Wrote"]),
        (PermissionMode::ReadOnly, [refused, refused]),
    ] {
        let (mut client, session) = place.session(permissions);
        let messages = client.turn(&session, prompt);
        let summary = messages.summary();
        assert!(expected.iter().all(|part| summary.contains(part)), "{summary}");
        let made = place.work().join("made.txt");
        assert_eq!(made.exists(), permissions == PermissionMode::All);
        std::fs::remove_file(made).ok();
        client.close().assert_clean();
    }
    let (mut client, session) = place.session(PermissionMode::Edits);
    let turn = client.prompt(&session, &format!("write ./made.txt text; {prompt}"));
    let question = client.until_question();
    assert_eq!(question["params"]["toolCall"]["kind"], "execute");
    client.select(&question, "allow_once");
    assert_eq!(client.until_response(turn).stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn a_mode_that_is_set_counts_at_once() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::All);
    let set = |mode: &str| json!({ "sessionId": session, "modeId": mode });
    assert_eq!(client.call("session/set_mode", &set("read-only"))["result"], json!({}));
    let summary = client.turn(&session, "approve echo ran").summary();
    assert!(summary.contains("I was not allowed"), "{summary}");
    client.call("session/set_mode", &set("ask"));
    let turn = client.prompt(&session, "approve echo one; approve echo two");
    let question = client.until_question();
    // Also while the turn is under way.
    assert_eq!(client.call("session/set_mode", &set("all"))["result"], json!({}));
    client.select(&question, "allow_once");
    let summary = client.until_response(turn).summary();
    assert!(summary.contains("completed: two"), "{summary}");
    assert_eq!(client.call("session/set_mode", &set("yolo"))["error"]["code"], -32602);
    client.close().assert_clean();
}

#[test]
fn a_choice_is_asked_with_an_option_for_each() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::All);
    let turn = client.prompt(&session, "choose Which colour? Red|Blue");
    let question = client.until_question();
    assert_eq!(question["params"]["toolCall"]["title"], "Which colour?");
    assert_eq!(
        question["params"]["options"],
        json!([
            { "optionId": "Red", "name": "Red", "kind": "allow_once" },
            { "optionId": "Blue", "name": "Blue", "kind": "allow_once" },
        ])
    );
    client.select(&question, "Blue");
    let messages = client.until_response(turn);
    assert_eq!(messages.summary(), "completed: Blue\nsays: You answered: Blue\nusage");
    let turn = client.prompt(&session, "choose Which colour? Red|Blue");
    let question = client.until_question();
    client.select(&question, "Green");
    let summary = client.until_response(turn).summary();
    assert!(summary.contains("says: You did not answer."), "{summary}");
    client.close().assert_clean();
}

#[test]
fn a_question_for_a_text_cannot_be_asked() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let messages = client.turn(&session, "ask Why?");
    // The order of keys depends on what else is built.
    let summary = messages.summary().replace(
        "{\"question\":\"Why?\",\"options\":[]}",
        "{\"options\":[],\"question\":\"Why?\"}",
    );
    assert_eq!(
        summary,
        "other pending {\"options\":[],\"question\":\"Why?\"}\n\
         failed: The Agent Client Protocol cannot ask a person for a text.\n\
         says: I could not ask: Why?\nusage"
    );
    client.close().assert_clean();
}
