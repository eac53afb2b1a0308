//! A tape, written and then changed as the input says, must be read, checked and gone on with
//! without a panic, an endless loop, or bytes that nobody wrote.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};

use coven_tape::{Options, ReadAt, TapeReader, TapeStream, TapeWriter, TapeDamage, TapeProblem, export, verify};
use coven_terminal::recording::RecordingHeader;
use libfuzzer_sys::fuzz_target;

/// The input, taken piece by piece; zeros when there is no more.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (now, later) = self.0.split_at(len.min(self.0.len()));
        self.0 = later;
        now
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    // In memory where there is such a place, because most of the time goes into files.
    let shared = std::fs::canonicalize("/dev/shm").and_then(tempfile::tempdir_in);
    let dir = shared.or_else(|_| coven_testkit::folders::temporary()).unwrap();
    let options = Options { segment_size: 64 + 4 * u64::from(input.byte()), keep: 2000 };
    write(&mut input, dir.path(), options);
    change(&mut input, dir.path());
    read(dir.path());
    go_on(dir.path(), options);
});

fn write(input: &mut Input<'_>, dir: &Path, options: Options) {
    let mut tape = TapeWriter::create(dir, options).unwrap();
    for time in 0..input.byte() % 32 {
        let (what, len) = (input.byte(), usize::from(input.byte() % 64));
        let time = u64::from(time);
        match what % 5 {
            0 => tape.output(time, TapeStream::Out, input.bytes(len)).unwrap(),
            1 => tape.output(time, TapeStream::Err, input.bytes(len)).unwrap(),
            2 => tape.input(time, input.bytes(len)).unwrap(),
            3 => tape.resize(time, u16::from(what), len as u16).unwrap(),
            _ => tape.mark(time, "mark").unwrap(),
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Changes files, and then makes the checksums of the indexes hold again or not: what is behind
/// them must not rely on them alone.
fn change(input: &mut Input<'_>, dir: &Path) {
    for _ in 0..input.byte() % 16 {
        let files = files(dir);
        let Some(path) = files.get(usize::from(input.byte()) % files.len().max(1)) else { return };
        let mut bytes = fs::read(path).unwrap();
        let at = input.number() % (bytes.len() + 1);
        match input.byte() % 6 {
            0 => bytes.truncate(at),
            1 => fs::remove_file(path).unwrap(),
            2 => bytes.extend(input.bytes(at % 80)),
            3 => {
                let name = format!("out.{:020}.idx", input.number());
                fs::write(dir.join(name), &bytes).unwrap();
            }
            _ => {
                let new = input.bytes(1 + at % 8);
                let len = new.len().min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&new[..len]);
            }
        }
        if path.exists() {
            fs::write(path, bytes).unwrap();
        }
    }
    if input.byte() % 2 == 0 {
        let files = files(dir);
        files.iter().filter(|path| path.extension().is_some_and(|e| e == "idx")).for_each(repair);
    }
}

fn repair(path: &PathBuf) {
    let mut index = fs::read(path).unwrap();
    let raw = fs::read(path.with_extension("")).unwrap_or_default();
    let side = fs::read(path.with_extension("side")).unwrap_or_default();
    for (number, entry) in index.chunks_exact_mut(32).enumerate() {
        let at = u32::from_le_bytes([entry[16], entry[17], entry[18], entry[19]]) as usize;
        let len = u32::from_le_bytes([entry[20], entry[21], entry[22], entry[23]]) as usize;
        let file = match entry[24] {
            1 | 2 if number > 0 => &raw[..],
            3 | 5 if number > 0 => &side[..],
            _ => &[],
        };
        let payload = file.get(at..at.saturating_add(len)).unwrap_or_default();
        let crc = crc32fast::hash(&[&entry[..28], payload].concat());
        entry[28..].copy_from_slice(&crc.to_le_bytes());
    }
    fs::write(path, index).unwrap();
}

fn read(dir: &Path) {
    let report = verify(dir);
    let Ok(mut reader) = TapeReader::open(dir) else { return };
    reader.refresh().unwrap();
    let range = reader.range();
    assert!(range.start <= range.end);
    let mut whole = true;
    for len in [1, 100] {
        let (mut offset, mut buffer) = (range.start.saturating_sub(1), vec![0; len]);
        for _ in 0..20_000 {
            match reader.read_at(offset, &mut buffer) {
                Ok(ReadAt::Data { len }) => {
                    assert!(len > 0);
                    offset += len as u64;
                }
                Ok(ReadAt::Gap { to }) => {
                    assert!(to > offset);
                    offset = to;
                }
                Ok(ReadAt::End) => {
                    assert!(offset >= range.end);
                    break;
                }
                Err(_) => {
                    whole = false;
                    break;
                }
            }
        }
    }
    let middle = range.start + (range.end - range.start) / 2;
    for from in [0, range.start, middle, range.end, u64::MAX] {
        for record in reader.records(from) {
            match record {
                Ok(record) => assert!(record.end() <= range.end),
                Err(_) => whole = false,
            }
        }
    }
    for time in [0, 5, 16, u64::MAX] {
        whole &= reader.find_time(time).is_ok();
    }
    let _ = export(&reader, &RecordingHeader::new(80, 24), std::io::sink());
    let problems = report.map_or(1, |report| report.problems.len());
    assert!(whole || problems > 0, "what cannot be read is a problem");
}

/// A tape that can be gone on with is whole from there on.
fn go_on(dir: &Path, options: Options) {
    let Ok((mut tape, _)) = TapeWriter::append_to(dir, options) else { return };
    tape.output(u64::MAX, TapeStream::Out, b"x").unwrap();
    let mut reader = TapeReader::open(dir).unwrap();
    assert_eq!(reader.range().end, tape.end());
    let mut buffer = [0];
    assert_eq!(reader.read_at(tape.end() - 1, &mut buffer).unwrap(), ReadAt::Data { len: 1 });
    assert_eq!(buffer, *b"x");
    let newest = files(dir).into_iter().filter(|p| p.extension().is_some_and(|e| e == "idx"));
    let newest = newest.last().unwrap();
    let problems = verify(dir).unwrap().problems;
    let whole = reader.records(0).all(|record| record.is_ok());
    assert!(whole || !problems.is_empty(), "what cannot be read is a problem");
    // Only that it does not go on where an older one ended is not its fault.
    let own =
        |p: &&TapeProblem| p.path == newest && p.position != 0 && p.damage != TapeDamage::Order;
    assert_eq!(problems.iter().find(own), None);
}
