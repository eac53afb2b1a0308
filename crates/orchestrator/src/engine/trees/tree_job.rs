//! Commands that run in a tree: the user's hooks at a commit, set-up and teardown. Each is a job like an
//! agent's own, under a holder, with a tape, under the name of its task with an end such as `.setup`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use coven_model::{
    AttemptId, ConfineMode, ExitCodes, JobId, JobOutcome, JobSpec, JobTree, JobWork, SandboxMode,
    ShellWork, TaskId, TreeId,
};
use coven_runtime::hold::HolderFolder;
use coven_runtime::processes::Identity;
use coven_store::Attempt;
use coven_workflow::SessionInput;
use coven_workflow::state::WorkflowRun;
use coven_workflow::view::SessionViewBuilder;
use tokio::sync::mpsc;

use super::{TreeError, TreeJob};
use crate::engine::executor::{JobFolders, JobRoom};
use crate::state::blocking::blocking;

/// How many reports of such a job may wait; there are a few.
const MAX_REPORTS: usize = 16;

/// How long the holder of a command may take to be gone once that has ended.
const HOLDER_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked whether it is: nothing tells the end of a process that is not a child.
const HOLDER_EXIT_INTERVAL: Duration = Duration::from_millis(5);

/// How many lines of what a command printed are told.
const MAX_TOLD_LINES: usize = 12;

/// A command that is about to run in a tree.
pub(super) struct TreeCommand<'a> {
    job: &'a TreeJob,
    run: &'a WorkflowRun,
    tree: JobTree,
    attempt: AttemptId,
    folders: JobFolders,
    sandbox: SandboxMode,
    confine: Option<ConfineMode>,
}

impl TreeJob {
    /// Makes the folder of a command that runs in a tree. One whose process was started before this
    /// daemon did, and that has not ended, is taken up.
    pub(super) async fn command<'a>(
        &'a self,
        run: &'a WorkflowRun,
        tree: JobTree,
        what: &str,
    ) -> Result<TreeCommand<'a>, TreeError> {
        let name = match &tree.tree {
            TreeId::Run => format!("run.{what}"),
            TreeId::Task(task) => format!("{task}.{what}"),
        };
        let task = TaskId::new(name).map_err(|error| TreeError(error.to_string()))?;
        let (files, state) = (self.files.clone(), self.state.clone());
        let (attempt, made) = blocking(move || {
            let files = files.lock();
            let mut attempt = AttemptId { task, attempt: 1 };
            // Each try has a folder of its own, unless the last one goes on.
            while files.attempt(&attempt).is_some_and(|found| !goes_on(&found)) {
                attempt.attempt += 1;
            }
            let made = JobFolders::make(&files, &state, &attempt, JobRoom::Needed);
            (attempt, made)
        })
        .await;
        let (room, folders) = made;
        room.map_err(|error| TreeError(error.to_string()))?;
        let (sandbox, confine) = (SandboxMode::Off, None);
        Ok(TreeCommand { job: self, run, tree, attempt, folders, sandbox, confine })
    }
}

impl TreeCommand<'_> {
    /// The folder of the attempt.
    pub(super) fn folder(&self) -> Result<PathBuf, TreeError> {
        self.folders.path().map_err(TreeError)
    }

    /// Confines it as those are that worked in the trees of the run: it reads what they wrote, and
    /// may run it. `also_writes` is what it has to write besides the tree.
    pub(super) fn confined(mut self, also_writes: Vec<PathBuf>) -> Self {
        (self.sandbox, self.confine) = self.run.confinement_of_tree_commands();
        self.folders.may_write(also_writes);
        self
    }

    /// Runs a text by bash, to its end. An error has the last of what it printed.
    pub(super) async fn run(self, text: String, timeout: Duration) -> Result<(), TreeError> {
        let spec = self.spec(text, timeout);
        let folder = self.folder();
        let (reports, mut reported) = mpsc::channel(MAX_REPORTS);
        let (live, run) = (self.job.live.clone(), (&self.job.state, SessionViewBuilder::default()));
        let handle = self.job.executor.start(run, self.folders, spec, reports, live);
        let outcome = loop {
            match reported.recv().await {
                Some(SessionInput::Ended { outcome, .. }) => break Some(outcome),
                Some(SessionInput::Lost(_)) | None => break None,
                Some(_) => {}
            }
        };
        drop(handle);
        if let Ok(folder) = folder {
            holder_is_gone(folder).await;
        }
        match outcome {
            Some(outcome) if outcome.ok => Ok(()),
            Some(outcome) => Err(TreeError(told(*outcome))),
            None => Err(TreeError(format!("{} was interrupted", self.attempt.task))),
        }
    }

    fn spec(&self, text: String, timeout: Duration) -> JobSpec {
        let step = self.run.step_of_tree(&self.tree.tree).unwrap_or_default().to_owned();
        JobSpec {
            job: JobId { session: self.run.session().clone(), attempt: self.attempt.clone() },
            step,
            name: self.attempt.task.to_string(),
            work: JobWork::Shell(ShellWork {
                text,
                shell: None,
                variables: Vec::new(),
                files: Vec::new(),
            }),
            tree: Some(Box::new(self.tree.clone())),
            cwd: None,
            env: BTreeMap::new(),
            timeout: Some(timeout),
            ok_exit_codes: ExitCodes::default(),
            sandbox: self.sandbox,
            confine: self.confine,
            approved_by: None,
            domain: None,
            size: None,
        }
    }
}

/// Comes back when the holder of a job that has ended is gone. It is a process with the tree as its
/// folder, so as long as it is there somebody seems to work in the tree.
async fn holder_is_gone(folder: PathBuf) {
    let known = blocking(move || HolderFolder::new(&folder).spawn_record()).await;
    let Some(holder) = known.ok().flatten().and_then(|record| record.holder) else { return };
    let deadline = tokio::time::Instant::now() + HOLDER_EXIT_TIMEOUT;
    while holder.is_running() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(HOLDER_EXIT_INTERVAL).await;
    }
}

/// Whether something may still come of an attempt: its process runs, has ended and was not asked yet,
/// or was never started.
fn goes_on(attempt: &Attempt) -> bool {
    if attempt.is_killed().unwrap_or(true) || !matches!(attempt.outcome(), Ok(None)) {
        return false;
    }
    let folder = HolderFolder::new(attempt.path());
    match folder.spawn_record() {
        Ok(None) => true,
        Ok(Some(record)) => {
            let known: Vec<Identity> = record.holder.into_iter().chain(record.process).collect();
            // One that was just asked for is taken back when it is taken up.
            known.is_empty()
                || matches!(folder.exit(), Ok(Some(_)))
                || known.into_iter().any(Identity::is_running)
        }
        Err(_) => false,
    }
}

/// How a command ended that failed, with the last of what it printed.
fn told(outcome: JobOutcome) -> String {
    let printed = [outcome.output, outcome.stderr].into_iter().flatten();
    let printed: Vec<String> =
        printed.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let end = printed.len().saturating_sub(MAX_TOLD_LINES);
    format!("{}\n{}", outcome.reason, printed[end..].join("\n")).trim_end().to_owned()
}
