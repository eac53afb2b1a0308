//! What can be wanted of a foreign session: to look at it, and nothing else.

use std::process::Command;

use serde_json::json;

use super::journal::Stage;
use super::plant::Planted;
use super::{folder, http, listed, row, run_in, script, tree};
use crate::home::Home;

/// A home that works in a folder with a planted session.
fn opened(stage: Stage) -> (Home, Planted) {
    let home = Home::new();
    let cloned = folder(&home, "cloned");
    let planted = Planted::new(&home, &cloned, stage);
    run_in(&home, &cloned, "true").ok();
    (home, planted)
}

/// A command and a request that would change a planted session are refused. By its name it is
/// either refused or not found.
#[track_caller]
fn refused(stage: Stage, verb: &[&str], method: &str, route: &str) {
    let (home, planted) = opened(stage);
    let before = tree(&planted.folder);
    let said = |text: &str| home.coven(&[verb, &[text]].concat());
    let by_id = said(&planted.id);
    let refused = by_id.code == 1 && by_id.err.contains("foreign");
    planted.expect(refused, &format!("{verb:?} is refused: {by_id:?}"));
    let by_name = said(&planted.name);
    planted.expect(by_name.code == 1, &format!("{verb:?} by its name is refused: {by_name:?}"));
    let path = route.replace("ID", &planted.id);
    let body = route.starts_with("/interventions").then(|| json!({"decision": "approve"}));
    let answer = http::request(&home, method, &path, body.as_ref());
    let refused = answer.body["code"] == "foreign-session" && answer.status >= 400;
    planted.expect(refused, &format!("{method} {path} is refused: {answer:?}"));
    planted.expect_not_run(&home);
    assert_eq!(tree(&planted.folder), before, "nothing of it was changed");
}

#[test]
fn a_foreign_session_cannot_be_resumed() {
    refused(Stage::Pending, &["resume"], "POST", "/workflows/ID/resume");
}

#[test]
fn a_foreign_session_cannot_be_retried() {
    refused(Stage::Failed, &["retry", "--detach"], "POST", "/workflows/ID/retry");
}

#[test]
fn a_foreign_session_cannot_be_cancelled() {
    refused(Stage::Blocked, &["cancel"], "DELETE", "/workflows/ID");
}

#[test]
fn a_foreign_session_cannot_be_deleted() {
    refused(Stage::Completed, &["rm"], "POST", "/workflows/ID/purge");
}

#[test]
fn a_question_of_a_foreign_session_cannot_be_answered() {
    refused(Stage::Blocked, &["approve"], "POST", "/interventions/ID/1");
}

#[test]
fn a_foreign_session_can_be_looked_at() {
    let (home, planted) = opened(Stage::Running);
    let shown = home.coven(&["show", &planted.id, "--json"]).ok().json();
    planted.expect(shown["status"] == "running", &format!("it is shown as it lies there: {shown}"));
    planted.expect(shown["foreign"] == true, &format!("it is shown as foreign: {shown}"));
    let events = home.coven(&["events", &planted.id, "--json"]).ok().lines();
    assert_eq!(events.last().unwrap()["type"], "task.started", "{events:?}");
    planted.expect_not_run(&home);
}

#[test]
fn what_a_session_of_another_home_printed_can_be_read() {
    let (home, other) = (Home::new(), Home::new());
    other.run(&script("say", "echo words of another home"), &[]).ok();
    let theirs = other.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
    let (id, cloned) = (theirs.as_str().unwrap(), folder(&home, "cloned"));
    let mut copy = Command::new("cp");
    copy.arg("-a").args([&other.path("project/.coven"), &cloned]);
    assert!(copy.status().unwrap().success());
    run_in(&home, &cloned, "true").ok();
    assert_eq!(row(&listed(&home, &cloned), id)["foreign"], true);
    let logs = home.coven(&["logs", id]).ok().out;
    assert!(logs.contains("words of another home"), "{logs}");
    let events = home.coven(&["events", id, "--json"]).ok().lines();
    assert_eq!(events.last().unwrap()["type"], "workflow.completed", "{events:?}");
    let shown = home.coven(&["show", id, "--json"]).ok().json();
    assert_eq!((&shown["status"], &shown["foreign"]), (&json!("completed"), &json!(true)));
}
