//! Looking closer: at one task, at what its agent does, at what waits for a person and what was
//! decided.

use std::path::PathBuf;

use coven_model::event::Decision;
use coven_model::{
    AttemptId, Intervention, InterventionId, Mode, PlanView, SessionId, TaskId, TaskStatus,
    Verdict, Work,
};
use coven_runner::{AgentRunner, HeadlessRunner};
use coven_store::BaseDir;

use super::Orchestrator;
use crate::engine::{Found, Runner, SessionController};
use crate::error::RequestError;
use crate::state::{PastSession, decided, spec_of, standing};

/// The newest attempt of a task.
#[derive(Clone, Debug)]
pub struct TaskAccess {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its folder, with the tape of what it printed once it was launched.
    pub folder: PathBuf,
    /// Its agent's type, or `shell` for a command.
    pub adapter: String,
    /// With a terminal or without.
    pub mode: Mode,
    /// The agent, while it runs on a terminal.
    pub agent: Option<AgentRunner>,
    /// The agent or command, while it runs without one.
    pub headless: Option<HeadlessRunner>,
    /// Where the task stands.
    pub status: TaskStatus,
}

impl TaskAccess {
    fn of(mut found: Found) -> Self {
        let spec = match &found.standing.spec {
            Some(spec) => Some(spec.as_ref().clone()),
            None => spec_of(&mut found.reader, &found.standing.job),
        };
        let (adapter, mode) = match spec.map(|spec| spec.work) {
            Some(Work::Agent(agent)) => (agent.adapter, agent.mode),
            Some(Work::Shell(_)) | None => ("shell".to_owned(), Mode::Headless),
        };
        let (agent, headless) = match found.runner {
            Some(Runner::Agent(agent)) => (Some(agent), None),
            Some(Runner::Headless(headless)) => (None, Some(headless)),
            None => (None, None),
        };
        let (attempt, status) = (found.standing.job, found.standing.status);
        Self { attempt, folder: found.folder, adapter, mode, agent, headless, status }
    }

    /// The same from the disk alone, of a session that nobody follows.
    pub(crate) fn past(
        base: &BaseDir,
        id: &SessionId,
        task: &TaskId,
    ) -> Result<Self, RequestError> {
        let past = PastSession::read(base, id)?;
        let standing = standing(past.state(), task)?;
        let folder = base.attempt_path(id, &standing.job);
        Ok(Self::of(Found { standing, folder, runner: None, reader: past.reader()? }))
    }
}

impl Orchestrator {
    /// The newest attempt of a task, of a session that is live or over.
    pub async fn task(&self, id: &SessionId, task: &TaskId) -> Result<TaskAccess, RequestError> {
        let live = match self.controller(id).await {
            Some(controller) => match controller.task(task).await {
                // It has just left the memory.
                Err(RequestError::Closing | RequestError::NotLive(_)) => None,
                found => Some(found?),
            },
            None => None,
        };
        match live {
            Some(found) => Ok(TaskAccess::of(found)),
            None => TaskAccess::past(&self.shared.manager.base(), id, task),
        }
    }

    /// What the agents of a session that run on a terminal are doing, by task.
    pub async fn verdicts(&self, id: &SessionId) -> Vec<(AttemptId, Verdict)> {
        match self.controller(id).await {
            Some(controller) => controller.verdicts().await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// The plan of a session with the status of everything; nothing if there is no such session or
    /// it cannot be read.
    pub async fn plan_view(&self, id: &SessionId) -> Option<PlanView> {
        if let Some(controller) = self.controller(id).await
            && let Ok(plan) = controller.plan().await
        {
            return plan;
        }
        self.past(id).ok()?.plan()
    }

    /// Everything that waits for a person, in all sessions, the oldest first.
    pub async fn interventions(&self) -> Vec<Intervention> {
        let controllers = self.shared.controllers.read().await;
        let mut open: Vec<Intervention> =
            controllers.values().flat_map(SessionController::interventions).collect();
        drop(controllers);
        open.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        open
    }

    /// What had to be decided in a session and is not open any more, in the order in which it came
    /// up, also what rules decided. Without a decision it was withdrawn. Nothing if there is no
    /// such session or it cannot be read.
    pub async fn decided(&self, id: &SessionId) -> Vec<(Intervention, Option<Decision>)> {
        if let Some(controller) = self.controller(id).await
            && let Ok(mut reader) = controller.reader().await
        {
            let open: Vec<InterventionId> =
                controller.interventions().into_iter().map(|asked| asked.id).collect();
            return decided(&mut reader, &open).unwrap_or_default();
        }
        self.past(id).map(|past| past.decided()).unwrap_or_default()
    }
}
