//! Folders for tests. Where files are reached without following links, the way to a test's folder
//! must have none either.

use std::io;

use tempfile::TempDir;

/// A folder that is removed with the value, by a path without links.
pub fn temporary() -> io::Result<TempDir> {
    tempfile::tempdir_in(std::fs::canonicalize(std::env::temp_dir())?)
}
