//! What is said about recordings that are wrong.

use super::{Error, EventData, MAX_LINE, MINIMAL, event, events, read};
use crate::recording::{MAX_HEADER, RecordingReader};

fn header_complaint(recording: &str) -> String {
    read(recording.as_bytes()).unwrap_err().to_string()
}

/// What is said about the line after the header and one good event.
fn complaint(line: &[u8]) -> String {
    let mut recording = format!("{MINIMAL}[0.5, \"o\", \"kept\"]\n").into_bytes();
    recording.extend_from_slice(line);
    let (_, events, error) = read(&recording).unwrap();
    assert_eq!(events.len(), 1, "what came before the error is kept");
    error.unwrap().to_string()
}

#[test]
fn a_wrong_header_is_named_for_what_it_is() {
    let v1 = "this is an asciicast v1 recording; only v2 can be read, \
              and `asciinema convert` makes one";
    let v3 = "this is an asciicast v3 recording; only v2 can be read, \
              and `asciinema convert` makes one";
    let table = [
        ("", "the recording is empty; its first line must be an asciicast v2 header"),
        ("\n \n", "the recording is empty; its first line must be an asciicast v2 header"),
        ("{\"version\":1,\"width\":80,\"height\":24,\"stdout\":[[0.1,\"x\"]]}", v1),
        ("{\"stdout\": []}\n", v1),
        ("{\n  \"version\": 1,\n  \"width\": 80,\n  \"stdout\": [\n", v1),
        ("{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n", v3),
        ("{\"version\": 12}\n", "the header has the version 12; expected \"version\": 2"),
        ("{\"version\": \"2\"}\n", "the header has the version \"2\"; expected \"version\": 2"),
        ("{\"width\": 80}\n", "the header has no version; expected \"version\": 2"),
        ("[0.1, \"o\", \"x\"]\n", "line 1: expected the header, an object, but found an array"),
        ("\n\n7\n", "line 3: expected the header, an object, but found a number"),
        ("hello\n", "line 1, column 1: not valid JSON: expected value"),
        ("{\n\"version\": 2\n}\n", "line 1, column 1: not valid JSON: EOF while parsing an object"),
        ("{\n\"version\": 10\n", "line 1, column 1: not valid JSON: EOF while parsing an object"),
        ("{\"version\": 2, \"wi", "line 1: the recording breaks off in the middle of this line"),
    ];
    for (recording, message) in table {
        assert_eq!(header_complaint(recording), message, "{recording:?}");
    }
}

#[test]
fn a_wrong_field_of_the_header_is_named() {
    let size = "a whole number from 1 to 65535";
    let table = [
        ("\"height\":24", format!("\"width\" must be {size}, but it is missing")),
        ("\"width\":80", format!("\"height\" must be {size}, but it is missing")),
        ("\"width\":0,\"height\":24", format!("\"width\" must be {size}, but it is 0")),
        ("\"width\":80,\"height\":65536", format!("\"height\" must be {size}, but it is 65536")),
        ("\"width\":-1,\"height\":24", format!("\"width\" must be {size}, but it is -1")),
        ("\"width\":80.5,\"height\":24", format!("\"width\" must be {size}, but it is 80.5")),
        ("\"width\":\"80\",\"height\":1", format!("\"width\" must be {size}, but it is \"80\"")),
        ("\"width\":[80],\"height\":1", format!("\"width\" must be {size}, but it is an array")),
        (
            "\"width\":80,\"height\":24,\"timestamp\":\"now\"",
            "\"timestamp\" must be a whole number, but it is \"now\"".to_owned(),
        ),
        (
            "\"width\":80,\"height\":24,\"idle_time_limit\":-2",
            "\"idle_time_limit\" must be a number of seconds that is not negative, but it is -2"
                .to_owned(),
        ),
        (
            "\"width\":80,\"height\":24,\"title\":true",
            "\"title\" must be text, but it is true".to_owned(),
        ),
        (
            "\"width\":80,\"height\":24,\"env\":{\"A\":1}",
            "\"env\" must be an object of texts, but it is an object".to_owned(),
        ),
    ];
    for (fields, message) in table {
        let recording = format!("{{\"version\":2,{fields}}}\n");
        assert_eq!(header_complaint(&recording), format!("the header's {message}"));
    }
}

#[test]
fn a_wrong_event_is_named_with_its_line() {
    let table: &[(&[u8], &str)] = &[
        (b"x\n", ", column 1: not valid JSON: expected value"),
        (b"[1, \"o\", \"x\"\n", ", column 12: not valid JSON: EOF while parsing a list"),
        (b"[1, \"o\", \"x\"] []\n", ", column 15: not valid JSON: trailing characters"),
        (b"[1, \"o\", \"\xff\"]\n", ", column 11: not valid UTF-8"),
        (b"[1, \"o\", \"\xe2\x82\"]", ", column 11: not valid UTF-8"),
        (b"[1e999, \"o\", \"x\"]\n", ", column 6: not valid JSON: number out of range"),
        (b"[NaN, \"o\", \"x\"]\n", ", column 2: not valid JSON: expected value"),
        (b"{\"a\": 1}\n", ": expected an event, [time, code, data], but found an object"),
        (b"null\n", ": expected an event, [time, code, data], but found null"),
        (b"\"o\"\n", ": expected an event, [time, code, data], but found text"),
        (b"[]\n", ": an event has 3 parts, [time, code, data], but this one has 0"),
        (b"[1, \"o\"]\n", ": an event has 3 parts, [time, code, data], but this one has 2"),
        (
            b"[1, \"o\", \"x\", 2]\n",
            ": an event has 3 parts, [time, code, data], but this one has 4",
        ),
        (
            b"[\"1\", \"o\", \"x\"]\n",
            ": the time of an event must be a number of seconds, but it is text",
        ),
        (
            b"[null, \"o\", \"x\"]\n",
            ": the time of an event must be a number of seconds, but it is null",
        ),
        (b"[-0.5, \"o\", \"x\"]\n", ": the time of an event must not be negative, but it is -0.5"),
        (b"[1, 2, \"x\"]\n", ": the code of an event must be text, but it is a number"),
        (b"[1, \"o\", [2]]\n", ": the data of an event must be text, but it is an array"),
        (b"[1, \"m\", true]\n", ": the data of an event must be text, but it is a boolean"),
        (b"[1, \"o\", \"x\"", ": the recording breaks off in the middle of this line"),
        (b"[1, \"o\", \"\xe2\x82", ": the recording breaks off in the middle of this line"),
    ];
    for (line, message) in table {
        let shown = String::from_utf8_lossy(line);
        assert_eq!(complaint(line), format!("line 3{message}"), "{shown:?}");
    }
}

#[test]
fn a_wrong_size_in_a_resize_is_quoted() {
    let wrong =
        ["", "80", "80x", "x24", "0x24", "80x0", "65536x24", "80X24", "+80x24", "8 x2", "1x2x3"];
    for size in wrong {
        assert_eq!(
            complaint(format!("[1, \"r\", \"{size}\"]\n").as_bytes()),
            format!(
                "line 3: the size in a resize event must look like \"80x24\", each number from 1 \
                 to 65535, but it is \"{size}\""
            )
        );
    }
    let long = format!("[1, \"r\", \"{}\"]\n", "9".repeat(100_000));
    assert!(complaint(long.as_bytes()).len() < 200);
}

#[test]
fn a_last_line_may_break_off_at_any_byte() {
    let line = "[1.25e1, \"o\", \"a\\\"\\u001b\\ud83d\\ude00é漢\"]";
    for end in 1..line.len() {
        let mut recording = MINIMAL.as_bytes().to_vec();
        recording.extend_from_slice(&line.as_bytes()[..end]);
        let (_, _, error) = read(&recording).unwrap();
        assert!(matches!(error, Some(Error::Truncated { line: 2 })), "{end}: {error:?}");
    }
    assert_eq!(events(format!("{MINIMAL}{line}").as_bytes()).len(), 1);
    for end in 1..MINIMAL.len() - 1 {
        let error = read(&MINIMAL.as_bytes()[..end]).unwrap_err();
        assert!(matches!(error, Error::Truncated { line: 1 }), "{end}: {error:?}");
    }
}

#[test]
fn a_line_without_end_is_given_up() {
    let endless = std::io::BufReader::new(std::io::repeat(b'['));
    let error = RecordingReader::new(endless).unwrap_err();
    assert!(matches!(error, Error::LineTooLong { line: 1, limit: MAX_HEADER }));

    let mut recording = format!("{MINIMAL}[1, \"o\", \"").into_bytes();
    recording.resize(recording.len() + MAX_LINE, b'x');
    let (_, events, error) = read(&recording).unwrap();
    assert!(events.is_empty());
    assert_eq!(
        error.unwrap().to_string(),
        "line 2: longer than 16777216 bytes; is this a recording?"
    );
}

#[test]
fn a_long_old_recording_on_one_line_is_still_recognised() {
    let recording = format!("{{\"version\": 1, \"stdout\": [{}", "[0.1, \"x\"], ".repeat(100_000));
    assert!(recording.len() > MAX_HEADER);
    assert!(matches!(read(recording.as_bytes()), Err(Error::Version1)));
}

#[test]
fn a_line_of_exactly_the_limit_is_read() {
    let frame = "[1, \"o\", \"\"]\n".len();
    for (extra, good) in [(0, true), (1, false)] {
        let text = "x".repeat(MAX_LINE - frame + extra);
        let recording = format!("{MINIMAL}[1, \"o\", \"{text}\"]\n");
        let (_, events, _) = read(recording.as_bytes()).unwrap();
        assert_eq!(events.len() == 1, good);
    }
}

#[test]
fn deep_nesting_overflows_nothing() {
    let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
    let ignored = format!("{MINIMAL}[1, \"z\", {open}{close}]\n");
    let other = EventData::Other { code: "z".to_owned(), data: None };
    assert_eq!(events(ignored.as_bytes()), [event(1.0, other)]);
    let header = format!("{{\"version\": {open}");
    assert!(header_complaint(&header).contains("recursion limit exceeded"));
}
