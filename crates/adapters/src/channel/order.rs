//! What can be said to an agent over its channel, and why it may be refused.

use serde::{Deserialize, Serialize};

use super::question::RequestId;

/// Something to say to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChannelOrder {
    /// A new turn. Only while the agent is idle.
    Prompt {
        text: String,
    },
    Answer {
        request: RequestId,
        decision: ChannelDecision,
    },
    /// Ends the turn that runs. The process lives on.
    Interrupt,
    /// Changes what the agent asks about, by the agent's own name for it.
    SetMode {
        mode: String,
    },
}

/// The answer to a question. There is no "always": what is allowed again is decided by the rules
/// of Coven, never by the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChannelDecision {
    Approve,
    Deny {
        /// What the agent is told besides.
        text: Option<String>,
    },
    /// Answers to the questions of a request; for ACP the id of one option.
    Choose {
        answers: Vec<QuestionAnswer>,
    },
}

/// The answer to one question of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswer {
    /// The id of the question.
    pub question: String,
    /// Labels that were chosen, or the text that was typed.
    pub values: Vec<String>,
}

/// Bytes to write to an agent in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMessage {
    pub bytes: Vec<u8>,
    /// What could not be said with them: the next prompt when the turn is over.
    pub next_prompt: Option<String>,
}

impl From<Vec<u8>> for ChannelMessage {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, next_prompt: None }
    }
}

/// Why something is not said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelRefusal {
    #[error("request {request} is not open: it was answered, or the agent took it back")]
    NotOpen { request: RequestId },
    #[error("the agent is not idle")]
    NotIdle,
    #[error("the agent has no turn that could be interrupted")]
    NoTurn,
    #[error("the agent has no conversation yet")]
    NotReady,
    #[error("the agent does not offer {answer} as an answer")]
    NotOffered { answer: String },
    #[error("{option} would stop the agent from asking again; a rule of Coven can do that")]
    Lasting { option: String },
    #[error("the option `{option}` is not chosen: {why}")]
    Doubtful { option: String, why: String },
    #[error("the question `{question}` has no answer")]
    MissingAnswer { question: String },
    #[error("{what} cannot be said over this channel")]
    NotSupported { what: String },
    #[error("the message before is still being written")]
    Unfinished,
}
