//! What an agent asks, as far as it is known.

use coven_model::{AskedAction, AwaitingKind, ContentDigest};

/// A question on an agent's screen.
#[derive(Debug, Clone, Copy)]
pub struct AgentQuestion<'a> {
    /// The type of the agent, such as `claude`.
    pub adapter: &'a str,
    /// What kind of answer it waits for.
    pub kind: AwaitingKind,
    /// The rule of the adapter that saw the question.
    pub rule: &'a str,
    /// The dialog, when it is one that the adapter describes.
    pub dialog: Option<&'a str>,
    /// What it asks leave for, as far as the adapter can tell.
    pub action: &'a AskedAction,
    /// The lines that ask, joined where the terminal had wrapped them.
    pub excerpt: &'a [String],
    /// What binds an answer to this question.
    pub digest: Option<&'a ContentDigest>,
}

/// A text in which one space stands wherever there are blanks or line breaks.
fn with_single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl AgentQuestion<'_> {
    /// Whether this is a dialog that the adapter does not describe. What Enter does there is not
    /// known, so no handler may send it.
    pub fn is_unknown_dialog(&self) -> bool {
        self.kind == AwaitingKind::Dialog && self.dialog.is_none()
    }

    /// The tool it wants to use, when the adapter can tell.
    pub fn tool(&self) -> Option<&str> {
        self.action.tool.as_deref()
    }

    /// The lines as one text, and the same in every way in which it says the same to a shell or to
    /// a person: with other blanks, broken elsewhere, without quotes. What is forbidden is looked
    /// for in all of them; what is allowed in the first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let shown = self.excerpt.join("\n");
        let lines = || self.excerpt.iter().map(|line| with_single_blanks(line));
        let by_line = lines().collect::<Vec<_>>().join("\n");
        let one_line = with_single_blanks(&shown);
        let unbroken: String = lines().collect();
        let mut texts = vec![shown, by_line, one_line, unbroken];
        let unquoted: Vec<String> =
            texts.iter().skip(1).map(|text| text.replace(['\'', '"', '\\'], "")).collect();
        texts.extend(unquoted.iter().map(|text| with_single_blanks(text)));
        texts.dedup();
        texts
    }
}
