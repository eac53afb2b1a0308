//! Walks through a command as a shell would, and finds the variables and what surrounds them.
//!
//! It knows quotes, escapes, comments, here-documents and everything that nests. Where it should
//! be mistaken about a quote, a value is at worst split into words; it is never executed, because
//! it is never part of the text.

use std::collections::HashMap;

use super::rules::Spot;
use super::words::Command;
use crate::template::{Reference, reference_at};

/// Something in a command that cannot stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ShellError {
    /// The first byte it is about.
    pub offset: usize,
    /// How many bytes it is about.
    pub length: usize,
    /// What it is.
    pub problem: ShellProblem,
}

/// What can be wrong with a command. `name` is the variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellProblem {
    /// In single quotes.
    #[error("`${{{name}}}` stands in single quotes, where a shell expands nothing")]
    SingleQuotes {
        /// The variable.
        name: String,
    },
    /// In a here-document with a quoted delimiter.
    #[error("`${{{name}}}` stands in a here-document whose delimiter is quoted, where a shell expands nothing")]
    QuotedHeredoc {
        /// The variable.
        name: String,
    },
    /// In backticks.
    #[error("`${{{name}}}` stands between backticks, where quotes do not work as elsewhere")]
    Backticks {
        /// The variable.
        name: String,
    },
    /// Where a shell calculates.
    #[error("`${{{name}}}` stands where the shell calculates, and there it executes what a value holds")]
    Arithmetic {
        /// The variable.
        name: String,
    },
    /// Where something executes its text.
    #[error("`${{{name}}}` becomes part of a program that `{by}` executes")]
    Executed {
        /// The variable.
        name: String,
        /// What executes it.
        by: String,
    },
    /// Where the name of a shell variable is expected.
    #[error("`${{{name}}}` stands where `{by}` expects the name of a shell variable, and there a shell executes what a value holds")]
    VariableName {
        /// The variable.
        name: String,
        /// The command that expects it.
        by: String,
    },
    /// In a pattern of a parameter expansion.
    #[error("`${{{name}}}` stands in a pattern, where its characters have a meaning of their own")]
    Pattern {
        /// The variable.
        name: String,
    },
    /// With an operator of the shell.
    #[error("`${{{text}}}` mixes a variable of the workflow with an operator of the shell")]
    Operator {
        /// What stands between the braces.
        text: String,
    },
    /// Something is not closed.
    #[error("{what} is not closed")]
    Unclosed {
        /// What.
        what: &'static str,
    },
    /// More levels than any command has.
    #[error("the command is nested too deeply")]
    TooDeep,
    /// A character that no command can have.
    #[error("a command cannot hold a NUL character")]
    Nul,
}

/// What was found in a command.
pub(super) struct Scanned {
    pub(super) text: String,
    /// The variables and their numbers in the environment, from 1.
    pub(super) uses: Vec<(Reference, usize)>,
    pub(super) own: Vec<Reference>,
    pub(super) errors: Vec<ShellError>,
}

/// How deep quotes, substitutions and parentheses may lie in each other.
const DEEPEST: usize = 64;

pub(super) fn scan(source: &str) -> Scanned {
    let mut scanner = Scanner {
        source,
        at: 0,
        end: source.len(),
        copied: 0,
        depth: 0,
        refused: None,
        heredocs: Vec::new(),
        numbers: HashMap::new(),
        found: Scanned {
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
    scanner.found.errors.sort_by_key(|error| error.offset);
    scanner.found
}

/// A here-document that was announced and begins on the next line.
struct Heredoc {
    delimiter: String,
    quoted: bool,
    tabs: bool,
    /// Why no variable may stand in it, if so.
    spot: Option<Spot>,
}

/// What a variable that stands here becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Not between quotes: it brings its own.
    Bare,
    /// Between double quotes or in a here-document.
    Double,
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    end: usize,
    /// How much of the source is in the text already.
    copied: usize,
    depth: usize,
    /// Set where no variable may stand.
    refused: Option<Spot>,
    heredocs: Vec<Heredoc>,
    /// The number of each variable that was seen.
    numbers: HashMap<String, usize>,
    found: Scanned,
}

impl Scanner<'_> {
    fn error(&mut self, offset: usize, length: usize, problem: ShellProblem) {
        self.found.errors.push(ShellError { offset, length, problem });
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
        if self.depth <= DEEPEST {
            return true;
        }
        if self.depth == DEEPEST + 1 {
            self.error(self.at, 1, ShellProblem::TooDeep);
        }
        self.at = self.end;
        false
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Does something in a place where no variable may stand.
    fn refusing(&mut self, spot: Spot, walk: impl FnOnce(&mut Self)) {
        let before = self.refused.take();
        self.refused = Some(before.clone().unwrap_or(spot));
        walk(self);
        self.refused = before;
    }

    /// Commands up to a closing parenthesis, or to the end. `opened` is the parenthesis.
    fn commands(&mut self, opened: Option<usize>) {
        self.commands_from(opened, Command::default);
    }

    /// The same, where each command begins as given.
    fn commands_from(&mut self, opened: Option<usize>, fresh: fn() -> Command) {
        if !self.enter() {
            self.leave();
            return;
        }
        let mut command = fresh();
        let mut cases = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' => {
                    self.end_word(&mut command, &mut cases);
                    self.skip(1);
                }
                '\n' => {
                    self.end_word(&mut command, &mut cases);
                    command = fresh();
                    self.skip(1);
                    self.heredoc_bodies();
                }
                '#' if !command.in_word() => self.comment(),
                '\\' => match self.skip_escape() {
                    Some('\n') | None => {}
                    Some(escaped) => command.push(escaped),
                },
                '\'' | '"' | '`' | '$' => self.expansion(next, &mut command),
                ';' | '|' | '&' if !self.starts_with("&>") => {
                    self.end_word(&mut command, &mut cases);
                    command = command.next();
                    self.skip(1);
                }
                '(' | ')' if command.in_test() => {
                    self.end_word(&mut command, &mut cases);
                    self.skip(1);
                }
                '(' => self.parenthesis(&mut command, &mut cases),
                ')' => {
                    self.end_word(&mut command, &mut cases);
                    self.skip(1);
                    if cases == 0 && opened.is_some() {
                        self.leave();
                        return;
                    }
                    command = fresh();
                }
                '<' | '>' | '&' => self.redirection(next, &mut command, &mut cases),
                other => {
                    command.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        self.end_word(&mut command, &mut cases);
        if let Some(opened) = opened {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this parenthesis" });
        }
        self.leave();
    }

    fn end_word(&mut self, command: &mut Command, cases: &mut usize) {
        let ended = command.end_word();
        if ended.opens_case {
            *cases += 1;
        } else if ended.closes_case {
            *cases = cases.saturating_sub(1);
        }
        for (offset, length, name) in ended.calculated {
            self.error(offset, length, ShellProblem::Arithmetic { name });
        }
    }

    fn comment(&mut self) {
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        self.skip(end);
    }

    /// Quotes and `$` in a command.
    fn expansion(&mut self, next: char, command: &mut Command) {
        command.begin();
        let start = self.at;
        match next {
            '\'' => self.single_quotes(),
            '"' => {
                let spot = command.spot();
                self.double_quotes(command, spot);
                return;
            }
            '`' => self.backticks(),
            _ => {
                let spot = command.spot();
                self.dollar(Quoting::Bare, spot, command);
                return;
            }
        }
        // What single quotes hold is text of the word: `'eval' "${x}"`.
        let quoted = self.source[start..self.at].trim_matches('\'').to_owned();
        quoted.chars().for_each(|c| command.push(c));
    }

    fn parenthesis(&mut self, command: &mut Command, cases: &mut usize) {
        if self.starts_with("((") && command.may_calculate() {
            let opened = self.at;
            self.skip(2);
            self.refusing(Spot::Arithmetic, |scanner| scanner.arithmetic(opened, "))"));
            return;
        }
        let in_word = command.in_word();
        let opened = self.at;
        self.skip(1);
        if self.starts_with(")") && in_word {
            // `name()`: what follows is a new command.
            self.skip(1);
            self.end_word(command, cases);
            *command = Command::default();
            return;
        }
        let fresh = if command.assigns() { Command::list } else { Command::default };
        self.commands_from(Some(opened), fresh);
    }

    fn redirection(&mut self, next: char, command: &mut Command, cases: &mut usize) {
        if (next == '<' || next == '>') && self.rest()[1..].starts_with('(') {
            let opened = self.at + 1;
            command.begin();
            self.skip(2);
            self.commands(Some(opened));
            return;
        }
        self.end_word(command, cases);
        if self.starts_with("<<") && !self.starts_with("<<<") {
            self.heredoc_start(command.input_spot());
            return;
        }
        let is_input = next == '<';
        let signs = self.rest().len() - self.rest().trim_start_matches(['<', '>', '&', '|']).len();
        self.skip(signs.max(1));
        command.expect_target(is_input);
    }

    /// `<<WORD`: remembers what to look for behind the end of the line.
    fn heredoc_start(&mut self, spot: Option<Spot>) {
        self.skip(2);
        let tabs = self.starts_with("-");
        self.skip(usize::from(tabs));
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.skip(1);
        }
        let mut heredoc = Heredoc { delimiter: String::new(), quoted: false, tabs, spot };
        while let Some(next) = self.peek() {
            match next {
                '\'' | '"' => {
                    heredoc.quoted = true;
                    self.skip(1);
                    let end = self.rest().find(next).unwrap_or(self.rest().len());
                    heredoc.delimiter.push_str(&self.source[self.at..self.at + end]);
                    self.skip(end + 1);
                }
                '\\' => {
                    heredoc.quoted = true;
                    heredoc.delimiter.extend(self.skip_escape());
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                other => {
                    heredoc.delimiter.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        if !heredoc.delimiter.is_empty() {
            self.heredocs.push(heredoc);
        }
    }

    fn heredoc_bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            let (mut body_end, mut after) = (self.end, self.end);
            let mut line_start = start;
            for line in self.source[start..self.end].split_inclusive('\n') {
                let text = line.trim_end_matches(['\n', '\r']);
                let text = if heredoc.tabs { text.trim_start_matches('\t') } else { text };
                if text == heredoc.delimiter {
                    (body_end, after) = (line_start, line_start + line.len());
                    break;
                }
                line_start += line.len();
            }
            let outer_end = std::mem::replace(&mut self.end, body_end);
            if heredoc.quoted {
                self.refusing(Spot::QuotedHeredoc, Self::literal);
            } else {
                let spot = heredoc.spot;
                self.doubly_quoted(None, spot, &mut Command::inert());
            }
            self.end = outer_end;
            self.at = after;
        }
    }

    /// Text in which a shell expands nothing, up to the end.
    fn literal(&mut self) {
        while let Some(found) = self.rest().find("${") {
            self.skip(found);
            if self.source[..self.at].ends_with('$') {
                self.skip(2);
            } else {
                self.braces(Quoting::Double, None, &mut Command::default());
            }
        }
        self.at = self.end;
    }

    fn single_quotes(&mut self) {
        let opened = self.at;
        let ansi = self.source[..opened].ends_with('$');
        self.skip(1);
        let close = if ansi { ansi_end(self.rest()) } else { self.rest().find('\'') };
        let Some(close) = close else {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this quote" });
            self.at = self.end;
            return;
        };
        let outer_end = std::mem::replace(&mut self.end, self.at + close);
        self.refusing(Spot::SingleQuotes, Self::literal);
        self.end = outer_end;
        self.skip(1);
    }

    fn double_quotes(&mut self, command: &mut Command, spot: Option<Spot>) {
        let opened = self.at;
        self.skip(1);
        self.doubly_quoted(Some(opened), spot, command);
    }

    /// What is between double quotes, up to the closing one or, in a here-document, to the end.
    fn doubly_quoted(&mut self, opened: Option<usize>, spot: Option<Spot>, command: &mut Command) {
        if !self.enter() {
            self.leave();
            return;
        }
        while let Some(next) = self.peek() {
            match next {
                '"' if opened.is_some() => {
                    self.skip(1);
                    self.leave();
                    return;
                }
                '\\' => {
                    if let Some(escaped) = self.skip_escape() {
                        command.push(escaped);
                    }
                }
                '`' => self.backticks(),
                '$' => {
                    let spot = command.spot().or_else(|| spot.clone());
                    self.dollar(Quoting::Double, spot, command);
                }
                other => {
                    command.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        if let Some(opened) = opened {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this quote" });
        }
        self.leave();
    }

    fn backticks(&mut self) {
        let opened = self.at;
        self.skip(1);
        let mut end = None;
        let mut escaped = false;
        for (place, byte) in self.rest().bytes().enumerate() {
            match byte {
                b'`' if !escaped => {
                    end = Some(place);
                    break;
                }
                _ => escaped = byte == b'\\' && !escaped,
            }
        }
        let Some(end) = end else {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this backtick" });
            self.at = self.end;
            return;
        };
        let outer_end = std::mem::replace(&mut self.end, self.at + end);
        self.refusing(Spot::Backticks, Self::literal);
        self.end = outer_end;
        self.skip(1);
    }

    /// Everything that begins with `$`.
    fn dollar(&mut self, quoting: Quoting, spot: Option<Spot>, command: &mut Command) {
        let start = self.at;
        if self.starts_with("$${") {
            // One dollar is ours and goes; the rest is the shell's own.
            self.copy_to(start);
            self.copied = start + 1;
            self.skip(1);
            self.parameter(quoting, spot, command);
        } else if self.starts_with("${") {
            self.braces(quoting, spot, command);
        } else if self.starts_with("$((") {
            self.skip(3);
            self.refusing(Spot::Arithmetic, |scanner| scanner.arithmetic(start, "))"));
        } else if self.starts_with("$(") {
            self.skip(2);
            let commands = |scanner: &mut Self| scanner.commands(Some(start + 1));
            match spot {
                // What a substitution prints inside `eval` is executed as well.
                Some(spot) => self.refusing(spot, commands),
                None => commands(self),
            }
        } else if self.starts_with("$[") {
            self.skip(2);
            self.refusing(Spot::Arithmetic, |scanner| scanner.arithmetic(start, "]"));
        } else {
            self.skip(1);
            if quoting == Quoting::Bare && self.starts_with("'") {
                self.single_quotes();
            } else {
                // A lone `$`, or `$name`: the name is the shell's own. It is part of the word.
                command.push('$');
            }
        }
    }

    /// Arithmetic up to its end. Everything in it is refused already.
    fn arithmetic(&mut self, opened: usize, close: &str) {
        if !self.enter() {
            self.leave();
            return;
        }
        let mut open = 0_usize;
        let mut command = Command::default();
        while let Some(next) = self.peek() {
            if open == 0 && self.starts_with(close) {
                self.skip(close.len());
                self.leave();
                return;
            }
            match next {
                '(' | '[' => {
                    open += 1;
                    self.skip(1);
                }
                ')' | ']' => {
                    open = open.saturating_sub(1);
                    self.skip(1);
                }
                '\\' => drop(self.skip_escape()),
                '\'' | '"' | '`' | '$' => self.expansion(next, &mut command),
                other => self.skip(other.len_utf8()),
            }
        }
        self.error(opened, 1, ShellProblem::Unclosed { what: "this calculation" });
        self.leave();
    }

    /// `${...}`: a variable of ours, or the shell's own.
    fn braces(&mut self, quoting: Quoting, spot: Option<Spot>, command: &mut Command) {
        let start = self.at;
        let window = &self.source[..self.end];
        match reference_at(window, start) {
            Ok(reference) if is_ours(&reference) => {
                self.at = start + reference.length;
                self.variable(reference, quoting, spot, command);
            }
            Ok(_) => self.parameter(quoting, spot, command),
            Err(error) => {
                let end = (start + error.length).min(self.end);
                let text = &self.source[start + 2..end.saturating_sub(1).max(start + 2)];
                if has_path(text) {
                    let problem = ShellProblem::Operator { text: text.to_owned() };
                    self.error(start, end - start, problem);
                }
                self.parameter(quoting, spot, command);
            }
        }
    }

    fn variable(
        &mut self,
        reference: Reference,
        quoting: Quoting,
        spot: Option<Spot>,
        command: &mut Command,
    ) {
        let (offset, length) = (reference.offset, reference.length);
        let spot = self.refused.clone().or(spot).or_else(|| command.spot());
        if let Some(spot) = spot {
            self.error(offset, length, spot.problem(reference.to_string()));
            return;
        }
        command.note(offset, length, reference.to_string());
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(reference.to_string()).or_insert(next);
        self.copy_to(offset);
        self.copied = offset + length;
        let text = match quoting {
            Quoting::Bare => format!("\"${{COVEN_V{number}}}\""),
            Quoting::Double => format!("${{COVEN_V{number}}}"),
        };
        self.found.text.push_str(&text);
        self.found.uses.push((reference, number));
    }

    /// `${NAME...}` that is the shell's own, up to its `}`; at the `$` when called.
    fn parameter(&mut self, quoting: Quoting, spot: Option<Spot>, command: &mut Command) {
        let opened = self.at;
        self.skip(2);
        if self.starts_with("#") || self.starts_with("!") {
            self.skip(1);
        }
        let start = self.at;
        let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        self.skip(end.unwrap_or(self.rest().len()));
        if let Ok(name) = Reference::parse(&self.source[start..self.at]) {
            let length = self.at - opened;
            self.found.own.push(Reference { offset: opened, length, ..name });
        }
        if self.starts_with("[") {
            let opened = self.at;
            self.skip(1);
            self.refusing(Spot::Arithmetic, |scanner| scanner.arithmetic(opened, "]"));
        }
        let operator = self.rest().strip_prefix(':').unwrap_or(self.rest());
        if operator.starts_with(['-', '=', '?', '+']) {
            self.parameter_word(opened, quoting, spot, command);
        } else if operator.len() < self.rest().len() {
            self.refusing(Spot::Arithmetic, |scanner| {
                scanner.parameter_word(opened, quoting, None, &mut Command::default());
            });
        } else {
            self.refusing(Spot::Pattern, |scanner| {
                scanner.parameter_word(opened, quoting, None, &mut Command::default());
            });
        }
    }

    fn parameter_word(
        &mut self,
        opened: usize,
        quoting: Quoting,
        spot: Option<Spot>,
        command: &mut Command,
    ) {
        if !self.enter() {
            self.leave();
            return;
        }
        while let Some(next) = self.peek() {
            match next {
                '}' => {
                    self.skip(1);
                    self.leave();
                    return;
                }
                '\\' => drop(self.skip_escape()),
                '\'' if quoting == Quoting::Bare => self.single_quotes(),
                '"' => self.double_quotes(command, spot.clone()),
                '`' => self.backticks(),
                '$' => self.dollar(quoting, spot.clone(), command),
                other => self.skip(other.len_utf8()),
            }
        }
        self.error(opened, 2, ShellProblem::Unclosed { what: "this `${`" });
        self.leave();
    }
}

/// Where `$'...'` ends.
fn ansi_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'\'' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Whether a variable is the workflow's: the shell's own are in ALL CAPS, or have no path and an
/// operator, which `-` is.
fn is_ours(reference: &Reference) -> bool {
    let capitals = !reference.name.contains(|c: char| c.is_ascii_lowercase());
    let keys = reference.path.iter().any(|segment| matches!(segment, crate::template::Segment::Key(_)));
    !reference.name.contains('-') && (keys || !capitals)
}

/// Whether it begins like a variable with a path, which no shell has.
fn has_path(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0);
    end > 0 && text[end..].starts_with('.')
}
