//! What is read, what is written, and that the two agree.

mod malformed;
mod properties;
mod writing;

use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use super::{
    Error, EventData, MAX_LINE, RecordingEvent, RecordingHeader, RecordingReader, RecordingWriter,
};

/// The header and the events of a recording, and the error it ends with, if any.
type Contents = (RecordingHeader, Vec<RecordingEvent>, Option<Error>);

fn read(bytes: &[u8]) -> Result<Contents, Error> {
    RecordingReader::new(bytes).map(collect)
}

fn collect<R: io::BufRead>(mut reader: RecordingReader<R>) -> Contents {
    let mut events = Vec::new();
    let error = loop {
        match reader.next() {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    assert!(reader.next().is_none(), "nothing may follow the end or an error");
    (reader.header().clone(), events, error)
}

/// The events of a recording that has nothing wrong with it.
fn events(bytes: &[u8]) -> Vec<RecordingEvent> {
    let (_, events, error) = read(bytes).unwrap();
    assert!(error.is_none(), "{error:?}");
    events
}

/// Writes the events one by one; only kinds a writer knows.
fn write(header: &RecordingHeader, events: &[RecordingEvent]) -> Vec<u8> {
    let mut writer = RecordingWriter::new(Vec::new(), header).unwrap();
    for RecordingEvent { time, data } in events {
        match data {
            EventData::Output(text) => writer.output(*time, text.as_bytes()),
            EventData::Input(text) => writer.input(*time, text.as_bytes()),
            EventData::Resize { cols, rows } => writer.resize(*time, *cols, *rows),
            EventData::Marker(label) => writer.marker(*time, label),
            EventData::Other { .. } => Ok(()),
        }
        .unwrap();
    }
    writer.finish().unwrap()
}

fn event(time: f64, data: EventData) -> RecordingEvent {
    RecordingEvent { time, data }
}

const MINIMAL: &str = "{\"version\": 2, \"width\": 80, \"height\": 24}\n";

#[test]
fn every_kind_of_event_is_read() {
    let recording = format!(
        "{MINIMAL}[0.25, \"o\", \"\\u001b[1mhé\\n\"]\n[1, \"i\", \"y\"]\n\n \t\r\n\
         [1.5, \"m\", \"\"]\r\n  [2e0, \"r\", \"132x43\"] \n[3, \"x\", \"0\"]\n\
         [4, \"?\", {{\"a\": [1]}}]"
    );
    let other = |code: &str, data: Option<&str>| EventData::Other {
        code: code.to_owned(),
        data: data.map(str::to_owned),
    };
    assert_eq!(
        events(recording.as_bytes()),
        [
            event(0.25, EventData::Output("\x1b[1mhé\n".to_owned())),
            event(1.0, EventData::Input("y".to_owned())),
            event(1.5, EventData::Marker(String::new())),
            event(2.0, EventData::Resize { cols: 132, rows: 43 }),
            event(3.0, other("x", Some("0"))),
            event(4.0, other("?", None)),
        ]
    );
}

#[test]
fn a_full_header_is_read_and_unknown_keys_are_ignored() {
    let recording = "\n{\"version\": 2, \"width\": 65535, \"height\": 1, \
        \"timestamp\": 1504467315, \"duration\": 1.5, \"idle_time_limit\": 2, \"command\": \"/bin/sh\", \
        \"title\": \"Démo\", \
        \"env\": {\"TERM\": \"xterm\", \"SHELL\": null}, \"theme\": {\"fg\": \"#fff\"}}";
    let (header, events, error) = read(recording.as_bytes()).unwrap();
    assert!(events.is_empty() && error.is_none());
    assert_eq!(
        header,
        RecordingHeader {
            width: 65535,
            height: 1,
            timestamp: Some(1_504_467_315),
            idle_time_limit: Some(2.0),
            command: Some("/bin/sh".to_owned()),
            title: Some("Démo".to_owned()),
            env: [("TERM".to_owned(), "xterm".to_owned())].into(),
        }
    );
}

#[test]
fn optional_fields_of_the_header_may_be_null_or_missing() {
    let recording =
        "{\"version\": 2, \"width\": 80, \"height\": 24, \"title\": null, \"env\": null}";
    assert_eq!(read(recording.as_bytes()).unwrap().0, RecordingHeader::new(80, 24));
    assert_eq!(read(MINIMAL.as_bytes()).unwrap().0, RecordingHeader::new(80, 24));
}

#[test]
fn a_source_that_fails_is_reported_with_its_line_and_cause() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let first = format!("{MINIMAL}[0, \"o\", \"kept\"]\n[1, \"o\", ");
    let source = BufReader::new(first.as_bytes().chain(Broken));
    let (_, events, error) = collect(RecordingReader::new(source).unwrap());
    assert_eq!(events.len(), 1);
    let error = error.unwrap();
    assert_eq!(error.to_string(), "line 3: cannot read the recording");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is gone");
}

#[test]
fn recordings_of_real_programs_are_read_and_written_back_unchanged() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings");
    let mut read_files = 0;
    for program in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(program.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "cast") {
                continue;
            }
            let (header, events, error) = read(&std::fs::read(&path).unwrap()).unwrap();
            assert!(error.is_none(), "{}: {error:?}", path.display());
            assert!(!events.is_empty(), "{}", path.display());
            let (again, copies, _) = read(&write(&header, &events)).unwrap();
            assert_eq!(again, header, "{}", path.display());
            assert_eq!(copies, events, "{}", path.display());
            read_files += 1;
        }
    }
    assert!(read_files > 0, "no recordings were found");
}
