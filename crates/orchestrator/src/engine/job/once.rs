//! A message that an agent is sent once, however many processes try: one that dies on the way
//! leaves what it typed on the agent's tape, and the next goes on from there.

use std::path::Path;
use std::sync::Arc;

use coven_adapters::AgentAdapter;
use coven_model::AgentState;
use coven_runner::{
    AgentRunner, DeliveryError, DeliveryProgress, DeliveryProof, InputName, Message, TypedInputs,
    past,
};
use coven_workflow::command::OrderedText;
use tokio::sync::OnceCell;

use crate::state::blocking::blocking;

/// What earlier processes typed to an agent. It is read from the tape once, before this process types
/// anything: what that types has names of its own.
#[derive(Clone, Default)]
pub(super) struct EarlierInputs(Arc<OnceCell<TypedInputs>>);

impl EarlierInputs {
    /// What cannot be read was not typed: what arrives twice is better than what never does.
    pub(super) async fn read(&self, folder: &Path) -> &TypedInputs {
        let read = || {
            let folder = folder.to_owned();
            blocking(move || TypedInputs::read(&folder).unwrap_or_default())
        };
        self.0.get_or_init(read).await
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentMessage {
    /// It arrived, and the agent began to work on it.
    Now,
    /// It had arrived before. What the agent did about it since is not known from this.
    Before,
    /// It did not arrive.
    Not(DeliveryError),
}

/// Sends a message, or what is left to do of one that another process began to send.
pub(super) async fn send(
    agent: &AgentRunner,
    earlier: &TypedInputs,
    ordered: OrderedText,
) -> SentMessage {
    let OrderedText { number, attempt, text, unverified } = ordered;
    let name = match attempt {
        0 | 1 => number.to_string(),
        again => format!("{number}.{again}"),
    };
    let progress = earlier.message(&name);
    let mut message =
        Message { name: Some(InputName::Message(name)), waits: true, ..Message::new(text) };
    if unverified {
        message.proof = DeliveryProof::None;
        // Another try is by a person who was told why the first one failed.
        message.over_draft = attempt > 1;
    }
    match progress {
        DeliveryProgress::Nothing => {}
        DeliveryProgress::Typed => message.typed = true,
        DeliveryProgress::Submitted => return SentMessage::Before,
    }
    match agent.send(message).await {
        Ok(()) => SentMessage::Now,
        Err(error) => SentMessage::Not(error),
    }
}

/// Whether an agent has worked on what it was told last and is done with it.
pub(super) async fn is_over(
    agent: &AgentRunner,
    adapter: &Arc<dyn AgentAdapter>,
    folder: &Path,
) -> bool {
    if !matches!(agent.verdict().state, AgentState::Idle | AgentState::Error) {
        return false;
    }
    let (adapter, folder) = (adapter.clone(), folder.to_owned());
    blocking(move || past(&*adapter, &folder, u64::MAX).is_ok_and(|past| past.worked)).await
}
