//! What an agent can do to the folder of its session while no daemon looks: cut the journal, delete
//! it, write a view that says something else. The session stays known, and so do its processes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{script, until};
use crate::home::Home;

/// A script that runs until somebody ends it, and says that it does.
const ENDLESS: &str = "echo $$ > pid; exec sleep 600";

/// A session with a job that runs, and no daemon.
struct Abandoned {
    home: Home,
    id: String,
    pid: String,
}

impl Abandoned {
    fn new() -> Self {
        let home = Home::new();
        let steps = [script("short", "true"), script("long", ENDLESS)].concat();
        home.run(&steps, &["--detach"]).ok();
        let pid = home.path("project/pid");
        until("the job to run", || fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
        let pid = fs::read_to_string(&pid).unwrap().trim().to_owned();
        let id = home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
        home.kill_daemon();
        Self { home, id: id.as_str().unwrap().to_owned(), pid }
    }

    fn folder(&self) -> PathBuf {
        self.home.path("project/.coven/sessions").join(&self.id)
    }

    fn is_running(&self) -> bool {
        Path::new("/proc").join(&self.pid).exists()
    }

    fn row(&self) -> Value {
        self.home.coven(&["ls", "--json"]).ok().json()["workflows"][0].clone()
    }

    /// The job is told of, and ends when all agents are to end.
    fn expect_ended_on_request(&self) {
        let status = self.home.coven(&["daemon", "status", "--json"]).ok().json();
        let told = &status["unattended"][0];
        assert!(told["job"].as_str().unwrap().starts_with(&self.id), "{status}");
        let said = self.home.coven(&["daemon", "status"]).ok().out;
        assert!(said.contains("coven daemon stop --agents"), "{said}");
        let said = self.home.coven(&["doctor"]);
        assert!(said.out.contains("nobody follows"), "{}", said.out);
        assert!(self.is_running(), "looking ends nothing");
        let jobs = self.home.path("state/coven/jobs").join(&self.id);
        assert!(jobs.exists(), "nothing of a job that runs is removed");
        self.home.coven(&["daemon", "stop", "--agents"]).ok();
        until("the job to end", || !self.is_running());
    }
}

#[test]
fn a_journal_that_was_cut_to_its_first_line_is_damaged_and_no_draft() {
    let session = Abandoned::new();
    let journal = session.folder().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{}\n", text.lines().next().unwrap())).unwrap();
    let row = session.row();
    assert_eq!(row["id"], session.id.as_str(), "{row}");
    assert!(row["problem"].as_str().unwrap().contains("its end was cut off"), "{row}");
    let said = session.home.coven(&["ls"]).ok().out;
    assert!(said.contains("damaged"), "{said}");
    for verb in ["show", "resume"] {
        let said = session.home.coven(&[verb, &session.id]).code(1);
        assert!(said.err.contains("its end was cut off"), "{verb}: {}", said.err);
    }
    let said = session.home.coven(&["audit"]).code(1).out;
    assert!(said.contains("its end was cut off"), "{said}");
    session.expect_ended_on_request();
    // The journal is put back, and nothing was lost.
    fs::write(&journal, &text).unwrap();
    let said = session.home.coven(&["show", &session.id, "--json"]).ok().json();
    assert_eq!(said["id"], session.id.as_str(), "{said}");
}

#[test]
fn a_session_whose_journal_was_deleted_stays_listed() {
    let session = Abandoned::new();
    fs::remove_file(session.folder().join("journal.jsonl")).unwrap();
    let row = session.row();
    assert!(row["problem"].as_str().unwrap().contains("journal"), "{row}");
    session.expect_ended_on_request();
}

#[test]
fn a_job_whose_session_was_deleted_is_not_forgotten() {
    let session = Abandoned::new();
    fs::remove_dir_all(session.folder()).unwrap();
    session.home.coven(&["open", "."]).ok();
    session.expect_ended_on_request();
}

#[test]
fn what_the_view_says_is_not_believed() {
    let session = Abandoned::new();
    let view = session.folder().join("session.json");
    let mut said: Value = serde_json::from_slice(&fs::read(&view).unwrap()).unwrap();
    let journal = fs::read_to_string(session.folder().join("journal.jsonl")).unwrap();
    said["status"] = "completed".into();
    said["name"] = "something-else".into();
    said["upTo"] = (journal.lines().count() - 1).into();
    fs::write(&view, said.to_string()).unwrap();
    let list = |args: &[&str]| session.home.coven(args).ok().json()["workflows"][0].clone();
    for args in [&["ls", "--json"][..], &["ls", "-C", ".", "--json"]] {
        let row = list(args);
        assert_eq!(row["status"], "running", "{row}");
        assert_ne!(row["name"], "something-else", "{row}");
    }
    until("the job to be followed again", || session.row()["running"] == 1);
    session.home.coven(&["cancel", &session.id]).ok();
    until("the job to end", || !session.is_running());
}

#[test]
fn a_journal_that_was_cut_before_the_start_of_a_job_is_damaged_too() {
    let session = Abandoned::new();
    let journal = session.folder().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let started = lines.iter().rposition(|line| line.contains("\"task.started\"")).unwrap();
    for kept in [2, started] {
        fs::write(&journal, lines[..kept].join("\n") + "\n").unwrap();
        let row = session.row();
        assert!(row["problem"].as_str().unwrap().contains("its end was cut off"), "{kept}: {row}");
        session.home.kill_daemon();
    }
    session.row();
    session.expect_ended_on_request();
}

#[test]
fn what_is_deleted_while_a_daemon_runs_is_put_back_without_a_fact() {
    let home = Home::new();
    home.run(&script("long", ENDLESS), &["--detach"]).ok();
    let pid = home.path("project/pid");
    until("the job to run", || fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    let id = home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
    let id = id.as_str().unwrap();
    let journal = home.path("project/.coven/sessions").join(id).join("journal.jsonl");
    let text = fs::read(&journal).unwrap();
    fs::remove_dir_all(home.path("project/.coven")).unwrap();
    until("the session to be put back", || fs::read(&journal).is_ok_and(|now| now == text));
    // Also by a daemon that is stopped at once.
    fs::remove_file(&journal).unwrap();
    home.coven(&["daemon", "stop"]).ok();
    assert_eq!(fs::read(&journal).unwrap(), text);
    // What another program cuts off cannot be put back, and is told.
    home.coven(&["ls"]).ok();
    fs::write(&journal, "").unwrap();
    until("the list to say so", || {
        let row = home.coven(&["ls", "--json"]).ok().json()["workflows"][0].clone();
        row["problem"].as_str().is_some_and(|problem| problem.contains("was cut off"))
    });
    home.coven(&["daemon", "stop", "--agents"]).ok();
}

#[test]
fn jobs_end_on_request_also_without_a_daemon_and_without_a_key() {
    let session = Abandoned::new();
    let said = session.home.coven(&["daemon", "stop", "--agents"]).ok();
    assert!(!session.is_running(), "{}{}", said.out, said.err);
    let session = Abandoned::new();
    let key = session.home.path("state/coven/seal.key");
    fs::write(&key, "junk").unwrap();
    let said = session.home.coven(&["doctor"]).code(1).out;
    assert!(said.contains("the daemon cannot start"), "{said}");
    let said = session.home.coven(&["daemon", "stop", "--agents"]).ok();
    assert!(!session.is_running(), "{}{}", said.out, said.err);
}
