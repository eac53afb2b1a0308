//! The terminals of jobs: their size, and where their processes are started.

use coven_model::WorkflowStatus;
use serde_json::json;

use crate::support::{Base, end, nothing_left};

/// What a program on a terminal is told about its size: rows and columns.
async fn sizes(base: &Base, definition: &str, files: &[&str]) -> Vec<String> {
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(definition)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
    let read = |file: &&str| std::fs::read_to_string(base.path().join(file)).unwrap();
    files.iter().map(read).map(|text| text.trim().to_owned()).collect()
}

/// A task that writes the size of its terminal to a file.
fn bare_command(id: &str) -> serde_json::Value {
    let command = format!("stty size > {id}.txt");
    json!({"id": id, "adapter": "shell", "extraArgs": ["sh", "-c", command]})
}

/// Spec: RT.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_has_the_size_that_its_task_asks_for() {
    let base = Base::new();
    let mut own = bare_command("sized");
    own["size"] = json!("100x30");
    own["domain"] = json!("holder");
    let agent = json!({"id": "agent", "adapter": "demo", "prompt": "disobey stty size < /dev/tty > agent.txt; exit 0 now"});
    let tasks = [own, bare_command("bare"), agent];
    let stage = json!({"id": "sizes", "stages": [{"id": "all", "tasks": tasks}]});
    let seen = sizes(&base, &stage.to_string(), &["sized.txt", "bare.txt", "agent.txt"]).await;
    assert_eq!(seen, ["30 100", "24 80", "40 120"]);
}

/// Spec: RT.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_says_its_size_itself_or_has_the_one_under_defaults() {
    let base = Base::new();
    let grimoire = r#"
name: sized
description: Looks at its terminals.
defaults: {adapter: demo, mode: interactive, size: 90x20, domain: holder}
steps:
  - {name: own, type: agent, size: 100x30, prompt: "disobey stty size < /dev/tty > own.txt; exit 0 now"}
  - {name: usual, type: agent, prompt: "disobey stty size < /dev/tty > usual.txt; exit 0 now"}
  - {name: command, type: script, command: "true"}
"#;
    let seen = sizes(&base, grimoire, &["own.txt", "usual.txt"]).await;
    assert_eq!(seen, ["30 100", "20 90"]);
}
