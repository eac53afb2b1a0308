//! The actor of one session: its only writer, and the only one that decides for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coven_model::event::{Event, Timer};
use coven_model::{AttemptId, SessionId, SessionView, TaskId, Timestamp, WorkflowStatus};
use coven_runner::AgentRunner;
use coven_workflow::state::Refused;
use coven_workflow::{Command, Input};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::executor::WorkflowExecutor;
use super::job::{JobHandle, Order, Report};
use crate::error::RequestError;
use crate::event::{Envelope, Live, Published, Subscription};
use crate::state::{Recorded, SessionManager, WorkflowSession, now};

/// How many messages may wait for a session.
const MAILBOX: usize = 256;

/// How many events a subscriber may be behind before it reads the journal instead.
const EVENTS: usize = 1024;

/// How long a session waits before it tries again to write down what it could not.
const RETRY: Duration = Duration::from_millis(500);

/// What a session is asked.
pub(crate) enum Ask {
    /// Something happened or is wished.
    Input(Box<Input>, oneshot::Sender<Result<(), Refused>>),
    /// What it looks like.
    View(oneshot::Sender<Option<SessionView>>),
    /// A reader of its facts.
    Reader(oneshot::Sender<coven_store::Reader>),
    /// The agent of a task.
    Agent(TaskId, oneshot::Sender<Option<AgentRunner>>),
    /// Stop following; agents go on.
    Close(oneshot::Sender<()>),
}

/// Whether a session begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// It begins.
    Begin,
    /// It goes on from where its journal ends.
    Recover,
}

/// A handle to the actor of one session.
#[derive(Clone, Debug)]
pub struct SessionController {
    id: SessionId,
    asks: mpsc::Sender<Ask>,
    events: broadcast::WeakSender<Envelope>,
    status: watch::Receiver<WorkflowStatus>,
}

struct Actor {
    session: WorkflowSession,
    manager: Arc<SessionManager>,
    executor: WorkflowExecutor,
    pos: Arc<AtomicU64>,
    events: broadcast::Sender<Envelope>,
    status: watch::Sender<WorkflowStatus>,
    reports: mpsc::Sender<Report>,
    jobs: HashMap<AttemptId, JobHandle>,
    timers: BTreeMap<(Timestamp, u64), Timer>,
    next_timer: u64,
}

impl SessionController {
    /// Lets a session run.
    pub(crate) fn start(
        session: WorkflowSession,
        manager: Arc<SessionManager>,
        executor: WorkflowExecutor,
        pos: Arc<AtomicU64>,
        fresh: Fresh,
    ) -> Self {
        let (asks, mailbox) = mpsc::channel(MAILBOX);
        let (reports, reported) = mpsc::channel(MAILBOX);
        let events = broadcast::Sender::new(EVENTS);
        let status = watch::Sender::new(session.status());
        let controller = Self {
            id: session.id().clone(),
            asks,
            events: events.downgrade(),
            status: status.subscribe(),
        };
        let actor = Actor {
            session,
            manager,
            executor,
            pos,
            events,
            status,
            reports,
            jobs: HashMap::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
        };
        tokio::spawn(actor.run(mailbox, reported, fresh));
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

    pub(crate) async fn input(&self, input: Input) -> Result<(), RequestError> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask::Input(Box::new(input), reply);
        self.asks.send(ask).await.map_err(|_| RequestError::NotLive(self.id.clone()))?;
        Ok(answer.await.map_err(|_| RequestError::Closing)??)
    }

    /// What the session looks like.
    pub async fn view(&self) -> Option<SessionView> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::View(reply)).await.ok()?;
        answer.await.ok()?
    }

    /// The agent of a task, to look at and to type to.
    pub async fn agent(&self, task: &TaskId) -> Option<AgentRunner> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Agent(task.clone(), reply)).await.ok()?;
        answer.await.ok()?
    }

    /// Everything that happened after a fact, then what happens.
    pub async fn subscribe(&self, after: u64) -> Result<Subscription, RequestError> {
        let not_live = || RequestError::NotLive(self.id.clone());
        // First the ear, then the book: what happens in between is in both, and told once.
        let receiver = self.events.upgrade().ok_or_else(not_live)?.subscribe();
        let (reply, reader) = oneshot::channel();
        self.asks.send(Ask::Reader(reply)).await.map_err(|_| not_live())?;
        let reader = reader.await.map_err(|_| RequestError::Closing)?;
        Ok(Subscription::new(self.id.clone(), reader, after, receiver))
    }

    /// Stops following the session. Its agents go on under their holders.
    pub(crate) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.asks.send(Ask::Close(reply)).await.is_ok() {
            let _ = closed.await;
        }
    }
}

impl Actor {
    async fn run(
        mut self,
        mut mailbox: mpsc::Receiver<Ask>,
        mut reported: mpsc::Receiver<Report>,
        fresh: Fresh,
    ) {
        match fresh {
            Fresh::Begin => self.happen(Input::Begin).await,
            Fresh::Recover => {
                self.happen(Input::Recover).await;
                let outstanding = self.session.state().outstanding();
                self.carry_out(outstanding);
            }
        }
        loop {
            let due = self.timers.first_key_value().map(|((due, _), _)| *due);
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep(due.since(now())).await,
                    None => std::future::pending().await,
                }
            };
            let view_due = self.session.view_due();
            let view = async {
                match view_due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ask = mailbox.recv() => match ask {
                    None => break,
                    Some(Ask::Close(reply)) => {
                        self.close(reported).await;
                        let _ = reply.send(());
                        return;
                    }
                    Some(ask) => self.ask(ask).await,
                },
                Some(report) = reported.recv() => self.report(report).await,
                () = timer => self.fire().await,
                () = view => self.session.flush_view(),
            }
        }
        self.session.finish_view();
    }

    /// Lets go of every job, then of the session.
    async fn close(mut self, mut reported: mpsc::Receiver<Report>) {
        let jobs: Vec<JobHandle> = self.jobs.drain().map(|(_, job)| job).collect();
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
        self.session.finish_view();
    }

    async fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Input(input, reply) => {
                let admitted = self.session.state().admits(&input);
                if admitted.is_ok() {
                    self.happen(*input).await;
                }
                let _ = reply.send(admitted);
            }
            Ask::Reader(reply) => drop(reply.send(self.session.reader())),
            Ask::View(reply) => drop(reply.send(self.session.view())),
            Ask::Agent(task, reply) => {
                let agent = self
                    .jobs
                    .iter()
                    .filter(|(job, _)| job.task == task)
                    .max_by_key(|(job, _)| job.attempt)
                    .and_then(|(_, job)| job.agent());
                let _ = reply.send(agent);
            }
            Ask::Close(_) => {}
        }
    }

    async fn report(&mut self, report: Report) {
        match report {
            Report::Happened(input) => {
                if let Input::Ended { job, .. } | Input::Lost(job) = &*input
                    && self.jobs.get(job).is_some_and(JobHandle::is_over)
                {
                    self.jobs.remove(job);
                }
                self.happen(*input).await;
            }
            Report::Live(live) => self.publish(now(), Published::Live(live)),
        }
    }

    async fn fire(&mut self) {
        let Some((key, _)) = self.timers.first_key_value() else { return };
        let key = *key;
        // The clock may have jumped; a timer is due when the clock says so.
        if key.0 > now() {
            return;
        }
        if let Some(timer) = self.timers.remove(&key) {
            self.happen(Input::TimerFired(timer)).await;
        }
    }

    /// Decides, writes down, acts and tells, in this order. What cannot be written down is tried
    /// again until it can: nothing follows from it before.
    async fn happen(&mut self, input: Input) {
        let (facts, commands) = self.session.decide(input, now());
        let mut told = false;
        let Recorded { seqs, restored } = loop {
            match self.session.record(&facts, now()) {
                Ok(recorded) => break recorded,
                Err(error) => {
                    if !told {
                        told = true;
                        let problem = error.to_string();
                        self.publish(now(), Published::Live(Live::Storage { problem }));
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        };
        self.carry_out(commands);
        if restored {
            self.publish(now(), Published::Live(Live::Restored));
        }
        let before = *self.status.borrow();
        let changed = !facts.is_empty();
        for (seq, fact) in seqs.zip(facts) {
            self.publish_fact(seq, fact);
        }
        let status = self.session.status();
        if changed && status != before {
            // A listing that is behind is mended from the journal.
            let _ = self.manager.note(&self.session);
        }
        self.status.send_replace(status);
    }

    fn publish_fact(&self, seq: u64, event: Event) {
        self.publish(now(), Published::Fact { seq, event: Arc::new(event) });
    }

    fn publish(&self, time: Timestamp, what: Published) {
        let pos = self.pos.fetch_add(1, Ordering::Relaxed) + 1;
        let session = self.session.id().clone();
        let _ = self.events.send(Envelope { pos, session, time, what });
    }

    fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Start(spec) => self.start(*spec),
                Command::Stop(job) => self.order(&job, Order::Stop),
                Command::Answer(answer) => {
                    let job = answer.job.clone();
                    self.order(&job, Order::Answer(answer));
                }
                Command::Send { job, number, text } => {
                    self.order(&job, Order::Send { number, text });
                }
                Command::SetTimer { timer, due } => {
                    self.next_timer += 1;
                    self.timers.insert((due, self.next_timer), timer);
                }
            }
        }
    }

    fn start(&mut self, spec: coven_model::JobSpec) {
        let job = spec.job.attempt.clone();
        if self.jobs.contains_key(&job) {
            return;
        }
        let handle = self.executor.start(&self.session, spec, self.reports.clone());
        self.jobs.insert(job, handle);
    }

    fn order(&mut self, job: &AttemptId, order: Order) {
        match self.jobs.get(job) {
            Some(handle) => handle.order(order),
            // Only a stop means something for a job that this process never started.
            None if matches!(order, Order::Stop) => {
                let handle =
                    WorkflowExecutor::stop(&self.session, job.clone(), self.reports.clone());
                self.jobs.insert(job.clone(), handle);
            }
            None => {}
        }
    }
}
