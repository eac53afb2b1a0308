//! What a turn sends for each directive.

use serde_json::json;

use super::client::Workspace;
use crate::flood;
use crate::options::{Options, PermissionMode};

#[test]
fn what_is_said_comes_in_chunks_of_messages() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let messages = client.turn(&session, "say one; say two; think 0.01; json {\"a\": 1}");
    assert_eq!(
        messages.summary(),
        "says: one\nsays: \ntwo\nthinks: I work for 0.01 seconds.\nsays: {\"a\": 1}\nusage"
    );
    let ids: Vec<&str> =
        messages.updates.iter().filter_map(|update| update["messageId"].as_str()).collect();
    assert_eq!(ids, ["msg_1_1", "msg_1_1", "msg_1_2"]);
    assert_eq!(client.turn(&session, "think 0").summary().lines().nth(1), Some("says: Done."));
    let echo = client.turn(&session, "hello").summary();
    assert!(echo.starts_with("says: You said: \"hello\"."), "{echo}");
    assert!(echo.contains("Before that you said: \"think 0\"."), "{echo}");
    client.close().assert_clean();
}

#[test]
fn what_was_used_is_counted() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let messages = client.turn(&session, "say 12345678");
    assert_eq!(
        messages.response["result"],
        json!({
            "stopReason": "end_turn",
            "usage": {
                "inputTokens": 3, "outputTokens": 2, "totalTokens": 5, "cachedReadTokens": 0,
            },
        })
    );
    let usage = json!({ "sessionUpdate": "usage_update", "used": 5, "size": 100_000 });
    assert_eq!(messages.updates.last(), Some(&usage));
    let messages = client.turn(&session, "cost 0.25; say 12345678");
    let usage = messages.updates.last().unwrap();
    assert_eq!(usage["cost"], json!({ "amount": 0.25, "currency": "USD" }));
    assert_eq!(
        usage["used"],
        5 + messages.response["result"]["usage"]["totalTokens"].as_u64().unwrap()
    );
    client.close().assert_clean();
}

#[test]
fn a_command_that_fails_is_a_failed_call_and_no_failed_turn() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::ReadOnly);
    let messages = client.turn(&session, "disobey echo out\\; exit 3");
    assert_eq!(
        messages.summary(),
        "execute pending {\"command\":\"echo out; exit 3\"}\nin_progress\n\
         failed: out\n(exit code 3)\nsays: Done.\nusage"
    );
    assert_eq!(messages.stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn a_turn_that_fails_is_an_error_and_the_agent_goes_on() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let messages = client.turn(&session, "say before; fail no model");
    assert_eq!(messages.summary(), "says: before\nusage");
    assert_eq!(messages.response["error"], json!({ "code": -32603, "message": "no model" }));
    assert_eq!(client.turn(&session, "say after").stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn a_flood_is_exact_and_comes_in_messages() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let messages = client.turn(&session, "flood 200001; say done");
    let (flood, rest) = messages.updates.split_at(4);
    let text: String =
        flood.iter().map(|update| update["content"]["text"].as_str().unwrap()).collect();
    let mut expected = Vec::new();
    flood::write(200_001, &mut expected).unwrap();
    assert!(text.as_bytes() == expected, "{} bytes", text.len());
    assert_eq!(rest[0]["content"]["text"], "done");
    client.close().assert_clean();
}

#[test]
fn the_directives_of_the_command_line_come_with_the_first_prompt() {
    let place = Workspace::new();
    let first = Some("say first".to_owned());
    let mut client = place.connect(Options { first, ..Options::default() });
    client.initialize();
    let session = client.new_session(&place.work());
    assert_eq!(client.turn(&session, "say a").summary(), "says: first\nsays: \na\nusage");
    assert_eq!(client.turn(&session, "say b").summary(), "says: b\nusage");
    client.close().assert_clean();
    let wrong = Options { first: Some("sya first".to_owned()), ..Options::default() };
    let end = place.connect(wrong).wait_for_end();
    assert_eq!(end.code.unwrap_err().exit_code(), 2);
}

#[test]
fn a_prompt_is_text_and_links() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let prompt = |blocks: serde_json::Value| json!({ "sessionId": session, "prompt": blocks });
    let blocks = json!([
        { "type": "resource_link", "uri": "file:///a", "name": "a" },
        { "type": "text", "text": "say hi" },
    ]);
    let id = client.request("session/prompt", &prompt(blocks));
    assert_eq!(client.until_response(id).summary(), "says: hi\nusage");
    for blocks in
        [json!([]), json!([{ "type": "text", "text": " " }]), json!([{ "type": "image" }])]
    {
        assert_eq!(client.call("session/prompt", &prompt(blocks))["error"]["code"], -32602);
    }
    client.close().assert_clean();
}
