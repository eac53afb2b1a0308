//! A tape as an asciicast.

use coven_tape::{Options, TapeReader, TapeStream, TapeWriter, export};
use coven_terminal::recording::{self, EventData, RecordingEvent, RecordingHeader};
use coven_testkit::folders::temporary;
use tempfile::TempDir;

fn exported(dir: &TempDir) -> Vec<u8> {
    let reader = TapeReader::open(dir.path()).unwrap();
    export(&reader, &RecordingHeader::new(80, 24), Vec::new()).unwrap()
}

#[test]
fn every_record_becomes_an_event() {
    let dir = temporary().unwrap();
    let mut tape = TapeWriter::create(dir.path(), Options::default()).unwrap();
    tape.output(0, TapeStream::Out, b"$ \xc3").unwrap();
    tape.output(1_500_000, TapeStream::Err, b"\xa9\xff").unwrap();
    tape.input(2_000_001, b"ls\r").unwrap();
    tape.resize(2_000_001, 100, 30).unwrap();
    tape.resize(2_500_000, 0, 0).unwrap();
    tape.mark(3_000_000, "waiting").unwrap();
    let text = String::from_utf8(exported(&dir)).unwrap();
    let expected = [
        r#"{"version":2,"width":80,"height":24}"#,
        r#"[0.000000, "o", "$ "]"#,
        "[1.500000, \"o\", \"é\u{fffd}\"]",
        r#"[2.000001, "i", "ls\r"]"#,
        r#"[2.000001, "r", "100x30"]"#,
        r#"[3.000000, "m", "waiting"]"#,
        "",
    ];
    assert_eq!(text, expected.join("\n"));
}

#[test]
fn what_was_dropped_is_a_marker() {
    let dir = temporary().unwrap();
    let mut tape =
        TapeWriter::create(dir.path(), Options { segment_size: 200, keep: 400 }).unwrap();
    for time in 0..100 {
        tape.output(time * 1_000_000, TapeStream::Out, b"0123456789").unwrap();
    }
    let start = TapeReader::open(dir.path()).unwrap().range().start;
    assert!(start > 0);
    let cast = exported(&dir);
    let events: Result<Vec<RecordingEvent>, _> =
        recording::RecordingReader::new(&cast[..]).unwrap().collect();
    let events = events.unwrap();
    let marker = EventData::Marker(format!("gap {start} bytes"));
    assert_eq!(events[0], RecordingEvent { time: 0.0, data: marker });
    let first = EventData::Output("0123456789".into());
    assert_eq!(events[1], RecordingEvent { time: f64::from(start as u32 / 10), data: first });
    assert_eq!(events.len() as u64, 1 + (1000 - start) / 10);
}
