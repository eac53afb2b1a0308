//! A folder that is deleted while its session runs.

use std::fs;
use std::process::Command;

use coven_store::Session;
use coven_store::journal::AppendError;
use coven_store::session::RestoredSession;
use coven_store::values::LIMIT;
use serde_json::{Value, json};

use super::{Base, FACT_TIME, authority, facts, id, said};

#[test]
fn a_deleted_folder_is_back_after_the_next_fact_and_that_is_told() {
    for gone in
        [".coven/sessions/01890a5d-ac96-774b-bcce-000000000001", ".coven/sessions", ".coven"]
    {
        let base = Base::new();
        let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
        let large = said(&"v".repeat(LIMIT + 1));
        session.append(FACT_TIME, &[said("one"), large.clone()]).unwrap();
        session.write_view(&json!({"n": 1})).unwrap();
        let mut reader = session.reader();
        fs::remove_dir_all(base.path().join(gone)).unwrap();
        // Until then a reader still reads what is open.
        assert_eq!(reader.read_from::<Value>(1).unwrap().next().unwrap().unwrap().seq, 1);

        let appended = session.append(FACT_TIME, &[said("three")]).unwrap();
        assert_eq!(appended.seqs, 3..4);
        assert_eq!(appended.restored, Some(RestoredSession { facts: 2, lost_values: Vec::new() }));
        assert_eq!(session.append(FACT_TIME, &[said("four")]).unwrap().restored, None);
        session.write_view(&json!({"n": 2})).unwrap();
        let expected = [said("one"), large, said("three"), said("four")];
        assert!(facts(&mut reader) == expected, "{gone}: the reader went along");
        drop(session);

        let session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
        assert!(facts(&mut session.reader()) == expected);
        assert!(!session.view_needs_rebuild());
        assert!(base.path().join(".coven/.gitignore").exists());
    }
}

#[test]
fn git_clean_takes_nothing_from_a_running_session() {
    let base = Base::new();
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(base.path()).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q"]) {
        return coven_testkit::skip::skip("there is no git");
    }
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("one")]).unwrap();
    assert!(git(&["clean", "-fdx", "-q"]));
    assert!(!session.path().exists());
    assert!(session.append(FACT_TIME, &[said("two")]).unwrap().restored.is_some());
    assert_eq!(facts(&mut session.reader()), [said("one"), said("two")]);
}

#[test]
fn a_view_does_not_bring_a_deleted_folder_back() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("one")]).unwrap();
    fs::remove_dir_all(session.path()).unwrap();
    session.write_view(&json!({"n": 1})).unwrap_err();
    assert!(!session.path().exists());
    assert!(session.put_back().unwrap().is_some());
    session.write_view(&json!({"n": 1})).unwrap();
    assert!(session.path().join("journal.jsonl").exists());
}

#[test]
fn values_that_cannot_be_brought_back_are_named() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said(&"v".repeat(LIMIT + 1))]).unwrap();
    drop(session);
    // One that was opened again has no value's file open.
    let mut session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    fs::remove_dir_all(session.path()).unwrap();
    let restored = session.append(FACT_TIME, &[said("two")]).unwrap().restored.unwrap();
    assert_eq!((restored.facts, restored.lost_values.len()), (1, 1));
}

#[test]
fn a_copy_of_our_journal_is_replaced_and_another_one_is_not() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let path = session.path().join("journal.jsonl");
    session.append(FACT_TIME, &[said("one")]).unwrap();
    let old = fs::read(&path).unwrap();
    session.append(FACT_TIME, &[said("two")]).unwrap();
    // As a `git stash --all` and its return leave it: the same text in another file.
    fs::remove_file(&path).unwrap();
    fs::write(&path, &old).unwrap();
    assert_eq!(session.append(FACT_TIME, &[said("three")]).unwrap().restored.unwrap().facts, 2);
    assert_eq!(facts(&mut session.reader()).len(), 3);

    fs::remove_file(&path).unwrap();
    fs::write(&path, "something else").unwrap();
    let error = session.append(FACT_TIME, &[said("four")]).unwrap_err();
    assert!(matches!(error, AppendError::Replaced { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "something else");
    fs::remove_file(&path).unwrap();
    session.append(FACT_TIME, &[said("four")]).unwrap();
    drop(session);
    assert_eq!(Session::open(&base.dir(), &base.authority(), &id(1)).unwrap().last(), 4);
}

#[test]
fn without_a_base_directory_nothing_is_brought_back_and_nothing_recorded() {
    let parent = Base::new();
    let path = parent.path().join("base");
    fs::create_dir(&path).unwrap();
    let dir = coven_store::BaseDir::create(&path).unwrap();
    let mut session = Session::create(&dir, &authority(&dir), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("one")]).unwrap();
    fs::remove_dir_all(&path).unwrap();
    let error = session.append(FACT_TIME, &[said("two")]).unwrap_err();
    assert!(matches!(error, AppendError::NotRestored { .. }), "{error}");
    assert_eq!(session.last(), 1);
    fs::create_dir(&path).unwrap();
    assert_eq!(session.append(FACT_TIME, &[said("two")]).unwrap().seqs, 2..3);
}
