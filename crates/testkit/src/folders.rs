//! Folders for tests. Where files are reached without following links, the way to a test's folder
//! must have none either.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that is removed with the value, by a path without links.
pub fn temporary() -> io::Result<TempDir> {
    tempfile::tempdir_in(std::fs::canonicalize(std::env::temp_dir())?)
}

/// Every file below a folder that has these bytes in it.
///
/// # Panics
///
/// If a folder cannot be listed: what was not looked at must not count as looked at.
pub fn files_with(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let listed = |error: io::Error| -> ! { panic!("{}: {error}", folder.display()) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| listed(error)) {
        let entry = entry.unwrap_or_else(|error| listed(error));
        let kind = entry.file_type().unwrap_or_else(|error| listed(error));
        let path = entry.path();
        if kind.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if kind.is_file() {
            let text = std::fs::read(&path).unwrap_or_default();
            if text.windows(bytes.len()).any(|part| part == bytes) {
                found.push(path);
            }
        }
    }
    found
}
