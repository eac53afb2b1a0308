//! The readable view.

use std::fs;

use coven_store::session::ReadOnlySession;
use coven_store::view::{ViewError, ViewHead};
use coven_store::{Session, View};
use serde_json::{Value, json};

use super::{Base, FACT_TIME, Place, id, said};

fn on_disk(place: &Place) -> Value {
    serde_json::from_slice(&fs::read(place.0.path().join("session.json")).unwrap()).unwrap()
}

#[test]
fn version_and_last_fact_stand_first_and_the_rest_is_readable() {
    let place = Place::new();
    let mut view = View::new(&place.folder()).unwrap();
    view.write(&json!({"goal": "g", "tasks": []}), 7, FACT_TIME).unwrap();
    let text = fs::read_to_string(place.0.path().join("session.json")).unwrap();
    assert_eq!(
        text,
        "{\n  \"version\": 1,\n  \"upTo\": 7,\n  \"updatedAt\": 1700000000000,\n  \"goal\": \"g\",\n  \
         \"tasks\": []\n}\n"
    );
    let head = Some(ViewHead { version: 1, up_to: 7, updated_at: FACT_TIME });
    assert_eq!(ViewHead::read(&place.folder()).unwrap(), head);
    assert_eq!(view.head(), head);
    view.write(&json!({}), 8, FACT_TIME).unwrap();
    let bare = json!({"version": 1, "upTo": 8, "updatedAt": FACT_TIME.as_millis()});
    assert_eq!(on_disk(&place), bare);
}

#[test]
fn what_cannot_be_a_view_is_refused() {
    let place = Place::new();
    for bad in [json!([]), json!("x"), json!({"version": 1}), json!({"upTo": 7})] {
        let mut view = View::new(&place.folder()).unwrap();
        let error = view.write(&bad, 7, FACT_TIME).unwrap_err();
        assert!(matches!(error, ViewError::Shape { .. }), "{error}");
    }
    assert!(!place.0.path().join("session.json").exists());
}

/// Spec: C0.8.1
#[test]
fn a_view_that_is_missing_older_ahead_or_damaged_is_to_be_rebuilt() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(session.view_needs_rebuild(), "there is none");
    session.append(FACT_TIME, &[said("one"), said("two")]).unwrap();
    session.write_view(&json!({"stage": 1})).unwrap();
    assert!(!session.view_needs_rebuild());
    let path = session.path().join("session.json");
    drop(session);

    let good = fs::read_to_string(&path).unwrap();
    let reopened = || Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(!reopened().view_needs_rebuild());
    for bad in [
        "",
        "{",
        "\0\0\0",
        &good.replace("To\": 2,", "To\": 1,"),
        &good.replace("To\": 2,", "To\": 3,"),
    ] {
        fs::write(&path, bad).unwrap();
        let mut session = reopened();
        assert!(session.view_needs_rebuild(), "{bad:?}");
        session.write_view(&json!({"stage": 1})).unwrap();
        assert!(!session.view_needs_rebuild());
        assert_eq!(fs::read_to_string(&path).unwrap(), good);
    }
    fs::remove_file(&path).unwrap();
    assert!(reopened().view_needs_rebuild());
}

#[test]
fn a_view_of_a_newer_version_is_left_alone() {
    let base = Base::new();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let path = session.path().join("session.json");
    drop(session);
    let newer = "{\"version\": 2, \"upTo\": 0}";
    fs::write(&path, newer).unwrap();
    let error = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap_err();
    assert!(error.to_string().contains("session.json has version 2, newer than"), "{error}");
    let look = ReadOnlySession::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert_eq!(look.view().unwrap().unwrap(), newer.as_bytes());
    assert_eq!(look.view_head().unwrap().unwrap().version, 2);
}
