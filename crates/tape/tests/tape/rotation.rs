//! Segments: new ones begin, old ones go, and readers are told.

use std::fs;

use coven_tape::{
    Error, Options, ReadAt, TapeDamage, TapeEvent, TapeReader, TapeStream, TapeWriter, verify,
    verify_telling,
};
use coven_testkit::folders::temporary;
use tempfile::TempDir;

use crate::{dropped, files, output, records};

const OPTIONS: Options = Options { segment_size: 400, keep: 1600 };

/// A tape of numbered lines of ten bytes.
fn lines(tape: &mut TapeWriter, count: u64) {
    for line in tape.end() / 10..tape.end() / 10 + count {
        tape.output(line * 100, TapeStream::Out, format!("{line:9}\n").as_bytes()).unwrap();
    }
}

fn size(dir: &TempDir) -> u64 {
    files(dir.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}

#[test]
fn the_oldest_segments_are_dropped_and_the_rest_stays_readable() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), OPTIONS).unwrap();
    for _ in 0..100 {
        lines(&mut tape, 3);
        assert!(size(&dir) <= OPTIONS.keep, "{}", size(&dir));
    }
    let mut reader = TapeReader::open(dir.path()).unwrap();
    let range = reader.range();
    assert_eq!(range.end, 3000);
    assert!((2000..2900).contains(&range.start), "{range:?}");

    assert_eq!(reader.read_at(0, &mut [0; 8]).unwrap(), ReadAt::Gap { to: range.start });
    let all = records(&reader, 7).unwrap();
    assert_eq!(all[0], dropped(7, range.start));
    assert_eq!(all[1].offset, range.start);
    assert_eq!(all.len() as u64, 1 + (range.end - range.start) / 10);
    assert_eq!(reader.find_time(0).unwrap(), range.start);

    let report = verify(dir.path()).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!((report.dropped, report.lost), (range.start, 0));
}

#[test]
fn checking_a_tape_tells_how_far_it_is_within_it() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), OPTIONS).unwrap();
    lines(&mut tape, 90);
    let mut told = Vec::new();
    let report = verify_telling(dir.path(), &mut |bytes| told.push(bytes)).unwrap();
    assert!(report.segments > 1 && report.output > 0, "{report:?}");
    assert_eq!(told.last(), Some(&report.output));
    assert!(told.windows(2).all(|pair| pair[1] == pair[0] + 10), "{told:?}");
    assert_eq!(verify(dir.path()).unwrap(), report);
}

#[test]
fn a_reader_whose_segments_are_dropped_is_told_of_a_gap() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), OPTIONS).unwrap();
    lines(&mut tape, 30);
    let mut reader = TapeReader::open(dir.path()).unwrap();
    assert_eq!(reader.range(), 0..300);
    // In the middle of the first segment, which stays open.
    assert_eq!(reader.read_at(5, &mut [0; 3]).unwrap(), ReadAt::Data { len: 3 });
    let mut following = reader.records(0);
    assert_eq!(following.next().unwrap().unwrap().offset, 0);

    lines(&mut tape, 1000);
    let rest: Vec<_> = following.map(Result::unwrap).collect();
    assert_eq!(rest[0].offset, 10, "an open segment can be read to its end");
    let gap = rest.iter().position(|record| matches!(record.event, TapeEvent::Gap(_))).unwrap();
    let newest =
        rest.iter().skip(gap).find(|record| matches!(record.event, TapeEvent::Output { .. }));
    let newest = newest.map_or(300, |record| record.offset);
    assert_eq!(rest[gap].end(), newest, "and what comes after it is gone");
    assert_eq!(rest.last().unwrap().end(), 300);
    let (bytes, gaps) = output(&mut reader, 0, 64).unwrap();
    assert_eq!(bytes.len() as u64 + gaps.iter().map(|(from, to)| to - from).sum::<u64>(), 300);
    assert!(!gaps.is_empty());
    assert!(reader.find_time(100).is_ok());

    reader.refresh().unwrap();
    let range = reader.range();
    assert_eq!(range.end, 10_300);
    assert_eq!(reader.read_at(5, &mut [0; 3]).unwrap(), ReadAt::Gap { to: range.start });
    let (bytes, gaps) = output(&mut reader, 300, 64).unwrap();
    assert_eq!(gaps, [(300, range.start)]);
    assert_eq!(bytes.len() as u64, range.end - range.start);
}

#[test]
fn records_at_the_edge_of_a_segment_are_read_once() {
    let dir = temporary().unwrap();
    let mut tape =
        TapeWriter::create(dir.path(), Options { segment_size: 200, ..OPTIONS }).unwrap();
    lines(&mut tape, 3);
    tape.mark(1000, "last of the first").unwrap();
    lines(&mut tape, 3);
    let reader = TapeReader::open(dir.path()).unwrap();
    assert!(dir.path().join("out.00000000000000000030").exists());
    let all = records(&reader, 30).unwrap();
    assert_eq!(all[0].event, TapeEvent::Mark("last of the first".into()));
    assert_eq!(all.len(), 4);
}

#[test]
fn input_without_output_stays_in_its_segment() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), OPTIONS).unwrap();
    for time in 0..100 {
        tape.input(time, b"typed and typed").unwrap();
    }
    assert_eq!(files(dir.path()).len(), 3);
    lines(&mut tape, 2);
    assert_eq!(files(dir.path()).len(), 6);
    let reader = TapeReader::open(dir.path()).unwrap();
    assert_eq!(records(&reader, 0).unwrap().len(), 102);
}

#[test]
fn a_segment_that_was_not_dropped_by_the_writer_is_missing() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options { keep: u64::MAX, ..OPTIONS }).unwrap();
    lines(&mut tape, 30);
    let bases: Vec<u64> = files(dir.path()).iter().step_by(3).map(|path| base(path)).collect();

    for path in files(dir.path()).iter().take(3) {
        fs::remove_file(path).unwrap();
    }
    let problems = verify(dir.path()).unwrap().problems;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].damage, TapeDamage::Missing { from: 0, to: bases[1] });

    for path in files(dir.path()).iter().skip(3).take(3) {
        fs::remove_file(path).unwrap();
    }
    let missing = TapeDamage::Missing { from: bases[2], to: bases[3] };
    let problems = verify(dir.path()).unwrap().problems;
    assert_eq!(problems[0].damage, missing);
    let mut reader = TapeReader::open(dir.path()).unwrap();
    let Error::Damaged(problem) = records(&reader, 0).unwrap_err() else { panic!() };
    assert_eq!(problem.damage, missing);
    assert!(reader.read_at(bases[2], &mut [0; 8]).is_err());
}

fn base(path: &std::path::Path) -> u64 {
    path.file_name().unwrap().to_str().unwrap()["out.".len()..].parse().unwrap()
}

#[test]
fn an_interrupted_drop_is_finished_by_the_next_writer() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), OPTIONS).unwrap();
    lines(&mut tape, 9);
    let first: Vec<_> =
        files(dir.path())[..3].iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    lines(&mut tape, 100);
    drop(tape);
    // As if the writer had been killed before it deleted these.
    for (path, bytes) in &first {
        fs::write(path, bytes).unwrap();
    }
    // And here in the middle of deleting, and of creating.
    fs::write(dir.path().join("out.00000000000000000005"), "x").unwrap();
    fs::write(dir.path().join("out.00000000000000001090.side"), "").unwrap();
    fs::write(dir.path().join("out.00000000000000001091"), "").unwrap();
    fs::write(dir.path().join("out.00000000000000001091.idx"), "TAPE").unwrap();
    fs::write(dir.path().join("spawn.json"), "{}").unwrap();

    let (mut tape, _) = TapeWriter::append_to(dir.path(), OPTIONS).unwrap();
    assert_eq!(tape.end(), 1090);
    assert!(first.iter().all(|(path, _)| !path.exists()));
    assert!(dir.path().join("spawn.json").exists());
    lines(&mut tape, 100);
    assert!(size(&dir) <= OPTIONS.keep + 2);
    assert_eq!(verify(dir.path()).unwrap().problems, []);
}
