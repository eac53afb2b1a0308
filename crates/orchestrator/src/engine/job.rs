//! One job: started or taken up, followed to its end, its outcome written down before it is told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use coven_adapters::{AgentAdapter, Options as AdapterOptions};
use coven_model::{
    AgentState, AttemptId, Ending, ExitCodes, JobSpec, Mode, Outcome, Sandbox, Usage, Work,
};
use coven_runner::{
    AgentRunner, Event, Found, HeadlessRunner, Message, OkCodes, Place, Subscription, Task, Update,
    finished, worked,
};
use coven_runtime::domain::Sandbox as Confined;
use coven_runtime::hold::{Adopted, Folder, adopt, rebuild};
use coven_store::{Attempt, FileError};
use coven_tape::{Event as Taped, Stream as Taping};
use coven_terminal::screen::{Options as ScreenOptions, Size};
use coven_workflow::Input;
use coven_workflow::command::Answer;
use coven_workflow::input::{Observation, Question};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::answer;
use super::executor::WorkflowExecutor;
use super::shell::Shell;
use crate::event::Live;

/// How many orders may wait for a job.
const ORDERS: usize = 64;

/// How much of a script's output becomes a value.
const LARGEST_OUTPUT: u64 = 16 << 20;

/// The terminal of an agent that nobody has attached to.
const SIZE: (u16, u16) = (120, 40);

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
}

impl JobHandle {
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
        let handle = JobHandle { orders, agent: agent.clone() };
        let job = spec.job.attempt.clone();
        tokio::spawn(async move {
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
        handle
    }

    /// Ends a job that this process did not start, whatever became of it.
    pub(super) fn end(
        attempt: Result<Attempt, FileError>,
        job: AttemptId,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let (orders, _) = mpsc::channel(1);
        tokio::spawn(async move {
            let outcome = match attempt {
                Ok(attempt) => end_from_disk(&attempt),
                Err(error) => failed(Ending::Stopped, error.to_string()),
            };
            tell(&reports, Input::Ended { job, outcome: Box::new(outcome) }).await;
        });
        JobHandle { orders, agent: Arc::default() }
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
                () = stopped(&mut orders) => {
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

    fn adapter(&self) -> Result<Arc<dyn AgentAdapter>, String> {
        match &self.spec.work {
            Work::Shell(work) => {
                let path = self.executor.env.get(&OsString::from("PATH"));
                Ok(Arc::new(Shell::new(work.clone(), path.map(OsString::as_os_str))))
            }
            Work::Agent(agent) => {
                let options = AdapterOptions {
                    cwd: Some(self.cwd()),
                    env: self.spec.env.clone(),
                    name: Some(self.spec.name.clone()),
                    config_path: None,
                };
                let created = self.executor.shared.registry.create(&agent.adapter, options);
                created.map(Arc::from).map_err(|error| error.to_string())
            }
        }
    }

    fn cwd(&self) -> PathBuf {
        let base = &self.executor.shared.base_dir;
        self.spec.cwd.as_ref().map_or_else(|| base.clone(), |cwd| base.join(cwd))
    }

    fn mode(&self) -> Mode {
        if self.spec.work.is_interactive() { Mode::Interactive } else { Mode::Headless }
    }

    fn ok_codes(&self) -> OkCodes {
        match &self.spec.ok_exit_codes {
            ExitCodes::Any => OkCodes::Any,
            ExitCodes::Only(codes) => OkCodes::These(codes.iter().copied().collect()),
        }
    }

    fn task(&self) -> Task {
        let mut task = Task::interactive(self.spec.job.to_string(), None);
        task.mode = self.mode();
        task.ok_codes = self.ok_codes();
        task.size = Size::new(SIZE.0, SIZE.1);
        match &self.spec.work {
            Work::Shell(_) => task.prompt = Some("-".to_owned()),
            Work::Agent(agent) => {
                task.prompt.clone_from(&agent.prompt);
                task.extra_args.clone_from(&agent.extra_args);
                task.permission = agent.permissions;
                task.model.clone_from(&agent.model);
                task.auto_approve = agent.auto_approve;
            }
        }
        task
    }

    fn place(&self, adapter: &dyn AgentAdapter) -> std::io::Result<Place> {
        let mut env: BTreeMap<OsString, OsString> = (*self.executor.env).clone();
        env.extend(self.spec.env.iter().map(|(name, value)| (name.into(), value.into())));
        env.insert("COVEN_SESSION".into(), self.spec.job.session.as_str().into());
        if matches!(self.spec.work, Work::Shell(_)) {
            let path = self.attempt.path().join("variables.json");
            std::fs::write(&path, Value::Object(self.variables.clone()).to_string())?;
            env.insert("COVEN_VARS".into(), path.into());
        }
        Ok(Place {
            domain: self.executor.shared.domain.clone(),
            cwd: self.cwd(),
            env,
            folder: Some(self.attempt.path().to_owned()),
            sandbox: self.sandbox(adapter),
            programs: BTreeMap::from([("coven".to_owned(), self.executor.shared.program.clone())]),
        })
    }

    /// What a confined job may write: a folder of its own, and what its program cannot do without.
    fn sandbox(&self, adapter: &dyn AgentAdapter) -> Option<Confined> {
        if self.spec.sandbox == Sandbox::Off {
            return None;
        }
        let home = self.executor.env.get(&OsString::from("HOME")).map(PathBuf::from);
        let own =
            adapter.config().state.write.iter().filter_map(|path| match path.strip_prefix("~/") {
                Some(rest) => Some(home.as_ref()?.join(rest)),
                None => Some(PathBuf::from(path)),
            });
        let mut write: Vec<PathBuf> = own.filter(|path| path.exists()).collect();
        write.push(self.attempt.path().to_owned());
        write.extend(["/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts"].map(PathBuf::from));
        if self.spec.sandbox == Sandbox::Workspace {
            write.push(self.cwd());
        }
        write.retain(|path| path.exists());
        Some(Confined { write })
    }

    fn launch(&self, adapter: &Arc<dyn AgentAdapter>) -> Result<Runner, Option<Box<Outcome>>> {
        let not_started = |error: String| Some(Box::new(failed(Ending::NotStarted, error)));
        let place = self.place(&**adapter).map_err(|error| not_started(error.to_string()))?;
        let task = self.task();
        let started = match task.mode {
            Mode::Interactive => {
                AgentRunner::start(adapter.clone(), task, &place).map(Runner::Agent)
            }
            Mode::Headless => {
                HeadlessRunner::start(adapter.clone(), task, &place, Usage::default())
                    .map(Runner::Headless)
            }
        };
        started.map_err(|error| not_started(error.to_string()))
    }

    /// Takes up a job that was started before: alive, ended, or gone.
    fn take_up(&self, adapter: &Arc<dyn AgentAdapter>) -> Result<Runner, Option<Box<Outcome>>> {
        let path = self.attempt.path().to_owned();
        let folder = Folder::new(&path);
        let interactive = self.mode() == Mode::Interactive;
        let rebuilt =
            if interactive { rebuild(&folder, &ScreenOptions::default()).ok() } else { None };
        let offset = rebuilt.as_ref().map_or(0, |rebuilt| rebuilt.offset);
        match adopt(&folder, offset) {
            Ok(Adopted::Alive(pane)) => {
                let (pane, task) = (Box::new(pane), self.task());
                let adopted = match rebuilt {
                    Some(rebuilt) => {
                        let found = Found {
                            pane,
                            screen: rebuilt.screen,
                            offset: rebuilt.offset,
                            questions: 1,
                            // A tape that cannot be read tells of no work.
                            worked: worked(&**adapter, &path).unwrap_or(false),
                            folder: Some(path),
                        };
                        AgentRunner::adopt(adapter.clone(), task, found).map(Runner::Agent)
                    }
                    None => HeadlessRunner::adopt(
                        adapter.clone(),
                        task,
                        pane,
                        Usage::default(),
                        Some(path),
                    )
                    .map(Runner::Headless),
                };
                adopted.map_err(|error| Some(Box::new(failed(Ending::Lost, error.to_string()))))
            }
            Ok(Adopted::Exited(_)) => Err(Some(Box::new(self.read_end(&**adapter)))),
            Ok(Adopted::Gone { .. }) | Err(_) => Err(None),
        }
    }

    /// How a job ended that nobody followed.
    fn read_end(&self, adapter: &dyn AgentAdapter) -> Outcome {
        let folder = Folder::new(self.attempt.path());
        let exit = folder.exit().ok().flatten();
        if exit.as_ref().is_some_and(|exit| exit.stopped) || folder.is_killed() {
            return failed(Ending::Stopped, "it was stopped".to_owned());
        }
        let status = exit.map(|exit| exit.status);
        let path = self.attempt.path();
        let read = finished(adapter, self.mode(), &self.ok_codes(), path, status, Usage::default());
        read.unwrap_or_else(|error| failed(Ending::Lost, error.to_string()))
    }

    async fn follow(
        &mut self,
        runner: Runner,
        adapter: &Arc<dyn AgentAdapter>,
        orders: &mut mpsc::Receiver<Order>,
    ) {
        let mut events = match &runner {
            Runner::Agent(agent) => {
                *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent.clone());
                agent.subscribe()
            }
            Runner::Headless(headless) => headless.subscribe(),
        };
        self.tell(Input::Started(self.id())).await;
        loop {
            tokio::select! {
                update = next(&mut events) => match update {
                    Some(Event::Done(outcome)) => {
                        let outcome = self.with_output(*outcome);
                        self.decide_end(outcome).await;
                        break;
                    }
                    Some(event) => self.happened(event, &runner, adapter).await,
                    None => break,
                },
                Some(order) = orders.recv() => self.obey(order, &runner),
                Some(_) = self.sending.join_next() => {}
            }
        }
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn happened(&mut self, event: Event, runner: &Runner, adapter: &Arc<dyn AgentAdapter>) {
        match event {
            Event::Output { stream, offset, raw, clean } => {
                let job = self.id();
                let live = Live::Output { job, stream, offset, length: raw.len(), clean };
                let _ = self.reports.send(Report::Live(live)).await;
            }
            Event::State(verdict) => {
                let state = verdict.state;
                let live = Live::State { job: self.id(), verdict: Box::new(verdict) };
                let _ = self.reports.send(Report::Live(live)).await;
                match state {
                    AgentState::Working => self.observed(Observation::Working).await,
                    AgentState::Idle | AgentState::Error => {
                        self.observed(Observation::Idle { worked: false, output: None }).await;
                    }
                    _ => {}
                }
            }
            Event::TurnEnded { .. } => {
                let output = match runner {
                    Runner::Agent(agent) => agent.view().await.map(|view| view.snapshot.text()),
                    Runner::Headless(_) => None,
                };
                self.observed(Observation::Idle { worked: true, output }).await;
            }
            Event::Awaiting(question) => {
                let automatic = matches!(&self.spec.work, Work::Agent(agent) if agent.auto_approve);
                let policies = &self.executor.shared.policies;
                let decided = answer::decide(policies, &**adapter, automatic, &question);
                let question = Question {
                    kind: question.kind,
                    rule: question.rule,
                    excerpt: question.excerpt.join("\n"),
                    digest: question.digest,
                };
                let decided = decided.map(Box::new);
                self.observed(Observation::Awaiting { question, decided }).await;
            }
            _ => {}
        }
    }

    async fn observed(&mut self, what: Observation) {
        let seen = self.next_seen();
        self.tell(Input::Observed { job: self.id(), seen, what }).await;
    }

    /// A number larger than every earlier one, also of an earlier process.
    fn next_seen(&mut self) -> u64 {
        self.seen = (self.seen + 1).max(micros());
        self.seen
    }

    fn obey(&mut self, order: Order, runner: &Runner) {
        let seen = self.next_seen();
        let reports = self.reports.clone();
        let job = self.id();
        match (order, runner) {
            (Order::Stop, runner) => {
                let _ = Folder::new(self.attempt.path()).mark_killed();
                match runner {
                    Runner::Agent(agent) => {
                        let agent = agent.clone();
                        self.sending.spawn(async move { drop(agent.stop().await) });
                    }
                    Runner::Headless(headless) => {
                        let headless = headless.clone();
                        self.sending.spawn(async move { drop(headless.stop().await) });
                    }
                }
            }
            (Order::Answer(answer), Runner::Agent(agent)) => {
                let agent = agent.clone();
                self.sending.spawn(async move {
                    let action = answer::action(&answer.decision);
                    let intervention = answer.intervention.clone();
                    let input = match agent.answer(answer.digest.clone(), action).await {
                        Ok(()) => Input::Answered { intervention, seen },
                        Err(error) => Input::Stale { intervention, reason: error.to_string() },
                    };
                    tell(&reports, input).await;
                });
            }
            (Order::Send { number, text }, Runner::Agent(agent)) => {
                let sent = self.attempt.path().join(format!("sent.{number}"));
                let agent = agent.clone();
                self.sending.spawn(async move {
                    // What was perhaps typed by a process that died is not typed again.
                    let delivered = match std::fs::File::create_new(&sent) {
                        Ok(file) => {
                            let _ = file.sync_all();
                            agent.send(Message::new(text)).await.is_ok()
                        }
                        Err(_) => true,
                    };
                    if delivered {
                        tell(&reports, Input::Delivered { job, number, seen }).await;
                    } else {
                        // An agent that does not take its input is of no use.
                        drop(agent.stop().await);
                    }
                });
            }
            (Order::Answer(_) | Order::Send { .. }, Runner::Headless(_)) => {}
        }
    }

    /// A command's output is all it printed, which is on its tape.
    fn with_output(&self, mut outcome: Outcome) -> Outcome {
        if matches!(self.spec.work, Work::Shell(_)) {
            let (output, errors) = printed(&self.attempt);
            if !outcome.ok && !errors.trim().is_empty() {
                let last = errors.trim_end().lines().rev().take(3).collect::<Vec<_>>();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
                outcome.reason = format!("{}: {last}", outcome.reason);
            }
            outcome.output = Some(output.trim_end_matches(['\n', '\r']).to_owned());
        }
        outcome
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

/// The next event; what a slow follower missed is output, which is on the tape.
async fn next(events: &mut Subscription) -> Option<Event> {
    loop {
        match events.next().await? {
            Update::Event(event) => return Some(event),
            Update::Lagged(_) => {}
        }
    }
}

/// Waits for the order to stop.
async fn stopped(orders: &mut mpsc::Receiver<Order>) {
    loop {
        match orders.recv().await {
            Some(Order::Stop) => return,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

fn end_from_disk(attempt: &Attempt) -> Outcome {
    if let Ok(Some(outcome)) = attempt.outcome() {
        return outcome;
    }
    let folder = Folder::new(attempt.path());
    let _ = folder.mark_killed();
    if matches!(attempt.spawn(), Ok(Some(_)))
        && let Ok(Adopted::Alive(mut pane)) = adopt(&folder, 0)
    {
        use coven_runtime::domain::{Pane, Stop};
        let _ = pane.stop(Stop::Force);
    }
    let outcome = failed(Ending::Stopped, "it was stopped".to_owned());
    attempt.decide(&outcome).unwrap_or(outcome)
}

/// Everything a command printed, output and errors apart, up to the limit.
fn printed(attempt: &Attempt) -> (String, String) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    if let Ok(reader) = attempt.tape() {
        for record in reader.records(0) {
            let Ok(record) = record else { break };
            if record.offset > LARGEST_OUTPUT {
                break;
            }
            if let Taped::Output { stream, bytes } = record.event {
                match stream {
                    Taping::Out => output.extend(bytes),
                    Taping::Err => errors.extend(bytes),
                }
            }
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output), text(errors))
}

fn failed(ending: Ending, reason: String) -> Outcome {
    Outcome {
        ok: false,
        ending,
        reason,
        output: None,
        usage: Usage::default(),
        denials: Vec::new(),
        agent_session: None,
    }
}

fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
