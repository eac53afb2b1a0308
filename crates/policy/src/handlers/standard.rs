//! The handlers that files can name.

use std::borrow::Cow;
use std::sync::LazyLock;

use coven_model::HandlerName;
use regex::Regex;

use super::{HandlerError, QuestionHandler, TerminalInput};
use crate::AgentQuestion;

/// How many of the last lines a question may be in; what stands higher was asked before.
const LAST_LINES: usize = 3;

/// The ways in which programs ask for yes or no.
#[expect(clippy::expect_used, reason = "a constant, compiled by the tests of this module")]
static YES_OR_NO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)
        [\[(] \s* y(es)? \s* [/|] \s* n(o)? \b [^\])]* [\])]   # [y/N], (yes/no), [Y/n/always]
        | [\[(] y [\])] es \b .* [\[(] n [\])] o \b            # (Y)es/(N)o
        | \b y(es)? \s* / \s* n(o)? \s* [:?]                   # y/n?
        | \b yes \s+ or \s+ no \b",
    )
    .expect("a valid pattern")
});

/// An answer that was typed already, behind the question.
#[expect(clippy::expect_used, reason = "a constant, compiled by the tests of this module")]
static ANSWERED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)[\])?:>]\s*(y|n|yes|no)\s*$").expect("a valid pattern"));

impl QuestionHandler for HandlerName {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }

    /// The standard handlers never fail. In a dialog that no adapter describes, only `escape`
    /// answers.
    fn answer(&self, question: &AgentQuestion<'_>) -> Result<Option<TerminalInput>, HandlerError> {
        if question.is_unknown_dialog() && *self != Self::Escape {
            return Ok(None);
        }
        Ok(match self {
            Self::PressEnter => Some(TerminalInput::new("\r")),
            Self::ConfirmYes => asks_yes_or_no(question.excerpt).then(|| TerminalInput::new("y\r")),
            Self::Escape => Some(TerminalInput::new("\u{1b}")),
            // Without Enter: menus take the digit, and an Enter behind it would go to whatever
            // comes next.
            Self::Choose(number) => Some(TerminalInput::new(number.to_string())),
            Self::Type(text) => Some(TerminalInput::new(format!("{}\r", one_line(text)))),
        })
    }

    fn standard(&self) -> Option<&HandlerName> {
        Some(self)
    }
}

/// Whether the end of the excerpt is a question for yes or no that is still open.
fn asks_yes_or_no(excerpt: &[String]) -> bool {
    let lines = excerpt.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let mut last = lines.rev().take(LAST_LINES);
    last.any(|line| YES_OR_NO.is_match(line) && !ANSWERED.is_match(line))
}

/// A text that is typed is one line: a line break in it would be an Enter of its own, and an
/// escape sequence would be a key.
fn one_line(text: &str) -> String {
    let clean = |c: char| if matches!(c, '\r' | '\n' | '\t') { ' ' } else { c };
    text.chars().map(clean).filter(|c| !c.is_control()).collect()
}
