//! A tape as a recording that other players play.

use std::io::Write;

use coven_terminal::recording::{RecordingHeader, RecordingWriter};

use crate::error::Error;
use crate::reader::TapeReader;
use crate::record::{TapeEvent, TapeGap};

/// Writes a tape as an asciicast v2 recording, and gives the target back, flushed.
///
/// The header is the caller's, who knows the size of the terminal at the start and the command.
/// Standard error is output like the rest. A gap becomes a marker that says how much is missing. A
/// recording holds text: bytes that are not UTF-8 become U+FFFD there. A size of 0 is left out,
/// because no player could show it.
pub fn export<W: Write>(
    reader: &TapeReader,
    header: &RecordingHeader,
    target: W,
) -> Result<W, Error> {
    let mut recording = RecordingWriter::new(target, header)?;
    for record in reader.records(0) {
        let record = record?;
        let time = seconds(record.time);
        match record.event {
            TapeEvent::Output { bytes, .. } => recording.output(time, &bytes)?,
            TapeEvent::Input(bytes) => recording.input(time, &bytes)?,
            TapeEvent::Resize { cols: 0, .. } | TapeEvent::Resize { rows: 0, .. } => {}
            TapeEvent::Resize { cols, rows } => recording.resize(time, cols, rows)?,
            TapeEvent::Mark(label) => recording.marker(time, &label)?,
            TapeEvent::Gap(gap) => recording.marker(time, &label(gap))?,
        }
    }
    Ok(recording.finish()?)
}

#[expect(clippy::cast_precision_loss, reason = "exact for the first 285 years")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn label(gap: TapeGap) -> String {
    match gap.events {
        0 => format!("gap {} bytes", gap.len),
        events => format!("gap {} bytes, {events} other records", gap.len),
    }
}
