//! What a run left: in its journal and view, on its tapes, and with those who did the work. Two
//! runs that went the same way leave the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coven_model::event::SessionEvent;
use coven_model::{AttemptId, SessionView, TaskId, TaskStatus, WorkflowStatus};
use coven_store::BaseDir;
use coven_store::session::ReadOnlySession;
use coven_tape::{TapeEvent as Taped, TapeReader as Tape, TapeStream};
use serde_json::{Map, Value};

use super::keeper::{Place, wait_until};
use crate::support::processes_of;

/// What a run left, without what is different each time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proof {
    status: WorkflowStatus,
    tasks: BTreeMap<TaskId, TaskStatus>,
    variables: Map<String, Value>,
    /// The steps, in the order in which they were completed.
    completed: Vec<String>,
    /// The attempts that ended, each as often as it did.
    ended: Vec<AttemptId>,
    /// Every command that a script or gate ran.
    pub(super) commands: Vec<String>,
    /// What each agent was told, as it remembers it.
    pub(super) prompts: Vec<Vec<String>>,
    /// The lines that tasks left.
    log: Vec<String>,
    /// What was on the tape of each script and gate.
    printed: BTreeMap<AttemptId, String>,
    /// What was left where scripts put their temporary files.
    temporary: Vec<String>,
}

impl Proof {
    /// The lines that tasks left, in no order.
    pub(super) fn log(&self) -> &[String] {
        &self.log
    }

    pub(super) fn status(&self) -> WorkflowStatus {
        self.status
    }

    /// The same without what depends on which of several steps is done first.
    pub(super) fn in_any_order(mut self) -> Self {
        self.completed.sort_unstable();
        self
    }

    /// Collects it, and checks on the way what must hold in any case.
    pub(super) fn collect(place: &Place, after: &str) -> Self {
        let sessions = place.sessions();
        assert_eq!(sessions.len(), 1, "after {after}");
        let view = view(place);
        assert_eq!(view.errors, [], "after {after}");
        // A holder whose job ended while no client was connected takes a moment to go.
        let what = format!("the end of every process, after {after}");
        wait_until(&what, || processes_of(&view.session_id).is_empty());

        let mut variables = view.variables.clone();
        let folder = variables.remove("folder");
        let folder = folder.as_ref().and_then(Value::as_str).unwrap_or("no folder").to_owned();
        let plain = |text: &str| text.replace(&folder, "FOLDER");
        let facts = facts(place, &view);
        let mut proof = Self {
            status: view.status,
            tasks: view.task_status,
            variables,
            completed: completed(&facts),
            ended: ended(&facts),
            commands: lines(&place.commands(), '\0'),
            prompts: prompts(&place.conversations(), plain),
            log: lines(&place.base().join("log.txt"), '\n'),
            printed: BTreeMap::new(),
            temporary: names(&place.temporary()),
        };
        for (attempt, shell) in started(&facts) {
            let number = attempt.attempt.to_string();
            let jobs = crate::support::state_of(place.base()).join("jobs");
            let folder = jobs.join(view.session_id.as_str()).join(attempt.task.as_str());
            let folder = folder.join(number);
            let printed = tape(&folder, after);
            if shell {
                proof.printed.insert(attempt, plain(&printed));
            }
        }
        let counted = std::fs::read_to_string(place.base().join("counted.txt"));
        if let (Ok(counted), Ok(task)) = (counted, TaskId::new("count")) {
            let attempt = AttemptId { task, attempt: 1 };
            assert_eq!(proof.printed.get(&attempt), Some(&counted), "bytes, after {after}");
        }
        proof
    }
}

/// All facts of the one session of a place.
pub(super) fn all_facts(place: &Place) -> Vec<SessionEvent> {
    facts(place, &view(place))
}

fn view(place: &Place) -> SessionView {
    let sessions = place.sessions();
    let text = std::fs::read(sessions[0].join("session.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn facts(place: &Place, view: &SessionView) -> Vec<SessionEvent> {
    let base = BaseDir::find(place.base()).unwrap().unwrap();
    let authority = crate::support::authority_of(place.base());
    let look = ReadOnlySession::open(&base, &authority, &view.session_id).unwrap();
    let mut reader = look.reader().unwrap();
    reader.read_all::<SessionEvent>(1).unwrap().into_iter().map(|record| record.fact).collect()
}

fn completed(facts: &[SessionEvent]) -> Vec<String> {
    let steps = facts.iter().filter_map(|fact| match fact {
        SessionEvent::StepCompleted { step, .. } => Some(step.clone()),
        _ => None,
    });
    steps.collect()
}

fn ended(facts: &[SessionEvent]) -> Vec<AttemptId> {
    let mut attempts: Vec<AttemptId> = facts
        .iter()
        .filter_map(|fact| match fact {
            SessionEvent::TaskEnded(ended) => Some(ended.job.clone()),
            _ => None,
        })
        .collect();
    attempts.sort();
    attempts
}

/// The attempts that were started, and whether each is a command.
fn started(facts: &[SessionEvent]) -> Vec<(AttemptId, bool)> {
    let starts = facts.iter().filter_map(|fact| match fact {
        SessionEvent::TaskStarted(started) => {
            let shell = matches!(started.spec.work, coven_model::JobWork::Shell(_));
            Some((started.spec.job.attempt.clone(), shell))
        }
        _ => None,
    });
    starts.collect()
}

fn lines(path: &Path, end: char) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> =
        text.split(end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What each agent says it was told.
fn prompts(folder: &Path, plain: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // Beside each stands what was said, which a process that is killed has not written whole.
    let files = files.filter(|path| path.extension().is_none_or(|kind| kind != "jsonl"));
    let files: Vec<PathBuf> = files.collect();
    let mut all: Vec<Vec<String>> = files
        .iter()
        .map(|file| {
            let told: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let prompts = told["prompts"].as_array().unwrap();
            assert_eq!(told["turns"], prompts.len());
            prompts.iter().map(|prompt| plain(prompt.as_str().unwrap())).collect()
        })
        .collect();
    all.sort_unstable();
    all
}

/// Everything on the tape of an attempt that ended, every byte of it checked and accounted for.
fn tape(folder: &Path, after: &str) -> String {
    let place = format!("{} after {after}", folder.display());
    let report = coven_tape::verify(folder).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(report.problems, [], "{place}");
    assert_eq!((report.lost, report.dropped), (0, 0), "{place}");
    let exit: Value = serde_json::from_slice(
        &std::fs::read(folder.join("exit.json")).unwrap_or_else(|error| panic!("{place}: {error}")),
    )
    .unwrap();
    assert_eq!(exit["output"], report.output, "{place}");
    let mut text = Vec::new();
    for record in Tape::open(folder).unwrap().records(0) {
        if let Taped::Output { stream: TapeStream::Out, bytes } = record.unwrap().event {
            text.extend(bytes);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
