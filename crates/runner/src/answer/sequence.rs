//! Keys that are pressed one after another, looked at before each of them.

use std::time::Duration;

use coven_model::ContentDigest;
use coven_terminal::keys::{KeyCode, KeyModifiers, KeyPress};

use super::{AnswerError, KEY_TIMEOUT, QUESTION_HIDDEN_TIME, ShownQuestion, TAKEN_TIMEOUT};
use crate::actor::READER_LOOK_TIME;
use crate::delivery::{InputReader, counts_down};

/// How long what a key did must have been on the screen before the next one is pressed. Programs that
/// read single keys show the key first and what they ask next a moment later.
const KEY_SETTLE_TIME: Duration = Duration::from_millis(200);

/// What tells the question that keys are for from the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuestionSight {
    /// Its words, as far as one is asked.
    pub(crate) words: Option<Vec<String>>,
    /// The row of the line that asks, counted from the first that was ever shown.
    pub(crate) asked_row: Option<u64>,
    /// The row in which the line of the cursor begins, counted the same way.
    pub(crate) row: u64,
    /// That line, without spaces and frames.
    pub(crate) line: String,
    /// All lines of the screen that have words, without what stands before and behind these.
    pub(crate) screen: Vec<String>,
    /// How many rows have left it at the top.
    pub(crate) scrolled: u64,
    /// Whether the terminal is known to collect lines.
    pub(crate) collects_lines: bool,
    /// Whether the program may read now what is typed.
    pub(crate) reader: InputReader,
}

impl QuestionSight {
    /// Whether another sight is of the same question. A mark may have moved in it, and what was typed
    /// may stand behind it. A rule may know the question only by the entry that was selected: then
    /// the whole screen has the same words.
    fn is_same(&self, now: &Self) -> bool {
        let words = |sight: &Self| -> Vec<String> {
            let words = sight.words.iter().flatten().filter(|word| !word.starts_with("selected:"));
            bare_words(words)
        };
        let is_asked =
            !words(self).is_empty() && words(self) == words(now) && self.asked_row == now.asked_row;
        let is_line = self.row == now.row
            && !self.line.is_empty()
            && (now.line.starts_with(&self.line) || counts_down(&self.line, &now.line));
        let is_screen =
            !self.screen.is_empty() && self.screen == now.screen && self.scrolled == now.scrolled;
        is_asked || is_line || is_screen
    }
}

/// Texts without marks before and behind them; those that are nothing else are left out.
pub(crate) fn bare_words(texts: impl Iterator<Item: AsRef<str>>) -> Vec<String> {
    let is_mark = |char: char| !char.is_alphanumeric();
    let bare = texts.map(|text| text.as_ref().trim_matches(is_mark).to_owned());
    bare.filter(|text| !text.is_empty()).collect()
}

/// Keys that are pressed one after another, each when the one before it has changed the screen and
/// the same is still asked. The last is taken when the question is gone.
#[derive(Debug, Default)]
pub(crate) struct KeySequence {
    /// Keys that are pressed together.
    keys: Vec<Vec<KeyPress>>,
    next: usize,
    /// What the screen was when the last key was pressed, and when that was.
    pressed: Option<(u64, Duration)>,
    /// When the screen was first seen to have changed since then.
    changed: Option<Duration>,
    /// What was asked when the first key was pressed.
    first: Option<QuestionSight>,
    /// Since when that is not asked any more.
    gone: Option<Duration>,
    /// What was asked when the last of all was pressed.
    asked: Option<ContentDigest>,
    /// When the first key is pressed, behind something that was typed at the question.
    due: Option<Duration>,
    /// What is typed when the last key has changed the screen.
    text: Option<String>,
    /// Its name on the tape.
    name: Option<String>,
}

/// What to do about keys on their way.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyStep {
    Press(Vec<KeyPress>),
    /// Wait, at most until then.
    Wait(Duration),
    Done,
    /// All were taken, and this is to be typed.
    Type(String),
    /// One was not taken.
    Failed(AnswerError),
}

impl KeySequence {
    /// Keys that are pressed one by one.
    pub(crate) fn new(keys: Vec<KeyPress>) -> Self {
        let keys = keys.into_iter().map(|key| vec![key]).collect();
        Self { keys, ..Self::default() }
    }

    /// Keys that are pressed at once.
    pub(crate) fn at_once(keys: Vec<KeyPress>) -> Self {
        Self { keys: vec![keys], ..Self::default() }
    }

    /// The same with a text that is typed behind them.
    pub(super) fn typing(self, text: Option<String>) -> Self {
        Self { text, ..self }
    }

    /// The same behind those that were pressed before.
    pub(crate) fn resumed(self, name: Option<String>, pressed: usize) -> Self {
        Self { name, next: pressed, ..self }
    }

    /// An answer that was typed and is submitted at a time: it is taken if the question that was
    /// asked is gone after that.
    pub(crate) fn submitted(asked: ContentDigest, at: Duration) -> Self {
        Self { pressed: Some((0, at)), asked: Some(asked), ..Self::default() }
    }

    /// Keys that submit what was typed at a question, which is this, at a time.
    pub(crate) fn submitting(keys: Vec<KeyPress>, asked: QuestionSight, at: Duration) -> Self {
        Self { keys: vec![keys], first: Some(asked), due: Some(at), ..Self::default() }
    }

    /// How many pieces there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether something was typed and its submit key is still to be pressed.
    pub(super) fn is_typed(&self) -> bool {
        self.due.is_some()
    }

    pub(super) fn is_pressed(&self) -> bool {
        self.next == self.keys.len() && self.text.is_none()
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn take_name(&mut self) -> Option<String> {
        self.name.take()
    }

    pub(super) fn feed(
        &mut self,
        screen: u64,
        asked: ShownQuestion<'_>,
        sight: &QuestionSight,
        now: Duration,
    ) -> KeyStep {
        let keys = self.keys.get(self.next).cloned();
        if keys.is_none() && self.text.is_none() {
            return self.is_taken(asked, now);
        }
        let behind = match self.due {
            Some(due) => self.behind_text(due, sight, now),
            None => self.behind_key(screen, sight, now),
        };
        if let Some(step) = behind {
            return step;
        }
        if self.pressed.is_some() || self.due.is_some() {
            match sight.reader {
                InputReader::MayRead => {}
                InputReader::Busy => return KeyStep::Wait(now + READER_LOOK_TIME),
                InputReader::Nobody => {
                    let (number, of) = (self.next.max(1), self.keys.len());
                    return KeyStep::Failed(AnswerError::NotTaken { number, of });
                }
            }
        }
        let Some(keys) = keys else {
            return self.text.take().map_or(KeyStep::Done, KeyStep::Type);
        };
        self.next += 1;
        self.due = None;
        self.first.get_or_insert_with(|| sight.clone());
        (self.pressed, self.changed) = (Some((screen, now)), None);
        self.asked = match asked {
            ShownQuestion::Asked(asked) => asked.cloned(),
            ShownQuestion::Again(asked) => Some(asked.clone()),
        };
        KeyStep::Press(keys)
    }

    /// What to do before the next key, because of the one before it: nothing, once that has changed
    /// the screen and the question still stands.
    fn behind_key(&mut self, screen: u64, sight: &QuestionSight, now: Duration) -> Option<KeyStep> {
        let (before, at) = self.pressed?;
        if self.changed.is_none() && before == screen {
            let due = at + KEY_TIMEOUT;
            let (number, of) = (self.next, self.keys.len());
            let failed = KeyStep::Failed(AnswerError::NotTaken { number, of });
            return Some(if now < due { KeyStep::Wait(due) } else { failed });
        }
        let settled = *self.changed.get_or_insert(now) + KEY_SETTLE_TIME;
        if now < settled {
            return Some(KeyStep::Wait(settled));
        }
        // An entry that takes a text may look otherwise once it does.
        if self.text.is_some() || self.first.as_ref().is_none_or(|first| self.awaits(first, sight))
        {
            self.gone = None;
            return None;
        }
        let due = *self.gone.get_or_insert(now) + QUESTION_HIDDEN_TIME;
        Some(if now < due { KeyStep::Wait(due) } else { self.moved_on(sight) })
    }

    /// What to do before the key that submits what was typed.
    fn behind_text(
        &mut self,
        due: Duration,
        sight: &QuestionSight,
        now: Duration,
    ) -> Option<KeyStep> {
        if now < due {
            return Some(KeyStep::Wait(due));
        }
        if self.first.as_ref().is_none_or(|first| first.is_same(sight)) {
            self.gone = None;
            return None;
        }
        let due = *self.gone.get_or_insert(now) + QUESTION_HIDDEN_TIME;
        let moved_on = AnswerError::MovedOn { number: 1, of: 2 };
        Some(if now < due { KeyStep::Wait(due) } else { KeyStep::Failed(moved_on) })
    }

    /// Whether what was asked first still waits for the next key. The same words without what was
    /// typed behind them are the next question, unless that has moved a mark.
    fn awaits(&self, first: &QuestionSight, sight: &QuestionSight) -> bool {
        let typed = self.text_of(self.next).is_some_and(|typed| !typed.is_empty());
        // What was typed into a line stands there, also where the program paints over it.
        let shows = !typed
            || self.stand_in(&sight.line, self.next)
            || first.words != sight.words
            || (first.collects_lines && sight.collects_lines && first.asked_row == sight.asked_row);
        first.is_same(sight) && shows
    }

    /// What the first pieces type, if they are nothing but characters.
    fn text_of(&self, pieces: usize) -> Option<String> {
        let keys = self.keys.iter().take(pieces).flatten();
        let chars = keys.map(|key| match key.code() {
            KeyCode::Char(char) if key.mods() == KeyModifiers::NONE => Some(char),
            _ => None,
        });
        chars.collect()
    }

    /// Whether a line ends with what the first pieces have typed.
    pub(crate) fn stand_in(&self, line: &str, pieces: usize) -> bool {
        self.text_of(pieces).is_some_and(|typed| line.ends_with(&typed))
    }

    /// The question has gone before all keys were pressed. A program that reads single keys has taken
    /// the first for the answer, unless that stands where the next question is answered.
    fn moved_on(&self, sight: &QuestionSight) -> KeyStep {
        let is_text = self.text_of(self.next).is_some();
        if is_text && !sight.collects_lines && !self.stand_in(&sight.line, self.next) {
            return KeyStep::Done;
        }
        let (number, of) = (self.next, self.keys.len());
        KeyStep::Failed(AnswerError::MovedOn { number, of })
    }

    /// Whether the question is gone that the last key was for.
    fn is_taken(&self, asked: ShownQuestion<'_>, now: Duration) -> KeyStep {
        let due = self.pressed.map_or(now, |(_, at)| at + TAKEN_TIMEOUT);
        // What is typed changes what is shown; whether it was taken shows after it is submitted.
        if let Some((_, at)) = self.pressed.filter(|(_, at)| now < *at) {
            return KeyStep::Wait(at);
        }
        match asked {
            ShownQuestion::Asked(asked) if self.asked.is_none() || asked != self.asked.as_ref() => {
                KeyStep::Done
            }
            // It counts as asked again since these keys were pressed.
            ShownQuestion::Again(asked) if Some(asked) != self.asked.as_ref() => {
                KeyStep::Failed(AnswerError::StillAsked)
            }
            _ if now < due => KeyStep::Wait(due),
            _ => KeyStep::Failed(AnswerError::StillAsked),
        }
    }
}
