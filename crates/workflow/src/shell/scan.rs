//! Walks through a command as a shell would, and finds the variables and what surrounds them.
//!
//! It knows quotes, escapes, comments, here-documents and everything that nests. Where it should
//! be mistaken about a quote, a value is at worst split into words; it is never executed, because
//! it is never part of the text.

mod commands;
mod dollar;
mod heredoc;
mod quotes;

use std::collections::HashMap;

use super::error::{ShellError, ShellProblem};
use super::rules::ForbiddenSpot;
use crate::template::VariableReference;

/// What was found in a command.
pub(super) struct ScannedCommand {
    pub(super) text: String,
    /// The variables and their numbers in the environment, from 1.
    pub(super) uses: Vec<(VariableReference, usize)>,
    pub(super) own: Vec<VariableReference>,
    pub(super) errors: Vec<ShellError>,
}

/// How deep quotes, substitutions and parentheses may lie in each other.
const MAX_SHELL_NESTING: usize = 64;

pub(super) fn scan(source: &str) -> ScannedCommand {
    let mut scanner = ShellScanner {
        source,
        at: 0,
        end: source.len(),
        copied: 0,
        depth: 0,
        refused: None,
        heredocs: Vec::new(),
        received: HashMap::new(),
        risky: HashMap::new(),
        numbers: HashMap::new(),
        found: ScannedCommand {
            text: String::with_capacity(source.len()),
            uses: Vec::new(),
            own: Vec::new(),
            errors: Vec::new(),
        },
    };
    if let Some(offset) = source.find('\0') {
        scanner.error(offset, 1, ShellProblem::Nul);
    }
    while scanner.at < scanner.end {
        scanner.commands(None);
    }
    scanner.copy_to(source.len());
    scanner.values_that_went_on();
    scanner.found.errors.sort_by_key(|error| error.offset);
    scanner.found
}

/// A here-document that was announced and begins on the next line.
struct PendingHeredoc {
    delimiter: String,
    quoted: bool,
    tabs: bool,
    /// Why no variable may stand in it, if so.
    spot: Option<ForbiddenSpot>,
}

/// What a variable that stands here becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteContext {
    /// Not between quotes: it brings its own.
    Bare,
    /// Between double quotes or in a here-document.
    Double,
}

struct ShellScanner<'a> {
    source: &'a str,
    at: usize,
    end: usize,
    /// How much of the source is in the text already.
    copied: usize,
    depth: usize,
    /// Set where no variable may stand.
    refused: Option<ForbiddenSpot>,
    heredocs: Vec<PendingHeredoc>,
    /// The variables of the workflow that went into each variable of the shell.
    received: HashMap<String, Vec<(usize, usize, String)>>,
    /// Why no value of ours may be in a variable of the shell, if so.
    risky: HashMap<String, ForbiddenSpot>,
    /// The number of each variable that was seen.
    numbers: HashMap<String, usize>,
    found: ScannedCommand,
}

impl ShellScanner<'_> {
    fn error(&mut self, offset: usize, length: usize, problem: ShellProblem) {
        self.found.errors.push(ShellError { offset, length, problem });
    }

    /// Notes that shell variables get the variables of the workflow that were found since.
    fn receive(&mut self, receivers: Vec<String>, since: usize) {
        let found = self.found.uses.get(since..).unwrap_or_default();
        let found = found.iter().map(|(one, _)| (one.offset, one.length, one.to_string()));
        let found: Vec<(usize, usize, String)> = found.collect();
        if !found.is_empty() {
            for receiver in receivers {
                self.received.entry(receiver).or_default().extend(found.iter().cloned());
            }
        }
    }

    /// Notes that a shell variable stands where no value of ours may.
    fn note_risky(&mut self, name: &str, spot: Option<ForbiddenSpot>) {
        if let Some(spot) = self.refused.clone().or(spot) {
            self.risky.entry(name.to_owned()).or_insert(spot);
        }
    }

    /// Refuses values that are harmless where they stand and are executed one assignment later.
    fn values_that_went_on(&mut self) {
        let risky = std::mem::take(&mut self.risky);
        let mut errors: Vec<ShellError> = Vec::new();
        for (variable, spot) in risky {
            for (offset, length, name) in self.received.get(&variable).into_iter().flatten() {
                if let Some(problem) = spot.clone().later(name.clone(), variable.clone()) {
                    errors.push(ShellError { offset: *offset, length: *length, problem });
                }
            }
        }
        errors.sort_by_key(|error| (error.offset, error.problem.to_string()));
        errors.dedup_by_key(|error| error.offset);
        self.found.errors.extend(errors);
    }

    fn copy_to(&mut self, end: usize) {
        self.found.text.push_str(&self.source[self.copied..end]);
        self.copied = end;
    }

    fn rest(&self) -> &str {
        &self.source[self.at..self.end]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn starts_with(&self, prefix: &str) -> bool {
        self.rest().starts_with(prefix)
    }

    /// Moves on by some bytes of ASCII, and never beyond the end.
    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
    }

    /// Moves over an escaped character.
    fn skip_escape(&mut self) -> Option<char> {
        self.skip(1);
        let escaped = self.peek();
        self.skip(escaped.map_or(0, char::len_utf8));
        escaped
    }

    /// Enters one level; says no when there are too many, and then everything is skipped.
    fn enter(&mut self) -> bool {
        self.depth += 1;
        if self.depth <= MAX_SHELL_NESTING {
            return true;
        }
        if self.depth == MAX_SHELL_NESTING + 1 {
            self.error(self.at, 1, ShellProblem::TooDeep);
        }
        self.at = self.end;
        false
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Does something in a place where no variable may stand.
    fn while_forbidden(&mut self, spot: ForbiddenSpot, walk: impl FnOnce(&mut Self)) {
        let before = self.refused.take();
        self.refused = Some(before.clone().unwrap_or(spot));
        walk(self);
        self.refused = before;
    }
}
