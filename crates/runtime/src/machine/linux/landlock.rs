//! Confinement by Landlock: rules for paths, put in force by the process itself.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use coven_folder::OpenFolder;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
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
        let failed =
            |error: landlock::RulesetError| SpawnError::Sandbox { reason: error.to_string() };
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let ruleset = ruleset.scope(Scope::from_all(ABI::V6)).map_err(failed)?;
        if sandbox.signals_only {
            return ruleset.create().map(Self).map_err(failed);
        }
        let mut handled = AccessFs::from_write(ABI::V5);
        if !sandbox.hide.is_empty() {
            handled |= AccessFs::ReadFile;
        }
        let mut ruleset = ruleset.handle_access(handled).map_err(failed)?;
        if sandbox.ports.is_some() {
            ruleset = ruleset.handle_access(AccessNet::ConnectTcp).map_err(failed)?;
        }
        let mut ruleset = ruleset.create().map_err(failed)?;
        for port in sandbox.ports.iter().flatten() {
            let rule = NetPort::new(*port, AccessNet::ConnectTcp);
            ruleset = ruleset.add_rule(rule).map_err(failed)?;
        }
        ruleset = allow_writing(ruleset, sandbox, own, handled)?;
        if !sandbox.hide.is_empty() {
            ruleset = allow_reading(ruleset, sandbox)?;
        }
        Ok(Self(ruleset))
    }

    /// Confines this process and all it starts, for ever.
    pub(crate) fn enforce(self) -> io::Result<()> {
        self.0.restrict_self().map(drop).map_err(io::Error::other)
    }
}

fn fail(path: &Path, reason: &dyn std::fmt::Display) -> SpawnError {
    SpawnError::Sandbox { reason: format!("{}: {reason}", path.display()) }
}

fn allow_writing(
    mut ruleset: RulesetCreated,
    sandbox: &Sandbox,
    own: Option<&Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SpawnError> {
    let devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists());
    let hidden = real_paths(&sandbox.hide);
    let mut allowed: Vec<PathBuf> = devices.collect();
    for path in &sandbox.write {
        match std::fs::canonicalize(path) {
            // What is hidden in it stays closed, and so nothing new can be made beside that.
            Ok(real) if has_below(&real, &hidden) => beside(&real, &hidden, &mut allowed),
            _ => allowed.push(path.clone()),
        }
    }
    for path in allowed {
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
    Ok(ruleset)
}

/// Landlock can allow and not deny. So everything beside what is hidden is allowed: all that lies in
/// the folders on the way to it. What is made in those folders later cannot be read.
fn allow_reading(
    mut ruleset: RulesetCreated,
    sandbox: &Sandbox,
) -> Result<RulesetCreated, SpawnError> {
    let hidden = real_paths(&sandbox.hide);
    let mut shown = real_paths(&sandbox.show);
    // A folder with something hidden in it is allowed by what lies beside that.
    shown.retain(|path| !has_below(path, &hidden));
    beside(Path::new("/"), &hidden, &mut shown);
    for path in shown {
        // What is gone or closed to us meanwhile is closed to the process too.
        let Ok((descriptor, _)) = open(&path) else { continue };
        ruleset = ruleset
            .add_rule(PathBeneath::new(descriptor, AccessFs::ReadFile))
            .map_err(|error| fail(&path, &error))?;
    }
    Ok(ruleset)
}

/// The paths that are there, without links.
fn real_paths(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect()
}

/// Whether a folder is hidden, or something below it is.
fn has_below(folder: &Path, hidden: &[PathBuf]) -> bool {
    hidden.iter().any(|hidden| hidden.starts_with(folder))
}

/// Adds what lies in a folder and is not hidden. A link is left out: where it leads decides.
fn beside(folder: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link || hidden.contains(&path) {
            continue;
        }
        if has_below(&path, hidden) {
            beside(&path, hidden, found);
        } else {
            found.push(path);
        }
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
