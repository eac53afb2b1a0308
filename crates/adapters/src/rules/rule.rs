//! One rule, and how it is applied to a screen.

use std::ops::Range;

use coven_model::AskedAction;
use regex::Regex;

use super::compile::{RuleError, compile, with_inline_flags};
use super::{LineView, ScreenMenu, ScreenRegion, kind_by_name, view};
use crate::config::{CursorRule, MatchKind, StateRule};
use crate::sniffer::AskedLine;

/// How many lines above a match belong to a question whose beginning no rule names.
pub(super) const QUESTION_LINES: usize = 15;

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) name: String,
    pub(crate) kind: MatchKind,
    pub(crate) despite_signal: bool,
    pub(crate) region_name: String,
    pub(super) region: ScreenRegion,
    pub(super) pattern: Regex,
    /// The pattern as it goes into a set, with its flags.
    pub(super) source: String,
    not: Option<Regex>,
    begins: Option<Regex>,
    below: Option<Regex>,
    cursor: Option<CursorRule>,
    /// It waits for an answer and names no region, or only the line of the cursor: the lowest line
    /// that it finds counts, up to the end of what it finds. What is typed behind it is no other
    /// question.
    by_line: bool,
}

/// Where the line of a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinePlace {
    /// How many such lines there are.
    pub(crate) count: usize,
    /// Which row the lowest is, counted from the first that was ever printed.
    pub(crate) row: u64,
    /// In which row the cursor is, counted the same way.
    pub(crate) cursor: Option<u64>,
    /// Whether the cursor is in the lowest such line.
    pub(crate) has_cursor: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleHit {
    pub(crate) rule: usize,
    pub(crate) line: String,
    /// The whole question, from its beginning to the end of the region.
    pub(crate) excerpt: Vec<String>,
    /// The line with which such a question begins is not on the screen.
    pub(crate) begins_above: bool,
    /// The lines of the screen that the question takes.
    pub(super) lines: Range<usize>,
    /// How many of them belong to a question before it, where it is not known how it begins.
    pub(super) older: usize,
    /// Those that the pattern of the rule matches.
    pub(super) known: Range<usize>,
    /// How many lines look like the beginning of the question, up to the one before it.
    pub(super) begins: usize,
    /// What an approval asks leave for.
    pub(crate) action: AskedAction,
    /// The menu of the question.
    pub(crate) menu: Option<ScreenMenu>,
    /// For a rule that goes by lines: the words of the line up to the end of what was found, and
    /// where it stands.
    pub(crate) asked_line: Option<(AskedLine, LinePlace)>,
}

impl RuleHit {
    /// What stands above the line that asks and belongs to the question, where the rule says with
    /// which line it begins and that is on the screen.
    pub(crate) fn above_line(&self) -> Option<&[String]> {
        let is_whole = self.asked_line.is_some() && self.begins > 0 && !self.begins_above;
        let lines = self.known.start.saturating_sub(self.lines.start);
        is_whole.then(|| &self.excerpt[..lines.min(self.excerpt.len())])
    }
}

impl CompiledRule {
    pub(super) fn new(name: &str, rule: &StateRule) -> Result<Self, RuleError> {
        let region = rule.region.as_deref().unwrap_or("screen");
        let optional = |pattern: &Option<String>| {
            pattern.as_ref().map(|pattern| compile(name, pattern, &rule.flags)).transpose()
        };
        Ok(Self {
            name: name.to_owned(),
            kind: rule.kind.unwrap_or_else(|| kind_by_name(name)),
            despite_signal: rule.despite_signal,
            region_name: region.to_owned(),
            region: region
                .parse()
                .map_err(|error| RuleError::Region { rule: name.to_owned(), error })?,
            pattern: compile(name, &rule.pattern, &rule.flags)?,
            source: with_inline_flags(&rule.pattern, &rule.flags),
            not: optional(&rule.not)?,
            begins: optional(&rule.begins)?,
            below: optional(&rule.below)?,
            cursor: rule.cursor,
            by_line: rule.region.as_ref().is_none_or(|region| region == "cursor:1")
                && rule.kind.unwrap_or_else(|| kind_by_name(name)).awaits(),
        })
    }

    pub(super) fn apply(
        &self,
        index: usize,
        view: &LineView<'_>,
        text: &view::RegionText,
    ) -> Option<RuleHit> {
        match self.cursor {
            Some(CursorRule::Visible) if view.cursor_visible() == Some(false) => return None,
            Some(CursorRule::Hidden) if view.cursor_visible() == Some(true) => return None,
            _ => {}
        }
        if self.not.as_ref().is_some_and(|not| not.is_match(&text.joined)) {
            return None;
        }
        let floor = self.below.as_ref().and_then(|below| {
            (0..text.lines.len()).rev().find(|&line| below.is_match(text.lines[line]))
        });
        let from = floor.map_or(0, |line| text.starts[line]);
        let found = self.pattern.find_at(&text.joined, from)?;
        let lines = || self.pattern.find_iter(&text.joined[from..]);
        let found = match lines().last().filter(|_| self.by_line) {
            Some(last) => from + last.start()..from + last.end(),
            None => found.range(),
        };
        let seen = text.first + text.line_at(found.start);
        let asked_line = self.by_line.then(|| {
            let begin = text.starts[text.line_at(found.start)];
            let (row, cursor) = (view.place(seen), view.cursor_place());
            let has_cursor = view.has_cursor(seen);
            let place = LinePlace { count: lines().count(), row, cursor, has_cursor };
            let words = text.joined[begin..found.end].to_owned();
            (AskedLine { rule: index, words }, place)
        });
        if let Some((asked, _)) = &asked_line
            && view.is_answered(asked, text.first + text.line_at(found.end))
        {
            return None;
        }
        let (begin, begins) = self.beginnings(view, seen);
        let known =
            seen..text.first + text.line_at(found.end.saturating_sub(1).max(found.start)) + 1;
        // The lines of the question from its beginning, which may lie above the region, to the
        // end of the region.
        let lines = begin.unwrap_or_else(|| seen.saturating_sub(QUESTION_LINES))
            ..text.first + text.lines.len();
        let older = if begin.is_none() { self.older_lines(view, lines.start..seen) } else { 0 };
        Some(RuleHit {
            rule: index,
            older,
            known,
            begins,
            line: text.lines[text.most_telling_line(found)].trim().to_owned(),
            excerpt: lines.clone().map(|line| view.line(line).to_owned()).collect(),
            lines,
            begins_above: self.begins.is_some() && begin.is_none(),
            action: AskedAction::default(),
            menu: None,
            asked_line,
        })
    }

    /// How many of the lines above a question end with another that the same rule finds.
    fn older_lines(&self, view: &LineView<'_>, above: Range<usize>) -> usize {
        let last = above.clone().rev().find(|&line| self.pattern.is_match(view.line(line)));
        last.map_or(0, |line| line + 1 - above.start)
    }

    /// The line with which a question begins that was seen at one line of the screen: the lowest that
    /// looks like it, and how many do.
    fn beginnings(&self, view: &LineView<'_>, seen: usize) -> (Option<usize>, usize) {
        let Some(begins) = &self.begins else { return (None, 0) };
        // What begins above another such question begins that one.
        let is_older = |line: usize| line < seen && self.pattern.is_match(view.line(line));
        let own = (0..=seen).rev().take_while(|&line| !is_older(line));
        let mut found = own.filter(|&line| begins.is_match(view.line(line)));
        let lowest = found.next();
        (lowest, usize::from(lowest.is_some()) + found.count())
    }
}
