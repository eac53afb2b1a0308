//! What a writer does when the disk is full, at every byte, and for real where it may mount one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use coven_testkit::folders::temporary;

use super::disk::full;
use super::*;
use crate::error::TapeDamage;
use crate::reader::{ReadAt, TapeReader, verify};
use crate::record::TapeEvent;

/// The byte at an offset: the same wherever it is asked for.
fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Writes the next bytes; how many of them were lost.
fn write(tape: &mut TapeWriter, len: u64) -> u64 {
    let bytes: Vec<u8> = (tape.end()..tape.end() + len).map(byte).collect();
    match tape.output(tape.end(), TapeStream::Out, &bytes) {
        Ok(()) => 0,
        Err(lost) => lost.bytes,
    }
}

/// The lengths of all gaps, after reading everything and finding the right bytes between them.
fn gaps(dir: &Path, end: u64) -> Vec<(u64, u64)> {
    let mut reader = TapeReader::open(dir).unwrap();
    assert_eq!(reader.range(), 0..end);
    let (mut offset, mut gaps, mut buffer) = (0, Vec::new(), [0; 100]);
    loop {
        match reader.read_at(offset, &mut buffer).unwrap() {
            ReadAt::Data { len } => {
                for got in &buffer[..len] {
                    assert_eq!(*got, byte(offset), "at {offset}");
                    offset += 1;
                }
            }
            ReadAt::Gap { to } => {
                gaps.push((offset, to));
                offset = to;
            }
            ReadAt::End => break,
        }
    }
    assert_eq!(offset, end);
    gaps
}

const SMALL: Options = Options { segment_size: 160, keep: u64::MAX };

#[test]
fn a_disk_that_is_full_after_any_byte_leaves_a_whole_tape_that_goes_on() {
    for trims in [true, false] {
        for room in 0..600 {
            let dir = temporary().unwrap();
            let mut tape = TapeWriter::create(dir.path(), SMALL).unwrap();
            assert_eq!(write(&mut tape, 10), 0);
            full::set(room, trims);
            let (mut lost, mut events) = (0, 0);
            for len in [7, 40, 1, 60] {
                lost += write(&mut tape, len);
                events += u64::from(tape.mark(0, "here").is_err());
                events += u64::from(tape.resize(0, 80, 24).is_err());
            }
            full::set(usize::MAX, true);
            assert_eq!(write(&mut tape, 5), 0, "there is room again");

            let gaps = gaps(dir.path(), 10 + 108 + 5);
            let declared: u64 = gaps.iter().map(|(from, to)| to - from).sum();
            assert_eq!(declared, lost, "room {room}");
            let reader = TapeReader::open(dir.path()).unwrap();
            let all = reader.records(0).map(|record| match record.unwrap().event {
                TapeEvent::Gap(gap) => u64::from(gap.events),
                _ => 0,
            });
            assert_eq!(all.sum::<u64>(), events, "room {room}");
            let mut problems = verify(dir.path()).unwrap().problems;
            problems.retain(|p| trims || !matches!(p.damage, TapeDamage::Trailing { .. }));
            assert_eq!(problems, [], "room {room}");
        }
    }
}

/// The writer after one that has ended. A program that another test is just starting has a share in
/// the lock until it runs.
fn next_writer(dir: &Path) -> TapeWriter {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        match TapeWriter::append_to(dir, SMALL) {
            Err(Error::Locked { .. }) if Instant::now() < deadline => std::thread::yield_now(),
            opened => return opened.unwrap().0,
        }
    }
}

#[test]
fn a_writer_that_ends_while_the_disk_is_full_can_be_followed_by_another() {
    for trims in [true, false] {
        for room in 0..400 {
            let dir = temporary().unwrap();
            let mut tape = TapeWriter::create(dir.path(), SMALL).unwrap();
            full::set(room, trims);
            let mut whole = 0;
            for len in [20, 50, 80, 100] {
                if write(&mut tape, len) > 0 {
                    break;
                }
                whole += len;
            }
            drop(tape);
            full::set(usize::MAX, true);
            let mut tape = next_writer(dir.path());
            assert_eq!(tape.end(), whole, "room {room}");
            assert_eq!(write(&mut tape, 300), 0);
            assert_eq!(gaps(dir.path(), whole + 300), []);
            assert_eq!(verify(dir.path()).unwrap().problems, []);
        }
    }
}

#[test]
fn a_full_disk_does_not_keep_old_segments_from_being_dropped() {
    let dir = temporary().unwrap();
    let options = Options { segment_size: 200, keep: 600 };
    let mut tape = TapeWriter::create(dir.path(), options).unwrap();
    while tape.older.len() < 2 || tape.newest.size() < 150 {
        assert_eq!(write(&mut tape, 20), 0);
    }
    // Too little for a header, which stays so although there would be room after dropping.
    full::set(20, true);
    let end = tape.end();
    assert_eq!(write(&mut tape, 40), 40);
    assert!(TapeReader::open(dir.path()).unwrap().range().start > 0);
    full::set(usize::MAX, true);
    assert_eq!(write(&mut tape, 40), 0);
    assert_eq!(TapeReader::open(dir.path()).unwrap().range().end, end + 80);
    assert_eq!(verify(dir.path()).unwrap().problems, []);
}

#[test]
fn a_loss_that_nothing_follows_is_declared_by_sync() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), SMALL).unwrap();
    assert_eq!(write(&mut tape, 10), 0);
    full::set(3, true);
    let lost = tape.mark(1, "lost").unwrap_err();
    assert_eq!(lost.to_string(), "a record at offset 10 is not on the tape");
    let lost = tape.output(1, TapeStream::Out, &[0; 10]).unwrap_err();
    assert_eq!(lost.to_string(), "output of 10 bytes at offset 10 is not on the tape");
    assert!(tape.sync().is_err());
    full::set(usize::MAX, true);
    tape.sync().unwrap();
    assert_eq!(gaps(dir.path(), 20), [(10, 20)]);
}

/// A small disk of its own, if this user may mount one. Unmounted when it goes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=64k", "tape-test"];
        let output = Command::new("mount").args(mount).arg(at).output();
        output.is_ok_and(|output| output.status.success()).then(|| Self(at.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        if !std::thread::panicking() {
            assert!(unmounted.is_ok_and(|status| status.success()), "{}", self.0.display());
        }
    }
}

#[test]
fn when_a_real_disk_is_full_the_loss_is_declared_and_the_tape_recovers() {
    let dir = temporary().unwrap();
    let disk = SmallDisk::mount(dir.path());
    let ballast = dir.path().join("ballast");
    if disk.is_some() {
        fs::write(&ballast, [0; 16 * 1024]).unwrap();
    }
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    if disk.is_none() {
        full::set(40_000, true);
    }
    let mut kept = 0;
    while write(&mut tape, 4096) == 0 {
        kept += 4096;
    }
    assert!((16_384..65_536).contains(&kept), "{kept}");
    for _ in 0..10 {
        assert_eq!(write(&mut tape, 4096), 4096);
    }
    assert_eq!(gaps(dir.path(), kept), [], "what is there can be read");
    if disk.is_some() {
        fs::remove_file(&ballast).unwrap();
    } else {
        full::set(usize::MAX, true);
    }
    assert_eq!(write(&mut tape, 4096), 0);
    let lost = kept + 11 * 4096;
    assert_eq!(tape.end(), lost + 4096);
    assert_eq!(gaps(dir.path(), lost + 4096), [(kept, lost)]);
    let reader = TapeReader::open(dir.path()).unwrap();
    let reasons: Vec<_> = reader.records(kept).map(|record| record.unwrap().event).collect();
    let gap = TapeGap { len: lost - kept, events: 0, reason: GapReason::Full };
    assert_eq!(reasons[0], TapeEvent::Gap(gap));
    assert_eq!(verify(dir.path()).unwrap().problems, []);
    drop((tape, reader));
    drop(disk);
}
