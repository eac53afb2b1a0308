//! One session from outside: a handle to its actor.

mod actor;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coven_model::{
    AttemptId, AutoAnswer, Intervention, PlanView, SessionId, SessionView, TaskId, Verdict,
    WorkflowStatus,
};
use coven_runner::AgentRunner;
use coven_workflow::Input;
use coven_workflow::state::{PendingIntervention, Refused, Run};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use self::actor::{Actor, Ears};
use super::executor::WorkflowExecutor;
use super::job::{Order, Runner};
use crate::error::RequestError;
use crate::event::{Envelope, Subscription};
use crate::feed::Feed;
use crate::orchestrator::Watch;
use crate::state::{Environment, SessionManager, Standing, WorkflowSession};

/// How many messages may wait for a session.
const MAILBOX: usize = 256;

/// How many events a subscriber may be behind before it reads the journal instead.
const EVENTS: usize = 1024;

/// How long a request waits for a disk that takes nothing, before it is told so. What it asked for
/// happens when the disk takes it.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// How long a job may take to end when its session cannot write anything down.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What a session is asked.
pub(crate) enum Ask {
    /// Something happened or is wished.
    Input(Box<Input>, oneshot::Sender<Result<(), Refused>>),
    /// What it looks like.
    View(oneshot::Sender<Option<SessionView>>),
    /// Its plan with the status of everything.
    Plan(oneshot::Sender<Option<PlanView>>),
    /// A reader of its facts.
    Reader(oneshot::Sender<coven_store::Reader>),
    /// A task.
    Task(TaskId, oneshot::Sender<Result<Found, RequestError>>),
    /// What its agents are doing.
    Verdicts(oneshot::Sender<Vec<(AttemptId, Verdict)>>),
    /// The environment of whoever tries again what is over.
    Caller(Environment),
    /// End the agents that were left alive, and say when they are gone.
    Release(oneshot::Sender<()>),
    /// End the agents that were left alive, write down that the session is given up, and let go
    /// of it.
    Purge(String, oneshot::Sender<Result<(), Refused>>),
    /// End every job, though that cannot be written down now; gives what closes when each has.
    StopJobs(oneshot::Sender<Vec<mpsc::Sender<Order>>>),
    /// Stop following; agents go on.
    Close(oneshot::Sender<()>),
}

/// A task as its session knows it.
pub(crate) struct Found {
    pub(crate) standing: Standing,
    pub(crate) folder: PathBuf,
    /// Its process, while it is followed.
    pub(crate) runner: Option<Runner>,
    /// Where the rest is read.
    pub(crate) reader: coven_store::Reader,
}

/// Whether a session begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// It begins.
    Begin,
    /// It goes on from where its journal ends.
    Recover,
    /// It has not begun, and waits to be told.
    Wait,
}

/// What the actors of all sessions of an orchestrator share.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) manager: Arc<SessionManager>,
    pub(crate) feed: Feed,
    /// How long a session that is over stays in memory.
    pub(crate) linger: Duration,
    /// Told when a session is over, and when it has left the memory.
    pub(crate) ended: Arc<Notify>,
    /// Starts what the facts of a session start.
    pub(crate) watch: Watch,
}

/// A handle to the actor of one session.
#[derive(Clone, Debug)]
pub struct SessionController {
    id: SessionId,
    asks: mpsc::Sender<Ask>,
    events: broadcast::WeakSender<Envelope>,
    status: watch::Receiver<WorkflowStatus>,
    open: watch::Receiver<Vec<Arc<PendingIntervention>>>,
    auto: Option<AutoAnswer>,
    trouble: watch::Receiver<Option<String>>,
}

impl SessionController {
    /// Lets a session run.
    pub(crate) fn start(
        session: WorkflowSession,
        surroundings: Surroundings,
        executor: WorkflowExecutor,
        fresh: Fresh,
    ) -> Self {
        let (asks, mailbox) = mpsc::channel(MAILBOX);
        let (reports, reported) = mpsc::channel(MAILBOX);
        let events = broadcast::Sender::new(EVENTS);
        let status = watch::Sender::new(session.status());
        // What waits is known at once: whoever opens a session may look before its actor has run.
        let waiting = session.state().run().into_iter().flat_map(Run::open_interventions);
        let open = watch::Sender::new(waiting.collect());
        let trouble = watch::Sender::new(None);
        let controller = Self {
            id: session.id().clone(),
            asks,
            events: events.downgrade(),
            status: status.subscribe(),
            open: open.subscribe(),
            auto: session.state().run().and_then(|run| run.identity.auto),
            trouble: trouble.subscribe(),
        };
        let ended = surroundings.ended.clone();
        let actor = Actor::new(
            session,
            surroundings,
            executor,
            Ears { mailbox, reports, events, status, open, trouble },
        );
        tokio::spawn(async move {
            actor.run(reported, fresh).await;
            ended.notify_one();
        });
        controller
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Where the session stands.
    pub fn status(&self) -> WorkflowStatus {
        *self.status.borrow()
    }

    /// How every question of the session is answered without a person, if it was started so.
    pub fn auto(&self) -> Option<AutoAnswer> {
        self.auto
    }

    /// What waits for a person, the oldest first.
    pub fn interventions(&self) -> Vec<Intervention> {
        self.open.borrow().iter().map(|pending| pending.intervention.clone()).collect()
    }

    /// Waits until the session is over, or blocked if that is asked for.
    pub async fn wait(&self, or_blocked: bool) -> WorkflowStatus {
        let mut status = self.status.clone();
        let wanted = |now: &WorkflowStatus| {
            now.is_final() || (or_blocked && *now == WorkflowStatus::Blocked)
        };
        match status.wait_for(wanted).await {
            Ok(status) => *status,
            Err(_) => self.status(),
        }
    }

    /// Whether it still takes requests.
    pub(crate) fn is_open(&self) -> bool {
        !self.asks.is_closed()
    }

    /// Waits until nobody holds the session any more.
    pub(crate) async fn gone(&self) {
        let mut status = self.status.clone();
        while status.changed().await.is_ok() {}
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, RequestError> {
        let (reply, answer) = oneshot::channel();
        let not_live = |_| RequestError::NotLive(self.id.clone());
        self.asks.send(ask(reply)).await.map_err(not_live)?;
        answer.await.map_err(|_| RequestError::Closing)
    }

    pub(crate) async fn input(&self, input: Input) -> Result<(), RequestError> {
        let asked = self.ask(|reply| Ask::Input(Box::new(input), reply));
        tokio::select! {
            answered = asked => Ok(answered??),
            problem = self.stuck() => Err(RequestError::NotWritten { problem }),
        }
    }

    /// Comes back when nothing could be written down for a while, with the reason.
    async fn stuck(&self) -> String {
        let mut trouble = self.trouble.clone();
        loop {
            if trouble.wait_for(Option::is_some).await.is_err() {
                // The actor is gone, which the one who asked it hears.
                return std::future::pending().await;
            }
            let over = tokio::time::timeout(WRITE_PATIENCE, trouble.wait_for(Option::is_none));
            if over.await.is_err()
                && let Some(problem) = self.trouble.borrow().clone()
            {
                return problem;
            }
        }
    }

    /// Ends every job of a session that cannot write anything down, and waits until they have.
    pub(crate) async fn stop_jobs(&self) {
        for job in self.ask(Ask::StopJobs).await.unwrap_or_default() {
            // One that does not end in this time has a holder that goes on trying.
            let _ = tokio::time::timeout(STOP_PATIENCE, job.closed()).await;
        }
    }

    /// What the session looks like.
    pub async fn view(&self) -> Option<SessionView> {
        self.ask(Ask::View).await.ok()?
    }

    pub(crate) async fn plan(&self) -> Result<Option<PlanView>, RequestError> {
        self.ask(Ask::Plan).await
    }

    pub(crate) async fn reader(&self) -> Result<coven_store::Reader, RequestError> {
        self.ask(Ask::Reader).await
    }

    pub(crate) async fn task(&self, task: &TaskId) -> Result<Found, RequestError> {
        self.ask(|reply| Ask::Task(task.clone(), reply)).await?
    }

    pub(crate) async fn verdicts(&self) -> Result<Vec<(AttemptId, Verdict)>, RequestError> {
        self.ask(Ask::Verdicts).await
    }

    /// The agent of a task, to look at and to type to.
    pub async fn agent(&self, task: &TaskId) -> Option<AgentRunner> {
        match self.task(task).await.ok()?.runner? {
            Runner::Agent(agent) => Some(agent),
            Runner::Headless(_) => None,
        }
    }

    /// Gives a session that is over the environment of whoever tries it again.
    pub(crate) async fn set_caller(&self, env: Environment) {
        // One that has just left the memory is opened again with it.
        let _ = self.asks.send(Ask::Caller(env)).await;
    }

    /// Ends the agents that were left alive, and waits until they are gone.
    pub(crate) async fn release(&self) -> Result<(), RequestError> {
        self.ask(Ask::Release).await
    }

    /// Gives the session up. Nobody holds it any more when this returns.
    pub(crate) async fn purge(&self, by: &str) -> Result<(), RequestError> {
        self.ask(|reply| Ask::Purge(by.to_owned(), reply)).await??;
        self.gone().await;
        Ok(())
    }

    /// Everything that happened after a fact, then what happens.
    pub async fn subscribe(&self, after: u64) -> Result<Subscription, RequestError> {
        let not_live = || RequestError::NotLive(self.id.clone());
        // First the ear, then the book: what happens in between is in both, and told once.
        let receiver = self.events.upgrade().ok_or_else(not_live)?.subscribe();
        let reader = self.reader().await?;
        Ok(Subscription::new(self.id.clone(), reader, after, receiver))
    }

    /// Stops following the session. Its agents go on under their holders.
    pub(crate) async fn close(&self) {
        let _ = self.ask(Ask::Close).await;
        self.gone().await;
    }
}
