//! Journals of real runs as the material of forged ones: what the real binary wrote in another
//! home, so that a change of the format changes the forgery too.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use super::script;
use crate::home::Home;

/// The command of the runs, which a forger replaces.
pub(super) const COMMAND: &str = "true PLANTED";
/// The same in the run that fails.
pub(super) const FAILING_COMMAND: &str = "false PLANTED";

/// Where a planted session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It was made and has not begun.
    Pending,
    /// Its script was started.
    Running,
    /// A gate in front of its script waits for a person.
    Blocked,
    /// Its script failed, and could be tried again.
    Failed,
    Completed,
}

impl Stage {
    pub(super) const ALL: [Self; 5] =
        [Self::Pending, Self::Running, Self::Blocked, Self::Failed, Self::Completed];
}

/// What a real run left on the disk.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) base_dir: String,
    /// The JSON of each line of the journal.
    pub(super) journal: Vec<String>,
}

/// A run that ended at a stage. Runs are made once for all tests of this process.
pub(super) fn recorded(stage: Stage) -> Recorded {
    static COMPLETED: OnceLock<Recorded> = OnceLock::new();
    static BLOCKED: OnceLock<Recorded> = OnceLock::new();
    static FAILED: OnceLock<Recorded> = OnceLock::new();
    let whole = match stage {
        Stage::Pending | Stage::Running | Stage::Completed => {
            COMPLETED.get_or_init(|| record(&script("one", COMMAND), 0))
        }
        Stage::Blocked => BLOCKED.get_or_init(|| {
            let gate = "  - {name: look, type: gate, message: Look at it.}\n";
            record(&format!("{gate}{}", script("one", COMMAND)), 3)
        }),
        Stage::Failed => FAILED.get_or_init(|| record(&script("one", FAILING_COMMAND), 1)),
    };
    let last = match stage {
        Stage::Pending => Some("session.created"),
        Stage::Running => Some("task.started"),
        Stage::Blocked | Stage::Failed | Stage::Completed => None,
    };
    let mut cut = whole.clone();
    if let Some(last) = last {
        let is_last = |line: &String| {
            let fact: Value = serde_json::from_str(line).unwrap();
            fact["type"] == last
        };
        let place = whole.journal.iter().position(is_last).unwrap();
        cut.journal.truncate(place + 1);
    }
    cut
}

/// Runs steps in a home of their own that is gone afterwards.
fn record(steps: &str, code: i32) -> Recorded {
    let home = Home::new();
    home.run(steps, &[]).code(code);
    let page = home.coven(&["ls", "--json"]).ok().json();
    let text = |key: &str| page["workflows"][0][key].as_str().unwrap().to_owned();
    let sessions = home.path("project/.coven/sessions");
    Recorded {
        journal: lines(&sessions.join(text("id")).join("journal.jsonl")),
        id: text("id"),
        name: text("name"),
        base_dir: text("baseDir"),
    }
}

/// The JSON of each line of a file whose lines are framed.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.rsplit_once('\t').unwrap().0.to_owned()).collect()
}

/// Lines with their checksums.
pub(super) fn framed(lines: &[String]) -> String {
    lines.iter().map(|json| format!("{json}\t{:08x}\n", crc32(json.as_bytes()))).collect()
}

/// CRC-32 as in gzip and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn the_forger_computes_the_checksums_of_real_journals() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
