//! Where Coven keeps its files, by the rules of the XDG base directories.

use std::env;
use std::path::{Path, PathBuf};

use coven_adapters::AdapterFolders;
use coven_daemon::UserFolders as Daemon;
use coven_policy::Policy;
use coven_workflow::catalogue::CataloguePaths;

use crate::failure::{CommandFailure, FailureCode, Result};

/// The folders of the user and of the daemon.
pub(crate) fn places() -> Result<Daemon> {
    Daemon::from_env().map_err(|error| {
        CommandFailure::new(FailureCode::Unreachable, error)
            .hint("set HOME to a folder of your own")
    })
}

/// `$XDG_CONFIG_HOME/coven`, which is `~/.config/coven` unless set.
pub(crate) fn config() -> Option<PathBuf> {
    places().ok().map(|places| places.config_dir)
}

/// The folder a command is about, as an absolute path: what was said, or the current folder, or
/// the folder above it in the same git repository that has a `.coven/`.
pub(crate) fn base_dir(said: Option<&Path>) -> Result<PathBuf> {
    let wrong = |path: &Path, error: std::io::Error| {
        CommandFailure::bad_folder(format!("the folder {} cannot be used: {error}", path.display()))
    };
    if let Some(path) = said {
        let path = path.canonicalize().map_err(|error| wrong(path, error))?;
        if !path.is_dir() {
            return Err(CommandFailure::bad_folder(format!("{} is not a folder", path.display())));
        }
        return Ok(path);
    }
    let here = env::current_dir().map_err(|error| wrong(Path::new("."), error))?;
    Ok(above(&here).map_or_else(|| here.clone(), Path::to_owned))
}

fn above(here: &Path) -> Option<&Path> {
    let top = here.ancestors().find(|folder| folder.join(".git").exists())?;
    let within = here.ancestors().take_while(|folder| folder.starts_with(top));
    within.into_iter().find(|folder| folder.join(".coven").is_dir())
}

fn project() -> Option<PathBuf> {
    base_dir(None).ok()
}

/// What the user agreed to of the files that the project brings along.
fn trust() -> coven_daemon::ProjectTrust {
    let (Some(base), Ok(places)) = (project(), places()) else {
        return coven_daemon::ProjectTrust::default();
    };
    coven_daemon::project_trust(&places, &base)
}

/// The project, if it still has exactly the files that the user agreed to.
pub(crate) fn unchanged_project() -> Option<PathBuf> {
    project().filter(|_| trust().unchanged)
}

/// The policy of the project that the user agreed to.
pub(crate) fn trusted_policy() -> std::result::Result<Option<Policy>, String> {
    match (project(), trust().files) {
        (Some(base), Some(files)) => coven_daemon::read_trusted_policy(&base, &files),
        _ => Ok(None),
    }
}

/// Where adapter files are. Those of a project that is not trusted are listed and not used.
pub(crate) fn adapters() -> AdapterFolders {
    AdapterFolders {
        user: config().map(|config| config.join("adapters")),
        project: project().map(|base| base.join(".coven/adapters")),
        trusted: trust().files,
        ..AdapterFolders::default()
    }
}

/// Where grimoires are; those of a project as its adapters, unless it has changed since.
pub(crate) fn grimoires() -> CataloguePaths {
    let trust = trust();
    CataloguePaths {
        user: config().map(|config| config.join("grimoires")),
        project: project().map(|base| base.join(".coven/grimoires")),
        trusted: trust.files.filter(|_| trust.unchanged),
    }
}
