//! A session that is only looked at: one that is over and that nobody holds in memory.

use std::sync::Arc;

use coven_model::event::{Decision, Event};
use coven_model::{
    AttemptId, Intervention, InterventionId, JobSpec, PlanView, SessionId, SessionView, TaskId,
    TaskStatus,
};
use coven_store::session::Look;
use coven_store::{BaseDir, Reader};
use coven_workflow::plan::StepAction;
use coven_workflow::state::Run;
use coven_workflow::view::{SessionViewBuilder, plan_view};
use coven_workflow::{State, fold};

use crate::error::RequestError;
use crate::event::Subscription;

/// A session as its journal tells it. It takes no lock and changes nothing.
#[derive(Debug)]
pub(crate) struct PastSession {
    look: Look,
    state: State,
    viewer: SessionViewBuilder,
    given_up: bool,
}

impl PastSession {
    pub(crate) fn read(base: &BaseDir, id: &SessionId) -> Result<Self, RequestError> {
        let look = Look::open(base, id)?;
        let (mut state, mut viewer, mut given_up) =
            (State::default(), SessionViewBuilder::default(), false);
        for record in look.reader()?.read_from::<Event>(1)? {
            let fact = record?.fact;
            state = fold(state, &fact);
            viewer.record(&fact);
            given_up |= matches!(fact, Event::SessionDeleted { .. });
        }
        Ok(Self { look, state, viewer, given_up })
    }

    /// Whether only its folder is there: it was given up, or it was never made.
    pub(crate) fn is_nothing(&self) -> bool {
        self.given_up || (self.state.run().is_none() && self.state.closed().is_none())
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn view(&mut self) -> Option<SessionView> {
        self.viewer.session(&self.state)
    }

    pub(crate) fn reader(&self) -> Result<Reader, RequestError> {
        Ok(self.look.reader()?)
    }

    pub(crate) fn plan(&self) -> Option<PlanView> {
        self.state.run().map(plan_view)
    }

    /// Everything that happened after a fact, and the end.
    pub(crate) fn subscribe(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<Subscription, RequestError> {
        // Nobody can send to this channel, so it ends once everything was read.
        let silence = tokio::sync::broadcast::channel(1).1;
        Ok(Subscription::new(id.clone(), self.reader()?, after, silence))
    }

    /// What had to be decided and is not open any more. What cannot be read is left out.
    pub(crate) fn decided(&self) -> Vec<(Intervention, Option<Decision>)> {
        let open = self.state.run().into_iter().flat_map(Run::interventions);
        let open: Vec<InterventionId> = open.map(|asked| asked.id.clone()).collect();
        self.reader().and_then(|mut reader| decided(&mut reader, &open)).unwrap_or_default()
    }
}

/// Where a task stands.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Its newest attempt.
    pub(crate) job: AttemptId,
    pub(crate) status: TaskStatus,
    /// What the attempt is, while it is live. Later the journal tells.
    pub(crate) spec: Option<Arc<JobSpec>>,
}

/// Where a task stands, if there is such a task and it was started.
pub(crate) fn standing(state: &State, task: &TaskId) -> Result<Standing, RequestError> {
    let unknown = || RequestError::NoTask { task: task.clone(), near: None };
    let run = state.run().ok_or_else(unknown)?;
    let Some(found) = run.task(task) else {
        let known = tasks(run);
        if known.contains(task) {
            return Err(RequestError::NotStarted(task.clone()));
        }
        let near = coven_notation::near(task.as_str(), known.iter().map(TaskId::as_str));
        let near = near.first().and_then(|near| TaskId::new(*near).ok());
        return Err(RequestError::NoTask { task: task.clone(), near });
    };
    Ok(Standing {
        job: found.job(),
        status: run.task_status(task).unwrap_or_default(),
        spec: found.live().map(|live| live.spec.clone()),
    })
}

/// The tasks that are known by name: those of stages from the beginning, others once they were
/// started.
fn tasks(run: &Run) -> Vec<TaskId> {
    let planned = run.identity.plan.steps.iter().flat_map(|step| match &step.action {
        StepAction::Stage { tasks } => tasks.iter().map(|task| task.id.clone()).collect(),
        _ => Vec::new(),
    });
    let started = run.steps.iter().flat_map(|step| step.tasks.iter().map(|task| task.id.clone()));
    planned.chain(started).collect()
}

/// What an attempt was asked to do.
pub(crate) fn spec_of(reader: &mut Reader, job: &AttemptId) -> Option<JobSpec> {
    let records = reader.read_from::<Event>(1).ok()?;
    records.map_while(Result::ok).find_map(|record| match record.fact {
        Event::TaskStarted(started) if started.spec.job.attempt == *job => Some(started.spec),
        _ => None,
    })
}

/// What people or rules had to decide in a session, and what was decided; nothing where it was
/// withdrawn. What is still open is left out.
pub(crate) fn decided(
    reader: &mut Reader,
    open: &[InterventionId],
) -> Result<Vec<(Intervention, Option<Decision>)>, RequestError> {
    let mut past: Vec<(Intervention, Option<Decision>)> = Vec::new();
    for record in reader.read_from::<Event>(1)? {
        match record?.fact {
            Event::InterventionRequired { intervention, .. } => past.push((*intervention, None)),
            Event::InputDecided { intervention, decision, .. } => {
                past.push((*intervention, Some(*decision)));
            }
            Event::InterventionResolved { id, decision, .. } => {
                // The newest come last, and what is decided is mostly new.
                if let Some(asked) = past.iter_mut().rev().find(|(asked, _)| asked.id == id) {
                    asked.1 = Some(*decision);
                }
            }
            _ => {}
        }
    }
    past.retain(|(asked, _)| !open.contains(&asked.id));
    Ok(past)
}
