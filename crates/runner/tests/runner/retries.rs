//! Agents that cannot reach their model: what they try is a part of their state and of how they end.

use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{AgentAdapter, Options, default_registry};
use coven_model::{AgentState, ModelRetry, ProcessEnding, TokenUsage};
use coven_runner::{AgentTask, HeadlessRunner, RunnerEvent};

use crate::support::{Home, wait};

const RETRY: &str = r#"{"type":"system","subtype":"api_retry","attempt":7,"max_retries":10,"retry_delay_ms":500,"error_status":500,"error":"server_error"}"#;
const SAID: &str =
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"at last"}]}}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"at last"}"#;

/// A program that runs a script and writes as Claude Code does.
fn adapter(home: &Home, script: &str) -> Arc<dyn AgentAdapter> {
    let config = serde_json::json!({
        "schemaVersion": 1, "command": "sh",
        "modes": {"headless": {"baseArgs": ["-c", script], "promptPosition": "last",
                               "transcript": "claude-stream-json", "usePty": false, "stdin": "null"}},
        "states": {"interaction_idle": {"pattern": "^never$"}}});
    let path = home.path().join("adapter.json");
    std::fs::write(&path, config.to_string()).unwrap();
    let options = Options { config_path: Some(path), ..Options::default() };
    default_registry().create("claude", options).unwrap().into()
}

fn seventh() -> ModelRetry {
    ModelRetry {
        attempt: Some(7),
        max: Some(10),
        delay_ms: Some(500),
        status: Some(500),
        reason: Some("server_error".to_owned()),
    }
}

#[tokio::test]
async fn an_attempt_to_reach_the_model_is_a_part_of_the_state_until_it_gets_through() {
    let home = Home::new();
    let script = format!("echo '{RETRY}'; read -r line < pipe; echo '{SAID}'; echo '{DONE}'");
    let pipe = home.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (adapter, task) = (adapter(&home, &script), AgentTask::headless("retries", "go"));
    let runner =
        HeadlessRunner::start(adapter, task, &home.local(), TokenUsage::default()).unwrap();
    let mut events = runner.subscribe();
    let told = wait(&mut events, "the attempt", |event| match event {
        RunnerEvent::State(verdict) => verdict.retry,
        _ => None,
    })
    .await;
    assert_eq!(*told, seventh());
    let verdict = runner.verdict();
    assert_eq!((verdict.state, verdict.retry), (AgentState::Working, Some(Box::new(seventh()))));
    assert_eq!(verdict.evidence.text, "retrying 7 of 10: 500 server_error");
    std::fs::write(&pipe, "go\n").unwrap();
    let through = wait(&mut events, "that it got through", |event| match event {
        RunnerEvent::State(verdict) if verdict.retry.is_none() => Some(verdict.state),
        _ => None,
    })
    .await;
    assert_eq!(through, AgentState::Working);
    let outcome = runner.done().await.unwrap();
    assert_eq!((outcome.ok, outcome.retry), (true, None));
}

#[tokio::test]
async fn a_run_whose_time_is_up_in_the_middle_of_its_attempts_says_so() {
    let home = Home::new();
    let mut task = AgentTask::headless("late", "go");
    task.timeout = Some(Duration::from_secs(1));
    let adapter = adapter(&home, &format!("echo '{RETRY}'; exec sleep 600"));
    let runner =
        HeadlessRunner::start(adapter, task, &home.local(), TokenUsage::default()).unwrap();
    let outcome = runner.done().await.unwrap();
    assert_eq!(outcome.ending, ProcessEnding::TimedOut);
    assert_eq!(outcome.reason, "timed out, retrying 7 of 10: 500 server_error");
    assert_eq!(outcome.retry, Some(seventh()));
}
