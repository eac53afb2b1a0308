//! What an orchestrator is made with, and what a session is made with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{AdapterFolders, AdapterRegistry};
use coven_model::AutoAnswer;
use coven_model::event::SessionCause;
use coven_notation::TrustedFiles;
use coven_policy::{AgentAutomation, EffectivePolicies};
use coven_store::{FolderOwners, Retention, SessionAuthority};
use coven_workflow::WorkflowPlan;
use coven_workflow::catalogue::CataloguePaths;
use coven_workflow::plan::Isolation;
use serde_json::{Map, Value};

use crate::engine::AdmissionQueue;
use crate::feed::Feed;
use crate::state::{Clock, JournalWriter};

/// How long a session that is over stays in memory after the last request: people look at what
/// has just ended.
const LINGER: Duration = Duration::from_mins(1);

/// How many jobs run at once unless something else is said: what a developer's machine can take.
pub const DEFAULT_SLOTS: usize = 8;

/// What may be used of the `.coven/` of a base directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectTrust {
    /// The files that the user agreed to, as they were then.
    pub files: Option<Arc<TrustedFiles>>,
    /// Whether the base directory still has exactly these files.
    pub unchanged: bool,
}

/// What a project says about its trees: the `trees:` of its `.coven/config.yaml`, if the user agreed
/// to it. A session keeps what it was when it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreesConfig {
    /// The folder in which trees lie, instead of the user's folder of data. Absolute.
    pub root: Option<PathBuf>,
    /// The file that names the ignored files that a new tree gets, instead of `.worktreeinclude`.
    pub include: Option<String>,
    /// Paths of the checkout that each tree gets as links, where git ignores them.
    pub link: Vec<String>,
    /// Commands that run in each new tree before anything works in it, each by `bash -euo pipefail`.
    pub setup: Vec<String>,
    /// Commands that run in a tree before it is removed.
    pub teardown: Vec<String>,
    /// How long each command may take; 10 minutes unless it says another.
    pub timeout: Option<Duration>,
    /// How many ports belong to each tree; 10 unless it says another, and 0 for none.
    pub ports: Option<u16>,
}

/// Takes policies that are other than those before.
pub type PolicySink<'a> = &'a dyn Fn(EffectivePolicies);

/// Reads the files of the policies and hands the policies on if they are other than the last time.
/// It hands them on before anything else can read them anew, so that older ones never replace
/// newer ones.
#[derive(Clone)]
pub struct PolicyRefresh(Arc<dyn Fn(PolicySink<'_>) + Send + Sync>);

impl PolicyRefresh {
    /// Policies that are read by this, which may block.
    pub fn new(read: impl Fn(PolicySink<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn run(&self, sink: PolicySink<'_>) {
        (self.0)(sink);
    }
}

impl fmt::Debug for PolicyRefresh {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PolicyRefresh").finish_non_exhaustive()
    }
}

/// What an orchestrator is made with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder whose sessions it keeps.
    pub base_dir: PathBuf,
    /// The user's state folder, such as `~/.local/state/coven`. What decides is kept there, where
    /// agents that work in the base directory have no business.
    pub state_dir: PathBuf,
    /// The key that seals journals, and where the folders of jobs lie; the usual places in the
    /// state folder if none is given. Orchestrators of one process share one, by clone.
    pub authority: Option<SessionAuthority>,
    /// The other owners of the base directory that the user agreed to. Otherwise it must be the
    /// user's own.
    pub agreed_owners: Option<FolderOwners>,
    /// The user's folder of data, such as `~/.local/share/coven`, where the trees of runs lie.
    pub data_dir: Option<PathBuf>,
    /// The `coven` program: holds jobs, and is the demo agent.
    pub program: PathBuf,
    /// The user's folder of configuration, such as `~/.config/coven`.
    pub config_dir: Option<PathBuf>,
    /// What may be used of the `.coven/` of the base directory.
    pub trust: ProjectTrust,
    /// What the project says about its trees, if the user agreed to it.
    pub trees: TreesConfig,
    /// What gives slots to jobs, and so says how many run at once. Orchestrators of one process
    /// share one, by clone.
    pub admission: AdmissionQueue,
    /// Which questions are answered without a person.
    pub policies: EffectivePolicies,
    /// Handlers of the program itself, functions among them. They are asked before those of an
    /// agent's adapter, about the same tasks: those that answer for themselves.
    pub automation: AgentAutomation,
    /// Looks at the files of the policies again, before each question is decided. Without it the
    /// policies stay until others are set.
    pub policy_refresh: Option<PolicyRefresh>,
    /// Types of agents of the program itself: made by code, or by a file that it names. Those of the
    /// user and of a trusted project are added.
    pub adapters: AdapterRegistry,
    /// The adapter for steps that name none.
    pub default_adapter: Option<String>,
    /// The program that holds the locks, named in the error of another one that finds them taken.
    pub keeper: String,
    /// Where everything is told. Orchestrators of one process share one, by clone.
    pub feed: Feed,
    /// What puts facts on the disk. Orchestrators of one process share one, by clone.
    pub writer: JournalWriter,
    /// Which sessions stay once they are over.
    pub retention: Retention,
    /// How long a session that is over stays in memory after the last request. Then it is read
    /// from the disk.
    pub linger: Duration,
    /// Where agents on terminals report to by themselves, where they can: the daemon's address on
    /// loopback. Without it they are not asked to.
    pub report_address: Option<SocketAddr>,
    /// What tells the time.
    pub clock: Clock,
}

impl Options {
    /// The usual options for a base directory, with the state folder of the user and the `coven`
    /// program.
    pub fn new(
        base_dir: impl Into<PathBuf>,
        state_dir: impl Into<PathBuf>,
        program: impl Into<PathBuf>,
    ) -> Self {
        Self {
            base_dir: base_dir.into(),
            state_dir: state_dir.into(),
            authority: None,
            agreed_owners: None,
            program: program.into(),
            config_dir: None,
            data_dir: None,
            trust: ProjectTrust::default(),
            trees: TreesConfig::default(),
            admission: AdmissionQueue::new(DEFAULT_SLOTS),
            policies: EffectivePolicies::default(),
            automation: AgentAutomation::default(),
            policy_refresh: None,
            adapters: AdapterRegistry::default(),
            default_adapter: None,
            keeper: format!("coven {}", env!("CARGO_PKG_VERSION")),
            feed: Feed::in_memory(),
            writer: JournalWriter::new(),
            retention: Retention::default(),
            linger: LINGER,
            report_address: None,
            clock: Clock::system(),
        }
    }

    pub(crate) fn adapter_folders(&self) -> AdapterFolders {
        self.folders(&self.trust)
    }

    /// Where adapters are found. What was agreed to counts for as long as nothing else was, also
    /// while the project has other files: jobs of a session that runs need their adapters.
    pub(crate) fn folders(&self, trust: &ProjectTrust) -> AdapterFolders {
        AdapterFolders {
            user: self.config_dir.as_ref().map(|config| config.join("adapters")),
            project: Some(self.base_dir.join(".coven/adapters")),
            trusted: trust.files.clone(),
            ..AdapterFolders::default()
        }
    }

    /// Where the grimoires are that events start: those that were agreed to.
    pub(crate) fn trigger_places(&self, trust: &ProjectTrust) -> CataloguePaths {
        CataloguePaths {
            user: self.config_dir.as_ref().map(|config| config.join("grimoires")),
            project: Some(self.base_dir.join(".coven/grimoires")),
            trusted: trust.files.clone(),
        }
    }

    /// Where the grimoires are that people start by name. A project that has changed since is
    /// asked about again, so that no one runs what they do not see in its files.
    pub(crate) fn grimoire_places(&self, trust: &ProjectTrust) -> CataloguePaths {
        let mut places = self.trigger_places(trust);
        if !trust.unchanged {
            places.trusted = None;
        }
        places
    }
}

/// What a session runs.
#[derive(Clone, Debug)]
pub enum SessionContent {
    /// A grimoire of the catalogue, by name.
    Grimoire(String),
    /// A definition of either form: what it is called in messages, and its text.
    Definition {
        /// What it is called in messages, such as the path of its file.
        name: String,
        /// The text of the definition.
        text: String,
    },
    /// A plan that was checked before.
    Plan(Box<WorkflowPlan>),
}

/// What a session is made with.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The grimoire or definition to run.
    pub what: SessionContent,
    /// The values of its inputs, by name.
    pub input: Map<String, Value>,
    /// What it is for.
    pub goal: Option<String>,
    /// The caller's environment, which its jobs get.
    pub env: BTreeMap<OsString, OsString>,
    /// What the request is known by: the same key with the same request is the same session,
    /// however often it comes, for 30 days.
    pub key: Option<String>,
    /// How every question of the run is answered without a person, if the caller wants that.
    pub auto: Option<AutoAnswer>,
    /// The event that started it, if its grimoire's trigger did.
    pub cause: Option<SessionCause>,
    /// How its agents are kept apart where the definition says nothing. With `Run` the run has a tree,
    /// and the rest is as with `Auto`.
    pub isolation: Option<Isolation>,
}

impl NewSession {
    /// A session of a grimoire without inputs, with the environment of this process.
    pub fn of_grimoire(name: &str) -> Self {
        Self::of(SessionContent::Grimoire(name.to_owned()))
    }

    /// A session of a definition without inputs, with the environment of this process.
    pub fn of_definition(name: &str, text: &str) -> Self {
        Self::of(SessionContent::Definition { name: name.to_owned(), text: text.to_owned() })
    }

    /// A session of a plan without inputs, with the environment of this process.
    pub fn of_plan(plan: WorkflowPlan) -> Self {
        Self::of(SessionContent::Plan(Box::new(plan)))
    }

    fn of(what: SessionContent) -> Self {
        let env = std::env::vars_os().collect();
        Self {
            what,
            input: Map::new(),
            goal: None,
            env,
            key: None,
            auto: None,
            cause: None,
            isolation: None,
        }
    }
}
