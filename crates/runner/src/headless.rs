//! An agent without a terminal: one prompt, structured output, an end.

use std::sync::Arc;

use coven_adapters::AgentAdapter;
use coven_adapters::config::StdinSource;
use coven_adapters::launch::ChannelFallback;
use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat};
use coven_model::{AgentMode, AgentVerdict, JobOutcome, Timestamp, TokenUsage};
use coven_runtime::domain::Pane;

use crate::actor::{ActorHandle, AgentReader, Request, RunnerActor, StopError};
use crate::agent::AgentRunner;
use crate::channel::ChannelSetup;
use crate::launch::{self, StartError};
use crate::subscription::RunnerSubscription;
use crate::task::{AgentTask, ChannelUse, TaskPlace};

/// An agent without a terminal. Clones are handles to the same agent.
#[derive(Clone, Debug)]
pub struct HeadlessRunner {
    handle: ActorHandle,
    takes_input: bool,
    fallback: Option<ChannelFallback>,
}

impl HeadlessRunner {
    /// Starts an agent. `previous` is what an earlier part of a resumed conversation used up.
    /// Must be called within a tokio runtime that has I/O and time.
    pub fn start(
        adapter: Arc<dyn AgentAdapter>,
        task: AgentTask,
        place: &TaskPlace,
        previous: TokenUsage,
    ) -> Result<Self, StartError> {
        if task.mode != AgentMode::Headless {
            return Err(StartError::Mode { wanted: AgentMode::Headless });
        }
        let takes_input = takes_input(&*adapter);
        let launch = launch::plan(&*adapter, &task, place)?;
        let config = launch::prepare(&launch, &task, place)?;
        let pane = place.domain.spawn(&config)?;
        let reader = AgentReader::transcript(decoder(&*adapter, previous));
        let actor = RunnerActor::new(adapter, task, pane, reader, place.folder.clone(), 0)
            .with_session(launch.agent_session);
        Ok(Self { handle: actor.spawn()?, takes_input, fallback: launch.fallback })
    }

    /// Follows an agent that was started before. Its pane must give all of its output, from the
    /// first byte on, because the result is read from all of it.
    pub fn adopt(
        adapter: Arc<dyn AgentAdapter>,
        task: AgentTask,
        pane: Box<dyn Pane>,
        previous: TokenUsage,
        folder: Option<std::path::PathBuf>,
    ) -> Result<Self, StartError> {
        let takes_input = takes_input(&*adapter);
        let reader = AgentReader::transcript(decoder(&*adapter, previous));
        let actor = RunnerActor::new(adapter, task, pane, reader, folder, 0);
        Ok(Self { handle: actor.spawn()?, takes_input, fallback: None })
    }

    /// Why it was started without the protocol that was wanted.
    pub fn fallback(&self) -> Option<&ChannelFallback> {
        self.fallback.as_ref()
    }

    /// Whether its adapter leaves its standard input open, so that it can be sent text.
    pub fn takes_input(&self) -> bool {
        self.takes_input
    }

    /// Writes text to the agent's standard input.
    pub async fn send(&self, text: impl Into<String>) {
        self.handle.tell(Request::Bytes(text.into().into_bytes())).await;
    }

    /// Closes the agent's standard input.
    pub async fn close_input(&self) {
        self.handle.tell(Request::CloseInput).await;
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

    /// What the agent is doing: it works from its start to its end, and may be trying to reach its
    /// model again.
    pub fn verdict(&self) -> AgentVerdict {
        self.handle.verdict.borrow().clone()
    }

    /// Since when it does that.
    pub fn since(&self) -> Timestamp {
        *self.handle.since.borrow()
    }

    /// Waits for the end of the task.
    pub async fn done(&self) -> Option<JobOutcome> {
        self.handle.done().await
    }
}

/// A headless agent that was started: one prompt and an end, or a conversation in its own protocol.
#[derive(Clone, Debug)]
pub enum StartedHeadless {
    OnePrompt(HeadlessRunner),
    Conversation(AgentRunner),
}

/// Starts a headless agent in the way that its task and its program allow.
pub fn start_headless(
    adapter: Arc<dyn AgentAdapter>,
    task: AgentTask,
    place: &TaskPlace,
    previous: TokenUsage,
) -> Result<StartedHeadless, StartError> {
    let launch = launch::plan(&*adapter, &task, place)?;
    let Some(channel) = &launch.channel else {
        if let (Some(fallback), ChannelUse::Needed) = (&launch.fallback, task.channel) {
            return Err(StartError::NeedsChannel { reason: fallback.reason.clone() });
        }
        let started = HeadlessRunner::start(adapter, task, place, previous);
        return started.map(StartedHeadless::OnePrompt);
    };
    let setup = ChannelSetup::new(channel, &task, place, previous);
    let started = AgentRunner::converse(adapter, task, place, &launch, setup);
    started.map(StartedHeadless::Conversation)
}

fn takes_input(adapter: &dyn AgentAdapter) -> bool {
    let mode = adapter.config().modes.get(AgentMode::Headless);
    mode.is_some_and(|mode| mode.stdin == StdinSource::Pipe)
}

pub(crate) fn decoder(adapter: &dyn AgentAdapter, previous: TokenUsage) -> TranscriptDecoder {
    let mode = adapter.config().modes.get(AgentMode::Headless);
    let format = mode.and_then(|mode| mode.transcript.as_deref()?.parse().ok());
    TranscriptDecoder::new(format.unwrap_or(TranscriptFormat::Text)).resumed_from(previous)
}
