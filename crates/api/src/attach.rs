//! A terminal over WebSocket.
//!
//! The daemon first sends [`FromDaemon::Screen`], then one binary message that paints exactly that
//! screen on an empty terminal, then every byte the agent prints, as binary messages. A viewer
//! that is too slow gets a new `Screen` instead of what it missed. Binary messages from a viewer
//! are typed, if it holds the keyboard; there is one keyboard for all viewers, held by the one
//! that took it last. Only its holder resizes.

use coven_model::{AgentVerdict, AttemptId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subprotocol of this conversation.
pub const SUBPROTOCOL: &str = "coven.attach.v1";

/// The beginning of the subprotocol that carries the token where a header cannot be set, as in a
/// browser. It is never put into a URL.
pub const BEARER_SUBPROTOCOL: &str = "coven.bearer.";

/// How a viewer attaches to a task's terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachQuery {
    /// Only look: never holds the keyboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Take the keyboard at once, also from another viewer. Otherwise it is taken if it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<bool>,
    /// The viewer's columns: set if it holds the keyboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1000))]
    pub cols: Option<u16>,
    /// The rows of the viewer's terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub rows: Option<u16>,
}

/// What the daemon says, as text messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum FromDaemon {
    /// The next binary message paints the whole screen.
    Screen {
        /// The attempt whose terminal is shown.
        attempt: AttemptId,
        /// The width of the terminal in columns.
        cols: u16,
        /// The height of the terminal in rows.
        rows: u16,
        /// Up to where in the output that is.
        offset: u64,
        /// Whether this is because the viewer was too slow.
        lagged: bool,
    },
    /// The terminal has another size now.
    Resized {
        /// The width of the terminal in columns.
        cols: u16,
        /// The height of the terminal in rows.
        rows: u16,
    },
    /// Who holds the keyboard.
    Keyboard {
        /// Whether it is this viewer.
        yours: bool,
        /// Who holds the keyboard, if a viewer does.
        holder: Option<String>,
    },
    /// What the agent is doing changed.
    State {
        /// What it is doing.
        verdict: Box<AgentVerdict>,
    },
    /// Something the viewer did was not done.
    Refused {
        /// Why the request was refused, for people.
        reason: String,
    },
    /// The process has ended; nothing follows.
    Ended {
        /// How the agent ended, for people.
        reason: String,
    },
}

/// What a viewer says, as text messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromViewer {
    /// Give me the keyboard.
    Take,
    /// I do not need the keyboard any more.
    Release,
    /// My terminal has this size.
    Resize {
        /// The width of the terminal in columns.
        cols: u16,
        /// The height of the terminal in rows.
        rows: u16,
    },
}
