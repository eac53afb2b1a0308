//! An answer on its way to an agent: bound to what was asked, one key at a time.

mod selection;
mod sequence;
mod stray;

use std::time::Duration;

use coven_adapters::ScreenMenu;
use coven_adapters::config::{Config, DialogConfig};
use coven_model::{ContentDigest, InterventionChoice};
use coven_terminal::keys::{KeyCode, KeyModifiers, KeyPress};

use crate::delivery::answers;
pub(crate) use selection::{EntrySelection, SelectionStep};
use sequence::KeyStep;
pub(crate) use sequence::{KeySequence, QuestionSight, bare_words};
pub(crate) use stray::StrayKeys;

/// How long a key may take to change the screen before the next one is pressed. A key that
/// changes nothing was not taken, and the next one would mean something else.
const KEY_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a question may stay on the screen after the last key of its answer.
const TAKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a question must have been asked before the first key of an answer is pressed. Programs
/// that have just painted a dialog lose keys, or put it up once more and forget what was selected:
/// seen up to a quarter of a second after the paint. Only a rule answers faster than this.
pub(crate) const QUESTION_SETTLE_TIME: Duration = Duration::from_millis(500);

/// How long the screen may show something else than the question that is answered: a program that
/// repaints takes it away for a moment.
pub(crate) const QUESTION_HIDDEN_TIME: Duration = Duration::from_millis(600);

/// How long a process that is stopped may take to be continued, and how often it is looked at.
pub(crate) const STOPPED_PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const STOPPED_LOOK_TIME: Duration = Duration::from_millis(250);

/// How long after a person has typed at a question what they typed may be taken.
pub(crate) const PERSON_ANSWER_TIME: Duration = Duration::from_millis(3200);

/// What to do about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerAction {
    /// What the adapter knows as this: approve, approve always, deny.
    Choose(InterventionChoice),
    /// Presses these keys, whatever the adapter knows of the question: each when the one before it
    /// has changed the screen.
    Keys(Vec<KeyPress>),
    /// Presses these keys at once, in one write.
    Exact(Vec<KeyPress>),
    /// Types this text and submits it.
    Text(String),
    /// The same for a text that must not be recorded. Whether it arrived shows only by the question
    /// that is gone.
    Secret(String),
    /// Selects an entry of the menu, looks whether it is selected, and presses Enter; or types the
    /// text of an entry that takes one and submits it.
    Entry {
        /// The entry, by its id.
        id: String,
        text: Option<String>,
    },
}

impl AnswerAction {
    /// Exactly these characters and nothing else, a line break as Enter.
    pub fn exact(text: &str) -> Self {
        let key = |char: char| match char {
            '\n' => KeyPress::new(KeyCode::Enter, KeyModifiers::NONE),
            char => KeyPress::new(KeyCode::Char(char), KeyModifiers::NONE),
        };
        Self::Exact(text.chars().filter_map(|char| key(char).ok()).collect())
    }
}

/// An answer to a question.
#[derive(Clone, Debug)]
pub struct GivenAnswer {
    /// What was asked.
    pub digest: ContentDigest,
    pub action: AnswerAction,
    /// Its name on the tape.
    pub name: Option<String>,
    /// How many pieces of it a process typed that died then. It goes on behind them, though what
    /// was typed may have changed what the agent shows.
    pub typed: usize,
}

/// Why an answer was not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// What the answer is for is no longer on the screen. Nothing was pressed.
    #[error("the agent no longer asks this; nothing was pressed")]
    Stale,
    /// The adapter does not say which keys do that.
    #[error("the adapter does not say how to {0}; answer with keys or text instead")]
    Unknown(InterventionChoice),
    /// A key had no effect, so the rest were not pressed.
    #[error("the agent did not take key {number} of {of}; the rest was not pressed")]
    NotTaken {
        /// Which key, from 1.
        number: usize,
        /// How many there were.
        of: usize,
    },
    /// What the keys are for is not what the agent asks any more. The rest were not pressed.
    #[error("the agent asks something else since key {number} of {of}; the rest was not pressed")]
    MovedOn {
        /// Which key was pressed last, from 1.
        number: usize,
        /// How many there were.
        of: usize,
    },
    /// The entry could not be selected. Enter was not pressed.
    #[error("entry {entry} of the menu could not be selected; Enter was not pressed")]
    NotSelected {
        /// The entry, by its id.
        entry: String,
        /// Whether a key was pressed to select it.
        pressed: bool,
    },
    /// What is asked above the entries of the menu is something else now. Enter was not pressed.
    #[error(
        "the question above the menu changed while the entry was selected; Enter was not pressed"
    )]
    QuestionChanged {
        /// Whether a key was pressed to select the entry.
        pressed: bool,
    },
    /// A process pressed keys of the answer and ended. What they came to is not known.
    #[error(
        "keys of it were pressed by a process that ended then, and whether it was taken cannot be \
         told; look at what the agent shows"
    )]
    Unfinished,
    /// The process of the agent is stopped. Nothing was pressed.
    #[error(
        "process {0} of the agent is stopped and reads nothing (`kill -CONT {0}` continues it); nothing was pressed"
    )]
    Stopped(i32),
    /// None of the programs in the terminal reads what is typed there, and the next that does would
    /// take the answer for its own. Nothing was typed.
    #[error(
        "no program in the agent's terminal reads what is typed, so nothing was typed; it may have \
         given the question up"
    )]
    Unattended,
    /// The agent has not read the keys, and they were thrown away.
    #[error(
        "the agent does not read its keys, it may be stopped; those of the answer were taken back"
    )]
    NotRead,
    /// The agent reads whole lines, and the answer does not end one. It was thrown away.
    #[error(
        "the agent reads whole lines and the keys of the answer do not end one; they were deleted \
         again"
    )]
    NotSubmitted,
    /// A person has typed something at the question and not submitted it, which would be submitted
    /// along. Nothing was pressed.
    #[error("“{0}” was typed at the question and not submitted; nothing was pressed")]
    Draft(String),
    /// A person typed at the agent while the answer was on its way. The rest of it was not pressed:
    /// what it was for may be something else by then.
    #[error(
        "a person typed at the agent while the answer was on its way; the rest of it was not pressed"
    )]
    Interrupted {
        /// Whether a key of it was pressed before.
        pressed: bool,
    },
    /// The keys were pressed, and the agent asks the same as before.
    #[error("the keys were pressed, and the agent still asks the same")]
    StillAsked,
    /// The same after the question was painted once more: it may be the next one in the same words,
    /// or the same one, by a program that paints after every key.
    #[error(
        "the keys were pressed, and the agent has painted the same question anew; the answer may \
         have been taken"
    )]
    AskedAnew,
    /// The keys of an answer before were read and have had no effect that could be seen. They may
    /// still act. Nothing was pressed.
    #[error(
        "the keys of the last answer were read and may still act, so nothing was pressed; \
         look whether they did, and answer again after {after_seconds} s"
    )]
    MayStillAct {
        /// How long it is until another answer is given.
        after_seconds: u64,
    },
    /// The text could not be typed or was not seen.
    #[error(transparent)]
    Text(#[from] crate::delivery::DeliveryError),
    /// The agent's protocol has no such answer.
    #[error("{0}")]
    Refused(String),
    /// The agent has ended.
    #[error("the agent has ended")]
    Ended,
}

impl AnswerError {
    /// Whether something of the answer was typed, so that it may have been taken all the same.
    pub fn was_pressed(&self) -> bool {
        match self {
            Self::Stale
            | Self::Unknown(_)
            | Self::Stopped(_)
            | Self::Unattended
            | Self::NotRead
            | Self::NotSubmitted
            | Self::Draft(_)
            | Self::Refused(_)
            | Self::MayStillAct { .. }
            | Self::Ended => false,
            Self::NotTaken { .. }
            | Self::MovedOn { .. }
            | Self::StillAsked
            | Self::AskedAnew
            | Self::Unfinished => true,
            Self::NotSelected { pressed, .. }
            | Self::QuestionChanged { pressed }
            | Self::Interrupted { pressed } => *pressed,
            Self::Text(error) => error.was_typed(),
        }
    }
}

/// The keys for a choice: those of the dialog that was seen, else the adapter's own.
pub(crate) fn keys_for(
    config: &Config,
    rule: &str,
    choice: InterventionChoice,
) -> Result<Vec<KeyPress>, AnswerError> {
    let names = match config.dialog(rule) {
        Some(dialog) if !dialog.answers.is_empty() => dialog_keys(dialog, choice),
        _ => match choice {
            InterventionChoice::Approve => Some(&config.keys.approve),
            InterventionChoice::ApproveAlways => Some(&config.keys.approve_always),
            InterventionChoice::Deny => Some(&config.keys.deny),
            _ => None,
        },
    };
    let keys = coven_adapters::adapter::keys(names.map_or(&[][..], Vec::as_slice));
    if keys.is_empty() { Err(AnswerError::Unknown(choice)) } else { Ok(keys) }
}

fn dialog_keys(dialog: &DialogConfig, choice: InterventionChoice) -> Option<&Vec<String>> {
    let names: &[&str] = match choice {
        InterventionChoice::Approve => &["approve", "accept"],
        InterventionChoice::ApproveAlways => &["approve-always"],
        InterventionChoice::Deny => &["deny", "decline"],
        _ => &[],
    };
    names.iter().find_map(|name| dialog.answers.get(*name))
}

/// An answer on its way. `R` is where its end is told.
#[derive(Debug)]
pub(crate) enum PendingAnswer<R> {
    None,
    /// It waits until its question has settled.
    Held(HeldAnswer<R>),
    /// Its entry is being selected.
    Selecting(EntrySelection, R),
    /// Its keys are being pressed.
    Pressing(KeySequence, R),
}

/// An answer to a question that was only just asked.
#[derive(Debug)]
pub(crate) struct HeldAnswer<R> {
    pub(crate) answer: GivenAnswer,
    pub(crate) reply: R,
    /// When its question has settled.
    pub(crate) due: Duration,
    /// Until when it waits for its question to be what the screen shows.
    pub(crate) patience: Option<Duration>,
    /// The screen has not been looked at for long enough to know what it asks. It waits for that too.
    pub(crate) is_early: bool,
}

impl<R> HeldAnswer<R> {
    /// Whether what is asked decides what becomes of it.
    fn is_known(&self, asked: Option<&ContentDigest>) -> bool {
        if self.is_early { asked.is_some() } else { asked != Some(&self.answer.digest) }
    }
}

/// What an agent asks while an answer is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShownQuestion<'a> {
    /// This, if anything.
    Asked(Option<&'a ContentDigest>),
    /// This, which it asked before some answer in the same words, for so long that it counts as
    /// asked again.
    Again(&'a ContentDigest),
}

/// What to do about a held answer.
#[derive(Debug)]
pub(crate) enum Release<R> {
    None,
    Wait(Duration),
    /// Give it now, if its question still stands.
    Give(HeldAnswer<R>),
}

/// What to do about an answer on its way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AnswerEffect<R> {
    /// Note this on the tape, before what is pressed next.
    Note(String),
    Press(KeyPress),
    /// Look at the screen again then, if it does not change before.
    Wake(Duration),
    /// Type this text and submit it, which is the rest of the answer of this name on the tape.
    Type(String, Option<String>, R),
    Ended(R, Result<(), AnswerError>),
}

impl<R> PendingAnswer<R> {
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn is_pressing(&self) -> bool {
        matches!(self, Self::Pressing(..) | Self::Selecting(..))
    }

    /// Whether a key of it is still to be pressed.
    pub(crate) fn presses_more(&self) -> bool {
        self.is_pressing() && !self.is_pressed()
    }

    /// Whether it was typed and is only to be submitted.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Pressing(keys, _) if keys.is_typed())
    }

    /// Whether it is nothing but keys.
    pub(crate) fn is_keys(&self) -> bool {
        matches!(self, Self::Pressing(keys, _) if keys.len() > 0)
    }

    /// Whether every key of it was pressed. An agent that ends then has taken it.
    pub(crate) fn is_pressed(&self) -> bool {
        matches!(self, Self::Pressing(keys, _) if keys.is_pressed())
    }

    /// Goes on selecting the entry of the answer, now that the menu is this one.
    pub(crate) fn select(
        &mut self,
        menu: Option<&ScreenMenu>,
        now: Duration,
    ) -> Vec<AnswerEffect<R>> {
        let Self::Selecting(selection, _) = self else { return Vec::new() };
        match selection.feed(menu, now) {
            SelectionStep::Press(key) => {
                let note = selection.name.as_deref().map(answers).map(AnswerEffect::Note);
                let press = [AnswerEffect::Press(key), AnswerEffect::Wake(now + KEY_TIMEOUT)];
                note.into_iter().chain(press).collect()
            }
            SelectionStep::Wait(due) => vec![AnswerEffect::Wake(due)],
            SelectionStep::Failed(error) => self
                .abandon()
                .map(|reply| AnswerEffect::Ended(reply, Err(error)))
                .into_iter()
                .collect(),
            SelectionStep::Selected(keys, text) => {
                let name = selection.name.take();
                let Some(reply) = self.abandon() else { return Vec::new() };
                match text {
                    Some(text) if keys.is_empty() => vec![AnswerEffect::Type(text, name, reply)],
                    text => {
                        let keys = KeySequence::new(keys).typing(text).resumed(name, 0);
                        *self = Self::Pressing(keys, reply);
                        Vec::new()
                    }
                }
            }
        }
    }

    /// Gives the selection of an entry up, where nobody reads its keys.
    pub(crate) fn give_up_selection(&mut self) -> Vec<AnswerEffect<R>> {
        let Self::Selecting(selection, _) = self else { return Vec::new() };
        let error = selection.not_selected();
        self.abandon().map(|reply| AnswerEffect::Ended(reply, Err(error))).into_iter().collect()
    }

    /// Takes a held answer out when it is due, or when its question is gone and it is to be refused.
    pub(crate) fn release(&mut self, asked: Option<&ContentDigest>, now: Duration) -> Release<R> {
        match std::mem::replace(self, Self::None) {
            Self::Held(held) if held.due <= now || held.is_known(asked) => Release::Give(held),
            Self::Held(held) => {
                let due = held.due;
                *self = Self::Held(held);
                Release::Wait(due)
            }
            other => {
                *self = other;
                Release::None
            }
        }
    }

    /// Goes on pressing keys, now that the screen is this one and asks this.
    pub(crate) fn feed(
        &mut self,
        screen: u64,
        asked: ShownQuestion<'_>,
        sight: &QuestionSight,
        now: Duration,
    ) -> Vec<AnswerEffect<R>> {
        let mut effects = Vec::new();
        let Self::Pressing(keys, _) = self else { return effects };
        let result = loop {
            match keys.feed(screen, asked, sight, now) {
                KeyStep::Press(pressed) => {
                    let note = keys.name().map(answers);
                    effects.extend(note.map(AnswerEffect::Note));
                    effects.extend(pressed.into_iter().map(AnswerEffect::Press));
                }
                KeyStep::Wait(due) => {
                    effects.push(AnswerEffect::Wake(due));
                    return effects;
                }
                KeyStep::Done => break Ok(()),
                KeyStep::Type(text) => {
                    let name = keys.take_name();
                    let reply = self.abandon();
                    effects.extend(reply.map(|reply| AnswerEffect::Type(text, name, reply)));
                    return effects;
                }
                KeyStep::Failed(error) => break Err(error),
            }
        };
        effects.extend(self.abandon().map(|reply| AnswerEffect::Ended(reply, result)));
        effects
    }

    /// Lets go of the answer, and gives its caller.
    pub(crate) fn abandon(&mut self) -> Option<R> {
        match std::mem::replace(self, Self::None) {
            Self::None => None,
            Self::Held(held) => Some(held.reply),
            Self::Selecting(_, reply) | Self::Pressing(_, reply) => Some(reply),
        }
    }
}

#[cfg(test)]
mod tests;
