//! Sessions on disk.

use super::*;

fn store(folder: &Path) -> DemoSessionStore {
    DemoSessionStore { folder: Some(folder.to_owned()) }
}

#[test]
fn a_saved_session_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder.path().join("not/yet/there"));
    let mut session = store.begin(Some("a-1"), "demo-1").unwrap();
    session.remember("first");
    session.remember("second \u{1f600}");
    session.charge(0.25);
    store.save(&session).unwrap();
    assert_eq!(store.resume("a-1").unwrap(), session);
    assert!(matches!(store.begin(Some("a-1"), "demo-1"), Err(Error::Taken { .. })));
}

#[test]
fn a_turn_that_only_began_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let session = store.begin(Some("a-1"), "demo-1").unwrap();
    store.begin_turn(&session, "a prompt");
    let resumed = store.resume("a-1").unwrap();
    assert_eq!((resumed.turns, resumed.prompts), (1, vec!["a prompt".to_owned()]));
}

#[test]
fn a_new_id_is_a_random_uuid() {
    let ids: Vec<String> = (0..2).map(|_| random_id().unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
    for id in ids {
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
}

#[test]
fn an_id_never_leaves_the_folder() {
    let store = store(Path::new("/nowhere"));
    for id in ["", "..", "a/b", "../x", "a.json", "a b", "\u{e4}", &"x".repeat(65)] {
        assert!(matches!(store.resume(id), Err(Error::BadId { .. })), "{id}");
        assert!(matches!(store.begin(Some(id), "m"), Err(Error::BadId { .. })), "{id}");
    }
}

#[test]
fn what_is_missing_damaged_or_newer_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    assert!(matches!(store.resume("none"), Err(Error::Unknown { .. })));
    fs::write(folder.path().join("cut.json"), "{\"version\":1,\"id\":").unwrap();
    assert!(matches!(store.resume("cut"), Err(Error::Damaged { .. })));
    fs::write(folder.path().join("new.json"), "{\"version\":2,\"shape\":\"other\"}").unwrap();
    let error = store.resume("new").unwrap_err();
    assert!(error.to_string().contains("version 2, which is newer"), "{error}");
}

#[test]
fn the_environment_says_where_sessions_are_kept() {
    let find = |variables: &[(&str, &str)]| {
        let variables: Vec<(String, OsString)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        let get = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        DemoSessionStore::find(get).folder
    };
    let all = [("COVEN_DEMO_HOME", "/a"), ("XDG_STATE_HOME", "/b"), ("HOME", "/c")];
    assert_eq!(find(&all), Some("/a".into()));
    assert_eq!(find(&all[1..]), Some("/b/coven-demo".into()));
    assert_eq!(find(&all[2..]), Some("/c/.local/state/coven-demo".into()));
    assert_eq!(find(&[("COVEN_DEMO_HOME", "")]), None);
    let store = DemoSessionStore { folder: None };
    assert!(matches!(store.resume("a"), Err(Error::NoFolder)));
    assert!(store.begin(None, "m").is_ok());
}

#[test]
fn memory_is_bounded() {
    let mut session = DemoSession::new("a".to_owned(), "m".to_owned());
    for turn in 0..MAX_PROMPTS + 5 {
        session.remember(&format!("{turn} {}", "x".repeat(2 * MAX_PROMPT_CHARS)));
    }
    assert_eq!(session.turns, MAX_PROMPTS as u64 + 5);
    assert_eq!(session.prompts.len(), MAX_PROMPTS);
    assert!(session.prompts[0].starts_with("5 "));
    assert_eq!(session.prompts[0].len(), MAX_PROMPT_CHARS);
}
