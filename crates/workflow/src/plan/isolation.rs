//! Where tasks work: in the person's checkout, in a tree of the run, or in trees of their own.

use coven_model::PermissionLevel;
use coven_model::event::TaskRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanStep, StepAction, WorkflowPlan};

/// Where tasks work.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Agents of a fan-out that write have a tree each, and everything else works in the tree of
    /// the run, if it has one.
    Auto,
    /// In the folder that the run belongs to.
    #[default]
    Shared,
    /// In the tree of the run.
    Run,
    /// Each task in a tree of its own.
    Task,
}

impl Isolation {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
    pub(super) fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

/// What becomes of the trees of a step's tasks.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LandMode {
    /// They are landed on the tree of the run, in the order of the tasks.
    #[default]
    InOrder,
    /// The same after a person said so.
    Ask,
    /// They stay as they are.
    None,
}

/// What happens when a tree cannot be landed because both sides changed the same.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// A person is asked.
    #[default]
    Block,
    /// The agent of the task is told to resolve it, once; then a person is asked.
    Agent,
    /// The tree stays as it is, and the run goes on without it.
    Skip,
}

impl WorkflowPlan {
    /// Keeps agents apart like this where the plan says nothing else. A run that is to have a tree has
    /// one then, and in it all that is not kept apart anyway.
    pub fn isolate(&mut self, isolation: Isolation) {
        let has_tree = isolation == Isolation::Run;
        if self.isolation == Isolation::Shared {
            self.isolation = if has_tree { Isolation::Auto } else { isolation };
        }
        self.run_tree |= has_tree;
    }

    /// Where a task of a step works. `Auto` is left where that depends on whether the run has a
    /// tree.
    pub(crate) fn isolation_of(&self, step: &PlanStep, role: TaskRole) -> Isolation {
        let own = match (role, &step.action) {
            (TaskRole::Stage(place), StepAction::Stage { tasks }) => {
                tasks.get(place as usize).and_then(|task| task.isolation)
            }
            _ => None,
        };
        match own.or(step.isolation).unwrap_or(self.isolation) {
            Isolation::Auto => match &step.action {
                StepAction::ParallelAgents { agent, .. }
                    if agent.permissions != Some(PermissionLevel::ReadOnly) =>
                {
                    Isolation::Task
                }
                _ => Isolation::Auto,
            },
            said => said,
        }
    }

    /// Whether the run has a tree of its own: one that other trees are landed on, or one that was
    /// asked for.
    pub fn has_run_tree(&self) -> bool {
        self.run_tree || self.trees().any(|isolation| isolation != Isolation::Auto)
    }

    /// Whether it says that agents are to be kept apart, be it only where that is possible.
    pub fn wants_trees(&self) -> bool {
        self.run_tree || self.trees().next().is_some()
    }

    /// Whether it can not do without trees.
    pub fn needs_trees(&self) -> bool {
        let said = |isolation: Option<Isolation>| {
            matches!(isolation, Some(Isolation::Run | Isolation::Task))
        };
        let of_tasks = |step: &PlanStep| match &step.action {
            StepAction::Stage { tasks } => tasks.iter().any(|task| said(task.isolation)),
            _ => false,
        };
        self.run_tree
            || said(Some(self.isolation))
            || self.steps.iter().any(|step| said(step.isolation) || of_tasks(step))
    }

    /// Where tasks work that do not work in the folder of the run.
    fn trees(&self) -> impl Iterator<Item = Isolation> {
        let of_step = |step: &PlanStep| match &step.action {
            StepAction::Stage { tasks } => {
                let roles = (0..tasks.len() as u32).map(TaskRole::Stage);
                roles.map(|role| self.isolation_of(step, role)).collect::<Vec<_>>()
            }
            StepAction::ParallelAgents { .. } => vec![self.isolation_of(step, TaskRole::Item(0))],
            _ => vec![self.isolation_of(step, TaskRole::Main)],
        };
        let all: Vec<Isolation> = self.steps.iter().flat_map(of_step).collect();
        all.into_iter().filter(|isolation| *isolation != Isolation::Shared)
    }
}
