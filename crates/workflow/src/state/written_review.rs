//! The reviews that tasks with `expect: comments` have answered with.

use coven_model::event::TaskRole;
use coven_model::{AttemptId, TaskId, Timestamp, TreeId, WrittenReview};

use super::{TaskPhase, TaskRun, WorkflowRun};
use crate::expect::{ExpectedOutput, comments};
use crate::plan::{PlanStep, StepAction, stage_task};

/// A review that a task has answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskComments {
    pub step: String,
    /// The attempt that wrote it.
    pub job: AttemptId,
    /// The tree it worked in; none if that was the folder of the session.
    pub tree: Option<TreeId>,
    pub ended_at: Option<Timestamp>,
    pub review: WrittenReview,
}

impl PlanStep {
    /// What the output of a task of the step must be.
    pub(crate) fn expected(&self, role: TaskRole) -> &ExpectedOutput {
        let (step, role) = self.of_task(role);
        match (&step.action, role) {
            (_, TaskRole::Arbiter(_) | TaskRole::Check(_))
            | (StepAction::Gate { .. } | StepAction::Loop { .. } | StepAction::ForEach { .. }, _) => {
                &ExpectedOutput::Text
            }
            (
                StepAction::Agent { agent }
                | StepAction::AgentLoop { agent, .. }
                | StepAction::ParallelAgents { agent, .. },
                _,
            ) => &agent.expect,
            (StepAction::Script { expect, .. }, _) => expect,
            (StepAction::Stage { tasks }, role) => {
                stage_task(tasks, role).map_or(&ExpectedOutput::Text, |task| &task.agent.expect)
            }
        }
    }
}

impl WorkflowRun {
    /// Whether a step or a task of this name answers with comments.
    pub fn answers_with_comments(&self, name: &str) -> bool {
        let steps = self.identity.plan.steps.iter();
        let step = steps.filter(|step| step.name == name);
        let step = step.flat_map(|step| match &step.action {
            StepAction::Stage { tasks } => {
                (0..tasks.len() as u32).map(|at| step.expected(TaskRole::Stage(at))).collect()
            }
            StepAction::Loop { .. } | StepAction::ForEach { .. } => {
                step.inner().iter().map(|inner| inner.expected(TaskRole::Main)).collect()
            }
            _ => vec![step.expected(TaskRole::Main)],
        });
        let mut known = step.chain(self.expected_of(name));
        known.any(|expected| *expected == ExpectedOutput::Comments)
    }

    /// Whether the answer of a task is shown as comments.
    pub(crate) fn is_reviewer(&self, task: &TaskId) -> bool {
        self.expected_of(task.as_str()) == Some(&ExpectedOutput::Comments)
    }

    fn expected_of(&self, task: &str) -> Option<&ExpectedOutput> {
        let (step, role) = self.identity.locate(&TaskId::new(task).ok()?)?;
        self.steps.get(step)?.task_of(role)?;
        Some(self.identity.plan.steps.get(step)?.expected(role))
    }

    /// The reviews that were written, in the order of their tasks. Of a loop it is that of its last
    /// round, which has seen the others.
    pub fn written_reviews(&self) -> Vec<TaskComments> {
        let mut found = Vec::new();
        for (step, state) in self.identity.plan.steps.iter().zip(self.steps.iter()) {
            let mut of_step = state.tasks.iter().filter_map(|task| {
                let is_review = *step.expected(task.role) == ExpectedOutput::Comments;
                if is_review { self.comments_of(step, task) } else { None }
            });
            if step.action.rounds().is_some() {
                found.extend(of_step.next_back());
            } else {
                found.extend(of_step);
            }
        }
        found
    }

    fn comments_of(&self, step: &PlanStep, task: &TaskRun) -> Option<TaskComments> {
        let TaskPhase::Done { value, .. } = &task.phase else { return None };
        let review = comments::review(value).ok()?;
        Some(TaskComments {
            step: step.name.clone(),
            job: AttemptId { task: task.id.clone(), attempt: task.attempt },
            tree: self.tree_of(step, task.role).filter(|tree| self.tree(tree).is_some()),
            ended_at: task.ended_at,
            review,
        })
    }
}
