//! One job: started or taken up, followed to its end, its outcome written down before it is told.
//! If the task that does this panics, that is the job's outcome.

mod begin;
mod confined;
mod conversation;
mod follow;
mod live;
mod log;
mod look;
mod once;
mod picture;
mod private_home;
mod recorded;
mod reports;
mod runner_slot;
mod secrets;
mod start;
mod variables;
mod written_answer;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coven_adapters::channel::ChannelKind;
use coven_model::event::AttemptPlace;
use coven_model::{AttemptId, JobOutcome, JobSpec, ProcessEnding};
use coven_runner::{
    AgentRunner, HeadlessRunner, HookToken, Redactor, StartedHeadless, catch_panic,
};
use coven_runtime::hold::{Adopted, FolderChanges, HolderFolder, adopt};
use coven_store::layout::session_path;
use coven_store::{Attempt, FileError};
use coven_workflow::SessionInput;
use coven_workflow::command::{AgentAnswer, OrderedText};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, JoinSet};

use self::log::{JobLog, LogWriter};
use super::admission::{NoSlot, SlotRequest};
use super::executor::{JobFolders, WorkflowExecutor};
use crate::state::blocking::blocking;
use begin::{BegunJob, FoundJob, NotBegun};
pub(crate) use conversation::EarlierAttempt;
use coven_folder::best_effort;
pub(crate) use live::LivePublisher;
use once::EarlierInputs;
use recorded::recorded;
pub(crate) use runner_slot::RunnerSlot;
pub(crate) use variables::VariableSource;
use written_answer::TurnProgress;

/// How long a runner may take to stop its process when the job that follows it has failed. After
/// that the process is ended from outside.
const RUNNER_STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a job that is not followed may take to be gone once it is told to end.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason of the outcome of a job whose end was not recorded.
const LOST_REASON: &str = "its process is gone, and nobody saw how it ended";

/// How many orders may wait for a job.
const ORDER_CAPACITY: usize = 64;

/// What a session orders.
#[derive(Debug)]
pub(crate) enum JobOrder {
    /// End the process of the job.
    Stop,
    Answer(Box<AgentAnswer>),
    /// Send it a message.
    Send(OrderedText),
    /// Tell again what its agent shows.
    Observe,
}

/// A session's handle to one of its jobs.
#[derive(Debug)]
pub(crate) struct JobHandle {
    orders: mpsc::Sender<JobOrder>,
    runner: RunnerSlot,
    task: JoinHandle<()>,
}

impl JobHandle {
    /// Stops following the job, and waits until nothing in this process touches it any more. Its
    /// process goes on under its holder.
    pub(crate) async fn close(self) {
        drop(self.orders);
        // A panic of the task was told as the end of the job.
        drop(self.task.await);
    }

    pub(crate) fn order(&self, order: JobOrder) {
        // A job that has ended needs no orders; one whose queue is full is stuck, and gets the
        // same orders again when the session is recovered.
        drop(self.orders.try_send(order));
    }

    /// Closes when the job is over.
    pub(crate) fn until_over(&self) -> mpsc::Sender<JobOrder> {
        self.orders.clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_closed()
    }

    /// Where it shows its process.
    pub(crate) fn runner(&self) -> RunnerSlot {
        self.runner.clone()
    }
}

/// One job on its way.
pub(crate) struct RunningJob {
    details: Arc<JobDetails>,
    reports: mpsc::Sender<SessionInput>,
    live: LivePublisher,
    runner: RunnerSlot,
    /// Its request for a slot, then its slot, until it has ended.
    slot: Option<SlotRequest>,
    /// The number of the last observation.
    seen: u64,
    /// Answers and messages under way.
    sending: JoinSet<()>,
    /// The texts that were ordered, by number and try.
    ordered: HashSet<(u32, u32)>,
    earlier_inputs: EarlierInputs,
    turn: TurnProgress,
    log: JobLog,
}

/// The folder of readable logs, in that of their session.
const LOGS_FOLDER: &str = "logs";

/// The mode of folders that we make for jobs: for their owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// What is unique for an attempt among the files of its session.
fn file_name(AttemptId { task, attempt }: &AttemptId) -> String {
    format!("{task}.{attempt}")
}

/// Where the readable log of an attempt lies in the folder of its session.
pub(crate) fn log_file(attempt: &AttemptId) -> PathBuf {
    PathBuf::from(LOGS_FOLDER).join(format!("{}.log", file_name(attempt)))
}

/// What a job is, for the work that waits on the disk.
pub(crate) struct JobDetails {
    executor: WorkflowExecutor,
    attempt: Attempt,
    place: AttemptPlace,
    /// The attempt before, if there was one.
    earlier: Option<EarlierAttempt>,
    /// Whether there is more to say to it than its prompt.
    has_inputs: bool,
    /// What it may write besides its own where its files are confined.
    also_writes: Vec<PathBuf>,
    spec: JobSpec,
    /// For a command that was not started yet.
    variables: Mutex<Option<VariableSource>>,
    /// What is secret in its environment, and what takes it out of texts.
    secrets: Vec<String>,
    redactor: Redactor,
    /// What its agent shows when it reports by itself.
    report_token: Option<HookToken>,
    runner: RunnerSlot,
}

impl JobDetails {
    /// The outcome of the job with everything that belongs to it, to be written down.
    fn complete(&self, outcome: JobOutcome) -> JobOutcome {
        let outcome = self.without_secrets(self.with_conversation(self.in_its_tree(outcome)));
        let outcome = self.with_touched(follow::with_short_reason(outcome));
        if let Ok(adapter) = self.adapter() {
            self.leave_private_home(&*adapter);
        }
        outcome
    }

    /// The folder of its session, where people and agents read.
    fn session_folder(&self) -> PathBuf {
        session_path(&self.executor.shared.base_dir, &self.spec.job.session)
    }

    fn log_writer(&self) -> LogWriter {
        let path = self.session_folder().join(log_file(&self.spec.job.attempt));
        LogWriter::new(self.mode(), self.attempt.clone(), path, self.redactor.clone())
    }

    /// Leaves word that the job is not to run, for a start that comes late.
    fn mark_killed(&self) {
        let marked = HolderFolder::new(self.attempt.path()).mark_killed();
        best_effort("mark a job as stopped", marked);
    }
}

/// A job's process, followed.
#[derive(Clone, Debug)]
pub(crate) enum Runner {
    Agent(AgentRunner),
    Headless(HeadlessRunner),
}

impl From<StartedHeadless> for Runner {
    fn from(started: StartedHeadless) -> Self {
        match started {
            StartedHeadless::OnePrompt(headless) => Self::Headless(headless),
            StartedHeadless::Conversation(agent) => Self::Agent(agent),
        }
    }
}

impl Runner {
    async fn detach(&self) {
        match self {
            Self::Agent(agent) => agent.detach().await,
            Self::Headless(headless) => headless.detach().await,
        }
    }

    /// The protocol that its agent is spoken to in, or why it is not.
    fn spoken(&self) -> Option<(ChannelKind, Option<String>)> {
        match self {
            Self::Agent(agent) => Some((agent.channel()?, None)),
            Self::Headless(headless) => {
                let fallback = headless.fallback()?;
                Some((fallback.kind, Some(fallback.reason.clone())))
            }
        }
    }

    /// Ends the process. How it ended is an event, for the job too.
    async fn stop(&self) {
        match self {
            Self::Agent(agent) => drop(agent.stop().await),
            Self::Headless(headless) => drop(headless.stop().await),
        }
    }
}

impl RunningJob {
    pub(super) fn spawn(
        executor: WorkflowExecutor,
        folders: JobFolders,
        spec: JobSpec,
        variables: Option<VariableSource>,
        reports: mpsc::Sender<SessionInput>,
        live: LivePublisher,
    ) -> JobHandle {
        let (orders, mut receiver) = mpsc::channel(ORDER_CAPACITY);
        let runner = RunnerSlot::default();
        let shared = runner.clone();
        let JobFolders { attempt, is_new, place, earlier, has_inputs, also_writes, .. } = folders;
        let job = spec.job.attempt.clone();
        let slot = executor.shared.admission.enqueue(&spec, runner.clone(), is_new);
        let task = tokio::spawn(async move {
            match attempt {
                Ok(attempt) => {
                    let report_token = reports::token(&executor, &spec, &attempt).await;
                    let mut secrets = secrets_of(&executor, &spec);
                    secrets.extend(report_token.iter().map(|token| token.reveal().to_owned()));
                    let redactor = Redactor::new(secrets.iter().cloned());
                    let details = JobDetails {
                        executor,
                        attempt,
                        place,
                        earlier,
                        has_inputs,
                        also_writes,
                        spec,
                        variables: Mutex::new(variables),
                        secrets,
                        redactor,
                        report_token,
                        runner: runner.clone(),
                    };
                    let log = JobLog::new(details.log_writer());
                    let mut job = Self {
                        details: Arc::new(details),
                        reports,
                        live,
                        runner,
                        slot: Some(slot),
                        seen: 0,
                        sending: JoinSet::new(),
                        ordered: HashSet::new(),
                        earlier_inputs: EarlierInputs::default(),
                        turn: TurnProgress::default(),
                        log,
                    };
                    if let Err(message) = catch_panic(job.run(is_new, &mut receiver)).await {
                        job.fail(&message, &mut receiver).await;
                    }
                }
                Err(error) => {
                    let outcome = failed(ProcessEnding::NotStarted, error.to_string());
                    tell(&reports, SessionInput::Ended { job, outcome: Box::new(outcome) }).await;
                }
            }
        });
        JobHandle { orders, runner: shared, task }
    }

    /// Ends a job that this process did not start, whatever became of it.
    pub(super) fn end(
        attempt: Result<Attempt, FileError>,
        job: AttemptId,
        reports: mpsc::Sender<SessionInput>,
        live: LivePublisher,
    ) -> JobHandle {
        let (orders, mut receiver) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let outcome = match attempt {
                Ok(attempt) => {
                    let folder = attempt.clone();
                    blocking(move || end_from_disk(&folder)).await;
                    recorded((&job, &attempt), stopped_outcome(), &live, &mut receiver).await
                }
                Err(error) => Some(failed(ProcessEnding::Stopped, error.to_string())),
            };
            if let Some(outcome) = outcome.map(Box::new) {
                tell(&reports, SessionInput::Ended { job, outcome }).await;
            }
        });
        JobHandle { orders, runner: RunnerSlot::default(), task }
    }

    fn id(&self) -> AttemptId {
        self.details.spec.job.attempt.clone()
    }

    async fn run(&mut self, is_new: bool, orders: &mut mpsc::Receiver<JobOrder>) {
        let started = if is_new {
            false
        } else {
            let details = self.details.clone();
            match blocking(move || details.found()).await {
                FoundJob::Ended(outcome) => return self.ended(*outcome).await,
                FoundJob::Stopped => return self.decide_end(stopped_outcome(), orders).await,
                FoundJob::Started => true,
                FoundJob::New => false,
                FoundJob::Lost => return self.lost().await,
            }
        };
        if started {
            self.slot.iter().for_each(SlotRequest::adopt);
        }
        self.slot.iter_mut().for_each(SlotRequest::is_looked_at);
        let mut early = Vec::new();
        if !started && let Some(slot) = &mut self.slot {
            tokio::select! {
                granted = slot.granted() => match granted {
                    Ok(()) => {}
                    Err(NoSlot::Closed) => return,
                    Err(NoSlot::Refused(error)) => {
                        return self.decide_end(failed(ProcessEnding::NotStarted, error), orders).await;
                    }
                },
                stopped = stopped(orders, &mut early) => {
                    if stopped {
                        let not_begun = self.stopped_before().await;
                        self.not_begun(not_begun, orders).await;
                    }
                    return;
                }
            }
        }
        match self.begin(started, orders, &mut early).await {
            None => {}
            Some(Ok(BegunJob { runner, adapter, exposure, confinement })) => {
                self.slot.iter().for_each(SlotRequest::started);
                if let Some(reason) = exposure {
                    self.tell(SessionInput::Exposed { job: self.id(), reason }).await;
                }
                if let Some(confinement) = confinement.map(Box::new) {
                    self.tell(SessionInput::Confined { job: self.id(), confinement }).await;
                }
                if let Some((kind, fallback)) = runner.spoken() {
                    let channel = kind.to_string();
                    self.tell(SessionInput::Speaks { job: self.id(), channel, fallback }).await;
                }
                self.follow(runner, &adapter, orders, early).await;
            }
            Some(Err(not_begun)) => self.not_begun(not_begun, orders).await,
        }
    }

    /// Tells that no process is followed.
    async fn not_begun(&mut self, not_begun: NotBegun, orders: &mut mpsc::Receiver<JobOrder>) {
        match not_begun {
            NotBegun::Lost => self.lost().await,
            NotBegun::Ended(outcome) => self.decide_end(*outcome, orders).await,
            NotBegun::Full(problem) => {
                let outcome = failed(ProcessEnding::NotStarted, problem.into_text());
                self.decide_end(outcome, orders).await;
            }
        }
    }

    /// Tells that the process is gone and how it ended is not known.
    async fn lost(&mut self) {
        let details = self.details.clone();
        let lost = failed(ProcessEnding::Lost, LOST_REASON.to_owned());
        let lost = blocking(move || details.with_touched(lost)).await;
        let job = self.id();
        self.tell(if lost.touched.is_empty() {
            SessionInput::Lost(job)
        } else {
            SessionInput::Ended { job, outcome: Box::new(lost) }
        })
        .await;
    }

    /// Writes the outcome down, then tells it. One that was written down before counts.
    async fn decide_end(&mut self, outcome: JobOutcome, orders: &mut mpsc::Receiver<JobOrder>) {
        let details = self.details.clone();
        let outcome = blocking(move || details.complete(outcome)).await;
        self.end_with(outcome, orders).await;
    }

    /// Tells an outcome once it is written down. If the session lets go before that, the next
    /// process finds out how the job ended.
    async fn end_with(&mut self, outcome: JobOutcome, orders: &mut mpsc::Receiver<JobOrder>) {
        let job = self.id();
        let attempt = (&job, &self.details.attempt);
        if let Some(outcome) = recorded(attempt, outcome, &self.live, orders).await {
            self.ended(outcome).await;
        }
    }

    /// Ends a job whose task has panicked: nothing follows its process any more, so that is ended
    /// first. Then the panic is told like any other outcome.
    async fn fail(&mut self, message: &str, orders: &mut mpsc::Receiver<JobOrder>) {
        self.sending.abort_all();
        if let Some(runner) = self.runner.get() {
            self.runner.set(None);
            // What is still there then is ended below.
            drop(tokio::time::timeout(RUNNER_STOP_TIMEOUT, runner.stop()).await);
        }
        let message = self.details.redactor.clean(message);
        let reason = format!("coven failed while it followed the job, and ended it: {message}");
        let outcome = failed(ProcessEnding::Stopped, reason);
        let attempt = self.details.attempt.clone();
        blocking(move || end_from_disk(&attempt)).await;
        self.end_with(outcome, orders).await;
    }

    async fn ended(&mut self, outcome: JobOutcome) {
        if let Some(slot) = self.slot.take() {
            slot.ended(outcome.ok);
        }
        self.tell(SessionInput::Ended { job: self.id(), outcome: Box::new(outcome) }).await;
    }

    async fn tell(&self, input: SessionInput) {
        tell(&self.reports, input).await;
    }
}

/// The secret values in what a job gets of its caller's environment and of its step's.
fn secrets_of(executor: &WorkflowExecutor, spec: &JobSpec) -> Vec<String> {
    let callers = executor.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let steps = spec.env.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    secrets::secrets(callers.chain(steps)).into_iter().collect()
}

async fn tell(reports: &mpsc::Sender<SessionInput>, input: SessionInput) {
    // An actor that is gone finds on the disk what happened.
    drop(reports.send(input).await);
}

/// Waits for the order to stop. Says whether it came; it does not if the session actor has dropped
/// its handle to the job. Other orders are kept in `early` until there is a process, at most as
/// many as may wait for it.
async fn stopped(orders: &mut mpsc::Receiver<JobOrder>, early: &mut Vec<JobOrder>) -> bool {
    loop {
        match orders.recv().await {
            Some(JobOrder::Stop) => return true,
            // What does not fit is ordered again when the session is recovered.
            Some(order) if early.len() < ORDER_CAPACITY => early.push(order),
            Some(_) => {}
            None => return false,
        }
    }
}

/// Ends a job that is not followed in this process, and comes back when nothing of it is left.
fn end_from_disk(attempt: &Attempt) {
    if matches!(attempt.outcome(), Ok(Some(_))) {
        return;
    }
    let folder = HolderFolder::new(attempt.path());
    best_effort("mark a job as killed", folder.mark_killed());
    if matches!(attempt.spawn(), Ok(Some(_))) {
        end_process(&folder, Instant::now() + END_TIMEOUT);
    }
}

/// Forces the process of a folder to end and waits until nothing of it is left, or until the
/// deadline.
fn end_process(folder: &HolderFolder, deadline: Instant) {
    let changes = FolderChanges::watch(folder);
    while Instant::now() < deadline {
        let ended = match adopt(folder, 0) {
            Ok(Adopted::Alive(mut pane)) => pane.end_by(deadline).is_ok(),
            Ok(Adopted::Exited(_) | Adopted::Gone { .. }) => return,
            Err(_) => false,
        };
        // Without an answer the holder has only just been started, or is about to go: both change
        // its folder. A folder that cannot be watched is gone, and nothing can be found by it.
        if !ended && !changes.as_ref().is_ok_and(|changes| changes.wait(deadline).is_ok()) {
            return;
        }
    }
}

/// Goes on with a panic of a task that the job has started, as if it were the job's own.
fn pass_panic_on<T>(done: Result<T, JoinError>) -> Option<T> {
    match done {
        Ok(value) => Some(value),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // It was aborted, because the job is over.
        Err(_) => None,
    }
}

fn stopped_outcome() -> JobOutcome {
    failed(ProcessEnding::Stopped, "it was stopped".to_owned())
}

fn failed(ending: ProcessEnding, reason: String) -> JobOutcome {
    JobOutcome::new(false, ending, reason)
}

#[cfg(test)]
mod tests;
