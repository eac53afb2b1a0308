//! Confinement by Landlock: rules for paths, put in force by the process itself.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use coven_folder::OpenFolder;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr,
};
use rustix::fs::{FileType, Mode, OFlags};

use crate::domain::{Sandbox, SpawnError};

/// Devices every program may write to, and the terminals.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/pts",
    "/dev/ptmx",
    "/dev/random",
    "/dev/urandom",
];

/// A ruleset, made before the process is started and put in force in it.
pub(crate) struct Confinement(RulesetCreated);

impl Confinement {
    /// Prepares a sandbox. Paths that do not exist cannot be allowed and are an error. So is a link
    /// in the process's own folder: a process that ran before may have put it there, to be allowed
    /// to write where it leads.
    pub(crate) fn prepare(sandbox: &Sandbox, own: Option<&Path>) -> Result<Self, SpawnError> {
        let fail = |path: &Path, reason: &dyn std::fmt::Display| SpawnError::Sandbox {
            reason: format!("{}: {reason}", path.display()),
        };
        let access = AccessFs::from_write(ABI::V5);
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(access)
            .and_then(Ruleset::create)
            .map_err(|error| SpawnError::Sandbox { reason: error.to_string() })?;
        let devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists());
        for path in devices.chain(sandbox.write.iter().cloned()) {
            let opened = match own {
                Some(own) if path.starts_with(own) => open_without_links(&path),
                _ => open(&path),
            };
            let (descriptor, is_folder) = opened.map_err(|error| fail(&path, &error))?;
            let access = if is_folder { access } else { access & AccessFs::from_file(ABI::V5) };
            ruleset = ruleset
                .add_rule(PathBeneath::new(descriptor, access))
                .map_err(|error| fail(&path, &error))?;
        }
        Ok(Self(ruleset))
    }

    /// Confines this process and all it starts, for ever.
    pub(crate) fn enforce(self) -> io::Result<()> {
        self.0.restrict_self().map(drop).map_err(io::Error::other)
    }
}

/// Opens what a path leads to, and says whether that is a folder.
fn open(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let descriptor = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mode = rustix::fs::fstat(&descriptor)?.st_mode;
    Ok((descriptor, FileType::from_raw_mode(mode) == FileType::Directory))
}

/// Opens a folder to which no link leads.
fn open_without_links(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let folder = OpenFolder::open_without_links(path)?.reopen()?;
    Ok((folder.into(), true))
}
