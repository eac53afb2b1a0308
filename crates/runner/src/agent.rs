//! An agent on a terminal.

use std::sync::Arc;

use coven_adapters::AgentAdapter;
use coven_adapters::channel::ChannelKind;
use coven_adapters::hook::HookEvent;
use coven_adapters::launch::LaunchSpec;
use coven_model::{AgentMode, AgentVerdict, ContentDigest, JobOutcome, Timestamp};
use coven_runtime::domain::Pane;
use coven_terminal::keys::KeyPress;
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::snapshot::ScreenSnapshot;
use tokio::sync::watch;

use crate::actor::{ActorHandle, AgentReader, Request, RunnerActor, StopError};
use crate::answer::{AnswerAction, AnswerError, GivenAnswer};
use crate::channel::{ChannelSetup, FoundChannel};
use crate::delivery::{DeliveryError, Message};
use crate::event::ShownState;
use crate::finished::PastActivity;
use crate::hook::{HookToken, ReportRefused};
use crate::launch::{self, StartError};
use crate::subscription::RunnerSubscription;
use crate::task::{AgentTask, TaskPlace};

/// An agent that converses: on a terminal, or in its own protocol without one. Clones are handles to the same agent; when the last one is dropped the
/// agent goes on until it ends, if its domain lets it.
#[derive(Clone, Debug)]
pub struct AgentRunner {
    handle: ActorHandle,
    channel: Option<ChannelKind>,
    /// What a report of the agent must show, where it reports.
    token: Option<Arc<HookToken>>,
}

/// An agent on a terminal that was started before, as it was found.
pub struct FoundAgent {
    /// Its process; what it gives begins at `offset`.
    pub pane: Box<dyn Pane>,
    /// Its screen, rebuilt up to `offset`.
    pub screen: Screen,
    /// How much of its output is on the screen.
    pub offset: u64,
    /// Whether all of it is; what was lost is not.
    pub exact: bool,
    /// What it did before; see [`past`](crate::past).
    pub past: PastActivity,
    /// The folder of the attempt.
    pub folder: Option<std::path::PathBuf>,
}

/// What a terminal shows at one moment.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// The screen as values, for reading.
    pub snapshot: ScreenSnapshot,
    /// Bytes that paint the same screen on another terminal.
    pub dump: Vec<u8>,
    /// The end of the output it was made from.
    pub offset: u64,
    /// How many times the terminal was resized by then, since it is followed.
    pub resizes: u64,
}

/// An agent whose token was shown.
#[derive(Clone, Debug)]
pub struct AgentReporter(ActorHandle);

impl AgentReporter {
    /// Takes what the agent reports. It is evidence beside the screen and decides nothing alone.
    /// What is not understood is left alone, and so is what comes faster than it can be noted.
    pub fn take(&self, body: &[u8]) {
        if let Some(event) = HookEvent::of_report(body) {
            self.0.try_tell(Request::Report(event));
        }
    }
}

impl AgentRunner {
    /// Starts an agent. Must be called within a tokio runtime that has I/O and time.
    pub fn start(
        adapter: Arc<dyn AgentAdapter>,
        mut task: AgentTask,
        place: &TaskPlace,
    ) -> Result<Self, StartError> {
        if task.mode != AgentMode::Interactive {
            return Err(StartError::Mode { wanted: AgentMode::Interactive });
        }
        let launch = launch::plan(&*adapter, &task, place)?;
        let config = launch::prepare(&launch, &task, place)?;
        let token = task.hooks.take().filter(|_| launch.reports).map(|hooks| hooks.token);
        // Before the process is there: its first report may come at once.
        if let (Some(token), Some(folder)) = (&token, &place.folder) {
            token.save(folder).map_err(StartError::Hooks)?;
        }
        let pane = place.domain.spawn(&config)?;
        let screen = Screen::new(task.size);
        let inputs = std::mem::take(&mut task.pending_inputs);
        let (prompt, typed) = (task.prompt.as_deref(), launch.typed_prompt.clone());
        let reader = AgentReader::terminal(&*adapter, screen, prompt, typed, inputs);
        let actor = RunnerActor::new(adapter, task, pane, reader, place.folder.clone(), 0)
            .with_session(launch.agent_session);
        Ok(Self { handle: actor.spawn()?, channel: None, token: token.map(Arc::new) })
    }

    /// Starts an agent without a terminal that is spoken to in its own protocol.
    pub(crate) fn converse(
        adapter: Arc<dyn AgentAdapter>,
        task: AgentTask,
        place: &TaskPlace,
        launch: &LaunchSpec,
        setup: ChannelSetup,
    ) -> Result<Self, StartError> {
        let config = launch::prepare(launch, &task, place)?;
        // Before the process is there: the next one that finds it has to know how to read it.
        if let Some(folder) = &place.folder {
            setup.save(folder).map_err(StartError::Channel)?;
        }
        let pane = place.domain.spawn(&config)?;
        let channel = Some(setup.kind());
        let reader = AgentReader::Channel(Box::new(setup.reader()));
        let actor = RunnerActor::new(adapter, task, pane, reader, place.folder.clone(), 0)
            .with_session(launch.agent_session.clone());
        Ok(Self { handle: actor.spawn()?, channel, token: None })
    }

    /// Follows an agent that was started before and is spoken to in its own protocol. Its pane must
    /// give its output from [`FoundChannel::offset`] on.
    pub fn adopt_conversation(
        adapter: Arc<dyn AgentAdapter>,
        task: AgentTask,
        pane: Box<dyn Pane>,
        found: FoundChannel,
        folder: Option<std::path::PathBuf>,
    ) -> Result<Self, StartError> {
        let channel = Some(found.kind());
        let FoundChannel { reader, offset, .. } = found;
        let reader = AgentReader::Channel(Box::new(reader));
        let actor = RunnerActor::new(adapter, task, pane, reader, folder, offset);
        Ok(Self { handle: actor.spawn()?, channel, token: None })
    }

    /// What an agent that is spoken to in its own protocol said at the end of its last turn.
    pub async fn last_answer(&self) -> Option<String> {
        self.handle.ask(Request::LastAnswer).await.flatten()
    }

    /// The protocol that the agent is spoken to in; nothing on a terminal.
    pub fn channel(&self) -> Option<ChannelKind> {
        self.channel
    }

    /// Follows an agent that was started before.
    pub fn adopt(
        adapter: Arc<dyn AgentAdapter>,
        mut task: AgentTask,
        found: FoundAgent,
    ) -> Result<Self, StartError> {
        let FoundAgent { pane, mut screen, offset, exact, past, folder } = found;
        screen.set_replies(true);
        let inputs = std::mem::take(&mut task.pending_inputs);
        let token = folder.as_deref().and_then(HookToken::load).map(Arc::new);
        let reader = AgentReader::adopted(&*adapter, screen, past, inputs);
        let mut actor = RunnerActor::new(adapter, task, pane, reader, folder, offset);
        if !exact {
            actor.repaint();
        }
        Ok(Self { handle: actor.spawn()?, channel: None, token })
    }

    /// Sends a message and waits until it is verified that the agent works on it.
    pub async fn send(&self, message: Message) -> Result<(), DeliveryError> {
        let ask = |reply| Request::Send { message, reply };
        self.handle.ask(ask).await.unwrap_or(Err(DeliveryError::Ended))
    }

    /// What the agent shows now; nothing if it has ended.
    pub async fn shown(&self) -> Option<ShownState> {
        self.handle.ask(Request::Shown).await
    }

    /// Pastes a text into the prompt without submitting it.
    pub async fn paste(&self, text: impl Into<String>) -> Result<(), DeliveryError> {
        let ask = |reply| Request::Paste { text: text.into(), reply };
        self.handle.ask(ask).await.unwrap_or(Err(DeliveryError::Ended))
    }

    /// Presses keys as a person at the keyboard would: nothing is verified.
    pub async fn keys(&self, keys: Vec<KeyPress>) {
        self.handle.tell(Request::Keys(keys)).await;
    }

    /// Writes bytes as a terminal in front of a person would: nothing is verified.
    pub async fn write(&self, bytes: Vec<u8>) {
        self.handle.tell(Request::Bytes(bytes)).await;
    }

    /// Gives the terminal another size, which stays its own.
    pub async fn resize(&self, size: GridSize) {
        self.handle.tell(Request::Resize(size)).await;
    }

    /// Gives the terminal the size of the viewer that types, or its own size again when the last
    /// one has left.
    pub async fn resize_for_viewer(&self, size: Option<GridSize>) {
        self.handle.tell(Request::ViewerSize(size)).await;
    }

    /// Interrupts what the agent is doing, with the keys of its adapter. One that is starting is
    /// waited for.
    pub async fn interrupt(&self) -> Result<(), DeliveryError> {
        self.handle.ask(Request::Interrupt).await.unwrap_or(Err(DeliveryError::Ended))
    }

    /// Answers the question with this digest, if the agent still asks it.
    pub async fn answer(
        &self,
        digest: ContentDigest,
        action: AnswerAction,
    ) -> Result<(), AnswerError> {
        self.give(GivenAnswer { digest, action, name: None, typed: 0 }).await
    }

    /// Answers a question, or goes on with an answer that another process began to give.
    pub async fn give(&self, answer: GivenAnswer) -> Result<(), AnswerError> {
        let ask = |reply| Request::Answer { answer, reply };
        self.handle.ask(ask).await.unwrap_or(Err(AnswerError::Ended))
    }

    /// The agent as one that reports by itself, for a client that shows the token of this attempt.
    pub fn reporter(&self, token: &str) -> Result<AgentReporter, ReportRefused> {
        let is_own = self.token.as_ref().is_some_and(|own| own.is(token));
        if is_own { Ok(AgentReporter(self.handle.clone())) } else { Err(ReportRefused) }
    }

    /// What the terminal shows now.
    pub async fn view(&self) -> Option<AgentView> {
        self.handle.ask(Request::View).await
    }

    /// What the agent is doing.
    pub fn verdict(&self) -> AgentVerdict {
        self.handle.verdict.borrow().clone()
    }

    /// Since when it does that. An agent that was found again has done it since before.
    pub fn since(&self) -> Timestamp {
        *self.handle.since.borrow()
    }

    /// Whether it was told that nobody knows what the agent does, since it last did something else.
    pub fn is_unexplained(&self) -> bool {
        *self.handle.unexplained.borrow()
    }

    /// What the agent is doing, to wait for changes of.
    pub fn watch(&self) -> watch::Receiver<AgentVerdict> {
        self.handle.verdict.clone()
    }

    /// Stops the agent and everything it started, and waits until nothing is left.
    pub async fn stop(&self) -> Result<JobOutcome, StopError> {
        self.handle.stop().await
    }

    /// Stops following the agent and leaves it as it is. Where its domain outlives us it goes on,
    /// and can be adopted.
    pub async fn detach(&self) {
        self.handle.detach().await;
    }

    /// Everything that happens from now on; for the first who asks, from the start.
    pub fn subscribe(&self) -> RunnerSubscription {
        self.handle.subscribe()
    }

    /// Waits for the end of the task.
    pub async fn done(&self) -> Option<JobOutcome> {
        self.handle.done().await
    }
}
