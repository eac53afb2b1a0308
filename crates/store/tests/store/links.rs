//! Files that have a second name elsewhere: the file behind it stays as it is.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use coven_model::{AttemptId, TaskId, WorkflowStatus};
use coven_store::journal::OpenError;
use coven_store::lock::{LockError, LockHolder};
use coven_store::register::DurableWhen;
use coven_store::retention::{remove, sweep};
use coven_store::{Lock, OpenObstacle, Register, Session};
use coven_tape::{Options, TapeStream, TapeWriter};

use super::index::view;
use super::{Base, FACT_TIME, id, said};

/// Gives a file a second name, as a link to it that was put there would.
fn linked(base: &Base, file: &Path) -> impl Fn() -> Vec<u8> + use<> {
    let other = base.path().join("elsewhere");
    fs::remove_file(&other).ok();
    fs::hard_link(file, &other).unwrap();
    move || fs::read(&other).unwrap()
}

fn holder() -> LockHolder {
    LockHolder::this_process("a test", FACT_TIME, None)
}

#[test]
fn a_lock_that_has_a_second_name_is_made_anew_unless_it_is_held() {
    let base = Base::new();
    let lock = Lock::take(&base.dir(), &holder()).unwrap();
    let file = base.path().join(".coven/lock");
    let elsewhere = linked(&base, &file);
    let refused = Lock::take(&base.dir(), &holder());
    assert!(matches!(refused, Err(LockError::Held { .. })), "{refused:?}");
    drop(lock);
    fs::write(&file, "not yours").unwrap();
    let _lock = Lock::take(&base.dir(), &holder()).unwrap();
    assert_eq!(elsewhere(), b"not yours");
    assert!(fs::read_to_string(&file).unwrap().contains("a test"));
    assert!(matches!(Lock::take(&base.dir(), &holder()), Err(LockError::Held { .. })));
}

#[test]
fn the_index_and_a_register_are_written_anew_if_they_have_a_second_name() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("x")]).unwrap();
    session.write_view(&view("n", "g", WorkflowStatus::Running)).unwrap();
    let mut index = base.index();
    index.save().unwrap();
    let elsewhere = linked(&base, &base.path().join("state/index.jsonl"));
    let before = elsewhere();
    let entry = index.get(&id(1)).unwrap().clone();
    index.set(entry, session.journal_bytes()).unwrap();
    assert_eq!(elsewhere(), before);

    let sessions = base.path().join(".coven/sessions");
    let (mut register, _) = Register::open::<u32>(&sessions, "some.jsonl").unwrap();
    register.add(&[1], DurableWhen::Now, || vec![1]).unwrap();
    drop(register);
    let elsewhere = linked(&base, &base.path().join(".coven/sessions/some.jsonl"));
    let before = elsewhere();
    let (mut register, entries) = Register::open::<u32>(&sessions, "some.jsonl").unwrap();
    assert_eq!(entries, [1]);
    register.add(&[2], DurableWhen::Now, || vec![1, 2]).unwrap();
    assert_eq!(elsewhere(), before);
    drop(register);
    assert_eq!(Register::open::<u32>(&sessions, "some.jsonl").unwrap().1, [1, 2]);
}

#[test]
fn a_journal_that_has_a_second_name_is_not_gone_on_with() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("x")]).unwrap();
    let file = session.path().join("journal.jsonl");
    drop(session);
    let elsewhere = linked(&base, &file);
    // A torn end would be cut off.
    let mut torn = elsewhere();
    torn.extend_from_slice(b"torn");
    fs::write(&file, &torn).unwrap();
    let Err(OpenError::File(error)) = Session::open(&base.dir(), &base.authority(), &id(1)) else {
        panic!()
    };
    assert_eq!(error.obstacle, OpenObstacle::HardLink, "{error}");
    assert_eq!(elsewhere(), torn);
}

#[test]
fn removing_sessions_follows_no_link_also_if_the_trash_is_moved() {
    let base = Base::new();
    let victim = base.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "not yours").unwrap();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let folder = session.path().to_path_buf();
    drop(session);
    symlink(&victim, folder.join("link")).unwrap();
    fs::hard_link(victim.join("file"), folder.join("file")).unwrap();
    let removed = remove(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(removed.left.is_empty() && !folder.exists(), "{removed:?}");
    let trash = base.path().join(".coven/sessions/.trash");
    fs::remove_dir(&trash).unwrap();
    symlink(&victim, &trash).unwrap();
    assert_eq!(sweep(&base.dir()).unwrap_err().obstacle, OpenObstacle::Link);
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "not yours");
    assert_eq!(fs::metadata(victim.join("file")).unwrap().nlink(), 1);
}

#[test]
fn the_tape_of_an_attempt_is_read_from_its_folder_and_not_from_a_link_in_its_place() {
    let base = Base::new();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let attempt = AttemptId { task: TaskId::new("build").unwrap(), attempt: 1 };
    let attempt = session.make_attempt(&attempt).unwrap();
    let elsewhere = base.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for (path, text) in [(attempt.path(), "ours"), (&elsewhere, "not ours")] {
        let path = fs::canonicalize(path).unwrap();
        let mut tape = TapeWriter::create(&path, Options::default()).unwrap();
        tape.output(1, TapeStream::Out, text.as_bytes()).unwrap();
    }
    let task = attempt.path().parent().unwrap();
    fs::rename(attempt.path(), task.join("away")).unwrap();
    symlink(&elsewhere, attempt.path()).unwrap();
    assert_eq!(attempt.tape().unwrap().range(), 0..4);
}
