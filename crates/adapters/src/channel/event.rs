//! What a channel tells, the same for every protocol.

use coven_model::{Timestamp, TokenUsage};
use serde::{Deserialize, Serialize};

use super::question::{ChannelQuestion, RequestId};
use crate::transcript::{TextExcerpt, TranscriptItem};

/// Which way bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelDirection {
    /// The agent printed them on its standard output.
    Out,
    /// They were written to the agent's standard input.
    In,
}

/// One thing that a channel tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChannelEvent {
    /// The agent named its conversation.
    Session {
        /// The id to resume it by.
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A turn begins.
    Working,
    /// A turn is over.
    Idle(TurnOutcome),
    /// The agent waits for an answer.
    Asks(Box<ChannelQuestion>),
    /// A question needs no answer any more.
    Resolved {
        request: RequestId,
        by: ResolvedBy,
        /// What was answered, for people: `approved`, `denied` with the reason, what was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<TextExcerpt>,
    },
    Usage {
        usage: TokenUsage,
        /// Whether this is all that this process used so far. Otherwise it comes on top.
        cumulative: bool,
    },
    /// The agent may not use its model for now.
    Limit(UsageLimit),
    /// The agent answered a message of ours with an error.
    Failed {
        /// The method or subtype of our message.
        message: String,
        /// What went wrong, in the agent's words.
        error: String,
    },
    /// The agent does not know the message with which a prompt is said, and has begun nothing of it:
    /// its version speaks the protocol otherwise. It waits for another prompt, unless this was its
    /// first.
    NotTaken(UntakenPrompt),
    /// Words that were said within a turn came too late for it. They can begin the next.
    Unheard { text: String },
    /// The agent changed the mode that decides what it asks about.
    Mode { mode: String },
    /// Something the agent said or did.
    Item { item: TranscriptItem },
    /// Something from before this process, which the agent tells again while it loads a
    /// conversation.
    Replayed { item: TranscriptItem },
    /// A message that was not understood, or only in part.
    Unknown {
        direction: ChannelDirection,
        /// Its beginning, and how much more there was.
        line: TextExcerpt,
    },
    /// Such a message may have been a request that got no answer, or the end of a turn.
    Unread {
        /// What a person is told of it.
        problem: String,
    },
}

/// A prompt that an agent did not understand as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UntakenPrompt {
    /// The method of our message.
    pub message: String,
    /// What is wrong with it, in the agent's words.
    pub error: String,
    /// What was said. One line.
    pub text: String,
    /// Whether it was the first prompt of this process, so that nothing has been done in it.
    pub is_first: bool,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnOutcome {
    pub ending: TurnEnding,
    /// What the agent said last in this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TextExcerpt>,
}

/// Whether a turn did what it was there for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TurnEnding {
    Completed,
    /// It was interrupted or cancelled from outside.
    Interrupted,
    Failed {
        /// Why, in the agent's words. One line.
        error: String,
    },
}

/// Why a question needs no answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolvedBy {
    /// An answer was written to the agent.
    Answer,
    /// The agent took it back, or its turn ended.
    Agent,
}

/// That the agent may not use its model, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageLimit {
    /// When it may again, where told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Which limit, in the agent's words: `five_hour`; for Codex the length of the window,
    /// `300m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What the agent says about it. One line.
    pub text: String,
}

/// What the agent is doing, as far as its channel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelPhase {
    /// It has not agreed to a conversation yet.
    Starting,
    Working,
    /// A question of its is open.
    Awaiting,
    Idle,
    /// It refused to begin. Nothing more is said to it.
    Failed,
}

/// The phase with the message that is the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelState {
    pub phase: ChannelPhase,
    /// The method or subtype of that message; nothing before the first one.
    pub message: String,
    /// Its request id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}
