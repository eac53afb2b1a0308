//! Everything that begins with `$`.

use super::super::error::ShellProblem;
use super::super::rules::ForbiddenSpot;
use super::super::words::{SimpleCommand, names_in};
use super::{QuoteContext, ShellScanner};
use crate::template::{PathSegment, VariableReference, reference_at};

impl ShellScanner<'_> {
    /// Everything that begins with `$`.
    pub(super) fn dollar(
        &mut self,
        quoting: QuoteContext,
        spot: Option<ForbiddenSpot>,
        command: &mut SimpleCommand,
    ) {
        let start = self.at;
        if self.starts_with("$${") {
            // One dollar is ours and goes; the rest is the shell's own.
            self.copy_to(start);
            self.copied = start + 1;
            self.skip(1);
            self.parameter(quoting, spot.as_ref(), command);
        } else if self.starts_with("${") {
            self.braces(quoting, spot, command);
        } else if self.starts_with("$((") {
            self.skip(3);
            self.while_forbidden(ForbiddenSpot::Arithmetic, |scanner| {
                scanner.arithmetic(start, "))");
            });
        } else if self.starts_with("$(") {
            self.skip(2);
            let commands = |scanner: &mut Self| scanner.commands(Some(start + 1));
            match spot {
                // What a substitution prints inside `eval` is executed as well.
                Some(spot) => self.while_forbidden(spot, commands),
                None => commands(self),
            }
        } else if self.starts_with("$[") {
            self.skip(2);
            self.while_forbidden(ForbiddenSpot::Arithmetic, |scanner| {
                scanner.arithmetic(start, "]");
            });
        } else {
            self.skip(1);
            if quoting == QuoteContext::Bare && self.starts_with("'") {
                self.single_quotes();
            } else {
                // A lone `$`, or `$name`: the name is the shell's own. It is part of the word.
                let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let name = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
                self.note_risky(&name, spot.or_else(|| command.spot()));
                command.push('$');
            }
        }
    }

    /// Arithmetic up to its end. Everything in it is refused already.
    pub(super) fn arithmetic(&mut self, opened: usize, close: &str) {
        if !self.enter() {
            self.leave();
            return;
        }
        let mut open = 0_usize;
        let mut command = SimpleCommand::default();
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
                'a'..='z' | 'A'..='Z' | '_' => {
                    let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    let name = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
                    self.note_risky(&name, Some(ForbiddenSpot::Arithmetic));
                    self.skip(name.len());
                }
                other => self.skip(other.len_utf8()),
            }
        }
        self.error(opened, 1, ShellProblem::Unclosed { what: "this calculation" });
        self.leave();
    }

    /// `${...}`: a variable of ours, or the shell's own.
    pub(super) fn braces(
        &mut self,
        quoting: QuoteContext,
        spot: Option<ForbiddenSpot>,
        command: &mut SimpleCommand,
    ) {
        let start = self.at;
        let window = &self.source[..self.end];
        match reference_at(window, start) {
            Ok(reference) if is_workflow_variable(&reference) => {
                self.at = start + reference.length;
                self.variable(reference, quoting, spot, command);
            }
            Ok(_) => self.parameter(quoting, spot.as_ref(), command),
            Err(error) if error.offset != start => {
                let problem = ShellProblem::Function { why: error.problem.to_string() };
                self.error(error.offset, error.length, problem);
                self.parameter(quoting, spot.as_ref(), command);
                self.found.own.retain(|own| own.offset != start);
            }
            Err(error) => {
                let end = (start + error.length).min(self.end);
                let text = &self.source[start + 2..end.saturating_sub(1).max(start + 2)];
                if has_path(text) {
                    let problem = ShellProblem::Operator { text: text.to_owned() };
                    self.error(start, end - start, problem);
                    self.parameter(quoting, spot.as_ref(), command);
                    self.found.own.retain(|own| own.offset != start);
                } else {
                    self.parameter(quoting, spot.as_ref(), command);
                }
            }
        }
    }

    pub(super) fn variable(
        &mut self,
        reference: VariableReference,
        quoting: QuoteContext,
        spot: Option<ForbiddenSpot>,
        command: &mut SimpleCommand,
    ) {
        let (offset, length) = (reference.offset, reference.length);
        let spot = self.refused.clone().or(spot).or_else(|| command.spot());
        if let Some(spot) = spot {
            self.error(offset, length, spot.problem(reference.to_string()));
            return;
        }
        command.note(offset, length, reference.to_string());
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(reference.with_functions()).or_insert(next);
        self.copy_to(offset);
        self.copied = offset + length;
        let text = match quoting {
            QuoteContext::Bare => format!("\"${{COVEN_V{number}}}\""),
            QuoteContext::Double => format!("${{COVEN_V{number}}}"),
        };
        self.found.text.push_str(&text);
        self.found.uses.push((reference, number));
    }

    /// `${NAME...}` that is the shell's own, up to its `}`; at the `$` when called.
    pub(super) fn parameter(
        &mut self,
        quoting: QuoteContext,
        spot: Option<&ForbiddenSpot>,
        command: &mut SimpleCommand,
    ) {
        let opened = self.at;
        self.skip(2);
        if self.starts_with("#") || self.starts_with("!") {
            self.skip(1);
        }
        let start = self.at;
        let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        self.skip(end.unwrap_or(self.rest().len()));
        let name = self.source[start..self.at].to_owned();
        self.note_risky(&name, spot.cloned().or_else(|| command.spot()));
        if let Ok(name) = VariableReference::parse(&self.source[start..self.at]) {
            let length = self.at - opened;
            self.found.own.push(VariableReference { offset: opened, length, ..name });
        }
        if self.starts_with("[") {
            let opened = self.at;
            self.skip(1);
            self.while_forbidden(ForbiddenSpot::Arithmetic, |scanner| {
                scanner.arithmetic(opened, "]");
            });
        }
        let operator = self.rest().strip_prefix(':').unwrap_or(self.rest());
        if operator.starts_with(['-', '=', '?', '+']) {
            self.parameter_word(opened, quoting, spot, command);
        } else if operator.len() < self.rest().len() {
            let end = self.rest().find('}').unwrap_or(self.rest().len());
            for name in names_in(&self.rest()[..end]) {
                self.note_risky(&name, Some(ForbiddenSpot::Arithmetic));
            }
            self.while_forbidden(ForbiddenSpot::Arithmetic, |scanner| {
                scanner.parameter_word(opened, quoting, None, &mut SimpleCommand::default());
            });
        } else {
            self.while_forbidden(ForbiddenSpot::Pattern, |scanner| {
                scanner.parameter_word(opened, quoting, None, &mut SimpleCommand::default());
            });
        }
    }

    pub(super) fn parameter_word(
        &mut self,
        opened: usize,
        quoting: QuoteContext,
        spot: Option<&ForbiddenSpot>,
        command: &mut SimpleCommand,
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
                '\'' if quoting == QuoteContext::Bare => self.single_quotes(),
                '"' => self.double_quotes(command, spot),
                '`' => self.backticks(),
                '$' => self.dollar(quoting, spot.cloned(), command),
                other => self.skip(other.len_utf8()),
            }
        }
        self.error(opened, 2, ShellProblem::Unclosed { what: "this `${`" });
        self.leave();
    }
}

/// Whether a variable is the workflow's: the shell's own are in ALL CAPS, or have no path and an
/// operator, which `-` is.
pub(super) fn is_workflow_variable(reference: &VariableReference) -> bool {
    let capitals = !reference.name.contains(|c: char| c.is_ascii_lowercase());
    let keys = reference.path.iter().any(|segment| matches!(segment, PathSegment::Key(_)));
    !reference.name.contains('-') && (keys || !capitals)
}

/// Whether it begins like a variable with a path, which no shell has.
fn has_path(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0);
    end > 0 && text[end..].starts_with('.')
}
