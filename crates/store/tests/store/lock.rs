//! The lock of a base directory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use coven_store::Lock;
use coven_store::lock::{LockError, LockHolder, LockStanding};

use super::{Base, FACT_TIME};

fn me() -> LockHolder {
    LockHolder::this_process("coven 0.1.0", FACT_TIME, Some(PathBuf::from("/run/coven.sock")))
}

#[test]
fn a_lock_that_is_held_names_its_holder() {
    let base = Base::new();
    let lock = Lock::take(&base.dir(), &me()).unwrap();
    let error = Lock::take(&base.dir(), &me()).unwrap_err();
    let path = fs::canonicalize(base.path()).unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "{} is in use by coven 0.1.0 (process {}); use it through that one, or stop it first",
            path.display(),
            std::process::id()
        )
    );
    let LockError::Held { holder: Some(holder), .. } = error else { panic!("{error}") };
    assert_eq!(*holder, me());
    assert!(holder.is_alive());
    assert_eq!(Lock::holder(&base.dir()).unwrap(), Some(me()));
    drop(lock);
    assert_eq!(Lock::holder(&base.dir()).unwrap(), None);
    Lock::take(&base.dir(), &me()).unwrap();
}

#[test]
fn a_note_that_is_left_over_or_damaged_does_not_lock_anybody_out() {
    let base = Base::new();
    let file = base.dir().coven().path().join("lock");
    let gone = LockHolder { pid: 1, start: 1, ..me() };
    for note in [serde_json::to_string(&gone).unwrap(), "{".to_owned(), "x".repeat(9999)] {
        fs::write(&file, note).unwrap();
        assert_eq!(Lock::holder(&base.dir()).unwrap(), None);
        let lock = Lock::take(&base.dir(), &me()).unwrap();
        assert_eq!(Lock::holder(&base.dir()).unwrap(), Some(me()));
        drop(lock);
    }
    assert!(!gone.is_alive());
    assert!(!LockHolder { boot_id: "another".to_owned(), ..me() }.is_alive());
}

#[test]
fn a_lock_whose_file_is_deleted_or_replaced_is_known_to_be_lost() {
    let base = Base::new();
    let lock = Lock::take(&base.dir(), &me()).unwrap();
    assert_eq!(lock.standing().unwrap(), LockStanding::Held);
    let file = base.path().join(".coven/lock");
    fs::remove_file(&file).unwrap();
    assert_eq!(lock.standing().unwrap(), LockStanding::Lost);
    let second = Lock::take(&base.dir(), &me()).unwrap();
    assert_eq!(lock.standing().unwrap(), LockStanding::Lost);
    assert_eq!(second.standing().unwrap(), LockStanding::Held);
    fs::remove_dir_all(base.path().join(".coven")).unwrap();
    assert_eq!(second.standing().unwrap(), LockStanding::Lost);
}

#[test]
fn the_lock_goes_with_the_process_that_held_it() {
    let base = Base::new();
    base.dir();
    // Any other program that locks the same file; it is killed and cannot clean up.
    let script = "exec 9<>.coven/lock; flock -n 9 || exit 1; echo locked; exec sleep 1000";
    let spawned = Command::new("sh")
        .args(["-c", script])
        .current_dir(base.path())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = spawned.unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        child.wait().unwrap();
        return coven_testkit::skip::skip("there is no `flock`");
    }
    let error = Lock::take(&base.dir(), &me()).unwrap_err();
    assert!(error.to_string().contains("another process that left no note"), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    Lock::take(&base.dir(), &me()).unwrap();
}
