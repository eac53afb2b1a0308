//! What all parts of the service share: the user's folders and settings, the feed, what the user
//! agreed to, the metrics, and the end of it all.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use coven_api::system::FolderTrust;
use coven_notation::ProblemReport;
use coven_orchestrator::{AdmissionQueue, Feed, JournalWriter, ProjectTrust, TreesConfig};
use coven_store::SessionAuthority;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempt::{PastAttempts, ScreenLogs};
use crate::catalogue_folders::CatalogueFolders;
use crate::config::ServiceConfig;
use crate::error::ServiceError;
use crate::metrics::Metrics;
use crate::past_snapshots::PastSnapshots;
use crate::places::UserFolders;
use crate::trees;
use crate::trust_store::TrustStore;
use crate::versions::InstalledVersions;

/// What all parts of the service share.
#[derive(Debug)]
pub(crate) struct ServiceContext {
    pub(crate) places: UserFolders,
    /// The `coven` program: holds jobs, and is the demo agent.
    pub(crate) program: PathBuf,
    pub(crate) config: ServiceConfig,
    /// The key that seals journals, and where the folders of jobs lie.
    pub(crate) authority: SessionAuthority,
    pub(crate) feed: Feed,
    pub(crate) writer: JournalWriter,
    pub(crate) admission: AdmissionQueue,
    pub(crate) trust: TrustStore,
    pub(crate) versions: InstalledVersions,
    /// The daemon's address on loopback, where agents report to; none if they are not to.
    pub(crate) loopback: OnceLock<SocketAddr>,
    /// What terminals showed, of the attempts that were asked for last.
    pub(crate) screen_logs: ScreenLogs,
    /// Where the attempts of sessions lie that are not in memory, of those that were asked for
    /// last.
    pub(crate) past_attempts: PastAttempts,
    /// Sessions that are not in memory, of those that were asked for last.
    pub(crate) past_snapshots: PastSnapshots,
    pub(crate) metrics: Metrics,
    /// Cancelled when the service is to end.
    pub(crate) stopping: CancellationToken,
    /// Every task of the service, which waits for them when it closes.
    pub(crate) tasks: TaskTracker,
}

impl ServiceContext {
    /// How a folder stands, read from the disk now.
    pub(crate) fn trust_of(&self, path: &Path) -> Result<FolderTrust, ServiceError> {
        self.trust.standing(path, false).map_err(|error| cannot_look(path, &error))
    }

    /// The same, with the contents of its files or what has changed of them.
    pub(crate) fn contents_of(&self, path: &Path) -> Result<FolderTrust, ServiceError> {
        self.trust.standing(path, true).map_err(|error| cannot_look(path, &error))
    }

    /// What a project says about its trees, in what the user agreed to of it.
    pub(crate) fn trees_of(
        base_dir: &Path,
        project: &ProjectTrust,
    ) -> Result<TreesConfig, Box<ProblemReport>> {
        let home = std::env::home_dir();
        trees::config::trees_config(base_dir, project.files.as_deref(), home.as_deref())
    }

    /// Where the definitions of a base directory are that stands like this.
    pub(crate) fn catalogue_folders(
        &self,
        base_dir: &Path,
        trust: &FolderTrust,
    ) -> CatalogueFolders {
        CatalogueFolders {
            config_dir: self.places.config_dir.clone(),
            base_dir: base_dir.to_owned(),
            trust: self.trust.project(base_dir, trust),
            default_adapter: self.config.default_adapter.clone(),
        }
    }
}

fn cannot_look(path: &Path, error: &std::io::Error) -> ServiceError {
    ServiceError::BadBaseDir(format!("{} cannot be looked at: {error}", path.display()))
}
