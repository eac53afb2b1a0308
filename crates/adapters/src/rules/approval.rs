//! Reads out of an approval what the agent wants to do: the tool, and the command as it will run.
//!
//! A program shows a command in rows. A row that the terminal broke is one line again here; a row
//! that the program itself broke looks the same as a line break of the command, so a break at a
//! full row is marked as one that may be either.

use std::ops::Range;
use std::sync::LazyLock;

use coven_model::AskedAction;
use regex::Regex;

use super::compile::{RuleError, compile};
use super::generic::pattern;
use super::view::LineView;
use crate::config::ApprovalConfig;

/// What programs show in place of rows or of the end of a row.
const LEFT_OUT: &str = r"…\s*$|^\s*(?:…|\.{3})";

/// A row that says in any program that lines of the question are not shown.
static HIDDEN_LINES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b\d+ (?:more )?lines?\b.*\bhidden\b|\bto (?:show|see|view) (?:more|all) lines\b|(?:…|\.{3}) ?\+?\d+ (?:more )?lines\b",
    )
});

/// Whether a question says itself that lines of it are not shown.
pub(crate) fn hides_lines(excerpt: &[String]) -> bool {
    excerpt.iter().any(|row| HIDDEN_LINES.is_match(row))
}

/// The lines of a question that is read for a command.
#[derive(Debug)]
pub(super) struct QuestionLines<'a> {
    pub(super) lines: &'a [String],
    /// Those that the pattern of the rule matches. Only the first and the last of them are taken
    /// by that: what lies between may be a part of the command.
    pub(super) known: Range<usize>,
    /// How many lines up to the question look like its beginning.
    pub(super) begins: usize,
}

impl QuestionLines<'_> {
    /// Whether every line that says something is known or lies as a whole in a range of the text.
    fn is_taken(&self, range: &Range<usize>) -> bool {
        let mut begin = 0;
        let is_taken = |(index, line): (usize, &String)| {
            let words = line.trim_start();
            let first = begin + line.len() - words.len();
            let end = begin + line.trim_end().len();
            begin += line.len() + 1;
            let is_known = index == self.known.start || index + 1 == self.known.end;
            is_known || words.is_empty() || (range.start <= first && end <= range.end)
        };
        self.lines.iter().enumerate().all(is_taken)
    }
}

/// Where an approval says what it is about, ready to be applied.
#[derive(Debug)]
pub(super) struct CompiledApproval {
    tool: Option<String>,
    command: Regex,
    line: Option<Regex>,
    once: Option<Regex>,
    truncated: Option<Regex>,
    left_out: Regex,
}

impl CompiledApproval {
    pub(super) fn new(config: &ApprovalConfig) -> Result<Self, RuleError> {
        let optional = |pattern: &Option<String>| {
            pattern.as_ref().map(|pattern| compile("approvals", pattern, "")).transpose()
        };
        Ok(Self {
            tool: config.tool.clone(),
            command: compile("approvals", &config.command, "")?,
            line: optional(&config.line)?,
            once: optional(&config.once)?,
            truncated: optional(&config.truncated)?,
            left_out: compile("approvals", LEFT_OUT, "")?,
        })
    }

    /// What a question is about, if it is one of this kind. Where its lines name more than one
    /// command, one of them may be something that the agent only printed, and where a line is not
    /// taken by the pattern, it may be a part of the command: then none is read.
    pub(super) fn read(
        &self,
        view: &LineView<'_>,
        question: &QuestionLines<'_>,
    ) -> Option<AskedAction> {
        let excerpt = question.lines;
        let text = excerpt.join("\n");
        let found = self.command.captures(&text)?;
        let mut action = AskedAction { tool: self.tool.clone(), ..AskedAction::default() };
        action.truncated = self.truncated.as_ref().is_some_and(|cut| cut.is_match(&text));
        // A question whose beginning is there twice may have shown the second one itself.
        if let Some(once) = &self.once
            && view.lines().filter(|line| once.is_match(line)).count() != 1
        {
            return Some(action);
        }
        let Some(rows) = found.name("command") else { return Some(action) };
        if self.command.find_iter(&text).nth(1).is_some() {
            return Some(action);
        }
        // Rows without a frame or an indentation of their own can look like the beginning.
        if self.line.is_none() && question.begins > 1 {
            return Some(action);
        }
        let whole = found.get(0).map_or(0..0, |found| found.range());
        if !question.is_taken(&whole) {
            return Some(action);
        }
        action.truncated |= rows.as_str().lines().any(|row| self.is_left_out(row));
        let widest = excerpt.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if !has_odd_blank(&text, rows.range())
            && let Some(rows) = self.rows(rows.as_str(), widest)
            && !rows.is_empty()
        {
            action.wrapped = rows.windows(2).any(|pair| pair[0].may_break_before(&pair[1]));
            let lines: Vec<&str> = rows.iter().map(|row| row.text).collect();
            action.command = Some(lines.join("\n"));
        }
        Some(action)
    }

    fn is_left_out(&self, row: &str) -> bool {
        let text = self.line.as_ref().and_then(|line| Some(line.captures(row)?.get(1)?.as_str()));
        self.left_out.is_match(text.unwrap_or(row))
    }

    /// The rows of a command without what is drawn around them and without empty ones at the ends;
    /// nothing if one of them is not drawn like the others.
    fn rows<'a>(&self, text: &'a str, widest: usize) -> Option<Vec<CommandRow<'a>>> {
        let rows = text.lines().map(|line| {
            let Some(pattern) = &self.line else {
                return Some(CommandRow { text: line.trim_end_matches(' '), room: widest });
            };
            let group = pattern.captures(line)?.get(1)?;
            let before = line[..group.start()].chars().count();
            let behind = line[group.end()..].chars().count();
            // A frame on the right says where the row ends; else it may be as wide as the widest.
            let end = if behind > 0 { line.chars().count() } else { widest };
            Some(CommandRow {
                text: group.as_str().trim_end_matches(' '),
                room: end.saturating_sub(before + behind),
            })
        });
        let rows: Vec<CommandRow<'_>> = rows.collect::<Option<_>>()?;
        let is_text = |row: &CommandRow<'_>| !row.text.is_empty();
        let first = rows.iter().position(is_text).unwrap_or(0);
        let end = rows.iter().rposition(is_text).map_or(first, |last| last + 1);
        Some(rows[first..end].to_vec())
    }
}

/// Whether the lines of a range have a blank that is not a space. A pattern takes it for one, a
/// shell does not, and at the end of a line nobody sees it.
fn has_odd_blank(text: &str, range: Range<usize>) -> bool {
    let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    text[begin..end].chars().any(|char| char.is_whitespace() && !matches!(char, ' ' | '\n'))
}

/// A row of a command, and how many characters the program has for one.
#[derive(Clone, Copy)]
struct CommandRow<'a> {
    text: &'a str,
    room: usize,
}

impl CommandRow<'_> {
    /// How much of a row programs leave free at the right.
    const MARGIN: usize = 4;

    /// Whether the program may have begun the next row because its first word had no room here.
    fn may_break_before(&self, next: &Self) -> bool {
        let word = next.text.trim_start().split(' ').next().unwrap_or_default();
        let needed = self.text.chars().count() + 1 + word.chars().count();
        needed + Self::MARGIN > self.room
    }
}
