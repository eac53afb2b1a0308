//! Takes a shell command apart into what it runs and which files it redirects, for rules that
//! allow commands.
//!
//! What this cannot take apart with certainty is a part that no pattern can allow; only a rule that
//! spells out the whole command can. So a mistake of the parser asks a person and allows nothing.

mod walk;

use std::fmt;

use brush_parser::{Parser, ParserOptions, SourceInfo};

use walk::CommandWalk;

/// The longest command that is taken apart, in bytes.
const MAX_COMMAND_BYTES: usize = 4096;

/// How deeply commands may be nested in each other.
const MAX_NESTING: usize = 16;

/// How many words may open something, which bounds the recursion of the parser.
const MAX_OPENINGS: usize = 48;

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

/// Refuses what looks different from what it is, and what the parser should not be given.
fn readable(command: &str) -> Result<(), UnreadCommand> {
    // The parser takes memory without end for a here-document within a substitution.
    if command.contains("<<") && command.contains(['$', '`', '(', '{', '[', '!']) {
        return Err(UnreadCommand("it has a here-document beside a substitution"));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(UnreadCommand("it is too long"));
    }
    let invisible = |c: char| {
        (c.is_control() && c != '\n')
            || (c.is_whitespace() && !matches!(c, ' ' | '\n'))
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
    };
    if command.chars().any(invisible) {
        return Err(UnreadCommand("it has characters in it that are not to be seen"));
    }
    // A screen does not show whether a space stands behind the backslash.
    if command.contains("\\\n") || command.ends_with('\\') {
        return Err(UnreadCommand("a line of it ends with a backslash"));
    }
    let words = command.split(|c: char| !c.is_alphanumeric());
    let openings = words.filter(|word| OPENINGS.contains(word)).count();
    let signs = command.chars().filter(|c| matches!(c, '(' | '{' | '!' | '[')).count();
    if openings + signs > MAX_OPENINGS {
        return Err(UnreadCommand("it is nested too deeply"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
