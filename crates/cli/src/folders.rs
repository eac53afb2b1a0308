//! Where Coven keeps its files, by the rules of the XDG base directories.

use std::env;
use std::path::PathBuf;

use coven_adapters::Folders;
use coven_workflow::catalogue::Places;

/// `$XDG_CONFIG_HOME/coven`, which is `~/.config/coven` unless set. Relative values count as unset,
/// as the rules say.
pub(crate) fn config() -> Option<PathBuf> {
    let set = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(set.or_else(|| Some(home()?.join(".config")))?.join("coven"))
}

/// Where adapter files are. The project's are listed and not used: trusting a project comes with
/// the daemon.
pub(crate) fn adapters() -> Folders {
    Folders {
        user: config().map(|config| config.join("adapters")),
        project: env::current_dir().ok().map(|base| base.join(".coven/adapters")),
        project_trusted: false,
    }
}

/// Where grimoires are; the project's, as its adapters, are listed and not used.
pub(crate) fn grimoires() -> Places {
    Places {
        user: config().map(|config| config.join("grimoires")),
        project: env::current_dir().ok().map(|base| base.join(".coven/grimoires")),
        trusted: false,
    }
}
