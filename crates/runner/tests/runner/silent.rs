//! Nothing of an agent reaches our own output, however much it prints.

use std::process::{Command, Stdio};

use coven_model::{AgentState, TokenUsage};
use coven_runner::{AgentRunner, AgentTask, HeadlessRunner, RunnerEvent};

use crate::support::{Home, demo, state, wait};

/// What the agents say; it stands in no name and no message of ours.
const WORD: &str = "xylophone";

/// The process whose output is looked at: runs one agent of each kind and prints nothing itself.
#[tokio::test]
#[ignore = "started by the test below, which looks at what it prints"]
async fn runs_agents_that_print() {
    let home = Home::new();
    let prompt = format!("say {WORD}; flood 20000; say {WORD}");
    let runner =
        AgentRunner::start(demo(), AgentTask::interactive("silent", Some(&prompt)), &home.local())
            .unwrap();
    let mut events = runner.subscribe();
    wait(&mut events, "its words", |event| match event {
        RunnerEvent::Output { clean, .. } => clean.contains(WORD).then_some(()),
        _ => None,
    })
    .await;
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
    let task = AgentTask::headless("silent-headless", &prompt);
    let runner = HeadlessRunner::start(demo(), task, &home.local(), TokenUsage::default()).unwrap();
    assert!(runner.done().await.unwrap().ok);
}

/// Spec: C0.9.1, C1.13.1
#[test]
fn what_agents_print_is_an_event_and_never_on_our_output() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "silent::runs_agents_that_print"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{printed:?}");
    assert!(printed.concat().contains("1 passed"), "the agents did run: {printed:?}");
    assert!(!printed.concat().contains(WORD), "{printed:?}");
    assert!(!printed.concat().contains('\x1b'), "no sequence either: {printed:?}");
}
