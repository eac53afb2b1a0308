//! What is written, byte for byte.

use std::io::{self, Write};

use super::{Error, EventData, MAX_LINE, RecordingHeader, RecordingWriter, event, events};
use crate::recording::MAX_HEADER;

fn writer() -> RecordingWriter<Vec<u8>> {
    RecordingWriter::new(Vec::new(), &RecordingHeader::new(80, 24)).unwrap()
}

/// The lines after the header.
fn lines(writer: RecordingWriter<Vec<u8>>) -> Vec<String> {
    let written = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert!(written.ends_with('\n'));
    written.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_recording_looks_as_the_format_says() {
    let mut header = RecordingHeader::new(80, 24);
    header.timestamp = Some(1_504_467_315);
    header.idle_time_limit = Some(2.5);
    header.command = Some("sh".to_owned());
    header.title = Some("a \"b\"".to_owned());
    header.env.insert("TERM".to_owned(), "xterm".to_owned());
    let mut writer = RecordingWriter::new(Vec::new(), &header).unwrap();
    writer.output(0.248_848, "\x1b[1mé\n\"\\\0".as_bytes()).unwrap();
    writer.input(1.0, b"y\r").unwrap();
    writer.resize(1.5, 132, 43).unwrap();
    writer.marker(2.0, "").unwrap();
    assert_eq!(
        String::from_utf8(writer.finish().unwrap()).unwrap(),
        concat!(
            r#"{"version":2,"width":80,"height":24,"timestamp":1504467315,"idle_time_limit":2.5,"#,
            r#""command":"sh","title":"a \"b\"","env":{"TERM":"xterm"}}"#,
            "\n",
            r#"[0.248848, "o", "\u001b[1mé\n\"\\\u0000"]"#,
            "\n",
            r#"[1.000000, "i", "y\r"]"#,
            "\n",
            r#"[1.500000, "r", "132x43"]"#,
            "\n",
            r#"[2.000000, "m", ""]"#,
            "\n",
        )
    );
}

#[test]
fn times_are_written_in_microseconds_without_noise() {
    let mut writer = writer();
    let times = [0.0, -0.0, 0.000_000_4, 0.1 + 0.2, 1.0 / 3.0, 59.999_999_9, 9_007_199_254.0];
    for time in times {
        writer.marker(time, "").unwrap();
    }
    let written: Vec<_> =
        lines(writer).iter().map(|line| line.split(',').next().unwrap().to_owned()).collect();
    assert_eq!(
        written,
        [
            "[0.000000",
            "[0.000000",
            "[0.000000",
            "[0.300000",
            "[0.333333",
            "[60.000000",
            "[9007199254.000000"
        ]
    );
}

#[test]
fn a_time_that_goes_backwards_stays_where_it_was() {
    let mut writer = writer();
    writer.output(2.0, b"a").unwrap();
    writer.output(1.0, b"b").unwrap();
    writer.input(9.0, b"\xe2").unwrap();
    writer.output(3.0, b"c").unwrap();
    assert_eq!(
        lines(writer),
        [
            r#"[2.000000, "o", "a"]"#,
            r#"[2.000000, "o", "b"]"#,
            r#"[3.000000, "o", "c"]"#,
            "[3.000000, \"i\", \"\u{fffd}\"]",
        ]
    );
}

#[test]
fn a_time_that_is_none_is_refused_and_takes_no_bytes() {
    let mut writer = writer();
    for time in [-0.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e10, f64::MAX] {
        assert!(matches!(writer.output(time, b"lost"), Err(Error::Time { .. })), "{time}");
        assert!(matches!(writer.input(time, b"lost"), Err(Error::Time { .. })), "{time}");
        assert!(matches!(writer.resize(time, 1, 1), Err(Error::Time { .. })), "{time}");
        assert!(matches!(writer.marker(time, "lost"), Err(Error::Time { .. })), "{time}");
    }
    assert_eq!(
        writer.marker(-1.5, "").unwrap_err().to_string(),
        "the time of an event must be a number of seconds from 0 to 9007199254, but it is -1.5"
    );
    assert!(lines(writer).is_empty());
}

#[test]
fn a_character_comes_out_with_the_bytes_that_complete_it() {
    let mut writer = writer();
    writer.output(1.0, b"a\xe2").unwrap();
    writer.input(2.0, b"\xc3").unwrap();
    writer.output(3.0, b"\x82").unwrap();
    writer.resize(4.0, 1, 1).unwrap();
    writer.output(5.0, b"\xacb").unwrap();
    writer.input(6.0, b"\xa4").unwrap();
    assert_eq!(
        lines(writer),
        [
            r#"[1.000000, "o", "a"]"#,
            r#"[4.000000, "r", "1x1"]"#,
            r#"[5.000000, "o", "€b"]"#,
            r#"[6.000000, "i", "ä"]"#,
        ]
    );
}

#[test]
fn a_character_that_never_completes_is_replaced_at_the_end() {
    let mut writer = writer();
    writer.output(1.0, b"\xf0\x9f").unwrap();
    writer.output(1.5, b"").unwrap();
    writer.input(2.0, b"x").unwrap();
    assert_eq!(lines(writer), [r#"[2.000000, "i", "x"]"#, "[2.000000, \"o\", \"\u{fffd}\"]"]);
}

#[test]
fn a_size_of_zero_is_refused() {
    for (cols, rows) in [(0, 24), (80, 0)] {
        let message = format!("a terminal of {cols} columns and {rows} rows cannot be recorded");
        let error =
            RecordingWriter::new(Vec::new(), &RecordingHeader::new(cols, rows)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(writer().resize(0.0, cols, rows).unwrap_err().to_string(), message);
    }
    let header =
        RecordingHeader { idle_time_limit: Some(f64::NAN), ..RecordingHeader::new(80, 24) };
    assert!(matches!(RecordingWriter::new(Vec::new(), &header), Err(Error::HeaderField { .. })));
}

#[test]
fn much_output_at_once_becomes_events_that_can_be_read() {
    let mut writer = writer();
    let bytes = "\0漢".repeat(1_000_000);
    writer.output(1.0, bytes.as_bytes()).unwrap();
    let read = events(&writer.finish().unwrap());
    assert!(read.len() > 1);
    let mut text = String::new();
    for found in read {
        let EventData::Output(part) = &found.data else { panic!("{found:?}") };
        text.push_str(part);
        assert_eq!(found, event(1.0, EventData::Output(part.clone())));
    }
    assert!(text == bytes);
}

#[test]
fn a_label_or_header_that_could_not_be_read_is_refused() {
    let mut recording = writer();
    let error = recording.marker(1.0, &"\0".repeat(MAX_LINE / 6)).unwrap_err();
    assert!(matches!(error, Error::TooLong { limit: MAX_LINE, .. }));
    assert!(lines(recording).is_empty());
    let header =
        RecordingHeader { title: Some("x".repeat(MAX_HEADER)), ..RecordingHeader::new(80, 24) };
    let error = RecordingWriter::new(Vec::new(), &header).unwrap_err();
    assert!(matches!(error, Error::TooLong { limit: MAX_HEADER, .. }));
}

/// Counts the writes, and fails from some point on.
struct Target {
    writes: Vec<Vec<u8>>,
    flushed: bool,
    room: usize,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.writes.len() == self.room {
            return Err(io::Error::other("no room"));
        }
        self.writes.push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed = true;
        Ok(())
    }
}

#[test]
fn every_line_is_one_write_and_the_end_flushes() {
    let target = Target { writes: Vec::new(), flushed: false, room: 9 };
    let mut writer = RecordingWriter::new(target, &RecordingHeader::new(80, 24)).unwrap();
    writer.output(0.0, b"one\ntwo").unwrap();
    writer.input(0.0, b"\xff").unwrap();
    writer.marker(0.0, "label").unwrap();
    let target = writer.finish().unwrap();
    assert!(target.flushed);
    assert_eq!(target.writes.len(), 4);
    for line in target.writes {
        assert_eq!(line.iter().position(|&b| b == b'\n'), Some(line.len() - 1));
    }
}

#[test]
fn a_target_that_fails_is_reported_with_its_cause() {
    let target = Target { writes: Vec::new(), flushed: false, room: 1 };
    let mut writer = RecordingWriter::new(target, &RecordingHeader::new(80, 24)).unwrap();
    let error = writer.output(0.0, b"x").unwrap_err();
    assert_eq!(error.to_string(), "cannot write the recording");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no room");
}
