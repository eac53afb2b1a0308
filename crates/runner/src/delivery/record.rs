//! What is noted on the tape about messages and answers: what is typed next belongs to this one. A
//! process that dies on the way leaves there how far each came, and the next goes on from there.

use std::collections::BTreeMap;
use std::path::Path;

use coven_adapters::replay::is_reply;
use coven_tape::{TapeEvent, TapeReader};

use crate::actor::DELETE_LINE;

const TYPES: &str = "coven:types ";
const SUBMITS: &str = "coven:submits ";
const ANSWERS: &str = "coven:answers ";

/// What something that is typed is called on the tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputName {
    Message(String),
    Answer(String),
}

impl InputName {
    /// The note before its text is typed.
    pub(super) fn types(&self) -> String {
        match self {
            Self::Message(name) => format!("{TYPES}{name}"),
            Self::Answer(name) => answers(name),
        }
    }

    /// The note before it is submitted.
    pub(crate) fn submits(&self) -> String {
        match self {
            Self::Message(name) => format!("{SUBMITS}{name}"),
            Self::Answer(name) => answers(name),
        }
    }
}

/// The note before a piece of an answer is typed: a key, a text, what submits it.
pub(crate) fn answers(name: &str) -> String {
    format!("{ANSWERS}{name}")
}

/// Whether a note says that something of ours is typed next.
pub(crate) fn is_typing(note: &str) -> bool {
    NextPiece::read(note).is_some()
}

/// Whether a note says that a piece of an answer is typed next.
pub(crate) fn is_answer_key(note: &str) -> bool {
    note.starts_with(ANSWERS)
}

/// Whether a note says that a message is submitted next.
pub(crate) fn is_submit(note: &str) -> bool {
    note.starts_with(SUBMITS)
}

/// How far a message came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryProgress {
    /// Nothing of it was typed.
    #[default]
    Nothing,
    /// It was typed, perhaps not to its end, and not submitted.
    Typed,
    Submitted,
}

/// Everything with a name that was ever typed to an agent.
#[derive(Debug, Default)]
pub struct TypedInputs {
    messages: BTreeMap<String, DeliveryProgress>,
    /// How many pieces of each answer.
    answers: BTreeMap<String, usize>,
}

/// What the next piece on the tape is.
enum NextPiece {
    Message(String, DeliveryProgress),
    Answer(String),
}

impl NextPiece {
    fn read(note: &str) -> Option<Self> {
        if let Some(name) = note.strip_prefix(TYPES) {
            return Some(Self::Message(name.to_owned(), DeliveryProgress::Typed));
        }
        if let Some(name) = note.strip_prefix(SUBMITS) {
            return Some(Self::Message(name.to_owned(), DeliveryProgress::Submitted));
        }
        Some(Self::Answer(note.strip_prefix(ANSWERS)?.to_owned()))
    }
}

impl TypedInputs {
    /// Reads them from the tape of an attempt.
    pub fn read(folder: &Path) -> Result<Self, coven_tape::Error> {
        let mut typed = Self::default();
        // What counts is what was typed, and not what was about to be.
        let mut next = None;
        for record in TapeReader::open(folder)?.records(0) {
            match record?.event {
                TapeEvent::Mark(note) => next = NextPiece::read(&note).or(next),
                // What deletes the line before something is typed is no piece of that.
                TapeEvent::Input(bytes) if bytes == [DELETE_LINE] => {}
                TapeEvent::Input(bytes) if !is_reply(&String::from_utf8_lossy(&bytes)) => {
                    match next.take() {
                        Some(NextPiece::Message(name, progress)) => {
                            typed.messages.insert(name, progress);
                        }
                        Some(NextPiece::Answer(name)) => {
                            *typed.answers.entry(name).or_default() += 1;
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
        Ok(typed)
    }

    /// How far a message came.
    pub fn message(&self, name: &str) -> DeliveryProgress {
        self.messages.get(name).copied().unwrap_or_default()
    }

    /// How many pieces of an answer were typed.
    pub fn answer(&self, name: &str) -> usize {
        self.answers.get(name).copied().unwrap_or(0)
    }

    /// Whether no message was ever typed.
    pub fn has_no_messages(&self) -> bool {
        self.messages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use coven_tape::{Options, TapeWriter};

    use super::*;

    #[test]
    fn the_tape_says_how_far_a_message_came() {
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), Options::default()).unwrap();
        let progress = |name: &str| TypedInputs::read(folder.path()).unwrap().message(name);
        // An answer and a person's keys are none of a message's.
        tape.input(1, b"y\r").unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Nothing);
        tape.mark(2, &InputName::Message("1".to_owned()).types()).unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Nothing);
        tape.input(3, b"\x1b[200~hello\x1b[201~").unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Typed);
        // A question came up and was answered; nobody has submitted the message.
        tape.input(4, b"1").unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Typed);
        tape.mark(5, &InputName::Message("1".to_owned()).submits()).unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Typed);
        tape.input(6, b"\x1b[?1;2c").unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Typed, "a terminal answers that by itself");
        tape.input(7, b"\r").unwrap();
        assert_eq!(progress("1"), DeliveryProgress::Submitted);
        assert_eq!(progress("1.2"), DeliveryProgress::Nothing);
        for (time, key) in (8..).zip(["y", "\r"]) {
            tape.mark(time, &answers("s/1")).unwrap();
            tape.input(time, key.as_bytes()).unwrap();
            let typed = TypedInputs::read(folder.path()).unwrap();
            assert_eq!(typed.answer("s/1"), usize::try_from(time).unwrap() - 7);
        }
    }
}
