//! The tools: how a transcript names them, and using those that take no time.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::job::ToolOutcome;
use crate::script::ToolUse;

/// Writes the text, and a new line at its end, into the file, whose folder is made if need be.
pub(crate) fn write(path: &Path, text: &str) -> ToolOutcome {
    let result = path.parent().map_or(Ok(()), fs::create_dir_all);
    let result = result.and_then(|()| fs::write(path, format!("{text}\n")));
    match result {
        Ok(()) => ToolOutcome::ok(format!("Wrote {}.", path.display())),
        Err(error) => ToolOutcome::failed(format!("cannot write {}: {error}", path.display())),
    }
}

/// A tool and what it is to work with, as a transcript names them.
#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    pub(crate) name: &'static str,
    pub(crate) input: Value,
}

impl ToolCall {
    pub(crate) fn of(tool: &ToolUse) -> Self {
        match tool {
            ToolUse::Command(command) => {
                Self { name: "Bash", input: json!({ "command": command }) }
            }
            ToolUse::Write { path, text } => {
                Self { name: "Write", input: json!({ "file_path": path, "content": text }) }
            }
        }
    }

    pub(crate) fn question(question: &str, options: &[String]) -> Self {
        let input = json!({ "question": question, "options": options });
        Self { name: "AskUserQuestion", input }
    }
}
