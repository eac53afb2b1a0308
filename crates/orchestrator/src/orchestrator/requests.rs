//! What people want of a session: to end it, to try again, to decide, to talk to its agents.

use std::sync::atomic::Ordering;

use coven_model::event::Decision;
use coven_model::{Choice, Digest, InterventionId, InterventionKind, SessionId, TaskId};
use coven_runner::{AgentRunner, Message};
use coven_workflow::Input;
use coven_workflow::state::Refused;

use super::Orchestrator;
use crate::engine::Runner;
use crate::error::RequestError;

impl Orchestrator {
    /// Hands a wish to its session. One that is over answers from the disk, unless the wish is to
    /// be fulfilled.
    pub(super) async fn input(&self, id: &SessionId, input: Input) -> Result<(), RequestError> {
        loop {
            let Some(controller) = self.controller(id).await else {
                self.past(id)?.state().admits(&input)?;
                self.attend(id, None).await?;
                continue;
            };
            match controller.input(input.clone()).await {
                // It has just left the memory.
                Err(RequestError::Closing | RequestError::NotLive(_))
                    if !self.shared.closing.load(Ordering::Relaxed) =>
                {
                    controller.gone().await;
                }
                other => return other,
            }
        }
    }

    /// Ends a session: nothing new starts, its agents are stopped, then it is cancelled.
    pub async fn cancel(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        self.input(id, Input::Cancel { by: by.to_owned(), why: why.to_owned() }).await
    }

    /// Tries a failed or blocked step again. A session that is over goes on in the environment it
    /// was [resumed](Self::resume) with.
    pub async fn retry(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        let run = self.view(id).await?.map_or(0, |view| view.retries);
        self.input(id, Input::Retry { run, by: by.to_owned(), why: why.to_owned() }).await
    }

    /// Says that an interactive task is done.
    pub async fn complete_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        self.input(id, Input::Complete { task: task.clone(), by: by.to_owned() }).await
    }

    /// Stops the agent of a task; the task has failed then. One that was left alive on purpose is
    /// stopped too, and its task stays done.
    pub async fn stop_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        self.input(id, Input::StopTask { task: task.clone(), by: by.to_owned() }).await
    }

    /// Decides an intervention. `digest` is what the decider saw, where it is about a screen.
    pub async fn answer(
        &self,
        intervention: &InterventionId,
        decision: Decision,
        digest: Option<Digest>,
    ) -> Result<(), RequestError> {
        let session = intervention.session();
        let intervention = intervention.clone();
        let input = Input::Resolve { intervention, decision: Box::new(decision), digest };
        self.input(&session, input).await
    }

    /// The agent of a task, to look at and to type to.
    pub async fn agent(&self, id: &SessionId, task: &TaskId) -> Result<AgentRunner, RequestError> {
        let controller = self.controller(id).await;
        let controller = controller.ok_or_else(|| RequestError::NotLive(id.clone()))?;
        match controller.task(task).await?.runner {
            Some(Runner::Agent(agent)) => Ok(agent),
            Some(Runner::Headless(_)) => Err(RequestError::NotInteractive(task.clone())),
            None => Err(RequestError::NoAgent(task.clone())),
        }
    }

    /// Says something to an interactive agent, and comes back when it is verified that the agent
    /// works on it. Where the session waits because the agent's turn is over, this is the decision
    /// to send: it comes back when that is written down, and the message is on its way then.
    pub async fn send(
        &self,
        id: &SessionId,
        task: &TaskId,
        text: &str,
        by: &str,
    ) -> Result<(), RequestError> {
        if let Some(turn) = self.ended_turn(id, task).await {
            let decision = Decision::new(Choice::Send, by).with_text(text);
            match self.answer(&turn, decision, None).await {
                // Somebody was faster, or the agent went on: it is a message like any other.
                Err(RequestError::Refused(Refused::NoIntervention(_))) => {}
                other => return other,
            }
        }
        let controller = self.controller(id).await;
        let controller = controller.ok_or_else(|| RequestError::NotLive(id.clone()))?;
        let found = controller.task(task).await?;
        let agent = match found.runner {
            Some(Runner::Agent(agent)) => agent,
            Some(Runner::Headless(_)) => return Err(RequestError::NotInteractive(task.clone())),
            None => return Err(RequestError::NoAgent(task.clone())),
        };
        agent.send(Message::new(text)).await?;
        let (job, text, by) = (found.standing.job, text.to_owned(), by.to_owned());
        self.input(id, Input::Typed { job, text, by }).await
    }

    /// The intervention that says that the turn of a task's agent is over.
    async fn ended_turn(&self, id: &SessionId, task: &TaskId) -> Option<InterventionId> {
        let open = self.controller(id).await?.interventions().into_iter();
        let mut turns = open.filter(|asked| asked.kind == InterventionKind::EndedTurn);
        turns.find(|asked| asked.task.as_ref() == Some(task)).map(|asked| asked.id)
    }

    /// Interrupts what the agent of a task is doing, with the keys of its adapter.
    pub async fn interrupt(&self, id: &SessionId, task: &TaskId) -> Result<(), RequestError> {
        self.agent(id, task).await?.interrupt().await;
        Ok(())
    }
}
