//! A session from its creation to the day after.

use std::fs;

use coven_store::Session;
use coven_store::journal::{CreateError, OpenError};
use coven_store::session::Milestone;
use serde_json::{Value, json};

use super::{Base, FACT_TIME, Fact, facts, id, said};

/// Spec: C0.8.2
/// Spec: C1.11.1
/// Spec: C1.12.1
#[test]
fn a_session_that_is_opened_again_has_its_goal_its_definition_and_every_fact() {
    let base = Base::new();
    let definition = json!({"id": "w", "stages": [{"id": "one", "tasks": [{"id": "a"}]}]});
    let created =
        json!({"type": "session.created", "data": {"goal": "tidy up", "definition": definition}});
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[created.clone(), json!({"type": "x"})]).unwrap();
    session.write_view(&json!({"goal": "tidy up"})).unwrap();
    drop(session);

    let mut session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert_eq!((session.last(), session.cut()), (2, None));
    assert!(!session.view_needs_rebuild());
    let first = session.reader().read_all::<Value>(1).unwrap().swap_remove(0);
    assert_eq!(first.time, FACT_TIME);
    assert_eq!(first.fact["data"], created["data"]);
    assert_eq!(session.append(FACT_TIME, &[json!({"type": "y"})]).unwrap().seqs, 3..4);
}

#[test]
fn a_session_is_created_once_and_has_one_writer() {
    let base = Base::new();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let error = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap_err();
    assert!(matches!(error, CreateError::Exists { .. }), "{error}");
    let error = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap_err();
    assert!(error.to_string().contains("a session has one writer"), "{error}");
    drop(session);
    Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    let error = Session::open(&base.dir(), &base.authority(), &id(2)).unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
}

#[test]
fn a_creation_that_was_cut_short_is_no_session_and_does_not_hinder_the_next() {
    let base = Base::new();
    let draft = base.dir().sessions().path().join(format!(".new-{}", id(1)));
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("journal.jsonl"), "half a he").unwrap();
    assert_eq!(base.dir().ids().unwrap(), []);
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(!draft.exists());
    assert_eq!(session.last(), 0);
}

#[test]
fn a_torn_end_is_told_when_a_session_is_opened() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("one")]).unwrap();
    // Another fact was written and never synced.
    let (path, bytes) = (session.path().join("journal.jsonl"), session.journal_bytes());
    drop(session.write(FACT_TIME, &[said("two")], Milestone::None).unwrap());
    drop(session);
    let len = fs::metadata(&path).unwrap().len();
    assert!(len > bytes);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - 3).unwrap();
    let session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert_eq!(session.last(), 1);
    assert!(session.cut().unwrap().bytes > 3);
}

#[test]
fn a_reader_on_another_thread_sees_facts_once_they_are_durable() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let mut reader = session.reader();
    let follower = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while seen.len() < 300 {
            let next = seen.len() as u64 + 1;
            seen.extend(reader.read_all::<Fact>(next).unwrap().into_iter().map(|r| r.fact));
        }
        seen
    });
    for n in 0..100 {
        let batch = [Fact::Counted(3 * n), Fact::Counted(3 * n + 1), Fact::Counted(3 * n + 2)];
        session.append(FACT_TIME, &batch).unwrap();
    }
    let expected: Vec<Fact> = (0..300).map(Fact::Counted).collect();
    assert_eq!(follower.join().unwrap(), expected);
    assert_eq!(facts(&mut session.reader()), expected);
}
