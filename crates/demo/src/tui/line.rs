//! Lines of a screen before they are painted, and the blocks that a conversation is made of.

use std::collections::VecDeque;

use crate::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStyle {
    Plain,
    Dim,
    Bold,
    Accent,
    Alarm,
}

impl LineStyle {
    /// The sequence that starts it.
    pub(super) fn start(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\x1b[2m",
            Self::Bold => "\x1b[1m",
            Self::Accent => "\x1b[36m",
            Self::Alarm => "\x1b[31m",
        }
    }

    /// The sequence that ends it.
    pub(super) fn end(self) -> &'static str {
        if self == Self::Plain { "" } else { "\x1b[m" }
    }
}

/// One row, without control characters and never longer than the screen is wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StyledLine {
    pub(super) style: LineStyle,
    pub(super) text: String,
}

impl StyledLine {
    pub(super) fn new(style: LineStyle, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }

    pub(super) fn empty() -> Self {
        Self::new(LineStyle::Plain, "")
    }

    /// A line that only separates.
    pub(super) fn rule(columns: usize) -> Self {
        Self::new(LineStyle::Dim, "─".repeat(columns))
    }
}

/// A part of the conversation: who speaks, and what was said. It is cut into lines for a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConversationBlock {
    style: LineStyle,
    mark: &'static str,
    text: String,
    /// Whether an empty line follows.
    spaced: bool,
}

impl ConversationBlock {
    pub(super) fn new(style: LineStyle, mark: &'static str, text: &str) -> Self {
        Self { style, mark, text: text::clean(text), spaced: true }
    }

    /// Something that the next block belongs to.
    pub(super) fn without_gap(self) -> Self {
        Self { spaced: false, ..self }
    }

    pub(super) fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let indent = text::width(self.mark);
        let wrapped = text::wrap(self.text.trim_end(), columns.saturating_sub(indent));
        let mut marks = std::iter::once(self.mark.to_owned())
            .chain(std::iter::repeat_with(|| " ".repeat(indent)));
        let mut lines: Vec<StyledLine> = wrapped
            .iter()
            .map(|text| {
                let line = format!("{}{text}", marks.next().unwrap_or_default());
                StyledLine::new(self.style, line.trim_end().to_owned())
            })
            .collect();
        if self.spaced {
            lines.push(StyledLine::empty());
        }
        lines
    }
}

/// What was said last, for a screen that has to be painted anew. Bounded, like everything.
#[derive(Debug, Default)]
pub(super) struct ConversationHistory {
    blocks: VecDeque<ConversationBlock>,
}

impl ConversationHistory {
    /// How many blocks are kept: more than any screen shows.
    const MAX_HISTORY_BLOCKS: usize = 500;

    pub(super) fn push(&mut self, block: ConversationBlock) {
        if self.blocks.len() == Self::MAX_HISTORY_BLOCKS {
            self.blocks.pop_front();
        }
        self.blocks.push_back(block);
    }

    pub(super) fn tail(&self, columns: usize, rows: usize) -> Vec<StyledLine> {
        let mut lines = VecDeque::new();
        for block in self.blocks.iter().rev() {
            for line in block.lines(columns).into_iter().rev() {
                if lines.len() == rows {
                    return lines.into();
                }
                lines.push_front(line);
            }
        }
        lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[StyledLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn a_block_is_indented_under_its_mark() {
        let block = ConversationBlock::new(LineStyle::Plain, "● ", "one two three\nfour");
        assert_eq!(texts(&block.lines(9)), ["● one two", "  three", "  four", ""]);
        assert_eq!(texts(&block.without_gap().lines(80)), ["● one two three", "  four"]);
    }

    #[test]
    fn a_screen_too_narrow_for_anything_still_gets_lines() {
        let block = ConversationBlock::new(LineStyle::Plain, "  └ ", "abc").without_gap();
        assert_eq!(texts(&block.lines(3)), ["  └ a", "    b", "    c"]);
    }

    #[test]
    fn the_tail_is_what_fits() {
        let mut history = ConversationHistory::default();
        for text in ["one", "two", "three"] {
            history.push(ConversationBlock::new(LineStyle::Plain, "", text));
        }
        assert_eq!(texts(&history.tail(80, 3)), ["", "three", ""]);
        assert_eq!(texts(&history.tail(80, 99)), ["one", "", "two", "", "three", ""]);
        for _ in 0..2 * ConversationHistory::MAX_HISTORY_BLOCKS {
            history.push(ConversationBlock::new(LineStyle::Plain, "", "more"));
        }
        assert_eq!(history.blocks.len(), ConversationHistory::MAX_HISTORY_BLOCKS);
    }
}
