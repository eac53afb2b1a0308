//! What there is to see before agreeing to a folder: the contents of its files and, after a change,
//! the difference.

use std::time::Duration;

use coven_api::system::{FileChange, FileChangeKind};
use similar::{Algorithm, TextDiff};

use crate::trust_inventory::{TrustFileContent, TrustInventory};

/// The largest text that is shown, of one file and of all.
const MAX_FILE_BYTES: usize = 1 << 20;
const MAX_SHOWN_BYTES: usize = 4 << 20;

/// How long one difference may be sought. After that a coarser one is shown.
const DIFF_TIMEOUT: Duration = Duration::from_secs(1);

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// What differs from what was agreed to before; everything is new where nothing was.
pub(crate) fn changes(before: Option<&TrustInventory>, now: &TrustInventory) -> Vec<FileChange> {
    let mut shown = 0;
    let old = |path| before.and_then(|before| before.files.get(path));
    let mut changes: Vec<FileChange> = now
        .files
        .iter()
        .map(|(path, file)| one(path.to_string_lossy().into_owned(), old(path), Some(file)))
        .collect();
    let removed = before.into_iter().flat_map(|before| &before.files);
    changes.extend(
        removed
            .filter(|(path, _)| !now.files.contains_key(*path))
            .map(|(path, file)| one(path.to_string_lossy().into_owned(), Some(file), None)),
    );
    for change in &mut changes {
        shown += change.text.as_ref().map_or(0, String::len);
        if shown > MAX_SHOWN_BYTES {
            change.text = None;
        }
    }
    changes
}

fn one(
    path: String,
    before: Option<&TrustFileContent>,
    now: Option<&TrustFileContent>,
) -> FileChange {
    let kind = match (before, now) {
        (None, _) => FileChangeKind::Added,
        (Some(_), None) => FileChangeKind::Removed,
        (Some(before), Some(now)) if before == now => FileChangeKind::Unchanged,
        (Some(_), Some(_)) => FileChangeKind::Changed,
    };
    let executable = now.or(before).is_some_and(|file| file.executable);
    let bytes = now.or(before).map_or(0, |file| file.content.len() as u64);
    let text = match (kind, text(before), text(now)) {
        (FileChangeKind::Unchanged | FileChangeKind::Removed, _, _) => None,
        (FileChangeKind::Changed, Some(before), Some(now)) => Some(difference(before, now)),
        (FileChangeKind::Added | FileChangeKind::Changed, _, now) => now.map(str::to_owned),
    };
    FileChange { path, kind, executable, bytes, text }
}

/// A file that can be shown.
fn text(file: Option<&TrustFileContent>) -> Option<&str> {
    let content = &file?.content;
    if content.len() > MAX_FILE_BYTES { None } else { str::from_utf8(content).ok() }
}

fn difference(before: &str, now: &str) -> String {
    let mut config = TextDiff::configure();
    let diff = config.algorithm(Algorithm::Myers).timeout(DIFF_TIMEOUT).diff_lines(before, now);
    diff.unified_diff().context_radius(CONTEXT_LINES).missing_newline_hint(false).to_string()
}
