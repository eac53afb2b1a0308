//! The files of a folder, as a map.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All plain files below a folder with their contents, by their path within it.
pub fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file()
                && let (Ok(content), Ok(within)) = (fs::read(&path), path.strip_prefix(folder))
            {
                found.insert(within.to_owned(), content);
            }
        }
    }
    found
}
