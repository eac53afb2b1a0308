//! A journal that nothing happens to.

use std::fs;
use std::io::Write;

use coven_store::JournalReader;
use coven_store::journal::{AppendError, CreateError, OpenError, ReadError};
use serde_json::{Value, json};

use super::{FACT_TIME, Fact, Place, facts, id, key, said};

#[test]
fn a_journal_is_lines_that_a_person_can_read() {
    let place = Place::with(&[said("hello"), Fact::Counted(7), Fact::Nothing]);
    let text = fs::read_to_string(place.file()).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split_once('\t').unwrap().0).collect();
    assert_eq!(
        lines,
        [
            r#"{"coven":"journal","v":2,"session":"01890a5d-ac96-774b-bcce-000000000001","key":"5adb19cfa13c162958e2841be86bde6d5df0ebc7ac05960760281cf63a31b614"}"#,
            r#"{"v":2,"seq":1,"time":1700000000000,"type":"said","data":"hello"}"#,
            r#"{"v":2,"seq":2,"time":1700000000000,"type":"counted","data":7}"#,
            r#"{"v":2,"seq":3,"time":1700000000000,"type":"nothing"}"#,
        ]
    );
}

#[test]
fn what_was_appended_is_there_after_opening_again_and_numbers_go_on() {
    let place = Place::with(&[said("one"), said("tab\tnewline\nnul\0 \u{1b}[31m é 漢")]);
    let mut journal = place.open().unwrap();
    assert_eq!((journal.last(), journal.cut()), (2, None));
    assert_eq!(journal.append(FACT_TIME, &[said("three"), Fact::Counted(4)]).unwrap(), 3..5);
    assert_eq!(journal.append::<Fact>(FACT_TIME, &[]).unwrap(), 5..5);
    assert_eq!(journal.bytes(), fs::metadata(place.file()).unwrap().len());
    drop(journal);
    let all = place.facts();
    assert_eq!(all[1], said("tab\tnewline\nnul\0 \u{1b}[31m é 漢"));
    assert_eq!(all[2..], [said("three"), Fact::Counted(4)]);
}

#[test]
fn a_reader_finds_any_fact_and_follows_a_journal_that_grows() {
    let place = Place::new();
    let mut journal = place.create();
    let (mut inside, mut beside) =
        (journal.reader(), JournalReader::open(&place.folder(), &id(1)).unwrap());
    assert_eq!(facts(&mut inside), []);
    assert_eq!(facts(&mut beside), []);
    let text = "x".repeat(500);
    for batch in 0..200_u64 {
        let numbers: Vec<Fact> = (0..10).map(|n| Fact::Counted(batch * 10 + n + 1)).collect();
        journal.append(FACT_TIME, &numbers[..9]).unwrap();
        journal.append(FACT_TIME, &[said(&text)]).unwrap();
        for reader in [&mut inside, &mut beside] {
            let next = batch * 10 + 1;
            let new = reader.read_all::<Fact>(next).unwrap();
            assert_eq!(new.len(), 10);
            assert_eq!((new[0].seq, &new[0].fact), (next, &Fact::Counted(next)));
        }
    }
    for reader in [&mut inside, &mut beside] {
        for from in [1, 2, 777, 1203, 1999, 2000, 2001, 5000] {
            let found = reader.read_all::<Fact>(from).unwrap();
            assert_eq!(found.len() as u64, 2001_u64.saturating_sub(from), "from {from}");
            assert!(found.iter().zip(from..).all(|(record, seq)| record.seq == seq));
        }
        assert_eq!(reader.read_all::<Value>(0).unwrap()[0].fact["data"], json!(1));
    }
}

#[test]
fn a_reader_waits_for_the_rest_of_a_line() {
    let place = Place::with(&[said("one")]);
    let whole = fs::read(Place::with(&[said("one"), said("two")]).file()).unwrap();
    let known = fs::read(place.file()).unwrap().len();
    let mut reader = JournalReader::open(&place.folder(), &id(1)).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(place.file()).unwrap();
    for byte in &whole[known..whole.len() - 1] {
        file.write_all(&[*byte]).unwrap();
        assert_eq!(reader.read_all::<Fact>(2).unwrap(), []);
    }
    file.write_all(b"\n").unwrap();
    assert_eq!(reader.read_all::<Fact>(2).unwrap()[0].fact, said("two"));
    file.set_len(known as u64).unwrap();
    assert!(matches!(reader.read_all::<Fact>(2), Err(ReadError::Shrunk { .. })));
}

#[test]
fn lines_of_many_megabytes_are_kept_and_longer_ones_refused() {
    let place = Place::new();
    let mut journal = place.create();
    let long = said(&"0123456789 and so on, without end ".repeat(600_000));
    journal.append(FACT_TIME, &[said("before"), long.clone(), said("after")]).unwrap();
    let endless = said(&"x".repeat(68_000_000));
    let error = journal.append(FACT_TIME, &[endless]).unwrap_err();
    assert!(matches!(error, AppendError::TooLong { seq: 4, .. }), "{error}");
    drop(journal);
    let mut journal = place.open().unwrap();
    journal.append(FACT_TIME, &[said("last")]).unwrap();
    let mut reader = journal.reader();
    assert_eq!(reader.read_all::<Fact>(3).unwrap()[0].fact, said("after"));
    assert!(facts(&mut reader) == [said("before"), long, said("after"), said("last")]);
}

#[test]
fn a_journal_has_one_writer() {
    let place = Place::new();
    let first = place.create();
    let error = place.open().unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    let reader = first.reader();
    drop(first);
    place.open().unwrap();
    drop(reader);
}

#[test]
fn a_journal_is_created_once_and_opened_only_if_it_is_there() {
    let place = Place::with(&[said("one")]);
    let error = coven_store::Journal::create(&place.folder(), &id(1), &key()).unwrap_err();
    assert!(matches!(error, CreateError::Exists { .. }), "{error}");
    assert_eq!(place.facts(), [said("one")]);
    let error = Place::new().open().unwrap_err();
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
}

#[test]
fn the_journal_of_another_session_is_refused() {
    let place = Place::with(&[said("one")]);
    let error = coven_store::Journal::open(&place.folder(), &id(2), &key()).unwrap_err();
    assert!(error.to_string().contains("it was moved or copied here"), "{error}");
    assert!(JournalReader::open(&place.folder(), &id(2)).is_err());
}

#[test]
fn facts_that_could_not_be_read_again_are_refused_and_leave_no_trace() {
    let place = Place::with(&[said("one")]);
    let mut journal = place.open().unwrap();
    for bad in [json!(7), json!(["a"]), json!({"seq": 1}), json!({"v": 3}), json!({"time": "x"})] {
        let error = journal.append(FACT_TIME, &[json!({"type": "nothing"}), bad]).unwrap_err();
        assert!(matches!(error, AppendError::Fact { seq: 3, .. }), "{error}");
    }
    assert_eq!(journal.last(), 1);
    drop(journal);
    assert_eq!(place.facts(), [said("one")]);
}

#[test]
fn a_fact_of_an_unknown_type_says_which_it_is() {
    let place = Place::new();
    let mut journal = place.create();
    journal
        .append(FACT_TIME, &[json!({"type": "said", "data": "a"}), json!({"type": "x"})])
        .unwrap();
    let mut reader = journal.reader();
    let mut records = reader.read_from::<Fact>(1).unwrap();
    assert_eq!(records.next().unwrap().unwrap().fact, said("a"));
    let error = records.next().unwrap().unwrap_err();
    assert!(matches!(error, ReadError::Unknown { seq: 2, .. }), "{error}");
    assert!(records.next().is_none());
}
