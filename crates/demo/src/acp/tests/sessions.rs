//! Sessions: what is told about the agent, what a new one has, and what a loaded one repeats.

use serde_json::json;

use super::client::Workspace;
use crate::options::{Options, PermissionMode};

#[test]
fn the_agent_introduces_itself() {
    let mut client = Workspace::new().connect(Options::default());
    assert_eq!(
        client.initialize(),
        json!({
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": true },
            "agentInfo": {
                "name": "coven-demo", "title": "Demo agent", "version": crate::AGENT_VERSION,
            },
            "authMethods": [],
        })
    );
    client.close().assert_clean();
}

#[test]
fn a_new_session_has_the_permissions_of_the_command_line_as_its_mode() {
    let place = Workspace::new();
    let mut client =
        place.connect(Options { permissions: PermissionMode::Edits, ..Options::default() });
    client.initialize();
    let params = json!({ "cwd": place.work(), "mcpServers": [] });
    let result = client.call("session/new", &params)["result"].clone();
    assert_eq!(result["modes"]["currentModeId"], "edits");
    let ids: Vec<&str> = result["modes"]["availableModes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mode| mode["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, PermissionMode::NAMES);
    let other = client.call("session/new", &params)["result"].clone();
    assert_ne!(result["sessionId"], other["sessionId"]);
    client.close().assert_clean();
}

#[test]
fn a_loaded_session_repeats_its_conversation_and_goes_on() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "say first; approve echo ran");
    let question = client.until_question();
    client.select(&question, "allow_once");
    client.until_response(turn);
    client.turn(&session, "cost 0.5; think 0; say second");
    client.close().assert_clean();

    let mut client = place.connect(Options::default());
    client.initialize();
    let params = json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] });
    let id = client.request("session/load", &params);
    let messages = client.until_response(id);
    assert_eq!(
        messages.summary(),
        "user: say first; approve echo ran\nsays: first\n\
         execute pending {\"command\":\"echo ran\"}\nin_progress\ncompleted: ran\nsays: Done.\n\
         user: cost 0.5; think 0; say second\nthinks: I work for 0 seconds.\nsays: second"
    );
    assert_eq!(messages.response["result"]["modes"]["currentModeId"], "ask");
    let messages = client.turn(&session, "hello");
    assert!(messages.summary().contains("Before that you said: \"cost 0.5; think 0; say second\""));
    assert_eq!(messages.updates[0]["messageId"], "msg_3_1");
    assert_eq!(messages.updates.last().unwrap()["cost"]["amount"], 0.5);
    client.close().assert_clean();
}

#[test]
fn a_session_whose_agent_ended_while_it_asked_can_be_loaded() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    client.prompt(&session, "say first; approve touch made");
    client.until_question();
    client.close().assert_clean();

    let mut client = place.connect(Options::default());
    client.initialize();
    let params = json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] });
    let id = client.request("session/load", &params);
    assert_eq!(
        client.until_response(id).summary(),
        "user: say first; approve touch made\nsays: first\n\
         execute pending {\"command\":\"touch made\"}"
    );
    // The question is forgotten, as with other agents.
    assert_eq!(client.turn(&session, "say go on").summary(), "says: go on\nusage");
    assert!(!place.work().join("made").exists());
    client.close().assert_clean();
}

#[test]
fn a_session_that_was_held_elsewhere_repeats_its_prompts() {
    let place = Workspace::new();
    let store = place.store();
    let mut memory = store.begin(Some("other"), "demo-1").unwrap();
    memory.remember("say hi");
    store.save(&memory).unwrap();
    let mut client = place.connect(Options::default());
    client.initialize();
    let params = json!({ "sessionId": "other", "cwd": place.work(), "mcpServers": [] });
    let id = client.request("session/load", &params);
    assert_eq!(client.until_response(id).summary(), "user: say hi");
    client.close().assert_clean();
}

#[test]
fn a_session_that_is_not_known_is_an_error() {
    let place = Workspace::new();
    let mut client = place.connect(Options::default());
    client.initialize();
    for id in ["none", "../none"] {
        let load = json!({ "sessionId": id, "cwd": place.work(), "mcpServers": [] });
        assert_eq!(client.call("session/load", &load)["error"]["code"], -32002);
        let prompt = json!({ "sessionId": id, "prompt": [{ "type": "text", "text": "say hi" }] });
        assert_eq!(client.call("session/prompt", &prompt)["error"]["code"], -32002);
        let mode = json!({ "sessionId": id, "modeId": "ask" });
        assert_eq!(client.call("session/set_mode", &mode)["error"]["code"], -32002);
    }
    for cwd in ["relative", "/does/not/exist"] {
        let new = json!({ "cwd": cwd, "mcpServers": [] });
        assert_eq!(client.call("session/new", &new)["error"]["code"], -32602);
    }
    client.close().assert_clean();
}
