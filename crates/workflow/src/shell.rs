//! Commands with variables in them, made safe for a shell.
//!
//! A value never becomes part of the command's text. It is handed over in the environment, and
//! the text gets a reference to it: `git diff ${input.base}` becomes `git diff "${COVEN_V1}"`,
//! and between double quotes only the name changes. What the value holds, quotes, newlines or
//! `$(rm -rf ~)`, is data to the shell.
//!
//! That is not true everywhere: in single quotes nothing is expanded, and in arithmetic, `eval`
//! and the like the shell executes what is in a variable. There, variables are refused. A name in
//! ALL CAPS and anything with a shell's operators (`${FILE:-x}`, `${#list}`) is the shell's own.

mod error;
mod executes;
mod rules;
mod scan;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use coven_model::FileVariable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope::VariableScope;
use crate::template::{UndefinedVariable, VariableReference, to_text};

pub use error::{ShellError, ShellProblem};
pub use executes::is_executed_variable;

/// The largest value that is handed over in the environment; a larger one is handed over in a file.
/// The system refuses 128 KiB.
pub const MAX_ENV_VALUE_BYTES: usize = 96 * 1024;
/// The most that all values of one command may take there together.
pub const MAX_ENV_TOTAL_BYTES: usize = 1024 * 1024;
/// The variable with the path of a JSON file that holds all variables. The caller writes the file.
pub const ALL_VARIABLES: &str = "COVEN_VARS";

/// A command with variables. Equal if its source is; on disk it is its source.
#[derive(Clone)]
pub struct ShellCommand {
    source: String,
    /// The text for the shell; nothing for a text that is handed over as it is.
    text: Option<String>,
    /// The variables and their numbers in the environment, from 1.
    uses: Vec<(VariableReference, usize)>,
    own: Vec<VariableReference>,
}

/// A command as the shell gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedCommand {
    /// The text of the command. No value is part of it.
    pub text: String,
    /// What to add to the environment.
    pub env: Vec<(String, String)>,
    /// What does not fit there, to be handed over in files.
    pub files: Vec<FileVariable>,
}

/// Why a command cannot be handed to a shell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Undefined(#[from] UndefinedVariable),
}

impl PrepareError {
    /// Where in the command the trouble is, in bytes.
    pub fn offset(&self) -> usize {
        match self {
            Self::Undefined(undefined) => undefined.offset,
        }
    }
}

impl ShellCommand {
    /// Reads a command; the first thing that is wrong with it is the error.
    pub fn parse(source: &str) -> Result<Self, ShellError> {
        let (command, mut errors) = Self::parse_all(source);
        if errors.is_empty() { Ok(command) } else { Err(errors.swap_remove(0)) }
    }

    /// Reads a command and tells everything that is wrong with it, in order.
    pub fn parse_all(source: &str) -> (Self, Vec<ShellError>) {
        let scanned = scan::scan(source);
        let (text, uses, own) = (Some(scanned.text), scanned.uses, scanned.own);
        (Self { source: source.to_owned(), text, uses, own }, scanned.errors)
    }

    /// A text for a program that is no shell: handed over as it is, with no variables in it.
    pub fn raw(source: &str) -> Self {
        Self { source: source.to_owned(), text: None, uses: Vec::new(), own: Vec::new() }
    }

    /// The command as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variables in it, in order, with their offsets in the source.
    pub fn references(&self) -> impl Iterator<Item = &VariableReference> {
        self.uses.iter().map(|(reference, _)| reference)
    }

    /// The names with operators that were left to the shell, with their offsets: `${name:-x}`.
    pub fn own(&self) -> impl Iterator<Item = &VariableReference> {
        self.own.iter()
    }

    /// The text for the shell and the environment it needs.
    pub fn prepare(&self, scope: &VariableScope) -> Result<PreparedCommand, PrepareError> {
        let (mut env, mut files) = (Vec::new(), Vec::new());
        let mut total = 0;
        for (reference, number) in &self.uses {
            // They are numbered in the order in which they first stand.
            if *number <= env.len() + files.len() {
                continue;
            }
            let value = to_text(&reference.changed(scope.resolve(reference)?));
            let variable = format!("COVEN_V{number}");
            let fits = value.len() <= MAX_ENV_VALUE_BYTES
                && total + value.len() <= MAX_ENV_TOTAL_BYTES
                && !value.contains('\0');
            if fits {
                total += value.len();
                env.push((variable, value));
            } else {
                let name = reference.to_string();
                files.push(FileVariable { variable, name, value });
            }
        }
        let text = self.text.as_ref().unwrap_or(&self.source).clone();
        Ok(PreparedCommand { text, env, files })
    }
}

/// Whether a program is a shell that our commands are written for.
pub fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "dash" | "zsh" | "ksh" | "mksh" | "ash")
}

impl PartialEq for ShellCommand {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.text.is_some() == other.text.is_some()
    }
}

impl Eq for ShellCommand {}

impl std::hash::Hash for ShellCommand {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.source.hash(state);
        self.text.is_some().hash(state);
    }
}

impl fmt::Display for ShellCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

impl fmt::Debug for ShellCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ShellCommand({:?})", self.source)
    }
}

impl std::str::FromStr for ShellCommand {
    type Err = ShellError;

    fn from_str(source: &str) -> Result<Self, ShellError> {
        Self::parse(source)
    }
}

/// How a command stands on disk: its source, or marked as raw.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredCommand {
    Command(String),
    Raw { raw: String },
}

impl Serialize for ShellCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = self.source.clone();
        match self.text {
            Some(_) => StoredCommand::Command(source).serialize(serializer),
            None => StoredCommand::Raw { raw: source }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ShellCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match StoredCommand::deserialize(deserializer)? {
            StoredCommand::Command(source) => {
                Self::parse(&source).map_err(serde::de::Error::custom)
            }
            StoredCommand::Raw { raw } => Ok(Self::raw(&raw)),
        }
    }
}
