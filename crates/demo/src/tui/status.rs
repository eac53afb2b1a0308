//! What the agent says about itself beside the text: in the window title, and as a program status
//! (OSC 7501) for the program that watches it.

use super::dialog::DialogKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TuiStatus {
    Idle,
    Working,
    Blocked(DialogKind),
    Done,
    Error,
    Gone,
}

impl TuiStatus {
    /// The sequences that say so.
    pub(super) fn announcement(self) -> String {
        let title = match self {
            Self::Idle | Self::Done | Self::Error => "demo: idle",
            Self::Working => "demo: working",
            Self::Blocked(_) => "demo: needs you",
            Self::Gone => "",
        };
        let state = match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Blocked(_) => "blocked",
            Self::Done => "done",
            Self::Error => "error",
            Self::Gone => "clear",
        };
        let kind = match self {
            Self::Blocked(DialogKind::Permission) => ":kind=permission",
            Self::Blocked(DialogKind::Question) => ":kind=question",
            Self::Blocked(DialogKind::Choice) => ":kind=choice",
            _ => "",
        };
        format!("\x1b]0;{title}\x1b\\\x1b]7501;state={state}:app=demo{kind}\x1b\\")
    }
}
