//! Checks that hold for any input. Tests run them over generated streams and recordings, fuzz
//! targets over whatever they find. Each panics where the promise is broken.

#![expect(clippy::missing_panics_doc, reason = "to panic is what a check is for")]

use std::io::{BufRead, BufReader};

use coven_terminal::recording::{
    EventData, RecordingEvent, RecordingHeader, RecordingReader, RecordingWriter,
};
use coven_terminal::sanitise::{LineStripper, SequenceStripper, strip};
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_terminal::signals::{SignalTap, TerminalSignal};

use crate::random::Random;

/// Stands in an input for "resize here": the next two bytes are the size.
const RESIZE: u8 = 0xfe;

/// Cuts an input into chunks of one to a few dozen bytes.
fn chunks<'a>(random: &mut Random, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let limit = if random.below(2) == 0 { 3 } else { 40 };
        let (chunk, after) = rest.split_at(rest.len().min(1 + random.below(limit)));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// A seed that depends on the input alone.
fn seed(bytes: &[u8]) -> Random {
    let sum = bytes
        .iter()
        .fold(bytes.len() as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    Random::new(sum)
}

/// Stripping gives the same for every split, is clean, and stripping again changes nothing; so
/// does line mode.
pub fn sanitise(bytes: &[u8]) {
    let mut random = seed(bytes);
    let whole = strip(bytes);
    let mut split = String::new();
    let mut stripper = SequenceStripper::new();
    for chunk in chunks(&mut random, bytes) {
        stripper.feed(chunk, |run| split.push_str(run));
    }
    stripper.finish(|run| split.push_str(run));
    assert_eq!(whole, split, "splitting changes nothing");
    let unclean = |char: char| char.is_control() && !matches!(char, '\n' | '\t' | '\r');
    assert!(!whole.contains(unclean), "no control is left");
    assert_eq!(whole, strip(whole.as_bytes()), "clean text stays");

    let line_mode = |chunks: &[&[u8]]| {
        let mut text = String::new();
        let mut liner = LineStripper::new();
        for chunk in chunks {
            liner.feed(chunk, |run| text.push_str(run));
        }
        liner.finish(|run| text.push_str(run));
        text
    };
    let lines = line_mode(&[bytes]);
    assert_eq!(lines, line_mode(&chunks(&mut random, bytes)), "splitting changes no line");
    assert!(!lines.contains(|char| unclean(char) || char == '\r'), "lines are clean");
    assert_eq!(lines, line_mode(&[lines.as_bytes()]), "clean lines stay");
}

/// The tap gives the same signals for every split, and nothing with control characters in it.
pub fn signals(bytes: &[u8]) {
    let mut random = seed(bytes);
    let tapped = |chunks: &[&[u8]]| {
        let mut signals = Vec::new();
        let mut tap = SignalTap::new();
        for chunk in chunks {
            tap.feed(chunk, |signal| signals.push(signal));
        }
        signals
    };
    let whole = tapped(&[bytes]);
    assert_eq!(whole, tapped(&chunks(&mut random, bytes)), "splitting changes nothing");
    for signal in &whole {
        let text = match signal {
            TerminalSignal::Title(text)
            | TerminalSignal::Directory(text)
            | TerminalSignal::Link { uri: text, .. } => text,
            TerminalSignal::Notification { body, .. } => body,
            _ => continue,
        };
        assert!(!text.contains(char::is_control), "{signal:?} is clean");
    }
}

/// One thing done to a screen.
enum ScreenStep<'a> {
    Feed(&'a [u8]),
    Resize(GridSize),
}

impl ScreenStep<'_> {
    fn run(&self, screen: &mut Screen) {
        match self {
            Self::Feed(bytes) => screen.feed(bytes),
            Self::Resize(size) => screen.resize(*size),
        }
    }
}

/// Reads an input as a size and a number of steps.
fn steps(bytes: &[u8]) -> (GridSize, Vec<ScreenStep<'_>>) {
    let small = |columns: u8, rows: u8| {
        // In less than four columns a wide character can be the whole of a wrapped row.
        GridSize::new(4 + u16::from(columns) % 48, 2 + u16::from(rows) % 12)
    };
    let [columns, rows, rest @ ..] = bytes else { return (GridSize::default(), Vec::new()) };
    let mut steps = Vec::new();
    let mut rest = rest;
    while let Some(at) = rest.iter().position(|byte| *byte == RESIZE) {
        steps.push(ScreenStep::Feed(&rest[..at]));
        rest = &rest[at + 1..];
        if let [columns, rows, after @ ..] = rest {
            steps.push(ScreenStep::Resize(small(*columns, *rows)));
            rest = after;
        }
    }
    steps.push(ScreenStep::Feed(rest));
    (small(*columns, *rows), steps)
}

fn new_screen(size: GridSize) -> Screen {
    // Without history: what stands above the screen is not part of a dump.
    Screen::with_options(&Options { size, history: 0, ..Options::default() })
}

/// A screen is the same for every split of its input, and a dump taken anywhere brings a new
/// screen to a state that looks the same, goes on the same and has the same main screen behind
/// the alternate one.
pub fn screen(bytes: &[u8]) {
    let mut random = seed(bytes);
    let (size, steps) = steps(bytes);
    let mut whole = new_screen(size);
    let mut split = new_screen(size);
    let mut resumed = new_screen(size);
    let resume_at = random.below(steps.len().max(1));
    for (index, step) in steps.iter().enumerate() {
        step.run(&mut whole);
        match step {
            ScreenStep::Feed(bytes) => {
                let chunks = chunks(&mut random, bytes);
                let dump_at = random.below(chunks.len().max(1));
                for (at, chunk) in chunks.iter().enumerate() {
                    split.feed(chunk);
                    resumed.feed(chunk);
                    if index == resume_at && at == dump_at {
                        resumed = resume(resumed);
                    }
                }
            }
            ScreenStep::Resize(size) => {
                split.resize(*size);
                resumed.resize(*size);
            }
        }
        assert_eq!(whole.snapshot(), split.snapshot(), "splitting changes nothing");
    }
    assert_eq!(whole.take_replies(), split.take_replies(), "splitting changes no answer");
    assert_eq!(whole.take_signals(), split.take_signals(), "splitting changes no signal");
    assert_eq!(whole.snapshot(), resumed.snapshot(), "a resumed screen goes on the same");
    resume(whole);
}

/// A new screen from a dump of this one, found to look the same.
pub fn resume(mut screen: Screen) -> Screen {
    let dump = screen.dump();
    let mut fresh = new_screen(screen.size());
    fresh.feed(&dump);
    fresh.take_replies();
    fresh.take_signals();
    let (before, after) = (screen.snapshot(), fresh.snapshot());
    if before != after {
        for (row, (old, new)) in before.rows().iter().zip(after.rows()).enumerate() {
            assert_eq!(old, new, "row {row} of {:?}", String::from_utf8_lossy(&dump));
        }
        assert_eq!(before.cursor(), after.cursor(), "{:?}", String::from_utf8_lossy(&dump));
        assert_eq!(before, after, "{:?}", String::from_utf8_lossy(&dump));
    }
    let again = fresh.dump();
    assert_eq!(
        String::from_utf8_lossy(&dump),
        String::from_utf8_lossy(&again),
        "a dump of the resumed screen is the same, main screen included"
    );
    fresh
}

/// Reading any bytes as a recording gives the same events or the same error however they arrive,
/// and recording any bytes in any pieces gives back their text.
pub fn recording(bytes: &[u8]) {
    let read = |input: &mut dyn BufRead| -> (Vec<RecordingEvent>, Option<String>) {
        let mut events = Vec::new();
        let reader = match RecordingReader::new(input) {
            Ok(reader) => reader,
            Err(error) => return (events, Some(error.to_string())),
        };
        for event in reader {
            match event {
                Ok(event) => events.push(event),
                Err(error) => return (events, Some(error.to_string())),
            }
        }
        (events, None)
    };
    let whole = read(&mut &bytes[..]);
    assert_eq!(whole, read(&mut BufReader::with_capacity(1, bytes)), "splitting changes nothing");

    let mut random = seed(bytes);
    let text = recorded(&chunks(&mut random, bytes));
    assert_eq!(text, String::from_utf8_lossy(bytes), "what is recorded is what was written");
}

/// The output in a recording of these chunks.
#[expect(clippy::expect_used, reason = "a recording in memory that fails is the finding")]
fn recorded(chunks: &[&[u8]]) -> String {
    let mut writer = RecordingWriter::new(Vec::new(), &RecordingHeader::new(80, 24))
        .expect("a header is written");
    for (time, chunk) in (0_u32..).zip(chunks) {
        writer.output(f64::from(time) / 1000.0, chunk).expect("output is written");
    }
    let file = writer.finish().expect("the end is written");
    let reader = RecordingReader::new(file.as_slice()).expect("our own header is read");
    reader
        .map(|event| match event.expect("our own event is read").data {
            EventData::Output(text) => text,
            other => panic!("only output was written, not {other:?}"),
        })
        .collect()
}
