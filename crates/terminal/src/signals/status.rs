//! Program status, `OSC 7501 ; state=working : app=codex …`. The grammar is observed, not
//! specified: pairs of key and value, separated by colons; unknown keys are ignored.

use super::osc::decode;

/// What a program says it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramState {
    /// Waits for a prompt.
    Idle,
    Working,
    /// Waits for an answer; [`ProgramStatus::kind`] says to what.
    Blocked,
    /// Has finished its turn.
    Done,
    Error,
    /// Takes its last status back.
    Clear,
}

/// A program status as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStatus {
    pub state: ProgramState,
    /// Which program says so.
    pub app: Option<String>,
    /// What tells several statuses of one program apart.
    pub id: Option<String>,
    /// What a blocked program waits for, for example `permission`.
    pub kind: Option<String>,
    /// Percentage of the work done.
    pub progress: Option<u8>,
    /// Title of the work.
    pub title: Option<String>,
    /// A sentence for a person.
    pub message: Option<String>,
}

impl ProgramStatus {
    /// Reads the pairs. Without a known state, or with a value that does not fit its key, there
    /// is no status.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut state = None;
        let mut status = Self {
            state: ProgramState::Clear,
            app: None,
            id: None,
            kind: None,
            progress: None,
            title: None,
            message: None,
        };
        for pair in text.split(':') {
            let (key, value) = pair.split_once('=')?;
            match key {
                "state" => state = Some(read_state(value)?),
                "app" => status.app = Some(word(value)?),
                "id" => status.id = Some(word(value)?),
                "kind" => status.kind = Some(word(value)?),
                "progress" => status.progress = Some(value.parse().ok().filter(|v| *v <= 100)?),
                "title" => status.title = Some(decode(value)?),
                "msg" => status.message = Some(decode(value)?),
                _ => {}
            }
        }
        status.state = state?;
        Some(status)
    }
}

fn read_state(text: &str) -> Option<ProgramState> {
    Some(match text {
        "idle" => ProgramState::Idle,
        "working" => ProgramState::Working,
        "blocked" => ProgramState::Blocked,
        "done" => ProgramState::Done,
        "error" => ProgramState::Error,
        "clear" => ProgramState::Clear,
        _ => return None,
    })
}

fn word(text: &str) -> Option<String> {
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}
