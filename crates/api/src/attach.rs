//! A terminal over WebSocket.
//!
//! The daemon first sends [`FromDaemon::Screen`], then one binary message that paints exactly that
//! screen on an empty terminal, then every byte the agent prints, as binary messages. A viewer
//! that is too slow gets a new `Screen` instead of what it missed. Binary messages from a viewer
//! are typed, if it holds the keyboard; there is one keyboard for all viewers, and whoever takes
//! it has it. Only its holder resizes.

use coven_model::{AttemptId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subprotocol of this conversation.
pub const SUBPROTOCOL: &str = "coven.attach.v1";

/// The beginning of the subprotocol that carries the token where a header cannot be set, as in a
/// browser. It is never put into a URL.
pub const BEARER_SUBPROTOCOL: &str = "coven.bearer.";

/// How somebody attaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachQuery {
    /// Only look: never holds the keyboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Take the keyboard at once, also from somebody else. Otherwise it is taken if it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<bool>,
    /// The viewer's columns: set if it holds the keyboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1000))]
    pub cols: Option<u16>,
    /// The viewer's rows.
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
        /// The attempt.
        attempt: AttemptId,
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
        /// Up to where in the output that is.
        offset: u64,
        /// Whether this is because the viewer was too slow.
        lagged: bool,
    },
    /// The terminal has another size now.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Who holds the keyboard.
    Keyboard {
        /// Whether it is this viewer.
        yours: bool,
        /// Who it is, where somebody does.
        holder: Option<String>,
    },
    /// What the agent is doing changed.
    State {
        /// What it is doing.
        verdict: Box<Verdict>,
    },
    /// Something the viewer did was not done.
    Refused {
        /// Why.
        reason: String,
    },
    /// The process has ended; nothing follows.
    Ended {
        /// How.
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
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
}
