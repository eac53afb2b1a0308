//! What a folder brings along that needs trust: which files count, and the digest of them all.
//!
//! Everything below `.coven/adapters` and `.coven/grimoires` counts, whatever its name, because an
//! adapter can run or read any file beside it; so do the policy, the configuration, and the program
//! of an adapter that is a path within the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coven_folder::read_plain_file;
use coven_notation::path_within;
use sha2::{Digest as _, Sha256};

/// How many files may count. A person would not read more than this before agreeing to it.
const MAX_FILES: usize = 5000;
/// How many bytes may count.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
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
}

impl TrustInventory {
    /// Looks at a folder.
    pub(crate) fn of(base_dir: &Path) -> io::Result<Self> {
        Self::of_copy(base_dir, base_dir)
    }

    /// Looks at a folder that has the files of another one, `base_dir`.
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
        for path in programs(&files, base_dir) {
            if !files.contains_key(&path) && root.join(&path).is_file() {
                take(root, path, &mut files, &mut bytes)?;
            }
        }
        let digest = (!files.is_empty()).then(|| digest(&files));
        Ok(Self { files, digest })
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
    let file = content(&root.join(&path))?;
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
        "the files that need trust (`.coven/` and the programs of its adapters) have more than 64 MiB",
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

fn walk(root: &Path, folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
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

/// The programs that adapters start by a path within the project.
fn programs(files: &BTreeMap<PathBuf, TrustFileContent>, base_dir: &Path) -> Vec<PathBuf> {
    let configs = files.iter().filter(|(path, _)| {
        path.starts_with(FOLDERS[0]) && path.file_name().is_some_and(|name| name == "config.json")
    });
    let program = |(_, file): (&PathBuf, &TrustFileContent)| {
        let config: serde_json::Value = serde_json::from_slice(&file.content).ok()?;
        path_within(base_dir, config.get("command")?.as_str()?)
    };
    configs.filter_map(program).collect()
}
