//! How much the files of a tree take on the disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A block of `stat`, on every system.
const BLOCK_BYTES: u64 = 512;

/// The bytes that a folder takes, links not followed. What cannot be looked at is left out.
pub(crate) fn size_on_disk(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            // `metadata` of an entry follows no link.
            let Ok(found) = entry.metadata() else { continue };
            bytes += found.blocks() * BLOCK_BYTES;
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}
