//! What a journal does when the disk is full, read-only or broken: at every byte with a disk that
//! fails as told, and on a real one where this user may mount one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use tempfile::TempDir;

use super::super::disk::faulty;
use super::*;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fact {
    text: String,
}

fn fact(text: &str) -> Fact {
    Fact { text: text.to_owned() }
}

fn key() -> Arc<SealKey> {
    Arc::new(SealKey::from_secret(&[7; 32]))
}

fn id() -> SessionId {
    SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap()
}

const FACT_TIME: Timestamp = Timestamp::from_millis(1);

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn folder(&self) -> OpenFolder {
        OpenFolder::open(self.dir.path()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(FILE)
    }

    fn texts(&self) -> Vec<String> {
        let mut reader = JournalReader::open(&self.folder(), &id()).unwrap();
        reader.read_all::<Fact>(1).unwrap().into_iter().map(|record| record.fact.text).collect()
    }
}

#[test]
fn a_write_that_fails_after_any_byte_leaves_the_journal_as_it_was() {
    for errno in [Errno::NOSPC, Errno::IO, Errno::ROFS] {
        for room in 0..70 {
            let place = Place::new();
            let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
            journal.append(FACT_TIME, &[fact("before")]).unwrap();
            let before = fs::read(place.file()).unwrap();
            faulty::set_room(Some((room, errno)), true);
            let error = journal.append(FACT_TIME, &[fact("lost"), fact("lost too")]).unwrap_err();
            faulty::set_room(None, true);
            assert!(matches!(error, AppendError::Write { seq: 2, .. }), "{error}");
            assert_eq!(fs::read(place.file()).unwrap(), before, "room {room}");
            assert_eq!(journal.append(FACT_TIME, &[fact("after")]).unwrap(), 2..3);
            assert_eq!(place.texts(), ["before", "after"]);
        }
    }
}

#[test]
fn a_write_that_cannot_be_taken_back_ends_writing_until_the_journal_is_opened_again() {
    for room in 0..48 {
        let place = Place::new();
        let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
        journal.append(FACT_TIME, &[fact("before")]).unwrap();
        faulty::set_room(Some((room, Errno::NOSPC)), false);
        let error = journal.append(FACT_TIME, &[fact("lost")]).unwrap_err();
        faulty::set_room(None, true);
        assert!(matches!(error, AppendError::Lost { seq: 2, .. }), "{error}");
        let error = journal.append(FACT_TIME, &[fact("refused")]).unwrap_err();
        assert!(matches!(error, AppendError::Poisoned { .. }), "{error}");
        assert!(error.to_string().contains("until it could be read anew"), "{error}");
        drop(journal);
        let mut journal = Journal::open(&place.folder(), &id(), &key()).unwrap();
        assert_eq!(journal.cut().map_or(0, |cut| cut.bytes), room as u64);
        journal.append(FACT_TIME, &[fact("after")]).unwrap();
        assert_eq!(place.texts(), ["before", "after"]);
    }
}

#[test]
fn after_a_failed_sync_nothing_is_pretended() {
    let place = Place::new();
    let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
    journal.append(FACT_TIME, &[fact("before")]).unwrap();
    let mut reader = journal.reader();
    faulty::set_sync(Some(Errno::IO));
    let error = journal.append(FACT_TIME, &[fact("lost")]).unwrap_err();
    faulty::set_sync(None);
    assert_eq!(
        error.to_string(),
        format!(
            "fact 2 was not recorded, and what the disk has now is not known: cannot sync {}: the \
             disk reports an error; check it before anything else. The journal is read anew before \
             anything more is recorded",
            place.file().display()
        )
    );
    assert!(matches!(
        journal.append(FACT_TIME, &[fact("refused")]).unwrap_err(),
        AppendError::Poisoned { .. }
    ));
    assert_eq!(reader.read_all::<Fact>(1).unwrap().len(), 1);
    drop(journal);
    let journal = Journal::open(&place.folder(), &id(), &key()).unwrap();
    assert_eq!((journal.last(), journal.cut()), (1, None));
}

#[test]
fn a_journal_in_doubt_is_mended_once_the_disk_works_again() {
    let place = Place::new();
    let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
    journal.append(FACT_TIME, &[fact("before")]).unwrap();
    let mut reader = journal.reader();
    for room in [0, 10, 1000] {
        faulty::set_room(Some((room, Errno::ROFS)), false);
        faulty::set_sync(Some(Errno::IO));
        journal.append(FACT_TIME, &[fact("lost")]).unwrap_err();
        assert!(journal.mend(&id()).is_err(), "the disk still fails");
        let error = journal.append(FACT_TIME, &[fact("refused")]).unwrap_err();
        assert!(matches!(error, AppendError::Poisoned { .. }), "{error}");
        faulty::set_room(None, true);
        assert!(journal.mend(&id()).is_err(), "what is there cannot be synced");
        faulty::set_sync(None);
        let forgotten = faulty::forgotten();
        journal.mend(&id()).unwrap();
        assert_eq!(faulty::forgotten(), forgotten + 1, "it is read from the disk");
        assert_eq!(journal.append(FACT_TIME, &[fact("after")]).unwrap().start, journal.last());
    }
    assert_eq!(place.texts(), ["before", "after", "after", "after"]);
    assert_eq!(reader.read_all::<Fact>(1).unwrap().len(), 4, "a reader goes along");
}

#[test]
fn opening_fails_if_what_is_there_cannot_be_synced() {
    let place = Place::new();
    let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
    journal.append(FACT_TIME, &[fact("one")]).unwrap();
    drop(journal);
    faulty::set_sync(Some(Errno::IO));
    let opened = Journal::open(&place.folder(), &id(), &key());
    faulty::set_sync(None);
    assert!(matches!(opened.unwrap_err(), OpenError::File(_)));
}

#[test]
fn a_journal_that_cannot_be_begun_leaves_no_file() {
    for room in [0, 10, 60] {
        let place = Place::new();
        faulty::set_room(Some((room, Errno::NOSPC)), true);
        let error = Journal::create(&place.folder(), &id(), &key()).unwrap_err();
        faulty::set_room(None, true);
        assert!(error.to_string().contains("no room is left on the disk"), "{error}");
        assert!(!place.file().exists());
    }
}

/// A small disk of its own, if this user may mount one. Unmounted when it goes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=64k", "store-test"];
        let output = Command::new("mount").args(mount).arg(at).output();
        output.is_ok_and(|output| output.status.success()).then(|| Self(at.to_path_buf()))
    }

    fn remount(&self, how: &str) -> bool {
        let options = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn when_a_real_disk_is_full_the_journal_stays_whole_and_goes_on_once_there_is_room() {
    let place = Place::new();
    // Only root may mount; elsewhere the tests above show the same with a disk that fails as told.
    let Some(disk) = SmallDisk::mount(place.dir.path()) else {
        return coven_testkit::skip::skip("only root may mount a small disk");
    };
    let ballast = place.dir.path().join("ballast");
    fs::write(&ballast, [0; 16 * 1024]).unwrap();
    let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
    let long = fact(&"x".repeat(3000));
    let mut count = 0;
    let error = loop {
        match journal.append(FACT_TIME, &[&long]) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("the journal is as it was"), "{error}");
    assert_eq!(place.texts().len(), count);
    fs::remove_file(&ballast).unwrap();
    journal.append(FACT_TIME, &[&long]).unwrap();
    drop(journal);
    let journal = Journal::open(&place.folder(), &id(), &key()).unwrap();
    assert_eq!((journal.last(), journal.cut()), (count as u64 + 1, None));
    drop((journal, disk));
}

#[test]
fn on_a_read_only_file_system_a_journal_is_read_and_refused_for_writing_in_words() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.dir.path()) else {
        return coven_testkit::skip::skip("only root may mount a small disk");
    };
    let mut journal = Journal::create(&place.folder(), &id(), &key()).unwrap();
    journal.append(FACT_TIME, &[fact("one")]).unwrap();
    drop(journal);
    assert!(disk.remount("ro"));
    let error = Journal::open(&place.folder(), &id(), &key()).unwrap_err();
    assert!(error.to_string().contains("the file system is read-only; mount it"), "{error}");
    assert_eq!(place.texts(), ["one"]);
    drop(disk);
}
