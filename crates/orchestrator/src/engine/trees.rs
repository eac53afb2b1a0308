//! Carries out what is decided about trees: makes them, keeps what is in them, lands and removes
//! them. Every order may be carried out again and then comes to the same.
//!
//! Where git keeps things comes from what was recorded when the session was made, never from the
//! tree, which an agent can write to. Calls of one repository take turns.

mod commit;
mod land;
mod record;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use coven_git::mirror::{CheckpointRequest, NotHeldReason};
use coven_git::{Commit, ExecutableConfig, Git, Identity, Mirror, Repository};
use coven_model::event::{TreeCheckpoint, TreeReady};
use coven_model::{AttemptId, RepositoryRecord, Timestamp, TreeId, TreeWork};
use coven_workflow::command::TreeOrder;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{TreeRun, WorkflowRun};
use coven_workflow::{SessionInput, State};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use self::commit::CommitJob;
pub use self::record::NoRepository;
pub(crate) use self::record::find_repository;
use crate::engine::executor::WorkflowExecutor;
use crate::engine::job::LivePublisher;
use crate::state::SharedFiles;
use crate::state::blocking::blocking;

/// The file that says which ignored files a new tree gets.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// How many bytes of them at most.
const MAX_INCLUDED_BYTES: u64 = 256 << 20;

/// How long one call of git may take: a checkout of a large repository on a slow disk.
const GIT_DEADLINE: Duration = Duration::from_mins(10);

/// How many things that could not be kept are named.
const MAX_NAMED_MISSING: usize = 20;

/// One order about a tree, with all that it needs.
pub(crate) struct TreeJob {
    pub(crate) executor: WorkflowExecutor,
    pub(crate) state: State,
    pub(crate) files: SharedFiles,
    pub(crate) live: LivePublisher,
    pub(crate) order: TreeOrder,
}

/// The locks of the repositories, by their common folder.
static TURNS: LazyLock<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

fn turn_of(common_dir: &str) -> Arc<tokio::sync::Mutex<()>> {
    TURNS.lock().entry(PathBuf::from(common_dir)).or_default().clone()
}

impl TreeJob {
    /// Carries the order out and tells what came of it.
    pub(crate) async fn run(self, reports: mpsc::Sender<SessionInput>) {
        let Some(report) = self.carry_out().await else { return };
        // A session that is gone reads what became of it from its journal and orders it again.
        drop(reports.send(SessionInput::Tree(Box::new(report))).await);
    }

    async fn carry_out(self) -> Option<TreeReport> {
        let run = self.state.run()?;
        let tree = run.tree(self.order.tree())?.clone();
        let record = run.identity.repository.as_deref()?.clone();
        let turn = turn_of(&record.common_dir);
        let _turn = turn.lock().await;
        let place = TreePlace::new(&self.executor.shared.state_dir, run, record, tree);
        let (id, work) = (place.tree.tree.clone(), work_of(&self.order));
        let done = match &self.order {
            TreeOrder::Make(_) => blocking(move || place.make()).await,
            TreeOrder::Checkpoint { job, number, .. } => {
                let (job, number) = (job.clone(), *number);
                blocking(move || place.checkpointed(Some(job), number, false)).await
            }
            TreeOrder::Commit { number, .. } => {
                let number = *number;
                match self.commit(&place).await {
                    Ok(()) => blocking(move || place.checkpointed(None, number, true)).await,
                    Err(error) => Err(error),
                }
            }
            TreeOrder::Land { .. } => match self.commit(&place).await {
                Ok(()) => {
                    let onto = run.tree(&TreeId::Run)?.clone();
                    blocking(move || place.land(&onto)).await
                }
                Err(error) => Err(error),
            },
            TreeOrder::Remove { .. } => blocking(move || place.remove()).await,
        };
        Some(done.unwrap_or_else(|error| TreeReport::Failed { tree: id, work, error: error.0 }))
    }

    /// Commits what was left uncommitted in a tree, in the sandbox of whoever worked in it.
    async fn commit(&self, place: &TreePlace) -> Result<(), TreeError> {
        let Some(run) = self.state.run() else { return Ok(()) };
        let message = run.commit_message(&place.tree.tree);
        CommitJob { job: self, place, message }.run().await
    }
}

fn work_of(order: &TreeOrder) -> TreeWork {
    match order {
        TreeOrder::Make(_) => TreeWork::Make,
        TreeOrder::Checkpoint { .. } => TreeWork::Checkpoint,
        TreeOrder::Commit { .. } => TreeWork::Commit,
        TreeOrder::Land { .. } => TreeWork::Land,
        TreeOrder::Remove { .. } => TreeWork::Remove,
    }
}

/// Why an order could not be carried out, for people.
#[derive(Debug)]
struct TreeError(String);

impl From<coven_git::Error> for TreeError {
    fn from(error: coven_git::Error) -> Self {
        Self(error.to_string())
    }
}

/// One tree and everything that git has to be told about it.
#[derive(Clone)]
struct TreePlace {
    git: Git,
    repository: Repository,
    allowed: ExecutableConfig,
    mirror: PathBuf,
    tree: TreeRun,
    /// What its references begin with.
    references: String,
    /// The task that worked in it, for the trailers of commits.
    session: String,
}

impl TreePlace {
    fn new(state_dir: &Path, run: &WorkflowRun, record: RepositoryRecord, tree: TreeRun) -> Self {
        let key = record::key(&record.common_dir);
        let name = match &tree.tree {
            TreeId::Run => "@run".to_owned(),
            TreeId::Task(task) => task.to_string(),
        };
        Self {
            git: Git::new().with_deadline(GIT_DEADLINE),
            allowed: record::programs_of(&record),
            mirror: state_dir.join("trees").join(key).join("mirror.git"),
            references: format!("refs/coven/{}/{name}", run.session()),
            session: run.identity.name.clone(),
            repository: Repository {
                root: record.root.into(),
                git_dir: record.git_dir.into(),
                common_dir: record.common_dir.into(),
            },
            tree,
        }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&self.tree.path)
    }

    /// The repository as seen from the tree.
    fn checkout(&self) -> Result<Repository, TreeError> {
        let git_dir = self.git.worktree_git_dir(&self.repository, &self.path())?;
        Ok(self.repository.in_worktree(&self.path(), &git_dir))
    }

    fn base(&self) -> Result<Commit, TreeError> {
        Ok(self.tree.base.parse()?)
    }

    fn tip(&self) -> Result<Commit, TreeError> {
        let branch = &self.tree.branch;
        let tip = self.git.tip(&self.repository, branch)?;
        tip.ok_or_else(|| TreeError(format!("its branch `{branch}` is gone")))
    }

    fn mirror(&self) -> Result<Mirror, TreeError> {
        Ok(Mirror::open_or_make(&self.git, &self.mirror, &self.repository)?)
    }

    fn make(&self) -> Result<TreeReport, TreeError> {
        let (path, base) = (self.path(), self.base()?);
        let failed = |error: std::io::Error| {
            TreeError(format!("its folder cannot be made: {}: {error}", path.display()))
        };
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        let added = self.git.add_worktree(
            &self.repository,
            &path,
            &self.tree.branch,
            &base,
            &self.allowed,
        )?;
        let list = Path::new(INCLUDE_FILE);
        let included = self.git.copy_included(&self.repository, list, &path, MAX_INCLUDED_BYTES)?;
        self.hold(0)?;
        let mut notes = Vec::new();
        notes.extend(added.hook_failure.map(|words| format!("post-checkout failed: {words}")));
        let off = added.neutralised;
        if !off.is_empty() {
            let names = [off.keys, off.hooks].concat().join(", ");
            notes.push(format!("changed since the run began, and not run: {names}"));
        }
        let skipped = included.skipped.into_iter();
        notes.extend(skipped.map(|file| format!("{}: {}", file.path.display(), file.why)));
        Ok(TreeReport::Ready(TreeReady {
            tree: self.tree.tree.clone(),
            head: self.tip()?.to_string(),
            included: included.copied.len() as u32,
            ports: None,
            notes,
            at: Timestamp::default(),
        }))
    }

    /// Keeps everything in the tree under the reference of this number. Number 0 is what it was made
    /// with, which is kept once.
    fn hold(&self, number: u32) -> Result<(Commit, Vec<String>), TreeError> {
        if !self.path().is_dir() {
            return Err(TreeError(format!("its folder is gone: {}", self.tree.path)));
        }
        let mirror = self.mirror()?;
        let reference = format!("{}/{number}", self.references);
        if number == 0
            && let Some(known) = mirror.commit_of(&reference)?
        {
            return Ok((known, Vec::new()));
        }
        let (base, tip) = (self.base()?, self.tip()?);
        mirror.take_in(&self.repository, &base)?;
        mirror.take_in(&self.repository, &tip)?;
        let parent = match number.checked_sub(1) {
            None => Some(base),
            Some(before) => mirror.commit_of(&format!("{}/{before}", self.references))?,
        };
        let held = mirror.checkpoint(&CheckpointRequest {
            tree: &self.path(),
            parent: parent.as_ref(),
            head: Some(&tip),
            message: &format!("checkpoint {number} of {}", self.tree.tree),
            trailers: &[("Coven-Session", &self.session)],
            author: &Identity::new("coven", "coven@localhost"),
            reference: Some(&reference),
        })?;
        let special = |reason: &NotHeldReason| *reason != NotHeldReason::Submodule;
        let missing = held.not_held.into_iter().filter(|file| special(&file.reason));
        let missing = missing.take(MAX_NAMED_MISSING);
        Ok((held.commit, missing.map(|file| file.path.display().to_string()).collect()))
    }

    fn checkpointed(
        &self,
        job: Option<AttemptId>,
        number: u32,
        committed: bool,
    ) -> Result<TreeReport, TreeError> {
        let (commit, missing) = self.hold(number)?;
        let (first, _) = self.hold(0)?;
        let files = self.mirror()?.changes(&first, &commit)?.len() as u32;
        Ok(TreeReport::Checkpointed(TreeCheckpoint {
            tree: self.tree.tree.clone(),
            job,
            number,
            reference: format!("{}/{number}", self.references),
            commit: commit.to_string(),
            files,
            head: self.tip()?.to_string(),
            committed,
            missing,
            at: Timestamp::default(),
        }))
    }
}
