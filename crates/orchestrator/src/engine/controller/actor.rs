//! The actor of one session: its only writer, and the only one that decides for it.

mod stuck;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use coven_model::event::{Event, JobTimer};
use coven_model::{AttemptId, TaskId, Timestamp, Verdict, WorkflowStatus};
use coven_store::register::RegisterError;
use coven_workflow::state::{PendingIntervention, Refused, Run};
use coven_workflow::view::plan_view;
use coven_workflow::{Command, Input};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::{Ask, Found, Fresh, Surroundings};
use crate::engine::executor::WorkflowExecutor;
use crate::engine::job::{JobHandle, Order, Report, Runner};
use crate::error::{ExecuteError, RequestError};
use crate::event::{Envelope, Live, Published};
use crate::state::{Recorded, WorkflowSession, caller, spec_of, standing};

/// How long a session that is over, and that somebody still listens to, waits before it looks
/// again whether it may leave the memory.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// So far in the future that nobody waits for it.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

pub(super) struct Actor {
    session: WorkflowSession,
    surroundings: Surroundings,
    executor: WorkflowExecutor,
    events: broadcast::Sender<Envelope>,
    reports: mpsc::Sender<Report>,
    mailbox: mpsc::Receiver<Ask>,
    /// What was asked while something could not be written down, and must wait for that.
    waiting: VecDeque<Ask>,
    /// Who wants it closed, though something is not written down.
    closing: Option<oneshot::Sender<()>>,
    jobs: HashMap<AttemptId, JobHandle>,
    /// What is to happen, by when: so much time from when that was said. The clock may be set
    /// meanwhile, and then it still happens when that time has passed.
    timers: BTreeMap<(Instant, u64), (Timestamp, JobTimer)>,
    next_timer: u64,
    /// Whether the listing says that agents were left alive.
    kept: bool,
    /// Who waits for the agents that were left alive to be gone.
    releasing: Vec<oneshot::Sender<()>>,
    /// Who gives the session up, and waits for that.
    purging: Option<(String, oneshot::Sender<Result<(), Refused>>)>,
    /// When it may leave the memory, once it is over.
    leaves: Instant,
    open: watch::Sender<Vec<Arc<PendingIntervention>>>,
    /// Why nothing can be written down at the moment.
    trouble: watch::Sender<Option<String>>,
    /// The last to go: whoever waits for it to close knows then that nobody holds the session.
    status: watch::Sender<WorkflowStatus>,
}

/// What an actor hears and tells by.
pub(super) struct Ears {
    pub(super) mailbox: mpsc::Receiver<Ask>,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) events: broadcast::Sender<Envelope>,
    pub(super) status: watch::Sender<WorkflowStatus>,
    pub(super) open: watch::Sender<Vec<Arc<PendingIntervention>>>,
    pub(super) trouble: watch::Sender<Option<String>>,
}

impl Actor {
    pub(super) fn new(
        session: WorkflowSession,
        surroundings: Surroundings,
        executor: WorkflowExecutor,
        ears: Ears,
    ) -> Self {
        let Ears { mailbox, reports, events, status, open, trouble } = ears;
        Self {
            session,
            surroundings,
            executor,
            events,
            reports,
            mailbox,
            waiting: VecDeque::new(),
            closing: None,
            jobs: HashMap::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            kept: false,
            releasing: Vec::new(),
            purging: None,
            leaves: Instant::now(),
            open,
            trouble,
            status,
        }
    }

    pub(super) async fn run(mut self, mut reported: mpsc::Receiver<Report>, fresh: Fresh) {
        self.kept = self.keeps();
        self.show_open();
        let watch = self.surroundings.watch.clone();
        self.start_others(|actor| watch.catch_up(&actor.session, &actor.executor.env)).await;
        if self.session.status().is_final() {
            self.forget_caller();
        }
        if !self.surroundings.manager.shows(&self.session) {
            // The process before this one died between writing down and listing.
            let _ = self.surroundings.manager.note(&self.session);
        }
        self.register_live();
        match fresh {
            Fresh::Begin => drop(self.happen(Input::Begin).await),
            Fresh::Recover => {
                self.take_up_kept();
                if self.happen(Input::Recover).await {
                    let outstanding = self.session.state().outstanding();
                    self.carry_out(outstanding, &[]).await;
                }
            }
            Fresh::Wait => {}
        }
        self.stay();
        loop {
            if let Some(reply) = self.closing.take() {
                self.close(reported).await;
                let _ = reply.send(());
                return;
            }
            if let Some(ask) = self.waiting.pop_front() {
                self.ask(ask).await;
                continue;
            }
            let due = self.timers.first_key_value().map(|((due, _), _)| *due);
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
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
            let leaves = self.rests().then_some(self.leaves);
            let leave = async {
                match leaves {
                    Some(leaves) => tokio::time::sleep_until(leaves).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ask = self.mailbox.recv() => match ask {
                    None => break,
                    Some(ask) => {
                        self.ask(ask).await;
                        self.stay();
                    }
                },
                Some(report) = reported.recv() => self.report(report).await,
                () = timer => self.fire().await,
                () = view => self.session.flush_view(),
                () = leave => {
                    if self.events.receiver_count() == 0 && self.jobs.values().all(JobHandle::is_over) {
                        break;
                    }
                    self.leaves = Instant::now() + LOOK_AGAIN;
                }
            }
            if !self.keeps() {
                for waiting in self.releasing.drain(..) {
                    let _ = waiting.send(());
                }
                if let Some((by, reply)) = self.purging.take() {
                    // If this process dies before the folder is gone, the next one removes it.
                    let _ = self.surroundings.manager.set_live(self.session.id(), true);
                    if !self.happen(Input::Delete { by }).await {
                        continue;
                    }
                    let _ = reply.send(Ok(()));
                    // Its folder is about to go, and nothing more is written to it.
                    return;
                }
            }
        }
        // Whoever asked just now hears that nobody answers, and asks again.
        self.mailbox.close();
        self.session.finish_view();
    }

    /// Somebody needs the session: it stays for a while more.
    fn stay(&mut self) {
        self.leaves = Instant::now() + self.surroundings.linger;
    }

    /// Whether nothing more happens in this session by itself.
    fn rests(&self) -> bool {
        self.session.status().is_final() && !self.keeps()
    }

    /// Whether agents were left alive on purpose.
    fn keeps(&self) -> bool {
        self.session.state().run().is_some_and(|run| !run.kept.is_empty())
    }

    fn kept_jobs(&self) -> Vec<AttemptId> {
        let job =
            |(task, attempt): (&TaskId, &u32)| AttemptId { task: task.clone(), attempt: *attempt };
        let run = self.session.state().run();
        run.map(|run| run.kept.iter().map(job).collect()).unwrap_or_default()
    }

    /// Follows the agents again that were left alive on purpose.
    fn take_up_kept(&mut self) {
        for job in self.kept_jobs() {
            if let Some(spec) = spec_of(&mut self.session.reader(), &job) {
                self.start(spec);
            }
        }
    }

    /// Lets go of every job, then of the session.
    async fn close(&mut self, mut reported: mpsc::Receiver<Report>) {
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
                if self.stops_kept(&input) {
                    let _ = reply.send(Ok(()));
                    return;
                }
                let admitted = self.session.state().admits(&input);
                if admitted.is_err() || self.happen(*input).await {
                    let _ = reply.send(admitted);
                }
            }
            Ask::Reader(reply) => drop(reply.send(self.session.reader())),
            Ask::View(reply) => drop(reply.send(self.session.view())),
            Ask::Plan(reply) => drop(reply.send(self.session.state().run().map(plan_view))),
            Ask::Task(task, reply) => drop(reply.send(self.task(&task))),
            Ask::Verdicts(reply) => drop(reply.send(self.verdicts())),
            Ask::StopJobs(reply) => drop(reply.send(self.stop_jobs())),
            Ask::Caller(env) => {
                if self.session.status().is_final() {
                    self.executor = self.executor.for_caller(env);
                }
            }
            Ask::Release(reply) => {
                self.stop_kept();
                self.releasing.push(reply);
            }
            Ask::Purge(by, reply) => {
                let wish = Input::Delete { by: by.clone() };
                if let Err(refused) = self.session.state().admits(&wish) {
                    let _ = reply.send(Err(refused));
                } else {
                    self.stop_kept();
                    self.purging = Some((by, reply));
                }
            }
            Ask::Close(reply) => self.closing = Some(reply),
        }
    }

    fn verdicts(&self) -> Vec<(AttemptId, Verdict)> {
        let verdicts = self.jobs.iter().filter_map(|(job, handle)| {
            let Some(Runner::Agent(agent)) = handle.runner() else { return None };
            Some((job.clone(), agent.verdict()))
        });
        let mut verdicts: Vec<_> = verdicts.collect();
        verdicts.sort_by(|(one, _), (other, _)| one.cmp(other));
        verdicts
    }

    /// Orders every job to end, though nothing of that can be written down now. Gives what closes
    /// when each has.
    fn stop_jobs(&self) -> Vec<mpsc::Sender<Order>> {
        for handle in self.jobs.values() {
            handle.order(Order::Stop);
        }
        self.jobs.values().map(JobHandle::until_over).collect()
    }

    fn task(&self, task: &TaskId) -> Result<Found, RequestError> {
        let standing = standing(self.session.state(), task)?;
        let runner = self.jobs.get(&standing.job).and_then(JobHandle::runner);
        let base = self.surroundings.manager.base();
        let folder = base.attempt_path(self.session.id(), &standing.job);
        Ok(Found { standing, folder, runner, reader: self.session.reader() })
    }

    fn stop_kept(&mut self) {
        for job in self.kept_jobs() {
            self.order(&job, Order::Stop);
        }
    }

    /// An agent that was left alive is nobody's task any more: it is simply stopped, and that it
    /// is gone becomes a fact when it is.
    fn stops_kept(&mut self, input: &Input) -> bool {
        let Input::StopTask { task, .. } = input else { return false };
        let Some(job) = self.kept_jobs().into_iter().find(|job| job.task == *task) else {
            return false;
        };
        self.order(&job, Order::Stop);
        true
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
            Report::Live(live) => self.publish(Published::Live(live)),
        }
    }

    async fn fire(&mut self) {
        let Some((key, _)) = self.timers.first_key_value() else { return };
        let key = *key;
        if let Some((due, timer)) = self.timers.remove(&key) {
            // It is at least as late as the timer was set to, whatever the clock shows.
            let now = self.now().max(due);
            self.happen_at(Input::TimerFired(timer), now).await;
        }
    }

    /// Decides, writes down, acts and tells, in this order. What cannot be written down is tried
    /// again until it can: nothing follows from it before. Says whether it was written down; it is
    /// not if the session is closed before it can be.
    async fn happen(&mut self, input: Input) -> bool {
        self.happen_at(input, self.now()).await
    }

    async fn happen_at(&mut self, input: Input, now: Timestamp) -> bool {
        let before = self.session.status();
        if before.is_final() && matches!(input, Input::Retry { .. }) {
            self.keep_caller();
            self.follow_again().await;
        }
        let (facts, commands) = self.session.decide(input, now);
        let mut told = false;
        let Recorded { seqs, restored } = loop {
            match self.session.record(&facts, now) {
                Ok(recorded) => break recorded,
                Err(error) => {
                    if !self.storage_fails(&mut told, error.to_string()).await {
                        return false;
                    }
                }
            }
        };
        let begun: Vec<&AttemptId> = facts.iter().filter_map(begun_by).collect();
        self.carry_out(commands, &begun).await;
        self.trouble.send_if_modified(|trouble| trouble.take().is_some());
        if restored {
            self.keep_caller();
            self.publish(Published::Live(Live::Restored));
        }
        let watch = self.surroundings.watch.clone();
        let look =
            |actor: &Self| watch.look(&actor.session, seqs.clone(), &facts, &actor.executor.env);
        self.start_others(look).await;
        let changed = !facts.is_empty();
        if changed {
            // Whoever hears of something that waits for a person finds it.
            self.show_open();
        }
        for (seq, fact) in seqs.zip(facts) {
            self.publish_at(now, Published::Fact { seq, event: Arc::new(fact) });
        }
        let status = self.session.status();
        if changed {
            self.changed(before, status);
        }
        self.status.send_replace(status);
        true
    }

    /// Makes the sessions that facts of this one start. Nobody hears of the facts before.
    async fn start_others(&mut self, look: impl Fn(&Self) -> Result<Vec<String>, ExecuteError>) {
        let mut told = false;
        let problems = loop {
            match look(self) {
                Ok(problems) => break problems,
                Err(error) if error.is_storage() => {
                    // What was not looked at is looked at by the next process.
                    if !self.storage_fails(&mut told, error.to_string()).await {
                        return;
                    }
                }
                Err(error) => break vec![error.to_string()],
            }
        };
        for problem in problems {
            self.publish(Published::Live(Live::Trigger { problem }));
        }
    }

    /// A session that was over goes on, and its facts start others again.
    async fn follow_again(&mut self) {
        let mut told = false;
        let last = self.session.last();
        let follow = |actor: &Self| {
            actor.surroundings.manager.set_live(actor.session.id(), true)?;
            actor.surroundings.watch.follow(&actor.session, last)
        };
        while let Err(error) = follow(self) {
            if matches!(error, RegisterError::Newer { .. }) {
                return;
            }
            if !self.storage_fails(&mut told, error.to_string()).await {
                return;
            }
        }
    }

    /// The session is over: nobody needs its caller's environment any more, neither its own jobs
    /// nor the sessions that it started.
    fn forget_caller(&self) {
        if self.closing.is_some() {
            // Not everything was looked at: the next process does that, and needs both.
            return;
        }
        caller::forget(self.session.path());
        self.surroundings.watch.strike(self.session.id());
    }

    /// Sees to what depends on where the session stands.
    fn changed(&mut self, before: WorkflowStatus, status: WorkflowStatus) {
        let kept = self.keeps();
        if status != before || kept != self.kept {
            self.kept = kept;
            // A listing that is behind is mended from the journal.
            let _ = self.surroundings.manager.note(&self.session);
            self.register_live();
        }
        if status.is_final() && !before.is_final() {
            self.forget_caller();
            self.stay();
            self.surroundings.ended.notify_one();
        }
    }

    /// Says whether the next process has something to do for this session. What was not looked at
    /// yet for sessions to start is something to do.
    fn register_live(&self) {
        let live = !self.rests() || self.closing.is_some();
        // A session of which nobody says that it is over is looked at once more.
        let _ = self.surroundings.manager.set_live(self.session.id(), live);
    }

    /// Keeps the caller's environment for the next process. If that fails, that one has to do with
    /// its own.
    fn keep_caller(&self) {
        let _ = caller::keep(self.session.path(), &self.executor.env);
    }

    /// Shows what waits for a person to whoever asks for all sessions at once.
    fn show_open(&self) {
        let open = self.session.state().run().into_iter().flat_map(Run::open_interventions);
        let open: Vec<Arc<PendingIntervention>> = open.collect();
        self.open.send_if_modified(|shown| {
            let same = shown.len() == open.len()
                && shown.iter().zip(&open).all(|(one, other)| Arc::ptr_eq(one, other));
            if !same {
                *shown = open;
            }
            !same
        });
    }

    fn now(&self) -> Timestamp {
        self.surroundings.manager.now()
    }

    fn publish(&self, what: Published) {
        self.publish_at(self.now(), what);
    }

    fn publish_at(&self, time: Timestamp, what: Published) {
        let envelope = self.surroundings.feed.tell(self.session.id(), time, what);
        let _ = self.events.send(envelope);
    }

    /// Does what was decided. The folder of an attempt that has just `begun` is new; others are
    /// taken up with what is in them.
    async fn carry_out(&mut self, commands: Vec<Command>, begun: &[&AttemptId]) {
        for command in commands {
            match command {
                Command::Start(spec) => {
                    let begins = begun.contains(&&spec.job.attempt);
                    self.make_room(&spec.job.attempt, begins).await;
                    self.start(*spec);
                }
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
                    let now = Instant::now();
                    let fires = now.checked_add(due.since(self.now())).unwrap_or(now + FAR);
                    self.timers.insert((fires, self.next_timer), (due, timer));
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

/// The attempt that a fact begins.
fn begun_by(fact: &Event) -> Option<&AttemptId> {
    match fact {
        Event::TaskStarted(started) => Some(&started.spec.job.attempt),
        _ => None,
    }
}
