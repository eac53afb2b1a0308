//! The copies of what was agreed to, in the state folder: `trusted/<digest>/`.
//!
//! A copy is written once, under its digest, and counts only while its contents have that digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coven_folder::best_effort;
use coven_notation::TrustedFiles;

use crate::trust_inventory::TrustInventory;

/// The mode of folders of a copy, of files, and of files that can be run.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o400;
const PROGRAM_MODE: u32 = 0o500;

/// Tells drafts of one process apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// The folder of all copies.
#[derive(Clone, Debug)]
pub(crate) struct TrustCopies {
    folder: PathBuf,
}

impl TrustCopies {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(digest)
    }

    /// Keeps what a folder brings along, if it is not kept yet.
    pub(crate) fn keep(&self, inventory: &TrustInventory, base_dir: &Path) -> io::Result<()> {
        let Some(digest) = &inventory.digest else { return Ok(()) };
        if self.read(digest, base_dir).is_ok() {
            return Ok(());
        }
        private_folder(&self.folder)?;
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".draft-{}-{number}", std::process::id()));
        remove(&draft)?;
        let written = write(&draft, inventory).and_then(|()| {
            // One that is there does not have its digest: something was changed in it.
            remove(&self.path(digest))?;
            fs::rename(&draft, self.path(digest))
        });
        if written.is_err() {
            best_effort("remove the draft of a trusted copy", remove(&draft));
        }
        written
    }

    /// What is kept under a digest, if it has that digest.
    pub(crate) fn inventory(&self, digest: &str, base_dir: &Path) -> io::Result<TrustInventory> {
        let inventory = TrustInventory::of_copy(&self.path(digest), base_dir)?;
        if inventory.digest.as_deref() == Some(digest) {
            return Ok(inventory);
        }
        Err(io::Error::other(format!("{} is not what was agreed to", self.path(digest).display())))
    }

    /// The same, as what may be used of a project.
    pub(crate) fn read(&self, digest: &str, base_dir: &Path) -> io::Result<Arc<TrustedFiles>> {
        let inventory = self.inventory(digest, base_dir)?;
        let files: BTreeMap<PathBuf, Vec<u8>> =
            inventory.files.into_iter().map(|(path, file)| (path, file.content)).collect();
        Ok(Arc::new(TrustedFiles::new(base_dir, self.path(digest), files)))
    }

    /// Removes the copies that no folder uses.
    pub(crate) fn remove_unused(&self, used: &BTreeSet<&str>) {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                tracing::warn!("{} cannot be read: {error}", self.folder.display());
                return;
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if !name.to_str().is_some_and(|name| used.contains(name)) {
                best_effort("remove a trusted copy that is not used", remove(&entry.path()));
            }
        }
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write(root: &Path, inventory: &TrustInventory) -> io::Result<()> {
    private_folder(root)?;
    for (name, file) in &inventory.files {
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        let mode = if file.executable { PROGRAM_MODE } else { FILE_MODE };
        let mut copy =
            fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        copy.write_all(&file.content)?;
        copy.sync_all()?;
    }
    fs::File::open(root)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Place {
        root: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { root: tempfile::tempdir().unwrap() };
            place.write(".coven/adapters/mine/config.json", r#"{"command": "bin/agent"}"#);
            place.write(".coven/adapters/mine/notes", "any name counts");
            place.write("bin/agent", "#!/bin/sh\n");
            fs::set_permissions(place.base().join("bin/agent"), fs::Permissions::from_mode(0o755))
                .unwrap();
            place
        }

        fn base(&self) -> PathBuf {
            self.root.path().join("project")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.base().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn copies(&self) -> TrustCopies {
            TrustCopies::new(self.root.path().join("state/trusted"))
        }
    }

    #[test]
    fn a_copy_has_everything_that_counts_and_is_for_its_owner_alone() {
        let place = Place::new();
        let inventory = TrustInventory::of(&place.base()).unwrap();
        let names = [".coven/adapters/mine/config.json", ".coven/adapters/mine/notes", "bin/agent"];
        assert_eq!(inventory.names(), names);
        let (copies, digest) = (place.copies(), inventory.digest.clone().unwrap());
        copies.keep(&inventory, &place.base()).unwrap();
        let files = copies.read(&digest, &place.base()).unwrap();
        let program = PathBuf::from(files.naming_copy("./bin/agent").unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&copies.folder), mode(&copies.path(&digest)), mode(&program)),
            (0o700, 0o700, 0o500)
        );
        place.write("bin/agent", "other\n");
        assert_ne!(TrustInventory::of(&place.base()).unwrap().digest.unwrap(), digest);
        assert_eq!(fs::read(program).unwrap(), b"#!/bin/sh\n");
    }

    #[test]
    fn a_copy_that_was_changed_is_not_read_and_is_written_anew() {
        let place = Place::new();
        let inventory = TrustInventory::of(&place.base()).unwrap();
        let (copies, digest) = (place.copies(), inventory.digest.clone().unwrap());
        copies.keep(&inventory, &place.base()).unwrap();
        let file = copies.path(&digest).join("bin/agent");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(&file, "evil\n").unwrap();
        assert!(copies.read(&digest, &place.base()).is_err());
        copies.keep(&inventory, &place.base()).unwrap();
        assert!(copies.read(&digest, &place.base()).is_ok());
        copies.remove_unused(&BTreeSet::from([digest.as_str()]));
        assert!(copies.path(&digest).exists());
        copies.remove_unused(&BTreeSet::new());
        assert!(!copies.path(&digest).exists());
    }
}
