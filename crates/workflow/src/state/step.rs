//! One step of a run: where it stands, its tasks, and what is counted about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coven_model::event::{InterventionDecision, LoopVerdict, StepOutput, TaskRole};
use coven_model::{InterventionKind, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::chunked_list::ChunkedList;
use super::task::{TaskPhase, TaskRun};
use super::{maybe_shared, shared};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    pub progress: StepProgress,
    /// Its tasks: those of a stage and of a fan-out at the place that their role says, those of a
    /// loop in the order in which they were started.
    pub tasks: ChunkedList<TaskRun>,
    /// What it runs over.
    #[serde(serialize_with = "maybe_shared")]
    pub items: Option<Arc<Vec<Value>>>,
    /// What the arbiter or the check came to, in order.
    pub judged: Vec<RoundVerdict>,
    /// How many rounds it may have.
    pub rounds: u32,
    /// Who let it start, where it had to be asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// How many of its jobs have not ended.
    pub live: u32,
    /// How many of its tasks failed for good.
    pub failed: u32,
    /// The tasks that are to be started again.
    pub ready: BTreeSet<u32>,
    /// The tasks that are to be started again later.
    pub delayed: BTreeMap<u32, Timestamp>,
    /// Its work is done, and the trees of its tasks are being landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landing: Option<StepLanding>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// What a step will have as its result once its trees are landed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepLanding {
    pub summary: String,
    pub output: StepOutput,
    /// Whether a person let them be landed.
    pub approved: bool,
    /// Who said that they are not to be landed.
    pub denied: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "progress")]
pub enum StepProgress {
    /// Its turn has not come.
    Waiting,
    Running,
    /// It waits for a person to decide the intervention of this number.
    Blocked {
        intervention: u64,
    },
    /// A person decided; what follows is not yet written down.
    Decided {
        kind: InterventionKind,
        decision: Box<InterventionDecision>,
    },
    Completed {
        #[serde(serialize_with = "shared")]
        output: Arc<Value>,
        /// The exit code, if it ran one command.
        exit_code: Option<i32>,
    },
    Failed {
        error: String,
        /// Whether the run goes on with the next step.
        continues: bool,
        /// The exit code, if it ran one command.
        exit_code: Option<i32>,
    },
    /// It was left out.
    Skipped {
        reason: String,
    },
}

/// One answer of an arbiter, as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RoundVerdict {
    pub round: u32,
    pub attempt: u32,
    pub verdict: LoopVerdict,
    pub reason: String,
}

impl Default for StepRun {
    fn default() -> Self {
        Self {
            progress: StepProgress::Waiting,
            tasks: ChunkedList::default(),
            items: None,
            judged: Vec::new(),
            rounds: 0,
            approved_by: None,
            live: 0,
            failed: 0,
            ready: BTreeSet::new(),
            delayed: BTreeMap::new(),
            landing: None,
            started_at: None,
            ended_at: None,
        }
    }
}

impl StepRun {
    /// Whether it is over and the next step may follow.
    pub fn is_over(&self) -> bool {
        matches!(
            self.progress,
            StepProgress::Completed { .. }
                | StepProgress::Skipped { .. }
                | StepProgress::Failed { continues: true, .. }
        )
    }

    /// Whether it failed and nothing goes on that needs it.
    pub fn has_failed(&self) -> bool {
        matches!(self.progress, StepProgress::Failed { continues: false, .. })
    }

    /// Whether a task that is not alive is to begin again with a review.
    pub(crate) fn has_waiting_review(&self) -> bool {
        self.tasks.iter().any(TaskRun::waits_with_review)
    }

    /// The place of the task with a role, or the one behind all others if there is none yet.
    pub(crate) fn place(&self, role: TaskRole) -> usize {
        match role {
            TaskRole::Main => 0,
            TaskRole::Stage(place) | TaskRole::Item(place) => place as usize,
            TaskRole::Round(_)
            | TaskRole::Arbiter(_)
            | TaskRole::Check(_)
            | TaskRole::Inner { .. } => {
                // The one that is looked for is nearly always among the last.
                let has_role =
                    |place: &usize| self.tasks.get(*place).is_some_and(|task| task.role == role);
                (0..self.tasks.len()).rev().find(has_role).unwrap_or(self.tasks.len())
            }
        }
    }

    /// The task with a role, if it was started.
    pub(crate) fn task_of(&self, role: TaskRole) -> Option<&TaskRun> {
        self.tasks.get(self.place(role))
    }

    /// A task by its place.
    pub fn task(&self, place: usize) -> Option<&TaskRun> {
        self.tasks.get(place)
    }

    /// Adds the next task. Nothing happens if another one should come first.
    pub(crate) fn add(&mut self, task: TaskRun) {
        if self.place(task.role) == self.tasks.len() {
            self.count(self.tasks.len() as u32, &task.phase, true);
            self.tasks.push(task);
        }
    }

    /// Changes a task and keeps the counts right.
    pub(crate) fn change(&mut self, place: usize, change: impl FnOnce(&mut TaskRun)) {
        let Some(task) = self.tasks.get_mut(place) else { return };
        let before = TaskCounter::of(&task.phase);
        change(task);
        let after = TaskCounter::of(&task.phase);
        if before != after {
            self.mark(place as u32, before, false);
            self.mark(place as u32, after, true);
        }
    }

    fn count(&mut self, place: u32, phase: &TaskPhase, more: bool) {
        self.mark(place, TaskCounter::of(phase), more);
    }

    fn mark(&mut self, place: u32, mark: TaskCounter, more: bool) {
        let count = |number: &mut u32| {
            *number = if more { *number + 1 } else { number.saturating_sub(1) };
        };
        match mark {
            TaskCounter::Live => count(&mut self.live),
            TaskCounter::Failed => count(&mut self.failed),
            TaskCounter::Ready if more => drop(self.ready.insert(place)),
            TaskCounter::Ready => drop(self.ready.remove(&place)),
            TaskCounter::Delayed(due) if more => drop(self.delayed.insert(place, due)),
            TaskCounter::Delayed(_) => drop(self.delayed.remove(&place)),
            TaskCounter::Other => {}
        }
    }

    /// Makes everything that failed or was stopped ready to be tried `attempts` times more.
    pub(crate) fn allow_retries(&mut self, attempts: u32) {
        for place in 0..self.tasks.len() {
            let again = self.tasks.get(place).is_some_and(|task| {
                matches!(task.phase, TaskPhase::Failed { .. } | TaskPhase::Cancelled)
                    || task.waits_with_review()
            });
            if again {
                self.allow_retry(place, attempts);
            }
        }
    }

    /// Makes one task ready to be tried `attempts` times more.
    pub(crate) fn allow_retry(&mut self, place: usize, attempts: u32) {
        self.change(place, |task| {
            task.limit = task.attempt.saturating_add(attempts.max(1));
            task.phase = TaskPhase::Ready { at_once: true };
        });
    }

    /// What the arbiter said in the end about a round.
    pub fn verdict(&self, round: u32) -> Option<&RoundVerdict> {
        self.judged.iter().rev().find(|judged| judged.round == round)
    }

    /// How often in a row the newest answers of a round could not be read.
    pub(crate) fn unreadable_in_a_row(&self, round: u32) -> usize {
        let newest = self.judged.iter().rev().take_while(|judged| {
            judged.round == round && judged.verdict == LoopVerdict::Unreadable
        });
        newest.count()
    }
}

/// What is counted about a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskCounter {
    Live,
    Failed,
    Ready,
    Delayed(Timestamp),
    Other,
}

impl TaskCounter {
    fn of(phase: &TaskPhase) -> Self {
        match phase {
            TaskPhase::Live(_) => Self::Live,
            TaskPhase::Failed { .. } => Self::Failed,
            TaskPhase::Ready { .. } => Self::Ready,
            TaskPhase::Delayed { due } => Self::Delayed(*due),
            TaskPhase::Done { .. } | TaskPhase::Cancelled => Self::Other,
        }
    }
}
