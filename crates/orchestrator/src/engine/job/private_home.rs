//! The home of a confined job: a folder of its own with copies of the few files that its program
//! cannot do without. What it writes there is its own; the settings, hooks and histories of the user
//! stay as they are. A credential that the program renewed is brought back, and nothing else.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use coven_adapters::{AgentAdapter, StateFiles};
use coven_folder::{OpenFolder, best_effort, read_plain_file};
use coven_model::SandboxMode;

use super::JobDetails;
use super::PRIVATE_MODE;
use super::confined::SCRATCH_FOLDER;

/// The folder of the private home, in the job's scratch folder.
const HOME_FOLDER: &str = "home";

/// What was given of a credential, in the attempt's folder, so that a change is known.
const GIVEN_FOLDER: &str = "given";

/// A longer file is not copied.
pub(super) const MAX_COPY_BYTES: u64 = 8 * 1024 * 1024;

/// A longer credential is not brought back.
const MAX_CREDENTIAL_BYTES: u64 = 256 * 1024;

/// Variables that say where files lie which are looked for in the home otherwise.
const XDG_VARIABLES: [&str; 4] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// What they stand for in a home.
const XDG_FOLDERS: [&str; 4] = [".config/", ".local/share/", ".local/state/", ".cache/"];

/// A private home, and which variables would lead out of it.
pub(super) struct PrivateHome {
    pub(super) path: PathBuf,
    pub(super) unset: Vec<OsString>,
}

impl JobDetails {
    fn has_private_home(&self, adapter: &dyn AgentAdapter) -> bool {
        self.spec.sandbox != SandboxMode::Off && !adapter.config().state.copy.is_empty()
    }

    /// Makes the home of a confined job whose adapter says what to copy. An attempt that goes on
    /// with the conversation of the one before gets that one's files first.
    pub(super) fn private_home(
        &self,
        adapter: &dyn AgentAdapter,
    ) -> io::Result<Option<PrivateHome>> {
        if !self.has_private_home(adapter) {
            return Ok(None);
        }
        let state = &adapter.config().state;
        let attempt = self.attempt.folder();
        let home = attempt.make(SCRATCH_FOLDER, PRIVATE_MODE)?.make(HOME_FOLDER, PRIVATE_MODE)?;
        if let Some(earlier) = &self.earlier {
            let before = earlier.attempt.path().join(SCRATCH_FOLDER).join(HOME_FOLDER);
            best_effort("keep what an earlier attempt left", copy_tree(&before, &home));
        }
        let given = attempt.make_anew(GIVEN_FOLDER, PRIVATE_MODE)?;
        for (number, name) in state.copy.iter().enumerate() {
            let (Some(source), Some(inside)) = (self.user_file(state, name), inside(name)) else {
                continue;
            };
            // A user who never had this file starts the program without it too.
            let Ok(bytes) = read_plain_file(&source, MAX_COPY_BYTES) else { continue };
            write_below(&home, inside, &bytes)?;
            if state.credentials.contains(name) {
                given.create_anew(&number.to_string())?.write_all(&bytes)?;
            }
        }
        let unset = XDG_VARIABLES.iter().map(OsString::from);
        let unset = unset.chain(state.env.keys().map(OsString::from)).collect();
        Ok(Some(PrivateHome { path: home.path().to_owned(), unset }))
    }

    /// Brings back the credentials that the program renewed, and removes what was copied, so that no
    /// secret stays in the folder of the attempt.
    pub(super) fn leave_private_home(&self, adapter: &dyn AgentAdapter) {
        let state = &adapter.config().state;
        let attempt = self.attempt.folder();
        let (Ok(Some(scratch)), Ok(Some(given))) =
            (attempt.find(SCRATCH_FOLDER), attempt.find(GIVEN_FOLDER))
        else {
            return;
        };
        let Ok(Some(home)) = scratch.find(HOME_FOLDER) else { return };
        for (number, name) in state.copy.iter().enumerate() {
            let Some(inside) = inside(name) else { continue };
            if let (Ok(Some(before)), Some(target)) =
                (given.read(&number.to_string()), self.user_file(state, name))
            {
                let back = bring_back(&home, inside, &before, &target);
                best_effort("bring a renewed credential back", back);
            }
            best_effort("remove a copied file", remove_below(&home, inside));
        }
        best_effort("remove given credentials", attempt.remove_all(GIVEN_FOLDER));
    }

    /// Where a file of the user lies: in their home, or where a variable says.
    pub(super) fn user_file(&self, state: &StateFiles, name: &str) -> Option<PathBuf> {
        let env = &self.executor.env;
        file_in_home(state, name, |variable| Some(env.get(OsStr::new(variable))?.as_os_str()))
    }

    /// Where a file lies in the home that the job has for itself, if it has one.
    pub(super) fn private_file(&self, adapter: &dyn AgentAdapter, name: &str) -> Option<PathBuf> {
        let home = self.attempt.path().join(SCRATCH_FOLDER).join(HOME_FOLDER);
        let inside = inside(name)?;
        self.has_private_home(adapter).then(|| home.join(inside))
    }
}

/// Where a file of a program lies: in the home that the variables name, or where one says that its
/// files lie instead.
pub(super) fn file_in_home<'a>(
    state: &StateFiles,
    name: &str,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> Option<PathBuf> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let inside = inside(name)?;
    let moved = state.env.keys().find_map(|name| variable(name));
    if let (Some(folder), Some(first)) = (moved, state.write.first())
        && let Some(rest) = name.strip_prefix(first.as_str())
    {
        return Some(Path::new(folder).join(rest.trim_start_matches('/')));
    }
    let moved = XDG_VARIABLES.iter().zip(XDG_FOLDERS).find_map(|(name, folder)| {
        Some(Path::new(variable(name)?).join(inside.strip_prefix(folder)?))
    });
    moved.or_else(|| Some(Path::new(variable("HOME")?).join(inside)))
}

/// The path of a file in a home. Only such files are copied, and only by plain names.
fn inside(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("~/")?;
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    rest.split('/').all(plain).then_some(rest)
}

fn write_below(home: &OpenFolder, inside: &str, bytes: &[u8]) -> io::Result<()> {
    let (folders, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let mut folder = home.clone();
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        folder = folder.make(part, PRIVATE_MODE)?;
    }
    folder.create_anew(name)?.write_all(bytes)
}

/// The folder of a file in a private home. The job can write there, so no link is followed.
fn folder_below<'a>(home: &OpenFolder, inside: &'a str) -> io::Result<(OpenFolder, &'a str)> {
    let (folders, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let mut folder = home.clone();
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        folder = folder.enter(part)?;
    }
    Ok((folder, name))
}

fn remove_below(home: &OpenFolder, inside: &str) -> io::Result<()> {
    match folder_below(home, inside) {
        Ok((folder, name)) => Ok(folder.remove(name)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Puts a renewed credential in the place of the user's, if that is still what was given. It must
/// be of the same kind: JSON stays JSON.
fn bring_back(home: &OpenFolder, inside: &str, before: &[u8], target: &Path) -> io::Result<()> {
    let (folder, name) = folder_below(home, inside)?;
    let Some(now) = folder.read(name)? else { return Ok(()) };
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    if now == before
        || now.is_empty()
        || now.len() as u64 > MAX_CREDENTIAL_BYTES
        || (is_json(before) && !is_json(&now))
        || read_plain_file(target, MAX_COPY_BYTES)? != before
    {
        return Ok(());
    }
    let mode = fs::metadata(target)?.permissions().mode();
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let draft = target.with_file_name(format!(".{name}.coven-{}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode & 0o777)
        .open(&draft)
        .and_then(|mut file| file.write_all(&now).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, fs::canonicalize(target)?));
    if written.is_err() {
        best_effort("remove a draft", fs::remove_file(&draft));
    }
    written
}

/// Copies the files of a folder of ours. Links and whatever else is no plain file are left out.
fn copy_tree(from: &Path, to: &OpenFolder) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if kind.is_dir() {
            copy_tree(&entry.path(), &to.make(name, PRIVATE_MODE)?)?;
        } else if kind.is_file()
            && let Ok(bytes) = read_plain_file(&entry.path(), MAX_COPY_BYTES)
        {
            to.create_anew(name)?.write_all(&bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> (tempfile::TempDir, OpenFolder, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let home = OpenFolder::open(root.path()).unwrap().make("home", PRIVATE_MODE).unwrap();
        let target = root.path().join("credential.json");
        fs::write(&target, "{\"token\": 1}").unwrap();
        (root, home, target)
    }

    #[test]
    fn only_plain_names_in_the_home_are_copied() {
        assert_eq!(inside("~/.claude/settings.json"), Some(".claude/settings.json"));
        for name in ["/etc/passwd", "~/../x", "~/a//b", "~/", "x", "~/a/./b"] {
            assert_eq!(inside(name), None, "{name}");
        }
    }

    #[test]
    fn a_renewed_credential_is_brought_back_and_nothing_that_is_none() {
        let (_root, home, target) = folders();
        let before = fs::read(&target).unwrap();
        let back = |now: &str| {
            write_below(&home, ".tool/credential.json", now.as_bytes()).unwrap();
            bring_back(&home, ".tool/credential.json", &before, &target).unwrap();
            fs::read_to_string(&target).unwrap()
        };
        assert_eq!(back("not json"), "{\"token\": 1}");
        assert_eq!(back(""), "{\"token\": 1}");
        assert_eq!(back("{\"token\": 2}"), "{\"token\": 2}");
        // The user's own has changed since, so what was given is not what is replaced.
        assert_eq!(back("{\"token\": 3}"), "{\"token\": 2}");
    }

    #[test]
    fn a_link_in_the_place_of_a_credential_is_not_followed() {
        let (root, home, target) = folders();
        let before = fs::read(&target).unwrap();
        let secret = root.path().join("secret.json");
        fs::write(&secret, "{\"other\": true}").unwrap();
        home.make(".tool", PRIVATE_MODE).unwrap();
        let link = root.path().join("home/.tool/credential.json");
        std::os::unix::fs::symlink(&secret, link).unwrap();
        assert!(bring_back(&home, ".tool/credential.json", &before, &target).is_err());
        assert_eq!(fs::read(&target).unwrap(), before);
    }
}
