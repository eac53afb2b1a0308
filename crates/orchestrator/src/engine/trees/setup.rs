//! What a project wants done in each new tree, and before one is removed: links into the checkout,
//! ports, and commands that are jobs of their own.

use std::path::{Component, Path};
use std::time::Duration;

use coven_model::{JobTree, PortRange, TreeId};
use coven_workflow::state::{TreeRun, WorkflowRun};

use super::{TreeError, TreeJob, TreePlace, ports};

/// How long a command may take unless the project says another.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(10);

/// How many ports a tree has unless the project says another.
const DEFAULT_PORTS: u16 = 10;

impl TreeJob {
    /// Runs the set-up commands of a new tree, one after the other. The first that fails ends it.
    pub(super) async fn set_up(
        &self,
        run: &WorkflowRun,
        tree: &TreeId,
        ports: Option<PortRange>,
    ) -> Result<(), TreeError> {
        let Some(repository) = run.identity.repository.as_deref() else { return Ok(()) };
        let is_new = run.tree(tree).is_none_or(|tree| is_from_the_user(run, tree));
        self.run_all(run, tree, ports, ("setup", is_new), &repository.setup).await
    }

    /// Runs what is to run in a tree before it is removed.
    pub(super) async fn tear_down(
        &self,
        run: &WorkflowRun,
        tree: &TreeId,
        ports: Option<PortRange>,
    ) -> Result<(), TreeError> {
        let Some(repository) = run.identity.repository.as_deref() else { return Ok(()) };
        self.run_all(run, tree, ports, ("teardown", false), &repository.teardown).await
    }

    async fn run_all(
        &self,
        run: &WorkflowRun,
        tree: &TreeId,
        ports: Option<PortRange>,
        (what, is_new): (&str, bool),
        commands: &[String],
    ) -> Result<(), TreeError> {
        let timeout = run.identity.repository.as_deref().and_then(|found| found.setup_timeout);
        for command in commands {
            let Some(tree) = run.job_tree(tree) else { return Ok(()) };
            let tree = JobTree { ports, ..tree };
            let job = self.command(run, tree, what).await?;
            let job = if is_new { job } else { job.confined(Vec::new()) };
            let done = job.run(command.clone(), timeout.unwrap_or(COMMAND_TIMEOUT)).await;
            done.map_err(|error| TreeError(format!("{what} `{command}` failed: {}", error.0)))?;
        }
        Ok(())
    }
}

/// Whether nothing in a new tree was written by an agent of the run: nothing was brought back in it,
/// and it is at the commit that the run began with.
fn is_from_the_user(run: &WorkflowRun, tree: &TreeRun) -> bool {
    let is_first = run.tree(&TreeId::Run).is_none_or(|first| first.base == tree.base);
    tree.restores.is_none() && is_first
}

impl TreePlace {
    /// The ports of the tree, and why it has none if it should.
    pub(super) fn take_ports(&self) -> (Option<PortRange>, Option<String>) {
        let count = self.record.ports.unwrap_or(DEFAULT_PORTS);
        match ports::take(&self.state_dir, &self.tree.path, count) {
            Ok(ports) => (ports, None),
            Err(error) => (None, Some(format!("it has no ports: {error}"))),
        }
    }

    /// Gives the ports of a tree back that was removed. That fails only until another tree needs
    /// some: those of folders that are gone are free.
    pub(super) fn give_ports_back(&self) {
        let given = ports::give_back(&self.state_dir, &self.tree.path);
        coven_folder::best_effort("give back the ports of a tree", given);
    }

    /// Links what the project wants linked into the tree. A link that git would take for a new file
    /// would be committed, so it is not made; gives what was not made, and why.
    pub(super) fn link_into_checkout(&self) -> Result<Vec<String>, TreeError> {
        let mut notes = Vec::new();
        for name in &self.record.link {
            if let Err(why) = self.link(Path::new(name))? {
                notes.push(format!("{name} is not linked: {why}"));
            }
        }
        Ok(notes)
    }

    fn link(&self, name: &Path) -> Result<Result<(), String>, TreeError> {
        let is_below = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below || name.as_os_str().is_empty() {
            return Ok(Err("it is no path below the checkout".to_owned()));
        }
        let (target, link) = (self.repository.root.join(name), self.path().join(name));
        if std::fs::read_link(&link).is_ok_and(|found| found == target) {
            return Ok(Ok(()));
        }
        if !target.exists() {
            return Ok(Err("it is not in the checkout".to_owned()));
        }
        if std::fs::symlink_metadata(&link).is_ok() {
            return Ok(Err("there is something already".to_owned()));
        }
        if !self.git.is_ignored(&self.checkout()?, name)? {
            return Ok(Err("git does not ignore it".to_owned()));
        }
        let made = std::fs::create_dir_all(link.parent().unwrap_or(&link))
            .and_then(|()| std::os::unix::fs::symlink(&target, &link));
        Ok(made.map_err(|error| error.to_string()))
    }
}
