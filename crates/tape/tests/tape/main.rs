//! The crate from outside: what was written is what is read, whatever happens to the files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod damage;
mod exporting;
mod links;
mod live;
mod opening;
mod rotation;
mod round_trip;

use std::path::Path;

use coven_tape::{
    Error, GapReason, ReadAt, TapeEvent, TapeGap, TapeReader, TapeRecord, TapeStream, TapeWriter,
};
use coven_testkit::random::Random;

/// Something to do with a tape.
#[derive(Clone, Debug)]
enum Step {
    Output(TapeStream, Vec<u8>),
    Input(Vec<u8>),
    Resize(u16, u16),
    Mark(String),
}

impl Step {
    /// Anything, with up to `most` bytes.
    fn random(random: &mut Random, most: usize) -> Self {
        let bytes = (0..=random.below(most)).map(|_| random.next() as u8).collect();
        match random.below(10) {
            0 => Self::Input(bytes),
            1 => Self::Resize(random.below(500) as u16, random.below(500) as u16),
            2 => Self::Mark(format!("mark {}", "é".repeat(random.below(5)))),
            3 | 4 => Self::Output(TapeStream::Err, bytes),
            _ => Self::Output(TapeStream::Out, bytes),
        }
    }

    fn write(&self, tape: &mut TapeWriter, time: u64) {
        match self {
            Self::Output(stream, bytes) => tape.output(time, *stream, bytes).unwrap(),
            Self::Input(bytes) => tape.input(time, bytes).unwrap(),
            Self::Resize(cols, rows) => tape.resize(time, *cols, *rows).unwrap(),
            Self::Mark(label) => tape.mark(time, label).unwrap(),
        }
    }

    /// The record this gives, for one that fits into a single record.
    fn record(&self, time: u64, offset: u64) -> TapeRecord {
        let event = match self.clone() {
            Self::Output(stream, bytes) => TapeEvent::Output { stream, bytes },
            Self::Input(bytes) => TapeEvent::Input(bytes),
            Self::Resize(cols, rows) => TapeEvent::Resize { cols, rows },
            Self::Mark(label) => TapeEvent::Mark(label),
        };
        TapeRecord { time, offset, event }
    }
}

/// All records from an offset on.
fn records(reader: &TapeReader, from: u64) -> Result<Vec<TapeRecord>, Error> {
    reader.records(from).collect()
}

/// From where to where something is missing.
type Gaps = Vec<(u64, u64)>;

/// All output from an offset on, through buffers of this size, with the gaps.
fn output(reader: &mut TapeReader, from: u64, buffer: usize) -> Result<(Vec<u8>, Gaps), Error> {
    let mut buffer = vec![0; buffer];
    let (mut offset, mut bytes, mut gaps) = (from, Vec::new(), Vec::new());
    loop {
        match reader.read_at(offset, &mut buffer)? {
            ReadAt::Data { len } => {
                assert!(len > 0, "no progress at {offset}");
                bytes.extend_from_slice(&buffer[..len]);
                offset += len as u64;
            }
            ReadAt::Gap { to } => {
                assert!(to > offset, "no progress at {offset}");
                gaps.push((offset, to));
                offset = to;
            }
            ReadAt::End => return Ok((bytes, gaps)),
        }
    }
}

/// The gap that a reader makes of what was dropped.
fn dropped(offset: u64, to: u64) -> TapeRecord {
    let gap = TapeGap { len: to - offset, events: 0, reason: GapReason::Dropped };
    TapeRecord { time: 0, offset, event: TapeEvent::Gap(gap) }
}

/// The files of a tape, in order.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}
