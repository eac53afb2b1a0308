//! Finds the answer of an agent on a terminal in what its program wrote down itself.
//!
//! Agents can write to such a file, so it is believed only as far as the screen agrees: the end of
//! the answer must stand there.

use coven_terminal::snapshot::ScreenSnapshot;
use serde_json::Value;

use crate::config::{AnswerConfig, AnswerLine};

/// How many letters and digits of its last line are looked for on the screen.
const MAX_COMPARED_CHARS: usize = 40;

/// What is looked for beside a place that any value may stand at.
const ANY_VALUE: &str = "*";

/// The last turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTurn {
    /// Where in the text the line begins that began it.
    pub begins: usize,
    /// What the agent said last, if that was not before a call of a tool.
    pub answer: Option<String>,
}

impl AnswerConfig {
    /// The last turn in the lines of a file. Lines that are not JSON, such as one that is still being
    /// written, are left out.
    pub fn last_turn(&self, text: &str) -> Option<WrittenTurn> {
        let mut turn: Option<WrittenTurn> = None;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let begins = end;
            end += line.len();
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let is = |rules: &[AnswerLine]| rules.iter().any(|rule| rule.reads(&line).is_some());
            if is(&self.prompt) {
                turn = Some(WrittenTurn { begins, answer: None });
            }
            let Some(turn) = &mut turn else { continue };
            if let Some(said) = self.said.iter().find_map(|rule| rule.reads(&line)) {
                turn.answer = Some(said);
            }
            if is(&self.more) {
                turn.answer = None;
            }
        }
        turn
    }

    /// Whether a file with this first line is of a conversation: the one with the id where the file
    /// says its id, the one in the folder where it says that.
    pub fn is_of(&self, first_line: &str, session: Option<&str>, folder: &str) -> bool {
        if self.session.is_none() && self.folder.is_none() {
            return true;
        }
        let Ok(line) = serde_json::from_str::<Value>(first_line) else { return false };
        let has = |place: &Option<String>, wanted: Option<&str>| {
            place.as_ref().is_none_or(|place| {
                let found = values(&line, place);
                found.iter().any(|(_, value)| value.as_str().is_some() && value.as_str() == wanted)
            })
        };
        has(&self.session, session) && has(&self.folder, Some(folder))
    }
}

impl AnswerLine {
    /// The text of a line that is meant, empty where the rule names none.
    fn reads(&self, line: &Value) -> Option<String> {
        let fits = |(place, wanted): (&String, &Value)| {
            let found = values(line, place);
            let mut found = found.iter().map(|(_, value)| *value).filter(|value| !value.is_null());
            match wanted {
                Value::Null => found.next().is_none(),
                Value::String(any) if any == ANY_VALUE => found.next().is_some(),
                wanted => found.any(|value| value == wanted),
            }
        };
        if !self.fields.iter().all(fits) {
            return None;
        }
        let Some(place) = &self.text else { return Some(String::new()) };
        let is_said = |beside: &Value| {
            let skipped = self.skip.as_ref().and_then(|skip| beside.get(skip));
            skipped.and_then(Value::as_bool) != Some(true)
        };
        let texts = values(line, place);
        let text: String = texts
            .iter()
            .filter(|(beside, _)| is_said(beside))
            .filter_map(|(_, value)| value.as_str())
            .collect();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// What stands at a place of a value, each with what it is a part of.
fn values<'a>(value: &'a Value, place: &str) -> Vec<(&'a Value, &'a Value)> {
    let mut found = vec![(value, value)];
    for name in place.split('.') {
        found = found
            .into_iter()
            .flat_map(|(_, value)| {
                let entries = (name == "*").then(|| value.as_array()).flatten();
                let member = if name == "*" { None } else { value.get(name) };
                entries.into_iter().flatten().chain(member).map(move |each| (value, each))
            })
            .collect();
    }
    found
}

/// Whether a screen shows the end of an answer: the letters and digits of its last line that has
/// any. Marks, frames, colours and line breaks are the program's own, and so are numbers before the
/// lines of code.
pub fn is_shown(answer: &str, screen: &ScreenSnapshot) -> bool {
    is_shown_in(answer, &screen.text())
}

fn is_shown_in(answer: &str, screen: &str) -> bool {
    let last = answer.lines().rev().map(letters).find(|line| !line.is_empty());
    let Some(last) = last else {
        // There is nothing but marks, which are shown as they are or not at all.
        return screen.contains(answer.trim());
    };
    let skipped = last.chars().count().saturating_sub(MAX_COMPARED_CHARS);
    let last: String = last.chars().skip(skipped).collect();
    let unnumbered = |line: &str| {
        let line = line.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        letters(line.trim_start_matches(|letter: char| letter.is_ascii_digit()))
    };
    letters(screen).contains(&last)
        || screen.lines().map(unnumbered).collect::<String>().contains(&last)
}

fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests;
