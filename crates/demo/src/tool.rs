//! Using the tools that take no time.

use std::fs;
use std::path::Path;

use crate::job::ToolOutcome;

/// Writes the text, and a new line at its end, into the file, whose folder is made if need be.
pub(crate) fn write(path: &Path, text: &str) -> ToolOutcome {
    let result = path.parent().map_or(Ok(()), fs::create_dir_all);
    let result = result.and_then(|()| fs::write(path, format!("{text}\n")));
    match result {
        Ok(()) => ToolOutcome::ok(format!("Wrote {}.", path.display())),
        Err(error) => ToolOutcome::failed(format!("cannot write {}: {error}", path.display())),
    }
}
