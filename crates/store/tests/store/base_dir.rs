//! Where sessions lie, and what may stand in the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use coven_model::{AttemptId, TaskId};
use coven_store::journal::{CreateError, OpenError};
use coven_store::{BaseDir, OpenFolder, OpenObstacle, Session};
use coven_testkit::nobody::without_root;
use tempfile::TempDir;

use super::{Base, FACT_TIME, authority, id, said};

/// Spec: C1.12.2
/// Spec: C1.12.3
#[test]
fn a_session_is_written_below_its_base_directory_and_found_there_again() {
    let (one, other) = (Base::new(), Base::new());
    let mut session = Session::create(&one.dir(), &one.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("hello")]).unwrap();
    let real = fs::canonicalize(one.path()).unwrap();
    assert_eq!(session.base_dir(), real);
    assert_eq!(session.path(), real.join(".coven/sessions").join(id(1).as_str()));
    assert!(session.path().join("journal.jsonl").is_file());
    drop(session);
    assert_eq!(Session::open(&one.dir(), &one.authority(), &id(1)).unwrap().last(), 1);
    let error = Session::open(&other.dir(), &other.authority(), &id(1)).unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
    assert_eq!(other.dir().ids().unwrap(), []);
}

#[test]
fn looking_for_sessions_changes_nothing() {
    let base = Base::new();
    assert!(BaseDir::find(base.path()).unwrap().is_none());
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    base.dir();
    assert!(BaseDir::find(base.path()).unwrap().is_some());
}

#[test]
fn sessions_are_private_and_kept_out_of_git() {
    let base = Base::new();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let coven = base.path().join(".coven");
    for path in [coven.join("sessions"), session.path().to_path_buf()] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", path.display());
    }
    let journal = fs::metadata(session.path().join("journal.jsonl")).unwrap();
    assert_eq!(journal.permissions().mode() & 0o777, 0o600);
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(base.path()).output();
        output.ok().filter(|output| output.status.success())
    };
    if git(&["init", "-q"]).is_some() {
        let status = git(&["status", "--porcelain", "--untracked-files=all"]).unwrap();
        assert_eq!(String::from_utf8(status.stdout).unwrap(), "");
    }
    // It is written once; from then on it is the people's.
    fs::write(coven.join(".gitignore"), "mine").unwrap();
    base.dir();
    assert_eq!(fs::read_to_string(coven.join(".gitignore")).unwrap(), "mine");
}

#[test]
fn links_in_the_way_are_refused_wherever_they_are() {
    let target = TempDir::new().unwrap();
    let base = Base::new();
    symlink(target.path(), base.path().join(".coven")).unwrap();
    let error = BaseDir::create(base.path()).unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::Link, "{error}");
    assert!(error.to_string().contains("is a symbolic link, and links are not followed"));

    let base = Base::new();
    fs::create_dir(base.path().join(".coven")).unwrap();
    symlink(target.path(), base.path().join(".coven/sessions")).unwrap();
    assert_eq!(BaseDir::create(base.path()).unwrap_err().obstacle, OpenObstacle::Link);

    let base = Base::new();
    let dir = base.dir();
    symlink(target.path(), dir.session_path(&id(1))).unwrap();
    assert!(matches!(
        Session::create(&dir, &authority(&dir), &id(1)),
        Err(CreateError::Exists { .. })
    ));
    let Err(OpenError::File(error)) = Session::open(&dir, &authority(&dir), &id(1)) else {
        panic!()
    };
    assert_eq!(error.obstacle, OpenObstacle::Link);
    assert_eq!(dir.ids().unwrap(), [], "a link is not listed as a session");

    let session = Session::create(&dir, &authority(&dir), &id(2)).unwrap();
    let jobs = authority(&dir).session_path(&id(2));
    symlink(target.path(), jobs.join("build")).unwrap();
    let attempt = AttemptId { task: TaskId::new("build").unwrap(), attempt: 1 };
    assert_eq!(session.make_attempt(&attempt).unwrap_err().obstacle, OpenObstacle::Link);
    assert_eq!(session.attempts().unwrap(), []);
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn links_in_the_place_of_files_are_not_written_through() {
    let base = Base::new();
    let victim = base.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let folder = session.path().to_path_buf();
    for name in ["session.json", "session.json.new", "values"] {
        symlink(&victim, folder.join(name)).unwrap();
    }
    session.write_view(&serde_json::json!({"a": 1})).unwrap();
    assert!(!fs::symlink_metadata(folder.join("session.json")).unwrap().is_symlink());
    assert!(session.append(FACT_TIME, &[said(&"x".repeat(100_000))]).is_err());
    assert_eq!(session.last(), 0);
    drop(session);
    fs::rename(folder.join("journal.jsonl"), base.path().join("moved")).unwrap();
    symlink(base.path().join("moved"), folder.join("journal.jsonl")).unwrap();
    let Err(OpenError::File(error)) = Session::open(&base.dir(), &base.authority(), &id(1)) else {
        panic!()
    };
    assert_eq!(error.obstacle, OpenObstacle::Link);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn what_is_no_file_or_no_folder_is_told_as_such() {
    let base = Base::new();
    fs::write(base.path().join(".coven"), "a file").unwrap();
    let error = BaseDir::create(base.path()).unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::NotAFolder, "{error}");
    assert!(error.to_string().ends_with("it is not a folder; move what is there out of the way"));

    let base = Base::new();
    let error = BaseDir::create(&base.path().join("nowhere")).unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::Missing, "{error}");

    // A pipe would make us wait for ever if it were simply opened.
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let journal = session.path().join("journal.jsonl");
    drop(session);
    fs::remove_file(&journal).unwrap();
    assert!(Command::new("mkfifo").arg(&journal).status().unwrap().success());
    let Err(OpenError::File(error)) = Session::open(&base.dir(), &base.authority(), &id(1)) else {
        panic!()
    };
    assert_eq!(error.obstacle, OpenObstacle::NotAFile);
    fs::remove_file(&journal).unwrap();
    fs::create_dir(&journal).unwrap();
    let Err(OpenError::File(error)) = Session::open(&base.dir(), &base.authority(), &id(1)) else {
        panic!()
    };
    assert_eq!(error.obstacle, OpenObstacle::NotAFile);
}

#[test]
fn missing_permission_is_told_with_the_place() {
    without_root(missing_permission);
}

fn missing_permission() {
    let base = Base::new();
    let dir = base.path().join("locked");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o500)).unwrap();
    let error = BaseDir::create(&dir).unwrap_err();
    assert_eq!(error.obstacle, OpenObstacle::Denied);
    let place = fs::canonicalize(&dir).unwrap().join(".coven");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot create {}: permission denied; see who owns it and what its mode allows",
            place.display()
        )
    );
}

#[test]
fn a_base_directory_has_one_name_however_it_is_reached() {
    let base = Base::new();
    let real = fs::canonicalize(base.path()).unwrap();
    fs::create_dir(base.path().join("sub")).unwrap();
    let link = base.path().join("link");
    symlink(&real, &link).unwrap();
    for path in [base.path().join("sub/.."), link] {
        assert_eq!(BaseDir::create(&path).unwrap().path(), real);
    }
    assert!(OpenFolder::open(&real.join("sub")).is_ok());
}
