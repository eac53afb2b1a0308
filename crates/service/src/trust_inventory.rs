//! What a folder brings along that needs trust: which files count, and the digest of them all.
//!
//! Everything below `.coven/adapters` and `.coven/grimoires` counts, whatever its name, because an
//! adapter can run or read any file beside it; so do the policy, the configuration, and the files
//! of the project that an adapter starts or names (see `trust_paths`). What adapters name and what
//! cannot count is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coven_folder::read_plain_file;
use sha2::{Digest as _, Sha256};

use crate::trust_paths::LaunchTexts;
use crate::trust_scan::PathScan;

/// How many files may count. A person would not read more than this before agreeing to it.
const MAX_FILES: usize = 5000;
/// How many bytes may count.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// How many paths may be named and not covered. Leaving some out of the list would hide them.
const MAX_UNCOVERED: usize = 1000;
/// How many folders may be inside one another.
const MAX_DEPTH: usize = 8;

/// The folders of which everything counts.
const FOLDERS: [&str; 2] = [".coven/adapters", ".coven/grimoires"];
/// The files beside them that count.
const FILES: [&str; 6] = [
    ".coven/policy.yaml",
    ".coven/policy.yml",
    ".coven/policy.json",
    ".coven/config.yaml",
    ".coven/config.yml",
    ".coven/config.json",
];

/// One file that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustFileContent {
    pub(crate) content: Vec<u8>,
    /// Whether its owner may run it.
    pub(crate) executable: bool,
}

/// What a folder brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustInventory {
    /// The files that count, by their path within the folder.
    pub(crate) files: BTreeMap<PathBuf, TrustFileContent>,
    /// The digest of their names and contents; nothing if there are none.
    pub(crate) digest: Option<String>,
    /// What adapters name of the project where no copy takes its place.
    pub(crate) uncovered: Vec<String>,
}

impl TrustInventory {
    /// Looks at a folder.
    pub(crate) fn of(base_dir: &Path) -> io::Result<Self> {
        let mut inventory = Self::of_copy(base_dir, base_dir)?;
        inventory.uncovered = inventory.find_uncovered(base_dir)?;
        Ok(inventory)
    }

    /// Looks at a folder that has the files of another one, `base_dir`. What is not covered is not
    /// sought: it is in no copy.
    pub(crate) fn of_copy(root: &Path, base_dir: &Path) -> io::Result<Self> {
        let mut found = BTreeSet::new();
        for folder in FOLDERS {
            walk(root, Path::new(folder), MAX_DEPTH, &mut found)?;
        }
        let there = |file: &&str| root.join(file).symlink_metadata().is_ok();
        found.extend(FILES.into_iter().filter(there).map(PathBuf::from));
        let (mut files, mut bytes) = (BTreeMap::new(), 0);
        for path in found {
            take(root, path, &mut files, &mut bytes)?;
        }
        let launches = launches(&files);
        let programs = launches.iter().filter_map(|launch| launch.program(base_dir));
        let programs = programs.filter(|path| root.join(path).is_file());
        let named = launches.iter().flat_map(|launch| launch.files(root, base_dir));
        for path in programs.chain(named) {
            if !files.contains_key(&path) {
                take(root, path, &mut files, &mut bytes)?;
            }
        }
        let digest = (!files.is_empty()).then(|| digest(&files));
        Ok(Self { files, digest, uncovered: Vec::new() })
    }

    /// What adapters name of the project where no copy takes its place.
    fn find_uncovered(&self, base_dir: &Path) -> io::Result<Vec<String>> {
        let (mut scan, mut uncovered) = (PathScan::new(base_dir), BTreeSet::new());
        for launch in launches(&self.files) {
            let is_covered = |path: &Path| self.files.contains_key(path);
            launch.tell_uncovered(&mut scan, is_covered, &mut uncovered);
        }
        if uncovered.len() > MAX_UNCOVERED {
            return Err(io::Error::other(
                "its adapters name more than 1,000 files and folders of the project that cannot be \
                 covered by trust",
            ));
        }
        Ok(uncovered.iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// The names of the files, for people.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files.keys().map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

/// Lengths keep one file's end from being taken for another's beginning.
fn digest(files: &BTreeMap<PathBuf, TrustFileContent>) -> String {
    let mut whole = Sha256::new();
    for (path, file) in files {
        for part in [path.as_os_str().as_bytes(), &[u8::from(file.executable)], &file.content] {
            whole.update((part.len() as u64).to_le_bytes());
            whole.update(part);
        }
    }
    hex(&whole.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn take(
    root: &Path,
    path: PathBuf,
    files: &mut BTreeMap<PathBuf, TrustFileContent>,
    bytes: &mut u64,
) -> io::Result<()> {
    let file = content(&root.join(&path)).map_err(|error| cannot_read(root, &path, &error))?;
    *bytes += file.content.len() as u64;
    if *bytes > MAX_BYTES {
        return Err(too_large());
    }
    files.insert(path, file);
    if files.len() > MAX_FILES {
        return Err(io::Error::other("it has more than 5,000 files that need trust"));
    }
    Ok(())
}

fn too_large() -> io::Error {
    io::Error::other(
        "the files that need trust (`.coven/` and what its adapters name) have more than 64 MiB",
    )
}

/// What can be read of a file counts; of what is no plain file only that it is there.
fn content(path: &Path) -> io::Result<TrustFileContent> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.len() > MAX_BYTES => Err(too_large()),
        Ok(about) if about.is_file() => Ok(TrustFileContent {
            content: read_plain_file(path, MAX_BYTES)?,
            executable: about.permissions().mode() & 0o100 != 0,
        }),
        Ok(_) | Err(_) => Ok(TrustFileContent { content: Vec::new(), executable: false }),
    }
}

/// Says which file of a project cannot be read, and which link is to blame if one is.
fn cannot_read(root: &Path, path: &Path, error: &io::Error) -> io::Error {
    for place in path.ancestors().filter(|place| !place.as_os_str().is_empty()) {
        if let Ok(target) = fs::read_link(root.join(place)) {
            return io::Error::other(format!(
                "`{}` is a link to `{}`, which cannot be read ({error}): remove it, or put a copy in \
                 its place",
                place.display(),
                target.display()
            ));
        }
    }
    io::Error::other(format!("`{}` cannot be read: {error}", path.display()))
}

fn walk(root: &Path, folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_read(root, folder, &error)),
    };
    for entry in entries {
        let path = folder.join(entry?.file_name());
        if root.join(&path).is_dir() {
            if depth == 0 {
                return Err(io::Error::other("its `.coven/` has too many folders in folders"));
            }
            walk(root, &path, depth - 1, found)?;
            continue;
        }
        found.insert(path);
        if found.len() > MAX_FILES {
            return Err(io::Error::other("it has more than 5,000 files that need trust"));
        }
    }
    Ok(())
}

/// How the adapters among these files start their programs.
fn launches(files: &BTreeMap<PathBuf, TrustFileContent>) -> Vec<LaunchTexts> {
    let configs = files.iter().filter(|(path, _)| {
        path.starts_with(FOLDERS[0]) && path.file_name().is_some_and(|name| name == "config.json")
    });
    configs.filter_map(|(_, file)| LaunchTexts::read(&file.content)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use super::*;

    #[test]
    fn no_path_that_is_not_covered_is_hidden_behind_many_others() {
        let folder = tempfile::tempdir().unwrap();
        let adapter = folder.path().join(".coven/adapters/mine");
        fs::create_dir_all(&adapter).unwrap();
        let names: Vec<String> =
            (0..=MAX_UNCOVERED).map(|number| format!("n{number:04}")).collect();
        for name in &names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let uncovered = |names: &[String]| {
            let config = serde_json::json!({
                "command": "sh", "modes": {"headless": {"baseArgs": names}}
            });
            fs::write(adapter.join("config.json"), config.to_string()).unwrap();
            TrustInventory::of(folder.path()).map(|inventory| inventory.uncovered)
        };
        assert_eq!(uncovered(&names[1..]).unwrap(), names[1..]);
        let error = uncovered(&names).unwrap_err().to_string();
        assert!(error.contains("cannot be covered"), "{error}");
    }
}
