//! A journal that was cut, changed or written by another program.

use std::fs;

use coven_store::journal::{CutTail, JournalDamage, OpenError, ReadError};
use coven_store::{Journal, JournalReader};

use super::{FACT_TIME, Fact, Place, id, key, said};

fn three() -> Place {
    Place::with(&[said("one"), Fact::Counted(2), said("three is the last")])
}

/// Where each line begins, and the end.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect()
}

/// A line with the right checksum.
fn framed(json: &str) -> String {
    format!("{json}\t{:08x}\n", crc32fast::hash(json.as_bytes()))
}

#[test]
fn a_tail_cut_at_any_byte_is_cut_to_the_last_whole_fact_and_told() {
    let whole = fs::read(three().file()).unwrap();
    let starts = line_starts(&whole);
    for len in starts[1]..whole.len() {
        let place = Place::new();
        fs::write(place.file(), &whole[..len]).unwrap();
        let kept = *starts.iter().filter(|start| **start <= len).max().unwrap();
        let facts = starts.iter().filter(|start| **start <= len).count() - 2;

        let mut beside = JournalReader::open(&place.folder(), &id(1)).unwrap();
        assert_eq!(beside.read_all::<Fact>(1).unwrap().len(), facts, "{len} bytes");
        let mut journal = place.open().unwrap();
        let cut = CutTail { offset: kept as u64, bytes: (len - kept) as u64 };
        assert_eq!(journal.cut(), (len > kept).then_some(cut), "{len} bytes");
        assert_eq!(fs::read(place.file()).unwrap(), whole[..kept]);
        assert_eq!(journal.append(FACT_TIME, &[said("next")]).unwrap().start, facts as u64 + 1);
        drop(journal);
        assert_eq!(place.open().unwrap().cut(), None);
        assert_eq!(place.facts().len(), facts + 1);
    }
}

#[test]
fn a_tail_of_nul_bytes_is_what_a_power_cut_leaves() {
    let whole = fs::read(three().file()).unwrap();
    let last = line_starts(&whole)[3];
    for (from, nuls, newline) in [
        (whole.len(), 1, false),
        (whole.len(), 100_000, false),
        (whole.len(), 10, true),
        (last, 40, false),
        (last + 5, 40, true),
    ] {
        let place = Place::new();
        let mut bytes = whole[..from].to_vec();
        bytes.extend(vec![0; nuls]);
        bytes.extend(newline.then_some(b'\n'));
        fs::write(place.file(), &bytes).unwrap();
        let kept = if from == whole.len() { 3 } else { 2 };
        let mut beside = JournalReader::open(&place.folder(), &id(1)).unwrap();
        assert_eq!(beside.read_all::<Fact>(1).unwrap().len(), kept);
        let journal = place.open().unwrap();
        assert_eq!(journal.last(), kept as u64);
        assert!(journal.cut().is_some());
    }
}

#[test]
fn a_bit_that_flips_anywhere_is_refused_with_the_place_or_makes_the_last_line_torn() {
    let whole = fs::read(three().file()).unwrap();
    let starts = line_starts(&whole);
    let mut torn = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let place = Place::new();
            fs::write(place.file(), &bytes).unwrap();
            match place.open() {
                Err(OpenError::Damaged(damaged)) => {
                    let line = starts.iter().filter(|start| **start <= at).count();
                    assert_eq!(damaged.line, line as u64, "byte {at}, bit {bit}");
                    assert_eq!(damaged.offset, starts[line - 1] as u64);
                    assert_eq!(damaged.readable, (line as u64).saturating_sub(2));
                    assert_eq!(fs::read(place.file()).unwrap(), bytes, "it was changed");
                }
                Ok(journal) => {
                    assert!(at >= starts[3], "byte {at}, bit {bit} was not noticed");
                    assert_eq!(journal.last(), 2);
                    assert!(journal.cut().is_some());
                    torn += 1;
                }
                Err(error) => panic!("byte {at}, bit {bit}: {error}"),
            }
        }
    }
    // The newline at the end, whichever bit of it, and a letter that becomes a NUL.
    assert!(torn < 16, "{torn}");
}

#[test]
fn the_facts_before_the_damage_can_be_read_and_the_message_says_what_to_do() {
    let place = three();
    let mut bytes = fs::read(place.file()).unwrap();
    let starts = line_starts(&bytes);
    bytes[starts[2] + 12] ^= 1;
    fs::write(place.file(), &bytes).unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} is damaged in line 3, at byte {}: its checksum does not fit. The 1 fact before it \
             is whole and can still be read (`coven audit`); nothing was changed. Put back a copy \
             of the file to go on with this session",
            place.file().display(),
            starts[2]
        )
    );
    let mut reader = JournalReader::open(&place.folder(), &id(1)).unwrap();
    let records: Vec<_> = reader.read_from::<Fact>(1).unwrap().collect();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].as_ref().unwrap().fact, said("one"));
    assert!(matches!(records[1], Err(ReadError::Damaged(_))));
}

#[test]
fn lines_that_are_lost_doubled_or_swapped_are_noticed() {
    let whole = fs::read_to_string(three().file()).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for (order, expected, found) in
        [(&[0, 2, 3][..], 1, 2), (&[0, 1, 1, 2, 3], 2, 1), (&[0, 1, 3, 2], 2, 3)]
    {
        let place = Place::new();
        fs::write(place.file(), order.iter().map(|line| lines[*line]).collect::<String>()).unwrap();
        let Err(OpenError::Damaged(damaged)) = place.open() else { panic!("{order:?}") };
        assert_eq!(damaged.damage, JournalDamage::Order { expected, found });
    }
}

#[test]
fn what_is_no_journal_is_refused_as_a_whole() {
    for text in ["", "{", "hello\n", "{}\t4e57c2ac\n", &framed("{}"), "\0\0\0\0", &framed("[]")] {
        let place = Place::new();
        fs::write(place.file(), text).unwrap();
        let Err(OpenError::Damaged(damaged)) = place.open() else { panic!("{text:?}") };
        assert_eq!((damaged.line, damaged.damage), (1, JournalDamage::Header));
        assert!(JournalReader::open(&place.folder(), &id(1)).is_err());
    }
}

#[test]
fn a_whole_line_that_is_no_record_is_damage_even_as_the_last() {
    for json in ["{}", "[]", "", "{\"v\":1,\"seq\":\"4\",\"time\":0}", "x"] {
        let place = three();
        let text = fs::read_to_string(place.file()).unwrap() + &framed(json);
        fs::write(place.file(), text).unwrap();
        let Err(OpenError::Damaged(damaged)) = place.open() else { panic!("{json}") };
        assert!(matches!(damaged.damage, JournalDamage::Record(_)), "{json}");
    }
}

#[test]
fn what_a_newer_version_wrote_is_read_and_not_written() {
    let header = format!(r#"{{"coven":"journal","v":3,"session":"{}","new":true}}"#, id(1));
    let record = |v: u32| format!(r#"{{"v":{v},"seq":1,"time":5,"type":"said","data":"hi"}}"#);
    for record in [record(1), record(2), record(3)] {
        let place = Place::new();
        let text = framed(&header) + &framed(&record);
        fs::write(place.file(), &text).unwrap();
        let error = Journal::open(&place.folder(), &id(1), &key()).unwrap_err();
        assert!(error.to_string().contains("has version 3, newer than"), "{error}");
        assert_eq!(place.facts(), [said("hi")]);
        assert_eq!(fs::read_to_string(place.file()).unwrap(), text);
    }
}
