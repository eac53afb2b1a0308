//! An answer on its way to an agent: bound to what was asked, one key at a time.

use std::time::Duration;

use coven_adapters::config::{Config, DialogConfig};
use coven_model::Choice;
use coven_terminal::keys::Key;

/// How long a key may take to change the screen before the next one is pressed. A key that
/// changes nothing was not taken, and the next one would mean something else.
pub(crate) const TAKEN: Duration = Duration::from_secs(3);

/// How long a question must have been asked before the first key of an answer is pressed. Programs
/// that have just painted a dialog lose keys, or put it up once more and forget what was selected:
/// seen up to a quarter of a second after the paint. Nobody but a rule answers faster than this.
pub(crate) const SETTLED: Duration = Duration::from_millis(500);

/// What to do about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// What the adapter knows as this: approve, approve always, deny.
    Choose(Choice),
    /// These keys.
    Keys(Vec<Key>),
    /// This text, submitted.
    Text(String),
}

/// Why an answer was not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// What the answer is for is no longer on the screen. Nothing was pressed.
    #[error("the agent no longer asks this; nothing was pressed")]
    Stale,
    /// The adapter does not say which keys do that.
    #[error("the adapter does not say how to {0}; answer with keys or text instead")]
    Unknown(Choice),
    /// A key had no effect, so the rest were not pressed.
    #[error("the agent did not take key {number} of {of}; the rest was not pressed")]
    NotTaken {
        /// Which key, from 1.
        number: usize,
        /// How many there were.
        of: usize,
    },
    /// The text could not be typed or was not seen.
    #[error(transparent)]
    Text(#[from] crate::delivery::DeliveryError),
    /// The agent has ended.
    #[error("the agent has ended")]
    Ended,
}

/// The keys for a choice: those of the dialog that was seen, else the adapter's own.
pub(crate) fn keys_for(
    config: &Config,
    rule: &str,
    choice: Choice,
) -> Result<Vec<Key>, AnswerError> {
    let names = match config.dialog(rule) {
        Some(dialog) if !dialog.answers.is_empty() => dialog_keys(dialog, choice),
        _ => match choice {
            Choice::Approve => Some(&config.keys.approve),
            Choice::ApproveAlways => Some(&config.keys.approve_always),
            Choice::Deny => Some(&config.keys.deny),
            _ => None,
        },
    };
    let keys = coven_adapters::adapter::keys(names.map_or(&[][..], Vec::as_slice));
    if keys.is_empty() { Err(AnswerError::Unknown(choice)) } else { Ok(keys) }
}

fn dialog_keys(dialog: &DialogConfig, choice: Choice) -> Option<&Vec<String>> {
    let names: &[&str] = match choice {
        Choice::Approve => &["approve", "accept"],
        Choice::ApproveAlways => &["approve-always"],
        Choice::Deny => &["deny", "decline"],
        _ => &[],
    };
    names.iter().find_map(|name| dialog.answers.get(*name))
}

/// Keys on their way.
#[derive(Debug)]
pub(crate) struct Pressing {
    keys: Vec<Key>,
    next: usize,
    /// What the screen was when the last key was pressed, and when that was.
    pressed: Option<(u64, Duration)>,
}

/// What to do about keys on their way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Press {
    /// Press this one.
    Key(Key),
    /// Wait, at most until then.
    Wait(Duration),
    /// All are pressed.
    Done,
    /// One was not taken.
    Failed(AnswerError),
}

impl Pressing {
    pub(crate) fn new(keys: Vec<Key>) -> Self {
        Self { keys, next: 0, pressed: None }
    }

    pub(crate) fn step(&mut self, screen: u64, now: Duration) -> Press {
        if self.next == self.keys.len() {
            return Press::Done;
        }
        if let Some((before, at)) = self.pressed
            && before == screen
        {
            let due = at + TAKEN;
            if now < due {
                return Press::Wait(due);
            }
            return Press::Failed(AnswerError::NotTaken { number: self.next, of: self.keys.len() });
        }
        let key = self.keys[self.next];
        self.next += 1;
        self.pressed = Some((screen, now));
        Press::Key(key)
    }
}
