//! Trees: a task whose tree is not there waits for it; what is done in trees is landed before the
//! step is over, and a tree goes only when nothing in it is lost.

use coven_model::event::{SessionEvent, StepOutput, TaskRole, TreeWanted};
use coven_model::{Intervention, InterventionKind, TaskId, TreeId, TreeSource, TreeWork};

use super::DecisionDraft;
use super::spec::local;
use crate::command::Command;
use crate::input::TreeReport;
use crate::plan::{LandMode, OnConflict, PlanStep, StepAction};
use crate::rules::DecisionRule;
use crate::state::{
    LandingPhase, RunPhase, State, StepRun, TaskPhase, TaskVariables, TreePhase, TreeRun,
    WorkflowRun,
};

/// How many files are named in a sentence.
const MAX_NAMED_PATHS: usize = 5;

impl DecisionDraft {
    /// The orders about trees that follow now and did not follow before.
    pub(super) fn order_trees(&mut self, before: &State) {
        let orders = |state: &State| state.run().map(WorkflowRun::tree_orders).unwrap_or_default();
        let known = orders(before);
        let new = orders(&self.state).into_iter().filter(|order| !known.contains(order));
        self.commands.extend(new.map(Command::Tree));
    }

    /// What became of an order. One that comes twice or too late changes nothing.
    pub(super) fn tree_reported(&mut self, report: TreeReport) {
        let at = self.now;
        let find = |tree: &TreeId| self.run().and_then(|run| run.tree(tree));
        match report {
            TreeReport::Wanted(mut wanted) => {
                let has_repository =
                    self.run().is_some_and(|run| run.identity.repository.is_some());
                if has_repository && wanted.restores.is_some() && find(&wanted.tree).is_none() {
                    wanted.at = at;
                    self.record(SessionEvent::TreeWanted(Box::new(wanted)));
                }
            }
            TreeReport::Ready(mut ready) => {
                let wanted = find(&ready.tree).filter(|tree| tree.phase == TreePhase::Wanted);
                let Some(wanted) = wanted else { return };
                let why = wanted.restores.as_ref().map(|source| {
                    let TreeSource { tree, checkpoint, by, .. } = &**source;
                    format!("checkpoint {checkpoint} of {tree} was brought back in it by {by}")
                });
                ready.at = at;
                let tree = ready.tree.clone();
                self.record(SessionEvent::TreeReady(Box::new(ready)));
                if let Some(why) = why {
                    self.record(SessionEvent::TreeKept { tree, why, at });
                }
            }
            TreeReport::Failed { tree, work, error } => {
                let fits = find(&tree).is_some_and(|tree| match work {
                    TreeWork::Make => tree.phase == TreePhase::Wanted,
                    TreeWork::Land => !tree.is_settled(),
                    _ => tree.is_ready(),
                });
                if fits {
                    self.record(SessionEvent::TreeFailed { tree, work, error, at });
                }
            }
            TreeReport::Checkpointed(mut checkpoint) => {
                let fits = |tree: &TreeRun| checkpoint.number > tree.checkpoints;
                if find(&checkpoint.tree).is_some_and(fits) {
                    checkpoint.at = at;
                    self.record(SessionEvent::TreeCheckpoint(Box::new(checkpoint)));
                }
            }
            TreeReport::Landed(mut landed) => {
                let is_known = find(&landed.tree).is_some_and(|tree| {
                    matches!(
                        &tree.landing,
                        LandingPhase::Landed { onto, tip, .. }
                            if *onto == landed.onto && *tip == landed.tip
                    )
                });
                if find(&landed.tree).is_some()
                    && (!is_known || !self.holds(DecisionRule::LandedOnce))
                {
                    landed.at = at;
                    self.record(SessionEvent::TreeLanded(Box::new(landed)));
                }
            }
            TreeReport::Conflicted { tree, onto, paths } => {
                if find(&tree).is_some_and(|tree| tree.landing == LandingPhase::Open) {
                    self.record(SessionEvent::TreeConflict { tree, onto, paths, at });
                }
            }
            TreeReport::Kept { tree, why } => {
                let is_new = |tree: &TreeRun| tree.is_ready() && tree.kept.as_ref() != Some(&why);
                if find(&tree).is_some_and(is_new) {
                    self.record(SessionEvent::TreeKept { tree, why, at });
                }
            }
            TreeReport::Removed { tree, tip, notes } => {
                if find(&tree).is_some_and(|tree| tree.phase != TreePhase::Removed) {
                    self.record(SessionEvent::TreeRemoved { tree, tip, notes, at });
                }
            }
        }
    }

    /// Whether the task may start as far as its tree is concerned. If the tree was never asked
    /// for, it is now.
    pub(super) fn tree_is_ready(&mut self, role: TaskRole) -> bool {
        let Some(run) = self.run() else { return false };
        let Some((index, step, _)) = self.current() else { return false };
        let Some(id) = run.tree_of(step, role) else { return true };
        if id == TreeId::Run && run.identity.graph().is_some() && run.run_tree_is_reserved(index) {
            return false;
        }
        match run.tree(&id) {
            Some(tree) if tree.phase == TreePhase::Wanted => !self.holds(DecisionRule::TreeFirst),
            // The next may write over what was done there.
            Some(tree) if tree.checkpoint_due.is_some() && tree.problem.is_none() => {
                !self.holds(DecisionRule::KeptFirst)
            }
            // One that was removed is missed by its job, which says so.
            Some(_) => true,
            None => {
                self.want_tree(id);
                false
            }
        }
    }

    /// Asks for a tree. Trees of tasks are made from what the tree of the run has committed.
    fn want_tree(&mut self, tree: TreeId) {
        let Some(run) = self.run() else { return };
        let Some(repository) = &run.identity.repository else { return };
        let base = if tree == TreeId::Run {
            repository.head.clone()
        } else {
            match run.tree(&TreeId::Run) {
                None => return self.want_tree(TreeId::Run),
                Some(own) if !own.is_ready() || own.uncommitted || own.problem.is_some() => {
                    return;
                }
                Some(own) => own.head.clone(),
            }
        };
        let Some((path, branch)) = run.tree_place(&tree) else { return };
        let wanted = TreeWanted { tree, base, branch, path, restores: None, at: self.now };
        self.record(SessionEvent::TreeWanted(Box::new(wanted)));
    }

    /// Something that could not be done to a tree of the step goes to a person; whether there is
    /// such a thing.
    pub(super) fn ask_about_tree(&mut self) -> bool {
        let Some(run) = self.run() else { return false };
        let Some((index, step, _)) = self.current() else { return false };
        let is_of_step = |tree: &TreeRun| match tree.tree.task() {
            None => true,
            Some(task) => run.active_of(task) == Some(index) || task.as_str() == step.name,
        };
        let found = run.trees().find_map(|tree| {
            let problem = tree.problem.as_ref().filter(|_| is_of_step(tree))?;
            let what = problem.work.as_participle();
            let reason =
                format!("the tree of {} could not be {what}: {}", tree.tree, problem.error);
            Some((tree.tree.task().cloned(), problem.work, reason))
        });
        let Some((task, work, reason)) = found else { return false };
        // That of the run may be asked about by another step already.
        let is_asked = |asked: &Intervention| {
            asked.kind == InterventionKind::TreeProblem && asked.task == task
        };
        if run.identity.graph().is_some() && run.interventions().any(is_asked) {
            return true;
        }
        let kind = InterventionKind::TreeProblem;
        let Some(mut intervention) = self.intervention(kind, task, reason) else { return false };
        if work != TreeWork::Land {
            let skip = coven_model::InterventionChoice::Skip;
            intervention.options.retain(|choice| *choice != skip);
        }
        let intervention = Box::new(intervention);
        self.record(SessionEvent::InterventionRequired { intervention, attempt: None });
        true
    }

    /// The work of a step is done: its trees are landed first, if it has any.
    pub(super) fn complete_step(&mut self, output: StepOutput, summary: String) {
        let Some(run) = self.run() else { return };
        let Some((index, step, state)) = self.current() else { return };
        let lands = run.wants_task_trees(step) && state.landing.is_none();
        if lands && self.holds(DecisionRule::LandFirst) {
            let (step, at) = (step.name.clone(), self.now);
            return self.record(SessionEvent::StepLanding { step, index, summary, output, at });
        }
        self.step_completed(output, summary);
    }

    /// Lands the trees of the step, one after the other, and then the step is over.
    pub(super) fn settle_landing(&mut self) {
        let Some(run) = self.run() else { return };
        let Some((index, step, state)) = self.current() else { return };
        let Some(landing) = &state.landing else { return };
        if state.live > 0 {
            return;
        }
        // One that was to resolve a conflict is tried again if its step says so.
        let again = state.ready.iter().chain(state.delayed.keys()).next().copied();
        if let Some(place) = again {
            return self.start_if_due(place as usize);
        }
        // One that could not do what a review asks for is not landed as if it had been.
        let failed = state
            .tasks
            .iter()
            .find(|task| task.review.is_some() && matches!(task.phase, TaskPhase::Failed { .. }));
        if let Some(task) = failed {
            let (id, error) = (task.id.clone(), super::single::reason(task));
            let kind = super::single::failure(task, InterventionKind::FailedStep);
            return self.open_intervention(kind, Some(id), error);
        }
        let open: Vec<TreeRun> =
            run.landable(index).filter(|tree| !tree.is_settled()).cloned().collect();
        let Some(next) = open.first() else {
            let (output, summary) = (landing.output.clone(), landing.summary.clone());
            return self.step_completed(output, summary);
        };
        let (mode, on_conflict) =
            (step.land.unwrap_or_default(), step.on_conflict.unwrap_or_default());
        let why = match (&landing.denied, mode) {
            (Some(by), _) => Some(format!("{by} said that it is not to be landed")),
            (None, LandMode::None) => Some("the step does not land it".to_owned()),
            _ => None,
        };
        if let Some(why) = why {
            let (tree, at) = (next.tree.clone(), self.now);
            return self.record(SessionEvent::TreeKept { tree, why, at });
        }
        if mode == LandMode::Ask && !landing.approved {
            let trees =
                if open.len() == 1 { "tree".to_owned() } else { format!("{} trees", open.len()) };
            let reason = format!("step `{}` asks whether its {trees} may be landed", step.name);
            return self.ask_for_approval(InterventionKind::Landing, reason, None);
        }
        // Landing one that is free is ordered by the state; then there is only to wait.
        if let LandingPhase::Conflict { onto, paths } = &next.landing {
            self.settle_conflict(next, onto, paths, on_conflict);
        }
    }

    fn settle_conflict(
        &mut self,
        tree: &TreeRun,
        onto: &str,
        paths: &[String],
        on_conflict: OnConflict,
    ) {
        let reason = format!(
            "what was done in the tree of {} conflicts with {onto} in {}",
            tree.tree,
            named(paths)
        );
        match on_conflict {
            OnConflict::Agent if tree.resolutions == 0 => {
                if let Some(task) = tree.tree.task().cloned() {
                    self.start_resolution(&task);
                }
            }
            OnConflict::Skip => {
                let (tree, at) = (tree.tree.clone(), self.now);
                self.record(SessionEvent::TreeKept { tree, why: reason, at });
            }
            OnConflict::Block | OnConflict::Agent => {
                let task = tree.tree.task().cloned();
                self.open_intervention(InterventionKind::MergeConflict, task, reason);
            }
        }
    }

    /// The task whose tree stands before all others that are to be landed, and conflicts.
    pub(super) fn conflicting(&self) -> Option<TaskId> {
        let (index, ..) = self.current()?;
        let mut open = self.run()?.landable(index).filter(|tree| !tree.is_settled());
        let is_conflict = |tree: &&TreeRun| matches!(tree.landing, LandingPhase::Conflict { .. });
        open.next().filter(is_conflict)?.tree.task().cloned()
    }

    /// The agent of a task is started again, to resolve the conflict in its tree.
    pub(super) fn start_resolution(&mut self, task: &TaskId) {
        let role = self.run().zip(self.current());
        let role = role.and_then(|(run, (index, ..))| run.resolver(index, task));
        match role {
            Some(role) => self.start(role),
            None => self.step_failed(format!("there is no agent for the tree of {task}"), false),
        }
    }

    /// At the end of a run: what is not elsewhere stays, and is said; whether all is done.
    pub(super) fn settle_trees(&mut self) -> bool {
        let Some(run) = self.run() else { return true };
        if run.trees_are_busy() || run.commit_is_due() {
            return false;
        }
        let kept = run.trees().find_map(|tree| {
            let stays = tree.is_ready() && !tree.is_removable() && tree.kept.is_none();
            stays.then(|| (tree.tree.clone(), why_kept(tree)))
        });
        if let Some((tree, why)) = kept {
            self.record(SessionEvent::TreeKept { tree, why, at: self.now });
            return false;
        }
        !run.trees().any(TreeRun::is_removable) || !self.holds(DecisionRule::RemovedFirst)
    }
}

fn why_kept(tree: &TreeRun) -> String {
    if let Some(problem) = &tree.problem {
        return format!("it could not be {}: {}", problem.work.as_participle(), problem.error);
    }
    format!("what was done in it is on `{}` alone", tree.branch)
}

/// The first few files.
fn named(paths: &[String]) -> String {
    let first: Vec<&str> = paths.iter().take(MAX_NAMED_PATHS).map(String::as_str).collect();
    match paths.len().saturating_sub(MAX_NAMED_PATHS) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// What an agent is told about a conflict in its tree.
pub(super) fn resolution_prompt(run: &WorkflowRun, tree: &TreeId) -> Option<String> {
    let tree = run.tree(tree)?;
    let LandingPhase::Conflict { onto, paths } = &tree.landing else { return None };
    Some(format!(
        "Your work in this folder is on the branch `{}`. It conflicts with the branch `{onto}` in \
         these files:\n{}\n\nMerge `{onto}` into your branch (`git merge {onto}`), resolve the \
         conflicts so that the intent of both sides is kept, and commit the merge. Do not change \
         anything else, and do not change other branches.",
        tree.branch,
        paths.iter().map(|path| format!("- {path}")).collect::<Vec<_>>().join("\n"),
    ))
}

impl WorkflowRun {
    /// The role of the agent of a step that worked last in the tree of a task.
    fn resolver(&self, step: u32, task: &TaskId) -> Option<TaskRole> {
        let (_, step, state) = self.step_at(step)?;
        let tree = TreeId::Task(task.clone());
        let mut tasks = state.tasks.iter().rev();
        // Of a loop of several steps, a command cannot resolve anything.
        let is_command = |role: TaskRole| {
            let inner = step.of_task(role).0;
            !step.inner().is_empty() && !matches!(inner.action, StepAction::Agent { .. })
        };
        let found = tasks.find(|task| {
            self.tree_of(step, task.role).as_ref() == Some(&tree)
                && !task.role.is_judge()
                && !is_command(task.role)
        });
        found.map(|task| task.role)
    }

    /// The step that works in a tree, or else the one whose turn it is.
    fn working_on(&self, tree: &TreeId) -> Option<(u32, &PlanStep, &StepRun)> {
        let task = tree.task();
        let by_task = task.and_then(|task| self.active_of(task));
        let index = by_task.or_else(|| self.active_named(task?.as_str()));
        index.and_then(|index| self.step_at(index)).or_else(|| self.current())
    }

    /// The name of the step that works in a tree, or else of the one whose turn it is.
    pub fn step_of_tree(&self, tree: &TreeId) -> Option<&str> {
        self.working_on(tree).map(|(_, step, _)| step.name.as_str())
    }

    /// The message of the commit with what was left uncommitted in a tree.
    pub fn commit_message(&self, tree: &TreeId) -> String {
        let fallback = || {
            let goal = self.identity.goal.as_deref().unwrap_or(&self.identity.plan.name);
            let goal = goal.lines().next().unwrap_or_default();
            format!("{}: {goal}", self.identity.name)
        };
        let Some(id) = tree.task() else { return fallback() };
        let Some((index, step, state)) = self.working_on(tree) else { return fallback() };
        let role = self.resolver(index, id);
        let task = role.and_then(|role| state.task_of(role));
        if let (Some(template), Some(role)) = (&step.commit, role) {
            let local = local(self, step, state, role);
            let names = TaskVariables { run: self, step: index, local };
            if let Ok(text) = names.text(step, "commit", template)
                && !text.trim().is_empty()
            {
                return text;
            }
        }
        let answer = match task.map(|task| &task.phase) {
            Some(TaskPhase::Done { value, .. }) => super::spec::summary(value),
            _ => String::new(),
        };
        if answer.is_empty() { id.to_string() } else { format!("{id}: {answer}") }
    }

    /// Whether it waits for its trees and nothing else.
    pub fn waits_for_trees(&self) -> bool {
        self.phase == RunPhase::Running && !self.tree_orders().is_empty()
    }
}
