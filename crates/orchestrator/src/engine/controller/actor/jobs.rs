//! The jobs of a session: started, ordered about and forgotten as its run decides.

use std::collections::HashMap;

use coven_model::{AttemptId, JobSpec, TaskId, Timestamp};
use coven_workflow::command::TreeOrder;
use coven_workflow::input::TreeReport;
use coven_workflow::{Command, SessionInput};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{SessionActor, answer};
use crate::engine::executor::{JobFolders, JobRoom, WorkflowExecutor};
use crate::engine::job::{JobHandle, JobOrder, LivePublisher};
use crate::engine::trees::{TreeJob, TreeRemoval};
use crate::snapshot::LiveJobs;
use crate::state::blocking::blocking;
use crate::state::{may_pass, start_of};

/// Stands in for "no deadline" where an instant is required.
const NO_DEADLINE: std::time::Duration = std::time::Duration::from_hours(24 * 365 * 30);

/// The jobs that a session's actor follows.
pub(super) struct SessionJobs {
    handles: HashMap<AttemptId, JobHandle>,
    /// The same, as snapshots show them.
    live: LiveJobs,
    reports: mpsc::Sender<SessionInput>,
    /// Orders about trees that are being carried out.
    trees: Vec<JoinHandle<()>>,
}

impl SessionJobs {
    pub(super) fn new(live: LiveJobs, reports: mpsc::Sender<SessionInput>) -> Self {
        Self { handles: HashMap::new(), live, reports, trees: Vec::new() }
    }

    pub(super) fn live(&self) -> LiveJobs {
        self.live.clone()
    }

    /// Whether none of them is under way.
    pub(super) fn are_over(&self) -> bool {
        self.handles.values().all(JobHandle::is_over)
            && self.trees.iter().all(JoinHandle::is_finished)
    }

    fn insert(&mut self, job: AttemptId, handle: JobHandle) {
        self.live.insert(job.clone(), handle.runner());
        self.handles.insert(job, handle);
    }

    pub(super) fn forget_if_over(&mut self, job: &AttemptId) {
        if self.handles.get(job).is_some_and(JobHandle::is_over) {
            self.handles.remove(job);
            self.live.remove(job);
        }
    }

    pub(super) fn take_all(&mut self) -> Vec<JobHandle> {
        self.handles.drain().map(|(_, job)| job).collect()
    }

    /// Orders every job to end, though nothing of that can be recorded now. Gives what closes when
    /// each has.
    pub(super) fn stop_all(&self) -> Vec<mpsc::Sender<JobOrder>> {
        for handle in self.handles.values() {
            handle.order(JobOrder::Stop);
        }
        self.handles.values().map(JobHandle::until_over).collect()
    }
}

impl SessionActor {
    /// Does what was decided. A job whose folder is there is taken up with what is in it, and never
    /// started a second time.
    pub(super) async fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Start(spec) => self.start(*spec, JobRoom::Needed).await,
                Command::Stop(job) => self.order(&job, JobOrder::Stop).await,
                Command::Answer(answer) => {
                    let job = answer.job.clone();
                    self.order(&job, JobOrder::Answer(answer)).await;
                }
                Command::Send { job, text } => self.order(&job, JobOrder::Send(text)).await,
                Command::Observe(job) => self.order(&job, JobOrder::Observe).await,
                Command::Tree(order) => self.work_on_tree(order),
                Command::SetTimer { timer, due } => {
                    self.tell_at(due, SessionInput::TimerFired(timer));
                }
                Command::Expire { intervention, due } => {
                    self.tell_at(due, SessionInput::Expired(intervention));
                }
            }
        }
    }

    /// Begins to carry out an order about a tree.
    fn work_on_tree(&mut self, order: TreeOrder) {
        let job = self.tree_job(order, None).run(self.jobs.reports.clone());
        self.jobs.trees.push(tokio::spawn(job));
    }

    /// The same for a person who waits for what comes of it.
    pub(super) fn work_on_tree_for(
        &mut self,
        order: TreeOrder,
        removal: Option<TreeRemoval>,
        reply: oneshot::Sender<Option<TreeReport>>,
    ) {
        let job = self.tree_job(order, removal).run_for(self.jobs.reports.clone(), reply);
        self.jobs.trees.push(tokio::spawn(job));
    }

    fn tree_job(&mut self, order: TreeOrder, removal: Option<TreeRemoval>) -> TreeJob {
        self.jobs.trees.retain(|job| !job.is_finished());
        TreeJob {
            executor: self.executor.clone(),
            state: self.session.state().clone(),
            files: self.session.files(),
            live: self.live_publisher(),
            order,
            removal,
        }
    }

    /// Has something told to the session at this time.
    fn tell_at(&mut self, due: Timestamp, input: SessionInput) {
        self.next_timer += 1;
        let now = Instant::now();
        let fires = now.checked_add(due.since(self.now())).unwrap_or(now + NO_DEADLINE);
        self.timers.insert((fires, self.next_timer), (due, input));
    }

    /// Starts a job, or takes it up. Waits until there is room for what it writes: a job that cannot
    /// write anything down fails for no fault of its own.
    async fn start(&mut self, spec: JobSpec, room: JobRoom) {
        let job = spec.job.attempt.clone();
        if self.jobs.handles.contains_key(&job) {
            return;
        }
        let mut told = false;
        let folders = loop {
            let (files, job) = (self.session.files(), job.clone());
            let state = self.session.state().clone();
            let made = blocking(move || JobFolders::make(&files.lock(), &state, &job, room));
            let (room, folders) = made.await;
            let Err(error) = room else { break folders };
            // What was asked for is recorded; only what follows from it has to wait.
            if let Some(reply) = self.unanswered.take() {
                answer(reply, Ok(()));
            }
            if !may_pass(&error) || !self.storage_fails(&mut told, &error).await {
                break folders;
            }
            if self.cancel_waits() {
                // It is not begun any more. The cancel, which is next, ends it.
                return;
            }
        };
        let (reports, live) = (self.jobs.reports.clone(), self.live_publisher());
        let run = (self.session.state(), self.session.viewer().clone());
        let handle = self.executor.start(run, folders, spec, reports, live);
        self.jobs.insert(job, handle);
    }

    fn live_publisher(&self) -> LivePublisher {
        LivePublisher {
            session: self.session.id().clone(),
            feed: self.context.feed.clone(),
            events: self.events.downgrade(),
            clock: self.context.manager.clock(),
            storage_problem: self.storage_problem.clone(),
        }
    }

    async fn order(&mut self, job: &AttemptId, order: JobOrder) {
        match self.jobs.handles.get(job) {
            Some(handle) => handle.order(order),
            // Only a stop means something for a job that this process never started.
            None if matches!(order, JobOrder::Stop) => {
                let (files, attempt) = (self.session.files(), job.clone());
                let attempt = blocking(move || files.lock().make_attempt(&attempt)).await;
                let (reports, live) = (self.jobs.reports.clone(), self.live_publisher());
                let handle = WorkflowExecutor::stop(attempt, job.clone(), reports, live);
                self.jobs.insert(job.clone(), handle);
            }
            None => {}
        }
    }

    fn kept_jobs(&self) -> Vec<AttemptId> {
        let job =
            |(task, attempt): (&TaskId, &u32)| AttemptId { task: task.clone(), attempt: *attempt };
        let run = self.session.state().run();
        run.map(|run| run.kept.iter().map(job).collect()).unwrap_or_default()
    }

    /// Follows the agents again that were left alive on purpose.
    pub(super) async fn take_up_kept(&mut self) {
        for job in self.kept_jobs() {
            let mut reader = self.session.reader();
            if let Some(started) = blocking(move || start_of(&mut reader, &job)).await {
                self.start(started.spec, JobRoom::NotNeeded).await;
            }
        }
    }

    pub(super) async fn stop_kept(&mut self) {
        for job in self.kept_jobs() {
            self.order(&job, JobOrder::Stop).await;
        }
    }

    /// An agent that was left alive has no task that waits for it: it is stopped, and that it is
    /// gone becomes a fact when it is.
    pub(super) async fn stops_kept(&mut self, input: &SessionInput) -> bool {
        let SessionInput::StopTask { task, .. } = input else { return false };
        let Some(job) = self.kept_jobs().into_iter().find(|job| job.task == *task) else {
            return false;
        };
        self.order(&job, JobOrder::Stop).await;
        true
    }
}
