//! Looking closer: at one task, at what its agent does, at what waits for a person and what was
//! decided.

use std::path::PathBuf;

use coven_model::event::InterventionDecision;
use coven_model::{
    AgentMode, AttemptId, Intervention, InterventionId, SessionId, TaskId, TaskStatus,
};
use coven_runner::{AgentRunner, HeadlessRunner};
use coven_store::session::ReadOnlySession;

use super::Orchestrator;
use crate::engine::{Runner, SessionController, log_file};
use crate::error::RequestError;
use crate::snapshot::TaskSnapshot;
use crate::state::blocking::blocking;
use crate::state::{PastSession, decided, start_of};

/// The newest attempt of a task.
#[derive(Clone, Debug)]
pub struct TaskAccess {
    /// The id of the attempt within its session.
    pub attempt: AttemptId,
    /// Its folder, with the tape of what it printed once it was launched. Empty if it lies where we
    /// cannot look, as that of a foreign session.
    pub folder: PathBuf,
    /// The readable log in the folder of the session, for people.
    pub log: PathBuf,
    /// Its agent's type, or `shell` for a command.
    pub adapter: String,
    /// With a terminal or without.
    pub mode: AgentMode,
    /// The agent, while it runs on a terminal.
    pub agent: Option<AgentRunner>,
    /// The agent or command, while it runs without one.
    pub headless: Option<HeadlessRunner>,
    /// Where the task stands.
    pub status: TaskStatus,
}

impl TaskAccess {
    pub(crate) fn new(task: TaskSnapshot, look: &ReadOnlySession) -> Self {
        let TaskSnapshot { attempt, place, status, adapter, mode, runner, queued: _, doing: _ } =
            task;
        // The jobs of a foreign session lie nowhere; an empty path has no tape.
        let folder = look.attempt_path(place, &attempt).unwrap_or_default();
        let log = look.path().join(log_file(&attempt));
        let (agent, headless) = match runner {
            Some(Runner::Agent(agent)) => (Some(agent), None),
            Some(Runner::Headless(headless)) => (None, Some(headless)),
            None => (None, None),
        };
        Self { attempt, folder, log, adapter, mode, agent, headless, status }
    }
}

/// The folder of an attempt where the fact of its start says it lies. Waits on the disk.
pub(super) fn attempt_folder(
    look: &ReadOnlySession,
    attempt: &AttemptId,
) -> Result<Option<PathBuf>, RequestError> {
    let started = start_of(&mut look.reader()?, attempt);
    let path = started.and_then(|started| look.attempt_path(started.place, attempt));
    Ok(path.filter(|path| path.is_dir()))
}

impl Orchestrator {
    /// The newest attempt of a task, of a session that is live or over.
    pub async fn task(&self, id: &SessionId, task: &TaskId) -> Result<TaskAccess, RequestError> {
        let found = self.snapshot(id).await?.task(task)?;
        let (manager, id) = (self.shared.manager.clone(), id.clone());
        blocking(move || Ok(TaskAccess::new(found, &manager.look(&id)?))).await
    }

    /// The folder of an attempt of a session that is live or over, where the fact of its start says
    /// it lies; none if it was not started, or is not there.
    pub async fn attempt_folder(
        &self,
        id: &SessionId,
        attempt: &AttemptId,
    ) -> Result<Option<PathBuf>, RequestError> {
        let (manager, id, attempt) = (self.shared.manager.clone(), id.clone(), attempt.clone());
        blocking(move || attempt_folder(&manager.look(&id)?, &attempt)).await
    }

    /// Everything that waits for a person, in all sessions, the oldest first.
    pub fn interventions(&self) -> Vec<Intervention> {
        let controllers = self.shared.controllers.all();
        let snapshots = controllers.iter().map(SessionController::snapshot);
        let mut open: Vec<Intervention> = snapshots
            .flat_map(|snapshot| snapshot.interventions().cloned().collect::<Vec<_>>())
            .collect();
        open.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        open
    }

    /// What had to be decided in a session and is not open any more, in the order in which it came
    /// up, also what rules decided. Without a decision it was withdrawn. Nothing if there is no
    /// such session or it cannot be read.
    pub async fn decided(
        &self,
        id: &SessionId,
    ) -> Vec<(Intervention, Option<InterventionDecision>)> {
        if let Some(controller) = self.controller(id) {
            let (mut reader, snapshot) = (controller.reader(), controller.snapshot());
            return blocking(move || {
                let open: Vec<InterventionId> =
                    snapshot.interventions().map(|asked| asked.id.clone()).collect();
                decided(&mut reader, &open).unwrap_or_default()
            })
            .await;
        }
        let (manager, id) = (self.shared.manager.clone(), id.clone());
        blocking(move || {
            let past = manager.look(&id).map_err(RequestError::from).and_then(PastSession::read);
            past.map(|past| past.decided()).unwrap_or_default()
        })
        .await
    }
}
