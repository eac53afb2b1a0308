//! Opening a journal, reading all its facts, and finding one of them, by its length.

use std::fs;
use std::io;
use std::time::Duration;

use coven_model::{AttemptId, SessionEvent, TaskId, TaskStatus, Timestamp};
use coven_store::{BaseDir, Session};

use crate::{FACT_TIME, Plan, authority, id, least};

/// What one journal took.
pub(crate) struct Replay {
    pub(crate) facts: usize,
    pub(crate) bytes: u64,
    /// Reading the file and nothing else.
    pub(crate) file: Duration,
    /// Checking every line, as opening does.
    pub(crate) open: Duration,
    /// Making every fact, as recovering does after opening.
    pub(crate) read: Duration,
    /// Making the last ten facts, as a subscriber who comes back does.
    pub(crate) last: Duration,
}

pub(crate) fn measure(plan: &Plan) -> io::Result<Vec<Replay>> {
    plan.journals.iter().map(|facts| replay(plan, *facts)).collect()
}

/// The facts of a task, over and over.
fn fact(number: usize) -> io::Result<SessionEvent> {
    let task = TaskId::new(format!("build.{}", number % 50)).map_err(io::Error::other)?;
    let job = AttemptId { task, attempt: 1 };
    let at = Timestamp::from_millis(FACT_TIME.as_millis() + number as u64);
    Ok(match number % 4 {
        0 => SessionEvent::TaskStatus { job, status: TaskStatus::Running, seen: number as u64 },
        1 => SessionEvent::StepSkipped {
            step: "build".to_owned(),
            index: 3,
            reason: "the condition `tests.ok` is false".to_owned(),
            at,
        },
        2 => SessionEvent::InputQueued {
            job,
            number: 1,
            text: "Now run the tests again, and fix what fails. ".repeat(4),
            seen: number as u64,
            by: None,
        },
        _ => SessionEvent::WorkflowStarted { at },
    })
}

fn replay(plan: &Plan, facts: usize) -> io::Result<Replay> {
    let directory = tempfile::tempdir()?;
    let base = BaseDir::create(directory.path()).map_err(io::Error::other)?;
    let id = id(1)?;
    let mut session = Session::create(&base, &authority(&base), &id).map_err(io::Error::other)?;
    let all: Vec<SessionEvent> = (0..facts).map(fact).collect::<io::Result<_>>()?;
    for batch in all.chunks(500) {
        session.append(FACT_TIME, batch).map_err(io::Error::other)?;
    }
    let (bytes, path) = (session.journal_bytes(), session.path().join("journal.jsonl"));
    drop(session);
    let open = || Session::open(&base, &authority(&base), &id).map_err(io::Error::other);
    let opened = least(plan.rounds, open)?;
    let session = open()?;
    let from = |seq: usize| {
        let mut reader = session.reader();
        let read = reader.read_all::<SessionEvent>(seq as u64).map_err(io::Error::other)?;
        assert_eq!(read.len(), facts + 1 - seq, "the journal is not as it was written");
        Ok(read)
    };
    Ok(Replay {
        facts,
        bytes,
        file: least(plan.rounds, || fs::read(&path))?,
        open: opened,
        read: least(plan.rounds, || from(1))?,
        last: least(plan.rounds, || from(facts - 9))?,
    })
}
