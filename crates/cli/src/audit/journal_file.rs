//! The file of a journal, beside what its lines say: seals cover whole lines and nothing else.

use std::os::unix::fs::MetadataExt;

use coven_store::journal::JournalReader;

/// The bits of a mode that let others than the owner read or write a file.
const OTHERS: u32 = 0o077;

/// What is on the disk of a journal that was read to its end.
pub(super) struct JournalFile {
    mode: u32,
    owner: u32,
    /// How many bytes lie behind its last line.
    trailing: u64,
}

impl JournalFile {
    /// The file behind a reader that has come to its end.
    pub(super) fn of(reader: &JournalReader) -> Option<Self> {
        let about = reader.metadata().ok().flatten()?;
        let trailing = reader.trailing().ok()?;
        Some(Self { mode: about.mode() & 0o7777, owner: about.uid(), trailing })
    }

    /// What is wrong with it. A foreign one may be anybody's, and one that is written to may end in
    /// half a line.
    pub(super) fn problems(&self, is_own: bool, is_over: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let user = rustix::process::geteuid().as_raw();
        if is_own && self.owner != user {
            problems.push(format!("its journal belongs to user {}, not to you", self.owner));
        }
        if is_own && self.mode & OTHERS != 0 {
            let mode = self.mode;
            problems.push(format!("other users can read or write its journal (mode {mode:o})"));
        }
        if is_over && self.trailing > 0 {
            let bytes = self.trailing;
            problems.push(format!("{bytes} bytes lie behind the last fact of its journal"));
        }
        problems
    }
}
