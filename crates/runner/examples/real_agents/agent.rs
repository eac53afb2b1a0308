//! One agent on a terminal, with everything it told so far.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use coven_model::{AgentState, ContentDigest, InterventionChoice, JobOutcome};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, Message, RunnerEvent, RunnerSubscription, RunnerUpdate,
    ScreenQuestion,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::left;
use crate::stage::{Scenery, Stage};

/// How long anything may take: the CLIs need half a minute to start on a busy machine.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(90);

/// Something an agent told.
#[expect(clippy::large_enum_variant, reason = "a few of them are kept")]
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "some is told only to be shown as evidence")]
pub(crate) enum Told {
    State(AgentState),
    Asks(ScreenQuestion),
    Gone(ContentDigest),
    TurnEnded { error: bool },
    Unexplained,
    Failed(String),
    Lagged(u64),
    Done(Arc<JobOutcome>),
}

/// How long agents were in which state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateTimes {
    pub(crate) unknown: Duration,
    pub(crate) all: Duration,
}

impl StateTimes {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { unknown: self.unknown + other.unknown, all: self.all + other.all }
    }

    /// The share of the time in which nobody knew what the agents do, in percent.
    pub(crate) fn unknown_percent(self) -> f64 {
        100.0 * self.unknown.as_secs_f64() / self.all.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Adds up how long an agent is in its states.
#[derive(Debug)]
struct StateClock {
    times: StateTimes,
    state: AgentState,
    since: Instant,
}

impl StateClock {
    fn new() -> Self {
        let (times, state) = (StateTimes::default(), AgentState::Starting);
        Self { times, state, since: Instant::now() }
    }

    fn enter(&mut self, state: AgentState) {
        let spent = self.since.elapsed();
        self.since = Instant::now();
        self.times.all += spent;
        if self.state == AgentState::Unknown {
            self.times.unknown += spent;
        }
        self.state = state;
    }
}

/// An agent on a terminal.
pub(crate) struct Agent {
    pub(crate) runner: AgentRunner,
    pub(crate) scenery: Scenery,
    told: watch::Receiver<Vec<Told>>,
    clock: Arc<Mutex<StateClock>>,
    listener: JoinHandle<()>,
    before: std::collections::BTreeSet<u32>,
}

impl Agent {
    pub(crate) fn start(scenery: Scenery, task: AgentTask) -> Result<Self, String> {
        let before = left::processes();
        let runner = AgentRunner::start(scenery.adapter.clone(), task, &scenery.place)
            .map_err(|error| error.to_string())?;
        let (sender, told) = watch::channel(Vec::new());
        let clock = Arc::new(Mutex::new(StateClock::new()));
        let listener = tokio::spawn(listen(runner.subscribe(), sender, Arc::clone(&clock)));
        Ok(Self { runner, scenery, told, clock, listener, before })
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.borrow().clone()
    }

    /// How much it has told, to look only at what comes after.
    pub(crate) fn now(&self) -> usize {
        self.told.borrow().len()
    }

    /// Waits until it has told something since a moment. Says where that stands, and what it is.
    pub(crate) async fn wait<T>(
        &self,
        from: usize,
        what: &str,
        wanted: impl Fn(&Told) -> Option<T>,
    ) -> Result<(usize, T), String> {
        self.wait_within(STEP_TIMEOUT, from, what, wanted).await
    }

    /// The same, for no longer than this.
    pub(crate) async fn wait_within<T>(
        &self,
        timeout: Duration,
        from: usize,
        what: &str,
        wanted: impl Fn(&Told) -> Option<T>,
    ) -> Result<(usize, T), String> {
        let mut told = self.told.clone();
        let find = |all: &[Told]| {
            all.iter().enumerate().skip(from).find_map(|(at, each)| Some((at, wanted(each)?)))
        };
        let ended = |all: &[Told]| all.iter().any(|each| matches!(each, Told::Done(_)));
        let came =
            tokio::time::timeout(timeout, told.wait_for(|all| find(all).is_some() || ended(all)))
                .await;
        let state = self.runner.verdict();
        match came {
            Ok(Ok(all)) => find(&all).ok_or_else(|| {
                let outcome = all.iter().find_map(|each| match each {
                    Told::Done(outcome) => Some(outcome.reason.clone()),
                    _ => None,
                });
                format!("it ended before {what}: {}", outcome.unwrap_or_default())
            }),
            Ok(Err(_)) => Err(format!("the runner ended before {what}")),
            Err(_) => Err(format!(
                "waited {} s in vain for {what}; it is {} by {} ({})",
                timeout.as_secs(),
                state.state,
                state.evidence.rule,
                state.evidence.text
            )),
        }
    }

    /// Waits until it is in a state, now or later.
    pub(crate) async fn state(&self, state: AgentState) -> Result<(), String> {
        self.state_within(STEP_TIMEOUT, state).await
    }

    /// The same, for no longer than this.
    pub(crate) async fn state_within(
        &self,
        timeout: Duration,
        state: AgentState,
    ) -> Result<(), String> {
        let mut verdict = self.runner.watch();
        let waited =
            tokio::time::timeout(timeout, verdict.wait_for(|now| now.state == state)).await;
        if let Ok(Ok(_)) = waited {
            return Ok(());
        }
        let now = self.runner.verdict();
        let (rule, text) = (now.evidence.rule, now.evidence.text);
        Err(format!("never {state}; it is {} by {rule} ({text})", now.state))
    }

    pub(crate) async fn question(&self, from: usize) -> Result<(usize, ScreenQuestion), String> {
        self.wait(from, "a question", |told| match told {
            Told::Asks(question) => Some(question.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn turn_end(&self, from: usize) -> Result<bool, String> {
        self.turn_end_within(STEP_TIMEOUT, from).await
    }

    /// The same, for no longer than this.
    pub(crate) async fn turn_end_within(
        &self,
        timeout: Duration,
        from: usize,
    ) -> Result<bool, String> {
        let ended = self.wait_within(timeout, from, "the end of the turn", |told| match told {
            Told::TurnEnded { error } => Some(*error),
            _ => None,
        });
        ended.await.map(|(_, error)| error)
    }

    pub(crate) async fn send(&self, text: &str) -> Result<(), String> {
        self.runner.send(Message::new(text)).await.map_err(|error| error.to_string())
    }

    pub(crate) async fn choose(
        &self,
        question: &ScreenQuestion,
        choice: InterventionChoice,
    ) -> Result<(), String> {
        let answered =
            self.runner.answer(question.digest.clone(), AnswerAction::Choose(choice)).await;
        answered.map_err(|error| format!("{choice}: {error}"))
    }

    /// The questions it asked since a moment.
    pub(crate) fn questions(&self, from: usize) -> Vec<ScreenQuestion> {
        let asked = self.told().into_iter().skip(from).filter_map(|told| match told {
            Told::Asks(question) => Some(question),
            _ => None,
        });
        asked.collect()
    }

    /// What it looks like and what it told, for people.
    pub(crate) async fn portrait(&self, stage: &Stage) -> String {
        let screen = self.runner.view().await.map(|view| {
            let cursor = view.snapshot.cursor();
            format!("cursor {cursor:?}\n{}", view.snapshot.text())
        });
        format!(
            "verdict: {:?}\n\nscreen: {}\n\ntold: {:#?}\n\nrequests: {:#?}\n\ntape:\n{}",
            self.runner.verdict(),
            screen.unwrap_or_default(),
            self.told(),
            stage.turns(0),
            self.tape()
        )
    }

    /// What it printed and was sent, with the time, from its tape.
    fn tape(&self) -> String {
        let folder = self.scenery.place.folder.clone().unwrap_or_default();
        let Ok(reader) = coven_tape::TapeReader::open(&folder) else { return String::new() };
        let lines = reader.records(0).filter_map(Result::ok).map(|record| {
            let what = match record.event {
                coven_tape::TapeEvent::Output { bytes, .. } => {
                    format!("> {}", String::from_utf8_lossy(&bytes).escape_debug())
                }
                coven_tape::TapeEvent::Input(bytes) => {
                    format!("< {}", String::from_utf8_lossy(&bytes).escape_debug())
                }
                other => format!("{other:?}"),
            };
            format!("{:10.3} {what}\n", Duration::from_micros(record.time).as_secs_f64())
        });
        lines.collect()
    }

    /// Everything it printed.
    pub(crate) fn output(&self) -> Vec<u8> {
        let folder = self.scenery.place.folder.clone().unwrap_or_default();
        let Ok(reader) = coven_tape::TapeReader::open(&folder) else { return Vec::new() };
        let outputs = reader.records(0).filter_map(Result::ok).filter_map(|record| {
            let coven_tape::TapeEvent::Output { bytes, .. } = record.event else { return None };
            Some(bytes)
        });
        outputs.collect::<Vec<_>>().concat()
    }

    /// How long it was in its states until now.
    pub(crate) fn times(&self) -> StateTimes {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let state = clock.state;
        clock.enter(state);
        clock.times
    }

    /// How many processes it has.
    pub(crate) fn processes(&self) -> usize {
        left::since(&self.before).len()
    }

    /// Stops it. Says what it told last and which of its processes are left.
    pub(crate) async fn stop(self) -> (Result<JobOutcome, String>, Vec<String>) {
        let stopped = self.runner.stop().await.map_err(|error| error.to_string());
        let job = coven_runtime::processes::of_job(&self.scenery.job);
        let mut left: Vec<String> =
            job.iter().map(|process| format!("{} by its job", process.pid)).collect();
        left.extend(left::since(&self.before));
        drop(self.runner);
        // The listener ends with the runner.
        tokio::time::timeout(STEP_TIMEOUT, self.listener).await.ok();
        (stopped, left)
    }
}

async fn listen(
    mut events: RunnerSubscription,
    told: watch::Sender<Vec<Told>>,
    clock: Arc<Mutex<StateClock>>,
) {
    while let Some(update) = events.next().await {
        let each = match update {
            RunnerUpdate::Lagged(missed) => Told::Lagged(missed),
            RunnerUpdate::Event(RunnerEvent::State(verdict)) => {
                clock.lock().unwrap_or_else(PoisonError::into_inner).enter(verdict.state);
                Told::State(verdict.state)
            }
            RunnerUpdate::Event(RunnerEvent::Awaiting(question)) => Told::Asks(question),
            RunnerUpdate::Event(RunnerEvent::NoLongerAwaiting(digest)) => Told::Gone(digest),
            RunnerUpdate::Event(RunnerEvent::TurnEnded { error }) => Told::TurnEnded { error },
            RunnerUpdate::Event(RunnerEvent::Unexplained(_)) => Told::Unexplained,
            RunnerUpdate::Event(RunnerEvent::DeliveryFailed { error, .. }) => {
                Told::Failed(error.to_string())
            }
            RunnerUpdate::Event(RunnerEvent::Done(outcome)) => Told::Done(Arc::new(*outcome)),
            RunnerUpdate::Event(_) => continue,
        };
        told.send_modify(|all| all.push(each));
    }
}
