//! Checks definitions before anything runs, and tells everything that is wrong with them at once.
//!
//! A file is first held against the schema of its form by `coven_notation`, then looked at as a
//! whole here: names that are used twice, variables that do not exist yet, commands that would
//! execute a value. The second part works on the tree of the file and not on the structs, so that
//! a wrong type in line 3 does not hide an unknown variable in line 40.

mod adapter;
mod agent;
mod command;
mod context;
mod fan_out;
mod grimoire;
mod inner;
mod inputs;
mod needs;
mod positions;
mod stages;
mod step;
mod text;
mod trigger;
mod variables;

use std::path::Path;

use coven_notation::{FileProblem, FileSyntax, SourceFile, SourceNode};

use crate::compile;
use crate::definition::grimoire::Grimoire;
use crate::definition::stages::StageWorkflow;
use crate::plan::{PlanForm, WorkflowPlan};

use context::CheckContext;

pub use trigger::{RUN_EVENTS, TriggerMatch, fires_on};

pub(crate) use positions::PositionFinder;

/// What a checker has to be told about the machine it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckEnvironment {
    /// The types of agents there are.
    pub adapters: Vec<String>,
    /// The one to take where a definition names none.
    pub default_adapter: Option<String>,
    /// Nothing confines a process on this machine. A step that must be confined asks a person first.
    pub unconfined: bool,
}

impl CheckEnvironment {
    /// These types of agents, and no default.
    pub fn new<S: Into<String>>(adapters: impl IntoIterator<Item = S>) -> Self {
        let adapters = adapters.into_iter().map(Into::into).collect();
        Self { adapters, default_adapter: None, unconfined: false }
    }

    /// The same on a machine where nothing confines a process, or something does.
    #[must_use]
    pub fn with_confinement(mut self, confines: bool) -> Self {
        self.unconfined = !confines;
        self
    }

    /// The same with a default.
    #[must_use]
    pub fn with_default_adapter(mut self, adapter: impl Into<String>) -> Self {
        self.default_adapter = Some(adapter.into());
        self
    }
}

/// What came out of checking a definition.
#[derive(Clone, Debug)]
pub struct CheckedDefinition {
    /// The plan, if there was no error.
    pub plan: Option<WorkflowPlan>,
    /// The form it is written in.
    pub form: PlanForm,
    /// The name or id it gives itself, also if something else is wrong with it.
    pub name: Option<String>,
    /// Everything that is wrong, in the order of the file.
    pub problems: Vec<FileProblem>,
}

impl CheckedDefinition {
    /// Whether the definition cannot be used.
    pub fn has_errors(&self) -> bool {
        self.plan.is_none()
    }
}

/// Checks a definition of either form. A file with `stages` is a stage workflow, one with `steps`
/// a grimoire; both may be YAML or JSON.
pub fn check(source: &SourceFile, known: &CheckEnvironment) -> CheckedDefinition {
    let syntax = syntax(source);
    match coven_notation::parse(source, syntax) {
        Err(problems) => {
            let form =
                if syntax == FileSyntax::Json { PlanForm::Stages } else { PlanForm::Grimoire };
            CheckedDefinition { plan: None, form, name: None, problems }
        }
        Ok(node) => {
            let form = form(&node, syntax);
            check_as(source, &node, form, known)
        }
    }
}

/// JSON if the name says so or the text begins like it, else YAML.
fn syntax(source: &SourceFile) -> FileSyntax {
    let ending = Path::new(source.name()).extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("json") => FileSyntax::Json,
        Some("yaml" | "yml") => FileSyntax::Yaml,
        _ if source.text().trim_start().starts_with('{') => FileSyntax::Json,
        _ => FileSyntax::Yaml,
    }
}

fn form(node: &SourceNode, syntax: FileSyntax) -> PlanForm {
    match (node.get("steps"), node.get("stages")) {
        (None, Some(_)) => PlanForm::Stages,
        (None, None) if syntax == FileSyntax::Json => PlanForm::Stages,
        _ => PlanForm::Grimoire,
    }
}

fn check_as(
    source: &SourceFile,
    node: &SourceNode,
    form: PlanForm,
    known: &CheckEnvironment,
) -> CheckedDefinition {
    let schema = match form {
        PlanForm::Grimoire => crate::schema::cached_grimoire(),
        PlanForm::Stages => crate::schema::cached_workflow(),
    };
    let mut context = CheckContext::new(source, known);
    for problem in coven_notation::check(node, schema) {
        context.push(problem);
    }
    if context.skips() {
        // The rest would be about what is told already.
        return CheckedDefinition {
            plan: None,
            form,
            name: name_of(node, form),
            problems: context.into_problems(),
        };
    }
    context.improve_schema_problems();
    match form {
        PlanForm::Grimoire => grimoire::check(&mut context, node),
        PlanForm::Stages => stages::check(&mut context, node),
    }
    let mut problems = context.into_problems();
    let mut plan = None;
    if !problems.iter().any(FileProblem::is_error) {
        match plan_of(source, node, form, known) {
            Ok(made) => plan = Some(made),
            Err(problem) => problems.push(*problem),
        }
    }
    CheckedDefinition { plan, form, name: name_of(node, form), problems }
}

fn name_of(node: &SourceNode, form: PlanForm) -> Option<String> {
    let key = if form == PlanForm::Grimoire { "name" } else { "id" };
    node.get(key).and_then(SourceNode::as_str).map(str::to_owned)
}

/// What is left cannot go wrong any more, or the checks above have a hole; then it is said.
fn plan_of(
    source: &SourceFile,
    node: &SourceNode,
    form: PlanForm,
    known: &CheckEnvironment,
) -> Result<WorkflowPlan, Box<FileProblem>> {
    let json = node.to_json();
    let wrong = |message: String| Box::new(FileProblem::error("bad-value", node.span, message));
    match form {
        PlanForm::Grimoire => {
            let raw: Grimoire =
                serde_json::from_value(json.clone()).map_err(|error| wrong(error.to_string()))?;
            compile::grimoire(source, node, raw, json, known)
                .map_err(|error| wrong(error.to_string()))
        }
        PlanForm::Stages => {
            let raw: StageWorkflow =
                serde_json::from_value(json.clone()).map_err(|error| wrong(error.to_string()))?;
            compile::stages(source, node, raw, json).map_err(|error| wrong(error.to_string()))
        }
    }
}
