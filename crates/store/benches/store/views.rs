//! Writing views of several sizes, beside a bare write to a new file and a rename.

use std::fs;
use std::io;
use std::time::Duration;

use coven_store::{OpenFolder, View};
use serde_json::{Value, json};

use crate::{FACT_TIME, Plan, least};

/// What writing a view took.
pub(crate) struct Written {
    pub(crate) bytes: usize,
    pub(crate) raw: Duration,
    pub(crate) view: Duration,
}

/// How many entries the history of each view has.
const HISTORIES: [usize; 3] = [10, 300, 5000];

/// So many writes are measured together.
const WRITES_PER_SAMPLE: usize = 20;

fn view(history: usize) -> Value {
    let entry = json!({"seq": 7, "time": 1_700_000_000_000_u64, "type": "workflow.step.completed",
        "step": "build", "text": "all tests pass, three files changed"});
    json!({"goal": "mend the tests", "status": "running", "history": vec![entry; history]})
}

pub(crate) fn measure(plan: &Plan) -> io::Result<Vec<Written>> {
    HISTORIES.iter().map(|history| written(plan, *history)).collect()
}

fn written(plan: &Plan, history: usize) -> io::Result<Written> {
    let directory = tempfile::tempdir()?;
    let folder = OpenFolder::open(directory.path()).map_err(io::Error::other)?;
    let content = view(history);
    let mut writer = View::new(&folder).map_err(io::Error::other)?;
    let view = least(plan.rounds, || {
        (0..WRITES_PER_SAMPLE as u64)
            .try_for_each(|seq| writer.write(&content, seq, FACT_TIME).map_err(io::Error::other))
    })?;
    let bytes = fs::read(directory.path().join("session.json"))?;
    let (draft, path) = (directory.path().join("raw.new"), directory.path().join("raw"));
    let raw = least(plan.rounds, || {
        (0..WRITES_PER_SAMPLE).try_for_each(|_| {
            fs::write(&draft, &bytes)?;
            fs::rename(&draft, &path)
        })
    })?;
    let each = |all: Duration| all / WRITES_PER_SAMPLE as u32;
    Ok(Written { bytes: bytes.len(), raw: each(raw), view: each(view) })
}
