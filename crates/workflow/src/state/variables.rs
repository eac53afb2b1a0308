//! The variables that a step can see. Only those that a text refers to are gathered, so that a
//! step costs the same in a run of ten steps and of ten thousand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use coven_model::TaskId;
use serde_json::{Map, Value, json};

use super::{PrintedOutput, StepProgress, StepRun, TaskPhase, TaskRun, WorkflowRun};
use crate::scope::VariableScope;
use crate::template::VariableReference;
use crate::view;

static NULL: LazyLock<Arc<Value>> = LazyLock::new(Arc::default);

/// A name that exists only in one task: the item, the round.
pub(crate) type Local = (String, Arc<Value>);

/// The variables of a run, for one task.
pub(crate) struct TaskVariables<'a> {
    pub(crate) run: &'a WorkflowRun,
    /// The step that asks.
    pub(crate) step: u32,
    pub(crate) local: Vec<Local>,
}

impl TaskVariables<'_> {
    /// A scope with everything that these references need.
    pub(crate) fn scope<'r>(
        &self,
        references: impl Iterator<Item = &'r VariableReference>,
    ) -> VariableScope {
        let mut scope = VariableScope::default();
        let mut steps: BTreeMap<Option<&str>, BTreeSet<Option<&str>>> = BTreeMap::new();
        for reference in references {
            if reference.name == "steps" {
                steps.entry(reference.key(0)).or_default().insert(reference.key(1));
            } else if let Some(value) = self.local(&reference.name) {
                scope = scope.with_shared(&reference.name, Arc::clone(value));
            } else if scope.get(&reference.name).is_none()
                && let Some(value) = self.run.variable(&reference.name)
            {
                scope = scope.with_shared(&reference.name, value);
            }
        }
        if steps.contains_key(&None) {
            let all = self.with_inner(self.run.all_steps(self.step), |_| true);
            scope = scope.with("steps", all);
        } else if !steps.is_empty() {
            let names: BTreeSet<&str> = steps.keys().copied().flatten().collect();
            let steps = steps.into_iter().filter_map(|(name, fields)| Some((name?, fields)));
            let some = self.with_inner(self.run.some_steps(steps), |name| names.contains(name));
            scope = scope.with("steps", some);
        }
        scope
    }

    fn local(&self, name: &str) -> Option<&Arc<Value>> {
        self.local.iter().find(|(local, _)| local == name).map(|(_, value)| value)
    }

    /// Steps with those that stand beside this one in a loop, as far as they are wanted.
    fn with_inner(&self, mut steps: Value, is_wanted: impl Fn(&str) -> bool) -> Value {
        let inner = self.local("steps").and_then(|inner| inner.as_object());
        if let (Some(inner), Value::Object(steps)) = (inner, &mut steps) {
            let wanted = inner.iter().filter(|(name, _)| is_wanted(name));
            steps.extend(wanted.map(|(name, about)| (name.clone(), about.clone())));
        }
        steps
    }

    /// The same with every name there is, so that an error can suggest one. Values are left out.
    pub(crate) fn scope_for_errors(&self, scope: &VariableScope) -> VariableScope {
        let known = ["input", "steps", "workflow"].into_iter();
        let known = known.chain(self.run.identity.variables());
        let known = known.chain(self.local.iter().map(|(name, _)| name.as_str()));
        let mut names = Map::new();
        for name in known {
            let visible = match name {
                "input" | "steps" | "workflow" => true,
                _ => scope.get(name).is_some() || self.run.variable(name).is_some(),
            };
            if visible {
                names.insert(name.to_owned(), scope.get(name).cloned().unwrap_or_default());
            }
        }
        VariableScope::new(names)
    }
}

impl WorkflowRun {
    /// The value of a name that every step can see.
    pub(crate) fn variable(&self, name: &str) -> Option<Arc<Value>> {
        match name {
            "input" => Some(Arc::clone(&self.identity.input)),
            "workflow" => Some(Arc::new(self.about())),
            _ => {
                let writer = if self.identity.graph().is_none() {
                    self.identity.writer(name, self.cursor as usize)?
                } else {
                    let mut writers = self.identity.writers(name).iter().rev().copied();
                    writers.find(|writer| self.is_known(*writer))?
                };
                self.steps.get(writer).map(StepRun::output)
            }
        }
    }

    /// Whether what a step did is known, because it is over.
    fn is_known(&self, place: usize) -> bool {
        match self.identity.graph() {
            None => place < self.cursor as usize,
            Some(_) => self.steps.get(place).is_some_and(StepRun::is_over),
        }
    }

    /// The steps that one knows all about, in the order of the plan: those before it, or those that
    /// it needs. What others do at the same time would be another thing each time.
    fn known_to(&self, step: Option<u32>) -> Vec<usize> {
        let is_known = |place: &usize| self.is_known(*place);
        match (self.identity.graph(), step) {
            (None, _) => (0..self.cursor as usize).collect(),
            (Some(graph), Some(step)) => {
                graph.needed(step as usize).into_iter().filter(is_known).collect()
            }
            (Some(_), None) => (0..self.steps.len()).filter(is_known).collect(),
        }
    }

    /// What a command finds in `$COVEN_VARS`: all variables with their values. A large value that
    /// the command does not mention is replaced by what `aside` makes of it, because every command
    /// would write all of them to the disk once more.
    pub fn variables(
        &self,
        task: Option<&TaskId>,
        command: &str,
        aside: &mut dyn FnMut(&Value) -> Value,
    ) -> Map<String, Value> {
        let mut shown = |names: &[&str], value: &Value| {
            let is_mentioned = || names.iter().all(|name| mentions(command, name));
            if view::is_large(value) && !is_mentioned() { aside(value) } else { value.clone() }
        };
        let mut all = Map::new();
        let input = match self.identity.input.as_ref() {
            Value::Object(inputs) => {
                let inputs = inputs.iter();
                let inputs =
                    inputs.map(|(name, value)| (name.clone(), shown(&["input", name], value)));
                Value::Object(inputs.collect())
            }
            other => shown(&["input"], other),
        };
        all.insert("input".to_owned(), input);
        all.insert("workflow".to_owned(), self.about());
        let mut steps = Map::new();
        let own = task.and_then(|task| self.active_of(task));
        let known = self.known_to(own);
        for place in &known {
            let plan = self.identity.plan.steps.get(*place);
            let Some((step, seen)) = plan.zip(self.steps.get(*place)) else { continue };
            let about = seen.about_with(&mut |field, value| {
                shown(&["steps", step.name.as_str(), field], value)
            });
            steps.insert(step.name.clone(), about);
        }
        all.insert("steps".to_owned(), Value::Object(steps));
        for (name, value) in self.outputs() {
            let is_needed = || {
                let writers = self.identity.writers(name);
                writers.iter().any(|writer| known.binary_search(writer).is_ok())
            };
            if self.identity.graph().is_none() || is_needed() {
                all.insert(name.to_owned(), shown(&[name], &value));
            }
        }
        all
    }

    /// The same, each with its value.
    #[cfg(test)]
    pub(crate) fn all_variables(&self) -> Map<String, Value> {
        self.variables(None, "", &mut Value::clone)
    }

    /// The variables that steps have written.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, Arc<Value>)> {
        self.identity.variables().filter_map(|name| Some((name, self.variable(name)?)))
    }

    fn about(&self) -> Value {
        json!({
            "id": self.identity.session,
            "name": self.identity.name,
            "grimoire": self.identity.plan.name,
            "goal": self.identity.goal,
        })
    }

    fn all_steps(&self, step: u32) -> Value {
        let known = self.known_to(Some(step)).into_iter();
        let names = known.filter_map(|place| self.identity.plan.steps.get(place));
        let names = names.map(|step| step.name.as_str());
        self.some_steps(names.map(|name| (name, BTreeSet::from([None]))))
    }

    /// Only steps that are over: what a later one did is not known. Of each only the fields that
    /// are wanted have their values, or all if one of those is nothing.
    fn some_steps<'a>(
        &self,
        wanted: impl Iterator<Item = (&'a str, BTreeSet<Option<&'a str>>)>,
    ) -> Value {
        let mut steps = Map::new();
        for (name, fields) in wanted {
            let is_wanted = |field: &str| fields.iter().any(|it| it.is_none_or(|it| it == field));
            if let Some(place) = self.identity.step(name)
                && self.is_known(place)
                && let Some(step) = self.steps.get(place)
            {
                let about = step.about_with(&mut |field, value| {
                    if is_wanted(field) { value.clone() } else { Value::Null }
                });
                steps.insert(name.to_owned(), about);
            }
        }
        Value::Object(steps)
    }
}

impl StepRun {
    /// Its output; null if it has none.
    pub fn output(&self) -> Arc<Value> {
        match &self.progress {
            StepProgress::Completed { output, .. } => Arc::clone(output),
            _ => Arc::clone(&NULL),
        }
    }

    /// Its status in one word.
    pub fn status(&self) -> &'static str {
        match &self.progress {
            StepProgress::Waiting => "pending",
            StepProgress::Running | StepProgress::Decided { .. } => "running",
            StepProgress::Blocked { .. } => "blocked",
            StepProgress::Completed { .. } => "completed",
            StepProgress::Failed { .. } => "failed",
            StepProgress::Skipped { .. } => "skipped",
        }
    }

    /// What is known of it, with what `shown` makes of what it printed and gave.
    fn about_with(&self, shown: &mut dyn FnMut(&str, &Value) -> Value) -> Value {
        let exit_code = match &self.progress {
            StepProgress::Completed { exit_code, .. } | StepProgress::Failed { exit_code, .. } => {
                *exit_code
            }
            // A gate whose command failed before a person skipped it.
            StepProgress::Skipped { .. } => self.failed_exit_code(),
            _ => None,
        };
        let output = self.output();
        let stdout = match self.stdout() {
            // Most commands give what they printed, and that is not copied.
            Some(text) if output.as_str() == Some(text) => shown("stdout", &output),
            text => shown("stdout", &Value::from(text)),
        };
        // Not by `json!`, which copies what it is given.
        let mut about = Map::new();
        about.insert("status".to_owned(), self.status().into());
        about.insert("output".to_owned(), shown("output", &output));
        about.insert("exit_code".to_owned(), exit_code.into());
        about.insert("stdout".to_owned(), stdout);
        about.insert("stderr".to_owned(), shown("stderr", &Value::from(self.stderr())));
        Value::Object(about)
    }

    /// The exit code of the one command it ran, if that failed.
    pub(crate) fn failed_exit_code(&self) -> Option<i32> {
        match self.tasks.last().map(|task| &task.phase) {
            Some(TaskPhase::Failed { exit_code, .. }) if self.tasks.len() == 1 => *exit_code,
            _ => None,
        }
    }

    /// What its command printed to its standard output, if it ran one, also if it failed.
    pub fn stdout(&self) -> Option<&str> {
        let (task, printed) = self.command()?;
        match &task.phase {
            TaskPhase::Done { value, .. } if printed.stdout.is_none() => value.as_str(),
            _ => Some(printed.stdout.as_deref().unwrap_or_default()),
        }
    }

    /// What its command printed to its standard error, if it ran one.
    pub fn stderr(&self) -> Option<&str> {
        Some(self.command()?.1.stderr.as_str())
    }

    /// How many bytes of what its one task printed the disk had no room for.
    pub fn lost(&self) -> u64 {
        self.tasks.last().filter(|_| self.tasks.len() == 1).map_or(0, |task| task.lost)
    }

    /// How many bytes of the output of its one task are missing in its value.
    pub fn omitted(&self) -> u64 {
        self.tasks.last().filter(|_| self.tasks.len() == 1).map_or(0, |task| task.omitted)
    }

    /// The one command of the step.
    fn command(&self) -> Option<(&TaskRun, &PrintedOutput)> {
        let task = self.tasks.last().filter(|_| self.tasks.len() == 1)?;
        Some((task, task.printed.as_deref()?))
    }
}

/// Whether a name stands in the text of a command as a word. More than a reference counts: a program
/// in the text may read it from the file.
fn mentions(command: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    command.match_indices(name).any(|(at, _)| {
        let (before, after) = (&command[..at], &command[at + name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_as_a_word() {
        for text in ["jq .report \"$COVEN_VARS\"", "report", "d['report']", "x report-a"] {
            assert!(mentions(text, "report"), "{text}");
        }
        for text in ["", "reports", "a_report", "repor t"] {
            assert!(!mentions(text, "report"), "{text}");
        }
    }
}
