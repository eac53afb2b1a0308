//! The way through a parsed command.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, Pipeline, SeparatorOperator, SimpleCommand, Word,
};
use brush_parser::word::{Parameter, ParameterExpr, WordPiece, WordPieceWithSource};

use super::literal::literal;
use super::{CommandPart, MAX_NESTING, PartKind, UnreadCommand, letters, options, parsed};

/// Commands of the shell that run what their arguments say, or change what later words mean.
const RUNS_ARGUMENTS: [&str; 13] = [
    ".", "alias", "builtin", "command", "coproc", "enable", "eval", "exec", "export", "hash",
    "set", "source", "trap",
];

/// Shells, which run what follows `-c`.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

#[derive(Default)]
pub(super) struct CommandWalk {
    pub(super) parts: Vec<CommandPart>,
    /// How many letters and digits stand in the parts of the outermost program.
    pub(super) letters: usize,
    /// There are words that belong to no part, such as `if`.
    pub(super) compound: bool,
}

impl CommandWalk {
    pub(super) fn program(&mut self, text: &str, depth: usize) -> Result<(), UnreadCommand> {
        if depth > MAX_NESTING {
            return Err(UnreadCommand("it is nested too deeply"));
        }
        if has_comment(text) {
            return Err(UnreadCommand("there is a comment in it"));
        }
        for list in &parsed(text)?.complete_commands {
            self.list(list, depth)?;
        }
        Ok(())
    }

    pub(super) fn special(&mut self, text: impl Into<String>, why: &'static str) {
        let kind = PartKind::Special(why);
        self.parts.push(CommandPart { text: text.into(), plain: None, kind, only_exactly: true });
    }

    pub(super) fn list(&mut self, list: &CompoundList, depth: usize) -> Result<(), UnreadCommand> {
        if depth > MAX_NESTING {
            return Err(UnreadCommand("it is nested too deeply"));
        }
        for item in &list.0 {
            if matches!(item.1, SeparatorOperator::Async) {
                self.special("&", "it runs in the background");
            }
            self.pipeline(&item.0.first, depth)?;
            for more in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
                self.pipeline(pipeline, depth)?;
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, depth: usize) -> Result<(), UnreadCommand> {
        self.compound |= pipeline.timed.is_some();
        for command in &pipeline.seq {
            self.command(command, depth)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, depth: usize) -> Result<(), UnreadCommand> {
        match command {
            Command::Simple(simple) => self.simple(simple, depth),
            Command::Compound(compound, redirects) => {
                self.compound = true;
                self.compound(compound, depth + 1)?;
                self.redirects(redirects.as_ref(), depth)
            }
            Command::Function(function) => {
                self.compound = true;
                self.special(function.fname.value.clone(), "it defines a function");
                Ok(())
            }
            Command::ExtendedTest(..) => {
                self.compound = true;
                self.special("[[", "a test with [[ can run commands");
                Ok(())
            }
        }
    }

    fn compound(&mut self, command: &CompoundCommand, depth: usize) -> Result<(), UnreadCommand> {
        match command {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, depth),
            CompoundCommand::Subshell(group) => self.list(&group.list, depth),
            CompoundCommand::ForClause(clause) => {
                // As `PATH=…` before a command does, it can change what every command means.
                let text = format!("for {}", clause.variable_name);
                self.special(text, "a loop assigns a variable");
                for word in clause.values.iter().flatten() {
                    self.word(word, depth)?;
                }
                self.list(&clause.body.list, depth)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value, depth)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(pattern, depth)?;
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list, depth)?;
                    }
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, depth)?;
                self.list(&clause.then, depth)?;
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition, depth)?;
                    }
                    self.list(&other.body, depth)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, depth)?;
                self.list(&clause.1.list, depth)
            }
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                self.special("((", "arithmetic can run commands");
                Ok(())
            }
        }
    }

    /// A program with its arguments.
    fn simple(&mut self, simple: &SimpleCommand, depth: usize) -> Result<(), UnreadCommand> {
        let index = self.parts.len();
        let mut words: Vec<Word> = Vec::new();
        let before = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let after = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in before {
            if let CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) = item
                && is_read_differently(assignment)
            {
                self.special(word.value.clone(), "shells assign it in different ways");
            }
            self.item(item, &mut words, depth)?;
        }
        let assigned = words.len();
        if let Some(word) = &simple.word_or_name {
            self.word(word, depth)?;
            words.push(word.clone());
        }
        for item in after {
            self.item(item, &mut words, depth)?;
        }
        if words.is_empty() {
            return Ok(());
        }
        let joined = |words: &[String]| words.join(" ");
        let written: Vec<String> = words.iter().map(|word| word.value.clone()).collect();
        let plain: Vec<String> =
            words.iter().map(|word| literal(word).unwrap_or_else(|| word.value.clone())).collect();
        let text = joined(&written);
        if depth == 0 || self.compound {
            self.letters += letters(&text);
        }
        let substitutes = self.parts.len() > index;
        // The parser has split at every operator; one that is left was taken for something else.
        let (kind, only_exactly) = if !substitutes && has_operator(&text) {
            (PartKind::Special("it cannot be taken apart with certainty"), true)
        } else {
            (PartKind::Command, runs_arguments(&plain[assigned..]))
        };
        let plain = Some(joined(&plain)).filter(|plain| *plain != text);
        self.parts.insert(index, CommandPart { text, plain, kind, only_exactly });
        Ok(())
    }

    fn item(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        words: &mut Vec<Word>,
        depth: usize,
    ) -> Result<(), UnreadCommand> {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, depth),
            CommandPrefixOrSuffixItem::Word(word) => {
                words.push(word.clone());
                self.word(word, depth)
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                words.push(word.clone());
                match &assignment.value {
                    AssignmentValue::Scalar(value) => {
                        self.word(value, depth)?;
                        self.word(word, depth)
                    }
                    AssignmentValue::Array(_) => {
                        self.special(word.value.clone(), "it assigns a list");
                        Ok(())
                    }
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                words.push(Word::new("<(…)"));
                self.compound = true;
                self.special("<(…)", "it substitutes a process");
                self.list(&inner.list, depth + 1)
            }
        }
    }

    /// What a word runs when it is expanded.
    pub(super) fn word(&mut self, word: &Word, depth: usize) -> Result<(), UnreadCommand> {
        // An older way to write arithmetic, which the parser does not know.
        if word.value.contains("$[") {
            self.special(word.value.clone(), "arithmetic can run commands");
        }
        let pieces = brush_parser::word::parse(&word.value, &options())
            .map_err(|_| UnreadCommand("a word of it cannot be parsed"))?;
        self.pieces(&word.value, &pieces, depth)
    }

    fn pieces(
        &mut self,
        word: &str,
        pieces: &[WordPieceWithSource],
        depth: usize,
    ) -> Result<(), UnreadCommand> {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) => {
                    if text.contains('`') || text.contains("$(") || text.contains("${") {
                        self.special(word, "a word of it cannot be parsed with certainty");
                    }
                }
                WordPiece::SingleQuotedText(_)
                | WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildePrefix(_)
                | WordPiece::EscapeSequence(_)
                | WordPiece::ParameterExpansion(ParameterExpr::Parameter {
                    parameter:
                        Parameter::Named(_) | Parameter::Positional(_) | Parameter::Special(_),
                    indirect: false,
                }) => {}
                WordPiece::DoubleQuotedSequence(inner)
                | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(word, inner, depth)?;
                }
                WordPiece::CommandSubstitution(text) => {
                    self.compound = true;
                    let before = self.parts.len();
                    self.program(text, depth + 1)?;
                    if self.parts.len() == before {
                        self.special(word, "it substitutes a command");
                    }
                }
                WordPiece::BackquotedCommandSubstitution(_) => {
                    self.special(word, "it substitutes a command in backquotes");
                }
                WordPiece::ParameterExpansion(_) => {
                    self.special(word, "it expands more than a plain variable");
                }
                WordPiece::ArithmeticExpression(_) => {
                    self.special(word, "arithmetic can run commands");
                }
            }
        }
        Ok(())
    }
}

/// Whether an assignment is to an item of a list, whose subscript is run, or whose value zsh takes
/// for the path of a program.
fn is_read_differently(assignment: &Assignment) -> bool {
    let AssignmentName::VariableName(_) = assignment.name else { return true };
    matches!(&assignment.value, AssignmentValue::Scalar(value)
        if value.value.starts_with('=') || value.value.contains(":="))
}

/// Whether a command runs its arguments, so that a pattern for them could allow anything.
fn runs_arguments(words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    let name = program.rsplit('/').next().unwrap_or(program);
    let commands = |word: &String| word.starts_with(['-', '+']) && word.contains('c');
    RUNS_ARGUMENTS.contains(&name) || (SHELLS.contains(&name) && words.iter().any(commands))
}

/// Characters outside of quotes, with the one before each.
fn unquoted(text: &str) -> impl Iterator<Item = (char, char)> {
    let (mut before, mut quote, mut escaped) = (' ', None::<char>, false);
    text.chars().filter_map(move |c| {
        let previous = std::mem::replace(&mut before, c);
        if std::mem::take(&mut escaped) {
            return None;
        }
        match (quote, c) {
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) => return Some((previous, c)),
            _ => {}
        }
        None
    })
}

fn has_operator(text: &str) -> bool {
    unquoted(text).any(|(_, c)| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '<' | '>' | '`'))
}

/// Whether a word begins with `#`. What stands behind it does not run, so it only misleads.
fn has_comment(text: &str) -> bool {
    unquoted(text).any(|(before, c)| {
        c == '#' && matches!(before, ' ' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>')
    })
}
