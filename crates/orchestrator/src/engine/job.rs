//! One job: started or taken up, followed to its end, its outcome written down before it is told.

mod begin;
mod follow;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use coven_model::{AttemptId, Ending, JobSpec, Outcome};
use coven_runner::{AgentRunner, HeadlessRunner};
use coven_runtime::domain::{Pane, ReadOutcome, Stop};
use coven_runtime::hold::{Adopted, Folder, adopt};
use coven_store::{Attempt, FileError};
use coven_workflow::Input;
use coven_workflow::command::Answer;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::executor::WorkflowExecutor;
use crate::event::Live;

/// How long a job that nobody follows may take to be gone.
const GONE: Duration = Duration::from_secs(30);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// How many orders may wait for a job.
const ORDERS: usize = 64;

/// What a job tells its session.
#[derive(Debug)]
pub(crate) enum Report {
    /// Something happened.
    Happened(Box<Input>),
    /// Something to tell and not to keep.
    Live(Live),
}

/// What a session orders.
#[derive(Debug)]
pub(crate) enum Order {
    /// End it.
    Stop,
    /// Answer it.
    Answer(Box<Answer>),
    /// Send it a message.
    Send { number: u32, text: String },
}

/// A session's handle to one of its jobs.
#[derive(Debug)]
pub(crate) struct JobHandle {
    orders: mpsc::Sender<Order>,
    agent: Arc<Mutex<Option<AgentRunner>>>,
    task: JoinHandle<()>,
}

impl JobHandle {
    /// Stops following the job, and waits until nobody here touches it any more. Its process goes
    /// on under its holder.
    pub(crate) async fn close(self) {
        drop(self.orders);
        let _ = self.task.await;
    }

    pub(crate) fn order(&self, order: Order) {
        // A job that has ended needs no orders; one whose queue is full is stuck, and gets the
        // same orders again when the session is recovered.
        let _ = self.orders.try_send(order);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_closed()
    }

    pub(crate) fn agent(&self) -> Option<AgentRunner> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One job on its way.
pub(crate) struct Job {
    executor: WorkflowExecutor,
    attempt: Attempt,
    spec: JobSpec,
    variables: Map<String, Value>,
    reports: mpsc::Sender<Report>,
    agent: Arc<Mutex<Option<AgentRunner>>>,
    /// The number of the last observation.
    seen: u64,
    /// Answers and messages under way.
    sending: JoinSet<()>,
}

/// A job's process, followed.
enum Runner {
    Agent(AgentRunner),
    Headless(HeadlessRunner),
}

impl Runner {
    async fn detach(&self) {
        match self {
            Self::Agent(agent) => agent.detach().await,
            Self::Headless(headless) => headless.detach().await,
        }
    }
}

impl Job {
    pub(super) fn spawn(
        executor: WorkflowExecutor,
        attempt: Result<Attempt, FileError>,
        spec: JobSpec,
        variables: Map<String, Value>,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let (orders, receiver) = mpsc::channel(ORDERS);
        let agent = Arc::new(Mutex::new(None));
        let shared = agent.clone();
        let job = spec.job.attempt.clone();
        let task = tokio::spawn(async move {
            match attempt {
                Ok(attempt) => {
                    let sending = JoinSet::new();
                    let job = Self {
                        executor,
                        attempt,
                        spec,
                        variables,
                        reports,
                        agent,
                        seen: 0,
                        sending,
                    };
                    job.run(receiver).await;
                }
                Err(error) => {
                    let outcome = failed(Ending::NotStarted, error.to_string());
                    tell(&reports, Input::Ended { job, outcome: Box::new(outcome) }).await;
                }
            }
        });
        JobHandle { orders, agent: shared, task }
    }

    /// Ends a job that this process did not start, whatever became of it.
    pub(super) fn end(
        attempt: Result<Attempt, FileError>,
        job: AttemptId,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let (orders, _) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let ended = tokio::task::spawn_blocking(move || match attempt {
                Ok(attempt) => end_from_disk(&attempt),
                Err(error) => failed(Ending::Stopped, error.to_string()),
            });
            let lost = |error: tokio::task::JoinError| failed(Ending::Stopped, error.to_string());
            let outcome = ended.await.unwrap_or_else(lost);
            tell(&reports, Input::Ended { job, outcome: Box::new(outcome) }).await;
        });
        JobHandle { orders, agent: Arc::default(), task }
    }

    fn id(&self) -> AttemptId {
        self.spec.job.attempt.clone()
    }

    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        if let Ok(Some(outcome)) = self.attempt.outcome() {
            return self.ended(outcome).await;
        }
        let started = matches!(self.attempt.spawn(), Ok(Some(_)));
        if !started && self.attempt.is_killed().unwrap_or(false) {
            return self.decide_end(failed(Ending::Stopped, "it was stopped".to_owned())).await;
        }
        let slots = self.executor.shared.slots.clone();
        let slot = if started {
            // It runs already, and a slot more or less changes nothing for it.
            slots.try_acquire_owned().ok()
        } else {
            tokio::select! {
                slot = slots.acquire_owned() => slot.ok(),
                stopped = stopped(&mut orders) => {
                    if !stopped {
                        return;
                    }
                    let _ = Folder::new(self.attempt.path()).mark_killed();
                    let outcome = failed(Ending::Stopped, "it was stopped before it began".to_owned());
                    return self.decide_end(outcome).await;
                }
            }
        };
        let adapter = match self.adapter() {
            Ok(adapter) => adapter,
            Err(error) => return self.decide_end(failed(Ending::NotStarted, error)).await,
        };
        let runner = if started { self.take_up(&adapter) } else { self.launch(&adapter) };
        match runner {
            Ok(runner) => self.follow(runner, &adapter, &mut orders).await,
            Err(None) => self.tell(Input::Lost(self.id())).await,
            Err(Some(outcome)) => self.decide_end(*outcome).await,
        }
        drop(slot);
    }

    /// Writes the outcome down, then tells it. One that was written down before counts.
    async fn decide_end(&self, outcome: Outcome) {
        let outcome = self.attempt.decide(&outcome).unwrap_or(outcome);
        self.ended(outcome).await;
    }

    async fn ended(&self, outcome: Outcome) {
        self.tell(Input::Ended { job: self.id(), outcome: Box::new(outcome) }).await;
    }

    async fn tell(&self, input: Input) {
        tell(&self.reports, input).await;
    }
}

async fn tell(reports: &mpsc::Sender<Report>, input: Input) {
    let _ = reports.send(Report::Happened(Box::new(input))).await;
}

/// Waits for the order to stop. Says whether it came; it does not if nobody follows the job any
/// more.
async fn stopped(orders: &mut mpsc::Receiver<Order>) -> bool {
    loop {
        match orders.recv().await {
            Some(Order::Stop) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Ends a job that nobody here follows, and comes back when nothing of it is left.
fn end_from_disk(attempt: &Attempt) -> Outcome {
    if let Ok(Some(outcome)) = attempt.outcome() {
        return outcome;
    }
    let folder = Folder::new(attempt.path());
    let _ = folder.mark_killed();
    if matches!(attempt.spawn(), Ok(Some(_))) {
        let begun = Instant::now();
        while begun.elapsed() < GONE {
            match adopt(&folder, 0) {
                Ok(Adopted::Alive(mut pane)) => force(&mut pane, begun + GONE),
                Ok(Adopted::Exited(_) | Adopted::Gone { .. }) => break,
                // Its holder has only just been started, or is about to go.
                Err(_) => std::thread::park_timeout(LOOK),
            }
        }
    }
    let outcome = failed(Ending::Stopped, "it was stopped".to_owned());
    attempt.decide(&outcome).unwrap_or(outcome)
}

/// Forces a process to end and waits until it has.
fn force(pane: &mut dyn Pane, until: Instant) {
    let mut buffer = vec![0; 64 * 1024];
    let _ = pane.stop(Stop::Force);
    while pane.is_alive() && Instant::now() < until {
        // What it printed is on its tape; reading is how its end is heard of.
        if !matches!(pane.read(&mut buffer), Ok(ReadOutcome::Data(..))) {
            std::thread::park_timeout(LOOK);
        }
    }
}

fn failed(ending: Ending, reason: String) -> Outcome {
    Outcome::new(false, ending, reason)
}
