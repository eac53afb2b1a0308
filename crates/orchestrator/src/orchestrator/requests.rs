//! What people want of a session: to end it, to try again, to decide, to talk to its agents.

use std::time::Duration;

use coven_model::event::InterventionDecision;
use coven_model::{
    AgentMode, AttemptId, ContentDigest, Intervention, InterventionChoice, InterventionId,
    InterventionKind, SessionId, TaskId,
};
use coven_runner::{AgentReporter, AgentRunner, DeliveryError, HeadlessRunner, ReportRefused};
use coven_workflow::SessionInput;
use coven_workflow::state::RefusalReason;

use super::Orchestrator;
use crate::engine::{Runner, SessionController};
use crate::error::RequestError;
use crate::snapshot::SessionSnapshot;

/// How long the caller of a message waits for its arrival: less than a client waits for an answer.
const DELIVERY_REPORT_TIMEOUT: Duration = Duration::from_secs(50);

/// How long the caller of an answer waits for it to be taken: longer than its keys may take.
const ANSWER_REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often it is looked whether the agent that a message is for waits for a slot.
const QUEUE_LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How often it is looked whether the process of a headless agent is followed.
const START_LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How long a message waits for a task that has not been started.
const START_WAIT_TIME: Duration = Duration::from_secs(10);

/// What became of the texts of a job up to a number; nothing while one of them is on its way.
fn delivery_of(
    snapshot: &SessionSnapshot,
    job: &AttemptId,
    last: u32,
) -> Option<Result<bool, RequestError>> {
    let Some(live) = snapshot.state().run().and_then(|run| run.alive(job)) else {
        return Some(Err(RequestError::NotDelivered(DeliveryError::Ended)));
    };
    let Some(typing) = live.typing.as_ref().filter(|typing| typing.number <= last) else {
        return Some(Ok(true));
    };
    let number = typing.held?;
    // One before it waits for a decision. It is typed after that.
    if typing.number < last {
        return Some(Ok(false));
    }
    let intervention = InterventionId::in_session(snapshot.id(), number);
    let mut open = snapshot.interventions();
    let reason = open.find(|open| open.id == intervention).map(|open| open.reason.clone());
    Some(Err(RequestError::MessageHeld { intervention, reason: reason.unwrap_or_default() }))
}

/// Comes back when the agent of a task is seen to wait for a slot: it may be hours until another
/// agent ends, and the caller is not kept that long. That a job waits is no fact, so nothing tells
/// of it.
async fn queued(controller: &SessionController, task: &TaskId) {
    let mut looks = tokio::time::interval(QUEUE_LOOK_INTERVAL);
    loop {
        looks.tick().await;
        if controller.snapshot().is_queued(task) {
            return;
        }
    }
}

/// The headless agent of a task, once its process is followed; nothing if it is not in a while.
/// That it is followed is no fact either.
async fn headless(
    controller: &SessionController,
    task: &TaskId,
) -> Option<(AttemptId, HeadlessRunner)> {
    let mut looks = tokio::time::interval(START_LOOK_INTERVAL);
    let followed = async {
        loop {
            looks.tick().await;
            let found = controller.snapshot().task(task).ok()?;
            match found.runner {
                Some(Runner::Headless(agent)) => return Some((found.attempt, agent)),
                None if !found.status.is_final() && !found.queued => {}
                _ => return None,
            }
        }
    };
    tokio::time::timeout(START_WAIT_TIME, followed).await.ok().flatten()
}

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
        mut decision: InterventionDecision,
        digest: Option<ContentDigest>,
    ) -> Result<(), RequestError> {
        let session = intervention.session();
        let is_secret = |asked: &Intervention| asked.id == *intervention && asked.secret;
        let secrets = self.shared.executor.secrets();
        if self.interventions().iter().any(is_secret) {
            secrets.keep(intervention, &mut decision);
        }
        let id = intervention.clone();
        let input =
            SessionInput::Resolve { intervention: id, decision: Box::new(decision), digest };
        let decided = self.input(&session, input).await;
        if decided.is_err() {
            secrets.take(intervention);
        }
        decided
    }

    /// Decides an intervention, and comes back when the answer has reached the agent. Says whether
    /// it did; one that did not within a while is still on its way. Where nothing has to reach an
    /// agent, it has.
    pub async fn answer_and_see(
        &self,
        intervention: &InterventionId,
        decision: InterventionDecision,
        digest: Option<ContentDigest>,
    ) -> Result<bool, RequestError> {
        let choice = decision.choice;
        let task = self.texted(intervention);
        self.answer(intervention, decision, digest).await?;
        let Some(controller) = self.controller(&intervention.session()) else { return Ok(true) };
        if let Some(task) = task {
            let snapshot = controller.snapshot();
            let live = snapshot.addressee(&task);
            let number = match choice {
                InterventionChoice::Send => live.map(|(_, live)| live.sent),
                InterventionChoice::Retry | InterventionChoice::SendAnyway => {
                    live.and_then(|(_, live)| Some(live.typing.as_ref()?.number))
                }
                _ => return Ok(true),
            };
            return self.message_arrives(&controller, &task, number).await;
        }
        let taken = controller.until(|snapshot| snapshot.answer_result(intervention));
        match tokio::time::timeout(ANSWER_REPORT_TIMEOUT, taken).await {
            Ok(Some(Err(reason))) => Err(RequestError::AnswerNotTaken { reason }),
            Ok(Some(Ok(())) | None) => Ok(true),
            Err(_) => Ok(false),
        }
    }

    /// The task that a decision about this may send a message to.
    fn texted(&self, intervention: &InterventionId) -> Option<TaskId> {
        let snapshot = self.controller(&intervention.session())?.snapshot();
        let mut open = snapshot.interventions();
        let asked = open.find(|open| open.id == *intervention)?;
        let is_about_text = matches!(
            asked.kind,
            InterventionKind::UndeliveredMessage
                | InterventionKind::EndedTurn
                | InterventionKind::UnknownState
        );
        asked.task.clone().filter(|_| is_about_text)
    }

    /// Whether the agent of a task waits for a slot.
    pub fn is_queued(&self, id: &SessionId, task: &TaskId) -> bool {
        self.controller(id).is_some_and(|controller| controller.snapshot().is_queued(task))
    }

    /// The agent of a task, to look at and to type to.
    pub fn agent(&self, id: &SessionId, task: &TaskId) -> Result<AgentRunner, RequestError> {
        Ok(self.running_agent(id, task)?.1)
    }

    /// The agent of an attempt as one that reports by itself, for a client that shows its token. It
    /// is not told what of it all is wrong, if something is.
    pub fn reporter(
        &self,
        id: &SessionId,
        attempt: &AttemptId,
        token: &str,
    ) -> Result<AgentReporter, ReportRefused> {
        let found = self.running_agent(id, &attempt.task).map_err(|_| ReportRefused)?;
        match found {
            (running, agent) if running == *attempt => agent.reporter(token),
            _ => Err(ReportRefused),
        }
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
            None if found.queued => Err(RequestError::Queued(task.clone())),
            None => Err(RequestError::NoAgent(task.clone())),
        }
    }

    /// Says something to an interactive agent, behind everything that was said to it before, and
    /// comes back when it is verified that the agent works on it. Where the session waits because
    /// the agent's turn is over, this is the decision to send. Says whether the message arrived; one
    /// that did not within a while, or whose agent waits for a slot, is written down and typed as
    /// soon as the agent takes it.
    pub async fn send(
        &self,
        id: &SessionId,
        task: &TaskId,
        text: &str,
        by: &str,
    ) -> Result<bool, RequestError> {
        let controller = self.controller(id).ok_or_else(|| RequestError::NotLive(id.clone()))?;
        let started = controller.until(|snapshot| {
            let found = snapshot.task(task);
            (!matches!(found, Err(RequestError::NotStarted(_)))).then_some(found)
        });
        // A session that was made a moment ago has its agent in a moment.
        let found = match tokio::time::timeout(START_WAIT_TIME, started).await {
            Ok(Some(found)) => found?,
            Ok(None) | Err(_) => return Err(RequestError::NotStarted(task.clone())),
        };
        let (text, by) = (text.to_owned(), by.to_owned());
        if found.mode == AgentMode::Headless
            && let Some(agent) = headless(&controller, task).await
        {
            // A program on pipes reads lines, if its adapter leaves its input open.
            let (job, agent) = agent;
            if !agent.takes_input() {
                return Err(RequestError::NotInteractive(task.clone()));
            }
            agent.send(format!("{text}\n")).await;
            self.input(id, SessionInput::Typed { job, text, by }).await?;
            return Ok(true);
        }
        let message = SessionInput::Message { task: task.clone(), text, by };
        match self.input(id, message).await {
            // A task that is over has no agent to talk to.
            Err(RequestError::Refused(RefusalReason::NotLive { task, .. })) => {
                return Err(RequestError::NoAgent(task));
            }
            taken => taken?,
        }
        let last = controller.snapshot().addressee(task).map(|(_, live)| live.sent);
        self.message_arrives(&controller, task, last).await
    }

    /// Comes back when a message has arrived or is known not to have.
    async fn message_arrives(
        &self,
        controller: &SessionController,
        task: &TaskId,
        number: Option<u32>,
    ) -> Result<bool, RequestError> {
        let snapshot = controller.snapshot();
        let Some(((job, _), number)) = snapshot.addressee(task).zip(number) else {
            return Ok(false);
        };
        let arrived = controller.until(|snapshot| delivery_of(snapshot, &job, number));
        tokio::select! {
            arrived = tokio::time::timeout(DELIVERY_REPORT_TIMEOUT, arrived) => match arrived {
                Ok(Some(delivered)) => delivered,
                Ok(None) => Err(RequestError::NotDelivered(DeliveryError::Ended)),
                Err(_) => Ok(false),
            },
            () = queued(controller, task) => Ok(false),
        }
    }

    /// Interrupts what the agent of a task is doing, with the keys of its adapter.
    pub async fn interrupt(&self, id: &SessionId, task: &TaskId) -> Result<(), RequestError> {
        Ok(self.agent(id, task)?.interrupt().await?)
    }
}
