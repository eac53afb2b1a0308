//! Positions over restarts, torn files, power cuts and full disks.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

const SMALL: LedgerLimits = LedgerLimits { stretch: 4, keep: 8 };

fn place(session: u128, seq: u64) -> LedgerPlace {
    let (session, time) = (Uuid::from_u128(session), Timestamp::from_millis(seq));
    LedgerPlace { session, seq, time, mark: LedgerMark::None }
}

fn open(folder: &TempDir) -> Ledger {
    Ledger::open_with(folder.path(), SMALL).unwrap()
}

fn newest(folder: &TempDir) -> PathBuf {
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "feed")).max().unwrap()
}

fn seqs(ledger: &Ledger, from: u64) -> Vec<(u64, u64)> {
    ledger.read(from, 100).into_iter().map(|(position, place)| (position, place.seq)).collect()
}

#[test]
fn positions_begin_at_one_and_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    assert_eq!((ledger.last(), ledger.oldest()), (0, 1));
    assert!(ledger.reaches(0) && !ledger.reaches(1));
    for seq in 1..=6 {
        assert_eq!(ledger.append(place(7, seq)), seq);
    }
    drop(ledger);
    let mut ledger = open(&folder);
    assert_eq!((ledger.last(), ledger.oldest()), (6, 1));
    assert_eq!(ledger.known(&Uuid::from_u128(7)), Some((6, LedgerMark::None)));
    assert_eq!(ledger.append(place(8, 1)), 7);
    assert_eq!(seqs(&ledger, 5), [(5, 5), (6, 6), (7, 1)]);
    assert_eq!(ledger.read(1, 2).len(), 2);
}

#[test]
fn marks_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    ledger.append(LedgerPlace { mark: LedgerMark::Over, ..place(1, 1) });
    ledger.append(LedgerPlace { mark: LedgerMark::Deleted, ..place(2, 5) });
    drop(ledger);
    let ledger = open(&folder);
    assert_eq!(ledger.known(&Uuid::from_u128(1)), Some((1, LedgerMark::Over)));
    assert_eq!(ledger.known(&Uuid::from_u128(2)), Some((5, LedgerMark::Deleted)));
}

#[test]
fn a_torn_record_is_cut_and_its_position_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    for seq in 1..=3 {
        ledger.append(place(7, seq));
    }
    drop(ledger);
    let file = newest(&folder);
    for cut in [39, 20, 1] {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 40 + cut]).unwrap();
        let mut ledger = open(&folder);
        assert_eq!(ledger.last(), 2, "{cut} bytes of the last record were left");
        assert_eq!(ledger.append(place(7, 3)), 3);
    }
    // A record that is whole and wrong ends the file too.
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 30;
    bytes[last] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_eq!(open(&folder).last(), 2);
}

#[test]
fn old_stretches_go_and_what_was_in_them_is_out_of_reach() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    ledger.append(place(1, 9));
    for seq in 1..=30 {
        ledger.append(place(7, seq));
    }
    let oldest = ledger.oldest();
    assert!(oldest > 1 && ledger.last() - oldest < 16, "{oldest}");
    assert!(!ledger.reaches(0) && !ledger.reaches(oldest - 2));
    assert!(ledger.reaches(oldest - 1) && ledger.reaches(oldest));
    assert!(!ledger.reaches(ledger.last() + 1));
    assert_eq!(
        ledger.known(&Uuid::from_u128(1)),
        Some((9, LedgerMark::None)),
        "it is still remembered"
    );
    drop(ledger);
    let ledger = open(&folder);
    assert_eq!(ledger.oldest(), oldest);
    assert_eq!(ledger.known(&Uuid::from_u128(1)), Some((9, LedgerMark::None)));
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert!(files < 8, "{files} files are left");
}

#[test]
fn after_another_start_of_the_system_positions_jump_and_none_is_given_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    for seq in 1..=6 {
        ledger.append(place(7, seq));
    }
    drop(ledger);
    // The power went: the system starts anew, and the end of the newest file never came to disk.
    let head = folder.path().join("head");
    let text = fs::read_to_string(&head).unwrap();
    let boot = text.lines().nth(1).unwrap().to_owned();
    fs::write(&head, text.replace(&boot, &"0".repeat(36))).unwrap();
    let file = newest(&folder);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 40]).unwrap();
    let ledger = open(&folder);
    assert_eq!(ledger.last(), 1_000_005);
    assert!(ledger.reaches(5), "what is there is known");
    assert!(!ledger.reaches(6), "it was told, and what it was is lost");
    drop(ledger);
    let mut ledger = open(&folder);
    assert_eq!(ledger.append(place(7, 6)), 1_000_006, "one jump for one power cut");
    assert_eq!(seqs(&ledger, 5), [(5, 5), (1_000_006, 6)]);
    assert!(!ledger.reaches(6) && !ledger.reaches(1_000_005) && ledger.reaches(1_000_006));
}

#[test]
fn what_the_disk_does_not_take_is_written_later_and_until_then_the_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(&folder);
    ledger.append(place(7, 1));
    let good = ledger.stretches[0].file.take();
    // A file that cannot be written to stands for a full disk.
    ledger.stretches[0].file = Some(Arc::new(File::open(newest(&folder)).unwrap()));
    assert_eq!(ledger.append(place(7, 2)), 2, "positions are given all the same");
    assert!(fs::read_to_string(folder.path().join("head")).unwrap().contains("dirty"));
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    assert_eq!(open(&copy).last(), 1_000_001, "killed now, position 2 is not given again");
    ledger.stretches[0].file = good;
    assert_eq!(ledger.append(place(7, 3)), 3);
    assert!(fs::read_to_string(folder.path().join("head")).unwrap().contains("clean"));
    drop(ledger);
    assert_eq!(seqs(&open(&folder), 1), [(1, 1), (2, 2), (3, 3)]);
}

#[test]
fn a_folder_has_one_process_at_a_time_and_a_newer_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let error = Ledger::open(folder.path()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    drop(ledger);
    fs::write(folder.path().join("head"), "coven feed 2\n").unwrap();
    let error = Ledger::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("newer version"), "{error}");
}
