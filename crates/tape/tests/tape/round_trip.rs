//! What is written is what is read: by offset, by record and by time, against a plain list.

use coven_tape::{
    MAX_PAYLOAD, Options, ReadAt, TapeEvent, TapeReader, TapeRecord, TapeStream, TapeWriter, verify,
};
use coven_testkit::folders::temporary;
use coven_testkit::random::Random;
use tempfile::TempDir;

use crate::{Step, output, records};

/// A tape written at random, in one go or by several writers, and what it should hold.
fn random_tape(random: &mut Random, steps: usize) -> (TempDir, Vec<TapeRecord>, Vec<u8>) {
    let dir = temporary().unwrap();
    let options = Options { segment_size: 100 + random.below(3000) as u64, keep: u64::MAX };
    let mut tape = TapeWriter::create(dir.path(), options).unwrap();
    let (mut all, mut bytes, mut time) = (Vec::new(), Vec::new(), 0);
    for _ in 0..steps {
        time += random.below(3) as u64;
        let most = if random.below(10) == 0 { 2000 } else { 30 };
        let step = Step::random(random, most);
        step.write(&mut tape, time);
        all.push(step.record(time, bytes.len() as u64));
        if let Step::Output(_, more) = step {
            bytes.extend_from_slice(&more);
        }
        assert_eq!(tape.end(), bytes.len() as u64);
        if random.below(40) == 0 {
            drop(tape);
            let (again, cut) = TapeWriter::append_to(dir.path(), options).unwrap();
            assert_eq!(cut, coven_tape::TruncatedTail::default(), "nothing is torn");
            tape = again;
        }
    }
    (dir, all, bytes)
}

#[test]
fn any_tape_reads_back_as_it_was_written() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (dir, all, bytes) = random_tape(&mut random, 150);
        let mut reader = TapeReader::open(dir.path()).unwrap();
        assert_eq!(reader.range(), 0..bytes.len() as u64, "seed {seed}");
        assert_eq!(records(&reader, 0).unwrap(), all, "seed {seed}");
        for buffer in [1, 7, 64, 5000, MAX_PAYLOAD] {
            let from = random.below(bytes.len()).max(bytes.len().saturating_sub(buffer * 1000));
            let read = output(&mut reader, from as u64, buffer).unwrap();
            assert_eq!(read, (bytes[from..].to_vec(), vec![]), "seed {seed}, from {from}");
        }
        let report = verify(dir.path()).unwrap();
        assert_eq!((report.records, report.output), (all.len() as u64, bytes.len() as u64));
        assert_eq!(report.problems, [], "seed {seed}");
    }
}

#[test]
fn records_begin_with_the_one_that_holds_the_offset() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (dir, all, bytes) = random_tape(&mut random, 100);
        let reader = TapeReader::open(dir.path()).unwrap();
        let edges = all.iter().flat_map(|record| [record.offset, record.offset + 1]);
        for from in edges.filter(|edge| *edge <= bytes.len() as u64) {
            let begins = |record: &TapeRecord| record.offset >= from || record.end() > from;
            let expected = all.iter().position(begins).unwrap_or(all.len());
            assert_eq!(records(&reader, from).unwrap(), all[expected..], "seed {seed}, {from}");
        }
        let end = bytes.len() as u64;
        assert_eq!(records(&reader, u64::MAX).unwrap(), records(&reader, end).unwrap());
    }
}

#[test]
fn a_time_is_found_where_its_first_record_begins() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (dir, all, bytes) = random_tape(&mut random, 100);
        let reader = TapeReader::open(dir.path()).unwrap();
        for time in 0..=all.last().unwrap().time + 2 {
            let first = all.iter().find(|record| record.time >= time);
            let expected = first.map_or(bytes.len() as u64, |record| record.offset);
            assert_eq!(reader.find_time(time).unwrap(), expected, "seed {seed}, time {time}");
        }
    }
}

#[test]
fn a_time_never_goes_back() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    tape.output(500, TapeStream::Out, b"a").unwrap();
    tape.output(400, TapeStream::Out, b"b").unwrap();
    drop(tape);
    let (mut tape, _) = TapeWriter::append_to(dir.path(), Options::default()).unwrap();
    tape.output(300, TapeStream::Out, b"c").unwrap();
    tape.mark(600, "").unwrap();
    let all = records(&TapeReader::open(dir.path()).unwrap(), 0).unwrap();
    let times: Vec<u64> = all.iter().map(|record| record.time).collect();
    assert_eq!(times, [500, 500, 500, 600]);
}

#[test]
fn more_than_a_record_holds_becomes_several() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    let long: Vec<u8> = (0..3 * MAX_PAYLOAD + 5).map(|i| (i % 251) as u8).collect();
    tape.output(1, TapeStream::Err, &long).unwrap();
    tape.input(2, &long).unwrap();
    tape.mark(3, &"é".repeat(MAX_PAYLOAD)).unwrap();
    let mut reader = TapeReader::open(dir.path()).unwrap();
    assert_eq!(output(&mut reader, 0, 1000).unwrap().0, long);
    let mut sent = Vec::new();
    for record in records(&reader, 0).unwrap() {
        match record.event {
            TapeEvent::Output { bytes, stream } => {
                assert_eq!((bytes.len() <= MAX_PAYLOAD, stream), (true, TapeStream::Err));
            }
            TapeEvent::Input(bytes) => sent.extend(bytes),
            TapeEvent::Mark(label) => assert_eq!(label, "é".repeat(MAX_PAYLOAD / 2)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(sent, long);
}

#[test]
fn nothing_written_is_nothing_recorded() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    tape.output(1, TapeStream::Out, b"").unwrap();
    tape.input(1, b"").unwrap();
    let mut reader = TapeReader::open(dir.path()).unwrap();
    assert_eq!(reader.range(), 0..0);
    assert_eq!(records(&reader, 0).unwrap(), []);
    assert_eq!(reader.read_at(0, &mut [0; 8]).unwrap(), ReadAt::End);
    assert_eq!(reader.find_time(0).unwrap(), 0);
    tape.output(1, TapeStream::Out, b"x").unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.read_at(0, &mut []).unwrap(), ReadAt::Data { len: 0 });
}
