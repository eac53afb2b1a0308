//! Carries out what is decided about trees: makes them, keeps what is in them, lands and removes
//! them. Every order may be carried out again and then comes to the same.
//!
//! Where git keeps things comes from what was recorded when the session was made, never from the
//! tree, which an agent can write to. Calls of one repository take turns.

mod check_out;
mod checkpoint;
mod comments;
mod commit;
mod compare;
mod head;
mod land;
mod landing_note;
mod left_out;
mod look;
mod merge;
mod newest;
mod patch;
mod ports;
mod record;
mod restore;
mod review;
mod setup;
mod size;
mod stash;
#[cfg(test)]
mod tests;
mod tree_job;
mod turn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_git::{BranchHistory, Commit, ExecutableConfig, Git, Mirror, Repository};
use coven_model::event::TreeReady;
use coven_model::{RepositoryRecord, Timestamp, TreeId, TreeWork};
use coven_workflow::command::TreeOrder;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{TreeRun, WorkflowRun};
use coven_workflow::{SessionInput, State};
use tokio::sync::{mpsc, oneshot};

use self::check_out::BegunTree;
pub(crate) use self::comments::{WantedComments, about, as_written};
use self::commit::CommitJob;
pub(crate) use self::look::{entries, sessions_with_trees};
pub use self::record::NoRepository;
pub(crate) use self::record::{find_repository, moved_repository, repair_worktrees};
pub(crate) use self::review::ReviewText;
use self::turn::RepositoryTurn;
pub(crate) use self::turn::turn_of;
use crate::engine::executor::WorkflowExecutor;
use crate::engine::job::LivePublisher;
use crate::state::SharedFiles;
use crate::state::blocking::blocking;

/// The file that says which ignored files a new tree gets.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// The repository of our own beside one, in its folder in the state folder.
const MIRROR: &str = "mirror.git";

/// What the names of checkpoints begin with.
const REFERENCES: &str = "refs/coven/";

/// How many bytes of them at most.
const MAX_INCLUDED_BYTES: u64 = 256 << 20;

/// How long one call of git may take: a checkout of a large repository on a slow disk.
const GIT_DEADLINE: Duration = Duration::from_mins(10);

/// One order about a tree, with all that it needs.
pub(crate) struct TreeJob {
    pub(crate) executor: WorkflowExecutor,
    pub(crate) state: State,
    pub(crate) files: SharedFiles,
    pub(crate) live: LivePublisher,
    pub(crate) order: TreeOrder,
    /// Set where a person wants a tree removed.
    pub(crate) removal: Option<TreeRemoval>,
}

/// How a person wants a tree removed.
#[derive(Clone, Debug)]
pub(crate) struct TreeRemoval {
    /// The branches that its commits may be on.
    pub(crate) landings: Vec<String>,
    /// Whatever is in it.
    pub(crate) force: bool,
}

impl TreeJob {
    /// Carries the order out and tells what came of it.
    pub(crate) async fn run(self, reports: mpsc::Sender<SessionInput>) {
        let Some(report) = self.carry_out().await else { return };
        // A session that is gone reads what became of it from its journal and orders it again.
        drop(reports.send(SessionInput::Tree(Box::new(report))).await);
    }

    /// The same for one who waits for it.
    pub(crate) async fn run_for(
        self,
        reports: mpsc::Sender<SessionInput>,
        reply: oneshot::Sender<Option<TreeReport>>,
    ) {
        let report = self.carry_out().await;
        if let Some(report) = report.clone() {
            drop(reports.send(SessionInput::Tree(Box::new(report))).await);
        }
        // One who waits no more finds it in the journal.
        drop(reply.send(report));
    }

    async fn carry_out(&self) -> Option<TreeReport> {
        let run = self.state.run()?;
        let tree = run.tree(self.order.tree())?.clone();
        let record = run.identity.repository.as_deref()?.clone();
        let turn = turn_of(&record.common_dir);
        let place = TreePlace::new(&self.executor.shared.state_dir, run, record, tree);
        let (id, work) = (place.tree.tree.clone(), work_of(&self.order));
        let done = self.carry_out_in(run, place, &turn).await;
        Some(done.unwrap_or_else(|error| TreeReport::Failed { tree: id, work, error: error.0 }))
    }

    async fn carry_out_in(
        &self,
        run: &WorkflowRun,
        place: TreePlace,
        turn: &RepositoryTurn,
    ) -> Result<TreeReport, TreeError> {
        match &self.order {
            TreeOrder::Make(tree) => {
                let new = place.clone();
                let made = self.make(run, &place, turn).await?;
                // It may take minutes, and other trees are made meanwhile.
                if let TreeReport::Ready(ready) = &made {
                    self.set_up(run, tree, ready.ports).await?;
                    blocking(move || new.remember_left_out()).await;
                }
                Ok(made)
            }
            TreeOrder::Checkpoint { job, number, .. } => {
                let (job, number) = (job.clone(), *number);
                checkpoint::tried_again(|| {
                    let (place, job) = (place.clone(), job.clone());
                    turn.run(move || place.checkpointed(Some(job), number, false))
                })
                .await
            }
            TreeOrder::Commit { number, .. } => {
                let number = *number;
                let _turn = turn.lock().await?;
                self.commit(&place).await?;
                blocking(move || place.checkpointed(None, number, true)).await
            }
            TreeOrder::Land { .. } => {
                let _turn = turn.lock().await?;
                self.commit(&place).await?;
                let onto = run.tree(&TreeId::Run).cloned();
                let onto = onto.ok_or_else(|| TreeError("the run has no tree".to_owned()))?;
                self.land(run, &place, onto).await
            }
            TreeOrder::Remove { tree } => match self.removal {
                Some(ref removal) => self.prune(run, place, removal, turn).await,
                None => self.remove(run, place, tree, turn).await,
            },
        }
    }

    /// Removes a tree of the run, after what the project wants done before.
    async fn remove(
        &self,
        run: &WorkflowRun,
        place: TreePlace,
        tree: &TreeId,
        turn: &RepositoryTurn,
    ) -> Result<TreeReport, TreeError> {
        let checked = place.clone();
        if let Some(report) = turn.run(move || checked.why_not_removed()).await? {
            return Ok(report);
        }
        self.tear_down(run, tree, place.tree.ports).await?;
        self.recognise_filtered(run, &place, turn).await?;
        turn.run(move || place.remove()).await
    }

    /// Removes a tree for a person.
    async fn prune(
        &self,
        run: &WorkflowRun,
        place: TreePlace,
        removal: &TreeRemoval,
        turn: &RepositoryTurn,
    ) -> Result<TreeReport, TreeError> {
        if !removal.force && place.is_there() {
            self.recognise_filtered(run, &place, turn).await?;
        }
        let (checked, wish) = (place.clone(), removal.clone());
        let would = turn.run(move || checked.would_prune(&wish.landings, wish.force)).await?;
        if matches!(would, TreeReport::Kept { .. }) {
            return Ok(would);
        }
        if place.is_there() {
            let torn_down = self.tear_down(run, &place.tree.tree, place.tree.ports).await;
            // Whoever says so by name wants it gone all the same.
            if !removal.force {
                torn_down?;
            }
        }
        let wish = removal.clone();
        turn.run(move || place.prune(&wish.landings, wish.force)).await
    }

    /// Commits what was left uncommitted in a tree, in the sandbox of whoever worked in it.
    async fn commit(&self, place: &TreePlace) -> Result<(), TreeError> {
        let Some(run) = self.state.run() else { return Ok(()) };
        let found = place.clone();
        blocking(move || {
            found.mend_branch()?;
            found.check_unmerged()?;
            found.bring_branch_to_head()
        })
        .await?;
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
pub(crate) struct TreeError(pub(crate) String);

impl From<coven_git::Error> for TreeError {
    fn from(error: coven_git::Error) -> Self {
        Self(error.to_string())
    }
}

/// One tree and everything that git has to be told about it.
#[derive(Clone)]
pub(crate) struct TreePlace {
    git: Git,
    repository: Repository,
    allowed: ExecutableConfig,
    mirror: PathBuf,
    state_dir: PathBuf,
    record: RepositoryRecord,
    tree: TreeRun,
    /// What its references begin with, before its own name.
    session_references: String,
    /// Trees that are not called like their tasks.
    aliases: BTreeMap<TreeId, String>,
    /// The readable name of the session, for the trailers of commits.
    session: String,
    /// Where branches are, if that was asked for all trees at once.
    known: Option<Arc<BranchHistory>>,
}

/// Where the mirror of a repository lies, by the repository's common folder.
fn mirror_of(state_dir: &Path, common_dir: &str) -> PathBuf {
    state_dir.join("trees").join(record::key(common_dir)).join(MIRROR)
}

/// What the references of a tree are called after that of their session.
fn reference_name(tree: &TreeId) -> String {
    match tree {
        TreeId::Run => "@run".to_owned(),
        TreeId::Task(task) => task.to_string(),
    }
}

impl TreePlace {
    pub(crate) fn new(
        state_dir: &Path,
        run: &WorkflowRun,
        record: RepositoryRecord,
        tree: TreeRun,
    ) -> Self {
        Self {
            git: Git::new().with_deadline(GIT_DEADLINE),
            allowed: record::programs_of(&record),
            mirror: mirror_of(state_dir, record.kept_under()),
            session_references: format!("{REFERENCES}{}", run.session()),
            aliases: run
                .trees()
                .filter_map(|tree| Some((tree.tree.clone(), run.tree_alias(&tree.tree)?)))
                .collect(),
            session: run.identity.name.clone(),
            known: None,
            repository: Repository {
                root: record.root.clone().into(),
                git_dir: record.git_dir.clone().into(),
                common_dir: record.common_dir.clone().into(),
            },
            state_dir: state_dir.to_owned(),
            record,
            tree,
        }
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&self.tree.path)
    }

    /// What the run knows of it.
    pub(crate) fn tree(&self) -> &TreeRun {
        &self.tree
    }

    /// Whether it has files that can be looked at.
    pub(crate) fn is_there(&self) -> bool {
        self.tree.is_ready() && self.path().is_dir()
    }

    /// The repository as seen from the tree.
    fn checkout(&self) -> Result<Repository, TreeError> {
        let git_dir = self.git.worktree_git_dir(&self.repository, &self.path())?;
        Ok(self.repository.in_worktree(&self.path(), &git_dir))
    }

    /// What a commit in the tree writes besides its files.
    fn written_by_commits(&self) -> Result<Vec<PathBuf>, TreeError> {
        Ok(self.git.written_by_commits(&self.checkout()?, &self.tree.branch, &self.allowed)?)
    }

    fn base(&self) -> Result<Commit, TreeError> {
        Ok(self.tree.base.parse()?)
    }

    fn tip(&self) -> Result<Commit, TreeError> {
        let branch = &self.tree.branch;
        let tip = self.git.tip(&self.repository, branch)?;
        if let Some(tip) = tip {
            return Ok(tip);
        }
        let reference = format!("refs/heads/{branch}");
        let (head, session) = (&self.tree.head, &self.session);
        let tree = self.tree.tree.task().map_or("@run", |task| task.as_str());
        Err(TreeError(match self.git.target_of(&self.repository, &reference)? {
            Some(lost) => format!(
                "its branch `{branch}` is at {}, which is gone from the repository; `coven trees \
                 restore {session}/{tree}` brings back what was kept of it",
                head::short(lost.as_str())
            ),
            None if self.git.has_commit(&self.repository, &head.parse()?)? => format!(
                "its branch `{branch}` is gone; `git branch {branch} {head}` makes it again"
            ),
            None => format!(
                "its branch `{branch}` is gone, and so is its last commit {}; `coven trees restore \
                 {session}/{tree}` brings back what was kept of it",
                head::short(head)
            ),
        }))
    }

    fn mirror(&self) -> Result<Mirror, TreeError> {
        Ok(Mirror::open_or_make(&self.git, &self.mirror, &self.repository)?)
    }

    /// Makes the tree without its files, where those go through filters, or else with them. What was
    /// removed is brought back whole.
    fn begin(&self) -> Result<BegunTree, TreeError> {
        let (path, base) = (self.path(), self.base()?);
        let failed = |error: std::io::Error| {
            TreeError(format!("its folder cannot be made: {}: {error}", path.display()))
        };
        std::fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        if let Some(source) = &self.tree.restores {
            return Ok(BegunTree::Restored(self.bring_back(source)?));
        }
        let (git, repository) = (&self.git, &self.repository);
        let begun = git.begin_worktree(repository, &path, &self.tree.branch, &base)?;
        if !begun.is_empty {
            return Ok(BegunTree::Complete);
        }
        if !git.filtered_paths(repository, &base, None)?.is_empty() {
            return Ok(BegunTree::Filtered);
        }
        git.check_files_out(&repository.in_worktree(&path, &begun.git_dir))?;
        Ok(BegunTree::Filled)
    }

    /// The rest, once the files are there.
    fn finish(&self, mut notes: Vec<String>) -> Result<TreeReport, TreeError> {
        let path = self.path();
        let list = Path::new(self.record.include.as_deref().unwrap_or(INCLUDE_FILE));
        let included = self.git.copy_included(&self.repository, list, &path, MAX_INCLUDED_BYTES)?;
        notes.extend(self.link_into_checkout()?);
        self.made_with()?;
        let skipped = included.skipped.into_iter();
        notes.extend(skipped.map(|file| format!("{}: {}", file.path.display(), file.why)));
        self.ready(included.copied.len(), notes)
    }

    fn ready(&self, included: usize, mut notes: Vec<String>) -> Result<TreeReport, TreeError> {
        let (ports, no_ports) = self.take_ports();
        notes.extend(no_ports);
        Ok(TreeReport::Ready(TreeReady {
            tree: self.tree.tree.clone(),
            head: self.tip()?.to_string(),
            included: included as u32,
            ports,
            notes,
            at: Timestamp::default(),
        }))
    }
}
