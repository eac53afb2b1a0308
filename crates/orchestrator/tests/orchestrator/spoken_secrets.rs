//! Secrets of agents that are spoken to in their own protocol: those in what they ask, and those they
//! are answered with.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_orchestrator::Orchestrator;
use coven_testkit::files::files_below;
use serde_json::json;

use crate::channels::asking;
use crate::support::{Base, decide, end, intervention, nothing_left, state_of};

const SECRET: &str = "caller-s3cret-0001";

/// Asks by ACP about a command that has a variable of its environment in it.
const TELLS: &str = r#"#!/bin/bash
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}\n' "$id" ;;
    *'"session/prompt"'*)
      prompt=$id
      printf '{"jsonrpc":"2.0","id":101,"method":"session/request_permission","params":{"sessionId":"s1",'
      printf '"toolCall":{"toolCallId":"c1","title":"log in with %s","kind":"execute",' "$CALLER_TOKEN"
      printf '"rawInput":{"command":"login --token %s","cwd":"/%s"}},' "$CALLER_TOKEN" "$CALLER_TOKEN"
      printf '"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},'
      printf '{"optionId":"no","name":"No","kind":"reject_once"}]}}\n' ;;
    *'"optionId"'*)
      printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
      printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text",'
      printf '"text":"logged in with %s"}}}}\n' "$CALLER_TOKEN"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$prompt" ;;
  esac
done
"#;

/// Asks as Codex for a key, and counts its letters.
const WANTS: &str = r#"#!/bin/bash
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case $line in
    *'"initialize"'*) printf '{"id":%s,"result":{"userAgent":"wants"}}\n' "$id" ;;
    *'"thread/start"'*) printf '{"id":%s,"result":{"thread":{"id":"t1"}}}\n' "$id" ;;
    *'"turn/start"'*)
      printf '{"id":%s,"result":{"turn":{"id":"u1"}}}\n' "$id"
      printf '{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}\n'
      printf '{"id":77,"method":"item/tool/requestUserInput","params":{"threadId":"t1","turnId":"u1",'
      printf '"itemId":"i1","questions":[{"id":"key","header":"Key","question":"Which key?",'
      printf '"isSecret":true,"options":null}]}}\n' ;;
    *'"answers"'*)
      key=$(sed -n 's/.*"answers":\["\([^"]*\)"\].*/\1/p' <<< "$line")
      printf '{"method":"serverRequest/resolved","params":{"threadId":"t1","requestId":77}}\n'
      printf '{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":'
      printf '{"type":"agentMessage","id":"m1","text":"a key of %s letters"}}}\n' "${#key}"
      printf '{"method":"turn/completed","params":{"threadId":"t1","turn":'
      printf '{"id":"u1","status":"completed","items":[]}}}\n' ;;
  esac
done
"#;

/// Opens a folder whose user has an adapter for a script that speaks a protocol.
async fn open(base: &Base, kind: &str, script: &str) -> Orchestrator {
    let path = base.path().join("talker");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = json!({
        "schemaVersion": 1,
        "command": path,
        "modes": {"headless": {"transcript": "text"}},
        "permissions": {"ask": []},
        "channel": {"kind": kind, "baseArgs": []},
    });
    let folder = base.path().join("config/adapters/talker");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    Orchestrator::open(options).await.unwrap()
}

/// All files below a folder that have the secret in them.
fn with_secret(folder: &Path) -> Vec<PathBuf> {
    let has = |text: &[u8]| text.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
    let files = files_below(folder).into_iter();
    files.filter(|(_, text)| has(text)).map(|(path, _)| path).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_with_a_secret_in_it_is_shown_without_it_and_no_rule_can_allow_it() {
    let base = Base::new();
    let orchestrator = open(&base, "acp", TELLS).await;
    let mut new = base.definition(&asking("go"));
    new.env.insert("CALLER_TOKEN".into(), SECRET.into());
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Approval);
    assert_eq!(asked.command, None, "it would be another command without the secret");
    assert!(asked.excerpt.contains("login --token [redacted]"), "{}", asked.excerpt);
    let whole = serde_json::to_string(&asked).unwrap();
    assert!(!whole.contains(SECRET), "{whole}");
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let told = serde_json::to_string(&view).unwrap();
    assert!(!told.contains(SECRET), "{view:#?}");
    assert!(told.contains("logged in with [redacted]"), "{view:#?}");
    assert_eq!(with_secret(&base.path().join(".coven")), Vec::<PathBuf>::new());
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_an_agent_is_answered_with_is_written_nowhere() {
    let base = Base::new();
    let orchestrator = open(&base, "codex-app-server", WANTS).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("go"))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert!(asked.secret, "{asked:#?}");
    let text = InterventionDecision::new(InterventionChoice::Answer, "a test").with_text(SECRET);
    orchestrator.answer(&asked.id, text, asked.digest.clone()).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let said = view.variables["said"].as_str().unwrap();
    assert_eq!(said, format!("a key of {} letters", SECRET.len()));
    // Neither the journal nor the tape, nor what was saved of the conversation.
    assert_eq!(with_secret(base.path()), Vec::<PathBuf>::new());
    assert_eq!(with_secret(&state_of(base.path())), Vec::<PathBuf>::new());
    nothing_left(&id, &view);
}
