//! Planting a session: a valid journal that no daemon of this home wrote, whose script leaves a
//! marker behind if it is ever run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::journal::{COMMAND, FAILING_COMMAND, Stage, framed, recorded};
use super::{holds_within, script};
use crate::home::Home;

/// How long a planted command is waited for when something else went wrong already, to say in
/// the failure whether it ran.
const RAN_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Planted {
    pub(super) id: String,
    pub(super) name: String,
    /// The folder of the session.
    pub(super) folder: PathBuf,
    /// The file that its script makes.
    pub(super) marker: PathBuf,
}

impl Planted {
    /// Plants a session with an id and a name of its own into a folder. Its marker lies outside.
    pub(super) fn new(home: &Home, base_dir: &Path, stage: Stage) -> Self {
        let number = next_number();
        Self::with_id(home, base_dir, stage, &new_id(number), &format!("sly-magpie-{number}"))
    }

    /// The same with the id and the name of another session.
    pub(super) fn with_id(
        home: &Home,
        base_dir: &Path,
        stage: Stage,
        id: &str,
        name: &str,
    ) -> Self {
        let recorded = recorded(stage);
        let marker = home.path(&format!("marker-{}", next_number()));
        let command = format!("touch {}", marker.display());
        let forged = |line: &String| {
            line.replace(&recorded.id, id)
                .replace(&recorded.name, name)
                .replace(&recorded.base_dir, base_dir.to_str().unwrap())
                .replace(FAILING_COMMAND, &command)
                .replace(COMMAND, &command)
        };
        let journal: Vec<String> = recorded.journal.iter().map(forged).collect();
        assert!(journal.concat().contains(&command), "the command is not in the journal");
        let folder = base_dir.join(".coven/sessions").join(id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("journal.jsonl"), framed(&journal)).unwrap();
        Self { id: id.to_owned(), name: name.to_owned(), folder, marker }
    }

    /// Writes the folder's register of claims, in which a daemon keeps which sessions are to begin
    /// by themselves and which facts were not looked at for triggers.
    pub(super) fn write_claims(&self, line: &Value) {
        let lines = [json!({"coven": "claims.jsonl", "v": 1}).to_string(), line.to_string()];
        fs::write(self.folder.with_file_name("claims.jsonl"), framed(&lines)).unwrap();
    }

    /// Fails unless something holds, and says whether the planted command ran.
    #[track_caller]
    pub(super) fn expect(&self, holds: bool, expected: &str) {
        if holds {
            return;
        }
        let ran = holds_within(RAN_TIMEOUT, || self.marker.exists());
        let ran = if ran { "ran" } else { "did not run" };
        panic!("expected that {expected}; the planted command {ran}");
    }

    /// Fails unless a row of a listing says that this session is foreign and that nothing of it
    /// waits or runs.
    #[track_caller]
    pub(super) fn expect_foreign(&self, row: &Value) {
        let foreign = row["id"] == self.id.as_str() && row["foreign"] == true;
        self.expect(foreign, &format!("the session is listed as foreign: {row}"));
        let idle = row["waiting"] == 0 && row["running"] == 0;
        self.expect(idle, &format!("nothing of a foreign session waits or runs: {row}"));
    }

    /// Fails if the planted command ran. A run of the home goes all its way first, so that
    /// whatever was started before it has had its turn.
    #[track_caller]
    pub(super) fn expect_not_run(&self, home: &Home) {
        home.run(&script("barrier", "true"), &[]).ok();
        assert!(!self.marker.exists(), "the planted command ran");
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A UUID of version 7, which begins with the time.
fn new_id(number: u64) -> String {
    let millis = now();
    let (process, counter) = (std::process::id(), number & 0xfff);
    format!("{:08x}-{:04x}-7{counter:03x}-8000-{process:012x}", millis >> 16, millis & 0xffff)
}
