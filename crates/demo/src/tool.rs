//! Using the tools that take no time.

use std::fs;
use std::path::Path;

use crate::job::Outcome;

/// Writes the text, and a new line at its end, into the file, whose folder is made if need be.
pub(crate) fn write(path: &Path, text: &str) -> Outcome {
    let result = path.parent().map_or(Ok(()), fs::create_dir_all);
    let result = result.and_then(|()| fs::write(path, format!("{text}\n")));
    match result {
        Ok(()) => Outcome::ok(format!("Wrote {}.", path.display())),
        Err(error) => Outcome::failed(format!("cannot write {}: {error}", path.display())),
    }
}
