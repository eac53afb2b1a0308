//! Recordings for the tests of this crate: those of the real programs, and ones made on the spot.

use std::fmt::Write as _;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::replay::{ReplayEvent, expected, matches_mark, replay};
use coven_adapters::{ScreenRules, builtin, config};
use coven_model::{AgentState, AgentVerdict, AwaitingKind};
use coven_terminal::recording::{
    EventData, RecordingEvent, RecordingHeader, RecordingReader, RecordingWriter,
};

/// The rules of a built-in adapter.
pub(crate) fn rules(kind: &str) -> Arc<ScreenRules> {
    changed_rules(kind, "{}")
}

/// The rules of a built-in adapter with something laid over them.
pub(crate) fn changed_rules(kind: &str, change: &str) -> Arc<ScreenRules> {
    let json = |text: &str| serde_json::from_str(text).unwrap();
    let merged = config::merge(json(builtin::source(kind).unwrap()), json(change));
    Arc::new(ScreenRules::new(&serde_json::from_value(merged).unwrap()).unwrap())
}

/// A recording of a real program.
#[derive(Clone)]
pub(crate) struct Cast {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) size: (u16, u16),
    pub(crate) events: Vec<RecordingEvent>,
}

/// The recordings of all programs: the first ones, and the wider set that is only about agents.
pub(crate) fn all() -> Vec<Cast> {
    let casts = [below("recordings"), below("agents")].concat();
    assert!(casts.len() > 25, "only {} recordings", casts.len());
    casts
}

/// The screens of published versions of the programs.
pub(crate) fn drift() -> Vec<Cast> {
    below("drift")
}

/// The recordings in the folders of a folder of the fixtures.
fn below(folder: &str) -> Vec<Cast> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let entries = |path: &Path| -> Vec<PathBuf> {
        let mut entries: Vec<_> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries
    };
    let folders = entries(&fixtures.join(folder)).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder));
    files
        .filter(|path| path.extension().is_some_and(|end| end == "cast"))
        .map(|path| read(&path))
        .collect()
}

fn read(path: &Path) -> Cast {
    let reader = RecordingReader::new(BufReader::new(fs::File::open(path).unwrap())).unwrap();
    let header = reader.header();
    let word = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    Cast {
        kind: word(path.parent().unwrap()),
        name: word(path),
        size: (header.width, header.height),
        events: reader.map(Result::unwrap).collect(),
    }
}

impl Cast {
    /// An empty recording to be filled.
    pub(crate) fn new(kind: &str, columns: u16, rows: u16) -> Self {
        let name = "made here".to_owned();
        Self { kind: kind.to_owned(), name, size: (columns, rows), events: Vec::new() }
    }

    fn event(mut self, time: f64, data: EventData) -> Self {
        self.events.push(RecordingEvent { time, data });
        self
    }

    /// The program prints this.
    pub(crate) fn prints(self, time: f64, text: impl Into<String>) -> Self {
        self.event(time, EventData::Output(text.into()))
    }

    /// The program paints this over the whole screen, and puts the cursor behind it.
    pub(crate) fn paints(self, time: f64, screen: &str) -> Self {
        let screen = screen.trim_matches('\n').replace('\n', "\r\n");
        self.prints(time, format!("\x1b[H\x1b[2J{screen}"))
    }

    /// The program sets its title.
    pub(crate) fn title(self, time: f64, title: &str) -> Self {
        self.prints(time, format!("\x1b]0;{title}\x07"))
    }

    /// The program tells its status by OSC 7501.
    pub(crate) fn status(self, time: f64, status: &str) -> Self {
        self.prints(time, format!("\x1b]7501;{status}\x1b\\"))
    }

    pub(crate) fn typed(self, time: f64, text: &str) -> Self {
        self.event(time, EventData::Input(text.to_owned()))
    }

    /// The terminal gets another size.
    pub(crate) fn resized(self, time: f64, cols: u16, rows: u16) -> Self {
        self.event(time, EventData::Resize { cols, rows })
    }

    /// A mark that says nothing, to look at the verdict of this moment.
    pub(crate) fn mark(self, time: f64, label: &str) -> Self {
        self.event(time, EventData::Marker(label.to_owned()))
    }

    /// The recording as a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let header = RecordingHeader::new(self.size.0, self.size.1);
        let mut writer = RecordingWriter::new(Vec::new(), &header).unwrap();
        for RecordingEvent { time, data } in &self.events {
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

    /// Everything a replay with these rules tells.
    pub(crate) fn told(&self, rules: &Arc<ScreenRules>) -> Vec<ReplayEvent> {
        let mut all = Vec::new();
        replay(rules.clone(), self.to_bytes().as_slice(), |told| all.push(told)).unwrap();
        all
    }

    /// A replay with the rules of its own adapter.
    pub(crate) fn read(&self) -> History {
        self.read_by(&rules(&self.kind))
    }

    /// A replay with other rules.
    pub(crate) fn read_by(&self, rules: &Arc<ScreenRules>) -> History {
        let mut history = History { cast: self.name.clone(), ..History::default() };
        for told in self.told(rules) {
            match told {
                ReplayEvent::Verdict(time, verdict) => history.verdicts.push((time, verdict)),
                ReplayEvent::Painted(_, verdict) => {
                    history.verdicts.last_mut().unwrap().1 = verdict;
                }
                ReplayEvent::Mark(time, label) => {
                    let (_, verdict) = history.verdicts.last().unwrap();
                    history.marks.push((time, label, verdict.clone()));
                }
            }
        }
        history
    }
}

/// What a replay told.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) cast: String,
    pub(crate) verdicts: Vec<(Duration, AgentVerdict)>,
    /// Each mark with the verdict of its moment.
    pub(crate) marks: Vec<(Duration, String, AgentVerdict)>,
}

/// A state in one word, with what is awaited.
pub(crate) fn word(verdict: &AgentVerdict) -> String {
    match verdict.kind {
        Some(kind) => format!("{}:{kind}", verdict.state),
        None => verdict.state.to_string(),
    }
}

impl History {
    /// The states in their order, each in one word. A second question is a second word.
    pub(crate) fn words(&self) -> Vec<String> {
        self.verdicts.iter().map(|(_, verdict)| word(verdict)).collect()
    }

    /// The states at the marks.
    pub(crate) fn at_marks(&self) -> Vec<String> {
        self.marks.iter().map(|(_, _, verdict)| word(verdict)).collect()
    }

    pub(crate) fn end(&self) -> &AgentVerdict {
        &self.verdicts.last().unwrap().1
    }

    /// The digests of all questions, in their order.
    pub(crate) fn questions(&self) -> Vec<&str> {
        let digests = self.verdicts.iter().filter_map(|(_, verdict)| verdict.digest.as_ref());
        digests.map(coven_model::ContentDigest::as_str).collect()
    }

    /// How many marks speak of a state.
    pub(crate) fn meaningful(&self) -> usize {
        self.marks.iter().filter(|(_, label, _)| expected(label).is_some()).count()
    }

    /// The marks that were read differently, as lines of a table.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let wrong = self.marks.iter().filter_map(|(time, label, verdict)| {
            let wanted: (AgentState, Option<AwaitingKind>) = expected(label)?;
            (!matches_mark(verdict, wanted)).then(|| {
                let mut line = format!("{:<36} {:>8.2} s  ", self.cast, time.as_secs_f64());
                let evidence = &verdict.evidence;
                write!(
                    line,
                    "{label:<28} {:<20} by {}: {}",
                    word(verdict),
                    evidence.rule,
                    evidence.text
                )
                .ok();
                line
            })
        });
        wrong.collect()
    }
}
