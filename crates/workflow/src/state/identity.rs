//! What a run was made with. It never changes.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use coven_model::event::{SessionCause, SessionCreated, TaskRole};
use coven_model::{AutoAnswer, RepositoryRecord, SessionId, TaskId, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::shared;
use crate::plan::{StepAction, StepGraph, StepGraphError, WorkflowPlan};

/// What a run was made with.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunIdentity {
    pub session: SessionId,
    pub name: String,
    pub plan: WorkflowPlan,
    /// The inputs by name.
    #[serde(serialize_with = "shared")]
    pub input: Arc<Value>,
    /// What the run is for.
    pub goal: Option<String>,
    /// The folder it belongs to.
    pub base_dir: Option<String>,
    /// How every question of the run is answered without a person, if its caller wants that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoAnswer>,
    /// The event that started it, if its grimoire's trigger did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<SessionCause>,
    /// The repository in whose trees it works, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<Box<RepositoryRecord>>,
    /// Why it works in no trees although its plan would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_trees: Option<String>,
    pub created_at: Timestamp,
    #[serde(skip)]
    index: PlanIndex,
}

/// Where things are in the plan.
#[derive(Clone, Debug, Default)]
struct PlanIndex {
    steps: HashMap<String, usize>,
    stage_tasks: HashMap<TaskId, (usize, usize)>,
    /// Which steps write a variable, in order.
    outputs: HashMap<String, Vec<usize>>,
    /// What needs what, if the steps do not run one after another.
    graph: Option<StepGraph>,
}

impl PlanIndex {
    fn new(plan: &WorkflowPlan) -> Result<Self, StepGraphError> {
        let mut index = Self { graph: StepGraph::of(plan)?, ..Self::default() };
        for (place, step) in plan.steps.iter().enumerate() {
            index.steps.entry(step.name.clone()).or_insert(place);
            if let Some(output) = &step.output {
                index.outputs.entry(output.clone()).or_default().push(place);
            }
            if let StepAction::Stage { tasks } = &step.action {
                for (at, task) in tasks.iter().enumerate() {
                    index.stage_tasks.entry(task.id.clone()).or_insert((place, at));
                }
            }
        }
        Ok(index)
    }
}

impl RunIdentity {
    /// What the fact says, if its plan can be read.
    pub(crate) fn new(created: &SessionCreated) -> Result<Self, serde_json::Error> {
        let plan: WorkflowPlan = serde::Deserialize::deserialize(&created.plan)?;
        let index = PlanIndex::new(&plan).map_err(serde::de::Error::custom)?;
        Ok(Self {
            session: created.session.clone(),
            name: created.name.clone(),
            index,
            input: Arc::new(created.input.clone()),
            goal: created.goal.clone().or_else(|| plan.goal.clone()),
            base_dir: created.base_dir.clone(),
            auto: created.auto,
            cause: created.cause.clone(),
            repository: created.repository.clone(),
            no_trees: created.no_trees.clone(),
            created_at: created.at,
            plan,
        })
    }

    /// The step of this name.
    pub(crate) fn step(&self, name: &str) -> Option<usize> {
        self.index.steps.get(name).copied()
    }

    /// What needs what; nothing if the steps run one after another.
    pub(crate) fn graph(&self) -> Option<&StepGraph> {
        self.index.graph.as_ref()
    }

    /// The steps that can start before any other is over.
    pub(crate) fn first_steps(&self) -> impl Iterator<Item = usize> {
        let is_first = |place: &usize| match &self.index.graph {
            Some(graph) => graph.needs(*place).is_empty(),
            None => *place == 0,
        };
        (0..self.plan.steps.len()).filter(is_first)
    }

    /// The last step before `cursor` that writes this variable.
    pub(crate) fn writer(&self, variable: &str, cursor: usize) -> Option<usize> {
        let writers = self.index.outputs.get(variable)?;
        let before = writers.partition_point(|step| *step < cursor);
        writers.get(before.checked_sub(1)?).copied()
    }

    /// All steps that write this variable, in order.
    pub(crate) fn writers(&self, variable: &str) -> &[usize] {
        self.index.outputs.get(variable).map(Vec::as_slice).unwrap_or_default()
    }

    /// The variables that steps write.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.index.outputs.keys().map(String::as_str)
    }

    /// The step and the role that a task has by its name, whether or not it was ever started.
    pub(crate) fn locate(&self, task: &TaskId) -> Option<(usize, TaskRole)> {
        if let Some((step, place)) = self.index.stage_tasks.get(task) {
            return Some((*step, TaskRole::Stage(u32::try_from(*place).ok()?)));
        }
        let (name, rest) = match task.as_str().split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (task.as_str(), None),
        };
        let step = self.step(name)?;
        let action = &self.plan.steps.get(step)?.action;
        let role = match (action, rest) {
            (
                StepAction::Agent { .. } | StepAction::Script { .. } | StepAction::Gate { .. },
                None,
            ) => TaskRole::Main,
            (StepAction::ParallelAgents { .. } | StepAction::ForEach { .. }, Some(index)) => {
                TaskRole::Item(index.parse().ok()?)
            }
            (StepAction::AgentLoop { .. }, Some(rest)) => {
                let (round, part) = match rest.split_once('.') {
                    Some((round, part)) => (round, Some(part)),
                    None => (rest, None),
                };
                let round: u32 = round.strip_prefix('r')?.parse().ok()?;
                match part {
                    None if round > 0 => TaskRole::Round(round),
                    Some("arbiter") if round > 0 => TaskRole::Arbiter(round),
                    Some("check") => TaskRole::Check(round),
                    _ => return None,
                }
            }
            (StepAction::Loop { steps, .. }, Some(rest)) => {
                let (round, part) = rest.split_once('.')?;
                let round: u32 = round.strip_prefix('r')?.parse().ok()?;
                match steps.iter().position(|step| step.name == part) {
                    Some(place) if round > 0 => {
                        TaskRole::Inner { round, place: u32::try_from(place).ok()? }
                    }
                    None if part == "check" => TaskRole::Check(round),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some((step, role))
    }
}

impl PartialEq for RunIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.session == other.session
            && self.name == other.name
            && self.created_at == other.created_at
            && self.input == other.input
            && self.goal == other.goal
            && self.base_dir == other.base_dir
            && self.auto == other.auto
            && self.cause == other.cause
            && self.repository == other.repository
            && self.plan == other.plan
    }
}

impl Eq for RunIdentity {}

/// By the id alone: a plan may be large, and two different runs never have the same id.
impl Hash for RunIdentity {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.session.hash(hasher);
    }
}
