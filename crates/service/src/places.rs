//! The folders of one user: what people configure, and what the daemon keeps.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coven_model::ContentDigest;
use coven_store::AuthorityPlaces;

use crate::config::ServiceConfig;

/// The longest path of a socket that the system takes.
pub const MAX_SOCKET_PATH_BYTES: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// How much of a digest tells the sockets of two state folders apart.
const SOCKET_NAME_DIGITS: usize = 16;

/// The environment does not say where the user's files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no HOME; set it, or XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_DATA_HOME, to absolute paths"
)]
pub struct NoHome;

/// A path without links, as far as it exists.
fn without_links(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// The folders of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFolders {
    /// What people write: `config.yaml`, `policy.yaml`, `adapters/`, `grimoires/`.
    pub config_dir: PathBuf,
    /// What the daemon keeps: the keys, devices, the log, the socket, what is known and trusted, and what
    /// jobs left.
    pub state_dir: PathBuf,
    /// Folders in which agents work that named no other.
    pub data_dir: PathBuf,
    /// What lives as long as the user is logged in; nothing where the environment does not say.
    pub runtime_dir: Option<PathBuf>,
}

impl UserFolders {
    /// The folders that the environment names, as the XDG base directories say. Links on the way to
    /// them are followed once, here; below them no link is.
    pub fn from_env() -> Result<Self, NoHome> {
        let found = Self::from(|name| std::env::var_os(name))?;
        let (state_dir, data_dir) =
            (without_links(&found.state_dir), without_links(&found.data_dir));
        Ok(Self { state_dir, data_dir, ..found })
    }

    /// The same from any environment. A relative path in a variable does not count.
    pub fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        let absolute =
            |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let folder = |name: &str, below: &str| {
            absolute(name)
                .or_else(|| Some(home.as_ref()?.join(below)))
                .map(|path| path.join("coven"))
        };
        let config_dir = folder("XDG_CONFIG_HOME", ".config").ok_or(NoHome)?;
        let state_dir = folder("XDG_STATE_HOME", ".local/state").ok_or(NoHome)?;
        let data_dir = folder("XDG_DATA_HOME", ".local/share").ok_or(NoHome)?;
        let runtime_dir = absolute("XDG_RUNTIME_DIR");
        Ok(Self { config_dir, state_dir, data_dir, runtime_dir })
    }

    /// The Unix socket that the daemon listens on. It lies in the state folder; if that has a longer
    /// path than a socket can have, in the runtime folder under a name made of the path of the state
    /// folder, because another state folder has another daemon.
    pub fn socket(&self) -> PathBuf {
        let usual = self.state_dir.join("run/coven.sock");
        if usual.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
            return usual;
        }
        let Some(runtime_dir) = &self.runtime_dir else { return usual };
        let digest = ContentDigest::of_bytes(self.state_dir.as_os_str().as_bytes());
        let digits: String = digest.as_str().chars().rev().take(SOCKET_NAME_DIGITS).collect();
        runtime_dir.join("coven").join(format!("{digits}.sock"))
    }

    /// The devices that may use the daemon over TCP.
    pub fn devices(&self) -> PathBuf {
        self.state_dir.join("devices.json")
    }

    /// The daemon's own key, by which browsers know it.
    pub fn daemon_key(&self) -> PathBuf {
        self.state_dir.join("daemon.key")
    }

    /// The port that the daemon had last.
    pub fn port(&self) -> PathBuf {
        self.state_dir.join("port.json")
    }

    /// The file that the daemon logs to.
    pub fn log(&self) -> PathBuf {
        self.state_dir.join("daemon.log")
    }

    /// The folder of what lives as long as a daemon.
    pub fn run_dir(&self) -> PathBuf {
        self.state_dir.join("run")
    }

    /// Which process is the daemon, if there is one, and its address.
    pub fn lock(&self) -> PathBuf {
        self.state_dir.join("run/daemon.lock")
    }

    /// The base directory of sessions that name none. Agents write there, so it does not lie in the
    /// state folder.
    pub fn workspace(&self) -> PathBuf {
        self.data_dir.join("workspace")
    }

    /// Where the key and the folders of jobs lie: where the configuration says, or in the state
    /// folder. A relative path counts from the folder of the configuration.
    pub fn authority(&self, config: &ServiceConfig) -> AuthorityPlaces {
        let usual = AuthorityPlaces::in_state(&self.state_dir);
        let said = |path: &Option<PathBuf>| path.as_ref().map(|path| self.config_dir.join(path));
        AuthorityPlaces {
            key: said(&config.seal_key).unwrap_or(usual.key),
            jobs: said(&config.jobs_folder).unwrap_or(usual.jobs),
        }
    }

    /// What was told to clients, for those that come back.
    pub fn feed(&self) -> PathBuf {
        self.state_dir.join("feed")
    }

    pub(crate) fn trust(&self) -> PathBuf {
        self.state_dir.join("trust.json")
    }

    /// Which policy of the user was accepted.
    pub(crate) fn accepted_policy(&self) -> PathBuf {
        self.state_dir.join("policy-accepted.json")
    }

    /// The user's `policy.yaml`; it need not exist.
    pub fn policy(&self) -> PathBuf {
        self.config_dir.join("policy.yaml")
    }

    /// The copies of what folders bring along that the user agreed to.
    pub(crate) fn trusted(&self) -> PathBuf {
        self.state_dir.join("trusted")
    }

    /// The user's `config.yaml`; it need not exist.
    pub fn config(&self) -> PathBuf {
        self.config_dir.join("config.yaml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(state: &str, runtime: Option<&str>) -> PathBuf {
        let variable = |name: &str| match name {
            "HOME" => Some(OsString::from("/home/mira")),
            "XDG_STATE_HOME" => Some(OsString::from(state)),
            "XDG_RUNTIME_DIR" => runtime.map(OsString::from),
            _ => None,
        };
        UserFolders::from(variable).unwrap().socket()
    }

    #[test]
    fn a_socket_whose_path_is_too_long_lies_in_the_runtime_folder() {
        let (one, two) = (format!("/{}", "a".repeat(120)), format!("/{}", "b".repeat(120)));
        let usual = socket("/state", Some("/run/user/1000"));
        assert_eq!(usual, Path::new("/state/coven/run/coven.sock"));
        let (first, second) =
            (socket(&one, Some("/run/user/1000")), socket(&two, Some("/run/user/1000")));
        assert!(first.starts_with("/run/user/1000/coven") && first != second, "{first:?}");
        assert!(first.as_os_str().len() <= MAX_SOCKET_PATH_BYTES);
        assert_eq!(socket(&one, None), Path::new(&one).join("coven/run/coven.sock"));
    }
}
