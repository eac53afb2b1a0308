//! The actor of one session: its only writer, and the only one that decides for it.

mod jobs;
mod record;
mod storage;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use coven_folder::best_effort;
use coven_model::{Timestamp, WorkflowStatus};
use coven_workflow::SessionInput;
use coven_workflow::state::{RefusalReason, WorkflowRun};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use self::jobs::SessionJobs;
use super::{SessionContext, SessionRequest, SessionStart};
use crate::engine::executor::WorkflowExecutor;
use crate::event::FeedEvent;
use crate::snapshot::{LiveJobs, SessionSnapshot};
use crate::state::blocking::blocking;
use crate::state::{DiskWaits, StorageProblems, WorkflowSession};

/// How long a session that is over, and that has subscribers, waits before it looks again whether
/// it may leave the memory.
const LEAVE_RETRY: Duration = Duration::from_secs(1);

/// At least this long lies between two writes of the readable view. People do not read faster, and
/// a view of a long session is much more to write than a fact.
const VIEW_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct SessionActor {
    session: WorkflowSession,
    context: SessionContext,
    executor: WorkflowExecutor,
    events: broadcast::Sender<FeedEvent>,
    mailbox: mpsc::Receiver<SessionRequest>,
    /// Requests that came while something could not be written down, and must wait for that.
    waiting: VecDeque<SessionRequest>,
    /// The request to close, which is answered though something is not written down.
    closing: Option<oneshot::Sender<()>>,
    /// The end of the run is being recorded because a person wants it.
    cancelling: Option<SessionInput>,
    /// That wish is in the state folder, because it cannot be recorded.
    has_kept_cancel: bool,
    /// The request whose input is being taken in.
    unanswered: Option<oneshot::Sender<Result<(), RefusalReason>>>,
    jobs: SessionJobs,
    /// What is to happen, by when: so much time from when that was said. The clock may be set
    /// meanwhile, and then it still happens when that time has passed.
    timers: BTreeMap<(Instant, u64), (Timestamp, SessionInput)>,
    next_timer: u64,
    /// When the readable view was last written, or tried to be.
    view_written: Option<Instant>,
    /// Facts start nothing, and that is not written down yet.
    has_unmarked_facts: bool,
    /// Whether the listing says that agents were left alive.
    lists_kept: bool,
    /// Requests that wait for the agents that were left alive to be gone.
    releasing: Vec<oneshot::Sender<()>>,
    /// The request to give the session up, with the name of the one who wants it.
    purging: Option<(String, oneshot::Sender<Result<(), RefusalReason>>)>,
    /// When it may leave the memory, once it is over.
    leaves: Instant,
    snapshot: watch::Sender<Arc<SessionSnapshot>>,
    /// Why nothing can be written down at the moment.
    storage_problem: watch::Sender<StorageProblems>,
    disk_waits: watch::Sender<DiskWaits>,
    /// Dropped last: when it closes, nothing holds the session any more.
    settled: watch::Sender<WorkflowStatus>,
}

/// The channels by which an actor is asked and by which it publishes.
pub(super) struct ActorChannels {
    pub(super) mailbox: mpsc::Receiver<SessionRequest>,
    pub(super) reports: mpsc::Sender<SessionInput>,
    pub(super) events: broadcast::Sender<FeedEvent>,
    pub(super) snapshot: watch::Sender<Arc<SessionSnapshot>>,
    pub(super) settled: watch::Sender<WorkflowStatus>,
    pub(super) storage_problem: watch::Sender<StorageProblems>,
    pub(super) disk_waits: watch::Sender<DiskWaits>,
}

impl SessionActor {
    pub(super) fn new(
        session: WorkflowSession,
        context: SessionContext,
        executor: WorkflowExecutor,
        live: LiveJobs,
        channels: ActorChannels,
    ) -> Self {
        let ActorChannels {
            mailbox,
            reports,
            events,
            snapshot,
            settled,
            storage_problem,
            disk_waits,
        } = channels;
        Self {
            session,
            context,
            executor,
            events,
            mailbox,
            waiting: VecDeque::new(),
            closing: None,
            cancelling: None,
            has_kept_cancel: false,
            unanswered: None,
            jobs: SessionJobs::new(live, reports),
            timers: BTreeMap::new(),
            next_timer: 0,
            view_written: None,
            has_unmarked_facts: false,
            lists_kept: false,
            releasing: Vec::new(),
            purging: None,
            leaves: Instant::now(),
            snapshot,
            storage_problem,
            disk_waits,
            settled,
        }
    }

    pub(super) async fn run(
        mut self,
        mut reported: mpsc::Receiver<SessionInput>,
        start: SessionStart,
    ) {
        self.begin(start).await;
        self.stay();
        loop {
            if let Some(reply) = self.closing.take() {
                self.close(reported).await;
                answer(reply, ());
                return;
            }
            if let Some(request) = self.waiting.pop_front() {
                self.request(request).await;
                continue;
            }
            let timer = wait_until(self.timers.first_key_value().map(|((due, _), _)| *due));
            let view = wait_until(self.view_due());
            let leave = wait_until(self.rests().then_some(self.leaves));
            tokio::select! {
                request = self.mailbox.recv() => match request {
                    None => break,
                    Some(request) => {
                        self.request(request).await;
                        self.stay();
                    }
                },
                Some(input) = reported.recv() => self.report(input).await,
                () = timer => self.fire().await,
                () = view => self.write_view().await,
                () = leave => {
                    if self.events.receiver_count() == 0 && self.jobs.are_over() {
                        break;
                    }
                    self.leaves = Instant::now() + LEAVE_RETRY;
                }
            }
            if !self.keeps() && self.nothing_kept().await {
                // The folder is about to go, and nothing more is written to it.
                return;
            }
        }
        // A request that comes now hears that the session is not live, and is made again.
        self.mailbox.close();
        self.finish_view().await;
    }

    async fn begin(&mut self, start: SessionStart) {
        self.lists_kept = self.keeps();
        self.start_triggered_before().await;
        let is_over = self.session.status().is_final();
        let (live, entry) = (self.has_more_to_do(), self.list_entry());
        let (manager, path) = (self.context.manager.clone(), self.session.jobs_path().to_owned());
        let forgets = is_over && self.closing.is_none();
        let (triggers, files) = (self.context.triggers.clone(), self.session.files());
        let id = self.session.id().clone();
        blocking(move || {
            if forgets {
                forget_caller(&path, &triggers, &id);
            }
            // The process before this one may have died between recording and listing.
            if let Some(entry) = entry.filter(|entry| !manager.shows(entry)) {
                manager.note(entry, files.lock().journal_bytes());
            }
            best_effort("register a session", manager.set_live(&id, live));
        })
        .await;
        match start {
            SessionStart::Begin => drop(self.happen(SessionInput::Begin).await),
            SessionStart::Recover => {
                self.take_up_kept().await;
                let wish = self.kept_cancel().await;
                if self.happen(SessionInput::Recover).await {
                    // Then nothing of it is begun again first.
                    let wish = wish.filter(|wish| self.session.state().admits(wish).is_ok());
                    if let Some(wish) = wish {
                        self.happen(wish).await;
                    } else {
                        let outstanding = self.session.state().outstanding();
                        self.carry_out(outstanding).await;
                    }
                }
            }
            SessionStart::Wait => {}
        }
        self.context.recovery = None;
    }

    /// Answers what waited for the agents that were left alive to be gone. Says whether the session
    /// was given up.
    async fn nothing_kept(&mut self) -> bool {
        for waiting in self.releasing.drain(..) {
            answer(waiting, ());
        }
        let Some((by, reply)) = self.purging.take() else { return false };
        // If this process dies before the folder is gone, the next one removes it.
        self.register_live(true).await;
        if !self.happen(SessionInput::Delete { by }).await {
            return false;
        }
        answer(reply, Ok(()));
        true
    }

    /// Keeps the session in memory for a while more.
    fn stay(&mut self) {
        self.leaves = Instant::now() + self.context.linger;
    }

    /// Whether nothing more happens in this session by itself.
    fn rests(&self) -> bool {
        self.session.status().is_final() && !self.keeps() && !self.brings_back()
    }

    /// Whether a checkpoint is being brought back.
    fn brings_back(&self) -> bool {
        self.session.state().run().is_some_and(WorkflowRun::brings_back)
    }

    /// Whether agents were left alive on purpose.
    fn keeps(&self) -> bool {
        self.session.state().run().is_some_and(|run| !run.kept.is_empty())
    }

    /// Lets go of every job, then of the session.
    async fn close(&mut self, mut reported: mpsc::Receiver<SessionInput>) {
        let jobs = self.jobs.take_all();
        // What they still report is not lost: it is on the disk, or will be seen again.
        let silence = async { while reported.recv().await.is_some() {} };
        let released = async {
            for job in jobs {
                job.close().await;
            }
        };
        tokio::select! {
            () = released => {}
            () = silence => {}
        }
        self.finish_view().await;
    }

    async fn request(&mut self, request: SessionRequest) {
        match request {
            SessionRequest::Input(input, reply) => {
                if self.stops_kept(&input).await {
                    answer(reply, Ok(()));
                    return;
                }
                let admitted = self.session.state().admits(&input);
                if admitted.is_err() {
                    answer(reply, admitted);
                    return;
                }
                self.unanswered = Some(reply);
                let happened = self.happen(*input).await;
                let reply = self.unanswered.take().filter(|_| happened);
                if let Some(reply) = reply {
                    answer(reply, Ok(()));
                }
            }
            SessionRequest::Tree(order, removal, reply) => {
                self.work_on_tree_for(order, removal, reply);
            }
            SessionRequest::SetCaller(env) => {
                if self.session.status().is_final() {
                    self.executor = self.executor.for_caller(env);
                }
            }
            SessionRequest::Release(reply) => {
                self.stop_kept().await;
                self.releasing.push(reply);
            }
            SessionRequest::Purge(by, reply) => {
                let wish = SessionInput::Delete { by: by.clone() };
                if let Err(refused) = self.session.state().admits(&wish) {
                    answer(reply, Err(refused));
                } else {
                    self.stop_kept().await;
                    self.purging = Some((by, reply));
                }
            }
            SessionRequest::StopJobs(reply) => answer(reply, self.jobs.stop_all()),
            SessionRequest::Close(reply) => self.closing = Some(reply),
        }
    }

    /// A job of the session reports that something happened.
    async fn report(&mut self, input: SessionInput) {
        if let SessionInput::Ended { job, .. } | SessionInput::Lost(job) = &input {
            self.jobs.forget_if_over(job);
        }
        self.happen(input).await;
    }

    async fn fire(&mut self) {
        let Some((key, _)) = self.timers.first_key_value() else { return };
        let key = *key;
        if let Some((due, input)) = self.timers.remove(&key) {
            // It is at least as late as the timer was set to, whatever the clock shows.
            let now = self.now().max(due);
            self.happen_at(input, now).await;
        }
    }

    fn now(&self) -> Timestamp {
        self.context.manager.now()
    }
}

/// Answers a request. A requester that is gone needs no answer.
fn answer<T>(reply: oneshot::Sender<T>, answer: T) {
    drop(reply.send(answer));
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Removes what is kept for the jobs of a session and for the sessions that it starts. Waits on
/// the disk.
fn forget_caller(
    path: &std::path::Path,
    triggers: &crate::orchestrator::TriggerStarter,
    id: &coven_model::SessionId,
) {
    crate::state::caller::forget(path);
    crate::state::cancel_wish::forget(path);
    triggers.strike(id);
}
