//! A message, how far it has come, and why it was not delivered.

use std::fmt;

use coven_model::AgentState;

use super::InputName;

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryStage {
    /// The runner has it.
    Accepted,
    /// Every byte was written.
    Typed,
    /// It is on the screen.
    Echoed,
    /// It was submitted and has left the prompt.
    Submitted,
    /// The agent works on it.
    TurnStarted,
}

impl DeliveryStage {
    /// All stages, in order.
    pub const ALL: [Self; 5] =
        [Self::Accepted, Self::Typed, Self::Echoed, Self::Submitted, Self::TurnStarted];

    /// What has been done with the message, in words.
    fn as_done(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Typed => "typed",
            Self::Echoed => "shown in the prompt",
            Self::Submitted => "submitted",
            Self::TurnStarted => "taken up",
        }
    }
}

impl fmt::Display for DeliveryStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Accepted => "accepted",
            Self::Typed => "typed",
            Self::Echoed => "echoed",
            Self::Submitted => "submitted",
            Self::TurnStarted => "turn started",
        })
    }
}

/// A message for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What is typed into the prompt.
    pub text: String,
    /// Its name on the tape, by which [`TypedInputs`](super::TypedInputs) knows how far it came.
    pub name: Option<InputName>,
    /// What must be seen for it to count as delivered.
    pub proof: DeliveryProof,
    /// Whether it stands in the prompt already, because the process that typed it died before it
    /// was submitted. It is not typed again.
    pub typed: bool,
    /// Whether it waits for as long as the agent asks something. Otherwise that is an error.
    pub waits: bool,
    /// Whether it is typed behind what a person has typed and not submitted, because one who was told
    /// of that wants it.
    pub over_draft: bool,
}

/// What must be seen for a message to count as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryProof {
    /// The agent works on it.
    Turn,
    /// It has left the prompt. A command of the program itself, such as `/help`, starts no turn.
    Submission,
    /// Nothing: it is typed and submitted, whatever the agent shows.
    None,
}

/// What commands of a program begin with. They may or may not start a turn.
const COMMAND_MARKS: [char; 3] = ['/', '!', '#'];

impl Message {
    /// A message that the agent is to work on, or a command of its program.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let is_command = text.starts_with(COMMAND_MARKS);
        let proof = if is_command { DeliveryProof::Submission } else { DeliveryProof::Turn };
        Self { text, name: None, proof, typed: false, waits: false, over_draft: false }
    }
}

/// The longest line that a terminal collects, in bytes. The kernel drops what is typed behind that.
const MAX_LINE_BYTES: usize = if cfg!(target_os = "linux") { 4095 } else { 1023 };

/// Why a terminal that collects lines cannot be given a text whole.
pub(crate) fn line_too_long(text: &str) -> Option<String> {
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    (longest > MAX_LINE_BYTES).then(|| {
        format!(
            "a line of it has {longest} bytes, and the terminal takes {MAX_LINE_BYTES}; nothing was typed"
        )
    })
}

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The agent asks something, and the message would answer it.
    #[error("the agent waits for an answer; the message was not typed")]
    Awaiting,
    /// The agent was not ready in time. Nothing was typed.
    #[error("the agent was not ready in time (it is {state}); nothing was typed")]
    NotReady {
        /// What it was doing.
        state: AgentState,
    },
    /// An earlier message stands in the prompt again and cannot be deleted. Nothing was typed.
    #[error("an earlier message is back in the prompt and cannot be deleted; nothing was typed")]
    Occupied,
    /// A person has typed something into the prompt and not submitted it. Nothing was typed.
    #[error(
        "“{0}” stands in the prompt and was not submitted; it was left there, and nothing was typed"
    )]
    Draft(String),
    /// A step could not be verified.
    #[error("the message was {}, but nothing showed that it was {}", reached.as_done(), missing.as_done())]
    Unverified {
        /// How far it came.
        reached: DeliveryStage,
        /// What was not seen.
        missing: DeliveryStage,
    },
    /// The process of the agent is stopped. Nothing was typed.
    #[error(
        "process {0} of the agent is stopped and reads nothing (`kill -CONT {0}` continues it); nothing was typed"
    )]
    Stopped(i32),
    /// The agent has not read what was typed, and it was thrown away.
    #[error("the agent does not read its keys, it may be stopped; what was typed was taken back")]
    NotRead,
    /// The agent has gone on without reading what was typed, and it was thrown away.
    #[error(
        "the agent went on without reading what was typed, which was taken back; nothing of it \
         arrived"
    )]
    TakenBack,
    /// What was asked has gone while the answer was typed. It was deleted again.
    #[error(
        "the agent asks something else now; what was typed was deleted, and nothing was submitted"
    )]
    QuestionChanged,
    /// The same in a program that reads keys as they come: it may have read a part of the text.
    #[error(
        "the agent went on while this was typed, and may have taken a part of it; the rest \
         was not submitted, look at what it shows"
    )]
    MovedOn,
    /// The agent is starting and would be ended by an interrupt.
    #[error(
        "the agent is still starting, and an interrupt would end it now; nothing was pressed \
         (`coven stop` ends it)"
    )]
    Starting,
    /// The adapter does not say which keys interrupt the agent.
    #[error(
        "its adapter does not say which key interrupts it (`keys.interrupt`); nothing was pressed"
    )]
    NoInterrupt,
    /// The text cannot be typed.
    #[error("the message cannot be typed: {0}")]
    Untypable(String),
    /// The agent has ended.
    #[error("the agent has ended")]
    Ended,
    /// The message is empty.
    #[error("the message is empty")]
    Empty,
}

impl DeliveryError {
    /// Whether the message could be typed at all, seen or unseen.
    pub fn is_typable(&self) -> bool {
        !matches!(self, Self::Untypable(_) | Self::Empty)
    }

    /// Whether the agent went on to something else.
    pub(crate) fn is_left_behind(&self) -> bool {
        matches!(self, Self::TakenBack | Self::QuestionChanged)
    }

    /// Whether something of the message was typed.
    pub fn was_typed(&self) -> bool {
        match self {
            Self::Unverified { reached, .. } => *reached > DeliveryStage::Accepted,
            Self::MovedOn => true,
            _ => false,
        }
    }
}
