//! Files of a project as its user agreed to them, in memory.
//!
//! Whoever agreed has seen exactly these contents. What is on the disk of the project may have been
//! changed since, by a job that may edit it, and is not read again.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Files of a project as its user agreed to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedFiles {
    base_dir: PathBuf,
    copy: PathBuf,
    /// By the path within the project. What is only run has no content here.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl TrustedFiles {
    /// The files of the project `base_dir`, by their path within it. `copy` is a folder with the
    /// same files in which nothing changes them.
    pub fn new(
        base_dir: impl Into<PathBuf>,
        copy: impl Into<PathBuf>,
        files: BTreeMap<PathBuf, Vec<u8>>,
    ) -> Self {
        Self { base_dir: base_dir.into(), copy: copy.into(), files }
    }

    /// The folder with the copies.
    pub fn copy(&self) -> &Path {
        &self.copy
    }

    /// The files below a folder of the project, which is given as a path on the disk: each with
    /// its path on the disk and its content.
    pub fn below<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = (PathBuf, &'a [u8])> + use<'a> {
        let within = folder.strip_prefix(&self.base_dir).ok();
        let below = move |(path, _): &(&PathBuf, &Vec<u8>)| {
            within.is_some_and(|folder| path.starts_with(folder) && path.as_path() != folder)
        };
        let files = self.files.iter().filter(below);
        files.map(|(path, content)| (self.base_dir.join(path), content.as_slice()))
    }

    /// The content of one file, which is given as a path on the disk.
    pub fn content(&self, path: &Path) -> Option<&[u8]> {
        let within = path.strip_prefix(&self.base_dir).ok()?;
        self.files.get(within).map(Vec::as_slice)
    }

    /// The text with the path of a trusted file in it replaced by that of its copy, if the text
    /// names one as [`named_paths`] reads it.
    pub fn naming_copy(&self, text: &str) -> Option<String> {
        let (before, within) = named_paths(&self.base_dir, text)
            .into_iter()
            .find(|(_, within)| self.files.contains_key(within))?;
        let copy = self.copy.join(&within);
        Some(format!("{before}{}", copy.to_str()?))
    }
}

/// The files of a project that an argument or a variable may name, each with what stands before its
/// path: `tools/run.sh`, `run.sh`, `--config=tools/a.toml`, `-ftools/a.awk`, `@tools/arguments`.
/// The first of them that is covered by trust is the one that counts. A name without a slash counts
/// if it has an ending, because without one it is rather a word such as `run`.
pub fn named_paths<'a>(base_dir: &Path, text: &'a str) -> Vec<(&'a str, PathBuf)> {
    let mut starts = Vec::new();
    if text.starts_with('-') {
        let letter = text.as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric);
        starts.extend(letter.then_some(2));
        starts.extend(text.find('=').map(|at| at + 1));
    } else if text.starts_with('@') {
        starts.push(1);
    }
    starts.push(0);
    let paths = starts.into_iter().map(|start| text.split_at(start));
    paths.filter_map(|(before, path)| Some((before, named_path(base_dir, path)?))).collect()
}

fn named_path(base_dir: &Path, text: &str) -> Option<PathBuf> {
    if text.contains('/') {
        return path_within(base_dir, text);
    }
    let is_name = !text.starts_with(['-', '.']) && text.contains('.');
    is_name.then(|| PathBuf::from(text))
}

/// The path within a project that a text names, if it is a path that does not leave the project.
/// A text without a slash is the name of a program, not a path.
pub fn path_within(base_dir: &Path, text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    let path = match path.strip_prefix(base_dir) {
        Ok(within) => within,
        Err(_) if path.is_absolute() || !text.contains('/') => return None,
        Err(_) => path,
    };
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!clean.as_os_str().is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_names_a_trusted_file_names_its_copy() {
        let files = ["tools/run.sh", "main.py", "run"].map(|name| (PathBuf::from(name), vec![]));
        let trusted = TrustedFiles::new("/project", "/copy", files.into());
        let naming = |text| trusted.naming_copy(text);
        assert_eq!(naming("tools/run.sh").as_deref(), Some("/copy/tools/run.sh"));
        assert_eq!(naming("/project/tools/run.sh").as_deref(), Some("/copy/tools/run.sh"));
        assert_eq!(naming("main.py").as_deref(), Some("/copy/main.py"));
        assert_eq!(naming("--rc=./tools/run.sh").as_deref(), Some("--rc=/copy/tools/run.sh"));
        assert_eq!(naming("@tools/run.sh").as_deref(), Some("@/copy/tools/run.sh"));
        assert_eq!(naming("-f./tools/run.sh").as_deref(), Some("-f/copy/tools/run.sh"));
        assert_eq!(naming("-ftools/run.sh").as_deref(), Some("-f/copy/tools/run.sh"));
        assert_eq!(naming("-fmain.py").as_deref(), Some("-f/copy/main.py"));
        assert_eq!(naming("-Dkey=tools/run.sh").as_deref(), Some("-Dkey=/copy/tools/run.sh"));
        for other in ["run", "tools/other.sh", ". tools/run.sh", "-main.py", "a=main.py"] {
            assert_eq!(naming(other), None, "{other}");
        }
    }

    #[test]
    fn a_path_counts_only_within_the_project() {
        let base = Path::new("/home/me/project");
        let within = |text| path_within(base, text).map(|path| path.display().to_string());
        assert_eq!(within("./bin/x").as_deref(), Some("bin/x"));
        assert_eq!(within("a/../bin//x").as_deref(), Some("bin/x"));
        assert_eq!(within("/home/me/project/bin/x").as_deref(), Some("bin/x"));
        for other in ["sh", "../bin/x", "a/../../x", "/bin/sh", "/home/me/projects/x", "./", "/"] {
            assert_eq!(within(other), None, "{other}");
        }
    }
}
