//! The recordings of the real programs under `fixtures/recordings`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the project's fixtures lie.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The paths of all recordings, in order.
///
/// # Panics
///
/// Where the fixtures cannot be read: without them a test would show nothing.
#[expect(clippy::expect_used, reason = "a test without its fixtures must fail")]
pub fn all() -> Vec<PathBuf> {
    let entries = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).expect("the fixtures are part of the project");
        entries.map(|entry| entry.expect("the fixtures can be read").path()).collect()
    };
    let mut paths: Vec<PathBuf> = entries(&fixtures().join("recordings"))
        .iter()
        .filter(|path| path.is_dir())
        .flat_map(|path| entries(path))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cast"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are recordings");
    paths
}
