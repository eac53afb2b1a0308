//! What the client does wrong, and what the agent says to it.

use serde_json::{Value, json};

use super::client::Workspace;
use crate::options::{Options, PermissionMode};

#[test]
fn a_method_that_is_not_known_is_an_error() {
    let place = Workspace::new();
    let mut client = place.connect(Options::default());
    client.initialize();
    for method in ["session/fork", "authenticate", ""] {
        assert_eq!(client.call(method, &json!({}))["error"]["code"], -32601, "{method}");
    }
    // A notification has no answer.
    client.notify("session/other", &json!({}));
    client.new_session(&place.work());
    client.close().assert_clean();
}

#[test]
fn a_line_that_is_not_json_is_an_error_and_the_agent_goes_on() {
    let place = Workspace::new();
    let mut client = place.connect(Options::default());
    for line in ["{\"jsonrpc\":\n", "hello\n", "{]\n"] {
        client.send_bytes(line.as_bytes());
        let answer = client.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    client.send_bytes(b"\xff\xfe\n");
    assert_eq!(client.receive()["error"]["code"], -32700);
    client.send_bytes(b"[1]\n\n{\"id\":7}\n");
    assert_eq!(client.receive()["error"]["code"], -32600);
    let answer = client.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
    client.initialize();
    client.close().assert_clean();
}

#[test]
fn a_message_may_come_in_pieces() {
    let place = Workspace::new();
    let mut client = place.connect(Options::default());
    let message = b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"initialize\",\"params\":{}}\n";
    for byte in message {
        client.send_bytes(&[*byte]);
    }
    let answer = client.receive();
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!("x"), &json!(1)));
    client.close().assert_clean();
}

#[test]
fn a_session_before_the_introduction_is_an_error() {
    let place = Workspace::new();
    let mut client = place.connect(Options::default());
    let new = json!({ "cwd": place.work(), "mcpServers": [] });
    assert_eq!(client.call("session/new", &new)["error"]["code"], -32600);
    client.initialize();
    assert!(client.call("session/new", &new)["result"]["sessionId"].is_string());
    client.close().assert_clean();
}

#[test]
fn a_second_prompt_while_one_is_worked_on_is_an_error() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let other = client.new_session(&place.work());
    let turn = client.prompt(&session, "approve echo ran");
    let question = client.until_question();
    for id in [&session, &other] {
        let second = client.prompt(id, "say never");
        let messages = client.until_response(second);
        assert_eq!(messages.response["error"]["code"], -32600);
        assert_eq!(messages.summary(), "");
    }
    let load = json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] });
    assert_eq!(client.call("session/load", &load)["error"]["code"], -32600);
    client.select(&question, "allow_once");
    assert_eq!(client.until_response(turn).stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn an_answer_to_no_question_changes_nothing() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "approve touch made");
    let question = client.until_question();
    let mut other = question.clone();
    other["id"] = json!(77);
    client.select(&other, "allow_once");
    client.select(&question, "reject_once");
    client.select(&question, "allow_once");
    assert_eq!(client.until_response(turn).stop_reason(), "end_turn");
    assert!(!place.work().join("made").exists());
    let end = client.close();
    assert_eq!(end.code.unwrap(), 0);
    assert!(end.messages.is_empty());
    assert!(end.errors.starts_with("note: no question with the id 77 is open\n"), "{}", end.errors);
}

#[test]
fn arguments_that_the_client_decides_are_noted_and_not_used() {
    let place = Workspace::new();
    let mut client = place.connect(Options {
        prompt: Some("say never".into()),
        session_id: Some("mine".to_owned()),
        ..Options::default()
    });
    client.initialize();
    let session = client.new_session(&place.work());
    assert_ne!(session, "mine");
    assert_eq!(client.turn(&session, "say hi").summary(), "says: hi\nusage");
    let end = client.close();
    assert!(end.errors.starts_with("note: "), "{}", end.errors);
}
