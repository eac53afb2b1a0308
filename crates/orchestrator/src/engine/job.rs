//! One job: started or taken up, followed to its end, its outcome written down before it is told.

mod begin;
mod confined;
mod conversation;
mod follow;
mod once;
mod picture;
mod secrets;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use coven_model::{AttemptId, Ending, JobSpec, Outcome};
use coven_runner::{AgentRunner, HeadlessRunner, Redactor};
use coven_runtime::domain::{Pane, ReadOutcome, Stop};
use coven_runtime::hold::{Adopted, Folder, adopt, take_back};
use coven_store::{Attempt, FileError};
use coven_workflow::Input;
use coven_workflow::command::AgentAnswer;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::executor::WorkflowExecutor;
use super::slots::{NoSlot, Place};
use crate::event::Live;
pub(crate) use conversation::Earlier;

/// How long a job that nobody follows may take to be gone.
const GONE: Duration = Duration::from_secs(30);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// What is said of a job whose end nobody saw.
const LOST: &str = "its process is gone, and nobody saw how it ended";

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
    Answer(Box<AgentAnswer>),
    /// Send it a message.
    Send { number: u32, text: String },
}

/// A session's handle to one of its jobs.
#[derive(Debug)]
pub(crate) struct JobHandle {
    orders: mpsc::Sender<Order>,
    runner: Arc<Mutex<Option<Runner>>>,
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

    /// Closes when the job is over.
    pub(crate) fn until_over(&self) -> mpsc::Sender<Order> {
        self.orders.clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_closed()
    }

    /// Its process, while it is followed.
    pub(crate) fn runner(&self) -> Option<Runner> {
        self.runner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One job on its way.
pub(crate) struct Job {
    executor: WorkflowExecutor,
    attempt: Attempt,
    /// The attempt before, if there was one.
    earlier: Option<Earlier>,
    spec: JobSpec,
    variables: Map<String, Value>,
    /// What is secret in its environment, and what takes it out of texts.
    secrets: Vec<String>,
    redactor: Redactor,
    reports: mpsc::Sender<Report>,
    runner: Arc<Mutex<Option<Runner>>>,
    /// Its place in the queue for a slot, then its slot, until it has ended.
    place: Option<Place>,
    /// The number of the last observation.
    seen: u64,
    /// Answers and messages under way.
    sending: JoinSet<()>,
}

/// A job's process, followed.
#[derive(Clone, Debug)]
pub(crate) enum Runner {
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
        earlier: Option<Earlier>,
        spec: JobSpec,
        variables: Map<String, Value>,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let (orders, receiver) = mpsc::channel(ORDERS);
        let runner = Arc::new(Mutex::new(None));
        let shared = runner.clone();
        let job = spec.job.attempt.clone();
        let place = executor.shared.slots.line_up(&spec);
        let task = tokio::spawn(async move {
            match attempt {
                Ok(attempt) => {
                    let sending = JoinSet::new();
                    let secrets = secrets_of(&executor, &spec);
                    let job = Self {
                        redactor: Redactor::new(secrets.iter().cloned()),
                        secrets,
                        executor,
                        attempt,
                        earlier,
                        spec,
                        variables,
                        reports,
                        runner,
                        place: Some(place),
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
        JobHandle { orders, runner: shared, task }
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
        JobHandle { orders, runner: Arc::default(), task }
    }

    fn id(&self) -> AttemptId {
        self.spec.job.attempt.clone()
    }

    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        if let Ok(Some(outcome)) = self.attempt.outcome() {
            return self.ended(outcome).await;
        }
        // Whoever wanted it started may have died before anything came of it.
        let started = matches!(self.attempt.spawn(), Ok(Some(_)))
            && !take_back(&Folder::new(self.attempt.path())).unwrap_or(false);
        if !started && self.attempt.is_killed().unwrap_or(false) {
            return self.decide_end(failed(Ending::Stopped, "it was stopped".to_owned())).await;
        }
        if started {
            self.place.iter().for_each(Place::runs_already);
        } else if let Some(place) = &mut self.place {
            tokio::select! {
                turn = place.turn() => match turn {
                    Ok(()) => {}
                    Err(NoSlot::Closed) => return,
                    Err(NoSlot::Failed(error)) => {
                        return self.decide_end(failed(Ending::NotStarted, error)).await;
                    }
                },
                stopped = stopped(&mut orders) => {
                    if !stopped {
                        return;
                    }
                    let _ = Folder::new(self.attempt.path()).mark_killed();
                    let outcome = failed(Ending::Stopped, "it was stopped before it began".to_owned());
                    return self.decide_end(outcome).await;
                }
            }
        }
        let adapter = match self.adapter() {
            Ok(adapter) => adapter,
            Err(error) => return self.decide_end(failed(Ending::NotStarted, error)).await,
        };
        let runner = if started {
            self.take_up(&adapter)
        } else {
            self.look_before(&*adapter).await;
            self.launch(&adapter)
        };
        match runner {
            Ok(runner) => {
                self.tell_exposure().await;
                self.follow(runner, &adapter, &mut orders).await;
            }
            Err(None) => {
                let lost = failed(Ending::Lost, LOST.to_owned());
                let lost = self.with_touched(lost).await;
                let job = self.id();
                self.tell(if lost.touched.is_empty() {
                    Input::Lost(job)
                } else {
                    Input::Ended { job, outcome: Box::new(lost) }
                })
                .await;
            }
            Err(Some(outcome)) => self.decide_end(*outcome).await,
        }
    }

    /// Writes the outcome down, then tells it. One that was written down before counts.
    async fn decide_end(&mut self, outcome: Outcome) {
        let outcome = self.without_secrets(self.with_conversation(outcome));
        let outcome = self.with_touched(outcome).await;
        let outcome = self.attempt.decide(&outcome).unwrap_or(outcome);
        self.ended(outcome).await;
    }

    async fn ended(&mut self, outcome: Outcome) {
        if let Some(place) = self.place.take() {
            place.ended(outcome.ok);
        }
        self.tell(Input::Ended { job: self.id(), outcome: Box::new(outcome) }).await;
    }

    async fn tell(&self, input: Input) {
        tell(&self.reports, input).await;
    }
}

/// The secret values in what a job gets of its caller's environment and of its step's.
fn secrets_of(executor: &WorkflowExecutor, spec: &JobSpec) -> Vec<String> {
    let callers = executor.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let steps = spec.env.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    secrets::secrets(callers.chain(steps)).into_iter().collect()
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
