//! Turns checked definitions into plans.
//!
//! Nothing is decided here that a definition leaves open to the run; defaults are filled in, so
//! that a plan says everything by itself.

mod agent;
mod grimoire;
mod settle;
mod stages;

use coven_model::id::InvalidId;
use coven_model::{ConfineMode, ExitCodes, SandboxMode, TerminalSize};
use serde_json::Value;

use crate::condition::ConditionError;
use crate::definition::grimoire::{SandboxChoice, StepDefaults, StepDefinition};
use crate::expect::{BadSchema, ExpectedOutput, OutputSchema};
use crate::shell::{ShellCommand, ShellError, is_shell};
use crate::template::TemplateError;

pub(crate) use grimoire::grimoire;
pub(crate) use settle::adapter_names;
pub use settle::settle;
pub(crate) use stages::stages;

/// A definition that passed the checks and cannot be compiled all the same: a hole in the checks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// A text with variables.
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error(transparent)]
    Id(#[from] InvalidId),
    #[error(transparent)]
    Schema(#[from] BadSchema),
    /// A key that is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A value of the wrong kind.
    #[error("`{0}` has a value it cannot have")]
    Value(&'static str),
}

/// How far a job is confined: as its sandbox says, and where it names none but wants its files
/// confined, as by `workspace`.
fn sandbox(step: &StepDefinition, defaults: &StepDefaults) -> SandboxMode {
    let named = step.sandbox.or(defaults.sandbox).map_or(SandboxMode::Off, SandboxChoice::mode);
    let confine = step.confine.or(defaults.confine);
    if named == SandboxMode::Off && confine == Some(ConfineMode::Files) {
        return SandboxMode::Workspace;
    }
    named
}

fn expect(written: Value) -> Result<ExpectedOutput, CompileError> {
    match written {
        Value::Null => Ok(ExpectedOutput::Text),
        Value::String(word) if word == "text" => Ok(ExpectedOutput::Text),
        Value::String(word) if word == "any" => Ok(ExpectedOutput::Any),
        Value::String(word) if word == "json" => Ok(ExpectedOutput::Json),
        Value::String(word) if word == "comments" => Ok(ExpectedOutput::Comments),
        Value::Object(_) => Ok(ExpectedOutput::Schema(OutputSchema::new(written)?)),
        _ => Err(CompileError::Value("expect")),
    }
}

fn exit_codes(written: Value) -> Result<ExitCodes, CompileError> {
    if written.is_null() {
        return Ok(ExitCodes::default());
    }
    serde_json::from_value(written).map_err(|_| CompileError::Value("ok_exit_codes"))
}

fn size(written: Option<&String>) -> Result<Option<TerminalSize>, CompileError> {
    let size = written.map(|text| text.parse()).transpose();
    size.map_err(|_| CompileError::Value("size"))
}

/// The program and the arguments before the command.
fn shell(written: &Value) -> Result<Option<Vec<String>>, CompileError> {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    match written {
        Value::Null => Ok(None),
        Value::String(program) => {
            let name = program.rsplit('/').next().unwrap_or(program);
            Ok(match name {
                "bash" | "zsh" | "ksh" | "mksh" => words(&[program, "-eu", "-o", "pipefail", "-c"]),
                _ => words(&[program, "-eu", "-c"]),
            })
        }
        list => serde_json::from_value(list.clone()).map_err(|_| CompileError::Value("shell")),
    }
}

/// A command for a shell; for anything else it stays as it is.
fn command(text: &str, shell: Option<&[String]>) -> Result<ShellCommand, CompileError> {
    match shell.and_then(<[String]>::first) {
        Some(program) if !is_shell(program) => Ok(ShellCommand::raw(text)),
        _ => Ok(ShellCommand::parse(text)?),
    }
}
