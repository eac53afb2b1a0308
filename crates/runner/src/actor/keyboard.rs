//! What a person types on the terminal of an agent.

use std::time::Duration;

use coven_terminal::snapshot::ScreenSnapshot;

/// What a person types.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PersonKeyboard {
    /// Whether a person may have typed something, so that a draft may stand in the prompt.
    pub(super) was_used: bool,
    /// When a person last typed something.
    pub(super) last: Option<Duration>,
    /// Whether that was text that was not submitted since, so that it must show up in the prompt.
    pub(super) has_unsubmitted: bool,
    /// When a person last typed something that a program may have read: a key, or the end of a line.
    pub(super) given: Option<Duration>,
    /// What was typed since the last line was submitted.
    pub(super) line: TypedLine,
    /// What stood before the cursor when a person began to type, until that is submitted.
    prompt: Option<String>,
    /// What was typed since then, where the program reads keys.
    edited: TypedLine,
    /// Keys that wait for a message to be submitted.
    pub(super) held: Vec<u8>,
    /// When they are written at the latest.
    pub(super) due: Option<Duration>,
}

impl PersonKeyboard {
    /// Takes note of when keys were given to a program.
    pub(super) fn gave(&mut self, bytes: &[u8], collects_lines: bool, now: Duration) {
        if !collects_lines || bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0x4)) {
            self.given = Some(now);
        }
    }

    /// Takes note of what stands before the cursor, if a person begins to type there.
    pub(super) fn begins_at(&mut self, before_cursor: impl FnOnce() -> String) {
        if self.prompt.is_none() {
            self.prompt = Some(before_cursor());
        }
    }

    /// What a person has typed on a screen and not submitted: what stands before the cursor now, and
    /// did not when they began.
    pub(super) fn typed_on(&self, snapshot: &ScreenSnapshot) -> Option<String> {
        let prompt = self.prompt.as_deref().filter(|_| self.has_unsubmitted)?;
        let before = snapshot.before_cursor();
        let typed = match before.strip_prefix(prompt) {
            Some(typed) if !prompt.trim().is_empty() => typed,
            // Where it began at no prompt, only what is known to have been typed counts.
            _ => {
                let typed = self.edited.draft()?;
                before.ends_with(typed).then_some(typed)?
            }
        };
        (!typed.trim().is_empty()).then(|| typed.to_owned())
    }

    /// Takes note of keys.
    pub(super) fn pressed(&mut self, bytes: &[u8], now: Duration) {
        self.edited.typed(bytes, false, LineTypist::Person);
        self.was_used = true;
        self.last = Some(now);
        let is_submitted = bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0x15 | 0x3));
        let is_text = bytes.first().is_some_and(|byte| *byte >= b' ' && *byte != 0x7f);
        self.has_unsubmitted = !is_submitted && (is_text || self.has_unsubmitted);
        if is_submitted {
            self.prompt = None;
        }
    }
}

/// A line that is typed and not submitted. It stands in a terminal that collects lines, where
/// nobody can read it before it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypedLine {
    text: String,
    typist: LineTypist,
}

/// Who has begun a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LineTypist {
    #[default]
    Person,
    /// A runner that ended before it submitted the line.
    Runner,
}

impl TypedLine {
    /// Takes note of what was typed. Of a secret only how much it is.
    pub(crate) fn typed(&mut self, bytes: &[u8], is_secret: bool, typist: LineTypist) {
        if self.text.is_empty() {
            self.typist = typist;
        }
        for char in String::from_utf8_lossy(bytes).chars() {
            match char {
                // A line that is submitted, deleted, or given up.
                '\r' | '\n' | '\u{15}' | '\u{3}' | '\u{4}' => self.text.clear(),
                '\u{7f}' | '\u{8}' => drop(self.text.pop()),
                '\u{17}' => {
                    let words = self.text.trim_end();
                    let end = words.rfind(' ').map_or(0, |at| at + 1);
                    self.text.truncate(end);
                }
                _ if is_secret => self.text.push('*'),
                char => self.text.push(char),
            }
        }
    }

    /// What a runner has typed is submitted or goes on.
    pub(super) fn forget_leftover(&mut self) {
        if self.typist == LineTypist::Runner {
            self.text.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// What a person has typed.
    pub(super) fn draft(&self) -> Option<&str> {
        self.of(LineTypist::Person)
    }

    /// What a runner has typed and not submitted.
    pub(super) fn leftover(&self) -> Option<&str> {
        self.of(LineTypist::Runner)
    }

    /// Whether that is a secret, of which only the length is known.
    pub(super) fn holds_secret(&self) -> bool {
        self.leftover().is_some_and(|text| text.chars().all(|char| char == '*'))
    }

    fn of(&self, typist: LineTypist) -> Option<&str> {
        (!self.text.is_empty() && self.typist == typist).then_some(&*self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_until_it_is_submitted_or_deleted() {
        let after = |typed: &str| {
            let mut line = TypedLine::default();
            line.typed(typed.as_bytes(), false, LineTypist::Person);
            line.draft().map(str::to_owned)
        };
        assert_eq!(after(""), None);
        assert_eq!(after("no").as_deref(), Some("no"));
        assert_eq!(after("no\r"), None);
        assert_eq!(after("no\rye").as_deref(), Some("ye"));
        assert_eq!(after("no\u{7f}").as_deref(), Some("n"));
        assert_eq!(after("no\u{7f}\u{7f}\u{7f}"), None);
        assert_eq!(after("oh no\u{17}").as_deref(), Some("oh "));
        for given_up in ["no\u{15}", "no\u{3}"] {
            assert_eq!(after(given_up), None);
        }
        let mut line = TypedLine::default();
        line.typed(b"key", true, LineTypist::Person);
        assert_eq!(line.draft(), Some("***"));
    }
}
