//! The trees of a run: which there are, what is to be done to each, and which one a task works in.
//!
//! What has to be done follows from the state alone, like all orders ([`WorkflowRun::tree_orders`]),
//! so that a journal that was cut anywhere gives the same orders again.

use coven_model::event::TaskRole;
use coven_model::{
    AttemptId, ConfineMode, JobTree, PermissionLevel, PortRange, SandboxMode, TaskId, TreeId,
    TreeSource, TreeWork,
};
use serde::Serialize;

use super::{RunPhase, StepProgress, StepRun, TaskPhase, WorkflowRun};
use crate::command::TreeOrder;
use crate::plan::{Isolation, LandMode, PlanStep, StepAction};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeRun {
    pub tree: TreeId,
    /// The commit it was made from.
    pub base: String,
    pub branch: String,
    pub path: String,
    /// The checkpoint that is brought back in it, if it was made for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restores: Option<Box<TreeSource>>,
    pub phase: TreePhase,
    /// The tip of its branch, as far as it was told.
    pub head: String,
    pub ports: Option<PortRange>,
    /// What could not be done to it.
    pub problem: Option<TreeProblem>,
    /// The attempt after which a checkpoint is to be made.
    pub checkpoint_due: Option<AttemptId>,
    /// How many checkpoints there are.
    pub checkpoints: u32,
    /// How many files differ from those it was made with, as of the last checkpoint.
    pub changed: u32,
    /// Whether something has worked in it since what was left was last committed.
    pub uncommitted: bool,
    pub landing: LandingPhase,
    /// Why it stays where it is, if it does.
    pub kept: Option<String>,
    /// How often an agent was told to resolve a conflict.
    pub resolutions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TreePhase {
    /// It was asked for.
    Wanted,
    /// It can be worked in.
    Ready,
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TreeProblem {
    pub work: TreeWork,
    pub error: String,
}

/// Whether what was done in a tree has been brought onto the branch it is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "landing")]
pub enum LandingPhase {
    /// Not yet.
    Open,
    Landed {
        /// The branch it was brought onto.
        onto: String,
        /// The tip of that branch afterwards.
        commit: String,
        /// The tip of the tree's branch that was landed.
        tip: String,
    },
    /// Both sides changed the same.
    Conflict { onto: String, paths: Vec<String> },
}

impl TreeRun {
    /// Whether a task can work in it.
    pub fn is_ready(&self) -> bool {
        self.phase == TreePhase::Ready
    }

    /// Whether a checkpoint is to be brought back in it, and that was not done yet.
    fn is_brought_back(&self) -> bool {
        self.phase == TreePhase::Wanted && self.restores.is_some() && self.problem.is_none()
    }

    /// Whether its branch and files are as they were when it was made, as far as it was told.
    pub fn is_empty(&self) -> bool {
        self.head == self.base && self.changed == 0 && !self.uncommitted
    }
}

/// The folder and the branch of a task's tree, after those of its session.
fn own_name(task: &TaskId) -> String {
    let name = task.as_str().replace("..", "-");
    // No branch ends like the locks of git. On a disk on which upper and lower case are the same,
    // `.LOCK` is such an end, too.
    let stem = name.len().saturating_sub(LOCK.len());
    match name.split_at_checked(stem) {
        Some(("", end)) if end.eq_ignore_ascii_case(LOCK) => format!("{name}-tree"),
        Some((stem, end)) if end.eq_ignore_ascii_case(LOCK) && stem.ends_with('.') => {
            format!("{}-{end}", &stem[..stem.len() - 1])
        }
        _ => name,
    }
}

/// The name of a step with which a branch would end like a lock of git.
const LOCK: &str = "lock";

/// What one that may write in a tree is kept from.
struct Confinement {
    files: bool,
    signals: bool,
}

impl Confinement {
    /// That of a task; nothing if it may only read.
    fn of(step: &PlanStep, role: TaskRole) -> Option<Self> {
        let (step, role) = step.of_task(role);
        let (sandbox, confine, permissions) = match (&step.action, role) {
            (_, TaskRole::Arbiter(_)) => return None,
            (action, TaskRole::Check(_)) => {
                let script = &action.check()?.script;
                (script.sandbox, script.confine, Some(PermissionLevel::All))
            }
            (StepAction::Stage { tasks }, TaskRole::Stage(place)) => {
                let agent = &tasks.get(place as usize)?.agent;
                (agent.sandbox, agent.confine, agent.permissions)
            }
            (
                StepAction::Agent { agent }
                | StepAction::AgentLoop { agent, .. }
                | StepAction::ParallelAgents { agent, .. },
                _,
            ) => (agent.sandbox, agent.confine, agent.permissions),
            (
                StepAction::Script { script, .. } | StepAction::Gate { script: Some(script), .. },
                _,
            ) => (script.sandbox, script.confine, Some(PermissionLevel::All)),
            _ => return None,
        };
        // A command that runs without a sandbox is kept from nothing unless its step says so.
        let signals = match confine {
            Some(confine) => confine != ConfineMode::Off,
            None => permissions != Some(PermissionLevel::All),
        };
        let writes =
            sandbox != SandboxMode::ReadOnly && permissions != Some(PermissionLevel::ReadOnly);
        writes.then_some(Self { files: sandbox == SandboxMode::Workspace, signals })
    }
}

impl WorkflowRun {
    pub fn tree(&self, tree: &TreeId) -> Option<&TreeRun> {
        self.trees.get(tree).map(AsRef::as_ref)
    }

    /// All trees, that of the run first.
    pub fn trees(&self) -> impl Iterator<Item = &TreeRun> {
        self.trees.values().map(AsRef::as_ref)
    }

    /// Whether a checkpoint is being brought back, which a run that is over does as well.
    pub fn brings_back(&self) -> bool {
        self.trees().any(TreeRun::is_brought_back)
    }

    /// The tree that a task works in, whether or not it was made.
    pub fn tree_of(&self, step: &PlanStep, role: TaskRole) -> Option<TreeId> {
        self.identity.repository.as_ref()?;
        match self.identity.plan.isolation_of(step, role) {
            Isolation::Task => {
                let id = match (role, &step.action) {
                    (TaskRole::Stage(place), StepAction::Stage { tasks }) => {
                        return Some(TreeId::Task(tasks.get(place as usize)?.id.clone()));
                    }
                    (TaskRole::Item(index), _) => format!("{}.{index}", step.name),
                    // An agent and its arbiter work in the same.
                    _ => step.name.clone(),
                };
                TaskId::new(id).ok().map(TreeId::Task)
            }
            Isolation::Run => Some(TreeId::Run),
            Isolation::Auto if self.identity.plan.has_run_tree() => Some(TreeId::Run),
            Isolation::Auto | Isolation::Shared => None,
        }
    }

    /// The tree that a task was given, by the task's name.
    pub fn tree_of_task(&self, task: &TaskId) -> Option<TreeId> {
        let (place, role) = self.identity.locate(task)?;
        let step = self.identity.plan.steps.get(place)?;
        self.steps.get(place)?.task_of(role)?;
        self.tree_of(step, role).filter(|tree| self.tree(tree).is_some())
    }

    /// Whether what was done may be this task's: its agent may write, and was not asked for a review.
    pub fn is_author(&self, task: &TaskId) -> bool {
        let writes = || {
            let (step, role) = self.identity.locate(task)?;
            self.steps.get(step)?.task_of(role)?;
            Confinement::of(self.identity.plan.steps.get(step)?, role)
        };
        !self.is_reviewer(task) && writes().is_some()
    }

    /// The tasks whose jobs are alive in a tree.
    pub fn working_in<'a>(&'a self, tree: &'a TreeId) -> impl Iterator<Item = &'a TaskId> {
        let is_in = move |live: &crate::state::LiveJob| {
            live.spec.tree.as_ref().is_some_and(|own| own.tree == *tree)
        };
        self.live_jobs().filter(move |(_, live)| is_in(live)).map(|(task, _)| &task.id)
    }

    /// Whether the run itself will land a tree, or ask a person about it.
    pub fn is_to_land(&self, tree: &TreeRun) -> bool {
        !self.is_over() && tree.tree != TreeId::Run && tree.is_ready() && !tree.is_settled()
    }

    /// How commands of ours are confined that read what was written in trees, and may run it: one
    /// that wrote and was confined is enough, because what it wrote may be landed in every tree.
    pub fn confinement_of_tree_commands(&self) -> (SandboxMode, Option<ConfineMode>) {
        let steps = self.identity.plan.steps.iter().zip(self.steps.iter());
        let writers = steps.flat_map(|(step, state)| {
            state.tasks.iter().filter_map(|task| Confinement::of(step, task.role))
        });
        let writers: Vec<Confinement> = writers.collect();
        let sandbox = if writers.iter().any(|writer| writer.files) {
            SandboxMode::Workspace
        } else {
            SandboxMode::Off
        };
        let confine = writers.iter().any(|writer| writer.signals).then_some(ConfineMode::Signals);
        (sandbox, confine)
    }

    /// What a job is told about the tree it works in.
    pub fn job_tree(&self, tree: &TreeId) -> Option<JobTree> {
        let repository = self.identity.repository.as_ref()?;
        let tree = self.tree(tree)?;
        let base_dir = match repository.prefix.as_str() {
            "" => tree.path.clone(),
            prefix => format!("{}/{prefix}", tree.path),
        };
        Some(JobTree {
            tree: tree.tree.clone(),
            path: tree.path.clone(),
            base_dir,
            root: repository.root.clone(),
            branch: tree.branch.clone(),
            base: tree.base.clone(),
            ports: tree.ports,
        })
    }

    /// Where a tree lies and what its branch is called.
    pub(crate) fn tree_place(&self, tree: &TreeId) -> Option<(String, String)> {
        let repository = self.identity.repository.as_ref()?;
        let (folder, branch) = match tree {
            // No task has a name with such a letter.
            TreeId::Run => ("@run".to_owned(), repository.branches.clone()),
            TreeId::Task(task) => {
                let name = self.free_name(task);
                (name.clone(), format!("{}.{name}", repository.branches))
            }
        };
        Some((format!("{}/{folder}", repository.trees), branch))
    }

    /// What a tree is called instead of its task, if another has a name that differs in upper and lower
    /// case alone, or git takes no branch and no reference of that name.
    pub fn tree_alias(&self, tree: &TreeId) -> Option<String> {
        let folder = self.tree(tree)?.path.rsplit('/').next()?;
        (folder != tree.task()?.as_str()).then(|| folder.to_owned())
    }

    /// The name of a task's tree, apart from those of all trees that were asked for: where upper and
    /// lower case are the same, two names that differ in nothing else would be one folder and one
    /// branch.
    fn free_name(&self, task: &TaskId) -> String {
        let name = own_name(task);
        let Some(repository) = &self.identity.repository else { return name };
        let taken: Vec<String> = self
            .trees()
            .filter(|tree| tree.tree != TreeId::Task(task.clone()))
            .map(|tree| tree.path.to_lowercase())
            .collect();
        let is_free =
            |name: &String| !taken.contains(&format!("{}/{name}", repository.trees).to_lowercase());
        let others = (2_u32..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone()).chain(others).find(is_free).unwrap_or(name)
    }

    /// How many tasks of a step may work at the same time. Without trees, agents that write take
    /// turns where the plan wants them apart.
    pub(crate) fn room(&self, step: &PlanStep, most: u32) -> u32 {
        let apart = self.identity.plan.isolation_of(step, TaskRole::Item(0)) == Isolation::Task;
        if apart && self.identity.repository.is_none() { 1 } else { most.max(1) }
    }

    /// Everything that is to be done to trees now.
    pub(crate) fn tree_orders(&self) -> Vec<TreeOrder> {
        if self.trees.is_empty() {
            return Vec::new();
        }
        if self.is_over() {
            // A checkpoint is brought back whenever a person wants it.
            let wanted = self.trees().filter(|tree| tree.is_brought_back());
            return wanted.map(|tree| TreeOrder::Make(tree.tree.clone())).collect();
        }
        let mut orders = Vec::new();
        for tree in self.trees().filter(|tree| tree.problem.is_none()) {
            match tree.phase {
                TreePhase::Wanted => orders.push(TreeOrder::Make(tree.tree.clone())),
                TreePhase::Ready => {
                    orders.extend(tree.checkpoint_due.clone().map(|job| TreeOrder::Checkpoint {
                        tree: tree.tree.clone(),
                        job,
                        number: tree.checkpoints.saturating_add(1),
                    }));
                }
                TreePhase::Removed => {}
            }
        }
        if self.phase != RunPhase::Running {
            return orders;
        }
        if self.commit_is_due()
            && let Some(tree) = self.tree(&TreeId::Run)
        {
            let number = tree.checkpoints.saturating_add(1);
            orders.push(TreeOrder::Commit { tree: TreeId::Run, number });
        }
        orders.extend(self.next_landing().map(|tree| TreeOrder::Land { tree: tree.tree.clone() }));
        if self.current().is_none() && !self.trees_are_busy() && !self.commit_is_due() {
            let removable = self.trees().filter(|tree| tree.is_removable());
            orders.extend(removable.map(|tree| TreeOrder::Remove { tree: tree.tree.clone() }));
        }
        orders
    }

    /// Whether what was left in the tree of the run is to be committed now: because other trees
    /// are made from it, or because the run is at its end.
    pub(crate) fn commit_is_due(&self) -> bool {
        let Some(tree) = self.tree(&TreeId::Run) else { return false };
        let ready = tree.is_ready() && tree.checkpoint_due.is_none();
        if !ready || !tree.uncommitted || tree.problem.is_some() {
            return false;
        }
        if self.current().is_none() {
            return true;
        }
        let is_wanted = self.active().any(|(_, step, state)| self.wants_commit(step, state));
        // Steps that run side by side share the tree of the run.
        is_wanted && self.working_in(&TreeId::Run).next().is_none()
    }

    /// Whether a step goes on only when what was left in the tree of the run is committed.
    fn wants_commit(&self, step: &PlanStep, state: &StepRun) -> bool {
        state.progress == StepProgress::Running && state.live == 0 && self.wants_task_trees(step)
    }

    /// Whether a step must not start anything in the tree of the run now, because another one that
    /// runs beside it needs what is there as it is.
    pub(crate) fn run_tree_is_reserved(&self, by_other_than: u32) -> bool {
        let Some(tree) = self.tree(&TreeId::Run).filter(|tree| tree.problem.is_none()) else {
            return false;
        };
        let mut others = self.active().filter(|(index, ..)| *index != by_other_than);
        others.any(|(index, step, state)| {
            (tree.uncommitted && self.wants_commit(step, state))
                || self.next_landing_of(index).is_some()
        })
    }

    /// Whether tasks of the step have trees of their own.
    pub(crate) fn wants_task_trees(&self, step: &PlanStep) -> bool {
        let roles = match &step.action {
            StepAction::Stage { tasks } => {
                (0..tasks.len() as u32).map(TaskRole::Stage).collect::<Vec<_>>()
            }
            StepAction::ParallelAgents { .. } => vec![TaskRole::Item(0)],
            _ => vec![TaskRole::Main],
        };
        let mut trees = roles.into_iter().filter_map(|role| self.tree_of(step, role));
        trees.any(|tree| tree != TreeId::Run)
    }

    /// Whether something is under way that a run waits for before it ends.
    pub(crate) fn trees_are_busy(&self) -> bool {
        self.trees().filter(|tree| tree.problem.is_none()).any(|tree| {
            tree.phase == TreePhase::Wanted || (tree.is_ready() && tree.checkpoint_due.is_some())
        })
    }

    /// The trees of a step that are to be landed, in the order of their tasks.
    pub(crate) fn landable(&self, step: u32) -> impl Iterator<Item = &TreeRun> {
        let mut trees: Vec<&TreeRun> = Vec::new();
        if let Some((_, step, state)) = self.step_at(step) {
            for task in state.tasks.iter() {
                let tree = self.tree_of(step, task.role).and_then(|tree| self.tree(&tree));
                let Some(tree) = tree.filter(|tree| tree.tree != TreeId::Run) else { continue };
                // One whose agent could not resolve it waits for a person.
                let is_done = matches!(task.phase, TaskPhase::Done { .. })
                    || matches!(tree.landing, LandingPhase::Conflict { .. });
                if is_done && !trees.iter().any(|known| known.tree == tree.tree) {
                    trees.push(tree);
                }
            }
        }
        trees.into_iter()
    }

    /// The tree whose turn it is to be landed: the one that had it, as long as it can be, or else the
    /// first in the order of the plan.
    pub(crate) fn tree_in_turn(&self) -> Option<TreeId> {
        let mut ready = self.active().filter_map(|(index, ..)| self.next_landing_of(index));
        let first = ready.next()?;
        let has_turn = |tree: &&TreeRun| Some(&tree.tree) == self.landing_turn.as_ref();
        let kept = std::iter::once(first).chain(ready).find(has_turn);
        Some(kept.unwrap_or(first).tree.clone())
    }

    /// The next tree to be landed, if nothing stands before it. Steps that run side by side land one
    /// after the other, on a tree in which nothing works.
    fn next_landing(&self) -> Option<&TreeRun> {
        if self.identity.graph().is_none() {
            return self.active().find_map(|(index, ..)| self.next_landing_of(index));
        }
        let next = self.tree(self.landing_turn.as_ref()?)?;
        let own = self.tree(&TreeId::Run);
        let is_committed = own.is_none_or(|own| !own.uncommitted || own.problem.is_some());
        let is_free = self.working_in(&TreeId::Run).next().is_none();
        (is_committed && is_free).then_some(next)
    }

    /// The tree of a step that would be landed next.
    fn next_landing_of(&self, index: u32) -> Option<&TreeRun> {
        let (_, step, state) = self.step_at(index)?;
        let landing = state.landing.as_ref()?;
        let is_let = match step.land.unwrap_or_default() {
            LandMode::InOrder => true,
            LandMode::Ask => landing.approved,
            LandMode::None => false,
        };
        if state.progress != StepProgress::Running || state.live > 0 || !is_let {
            return None;
        }
        let next = self.landable(index).find(|tree| !tree.is_settled())?;
        let free = next.landing == LandingPhase::Open
            && next.problem.is_none()
            && next.is_ready()
            && next.checkpoint_due.is_none();
        free.then_some(next)
    }
}

impl TreeRun {
    /// Whether nothing more is to be done about landing it.
    pub(crate) fn is_settled(&self) -> bool {
        self.kept.is_some() || matches!(self.landing, LandingPhase::Landed { .. })
    }

    /// Whether it may go at the end of the run: what is in it is elsewhere too, or there is
    /// nothing in it.
    pub(crate) fn is_removable(&self) -> bool {
        let nothing_lost = match &self.landing {
            LandingPhase::Landed { tip, .. } => *tip == self.head,
            LandingPhase::Open => self.is_empty(),
            LandingPhase::Conflict { .. } => false,
        };
        self.is_ready() && self.problem.is_none() && self.kept.is_none() && nothing_lost
    }
}
