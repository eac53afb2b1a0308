//! Finds and reads the files that tidy looks at.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Folders that hold what was built, downloaded or recorded, not what was written here.
const SKIPPED_FOLDERS: [&str; 6] =
    ["target", "node_modules", "fixtures", "corpus", "artifacts", "dist"];

/// A Rust or markdown file of the workspace.
pub(crate) struct TreeFile {
    /// Path from the root of the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TreeFile {
    pub(crate) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }
}

/// Reads every Rust and markdown file below `root`, hidden and skipped folders left out.
///
/// It walks the disk rather than asking git, so that tidy also works on an exported tree.
pub(crate) fn read(root: &Path) -> Result<Vec<TreeFile>, Error> {
    let mut files = Vec::new();
    descend(root, "", &mut files)?;
    Ok(files)
}

fn descend(folder: &Path, prefix: &str, files: &mut Vec<TreeFile>) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Read { path, source }
    };
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (disk, path) = (entry.path(), format!("{prefix}{name}"));
        let kind = entry.file_type().map_err(failed(&disk))?;
        if kind.is_dir() && !is_skipped(&name) {
            descend(&disk, &format!("{path}/"), files)?;
        } else if kind.is_file() && (has_extension(&path, "rs") || has_extension(&path, "md")) {
            let text = fs::read_to_string(&disk).map_err(failed(&disk))?;
            files.push(TreeFile { path, text });
        }
    }
    Ok(())
}

fn is_skipped(folder: &str) -> bool {
    folder.starts_with('.') || SKIPPED_FOLDERS.contains(&folder)
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_this_file_and_nothing_that_was_built() {
        let files = read(&crate::cargo::root()).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains(&"xtask/src/tidy/tree.rs"), "{paths:?}");
        assert!(paths.contains(&"ARCHITECTURE.md"), "{paths:?}");
        assert!(!paths.iter().any(|path| path.split('/').any(is_skipped)), "{paths:?}");
    }

    #[test]
    fn built_and_hidden_folders_are_skipped_and_source_folders_are_not() {
        assert!(is_skipped("target") && is_skipped(".git") && is_skipped("fixtures"));
        assert!(!is_skipped("src") && !is_skipped("docs"));
    }
}
