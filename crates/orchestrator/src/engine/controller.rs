//! One session from outside: a handle to its actor.

mod actor;

use std::sync::Arc;
use std::time::Duration;

use coven_model::{SessionId, TaskId, WorkflowStatus};
use coven_runner::AgentRunner;
use coven_workflow::SessionInput;
use coven_workflow::command::TreeOrder;
use coven_workflow::input::TreeReport;
use coven_workflow::state::RefusalReason;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use self::actor::{ActorChannels, SessionActor};
use super::admission::AdmissionPause;
use super::executor::WorkflowExecutor;
use super::job::{JobOrder, Runner};
use super::trees::TreeRemoval;
use crate::error::RequestError;
use crate::event::{EventSubscription, FeedEvent};
use crate::feed::Feed;
use crate::orchestrator::TriggerStarter;
use crate::snapshot::{LiveJobs, SessionSnapshot};
use crate::state::{
    DiskWaits, Environment, JournalWriter, SessionManager, StorageProblems, WeakFiles,
    WorkflowSession,
};
use coven_folder::best_effort;

/// How many messages may wait for a session.
const MAX_MAILBOX_MESSAGES: usize = 256;

/// How many events a subscriber may be behind before it reads the journal instead.
const MAX_EVENT_LAG: usize = 1024;

/// How long a request waits for a disk that takes nothing, before it is told so. What it asked for
/// happens when the disk takes it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request to cancel waits for that: it is accepted all the same.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a request waits for a session whose disk does not answer at all. Longer than any disk
/// that works takes.
const HANG_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a job may take to end when its session cannot write anything down.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What a session's actor is asked to do. Readers ask it nothing: they read its snapshot.
pub(crate) enum SessionRequest {
    /// Something happened or is wished.
    Input(Box<SessionInput>, oneshot::Sender<Result<(), RefusalReason>>),
    /// Do something to a tree, and say what came of it. It is recorded like an order of the run.
    Tree(TreeOrder, Option<TreeRemoval>, oneshot::Sender<Option<TreeReport>>),
    /// Use another environment, if the run is over and is about to be tried again.
    SetCaller(Environment),
    /// End the agents that were left alive, and say when they are gone.
    Release(oneshot::Sender<()>),
    /// End the agents that were left alive, write down that the session is given up, and let go
    /// of it.
    Purge(String, oneshot::Sender<Result<(), RefusalReason>>),
    /// End every job, though that cannot be written down now; gives what closes when each has.
    StopJobs(oneshot::Sender<Vec<mpsc::Sender<JobOrder>>>),
    /// Stop following; agents go on.
    Close(oneshot::Sender<()>),
}

/// Whether a session begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionStart {
    Begin,
    /// It goes on from where its journal ends.
    Recover,
    /// It has not begun, and waits to be told.
    Wait,
}

/// What the actors of all sessions of an orchestrator share.
#[derive(Clone, Debug)]
pub(crate) struct SessionContext {
    pub(crate) manager: Arc<SessionManager>,
    pub(crate) writer: JournalWriter,
    pub(crate) feed: Feed,
    /// How long a session that is over stays in memory.
    pub(crate) linger: Duration,
    /// Told when a session is over, and when it has left the memory.
    pub(crate) ended: Arc<Notify>,
    /// Starts what the facts of a session start.
    pub(crate) triggers: TriggerStarter,
    /// Kept until the jobs of a session that goes on are in the queue.
    pub(crate) recovery: Option<AdmissionPause>,
}

/// A handle to the actor of one session.
#[derive(Clone, Debug)]
pub struct SessionController {
    id: SessionId,
    requests: mpsc::Sender<SessionRequest>,
    events: broadcast::WeakSender<FeedEvent>,
    reader: coven_store::JournalReader,
    files: WeakFiles,
    /// Whether it was made in order to begin.
    begins: bool,
    snapshot: watch::Receiver<Arc<SessionSnapshot>>,
    /// The status of the run once everything that follows from it is done.
    settled: watch::Receiver<WorkflowStatus>,
    /// Why nothing can be written down at the moment.
    storage_problem: watch::Receiver<StorageProblems>,
    /// How long the session has waited for its disk.
    disk_waits: watch::Receiver<DiskWaits>,
}

impl SessionController {
    /// Lets a session run.
    pub(crate) fn start(
        session: WorkflowSession,
        context: SessionContext,
        executor: WorkflowExecutor,
        start: SessionStart,
    ) -> Self {
        let (requests, mailbox) = mpsc::channel(MAX_MAILBOX_MESSAGES);
        let (reports, reported) = mpsc::channel(MAX_MAILBOX_MESSAGES);
        let events = broadcast::Sender::new(MAX_EVENT_LAG);
        let jobs = LiveJobs::default();
        // Published before the actor runs, because a session may be looked at as soon as it is
        // opened.
        let snapshot = watch::Sender::new(Arc::new(SessionSnapshot::new(&session, jobs.clone())));
        let settled = watch::Sender::new(session.status());
        let storage_problem = watch::Sender::new(StorageProblems::default());
        let disk_waits = watch::Sender::new(DiskWaits::default());
        let controller = Self {
            id: session.id().clone(),
            requests,
            events: events.downgrade(),
            reader: session.reader(),
            files: session.files().downgrade(),
            begins: start == SessionStart::Begin,
            snapshot: snapshot.subscribe(),
            settled: settled.subscribe(),
            storage_problem: storage_problem.subscribe(),
            disk_waits: disk_waits.subscribe(),
        };
        let ended = context.ended.clone();
        let channels = ActorChannels {
            mailbox,
            reports,
            events,
            snapshot,
            settled,
            storage_problem,
            disk_waits,
        };
        let actor = SessionActor::new(session, context, executor, jobs, channels);
        let running = tokio::spawn(actor.run(reported, start));
        tokio::spawn(async move {
            // An actor that panicked has let go of its session, which the next request opens
            // again from its journal.
            best_effort("run a session's actor", running.await);
            ended.notify_one();
        });
        controller
    }

    /// The id of the session that this controls.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session after its last durable fact. Neither asks the actor nor reads a file.
    pub fn snapshot(&self) -> Arc<SessionSnapshot> {
        self.snapshot.borrow().clone()
    }

    /// The status of the run.
    pub fn status(&self) -> WorkflowStatus {
        self.snapshot.borrow().status()
    }

    /// Whether the session is neither over nor waiting to be told to begin.
    pub fn is_under_way(&self) -> bool {
        let status = self.status();
        !status.is_final() && (self.begins || status != WorkflowStatus::Pending)
    }

    /// Waits until the session is over, or blocked if that is asked for.
    pub async fn wait(&self, or_blocked: bool) -> WorkflowStatus {
        let mut settled = self.settled.clone();
        let wanted = |now: &WorkflowStatus| {
            now.is_final() || (or_blocked && *now == WorkflowStatus::Blocked)
        };
        match settled.wait_for(wanted).await {
            Ok(status) => *status,
            Err(_) => self.status(),
        }
    }

    /// Waits until the session is as something wants it; nothing if it has left the memory.
    pub(crate) async fn until<T>(&self, look: impl Fn(&SessionSnapshot) -> Option<T>) -> Option<T> {
        let mut snapshots = self.snapshot.clone();
        loop {
            let found = look(&snapshots.borrow_and_update().clone());
            if found.is_some() {
                return found;
            }
            snapshots.changed().await.ok()?;
        }
    }

    /// Waits until a session that was told to begin has begun, or cannot be recorded.
    pub(crate) async fn begun(&self) {
        if !self.begins || self.status() != WorkflowStatus::Pending {
            return;
        }
        let mut settled = self.settled.clone();
        let has_begun = |status: &WorkflowStatus| *status != WorkflowStatus::Pending;
        tokio::select! {
            begun = settled.wait_for(has_begun) => drop(begun),
            () = self.waits_for_disk() => {}
        }
    }

    /// Whether it still takes requests.
    pub(crate) fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    /// Waits until the actor has let go of the session.
    pub(crate) async fn gone(&self) {
        let mut settled = self.settled.clone();
        while settled.changed().await.is_ok() {}
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> SessionRequest,
    ) -> Result<T, RequestError> {
        let (reply, answer) = oneshot::channel();
        let not_live = |_| RequestError::NotLive(self.id.clone());
        self.requests.send(request(reply)).await.map_err(not_live)?;
        answer.await.map_err(|_| RequestError::Closing)
    }

    /// Why nothing can be recorded at the moment; nothing if it can.
    pub fn storage_problem(&self) -> Option<String> {
        self.storage_problem.borrow().any().cloned()
    }

    /// How long the session has waited for its disk so far. Meanwhile it hears of nothing.
    pub(crate) fn disk_wait(&self) -> Duration {
        self.disk_waits.borrow().until(Instant::now())
    }

    /// Comes back as soon as nothing can be recorded.
    async fn waits_for_disk(&self) {
        let mut problem = self.storage_problem.clone();
        if problem.wait_for(|problems| problems.any().is_some()).await.is_err() {
            // The actor is gone, which other channels tell.
            std::future::pending::<()>().await;
        }
    }

    pub(crate) async fn input(&self, input: SessionInput) -> Result<(), RequestError> {
        let is_cancel = matches!(input, SessionInput::Cancel { .. });
        let wait_time = if is_cancel { CANCEL_TIMEOUT } else { WRITE_TIMEOUT };
        let asked = self.request(|reply| SessionRequest::Input(Box::new(input), reply));
        tokio::select! {
            answered = asked => Ok(answered??),
            problem = self.storage_fails(wait_time) => Err(RequestError::NotWritten { problem }),
            () = tokio::time::sleep(HANG_TIMEOUT) => {
                let problem = "its disk has not answered for 10 seconds".to_owned();
                Err(RequestError::NotWritten { problem })
            }
        }
    }

    /// Comes back when nothing could be written down for a while, with the reason.
    async fn storage_fails(&self, wait_time: Duration) -> String {
        let mut problem = self.storage_problem.clone();
        loop {
            if problem.wait_for(|problems| problems.session().is_some()).await.is_err() {
                // The actor is gone, which the request to it hears.
                return std::future::pending().await;
            }
            let is_over = |problems: &StorageProblems| problems.session().is_none();
            let over = tokio::time::timeout(wait_time, problem.wait_for(is_over));
            if over.await.is_err()
                && let Some(problem) = self.storage_problem.borrow().session().cloned()
            {
                return problem;
            }
        }
    }

    /// Ends every job of a session that cannot write anything down, and waits until they have.
    pub(crate) async fn stop_jobs(&self) {
        for job in self.request(SessionRequest::StopJobs).await.unwrap_or_default() {
            // A job that does not end in this time has a holder that goes on trying.
            let ended = tokio::time::timeout(STOP_TIMEOUT, job.closed()).await;
            best_effort("stop a job in time", ended);
        }
    }

    /// Does something to a tree and comes back when it is done. Nothing came of it if the tree is not
    /// there.
    pub(crate) async fn work_on_tree(
        &self,
        order: TreeOrder,
        removal: Option<TreeRemoval>,
    ) -> Result<Option<TreeReport>, RequestError> {
        self.request(|reply| SessionRequest::Tree(order, removal, reply)).await
    }

    /// The agent of a task, to look at and to type to.
    pub fn agent(&self, task: &TaskId) -> Option<AgentRunner> {
        match self.snapshot().task(task).ok()?.runner? {
            Runner::Agent(agent) => Some(agent),
            Runner::Headless(_) => None,
        }
    }

    /// Gives a session that is over the environment of the client that tries it again.
    pub(crate) async fn set_caller(&self, env: Environment) {
        // A session that has just left the memory is opened again with it.
        drop(self.requests.send(SessionRequest::SetCaller(env)).await);
    }

    /// Ends the agents that were left alive, and waits until they are gone.
    pub(crate) async fn release(&self) -> Result<(), RequestError> {
        self.request(SessionRequest::Release).await
    }

    /// Gives the session up. The actor has let go of it when this returns.
    pub(crate) async fn purge(&self, by: &str) -> Result<(), RequestError> {
        self.request(|reply| SessionRequest::Purge(by.to_owned(), reply)).await??;
        self.gone().await;
        Ok(())
    }

    /// Its files, as long as the session is open.
    pub(crate) fn files(&self) -> WeakFiles {
        self.files.clone()
    }

    /// A reader of the session's facts, which are on the disk.
    pub(crate) fn reader(&self) -> coven_store::JournalReader {
        self.reader.clone()
    }

    /// Everything that happened after a fact, then what happens.
    pub fn subscribe(&self, after: u64) -> Result<EventSubscription, RequestError> {
        let not_live = || RequestError::NotLive(self.id.clone());
        // Subscribed before the journal is read, so that no fact falls between the two; those that
        // are in both are dropped by their number.
        let receiver = self.events.upgrade().ok_or_else(not_live)?.subscribe();
        let published = Some(self.snapshot.clone());
        Ok(EventSubscription::new(self.id.clone(), self.reader(), after, receiver, published))
    }

    /// Stops following the session. Its agents go on under their holders.
    pub(crate) async fn close(&self) {
        // An actor that is gone already has closed.
        drop(self.request(SessionRequest::Close).await);
        self.gone().await;
    }
}
