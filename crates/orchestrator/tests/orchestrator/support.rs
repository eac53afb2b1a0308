//! What the tests of this crate share: a base directory of their own, and waiting for events.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{
    Intervention, InterventionChoice, InterventionKind, SessionId, SessionView, WorkflowStatus,
};
use coven_notation::TrustedFiles;
use coven_orchestrator::{
    EventSubscription, NewSession, Options, Orchestrator, ProjectTrust, PublishedEvent,
};
use coven_runtime::processes;
use coven_store::{AuthorityPlaces, SessionAuthority};
use coven_testkit::files::files_below;
use coven_testkit::programs::TestProgram;
use tempfile::TempDir;

/// Longer than anything here takes on a loaded machine; only a failure waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// The program that is the demo agent and the holder.
pub(crate) fn program() -> PathBuf {
    TestProgram::Agent.path()
}

/// What a base directory brings along now, as its user agrees to it.
pub(crate) fn agreed(base: &Path) -> ProjectTrust {
    let files = TrustedFiles::new(base, base, files_below(base));
    ProjectTrust { files: Some(Arc::new(files)), unchanged: true }
}

/// A base directory of its own.
pub(crate) struct Base {
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl Base {
    pub(crate) fn new() -> Self {
        let folder = coven_testkit::folders::temporary().unwrap();
        let base = Self::within(&folder);
        Self { _folder: Some(folder), ..base }
    }

    /// One below a folder that outlives it, so that a test may delete it.
    pub(crate) fn within(parent: &TempDir) -> Self {
        let path = parent.path().join("base");
        std::fs::create_dir(&path).unwrap();
        Self { path, _folder: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in the state folder where more is kept about this base directory.
    pub(crate) fn state(&self) -> PathBuf {
        let mut bases = std::fs::read_dir(state_of(&self.path).join("bases")).unwrap();
        bases.next().unwrap().unwrap().path()
    }

    /// The folder of an attempt of a task.
    pub(crate) fn attempt(&self, id: &SessionId, task: &str, number: u32) -> PathBuf {
        let jobs = state_of(&self.path).join("jobs").join(id.as_str());
        jobs.join(task).join(number.to_string())
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new(self.path(), state_of(self.path()), program());
        options.default_adapter = Some("demo".to_owned());
        options
    }

    pub(crate) async fn open(&self) -> Orchestrator {
        Orchestrator::open(self.options()).await.unwrap()
    }

    /// A small environment, with everything the agents keep in the base directory.
    pub(crate) fn env(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::from([
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), self.path().into()),
            ("COVEN_DEMO_HOME".into(), self.path().join("demo-state").into()),
            ("TMPDIR".into(), self.path().into()),
        ])
    }

    pub(crate) fn definition(&self, text: &str) -> NewSession {
        NewSession { env: self.env(), ..NewSession::of_definition("test.yaml", text) }
    }

    pub(crate) fn grimoire(&self, name: &str) -> NewSession {
        NewSession { env: self.env(), ..NewSession::of_grimoire(name) }
    }
}

/// The state folder that belongs to a base directory of these tests: it lies beside it.
pub(crate) fn state_of(base: &Path) -> PathBuf {
    base.with_file_name("state")
}

/// What seals the sessions of a base directory of these tests.
pub(crate) fn authority_of(base: &Path) -> SessionAuthority {
    SessionAuthority::open(&AuthorityPlaces::in_state(&state_of(base))).unwrap()
}

/// Deletes a folder while a session writes to it.
pub(crate) fn delete(folder: &Path) {
    let begun = std::time::Instant::now();
    while let Err(error) = std::fs::remove_dir_all(folder) {
        if error.kind() == std::io::ErrorKind::NotFound {
            return;
        }
        assert!(begun.elapsed() < DEADLINE, "{}: {error}", folder.display());
    }
}

/// Waits for the end of a session.
pub(crate) async fn end(orchestrator: &Orchestrator, id: &SessionId) -> SessionView {
    let controller = orchestrator.controller(id).unwrap();
    let waited = tokio::time::timeout(DEADLINE, controller.wait(false)).await;
    let view = controller.snapshot().view().cloned().unwrap();
    assert!(waited.is_ok(), "the session never ended: {view:#?}");
    assert_eq!(orchestrator.unheard_agents(), 0, "an agent waited and nobody was asked");
    view
}

/// Runs a definition to its end.
pub(crate) async fn run(base: &Base, text: &str) -> (Orchestrator, SessionId, SessionView) {
    let orchestrator = base.open().await;
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    (orchestrator, id, view)
}

/// The next fact that is wanted.
pub(crate) async fn fact<T>(
    events: &mut EventSubscription,
    what: &str,
    mut wanted: impl FnMut(&SessionEvent) -> Option<T>,
) -> T {
    let search = async {
        loop {
            let envelope = events.next().await.unwrap();
            let envelope = envelope.unwrap_or_else(|| panic!("the session closed before: {what}"));
            if let PublishedEvent::Fact { event, .. } = &envelope.what
                && let Some(found) = wanted(event)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.unwrap_or_else(|_| panic!("never came: {what}"))
}

pub(crate) async fn intervention(events: &mut EventSubscription) -> Intervention {
    fact(events, "an intervention", asked).await
}

/// The next intervention of a kind.
pub(crate) async fn intervention_of(
    events: &mut EventSubscription,
    kind: InterventionKind,
) -> Intervention {
    let what = format!("an intervention of the kind {kind:?}");
    fact(events, &what, |event| asked(event).filter(|asked| asked.kind == kind)).await
}

fn asked(event: &SessionEvent) -> Option<Intervention> {
    match event {
        SessionEvent::InterventionRequired { intervention, .. } => Some((**intervention).clone()),
        _ => None,
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, waited).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

/// Decides an intervention as a person would, who saw what it shows.
pub(crate) async fn decide(
    orchestrator: &Orchestrator,
    asked: &Intervention,
    choice: InterventionChoice,
) {
    let decision = InterventionDecision::new(choice, "a test");
    orchestrator.answer(&asked.id, decision, asked.digest.clone()).await.unwrap();
}

/// All facts of a session by their type.
pub(crate) async fn kinds(orchestrator: &Orchestrator, id: &SessionId) -> Vec<String> {
    let controller = orchestrator.controller(id).unwrap();
    let mut events = controller.subscribe(0).unwrap();
    let mut kinds = Vec::new();
    loop {
        let envelope = events.next().await.unwrap().unwrap();
        if let PublishedEvent::Fact { event, .. } = &envelope.what {
            kinds.push(event.kind().to_owned());
            let last = ["workflow.completed", "workflow.failed", "workflow.cancelled"];
            if last.contains(&event.kind()) {
                return kinds;
            }
        }
    }
}

/// Everything that runs and carries a job of this session in its environment, wherever it came from.
pub(crate) fn processes_of(id: &SessionId) -> Vec<(u32, String)> {
    let wanted = format!("{}={id}/", processes::JOB_VARIABLE).into_bytes();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(&wanted))
    };
    let line = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).replace('\0', " "))
    };
    pids.filter(carries).map(line).collect()
}

/// Nothing of a session runs any more.
pub(crate) fn nothing_left(id: &SessionId, view: &SessionView) {
    for task in view.task_status.keys() {
        for attempt in 1..4 {
            let job = format!("{id}/{task}/{attempt}");
            assert_eq!(processes::of_job(&job), [], "{job} is still there");
        }
    }
    assert_ne!(view.status, WorkflowStatus::Running);
}
