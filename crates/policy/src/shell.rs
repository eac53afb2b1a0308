//! Takes a shell command apart into what it runs and which files it redirects, for rules that
//! allow commands.
//!
//! What this cannot take apart with certainty is a part that no pattern can allow; only a rule that
//! spells out the whole command can. So a mistake of the parser asks a person and allows nothing.

mod dialects;
mod literal;
mod redirect;
mod walk;

use std::fmt;

use brush_parser::{Parser, ParserOptions, SourceInfo};

use dialects::Difference;
use walk::CommandWalk;

/// The longest command that is taken apart, in bytes.
const MAX_COMMAND_BYTES: usize = 4096;

/// How deeply commands may be nested in each other.
const MAX_NESTING: usize = 16;

/// How many words may open something, which bounds the recursion of the parser.
const MAX_OPENINGS: usize = 24;

/// How many pairs of opening parentheses there may be. The parser takes twice the time for each
/// more: hours for forty.
const MAX_DOUBLE_PARENTHESES: usize = 2;

/// How many expansions there may be that are more than `${NAME}`. The time of the parser multiplies
/// with each that stands in another.
const MAX_EXPANSIONS: usize = 2;

/// How often `case` may stand there. The parser takes twice the time for each that stands in another.
const MAX_CASES: usize = 4;

/// The words and signs with which the parser begins to recurse.
const OPENINGS: [&str; 11] =
    ["if", "elif", "while", "until", "for", "case", "select", "function", "coproc", "time", "do"];

/// What a part of a command is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// A program with its arguments, and assignments before it.
    Command,
    /// A file that is read or written by the shell itself.
    Redirect,
    /// Something that no pattern may allow, and why.
    Special(&'static str),
}

/// A part of a command: all of them must be allowed for the command to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandPart {
    /// The words as they were written, with one space between them.
    pub text: String,
    /// What the shell makes of it, where that is another text: without quotes, and a path without
    /// detours. What is forbidden is looked for in both.
    pub plain: Option<String>,
    pub kind: PartKind,
    /// A pattern must not allow it, only a rule that spells it out: the text runs another command
    /// or names a file that cannot be told from the text alone.
    pub only_exactly: bool,
}

/// Why a command was not taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadCommand(pub &'static str);

impl fmt::Display for UnreadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The parts of a command, in the order in which they stand there.
pub fn parts(command: &str) -> Result<Vec<CommandPart>, UnreadCommand> {
    readable(command)?;
    let mut walk = CommandWalk::default();
    walk.program(command, 0)?;
    if walk.parts.is_empty() {
        return Err(UnreadCommand("there is no command in it"));
    }
    // Whatever the parser dropped would run unseen.
    if !walk.compound && letters(command) != walk.letters {
        return Err(UnreadCommand("a part of it was lost while it was taken apart"));
    }
    let is_special = |part: &CommandPart| matches!(part.kind, PartKind::Special(_));
    if !walk.parts.iter().any(is_special)
        && let Some(Difference { text, why }) = dialects::difference(command)
    {
        walk.special(text, why);
    }
    Ok(walk.parts)
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

fn options() -> ParserOptions {
    ParserOptions::default()
}

fn parsed(text: &str) -> Result<brush_parser::ast::Program, UnreadCommand> {
    Parser::new(text.as_bytes(), &options(), &SourceInfo::default())
        .parse_program()
        .map_err(|_| UnreadCommand("it is not a command that can be parsed"))
}

/// Whether `<<` stands anywhere, which is not the `<<<` of a here-string. The parser takes memory
/// without end for here-documents in a substitution, without a delimiter, and behind each other.
fn has_here_document(command: &str) -> bool {
    let others = |c: char| c != '<';
    command.split(others).any(|signs| signs.len() > 1 && signs.len() != "<<<".len())
}

/// Whether what follows `${` is a name and nothing else.
fn is_plain_variable(rest: &str) -> bool {
    let name = rest.split('}').next().unwrap_or_default();
    name.len() < rest.len()
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Refuses what looks different from what it is, and what the parser should not be given.
fn readable(command: &str) -> Result<(), UnreadCommand> {
    if has_here_document(command) {
        return Err(UnreadCommand("it has a here-document"));
    }
    // The parser tries each of these as arithmetic and as two subshells, with all that it contains.
    let pairs = command.as_bytes().windows(2).filter(|pair| pair == b"((").count();
    if pairs > MAX_DOUBLE_PARENTHESES {
        return Err(UnreadCommand("it has too many double parentheses"));
    }
    let expansions = command.split("${").skip(1).filter(|rest| !is_plain_variable(rest)).count();
    if expansions > MAX_EXPANSIONS {
        return Err(UnreadCommand("it expands too many variables in other than the plain way"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(UnreadCommand("it is too long"));
    }
    let invisible = |c: char| {
        (c.is_control() && c != '\n')
            || (c.is_whitespace() && !matches!(c, ' ' | '\n'))
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffd}' | '\u{e0000}'..='\u{e01ef}')
    };
    if command.chars().any(invisible) {
        return Err(UnreadCommand("it has characters in it that are not to be seen"));
    }
    // A screen does not show whether a space stands behind the backslash.
    if command.contains("\\\n") || command.ends_with('\\') {
        return Err(UnreadCommand("a line of it ends with a backslash"));
    }
    let words = || command.split(|c: char| !c.is_alphanumeric());
    if words().filter(|word| *word == "case").count() > MAX_CASES {
        return Err(UnreadCommand("it distinguishes too many cases"));
    }
    let openings = words().filter(|word| OPENINGS.contains(word)).count();
    let signs = command.chars().filter(|c| matches!(c, '(' | '{' | '!' | '[')).count();
    if openings + signs > MAX_OPENINGS {
        return Err(UnreadCommand("it is nested too deeply"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
