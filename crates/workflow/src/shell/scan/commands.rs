//! Commands, word by word.

use super::super::error::ShellProblem;
use super::super::rules::ForbiddenSpot;
use super::super::words::SimpleCommand;
use super::QuoteContext;
use super::ShellScanner;

/// The commands that are joined by pipes, as far as they were read.
#[derive(Clone, Copy)]
struct Pipeline {
    /// Where the first of them begins.
    start: usize,
    /// Where the one that is being read begins.
    command: usize,
    /// Whether that reads what the others print.
    piped: bool,
}

impl Pipeline {
    fn at(start: usize) -> Self {
        Self { start, command: start, piped: false }
    }
}

impl ShellScanner<'_> {
    /// Commands up to a closing parenthesis, or to the end. `opened` is the parenthesis.
    pub(super) fn commands(&mut self, opened: Option<usize>) {
        self.commands_from(opened, SimpleCommand::default);
    }

    /// The same, where each command begins as given.
    pub(super) fn commands_from(&mut self, opened: Option<usize>, fresh: fn() -> SimpleCommand) {
        if !self.enter() {
            self.leave();
            return;
        }
        let mut command = self.begun(fresh());
        let mut pipeline = Pipeline { start: self.at, command: self.at, piped: false };
        let mut cases = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' => {
                    self.end_word(&mut command, &mut cases);
                    self.skip(1);
                }
                '\n' => {
                    self.end_word(&mut command, &mut cases);
                    self.end_command(&command, &pipeline);
                    self.skip(1);
                    self.heredoc_bodies();
                    command = self.begun(fresh());
                    // A pipe at the end of a line goes on in the next.
                    let goes_on =
                        pipeline.piped && self.source[pipeline.command..self.at].trim().is_empty();
                    pipeline = if goes_on { pipeline } else { Pipeline::at(self.at) };
                }
                '#' if !command.in_word() => self.comment(),
                '\\' => match self.skip_escape() {
                    Some('\n') | None => {}
                    Some(escaped) => command.push(escaped),
                },
                '\'' | '"' | '`' | '$' => self.expansion(next, &mut command),
                ';' | '|' | '&' if !self.starts_with("&>") => {
                    self.end_word(&mut command, &mut cases);
                    self.end_command(&command, &pipeline);
                    let is_compound = command.is_compound_end();
                    command = self.begun(command.next());
                    let pipes = next == '|' && !self.starts_with("||");
                    self.skip(if self.starts_with("||") || self.starts_with("|&") { 2 } else { 1 });
                    pipeline = match pipes {
                        // What a block prints may come from anywhere before.
                        true if is_compound => {
                            Pipeline { start: opened.unwrap_or(0), command: self.at, piped: true }
                        }
                        true => Pipeline { command: self.at, piped: true, ..pipeline },
                        false => Pipeline::at(self.at),
                    };
                }
                '(' | ')' if command.in_test() => {
                    self.end_word(&mut command, &mut cases);
                    self.skip(1);
                }
                '(' => self.parenthesis(&mut command, &mut cases),
                ')' => {
                    self.end_word(&mut command, &mut cases);
                    self.end_command(&command, &pipeline);
                    self.skip(1);
                    if cases == 0 && opened.is_some() {
                        self.leave();
                        return;
                    }
                    command = self.begun(fresh());
                    pipeline = Pipeline::at(self.at);
                }
                '<' | '>' | '&' => self.redirection(next, &mut command, &mut cases),
                other => {
                    command.push(other);
                    self.skip(other.len_utf8());
                }
            }
        }
        self.end_word(&mut command, &mut cases);
        self.end_command(&command, &pipeline);
        if let Some(opened) = opened {
            self.error(opened, 1, ShellProblem::Unclosed { what: "this parenthesis" });
        }
        self.leave();
    }

    /// A command that begins here.
    fn begun(&self, mut command: SimpleCommand) -> SimpleCommand {
        command.uses_before = self.found.uses.len();
        command
    }

    /// Looks at a whole command: what it reads from a pipe may be executed.
    fn end_command(&mut self, command: &SimpleCommand, pipeline: &Pipeline) {
        if !pipeline.piped {
            return;
        }
        let is_piped = |offset: usize| (pipeline.start..pipeline.command).contains(&offset);
        let piped = self.found.uses.iter().filter(|(one, _)| is_piped(one.offset));
        let piped: Vec<(usize, usize, String)> =
            piped.map(|(one, _)| (one.offset, one.length, one.to_string())).collect();
        for receiver in command.readers() {
            self.received.entry(receiver).or_default().extend(piped.iter().cloned());
        }
        if let Some(spot) = command.input_spot() {
            for (offset, length, name) in piped {
                self.error(offset, length, spot.clone().problem(name));
            }
        }
    }

    pub(super) fn end_word(&mut self, command: &mut SimpleCommand, cases: &mut usize) {
        let since = command.uses_before;
        let readers = if command.is_target() { command.readers() } else { Vec::new() };
        let ended = command.end_word();
        command.uses_before = self.found.uses.len();
        self.receive(readers, since);
        self.receive(ended.receivers, since);
        for name in ended.calculated_names {
            self.note_risky(&name, Some(ForbiddenSpot::Arithmetic));
        }
        for ((offset, length, name), by) in ended.executed {
            self.error(offset, length, ShellProblem::Executed { name, by });
        }
        if ended.opens_case {
            *cases += 1;
        } else if ended.closes_case {
            *cases = cases.saturating_sub(1);
        }
        for (offset, length, name) in ended.calculated {
            self.error(offset, length, ShellProblem::Arithmetic { name });
        }
    }

    pub(super) fn comment(&mut self) {
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        self.skip(end);
    }

    /// Quotes and `$` in a command.
    pub(super) fn expansion(&mut self, next: char, command: &mut SimpleCommand) {
        command.begin();
        let start = self.at;
        match next {
            '\'' => self.single_quotes(),
            '"' => {
                let spot = command.spot();
                self.double_quotes(command, spot.as_ref());
                return;
            }
            '`' => self.backticks(),
            _ => {
                let spot = command.spot();
                self.dollar(QuoteContext::Bare, spot, command);
                return;
            }
        }
        // What single quotes hold is text of the word: `'eval' "${x}"`.
        let quoted = self.source[start..self.at].trim_matches('\'').to_owned();
        quoted.chars().for_each(|c| command.push(c));
    }

    pub(super) fn parenthesis(&mut self, command: &mut SimpleCommand, cases: &mut usize) {
        if self.starts_with("((") && command.may_calculate() {
            let opened = self.at;
            self.skip(2);
            self.while_forbidden(ForbiddenSpot::Arithmetic, |scanner| {
                scanner.arithmetic(opened, "))");
            });
            return;
        }
        let in_word = command.in_word();
        let opened = self.at;
        self.skip(1);
        if self.starts_with(")") && in_word {
            // `name()`: what follows is a new command.
            self.skip(1);
            self.end_word(command, cases);
            *command = self.begun(SimpleCommand::default());
            return;
        }
        let fresh = match (command.assigns(), command.calculates()) {
            (true, true) => SimpleCommand::number_list,
            (true, false) => SimpleCommand::list,
            _ => SimpleCommand::default,
        };
        self.commands_from(Some(opened), fresh);
    }

    pub(super) fn redirection(
        &mut self,
        next: char,
        command: &mut SimpleCommand,
        cases: &mut usize,
    ) {
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
}
