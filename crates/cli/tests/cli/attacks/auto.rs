//! `--auto` is the word of who started a run. No file that an agent can write says it instead, and
//! none that it can remove takes it back.

use std::fs;

use serde_json::Value;

use super::{pipe, release, script, until};
use crate::home::Home;

/// A step that asks before it runs a command.
const ASKS: &str = "  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: \"approve echo done > said.txt\"}\n";

/// Lets the session of a script answer its questions by itself, as far as files can.
const ALLOW: &str = "echo allow > \".coven/sessions/$COVEN_SESSION/auto\"";

/// Who decided what in a session.
fn decisions(home: &Home, name: &str) -> Vec<Value> {
    let events = home.coven(&["events", name, "--json"]).ok().lines();
    let decided =
        events.into_iter().filter(|event| event["type"] == "workflow.intervention.resolved");
    decided.map(|event| event["data"]["decision"]["by"].clone()).collect()
}

/// A question is open, and no decision is in the journal.
#[track_caller]
fn expect_open(home: &Home, name: &str) {
    let open = || home.coven(&["inbox", name, "--json"]).ok().json()["interventions"].clone();
    until("the question to be open", || {
        open().as_array().is_some_and(|open| open.len() == 1) || !decisions(home, name).is_empty()
    });
    let by = decisions(home, name);
    assert!(by.is_empty(), "decided by {by:?}");
    assert!(!home.path("project/said.txt").exists());
}

#[test]
fn a_job_cannot_let_its_own_session_answer_itself() {
    let home = Home::new();
    let said = home.run(&format!("{}{ASKS}", script("allow", ALLOW)), &[]);
    let name = home.only();
    let by = decisions(&home, &name);
    assert_eq!(said.code, 3, "decided by {by:?}: {}", said.out);
    expect_open(&home, &name);
    home.kill_daemon();
    expect_open(&home, &name);
}

#[test]
fn a_job_cannot_let_another_session_answer_itself_when_the_daemon_comes_back() {
    let home = Home::new();
    home.run(ASKS, &[]).code(3);
    let name = home.only();
    let all = "for session in .coven/sessions/*/; do echo allow > \"$session/auto\"; done";
    home.run(&script("allow", all), &[]).ok();
    expect_open(&home, &name);
    home.kill_daemon();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    expect_open(&home, &name);
}

#[test]
fn a_job_cannot_turn_a_denied_run_into_an_allowed_one() {
    let home = Home::new();
    let steps = format!("{}{ASKS}", script("allow", ALLOW));
    home.run(&steps, &["--auto", "deny"]);
    let name = home.only();
    let by = decisions(&home, &name);
    assert!(!by.is_empty() && by.iter().all(|by| by == "--auto deny"), "decided by {by:?}");
    assert!(!home.path("project/said.txt").exists());
}

#[test]
fn a_run_that_was_to_answer_itself_still_does_after_the_daemon_was_killed() {
    let home = Home::new();
    let go = home.path("project/go");
    pipe(&go);
    let steps = format!("{}{ASKS}", script("hold", "cat go"));
    let said = home.run(&steps, &["--detach", "--auto", "allow"]).ok();
    let name = said.out.trim();
    home.kill_daemon();
    // What lies beside the journal is not what counts.
    for session in fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten() {
        fs::remove_file(session.path().join("auto")).ok();
    }
    home.coven(&["daemon", "start"]).ok();
    release(&go);
    home.coven(&["wait", name, "--until", "done", "--timeout", "60s"]).ok();
    assert_eq!(decisions(&home, name), ["--auto allow"]);
    assert!(home.path("project/said.txt").exists());
}
