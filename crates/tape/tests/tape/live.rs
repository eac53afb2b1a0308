//! Readers while the writer writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use coven_tape::{Error, Options, ReadAt, TapeEvent, TapeReader, TapeStream, TapeWriter};
use coven_testkit::folders::temporary;
use coven_testkit::random::Random;

use crate::records;

/// The byte at an offset: the same wherever it is asked for.
fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn write(tape: &mut TapeWriter, random: &mut Random, total: u64) {
    while tape.end() < total {
        let len = if random.below(50) == 0 { 5000 } else { random.below(200) as u64 };
        let bytes: Vec<u8> = (tape.end()..tape.end() + len).map(byte).collect();
        tape.output(tape.end(), TapeStream::Out, &bytes).unwrap();
        if random.below(10) == 0 {
            tape.mark(tape.end(), "mark").unwrap();
        }
    }
}

/// Follows the output to its end; how many bytes it saw, and how many it was told it missed.
fn follow(reader: &mut TapeReader, done: &AtomicBool) -> Result<(u64, u64), Error> {
    let (mut offset, mut missed, mut buffer) = (0, 0, [0; 3000]);
    loop {
        let was_done = done.load(Ordering::Acquire);
        reader.refresh()?;
        loop {
            match reader.read_at(offset, &mut buffer)? {
                ReadAt::Data { len } => {
                    for got in &buffer[..len] {
                        assert_eq!(*got, byte(offset), "at {offset}");
                        offset += 1;
                    }
                }
                ReadAt::Gap { to } => {
                    missed += to - offset;
                    offset = to;
                }
                ReadAt::End => break,
            }
        }
        if was_done {
            return Ok((offset - missed, missed));
        }
    }
}

/// Reads all records again and again: each time they must be whole and go on without a hole.
fn reread(reader: &mut TapeReader, done: &AtomicBool) -> Result<(), Error> {
    while !done.load(Ordering::Acquire) {
        reader.refresh()?;
        let (range, mut offset) = (reader.range(), 0);
        for record in reader.records(0) {
            let record = record?;
            assert_eq!(record.offset, offset);
            if let TapeEvent::Output { bytes, .. } = &record.event {
                assert!(bytes.iter().zip(offset..).all(|(got, at)| *got == byte(at)));
            }
            offset = record.end();
        }
        assert_eq!(offset, range.end);
        let middle = range.start + (range.end - range.start) / 2;
        // Times are offsets here, and a record may begin before the middle.
        assert!(reader.find_time(middle)? >= middle);
    }
    Ok(())
}

fn run(options: Options, total: u64) -> (u64, u64) {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), options).unwrap();
    let done = AtomicBool::new(false);
    let (mut follower, mut rereader) =
        (TapeReader::open(dir.path()).unwrap(), TapeReader::open(dir.path()).unwrap());
    thread::scope(|scope| {
        let following = scope.spawn(|| follow(&mut follower, &done));
        let rereading = scope.spawn(|| reread(&mut rereader, &done));
        write(&mut tape, &mut Random::new(total), total);
        done.store(true, Ordering::Release);
        rereading.join().unwrap().unwrap();
        let (seen, missed) = following.join().unwrap().unwrap();
        assert_eq!(seen + missed, tape.end());
        (seen, missed)
    })
}

#[test]
fn a_reader_sees_every_byte_whole_while_it_is_written() {
    let (_, missed) = run(Options { segment_size: 20_000, keep: u64::MAX }, 400_000);
    assert_eq!(missed, 0);
}

#[test]
fn a_reader_survives_that_what_it_reads_is_dropped() {
    let (seen, _) = run(Options { segment_size: 1500, keep: 6000 }, 1_500_000);
    assert!(seen > 0);
}

#[test]
fn a_reader_sees_what_was_appended_when_it_refreshes_and_not_before() {
    let dir = temporary().unwrap();
    let options = Options { segment_size: 120, keep: u64::MAX };
    let mut tape = TapeWriter::create(dir.path(), options).unwrap();
    let mut reader = TapeReader::open(dir.path()).unwrap();
    for round in 0..50_u64 {
        tape.output(round, TapeStream::Out, b"0123456789").unwrap();
        assert_eq!(reader.range().end, round * 10);
        assert_eq!(reader.read_at(round * 10, &mut [0; 10]).unwrap(), ReadAt::End);
        reader.refresh().unwrap();
        assert_eq!(reader.range().end, round * 10 + 10);
        assert_eq!(records(&reader, 0).unwrap().len() as u64, round + 1);
    }
}
