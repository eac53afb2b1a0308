//! What people want of a session: to end it, to try again, to decide, to talk to its agents.

use coven_model::event::InterventionDecision;
use coven_model::{
    AttemptId, ContentDigest, InterventionChoice, InterventionId, InterventionKind, SessionId,
    TaskId,
};
use coven_runner::{AgentRunner, Message};
use coven_workflow::SessionInput;
use coven_workflow::state::RefusalReason;

use super::Orchestrator;
use crate::engine::{Runner, SessionController};
use crate::error::RequestError;

impl Orchestrator {
    /// Hands an input to its session. A session that is over answers from the disk, unless the
    /// input is admitted.
    pub(super) async fn input(
        &self,
        id: &SessionId,
        input: SessionInput,
    ) -> Result<(), RequestError> {
        loop {
            let Some(controller) = self.controller(id) else {
                self.past(id).await?.state().admits(&input)?;
                self.attend(id, None).await?;
                continue;
            };
            let answered = controller.input(input.clone()).await;
            if let Some(answered) = self.unless_left(&controller, answered).await {
                return answered;
            }
        }
    }

    /// What a session answered; nothing if it left the memory before it did, and is to be asked
    /// again.
    pub(super) async fn unless_left<T>(
        &self,
        controller: &SessionController,
        answered: Result<T, RequestError>,
    ) -> Option<Result<T, RequestError>> {
        match answered {
            Err(RequestError::Closing | RequestError::NotLive(_)) if !self.is_closing() => {
                controller.gone().await;
                None
            }
            answered => Some(answered),
        }
    }

    /// Ends a session: nothing new starts, its agents are stopped, then it is cancelled.
    pub async fn cancel(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        self.input(id, SessionInput::Cancel { by: by.to_owned(), why: why.to_owned() }).await
    }

    /// Tries a failed or blocked step again. A session that is over goes on in the environment it
    /// was [resumed](Self::resume) with.
    pub async fn retry(&self, id: &SessionId, by: &str, why: &str) -> Result<(), RequestError> {
        let run = self.snapshot(id).await?.state().run().map_or(0, |run| run.retries);
        self.input(id, SessionInput::Retry { run, by: by.to_owned(), why: why.to_owned() }).await
    }

    /// Says that an interactive task is done.
    pub async fn complete_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        self.input(id, SessionInput::Complete { task: task.clone(), by: by.to_owned() }).await
    }

    /// Stops the agent of a task; the task has failed then. One that was left alive on purpose is
    /// stopped too, and its task stays done.
    pub async fn stop_task(
        &self,
        id: &SessionId,
        task: &TaskId,
        by: &str,
    ) -> Result<(), RequestError> {
        self.input(id, SessionInput::StopTask { task: task.clone(), by: by.to_owned() }).await
    }

    /// Decides an intervention. `digest` is what the decider saw, where it is about a screen.
    pub async fn answer(
        &self,
        intervention: &InterventionId,
        decision: InterventionDecision,
        digest: Option<ContentDigest>,
    ) -> Result<(), RequestError> {
        let session = intervention.session();
        let intervention = intervention.clone();
        let input = SessionInput::Resolve { intervention, decision: Box::new(decision), digest };
        self.input(&session, input).await
    }

    /// The agent of a task, to look at and to type to.
    pub fn agent(&self, id: &SessionId, task: &TaskId) -> Result<AgentRunner, RequestError> {
        Ok(self.running_agent(id, task)?.1)
    }

    fn running_agent(
        &self,
        id: &SessionId,
        task: &TaskId,
    ) -> Result<(AttemptId, AgentRunner), RequestError> {
        let controller = self.controller(id).ok_or_else(|| RequestError::NotLive(id.clone()))?;
        let found = controller.snapshot().task(task)?;
        match found.runner {
            Some(Runner::Agent(agent)) => Ok((found.attempt, agent)),
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
        if let Some(turn) = self.ended_turn(id, task) {
            let decision = InterventionDecision::new(InterventionChoice::Send, by).with_text(text);
            match self.answer(&turn, decision, None).await {
                // Another answer was faster, or the agent went on: it is a message like any other.
                Err(RequestError::Refused(RefusalReason::NoIntervention(_))) => {}
                other => return other,
            }
        }
        let (job, agent) = self.running_agent(id, task)?;
        agent.send(Message::new(text)).await?;
        let (text, by) = (text.to_owned(), by.to_owned());
        self.input(id, SessionInput::Typed { job, text, by }).await
    }

    /// The intervention that says that the turn of a task's agent is over.
    fn ended_turn(&self, id: &SessionId, task: &TaskId) -> Option<InterventionId> {
        let snapshot = self.controller(id)?.snapshot();
        let mut turns =
            snapshot.interventions().filter(|asked| asked.kind == InterventionKind::EndedTurn);
        turns.find(|asked| asked.task.as_ref() == Some(task)).map(|asked| asked.id.clone())
    }

    /// Interrupts what the agent of a task is doing, with the keys of its adapter.
    pub async fn interrupt(&self, id: &SessionId, task: &TaskId) -> Result<(), RequestError> {
        self.agent(id, task)?.interrupt().await;
        Ok(())
    }
}
