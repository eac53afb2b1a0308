//! A program is started as its installed version wants it, and says why it did not start.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use coven_adapters::{AgentAdapter, Options, default_registry};
use coven_model::{AgentState, PermissionLevel, ProcessEnding};
use coven_runner::{AgentRunner, AgentTask, TaskPlace};

use super::support::{DEADLINE, Home, scripted, state};

/// A program that says a version, knows one name of the mode in which it asks, and shows the prompt
/// of the real one.
fn install(folder: &Path, version: &str, mode: &str) {
    let script = format!(
        r#"#!/bin/sh
case "$*" in
  --version) echo "{version} (Claude Code)"; exit 0 ;;
  *"--permission-mode {mode}"*) ;;
  *) echo "error: option '--permission-mode <mode>' argument is invalid. Allowed choices are {mode}." >&2
     exit 1 ;;
esac
printf '────────────────\n❯ \n────────────────\n'
exec cat
"#
    );
    // Written by another process and moved into place: what this process has open for writing,
    // the child of another test inherits, and then it cannot be started.
    let write = "printf %s \"$2\" > \"$1.new\" && chmod 755 \"$1.new\" && mv \"$1.new\" \"$1\"";
    let written = Command::new("sh")
        .args(["-c", write, "sh"])
        .arg(folder.join("claude"))
        .arg(script)
        .status()
        .unwrap();
    assert!(written.success());
}

fn place(home: &Home) -> TaskPlace {
    let mut place = home.local();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(home.path().to_owned()).chain(std::env::split_paths(&path));
    place.env.insert("PATH".into(), std::env::join_paths(folders).unwrap());
    place
}

fn claude() -> Arc<dyn AgentAdapter> {
    default_registry().create("claude", Options::default()).unwrap().into()
}

fn start(home: &Home, job: &str) -> AgentRunner {
    let mut task = AgentTask::interactive(job, None);
    task.permission = Some(PermissionLevel::Ask);
    AgentRunner::start(claude(), task, &place(home)).unwrap()
}

#[tokio::test]
async fn an_older_program_is_started_with_the_arguments_it_knows_and_an_updated_one_with_its_own() {
    let home = Home::new();
    for (version, mode) in [("2.1.197", "default"), ("2.1.325", "manual"), ("2.1.199", "default")] {
        install(home.path(), version, mode);
        let runner = start(&home, &format!("version-{version}"));
        state(&runner, AgentState::Idle).await;
        runner.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_program_that_fails_at_its_start_is_quoted() {
    let home = Home::new();
    install(home.path(), "9.9.9", "nothing-we-know");
    let outcome = tokio::time::timeout(DEADLINE, start(&home, "version-fails").done())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((outcome.ok, outcome.ending), (false, ProcessEnding::Exited { code: 1 }));
    assert_eq!(
        outcome.reason,
        "it ended at its start with exit code 1: error: option '--permission-mode <mode>' argument \
         is invalid. Allowed choices are nothing-we-know."
    );
}

/// Blanks stand in the reason where they stand in the message, wherever the terminal wraps it.
#[tokio::test]
async fn the_reason_of_a_failed_start_has_the_words_of_the_program() {
    let words = "error: the configuration file names a model that does not exist";
    for begin in 0..12 {
        let home = Home::new();
        let said = format!("{}{words}", "-".repeat(begin * 5) + " ");
        let adapter = scripted(&home, r#""states": {}"#, &format!("echo '{said}'; exit 3"));
        let task = AgentTask::interactive(format!("words-{}", home.path().display()), None);
        let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
        let outcome = tokio::time::timeout(DEADLINE, runner.done()).await.unwrap().unwrap();
        assert!(outcome.reason.ends_with(&format!(": {}", said.trim())), "{}", outcome.reason);
    }
}
