//! Turns that are cancelled, and how the agent ends.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process_group};
use serde_json::json;

use super::client::Workspace;
use crate::options::PermissionMode;

/// How long a process that was killed may take to be gone.
const REAP_TIMEOUT: Duration = Duration::from_mins(1);

/// A command that writes down its process group once it has a child in it, and does not end.
const ENDLESS: &str = "approve sleep 1000 & echo $$ > group.part && mv group.part group && wait";

fn group_in(path: &Path) -> Pid {
    let end = Instant::now() + REAP_TIMEOUT;
    loop {
        if let Ok(text) = fs::read_to_string(path) {
            return Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        }
        assert!(Instant::now() < end, "the command did not start");
        std::thread::yield_now();
    }
}

fn assert_gone(group: Pid) {
    let end = Instant::now() + REAP_TIMEOUT;
    // The children are killed, but only their new parent can reap them.
    while test_kill_process_group(group).is_ok() {
        assert!(Instant::now() < end, "the command lives on");
        std::thread::yield_now();
    }
}

#[test]
fn a_turn_is_cancelled_while_a_command_runs() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::All);
    let turn = client.prompt(&session, ENDLESS);
    let group = group_in(&place.work().join("group"));
    assert!(test_kill_process_group(group).is_ok());
    client.cancel(&session);
    let messages = client.until_response(turn);
    assert_eq!(messages.stop_reason(), "cancelled");
    assert!(messages.summary().ends_with("failed: The client cancelled this.\nusage"));
    assert_gone(group);
    assert_eq!(client.turn(&session, "say on").summary(), "says: on\nusage");
    client.close().assert_clean();
}

#[test]
fn a_turn_is_cancelled_while_it_asks() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "approve touch made; say never");
    let question = client.until_question();
    client.cancel(&session);
    // What the protocol wants of a client that cancels.
    client.respond(&question, &json!({ "outcome": "cancelled" }));
    let messages = client.until_response(turn);
    assert_eq!(messages.stop_reason(), "cancelled");
    assert_eq!(messages.summary(), "failed: The client cancelled this.\nusage");
    // Even an answer that allows comes too late.
    client.select(&question, "allow_once");
    assert_eq!(client.turn(&session, "say on").summary(), "says: on\nusage");
    assert!(!place.work().join("made").exists());
    assert_eq!(client.close().code.unwrap(), 0);
}

#[test]
fn a_turn_is_cancelled_while_it_works() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    for prompt in ["hang", "think 1000", "repeat 100000; think 0", "flood 1000000000000"] {
        let turn = client.prompt(&session, prompt);
        client.until_update(|update| {
            let kind = &update["sessionUpdate"];
            kind == "agent_thought_chunk" || kind == "agent_message_chunk"
        });
        client.cancel(&session);
        assert_eq!(client.until_response(turn).stop_reason(), "cancelled", "{prompt}");
    }
    client.close().assert_clean();
}

#[test]
fn a_cancellation_without_a_turn_changes_nothing() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    client.cancel(&session);
    let turn = client.prompt(&session, "approve echo ran");
    let question = client.until_question();
    client.cancel("other");
    client.select(&question, "allow_once");
    assert_eq!(client.until_response(turn).stop_reason(), "end_turn");
    client.close().assert_clean();
}

#[test]
fn the_end_of_input_ends_the_agent_and_its_command() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::All);
    client.prompt(&session, ENDLESS);
    let group = group_in(&place.work().join("group"));
    assert_eq!(client.close().code.unwrap(), 0);
    assert_gone(group);
    for prompt in ["hang", "think 1000", "choose a|b"] {
        let (mut client, session) = place.session(PermissionMode::Ask);
        client.prompt(&session, prompt);
        assert_eq!(client.close().code.unwrap(), 0, "{prompt}");
    }
    place.connect(crate::options::Options::default()).close().assert_clean();
}

#[test]
fn an_exit_answers_the_prompt_unless_it_is_now() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    let turn = client.prompt(&session, "say bye; exit 7; say never");
    let messages = client.until_response(turn);
    assert_eq!(
        (messages.summary().as_str(), messages.stop_reason()),
        ("says: bye\nusage", "end_turn")
    );
    assert_eq!(client.wait_for_end().code.unwrap(), 7);
    let (mut client, session) = place.session(PermissionMode::Ask);
    client.prompt(&session, "say bye; exit 7 now");
    let end = client.wait_for_end();
    assert_eq!((end.code.unwrap(), end.messages.len()), (7, 1));
    assert_eq!(end.messages[0]["params"]["update"]["content"]["text"], "bye");
}

#[test]
fn a_split_character_is_the_last_thing_sent() {
    let place = Workspace::new();
    let (mut client, session) = place.session(PermissionMode::Ask);
    client.prompt(&session, "split-utf8");
    let end = client.wait_for_end();
    assert_eq!(end.code.unwrap(), 0);
    assert!(end.messages.is_empty());
    assert!(end.rest.ends_with(b"\"text\":\"caf\xc3"), "{}", String::from_utf8_lossy(&end.rest));
}
