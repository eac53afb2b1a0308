//! Which variables exist at a step, and what is known of their values.

use std::collections::{BTreeMap, HashMap, HashSet};

use coven_notation::SourceSpan;
use serde_json::Value;

use super::context::{did_you_mean, list};
use super::needs::StepReach;
use crate::condition::ValueType;
use crate::template::VariableReference;

/// Names that a step's output cannot have, because they mean something already.
pub(super) const RESERVED_NAMES: [&str; 21] = [
    "input",
    "inputs",
    "steps",
    "workflow",
    "item",
    "index",
    "iteration",
    "previous",
    "verdict",
    "output",
    "event",
    "env",
    "tree",
    "true",
    "false",
    "null",
    "none",
    "and",
    "or",
    "not",
    "in",
];

/// What can be said of a step by name.
const STEP_FIELDS: [&str; 5] = ["status", "output", "exit_code", "stdout", "stderr"];

/// The variables at one step.
#[derive(Clone, Default)]
pub(super) struct StepVariables {
    names: BTreeMap<String, ValueType>,
    /// Names that exist only in the texts of one step.
    local: Vec<(String, ValueType)>,
    /// The output's type of each step so far.
    steps: HashMap<String, ValueType>,
    /// Those of them that run one command.
    commands: HashSet<String>,
    /// Steps that only the texts beside them in a loop know.
    inner: HashMap<String, ValueType>,
    /// The steps inside loops, each with its loop.
    loops: HashMap<String, String>,
    /// Outputs of this and later steps, with the step and its place.
    later: HashMap<String, (String, SourceSpan)>,
    /// This and later steps.
    later_steps: HashMap<String, SourceSpan>,
    /// All steps with their places.
    announced: HashMap<String, SourceSpan>,
    /// Which steps set which output.
    writers: HashMap<String, String>,
    /// Which steps can be seen, if steps say what they need.
    reach: Option<StepReach>,
}

pub(super) struct VariableProblem {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) also: Option<(SourceSpan, String)>,
}

impl StepVariables {
    /// What every step can see.
    pub(super) fn new(inputs: ValueType) -> Self {
        let mut variables = Self::default();
        variables.names.insert("input".to_owned(), inputs);
        let parts = ["id", "name", "grimoire", "goal"];
        let workflow = ValueType::object(parts.map(|part| (part.to_owned(), ValueType::Text)));
        variables.names.insert("workflow".to_owned(), workflow);
        let parts = ["path", "branch", "base", "root"];
        let tree = ValueType::object(parts.map(|part| (part.to_owned(), ValueType::Text)));
        variables.names.insert("tree".to_owned(), tree);
        variables
    }

    /// Announces a step that was not reached yet.
    pub(super) fn announce(
        &mut self,
        step: &str,
        span: SourceSpan,
        output: Option<(&str, SourceSpan)>,
    ) {
        self.later_steps.entry(step.to_owned()).or_insert(span);
        self.announced.entry(step.to_owned()).or_insert(span);
        if let Some((output, span)) = output {
            self.writers.entry(output.to_owned()).or_insert_with(|| step.to_owned());
            self.later.entry(output.to_owned()).or_insert_with(|| (step.to_owned(), span));
        }
    }

    /// Passes a step: from here on its result can be used.
    pub(super) fn add_result(&mut self, step: &str, output: Option<&str>, result: ValueType) {
        self.later_steps.remove(step);
        if let Some(output) = output {
            self.later.remove(output);
            self.names.insert(output.to_owned(), result.clone());
        }
        self.steps.insert(step.to_owned(), result);
    }

    /// Says that a step runs one command, whose output and errors can be used apart.
    pub(super) fn add_command(&mut self, step: &str) {
        self.commands.insert(step.to_owned());
    }

    /// Says what the next step can see, if steps say what they need.
    pub(super) fn set_reach(&mut self, reach: Option<StepReach>) {
        self.reach = reach;
    }

    /// Why a step cannot be seen that has nothing to do with this one.
    fn not_needed(&self, reference: &VariableReference, step: &str) -> Option<VariableProblem> {
        let help = self.reach.as_ref()?.missing(step)?;
        let message = format!(
            "`${{{reference}}}` may not be known yet: this step does not need step `{step}`"
        );
        let problem = VariableProblem::new("not-needed", message).help(help);
        Some(match self.announced.get(step) {
            Some(span) => problem.also(*span, "this step"),
            None => problem,
        })
    }

    /// Whether a name may exist of which that cannot be said, because it is not known what comes
    /// before what.
    fn may_exist(&self, is_announced: bool) -> bool {
        is_announced && self.reach.as_ref().is_some_and(StepReach::is_unknown)
    }

    /// Adds names that exist only in the texts of one step, until they are removed.
    pub(super) fn set_local(&mut self, local: Vec<(String, ValueType)>) {
        self.local = local;
    }

    /// Adds steps that only the texts of one loop know, until they are removed.
    pub(super) fn set_inner(&mut self, inner: HashMap<String, ValueType>) {
        self.inner = inner;
    }

    /// Announces a step inside a loop.
    pub(super) fn announce_inner(&mut self, step: &str, of: &str) {
        self.loops.entry(step.to_owned()).or_insert_with(|| of.to_owned());
    }

    /// Whether a name is that of a variable here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.local.iter().any(|(local, _)| local == name)
    }

    /// What a reference points to, or why it points to nothing.
    pub(super) fn type_of(
        &self,
        reference: &VariableReference,
    ) -> Result<ValueType, VariableProblem> {
        if reference.name == "steps" {
            return self.step(reference);
        }
        let local = self.local.iter().find(|(name, _)| *name == reference.name);
        if let (None, Some(step)) = (local, self.writers.get(&reference.name))
            && let Some(problem) = self.not_needed(reference, step)
        {
            return Err(problem);
        }
        if local.is_none() && self.may_exist(self.later.contains_key(&reference.name)) {
            return Ok(ValueType::Any);
        }
        let found = local.map(|(_, found)| found).or_else(|| self.names.get(&reference.name));
        let Some(found) = found else { return Err(self.undefined(reference)) };
        if reference.name == "previous" && reference.path.len() > 1 {
            let message = format!(
                "`${{{reference}}}` is not defined in the first round, which has no previous one"
            );
            return Err(VariableProblem::new("undefined-variable", message)
                .help("use `${previous.output}` as a whole"));
        }
        let mut found = found.clone();
        for (depth, segment) in reference.path.iter().enumerate() {
            found = found.step(segment).map_err(|reason| {
                let reason = reason.named(reference.prefix(depth));
                VariableProblem::new(
                    "undefined-variable",
                    format!("`${{{reference}}}` is not defined: {reason}"),
                )
            })?;
        }
        Ok(found)
    }

    fn step(&self, reference: &VariableReference) -> Result<ValueType, VariableProblem> {
        let Some(step) = reference.key(0) else {
            return if reference.path.is_empty() {
                Ok(ValueType::OBJECT)
            } else {
                Err(VariableProblem::new(
                    "undefined-variable",
                    format!("`${{{reference}}}` is not defined: steps have names"),
                )
                .help("write `${steps.NAME.output}`"))
            };
        };
        if let Some(problem) = self.not_needed(reference, step) {
            return Err(problem);
        }
        if self.may_exist(self.later_steps.contains_key(step)) {
            return Ok(ValueType::Any);
        }
        let Some(output) = self.inner.get(step).or_else(|| self.steps.get(step)) else {
            if let Some(of) = self.loops.get(step) {
                let message = format!(
                    "`${{{reference}}}` is not defined: `{step}` is inside the loop `{of}`"
                );
                return Err(VariableProblem::new("undefined-variable", message)
                    .help(format!("what the loop came to is `${{steps.{of}.output}}`")));
            }
            if let Some(span) = self.later_steps.get(step) {
                let message =
                    format!("`${{{reference}}}` is not known yet: step `{step}` is not over here");
                return Err(VariableProblem::new("variable-not-yet", message)
                    .help("only steps that stand before this one can be used")
                    .also(*span, "this step"));
            }
            let message = format!(
                "`${{{reference}}}` is not defined: there is no step `{step}`{}",
                did_you_mean(step, self.steps.keys().chain(self.inner.keys()))
            );
            return Err(VariableProblem::new("undefined-variable", message));
        };
        match reference.key(1) {
            None if reference.path.len() < 2 => Ok(ValueType::OBJECT),
            Some("status") if reference.path.len() == 2 => Ok(ValueType::Text),
            Some("exit_code") if reference.path.len() == 2 => Ok(ValueType::Number),
            Some("stdout" | "stderr") if reference.path.len() == 2 => {
                if !self.commands.contains(step) {
                    let message =
                        format!("`${{{reference}}}` is not defined: step `{step}` runs no command");
                    return Err(VariableProblem::new("undefined-variable", message)
                        .help(format!("write `${{steps.{step}.output}}`")));
                }
                Ok(ValueType::Text)
            }
            Some("output") => {
                let mut found = output.clone();
                for (depth, segment) in reference.path.iter().enumerate().skip(2) {
                    found = found.step(segment).map_err(|reason| {
                        let reason = reason.named(reference.prefix(depth));
                        let message = format!("`${{{reference}}}` is not defined: {reason}");
                        VariableProblem::new("undefined-variable", message)
                    })?;
                }
                Ok(found)
            }
            other => {
                let near = did_you_mean(other.unwrap_or_default(), STEP_FIELDS);
                let message = format!(
                    "`${{{reference}}}` is not defined: a step has {}{near}",
                    list(&STEP_FIELDS)
                );
                Err(VariableProblem::new("undefined-variable", message))
            }
        }
    }

    fn undefined(&self, reference: &VariableReference) -> VariableProblem {
        #[cfg(test)]
        tests::UNDEFINED.set(tests::UNDEFINED.get() + 1);
        let name = &reference.name;
        if let Some((step, span)) = self.later.get(name) {
            let message = format!(
                "`${{{reference}}}` is not known yet: step `{step}` sets it, and is not over here"
            );
            return VariableProblem::new("variable-not-yet", message)
                .help("move the step that sets it before this one")
                .also(*span, "set here");
        }
        let message = format!("`${{{reference}}}` is not defined");
        let wrong = VariableProblem::new("undefined-variable", message);
        match name.as_str() {
            "item" | "index" => wrong.help("it exists in the texts of a step with `for_each` only; with `as`, the item has another name"),
            "iteration" | "previous" | "verdict" => {
                wrong.help("it exists in the texts of loops only")
            }
            _ if self.fields("input").any(|field| field == name) => {
                wrong.help(format!("inputs are written `${{input.{name}}}`"))
            }
            _ if self.steps.contains_key(name) => {
                wrong.help(format!("what a step did is written `${{steps.{name}.output}}`"))
            }
            _ if !name.contains(|c: char| c.is_ascii_lowercase()) => wrong.help(
                "variables of the environment exist in commands only; elsewhere use an input",
            ),
            _ => {
                let known: Vec<&str> = self.visible().collect();
                match coven_notation::near(name, known.iter().copied()).first() {
                    Some(best) => wrong.help(format!("did you mean `${{{best}}}`?")),
                    None => wrong.help(format!("here there are {}", list(&first_names(known)))),
                }
            }
        }
    }

    fn visible(&self) -> impl Iterator<Item = &str> {
        let local = self.local.iter().map(|(name, _)| name.as_str());
        local.chain(self.names.keys().map(String::as_str)).chain(["steps"])
    }

    fn fields(&self, name: &str) -> impl Iterator<Item = &String> {
        let fields = match self.names.get(name) {
            Some(ValueType::Object(Some(fields))) => Some(fields),
            _ => None,
        };
        fields.into_iter().flat_map(|fields| fields.keys())
    }
}

/// The first few of many names.
fn first_names(mut names: Vec<&str>) -> Vec<&str> {
    names.truncate(12);
    names
}

impl VariableProblem {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self { code, message, help: None, also: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn also(mut self, span: SourceSpan, label: &str) -> Self {
        self.also = Some((span, label.to_owned()));
        self
    }
}

/// What a JSON schema says of the values that fit it.
pub(super) fn type_of_schema(schema: &Value) -> ValueType {
    let Some(kind) = schema.get("type").and_then(Value::as_str) else { return ValueType::Any };
    match kind {
        "boolean" => ValueType::Boolean,
        "number" | "integer" => ValueType::Number,
        "string" => ValueType::Text,
        "array" => ValueType::array(schema.get("items").map_or(ValueType::Any, type_of_schema)),
        "object" => {
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            match schema.get("properties").and_then(Value::as_object) {
                Some(properties) if closed => ValueType::object(
                    properties.iter().map(|(name, schema)| (name.clone(), type_of_schema(schema))),
                ),
                _ => ValueType::OBJECT,
            }
        }
        _ => ValueType::Any,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::cell::Cell;

    use coven_notation::SourceFile;

    use crate::{CheckEnvironment, check};

    thread_local! {
        /// How many unknown variables were held against all that are known.
        pub(super) static UNDEFINED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn unknown_variables_are_looked_for_until_there_are_enough_problems() {
        let mut text = "name: a\ndescription: A.\nsteps:\n".to_owned();
        for index in 0..3000 {
            text.push_str(&format!(
                "  - {{name: s{index}, type: script, output: o{index}, command: 'echo ${{p{index}}}', env: {{A: '${{q{index}}}'}}}}\n"
            ));
        }
        let checked = check(&SourceFile::new("a.yaml", text), &CheckEnvironment::default());
        assert!(checked.plan.is_none());
        assert_eq!(checked.problems.len(), 101);
        assert_eq!(checked.problems[100].code, "more-problems");
        assert!(UNDEFINED.get() <= 200, "{} were looked for", UNDEFINED.get());
    }
}
