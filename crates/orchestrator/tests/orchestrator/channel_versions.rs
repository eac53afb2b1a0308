//! Programs whose version speaks their protocol otherwise than Coven does.

use std::os::unix::fs::PermissionsExt;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{Intervention, InterventionChoice, InterventionKind, SessionId, WorkflowStatus};
use coven_orchestrator::{EventSubscription, Orchestrator};
use serde_json::json;

use crate::channels::{attempts, open_changed, started_the_older_way};
use crate::support::{Base, decide, end, fact, intervention, nothing_left};

/// A program that speaks another version of its protocol, and waits to be ended.
const OTHER_VERSION: &str = r#"case "$*" in *--acp*)
  read -r line
  echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"agentCapabilities":{}}}'
  while read -r line; do :; done; exit;; esac"#;

/// A program that calls the message with a prompt something else.
const OTHER_PROMPT: &str = r#"case "$*" in *--acp*)
  read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
  read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
  read -r line; echo '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}'
  while read -r line; do :; done; exit;; esac"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_speaks_another_version_is_started_without_its_protocol_and_says_so() {
    let reason = started_the_older_way(OTHER_VERSION).await;
    assert!(reason.contains("it speaks version 2 of the protocol, and Coven 1"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_does_not_know_its_first_prompt_is_started_without_its_protocol() {
    let reason = started_the_older_way(OTHER_PROMPT).await;
    assert!(reason.contains("session/prompt: Method not found"), "{reason}");
}

/// An agent that does what its first and its third message say, and does not know the second as one.
const FORGETS: &str = r#"#!/bin/bash
prompts=0
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}\n' "$id" ;;
    *'"session/prompt"'*)
      prompts=$((prompts + 1))
      if [ $prompts = 2 ]; then
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id"
        continue
      fi
      echo "turn $prompts" >> log.txt
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":'
      printf '"agent_message_chunk","content":{"type":"text","text":"turn %s is done"}}}}\n' $prompts
      printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id" ;;
  esac
done
"#;

async fn open(base: &Base) -> Orchestrator {
    let path = base.path().join("forgets");
    std::fs::write(&path, FORGETS).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    open_changed(base, |config| {
        config["command"] = path.to_str().unwrap().into();
        config["modes"]["headless"]["baseArgs"] = json!([]);
        config["channel"] = json!({"kind": "acp", "baseArgs": []});
        config["permissions"] = json!({"ask": []});
    })
    .await
}

/// Begins a task whose second message is not taken, and gives what a person is asked.
async fn second_message(
    base: &Base,
    orchestrator: &Orchestrator,
) -> (SessionId, EventSubscription, Intervention) {
    let work = json!({
        "id": "work", "adapter": "talker", "executionMode": "headless", "permissions": "ask",
        "prompt": "the first", "pendingInputs": ["the second"],
    });
    let text = json!({"id": "told", "stages": [{"id": "s", "tasks": [work]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::UnknownState);
    let told = &asked.excerpt;
    for words in ["session/prompt", "Method not found", "the second"] {
        assert!(told.contains(words), "{told}");
    }
    (id, events, asked)
}

fn log(base: &Base) -> String {
    std::fs::read_to_string(base.path().join("log.txt")).unwrap()
}

/// Its work would be lost with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_message_that_is_not_known_comes_to_a_person_who_can_keep_what_was_done() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let (id, mut events, asked) = second_message(&base, &orchestrator).await;
    decide(&orchestrator, &asked, InterventionChoice::Complete).await;
    let output = fact(&mut events, "its end", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.output.clone()),
        _ => None,
    });
    assert_eq!(output.await.as_deref(), Some("turn 1 is done"));
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!((log(&base).as_str(), attempts(&orchestrator, &id)), ("turn 1\n", 1));
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_did_not_take_a_message_can_be_told_another() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let (id, _events, asked) = second_message(&base, &orchestrator).await;
    let send = InterventionDecision::new(InterventionChoice::Send, "a test").with_text("again");
    orchestrator.answer(&asked.id, send, asked.digest.clone()).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!((log(&base).as_str(), attempts(&orchestrator, &id)), ("turn 1\nturn 3\n", 1));
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_not_taken_is_still_for_a_person_when_the_daemon_was_gone() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let (id, events, asked) = second_message(&base, &orchestrator).await;
    orchestrator.close().await;
    drop((events, orchestrator));
    let orchestrator = open(&base).await;
    let open: Vec<_> = orchestrator.interventions();
    assert_eq!(open.iter().map(|open| open.kind).collect::<Vec<_>>(), [asked.kind]);
    decide(&orchestrator, &open[0], InterventionChoice::Complete).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!((log(&base).as_str(), attempts(&orchestrator, &id)), ("turn 1\n", 1));
    nothing_left(&id, &view);
}
