//! Old sessions go; those that are needed stay.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use coven_model::{SessionId, Timestamp, WorkflowStatus};
use coven_store::retention::{RemoveError, remove, sweep};
use coven_store::{Retention, Session};
use serde_json::json;

use super::index::view;
use super::{Base, FACT_TIME, id, said};

/// A session that changed at this time, closed.
fn session(base: &Base, number: u64, status: WorkflowStatus, updated: u64) {
    let mut session = Session::create(&base.dir(), &base.authority(), &id(number)).unwrap();
    session.append(Timestamp::from_millis(updated), &[said("x")]).unwrap();
    session.write_view(&view("n", "g", status)).unwrap();
}

fn ids(base: &Base) -> Vec<SessionId> {
    let mut ids = base.dir().ids().unwrap();
    ids.sort();
    ids
}

const NOW: Timestamp = Timestamp::from_millis(100_000);

#[test]
fn the_oldest_finished_sessions_go_and_no_other() {
    use WorkflowStatus::{Blocked, Cancelled, Completed, Failed, Pending, Running};
    let base = Base::new();
    for (number, status, updated) in [
        (1, Completed, 50),
        (2, Running, 1),
        (3, Failed, 10),
        (4, Blocked, 2),
        (5, Cancelled, 20),
        (6, Pending, 3),
        (7, Completed, 5),
        (8, Completed, 60),
    ] {
        session(&base, number, status, updated);
    }
    // A finished one that has gone on since its view was written is not finished for sure.
    session(&base, 9, Completed, 4);
    Session::open(&base.dir(), &base.authority(), &id(9))
        .unwrap()
        .append(FACT_TIME, &[said("y")])
        .unwrap();
    // Nor one of which an agent was left alive.
    let mut session = Session::create(&base.dir(), &base.authority(), &id(10)).unwrap();
    session.append(Timestamp::from_millis(4), &[said("x")]).unwrap();
    let kept = json!({"status": "completed", "kept": ["build"]});
    session.write_view(&kept).unwrap();
    drop(session);

    let mut index = base.index();
    let policy = Retention { keep: 2, age: None };
    let removed = policy
        .apply(&base.dir(), &base.authority(), &mut index, NOW, |kept| *kept == id(7))
        .unwrap();
    assert_eq!(removed.sessions, [id(3), id(5)]);
    assert!(removed.left.is_empty() && removed.failed.is_empty());
    assert_eq!(ids(&base), [1, 2, 4, 6, 7, 8, 9, 10].map(id));
    let listed: Vec<SessionId> = index.entries().map(|entry| entry.id.clone()).collect();
    assert_eq!(listed, ids(&base));
    let again = policy
        .apply(&base.dir(), &base.authority(), &mut index, NOW, |kept| *kept == id(7))
        .unwrap();
    assert_eq!(again.sessions, []);
}

#[test]
fn fifty_stay_by_default_and_age_counts_from_the_last_change() {
    let base = Base::new();
    for number in 0..53 {
        session(&base, number, WorkflowStatus::Completed, number * 1000);
    }
    let index = base.index();
    let expired = Retention::default().expired(&index, NOW, |_| false);
    assert_eq!(expired, [0, 1, 2].map(id));
    // One that ended just now is still in memory, and is one of the fifty.
    let expired = Retention::default().expired(&index, NOW, |needed| *needed == id(52));
    assert_eq!(expired, [0, 1, 2].map(id));
    let expired = Retention::default().expired(&index, NOW, |needed| *needed == id(1));
    assert_eq!(expired, [0, 2].map(id));
    let policy = Retention { age: Some(Duration::from_secs(95)), ..Retention::default() };
    assert_eq!(policy.expired(&index, NOW, |_| false), [0, 1, 2, 3, 4].map(id));
    let policy = Retention { keep: usize::MAX, age: None };
    assert_eq!(policy.expired(&index, NOW, |_| false), []);
}

#[test]
fn an_open_session_is_not_removed() {
    let base = Base::new();
    let open = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let error = remove(&base.dir(), &base.authority(), &id(1)).unwrap_err();
    assert!(matches!(error, RemoveError::InUse { .. }), "{error}");
    assert_eq!(ids(&base), [id(1)]);
    drop(open);
    assert_eq!(remove(&base.dir(), &base.authority(), &id(1)).unwrap().sessions, [id(1)]);
    assert_eq!(ids(&base), []);
    assert!(matches!(
        remove(&base.dir(), &base.authority(), &id(1)),
        Err(RemoveError::Missing { .. })
    ));
}

#[test]
fn a_removal_that_was_cut_short_is_finished_the_next_time() {
    let base = Base::new();
    session(&base, 1, WorkflowStatus::Completed, 1);
    session(&base, 2, WorkflowStatus::Completed, 1);
    let sessions = base.dir().sessions().path().to_path_buf();
    // Killed after the rename, and half-way through the removal of another.
    fs::create_dir(sessions.join(".trash")).unwrap();
    fs::rename(base.dir().session_path(&id(1)), sessions.join(".trash").join(id(1).as_str()))
        .unwrap();
    fs::create_dir_all(sessions.join(".trash/half/tasks/a/1")).unwrap();
    fs::create_dir(sessions.join(format!(".new-{}", id(3)))).unwrap();
    assert_eq!(base.index().len(), 1);
    let swept = sweep(&base.dir()).unwrap();
    assert!(swept.left.is_empty());
    assert_eq!(fs::read_dir(sessions.join(".trash")).unwrap().count(), 0);
    assert!(!sessions.join(format!(".new-{}", id(3))).exists());
    assert_eq!(ids(&base), [id(2)]);
}

#[test]
fn removing_does_not_follow_links_out_of_the_session() {
    let base = Base::new();
    let outside = base.path().join("precious");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    session(&base, 1, WorkflowStatus::Completed, 1);
    let folder = base.dir().session_path(&id(1));
    symlink(&outside, folder.join("tasks")).unwrap();
    remove(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(outside.join("file").exists());
    assert!(!folder.exists());
    // Nor is a link in the place of a session removed or followed.
    symlink(&outside, base.dir().session_path(&id(2))).unwrap();
    assert!(matches!(remove(&base.dir(), &base.authority(), &id(2)), Err(RemoveError::File(_))));
}
