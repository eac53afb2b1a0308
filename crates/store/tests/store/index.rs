//! Listing sessions and finding the one that is meant.

use std::fs;
use std::io::Write;

use coven_model::event::SessionCause;
use coven_model::{SessionId, Timestamp, WorkflowStatus};
use coven_store::index::ResolveError;
use coven_store::{Index, Session, SessionEntry};
use serde_json::{Value, json};

use super::{Base, id, said};

/// The view of a session, as far as a list shows it.
pub(crate) fn view(name: &str, goal: &str, status: WorkflowStatus) -> Value {
    json!({"name": name, "workflow": "build", "goal": goal, "status": status, "createdAt": 5,
        "history": [1, 2, 3]})
}

/// Makes a session with one fact and a view.
pub(crate) fn session(base: &Base, id: &SessionId, name: &str) -> Session {
    let mut session = Session::create(&base.dir(), &base.authority(), id).unwrap();
    session.append(Timestamp::from_millis(6), &[said(name)]).unwrap();
    let view = view(name, "a goal", WorkflowStatus::Running);
    session.write_view(&view).unwrap();
    session
}

fn entry(base: &Base, id: &SessionId, name: &str) -> SessionEntry {
    SessionEntry {
        id: id.clone(),
        name: name.to_owned(),
        grimoire: Some("build".to_owned()),
        cause: None,
        goal: Some("a goal".to_owned()),
        status: WorkflowStatus::Running,
        created_at: Timestamp::from_millis(5),
        updated_at: Timestamp::from_millis(6),
        kept: false,
        base_dir: fs::canonicalize(base.path()).unwrap().into(),
        foreign: false,
        fresh: true,
        problem: None,
    }
}

fn listed(base: &Base) -> Vec<SessionEntry> {
    base.index().entries().cloned().collect()
}

#[test]
fn sessions_are_listed_with_and_without_the_cache() {
    let base = Base::new();
    assert_eq!(listed(&base), []);
    for (n, name) in [(1, "one"), (2, "two"), (3, "three")] {
        session(&base, &id(n), name);
    }
    let expected =
        [entry(&base, &id(1), "one"), entry(&base, &id(2), "two"), entry(&base, &id(3), "three")];
    assert_eq!(listed(&base), expected);
    let cache = base.path().join("state/index.jsonl");
    assert!(!cache.exists(), "looking changes nothing");
    let mut index = base.index();
    index.save().unwrap();
    assert_eq!(listed(&base), expected);
    // Taken from the cache: without views there is nothing else.
    for n in 1..4 {
        fs::remove_file(base.dir().session_path(&id(n)).join("session.json")).unwrap();
    }
    assert_eq!(listed(&base), expected);
    fs::remove_file(&cache).unwrap();
    assert!(listed(&base).iter().all(|entry| !entry.fresh));
}

#[test]
fn a_session_that_went_on_is_looked_at_again() {
    let base = Base::new();
    let mut one = session(&base, &id(1), "one");
    base.index().save().unwrap();
    one.append(Timestamp::from_millis(9), &[said("more")]).unwrap();
    let stale = listed(&base).remove(0);
    assert_eq!(stale, SessionEntry { fresh: false, ..entry(&base, &id(1), "one") });
    // What is not known for sure is not kept for later.
    base.index().save().unwrap();
    one.write_view(&view("one", "a goal", WorkflowStatus::Failed)).unwrap();
    let now = listed(&base).remove(0);
    assert_eq!((now.fresh, now.status), (true, WorkflowStatus::Failed));
    assert_eq!(now.updated_at, Timestamp::from_millis(9));
}

#[test]
fn a_session_is_listed_whatever_its_view_looks_like() {
    let base = Base::new();
    let path = session(&base, &id(1), "one").path().join("session.json");
    for bad in ["", "{", "[]", "{\"upTo\": 1, \"status\": \"dancing\"}", "\0"] {
        fs::write(&path, bad).unwrap();
        let entry = listed(&base).remove(0);
        assert!(!entry.fresh, "{bad:?}");
        assert_eq!(entry.id, id(1));
        assert!(entry.name.contains('-'), "it has the name its id gives: {}", entry.name);
    }
}

#[test]
fn a_line_that_does_not_say_what_runs_is_of_an_earlier_version_and_looked_at_again() {
    let base = Base::new();
    let one = session(&base, &id(1), "one");
    let own = || Index::load(&base.dir(), &base.cache(), |_| true).unwrap();
    let cause = SessionCause { event: "deploy.done".to_owned(), session: None, name: None };
    let known = SessionEntry { cause: Some(cause), ..entry(&base, &id(1), "one") };
    own().set(known.clone(), one.journal_bytes()).unwrap();
    assert_eq!(own().get(&id(1)).unwrap(), &known, "the cache keeps the cause");
    let earlier = SessionEntry { grimoire: None, cause: None, ..known };
    own().set(earlier, one.journal_bytes()).unwrap();
    assert!(!own().get(&id(1)).unwrap().fresh);
}

#[test]
fn what_is_no_session_is_not_listed() {
    let base = Base::new();
    session(&base, &id(1), "one");
    let sessions = base.dir().sessions().path().to_path_buf();
    for stray in [".trash/x", "notes", ".new-01890a5d"] {
        fs::create_dir_all(sessions.join(stray)).unwrap();
    }
    fs::write(sessions.join(id(8).as_str()), "a file").unwrap();
    assert_eq!(listed(&base).len(), 1);
    // A folder without a journal is a session that has lost it, if the user made it.
    fs::create_dir_all(sessions.join(id(7).as_str())).unwrap();
    assert_eq!(listed(&base).len(), 2);
    assert_eq!(Index::load(&base.dir(), &base.cache(), |_| false).unwrap().len(), 1);
}

#[test]
fn the_view_of_a_session_of_the_user_is_not_believed() {
    let base = Base::new();
    let one = session(&base, &id(1), "one");
    let own = || Index::load(&base.dir(), &base.cache(), |_| true).unwrap();
    let unknown = own().get(&id(1)).unwrap().clone();
    assert!(!unknown.fresh && unknown.goal.is_none(), "{unknown:?}");
    own().set(entry(&base, &id(1), "one"), one.journal_bytes()).unwrap();
    fs::write(one.path().join("session.json"), r#"{"upTo":1,"status":"completed","name":"x"}"#)
        .unwrap();
    assert_eq!(own().get(&id(1)).unwrap(), &entry(&base, &id(1), "one"));
    // Nor when the journal has changed since: what was known last is listed.
    fs::OpenOptions::new()
        .append(true)
        .open(one.path().join("journal.jsonl"))
        .and_then(|mut journal| journal.write_all(b"{"))
        .unwrap();
    let stale = SessionEntry { fresh: false, ..entry(&base, &id(1), "one") };
    assert_eq!(own().get(&id(1)).unwrap(), &stale);
    // A foreign session is what it says of itself.
    let foreign = Index::load(&base.dir(), &base.cache(), |_| false).unwrap();
    assert_eq!(foreign.get(&id(1)).unwrap().name, "x");
}

#[test]
fn a_cache_of_a_newer_version_is_neither_used_nor_written() {
    let base = Base::new();
    session(&base, &id(1), "one");
    let json = "{\"coven\":\"index\",\"v\":2}";
    let newer = format!("{json}\t{:08x}\n", crc32fast::hash(json.as_bytes()));
    let cache = base.path().join("state/index.jsonl");
    fs::write(&cache, &newer).unwrap();
    let mut index = base.index();
    index.save().unwrap();
    index.set(entry(&base, &id(1), "other"), 1).unwrap();
    assert_eq!(listed(&base), [entry(&base, &id(1), "one")]);
    assert_eq!(fs::read_to_string(&cache).unwrap(), newer);
}

#[test]
fn a_long_goal_is_shortened_for_the_list() {
    let base = Base::new();
    let mut long = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let goal = "é".repeat(10_000);
    long.write_view(&view("x", &goal, WorkflowStatus::Pending)).unwrap();
    let goal = listed(&base).remove(0).goal.unwrap();
    assert_eq!(goal.chars().count(), 301);
    assert!(goal.ends_with("é…"));
}

#[test]
fn a_session_is_found_by_id_beginning_and_name() {
    let base = Base::new();
    let other = SessionId::new("01890a5d-ffff-774b-bcce-000000000001").unwrap();
    for (id, name) in [(&id(1), "brisk-otter"), (&id(2), "calm-heron"), (&other, "shy-lynx")] {
        session(&base, id, name);
    }
    let index = base.index();
    let found = |text: &str| index.resolve(text).map(|entry| entry.name.clone());
    for text in [id(2).as_str(), "calm-heron", "01890a5d-ac96-774b-bcce-000000000002"] {
        assert_eq!(found(text).unwrap(), "calm-heron");
    }
    assert_eq!(found("01890a5d-f").unwrap(), "shy-lynx");
    assert_eq!(found("01890A5D-FF").unwrap(), "shy-lynx");
    let error = found("01890a5d-a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`01890a5d-a` could be 01890a5d-ac96-774b-bcce-000000000001 (brisk-otter), \
         01890a5d-ac96-774b-bcce-000000000002 (calm-heron); give more of the id, or the name"
    );
    for text in ["", "otter", "brisk", "../..", "01890a5d-ac96-774b-bcce-000000000009"] {
        assert!(matches!(found(text), Err(ResolveError::Unknown { .. })), "{text}");
    }
    assert_eq!(
        found("lynx").unwrap_err().to_string(),
        "no session has the id or name `lynx`; `coven ls` lists them"
    );
}

#[test]
fn a_name_that_another_session_has_is_not_given_again() {
    let base = Base::new();
    let free = base.index().new_name(&id(1));
    assert_eq!(free, coven_store::names::name(&id(1), |_| false));
    session(&base, &id(2), &free);
    let other = base.index().new_name(&id(1));
    assert_ne!(other, free);
}
