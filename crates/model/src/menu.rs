//! The entries of a menu, and which of them an answer means.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::InterventionDecision;
use crate::{Intervention, InterventionChoice, InterventionKind};

/// One entry of a menu.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MenuEntry {
    /// What a decision names it by: its number.
    pub id: String,
    /// What stands there.
    pub label: String,
    /// Whether choosing it lets the agent take a text of one's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_text: bool,
}

impl MenuEntry {
    /// An entry that is chosen and nothing else.
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into(), takes_text: false }
    }

    /// Whether another look at the menu shows the same entry: by the same number, with the same words.
    /// Some programs show a hint in brackets behind the entry that is selected, and only there.
    fn is_same_as(&self, other: &Self) -> bool {
        let words = |label: &str| -> Vec<String> {
            let words = label.split(|char: char| !char.is_alphanumeric());
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let has_hint = |long: &str, short: &str| {
            let hint = long.strip_prefix(short).map(str::trim_start);
            !short.is_empty()
                && hint.is_some_and(|hint| hint.starts_with('(') && hint.ends_with(')'))
        };
        let (before, now) = (&self.label, &other.label);
        let says_the_same = before == now
            || (!words(before).is_empty() && words(before) == words(now))
            || has_hint(before, now)
            || has_hint(now, before);
        says_the_same && (&self.id, self.takes_text) == (&other.id, other.takes_text)
    }
}

/// Whether two looks at a menu show the same entries, so that an entry named after the first is
/// still the one that was meant.
pub fn are_same_entries(before: &[MenuEntry], now: &[MenuEntry]) -> bool {
    before.len() == now.len() && before.iter().zip(now).all(|(before, now)| before.is_same_as(now))
}

impl fmt::Display for MenuEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.id, self.label)
    }
}

/// Why an answer is none of the entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It names no entry, and none takes a text.
    #[error("`{answer}` is none of the entries; choose {}", listed(entries))]
    Unknown {
        /// What was said.
        answer: String,
        /// What can be chosen.
        entries: Vec<MenuEntry>,
    },
    /// More than one entry has these words.
    #[error("`{answer}` is the label of more than one entry; say its number: {}", listed(entries))]
    Ambiguous {
        /// What was said.
        answer: String,
        /// Those that have it.
        entries: Vec<MenuEntry>,
    },
    /// There is no menu.
    #[error("there are no entries to choose from; answer with a text")]
    NoMenu,
    /// An entry goes with an answer and with nothing else.
    #[error("an entry can only be chosen with `answer`")]
    NotAnAnswer,
    /// The entry takes a text.
    #[error("the entry `{0}` takes a text")]
    NeedsText(String),
    /// The entry takes no text.
    #[error("the entry `{0}` takes no text")]
    TakesNoText(String),
    /// Choosing may approve what nobody has seen.
    #[error(
        "a part of what it asks is not on its screen, so that no entry can be chosen from here"
    )]
    Truncated,
}

fn listed(entries: &[MenuEntry]) -> String {
    entries.iter().map(MenuEntry::to_string).collect::<Vec<_>>().join(", ")
}

impl Intervention {
    /// The entry that an answer names: by its number, or by its label if no other has the same.
    pub fn entry_meant_by(&self, answer: &str) -> Result<Option<&MenuEntry>, EntryError> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.id == answer) {
            return Ok(Some(entry));
        }
        let is_named = |entry: &&MenuEntry| entry.label.eq_ignore_ascii_case(answer);
        let named: Vec<&MenuEntry> = self.entries.iter().filter(is_named).collect();
        match named.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            several => Err(EntryError::Ambiguous {
                answer: answer.to_owned(),
                entries: several.iter().map(|&entry| entry.clone()).collect(),
            }),
        }
    }

    /// A decision as this question takes it. An answer to a menu chooses an entry, by its id or by
    /// its label; any other text goes to the entry that takes one. A text that answers an approval
    /// denies it, and tells the agent why. What a handler decided stays as it is.
    pub fn read_answer(
        &self,
        mut decision: InterventionDecision,
    ) -> Result<InterventionDecision, EntryError> {
        // A handler sends exactly what it says.
        if decision.handler.is_some() {
            return Ok(decision);
        }
        if let Some(id) = &decision.entry {
            if decision.choice != InterventionChoice::Answer {
                return Err(EntryError::NotAnAnswer);
            }
            let found = self.entries.iter().find(|entry| entry.id == *id);
            let entry = found.ok_or_else(|| self.unknown(id))?;
            let has_text = decision.text.as_ref().is_some_and(|text| !text.is_empty());
            match (entry.takes_text, has_text) {
                (true, false) => return Err(EntryError::NeedsText(entry.label.clone())),
                (false, true) => return Err(EntryError::TakesNoText(entry.label.clone())),
                _ => {}
            }
        } else if let (InterventionChoice::Answer, Some(text), false) =
            (decision.choice, &decision.text, self.entries.is_empty())
        {
            let answer = text.trim();
            // Nothing but Enter is what a menu of one entry waits for.
            let only =
                self.entries.first().filter(|_| answer.is_empty() && self.entries.len() == 1);
            let meant = only.map_or_else(|| self.entry_meant_by(answer), |only| Ok(Some(only)))?;
            let takes_text = || self.entries.iter().find(|entry| entry.takes_text);
            if let Some(entry) = meant.filter(|entry| !entry.takes_text) {
                decision.entry = Some(entry.id.clone());
                decision.text = None;
            } else if let Some(entry) = takes_text() {
                decision.entry = Some(entry.id.clone());
            } else if self.kind == InterventionKind::Approval {
                decision.choice = InterventionChoice::Deny;
            } else {
                return Err(self.unknown(answer));
            }
        }
        if decision.entry.is_some() && self.truncated {
            return Err(EntryError::Truncated);
        }
        Ok(decision)
    }

    fn unknown(&self, answer: &str) -> EntryError {
        if self.entries.is_empty() {
            return EntryError::NoMenu;
        }
        EntryError::Unknown { answer: answer.to_owned(), entries: self.entries.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InterventionId, SessionId, Timestamp};

    fn asked(kind: InterventionKind, labels: &[&str]) -> Intervention {
        let session = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        let entry = |(index, label): (usize, &&str)| {
            let takes_text = label.starts_with("Type");
            MenuEntry { takes_text, ..MenuEntry::new((index + 1).to_string(), *label) }
        };
        let id = InterventionId::in_session(&session, 1);
        Intervention {
            entries: labels.iter().enumerate().map(entry).collect(),
            ..Intervention::new(id, "ask", kind, Timestamp::from_millis(0))
        }
    }

    fn answer(text: &str) -> InterventionDecision {
        InterventionDecision::new(InterventionChoice::Answer, "cli").with_text(text)
    }

    fn read(
        asked: &Intervention,
        text: &str,
    ) -> Result<(InterventionChoice, Option<String>, Option<String>), EntryError> {
        let decision = asked.read_answer(answer(text))?;
        Ok((decision.choice, decision.entry, decision.text))
    }

    const ANSWER: InterventionChoice = InterventionChoice::Answer;

    #[test]
    fn an_answer_to_a_menu_is_an_entry_by_its_number_or_its_label() {
        let menu = asked(InterventionKind::Choice, &["Red", "Blue"]);
        let blue = Ok((ANSWER, Some("2".to_owned()), None));
        assert_eq!(read(&menu, "2"), blue);
        assert_eq!(read(&menu, " blue "), blue);
        let twice = asked(InterventionKind::Choice, &["a.json", "b.json", "a.json"]);
        assert_eq!(
            read(&twice, "a.json").unwrap_err().to_string(),
            "`a.json` is the label of more than one entry; say its number: 1 (a.json), 3 (a.json)"
        );
        assert_eq!(read(&twice, "3"), Ok((ANSWER, Some("3".to_owned()), None)));
        let error = read(&menu, "green").unwrap_err();
        let said = "`green` is none of the entries; choose 1 (Red), 2 (Blue)";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn any_other_text_goes_to_the_entry_that_takes_one() {
        let menu = asked(InterventionKind::Question, &["Red", "Type something."]);
        let typed = |text: &str| Ok((ANSWER, Some("2".to_owned()), Some(text.to_owned())));
        assert_eq!(read(&menu, "green"), typed("green"));
        // Its own label is as good a text as any other.
        assert_eq!(read(&menu, "Type something."), typed("Type something."));
    }

    #[test]
    fn a_text_on_an_approval_denies_it() {
        let approval = asked(InterventionKind::Approval, &["Yes", "No"]);
        assert_eq!(read(&approval, "yes"), Ok((ANSWER, Some("1".to_owned()), None)));
        let denied = (InterventionChoice::Deny, None, Some("Use the test database".to_owned()));
        assert_eq!(read(&approval, "Use the test database"), Ok(denied));
    }

    #[test]
    fn what_a_handler_says_is_not_read_as_an_entry() {
        let approval = asked(InterventionKind::Approval, &["Yes", "No"]);
        let typed = InterventionDecision {
            handler: Some(crate::HandlerName::Type("y".to_owned())),
            ..answer("y")
        };
        assert_eq!(approval.read_answer(typed.clone()), Ok(typed));
    }

    #[test]
    fn no_entry_is_chosen_of_a_question_that_is_not_shown_whole() {
        let cut =
            Intervention { truncated: true, ..asked(InterventionKind::Approval, &["Yes", "No"]) };
        assert_eq!(read(&cut, "1"), Err(EntryError::Truncated));
        assert_eq!(read(&cut, "No, look first").unwrap().0, InterventionChoice::Deny);
    }

    #[test]
    fn an_entry_that_is_named_has_to_be_there_and_to_fit() {
        let menu = asked(InterventionKind::Question, &["Red", "Type something."]);
        let by_id = |id: &str| {
            let choice = InterventionDecision::new(ANSWER, "page");
            InterventionDecision { entry: Some(id.to_owned()), ..choice }
        };
        assert!(menu.read_answer(by_id("1")).is_ok());
        assert!(matches!(menu.read_answer(by_id("7")), Err(EntryError::Unknown { .. })));
        assert!(matches!(menu.read_answer(by_id("2")), Err(EntryError::NeedsText(_))));
        assert!(menu.read_answer(by_id("2").with_text("green")).is_ok());
        let with_text = by_id("1").with_text("green");
        assert!(matches!(menu.read_answer(with_text), Err(EntryError::TakesNoText(_))));
        let denied = InterventionDecision { choice: InterventionChoice::Deny, ..by_id("1") };
        assert_eq!(menu.read_answer(denied), Err(EntryError::NotAnAnswer));
        let line = asked(InterventionKind::Question, &[]);
        assert_eq!(line.read_answer(by_id("1")), Err(EntryError::NoMenu));
        assert_eq!(read(&line, "2").unwrap().2.as_deref(), Some("2"));
    }
}
