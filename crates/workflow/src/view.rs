//! Shows a run to people: the readable view of its session, and its plan as rows and lanes. Made
//! from the state and the facts; nothing is decided here.

mod history;
mod plan;

use std::sync::Arc;

use coven_model::view::{ErrorEntry, LargeValueReference, SessionView, VIEW_VERSION};
use coven_model::{ContentDigest, SessionEvent, TaskId, TaskStatus, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

pub use history::RunHistory;
pub use plan::{dry_run, plan_view};

use crate::plan::StepAction;
use crate::state::{State, WorkflowRun};

/// A value larger than this, as JSON, is kept aside.
pub(crate) const MAX_INLINE_BYTES: usize = 64 * 1024;

/// How many characters of such a value are shown.
const BEGINNING_CHARS: usize = 500;

/// Makes the readable view of one session, again and again as it goes on. Cheap to copy.
#[derive(Clone, Debug, Default)]
pub struct SessionViewBuilder {
    history: RunHistory,
    /// Large values, so that each is written and digested once. Copies share them.
    large: Arc<Mutex<Vec<LargeValue>>>,
}

/// A value that is kept aside.
#[derive(Clone, Debug)]
pub struct LargeValue {
    /// The digest of its JSON, under which it is kept.
    pub digest: ContentDigest,
    /// How long its JSON is.
    pub bytes: usize,
    /// The first characters of the text, or of the JSON of another value.
    beginning: String,
    pub value: Arc<Value>,
    /// Whether it is where views say that it is.
    is_kept: bool,
}

impl SessionViewBuilder {
    /// Takes note of a fact that was recorded at this time, in the order of the journal.
    pub fn record(&mut self, time: Timestamp, event: &SessionEvent) {
        self.history.record(time, event);
    }

    /// The view of the session as it is; nothing if there is no session yet.
    pub fn session(&self, state: &State) -> Option<SessionView> {
        let run = state.run()?;
        let identity = &run.identity;
        let mut variables = serde_json::Map::new();
        variables.insert("input".to_owned(), self.shown(&identity.input));
        for (name, value) in run.outputs() {
            let value = self.shown(&value);
            variables.insert(name.to_owned(), value);
        }
        let error = |(step, error): (&str, &str)| ErrorEntry {
            step: step.to_owned(),
            error: error.to_owned(),
        };
        Some(SessionView {
            v: VIEW_VERSION,
            session_id: identity.session.clone(),
            name: identity.name.clone(),
            workflow: identity.plan.name.clone(),
            status: run.status(),
            goal: identity.goal.clone(),
            base_dir: identity.base_dir.clone(),
            no_trees: identity.no_trees.clone(),
            workflow_definition: identity.plan.definition.clone(),
            current_stage_index: run.current().map_or(run.cursor, |(index, ..)| index),
            current_step: run.current().map(|(_, step, _)| step.name.clone()),
            current_steps: current_steps(run),
            task_status: task_status(run).collect(),
            history: self.history.entries().cloned().collect(),
            variables,
            errors: run.errors().map(error).collect(),
            interventions: run.interventions().cloned().collect(),
            usage: run.usage(),
            kept: run.kept.keys().cloned().collect(),
            created_at: identity.created_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
            retries: run.retries,
        })
    }

    /// The values that views refer to and do not hold, and that were not kept yet.
    pub fn large(&self) -> Vec<LargeValue> {
        let mut known = self.known();
        // One that the run has given up stands in no view any more.
        known.retain(|large| Arc::strong_count(&large.value) > 1);
        known.iter().filter(|large| !large.is_kept).cloned().collect()
    }

    /// Takes note that these values are where views say that they are.
    pub fn kept(&self, values: &[LargeValue]) {
        for known in self.known().iter_mut() {
            known.is_kept |= values.iter().any(|kept| kept.digest == known.digest);
        }
    }

    /// Has all values kept again: their folder was deleted.
    pub fn keep_again(&self) {
        self.known().iter_mut().for_each(|large| large.is_kept = false);
    }

    /// What stands for a value that is kept aside.
    pub fn reference(&self, value: &Value) -> LargeValueReference {
        let known = self.known();
        let known = known.iter().find(|large| std::ptr::eq(Arc::as_ptr(&large.value), value));
        known.map_or_else(|| LargeValue::digested(value).0, LargeValue::reference)
    }

    fn known(&self) -> MutexGuard<'_, Vec<LargeValue>> {
        self.large.lock()
    }

    /// A value, or what stands for it if it is large.
    fn shown(&self, value: &Arc<Value>) -> Value {
        if let Some(large) = self.known().iter().find(|large| Arc::ptr_eq(&large.value, value)) {
            return large.reference().to_value();
        }
        if !is_large(value) {
            return value.as_ref().clone();
        }
        let (reference, bytes) = LargeValue::digested(value);
        let shown = reference.to_value();
        let LargeValueReference { digest, begins: beginning, .. } = reference;
        let value = Arc::clone(value);
        self.known().push(LargeValue { digest, bytes, beginning, value, is_kept: false });
        shown
    }
}

impl LargeValue {
    /// What stands for a value, and how long its JSON is.
    fn digested(value: &Value) -> (LargeValueReference, usize) {
        let text = value.to_string();
        let shown = value.as_str().unwrap_or(&text);
        let reference = LargeValueReference {
            digest: ContentDigest::of_bytes(text.as_bytes()),
            bytes: shown.len() as u64,
            begins: shown.chars().take(BEGINNING_CHARS).collect(),
        };
        (reference, text.len())
    }

    fn reference(&self) -> LargeValueReference {
        LargeValueReference {
            digest: self.digest.clone(),
            bytes: self.value.as_str().map_or(self.bytes, str::len) as u64,
            begins: self.beginning.clone(),
        }
    }
}

/// The steps whose turn it is, where there can be several.
fn current_steps(run: &WorkflowRun) -> Vec<String> {
    let is_graph = run.identity.graph().is_some();
    let steps = run.active().filter(|_| is_graph);
    steps.map(|(_, step, _)| step.name.clone()).collect()
}

/// Where every task stands that is known by name: those of stages from the beginning, others once
/// they were started.
fn task_status(run: &WorkflowRun) -> impl Iterator<Item = (TaskId, TaskStatus)> {
    let steps = run.identity.plan.steps.iter().zip(run.steps.iter());
    steps.flat_map(|(step, state)| {
        let planned: Vec<TaskId> = match &step.action {
            StepAction::Stage { tasks } => tasks.iter().map(|task| task.id.clone()).collect(),
            _ => state.tasks.iter().map(|task| task.id.clone()).collect(),
        };
        planned.into_iter().filter_map(|task| Some((task.clone(), run.task_status(&task)?)))
    })
}

/// Whether a value is kept aside.
pub(crate) fn is_large(value: &Value) -> bool {
    size(value, MAX_INLINE_BYTES) > MAX_INLINE_BYTES
}

/// About how long a value is as JSON; more than `enough` is not counted.
fn size(value: &Value, enough: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => sum(items.iter(), enough),
        Value::Object(map) => {
            let names: usize = map.keys().map(|name| name.len() + 4).sum();
            names + sum(map.values(), enough)
        }
    }
}

fn sum<'a>(values: impl Iterator<Item = &'a Value>, enough: usize) -> usize {
    let mut total = 2;
    for value in values {
        total += size(value, enough) + 1;
        if total > enough {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests;
