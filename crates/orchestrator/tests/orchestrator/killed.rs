//! Killed at every record: whatever the moment, the next process ends the run as if nothing had
//! happened. Nothing that was done is done again, nothing is lost, nothing is left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coven_model::{SessionView, WorkflowStatus};
use coven_notation::Source;
use coven_orchestrator::{NewSession, Options, Orchestrator};
use coven_policy::{Policies, Policy};
use coven_runtime::processes;

use crate::support::{Base, DEADLINE, program};

/// Tells the child which base directory to keep.
const BASE: &str = "COVEN_TEST_BASE";

/// One of everything. Each task leaves one line, so that a second run of any would show.
const EVERYTHING: &str = r#"
name: everything
description: One of everything, each leaving a line.
defaults: {adapter: demo, mode: headless, permissions: all}
steps:
  - {name: first, type: script, command: echo first >> log.txt}
  - name: list
    type: script
    command: echo '["a", "b"]'
    expect: json
    output: items
  - name: fan
    type: parallel-agents
    for_each: ${items}
    prompt: disobey echo fan-${item} >> log.txt; say did ${item}
    output: results
  - name: polish
    type: agent-loop
    prompt: disobey echo polish >> log.txt; say polished
    arbiter: {prompt: Good?, extra_args: [--script, verdict.txt]}
    max_iterations: 2
  - name: ask
    type: agent
    mode: interactive
    permissions: ask
    prompt: approve echo asked >> log.txt; say done
  - {name: gate, type: gate, command: test -s log.txt, message: There must be a log.}
  - {name: last, type: script, command: echo last >> log.txt}
"#;

const LINES: [&str; 6] = ["asked", "fan-a", "fan-b", "first", "last", "polish"];

/// The process that is killed: keeps the base directory until its session is over.
#[test]
#[ignore = "started by the tests beside it, to be killed"]
fn keeps_a_session_until_it_is_killed() {
    let Some(base) = std::env::var_os(BASE).map(PathBuf::from) else { return };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    reactor.block_on(async {
        let mut options = Options::new(&base, program());
        let policy = "version: 1\nrules:\n  - {name: yes, kind: approval, decision: allow}\n";
        let policy = Policy::read(&Source::new("policy.yaml", policy)).unwrap();
        options.policies = Policies { user: Some(policy), project: None };
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let id = if let Some(entry) = orchestrator.list().first() {
            entry.id.clone()
        } else {
            let mut new = NewSession::of_definition("everything.yaml", EVERYTHING);
            new.env.insert("COVEN_DEMO_HOME".into(), base.join("demo-state").into());
            orchestrator.execute_workflow(new).await.unwrap()
        };
        let controller = orchestrator.resume(&id).await.unwrap();
        controller.wait(false).await;
        orchestrator.close().await;
    });
}

fn keeper(base: &Path) -> Child {
    let test = "killed::keeps_a_session_until_it_is_killed";
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(BASE, base)
        .env("HOME", base)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many records the only session of a base directory has.
fn records(base: &Path) -> usize {
    let sessions = std::fs::read_dir(base.join(".coven/sessions")).into_iter().flatten().flatten();
    let journals = sessions.map(|entry| entry.path().join("journal.jsonl"));
    let counts = journals.filter_map(|journal| std::fs::read(journal).ok());
    let lines = counts.map(|bytes| bytes.split(|byte| *byte == b'\n').count()).max().unwrap_or(0);
    // The first line is the header, and what follows the last line end is none.
    lines.saturating_sub(2)
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "never came: {what}");
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// Kills the keeper after its n-th record, lets another one end the run, and checks everything.
/// Says how many records the run had, or nothing if it ended before it could be killed.
fn kill_after(records_before: usize) -> Option<usize> {
    let base = Base::new();
    let verdict = r#"json {"verdict": "done", "reason": "good"}"#;
    std::fs::write(base.path().join("verdict.txt"), verdict).unwrap();
    let mut first = keeper(base.path());
    let mut ended = false;
    wait_until("the record to be killed at", || {
        ended = first.try_wait().unwrap().is_some();
        ended || records(base.path()) >= records_before
    });
    let _ = first.kill();
    first.wait().unwrap();

    let mut second = keeper(base.path());
    let what =
        format!("the end after a kill at record {records_before} in {}", base.path().display());
    wait_until(&what, || second.try_wait().unwrap().is_some());
    assert!(second.wait().unwrap().success(), "killed after {records_before}");

    let view = view(base.path());
    assert_eq!(view.status, WorkflowStatus::Completed, "killed after {records_before}: {view:#?}");
    let log = std::fs::read_to_string(base.path().join("log.txt")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, LINES, "killed after {records_before}");
    for task in view.task_status.keys() {
        for attempt in 1..3 {
            let job = format!("{}/{task}/{attempt}", view.session_id);
            // A holder whose job ended while nobody listened takes a moment to go.
            let what = format!("the end of {job}, killed after {records_before}");
            wait_until(&what, || processes::of_job(&job).is_empty());
        }
    }
    (!ended).then(|| records(base.path()))
}

fn view(base: &Path) -> SessionView {
    let sessions = std::fs::read_dir(base.join(".coven/sessions")).unwrap().flatten();
    let file = sessions.map(|entry| entry.path().join("session.json")).find(|file| file.exists());
    serde_json::from_slice(&std::fs::read(file.unwrap()).unwrap()).unwrap()
}

/// Spec: C0.8.2
#[test]
fn a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been() {
    // All records take minutes; `cargo xtask soak` goes through them one by one.
    let step = std::env::var("COVEN_TEST_EVERY_RECORD").map_or(9, |_| 1);
    let mut at = 1;
    while kill_after(at).is_some() {
        at += step;
    }
    assert!(at > 9, "the run was hardly killed at all");
}
