//! The lines of every recording of a real program: each as it stood on the screen, each once.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use coven_terminal::recording::{EventData, RecordingReader};
use coven_terminal::sanitise::strip;
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::screen_log::ScreenLog;
use coven_terminal::snapshot::ScreenSnapshot;

fn recordings() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut found = Vec::new();
    for folder in ["agents", "recordings"] {
        for kind in fs::read_dir(fixtures.join(folder)).unwrap().map(Result::unwrap) {
            let Ok(files) = fs::read_dir(kind.path()) else { continue };
            found.extend(files.map(|file| file.unwrap().path()));
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "cast"));
    found.sort();
    found
}

/// What a recording showed.
struct Shown {
    log: Vec<String>,
    /// The last picture that was not empty.
    last: Vec<String>,
    /// Every line that stood on the screen at some time, without blanks around it.
    ever: BTreeSet<String>,
    /// How often a line stood on the screen at one time, at most.
    most: HashMap<String, usize>,
    /// What was printed without its escape sequences, to compare with.
    stream: String,
}

impl Shown {
    fn of(path: &Path) -> Self {
        let reader = RecordingReader::new(BufReader::new(fs::File::open(path).unwrap())).unwrap();
        let size = GridSize::new(reader.header().width, reader.header().height);
        let (mut log, mut screen) = (ScreenLog::new(size), Screen::new(size));
        let (mut last, mut ever, mut most) = (Vec::new(), BTreeSet::new(), HashMap::new());
        let mut stream = String::new();
        for event in reader {
            match event.unwrap().data {
                EventData::Output(text) => {
                    log.feed(text.as_bytes());
                    stream += &strip(text.as_bytes());
                    // The look at the screen is at the end of each frame, as a person's is, and
                    // at each line of a program that has none.
                    for piece in text.split_inclusive(['l', '\n']) {
                        screen.feed(piece.as_bytes());
                        if screen.modes().synchronized {
                            continue;
                        }
                        let lines = told(&screen.snapshot());
                        for line in &lines {
                            let count = lines.iter().filter(|other| *other == line).count();
                            let most = most.entry(line.clone()).or_default();
                            *most = count.max(*most);
                        }
                        ever.extend(lines.iter().cloned());
                        if !lines.is_empty() {
                            last = lines;
                        }
                    }
                }
                EventData::Resize { cols, rows } => {
                    log.resize(GridSize::new(cols, rows));
                    screen.resize(GridSize::new(cols, rows));
                }
                _ => {}
            }
        }
        Self { log: log.lines_from(0).lines, last, ever, most, stream }
    }
}

/// The lines with text of a screen.
fn told(snapshot: &ScreenSnapshot) -> Vec<String> {
    let lines = snapshot.lines().map(|line| line.text.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Whether a line has words: frames and rules are the same everywhere.
fn has_words(line: &str) -> bool {
    line.chars().filter(|letter| letter.is_alphanumeric()).count() >= 8
}

#[test]
fn every_line_of_a_recording_stood_on_the_screen() {
    let recordings = recordings();
    assert!(recordings.len() > 50, "{}", recordings.len());
    for path in recordings {
        let shown = Shown::of(&path);
        for line in &shown.log {
            let line = line.trim();
            assert!(line.is_empty() || shown.ever.contains(line), "{path:?}: {line:?}");
        }
    }
}

#[test]
fn the_log_of_a_recording_ends_with_what_it_showed_last() {
    for path in recordings() {
        let shown = Shown::of(&path);
        let log: Vec<&str> = shown.log.iter().map(|line| line.trim()).collect();
        for line in &shown.last {
            assert!(log.contains(&line.as_str()), "{path:?}: {line:?} is missing in {log:#?}");
        }
    }
}

/// Programs say the same words in several turns, so some lines are there more often than they stood
/// on the screen at one time: these are counted and bounded, because painting alone would make
/// them many times as many.
#[test]
fn lines_of_a_recording_are_not_there_again_because_they_were_painted_again() {
    let (mut all, mut repeated, mut by_stream) = (0, 0, 0);
    for path in recordings() {
        let shown = Shown::of(&path);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for line in shown.log.iter().filter(|line| has_words(line)) {
            *counts.entry(line.trim()).or_default() += 1;
            all += 1;
        }
        for (line, count) in counts {
            repeated += count.saturating_sub(shown.most.get(line).copied().unwrap_or(0).max(1));
        }
        by_stream += shown.stream.lines().filter(|line| has_words(line)).count();
    }
    assert!(all > 1000, "{all}");
    assert!(repeated * 10 < all, "{repeated} of {all} lines; by the stream {by_stream}");
}
