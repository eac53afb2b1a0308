//! The recordings of the real programs: what stood on the screen at every marker, as written down
//! beside them by another emulator, and what the programs signalled.

use std::fs;
use std::io::BufReader;
use std::path::Path;

use coven_terminal::recording::{EventData, RecordingReader};
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::signals::{SignalTap, TerminalSignal};
use coven_testkit::{checks, recordings};

/// A moment in a recording, as it is written down beside it.
#[derive(Debug, PartialEq, Eq)]
struct Moment {
    name: String,
    alternate: bool,
    cursor: (u16, u16),
    visible: bool,
    title: String,
    text: String,
}

fn reader(path: &Path) -> RecordingReader<BufReader<fs::File>> {
    RecordingReader::new(BufReader::new(fs::File::open(path).unwrap())).unwrap()
}

/// Plays a recording and looks at the screen at every marker.
fn play(path: &Path, mut look: impl FnMut(&str, &mut Screen)) -> Screen {
    let reader = reader(path);
    let header = reader.header();
    let mut screen = Screen::new(GridSize::new(header.width, header.height));
    for event in reader {
        match event.unwrap().data {
            EventData::Output(text) => screen.feed(text.as_bytes()),
            EventData::Resize { cols, rows } => screen.resize(GridSize::new(cols, rows)),
            EventData::Marker(name) => look(&name, &mut screen),
            EventData::Input(_) | EventData::Other { .. } => {}
        }
    }
    screen
}

/// `=== name | t=… alt=True cursor=(1,2) visible=True title='…' ===`, then the screen.
fn written_down(path: &Path) -> Vec<Moment> {
    let file = fs::read_to_string(path.with_extension("screen.txt")).unwrap();
    let mut moments: Vec<Moment> = Vec::new();
    for line in file.lines().skip(1) {
        if let Some(head) = line.strip_prefix("=== ").and_then(|line| line.strip_suffix(" ===")) {
            let (name, rest) = head.split_once(" | ").unwrap();
            let after = |key: &str| rest.split_once(key).unwrap().1;
            let (row, column) =
                after("cursor=(").split_once(')').unwrap().0.split_once(',').unwrap();
            moments.push(Moment {
                name: name.to_owned(),
                alternate: after("alt=").starts_with("True"),
                cursor: (row.parse().unwrap(), column.parse().unwrap()),
                visible: after("visible=").starts_with("True"),
                title: after("title=").trim_matches(['\'', '"']).to_owned(),
                text: String::new(),
            });
        } else if let Some(moment) = moments.last_mut() {
            moment.text.push_str(line);
            moment.text.push('\n');
        }
    }
    for moment in &mut moments {
        moment.text = trimmed(&moment.text);
    }
    moments
}

/// The notes have no blanks of any kind at the end of a row, and no empty rows at the end.
fn trimmed(text: &str) -> String {
    let rows: Vec<&str> = text.lines().map(str::trim_end).collect();
    rows.join("\n").trim_end().to_owned()
}

#[test]
fn the_screen_at_every_marker_is_the_one_written_down() {
    let mut seen = 0;
    for path in recordings::all() {
        let mut expected = written_down(&path).into_iter();
        play(&path, |name, screen| {
            let snapshot = screen.snapshot();
            let cursor = snapshot.cursor();
            let found = Moment {
                name: name.to_owned(),
                alternate: snapshot.modes().alternate_screen,
                // The notes count a pending wrap as one column further.
                cursor: (cursor.row + 1, cursor.column + 1 + u16::from(cursor.pending_wrap)),
                visible: cursor.visible,
                title: snapshot.title().to_owned(),
                text: trimmed(&snapshot.text()),
            };
            assert_eq!(Some(found), expected.next(), "{}", path.display());
            seen += 1;
        });
        assert_eq!(expected.next(), None, "{}", path.display());
    }
    assert!(seen > 50, "only {seen} markers");
}

#[test]
fn a_dump_at_every_marker_gives_an_equal_screen() {
    let mut seen = 0;
    for path in recordings::all() {
        let end = play(&path, |_, screen| {
            let dump = screen.dump();
            let mut fresh = Screen::new(screen.size());
            fresh.feed(&dump);
            assert_eq!(screen.snapshot(), fresh.snapshot(), "{}", path.display());
            seen += 1;
        });
        checks::resume(end);
    }
    assert!(seen > 50, "only {seen} markers");
}

#[test]
fn the_signals_of_every_recording_are_the_ones_written_down() {
    for path in recordings::all() {
        let mut tap = SignalTap::new();
        let mut titles = Vec::new();
        let mut statuses = 0;
        for event in reader(&path) {
            if let EventData::Output(text) = event.unwrap().data {
                tap.feed(text.as_bytes(), |signal| match signal {
                    TerminalSignal::Title(title) => titles.push(title),
                    TerminalSignal::Status(_) | TerminalSignal::StatusQuery => statuses += 1,
                    _ => {}
                });
            }
        }
        let file = fs::read_to_string(path.with_extension("signals.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&file).unwrap();
        let payloads = |osc: &str| -> Vec<String> {
            let entries = json["osc"][osc].as_array().cloned().unwrap_or_default();
            entries.iter().map(|entry| entry[1].as_str().unwrap().to_owned()).collect()
        };
        let expected: Vec<String> =
            payloads("0").iter().map(|payload| payload["0;".len()..].to_owned()).collect();
        // The notes have a title that is set twice only once.
        titles.dedup();
        assert_eq!(titles, expected, "{}", path.display());
        assert_eq!(statuses, payloads("7501").len(), "{}", path.display());
    }
}

#[test]
fn every_check_holds_on_every_recording() {
    for path in recordings::all() {
        let mut bytes = vec![76, 6];
        for event in reader(&path) {
            if let EventData::Output(text) = event.unwrap().data {
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        checks::sanitise(&bytes);
        checks::signals(&bytes);
        checks::screen(&bytes);
        checks::recording(&bytes);
    }
}
