//! A journal in a folder that other programs can write to: what they do to it is seen.

use std::fs;
use std::sync::Arc;

use coven_store::journal::{
    DamagedJournal, JournalDamage, OpenError, ReadError, SignedExtent, verify_signatures,
};
use coven_store::session::{Milestone, ReadOnlySession};
use coven_store::{Journal, JournalReader, SealKey, Session};

use super::{Base, FACT_TIME, Fact, Place, facts, id, key, said};

/// What a program that may write the folder, and knows the format and no key, can do.
fn framed(json: &str) -> String {
    format!("{json}\t{:08x}", crc32fast::hash(json.as_bytes()))
}

fn lines(place: &Place) -> Vec<String> {
    fs::read_to_string(place.file()).unwrap().lines().map(str::to_owned).collect()
}

fn write(place: &Place, lines: &[String]) {
    fs::write(place.file(), lines.join("\n") + "\n").unwrap();
}

fn four() -> Place {
    Place::with(&[said("one"), said("two"), said("three"), said("four")])
}

fn damage(place: &Place) -> DamagedJournal {
    match place.open() {
        Err(OpenError::Damaged(damaged)) => damaged,
        other => panic!("{other:?}"),
    }
}

/// A line with another fact and the checksum that fits it, with the seal that was there.
fn forged(line: &str, from: &str, to: &str) -> String {
    let (json, trailer) = line.split_once('\t').unwrap();
    let json = json.replace(from, to);
    format!("{}{}", framed(&json), &trailer[8..])
}

#[test]
fn a_changed_line_is_seen_although_its_checksum_fits() {
    for at in 1..=4 {
        let place = four();
        let mut text = lines(&place);
        text[at] = forged(&text[at], "said", "nothing");
        write(&place, &text);
        let damaged = damage(&place);
        assert_eq!((damaged.line, &damaged.damage), (at as u64 + 1, &JournalDamage::Seal));
        assert_eq!(damaged.readable, at as u64 - 1);
        assert!(damaged.to_string().contains("changed by another program"), "{damaged}");
        assert_eq!(lines(&place), text, "nothing was changed");
    }
}

#[test]
fn a_changed_first_line_is_seen() {
    let place = four();
    let mut text = lines(&place);
    text[0] = forged(&text[0], "\"coven\"", "\"x\":1,\"coven\"");
    write(&place, &text);
    assert_eq!(damage(&place).damage, JournalDamage::Seal);
}

#[test]
fn a_line_without_a_seal_is_seen() {
    let place = four();
    let mut text = lines(&place);
    text.push(framed(r#"{"v":2,"seq":5,"time":1,"type":"said","data":"allow"}"#));
    write(&place, &text);
    assert_eq!(damage(&place).damage, JournalDamage::Unsealed);
}

#[test]
fn lines_that_are_left_out_moved_or_from_another_session_are_seen() {
    let (ours, other) = (lines(&four()), lines(&four()));
    let renumbered = forged(&ours[3], "\"seq\":3", "\"seq\":2");
    let with = |lines: &[&String]| {
        let place = Place::new();
        write(&place, &lines.iter().map(|line| (*line).clone()).collect::<Vec<_>>());
        damage(&place).damage
    };
    assert_eq!(with(&[&ours[0], &ours[1], &renumbered]), JournalDamage::Seal);
    // The same key and the same numbers, and yet not the same journal.
    let place = Place::new();
    let mut journal = Journal::create(&place.folder(), &id(2), &key()).unwrap();
    journal.append(FACT_TIME, &[said("one"), said("two")]).unwrap();
    drop(journal);
    let of_another = lines(&place);
    assert_eq!(with(&[&ours[0], &of_another[1]]), JournalDamage::Seal);
    assert_eq!(ours, other, "the seal depends on nothing but the session, the lines and the key");
}

#[test]
fn a_reader_with_the_key_sees_a_change_and_one_without_reads_on() {
    let place = four();
    let mut text = lines(&place);
    text[2] = forged(&text[2], "two", "2");
    write(&place, &text);
    let open = || JournalReader::open(&place.folder(), &id(1)).unwrap();
    let read: Vec<Result<_, ReadError>> =
        open().sealed_by(&key()).read_from::<Fact>(1).unwrap().collect();
    assert!(matches!(
        read.as_slice(),
        [
            Ok(_),
            Err(ReadError::Damaged(DamagedJournal { line: 3, damage: JournalDamage::Seal, .. }))
        ]
    ));
    assert_eq!(facts(&mut open()).len(), 4);
    assert!(open().names_key(&key()));
}

#[test]
fn a_reader_that_follows_its_writer_sees_a_change_before_where_it_reads() {
    let place = Place::new();
    let mut journal = place.create();
    journal.append(FACT_TIME, &[said("one"), said("two")]).unwrap();
    let mut reader = journal.reader();
    assert_eq!(facts(&mut reader).len(), 2);
    let text = fs::read_to_string(place.file()).unwrap();
    fs::write(place.file(), text.replace("\"two\"", "\"2wo\"")).unwrap();
    assert!(reader.read_all::<Fact>(1).is_err());
}

#[test]
fn the_key_of_another_user_opens_nothing() {
    let place = four();
    let other = Arc::new(SealKey::from_secret(&[8; 32]));
    let opened = Journal::open(&place.folder(), &id(1), &other);
    assert!(matches!(opened, Err(OpenError::OtherKey { .. })));
    // Nor if the first line says that it was this key.
    let mut text = lines(&place);
    text[0] = forged(&text[0], &key().public().to_string(), &other.public().to_string());
    write(&place, &text);
    let opened = Journal::open(&place.folder(), &id(1), &other);
    let Err(OpenError::Damaged(damaged)) = opened else { panic!("{opened:?}") };
    assert_eq!((damaged.line, damaged.damage), (1, JournalDamage::Seal));
}

#[test]
fn a_journal_from_before_there_were_seals_is_read_and_not_written() {
    let place = Place::new();
    let header = format!(r#"{{"coven":"journal","v":1,"session":"{}"}}"#, id(1));
    let record = r#"{"v":1,"seq":1,"time":5,"type":"said","data":"hi"}"#;
    let text = [framed(&header), framed(record)];
    write(&place, &text);
    assert!(matches!(place.open(), Err(OpenError::Unsealed { .. })));
    assert_eq!(place.facts(), [said("hi")]);
    let read = JournalReader::open(&place.folder(), &id(1)).unwrap().sealed_by(&key());
    assert!(read.clone().read_all::<Fact>(1).is_err() && !read.names_key(&key()));
    assert_eq!(lines(&place), text);
}

/// The format is a contract. This journal was written when seals were new, and must open for ever.
#[test]
fn the_first_sealed_journal_still_opens() {
    let place = Place::new();
    fs::write(place.file(), include_str!("seals/first.jsonl")).unwrap();
    let journal = place.open().unwrap();
    assert_eq!(facts(&mut journal.reader()), [said("one"), Fact::Counted(2)]);
    let extent = verify_signatures(&place.folder(), &id(1), &key().public()).unwrap();
    assert_eq!(extent, SignedExtent { facts: 2, signed: 2, signatures: 1 });
}

/// A session with facts up to the end of a job and one more, closed.
fn with_a_job(base: &Base) {
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    session.append(FACT_TIME, &[said("begun")]).unwrap();
    let ended = session.write(FACT_TIME, &[said("job"), said("ended")], Milestone::Job).unwrap();
    session.sync(ended).unwrap();
    session.append(FACT_TIME, &[said("more")]).unwrap();
}

fn cut_to(base: &Base, kept: usize) {
    let path = base.dir().session_path(&id(1)).join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(kept).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
}

#[test]
fn a_journal_that_was_cut_behind_any_line_is_damaged_and_says_so() {
    let base = Base::new();
    with_a_job(&base);
    let open = || Session::open(&base.dir(), &base.authority(), &id(1));
    assert_eq!(open().unwrap().last(), 4);
    for kept in [4, 3, 2, 1] {
        cut_to(&base, kept);
        let last = kept as u64 - 1;
        let Err(OpenError::Damaged(damaged)) = open() else { panic!() };
        assert_eq!(damaged.damage, JournalDamage::Shorter { last, sealed: 4 });
        let told = damaged.to_string();
        let ends = format!("ends after fact {last}, but fact 4 was recorded");
        assert!(told.contains(&ends), "{told}");
        // A reader says the same.
        let look = ReadOnlySession::open(&base.dir(), &base.authority(), &id(1)).unwrap();
        let read = look.reader().unwrap().read_all::<Fact>(1);
        assert!(matches!(read, Err(ReadError::Damaged(found)) if found == damaged));
    }
}

#[test]
fn a_journal_that_is_another_with_the_same_seal_is_damaged() {
    let base = Base::new();
    with_a_job(&base);
    let path = base.dir().session_path(&id(1));
    fs::rename(path.join("journal.jsonl"), base.path().join("ours")).unwrap();
    // Another journal of the same session by the same key, as an old copy would be one that went on.
    let folder = coven_store::OpenFolder::open(&path).unwrap();
    let mut other = Journal::create(&folder, &id(1), &key()).unwrap();
    other.append(FACT_TIME, &[said("a"), said("b"), said("c"), said("d")]).unwrap();
    drop(other);
    let opened = Session::open(&base.dir(), &base.authority(), &id(1));
    let Err(OpenError::Damaged(damaged)) = opened else { panic!() };
    assert_eq!((damaged.line, damaged.damage), (5, JournalDamage::Seal));
}

#[test]
fn what_was_signed_can_be_checked_with_the_public_key_alone() {
    let base = Base::new();
    with_a_job(&base);
    let folder = coven_store::OpenFolder::open(&base.dir().session_path(&id(1))).unwrap();
    let verify = |key: &SealKey| verify_signatures(&folder, &id(1), &key.public());
    assert_eq!(verify(&key()).unwrap(), SignedExtent { facts: 4, signed: 3, signatures: 1 });
    assert!(verify(&SealKey::from_secret(&[8; 32])).is_err());
    let path = folder.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let changed: Vec<String> = text.lines().map(|line| forged(line, "begun", "began")).collect();
    fs::write(&path, changed.join("\n") + "\n").unwrap();
    let Err(ReadError::Damaged(damaged)) = verify(&key()) else { panic!() };
    assert_eq!((damaged.line, damaged.damage), (4, JournalDamage::Signature));
}

#[test]
fn the_end_of_a_run_is_always_signed_and_jobs_not_all_of_them() {
    let base = Base::new();
    let mut session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    for milestone in [Milestone::Job, Milestone::Job, Milestone::Run] {
        let written = session.write(FACT_TIME, &[said("x")], milestone).unwrap();
        session.sync(written).unwrap();
    }
    let folder = coven_store::OpenFolder::open(session.path()).unwrap();
    let extent = verify_signatures(&folder, &id(1), &key().public()).unwrap();
    assert_eq!(extent, SignedExtent { facts: 3, signed: 3, signatures: extent.signatures });
    assert!((2..=3).contains(&extent.signatures), "the second may be too soon");
}

#[test]
fn a_foreign_session_has_no_jobs_of_ours() {
    use coven_model::event::AttemptPlace;
    use coven_model::{AttemptId, TaskId};
    let base = Base::new();
    let session = Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let attempt = AttemptId { task: TaskId::new("build").unwrap(), attempt: 1 };
    session.make_attempt(&attempt).unwrap();
    let own = ReadOnlySession::open(&base.dir(), &base.authority(), &id(1)).unwrap();
    assert!(own.attempt(AttemptPlace::Jobs, &attempt).unwrap().is_some());
    let foreign = ReadOnlySession::open_foreign(&base.dir(), &id(1)).unwrap();
    assert!(foreign.attempt(AttemptPlace::Jobs, &attempt).unwrap().is_none());
    assert!(foreign.attempt_path(AttemptPlace::Jobs, &attempt).is_none());
}
