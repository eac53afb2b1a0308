//! What the folders of attempts hold.

use std::fs;

use coven_model::event::AttemptPlace;
use coven_model::{AttemptId, JobOutcome, ProcessEnding, TaskId};
use coven_store::attempt::{AttemptError, AttemptExit, AttemptStatus, Process};
use coven_store::session::ReadOnlySession;
use coven_store::{Attempt, Session};
use coven_tape::{Options, TapeEvent, TapeStream, TapeWriter};

use super::{Base, id};

fn build(attempt: u32) -> AttemptId {
    AttemptId { task: TaskId::new("build.3").unwrap(), attempt }
}

fn outcome(reason: &str) -> JobOutcome {
    let outcome = JobOutcome::new(true, ProcessEnding::Exited { code: 0 }, reason);
    JobOutcome { output: Some("done".to_owned()), ..outcome }
}

fn attempt(base: &Base) -> (Session, Attempt) {
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let attempt = session.make_attempt(&build(1)).unwrap();
    (session, attempt)
}

#[test]
fn attempts_have_folders_of_their_own_which_are_listed_in_order() {
    let base = Base::new();
    let (session, attempt) = attempt(&base);
    let jobs = base.path().join("state/jobs").join(id(1).as_str());
    assert_eq!(attempt.path(), jobs.join("build.3/1"));
    assert_eq!(attempt.path(), base.authority().attempt_path(&id(1), &build(1)));
    session.make_attempt(&build(10)).unwrap();
    session.make_attempt(&build(2)).unwrap();
    let review = AttemptId { task: TaskId::new("a-review").unwrap(), attempt: 1 };
    assert!(session.attempt(&review).unwrap().is_none());
    session.make_attempt(&review).unwrap();
    for stray in ["build.3/02", "build.3/0", "build.3/x", ".hidden/1"] {
        fs::create_dir_all(jobs.join(stray)).unwrap();
    }
    let expected = [review, build(1), build(2), build(10)];
    assert_eq!(session.attempts().unwrap(), expected);
    assert_eq!(
        ReadOnlySession::open(&base.dir(), &base.authority(), &id(1))
            .unwrap()
            .attempts(AttemptPlace::Jobs)
            .unwrap(),
        expected
    );
}

#[test]
fn the_files_of_a_holder_are_read() {
    let base = Base::new();
    let (_session, attempt) = attempt(&base);
    assert!(attempt.spawn().unwrap().is_none());
    assert!(attempt.exit().unwrap().is_none());
    assert!(!attempt.is_killed().unwrap());
    // As coven-runtime writes them.
    let spawn = r#"{"version": 1, "job": "s/build.3/1", "argv": ["sh", "-c", "true"], "cwd": "/",
        "env": ["PATH"], "bootId": "b", "sandbox": {"enforced": "files", "abi": 7},
        "holder": {"pid": 5, "start": 6}, "process": {"pid": 7, "start": 8}}"#;
    let exit = r#"{"version": 1, "status": {"signal": 9}, "output": 12, "time": 34,
        "stopped": true, "ended": {"forced": [], "left": []}}"#;
    fs::write(attempt.path().join("spawn.json"), spawn).unwrap();
    fs::write(attempt.path().join("exit.json"), exit).unwrap();
    fs::write(attempt.path().join("killed"), "").unwrap();
    let spawn = attempt.spawn().unwrap().unwrap();
    assert_eq!((spawn.job.as_str(), spawn.argv.len()), ("s/build.3/1", 3));
    assert_eq!(spawn.process, Some(Process { pid: 7, start: 8 }));
    let exit = attempt.exit().unwrap().unwrap();
    let expected =
        AttemptExit { status: AttemptStatus::Signal(9), output: 12, time: 34, stopped: true };
    assert_eq!(exit, expected);
    assert_eq!(ProcessEnding::from(exit.status), ProcessEnding::Signalled { signal: 9 });
    assert!(attempt.is_killed().unwrap());
}

#[test]
fn files_that_are_damaged_or_newer_are_told_apart() {
    let base = Base::new();
    let (_session, attempt) = attempt(&base);
    let file = attempt.path().join("exit.json");
    fs::write(&file, "{\"version\": 1, \"status\":").unwrap();
    assert!(matches!(attempt.exit(), Err(AttemptError::Damaged { .. })));
    fs::write(&file, "{\"version\": 2, \"other\": true}").unwrap();
    assert!(matches!(attempt.exit(), Err(AttemptError::Newer { version: 2, .. })));
}

/// Spec: C0.8.2
#[test]
fn an_outcome_is_decided_once() {
    let base = Base::new();
    let (session, attempt) = attempt(&base);
    assert!(attempt.outcome().unwrap().is_none());
    assert_eq!(attempt.decide(&outcome("first")).unwrap(), outcome("first"));
    assert_eq!(attempt.decide(&outcome("second")).unwrap(), outcome("first"));
    let again = session.attempt(&build(1)).unwrap().unwrap();
    assert_eq!(again.outcome().unwrap(), Some(outcome("first")));
    let text = fs::read_to_string(attempt.path().join("outcome.json")).unwrap();
    assert!(text.starts_with("{\n  \"version\": 1,\n  \"ok\": true,"), "{text}");
}

/// Spec: C1.11.2
#[test]
fn what_was_printed_and_typed_is_read_from_the_tape() {
    let base = Base::new();
    let (_session, attempt) = attempt(&base);
    assert!(attempt.tape().is_err());
    let mut tape = TapeWriter::create(attempt.path(), Options::default()).unwrap();
    tape.output(1, TapeStream::Out, b"hello").unwrap();
    tape.input(2, b"yes\r").unwrap();
    let reader = attempt.tape().unwrap();
    let events: Vec<TapeEvent> = reader.records(0).map(|record| record.unwrap().event).collect();
    let hello = TapeEvent::Output { stream: TapeStream::Out, bytes: b"hello".to_vec() };
    assert_eq!(events, [hello, TapeEvent::Input(b"yes\r".to_vec())]);
}
