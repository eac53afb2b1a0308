//! The variables that a step can see. Only those that a text refers to are gathered, so that a
//! step costs the same in a run of ten steps and of ten thousand.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::{PrintedOutput, StepProgress, StepRun, TaskPhase, TaskRun, WorkflowRun};
use crate::scope::VariableScope;
use crate::template::VariableReference;

static NULL: LazyLock<Arc<Value>> = LazyLock::new(Arc::default);

/// A name that exists only in one task: the item, the round.
pub(crate) type Local = (String, Arc<Value>);

/// The variables of a run, for one task.
pub(crate) struct TaskVariables<'a> {
    pub(crate) run: &'a WorkflowRun,
    pub(crate) local: Vec<Local>,
}

impl TaskVariables<'_> {
    /// A scope with everything that these references need.
    pub(crate) fn scope<'r>(
        &self,
        references: impl Iterator<Item = &'r VariableReference>,
    ) -> VariableScope {
        let mut scope = VariableScope::default();
        let mut steps: BTreeSet<Option<&str>> = BTreeSet::new();
        for reference in references {
            if let Some((_, value)) = self.local.iter().find(|(name, _)| *name == reference.name) {
                scope = scope.with_shared(&reference.name, Arc::clone(value));
            } else if reference.name == "steps" {
                steps.insert(reference.key(0));
            } else if scope.get(&reference.name).is_none()
                && let Some(value) = self.run.variable(&reference.name)
            {
                scope = scope.with_shared(&reference.name, value);
            }
        }
        if steps.contains(&None) {
            scope = scope.with("steps", self.run.all_steps());
        } else if !steps.is_empty() {
            scope = scope.with("steps", self.run.some_steps(steps.into_iter().flatten()));
        }
        scope
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
                let writer = self.identity.writer(name, self.cursor as usize)?;
                self.steps.get(writer).map(StepRun::output)
            }
        }
    }

    /// All variables with their values: what a script finds in `$COVEN_VARS`.
    pub fn variables(&self) -> Map<String, Value> {
        let mut all = Map::new();
        all.insert("input".to_owned(), self.identity.input.as_ref().clone());
        all.insert("workflow".to_owned(), self.about());
        all.insert("steps".to_owned(), self.all_steps());
        for (name, value) in self.outputs() {
            all.insert(name.to_owned(), value.as_ref().clone());
        }
        all
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

    fn all_steps(&self) -> Value {
        self.some_steps(self.identity.plan.steps.iter().map(|step| step.name.as_str()))
    }

    /// Only steps whose turn has come: what a later one did is not known.
    fn some_steps<'a>(&self, names: impl Iterator<Item = &'a str>) -> Value {
        let mut steps = Map::new();
        for name in names {
            if let Some(place) = self.identity.step(name)
                && place < self.cursor as usize
                && let Some(step) = self.steps.get(place)
            {
                steps.insert(name.to_owned(), step.about());
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

    fn about(&self) -> Value {
        let exit_code = match &self.progress {
            StepProgress::Completed { exit_code, .. } | StepProgress::Failed { exit_code, .. } => {
                *exit_code
            }
            // A gate whose command failed before a person skipped it.
            StepProgress::Skipped { .. } => self.failed_exit_code(),
            _ => None,
        };
        json!({
            "status": self.status(),
            "output": self.output().as_ref(),
            "exit_code": exit_code,
            "stdout": self.stdout(),
            "stderr": self.stderr(),
        })
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
