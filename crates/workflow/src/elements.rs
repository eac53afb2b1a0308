//! What the elements of a list lack that a step names in them, as far as the list is known before a
//! run: `${item.title}` where an element has no `title`.

use serde_json::{Map, Value};

use crate::plan::{PlanStep, StepAction, WorkflowPlan};
use crate::scope::VariableScope;
use crate::template::{TextTemplate, VariableReference};

/// Something that an element lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementProblem {
    /// The task of the element and what cannot be filled in.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// What elements lack, in the order of the steps and elements, each once. `inputs` are those that
/// are known; a list that is not known before the run is not judged.
pub fn lacking_elements(plan: &WorkflowPlan, inputs: &Map<String, Value>) -> Vec<ElementProblem> {
    let scope = VariableScope::default().with("input", Value::Object(inputs.clone()));
    plan.steps.iter().flat_map(|step| of_step(step, &scope)).collect()
}

fn of_step(step: &PlanStep, scope: &VariableScope) -> Vec<ElementProblem> {
    let (for_each, item, references) = match &step.action {
        StepAction::ParallelAgents { agent, for_each, item, .. } => {
            // Its adapter is looked at with the abilities of all agents.
            let texts = (agent.prompt.iter().chain(&agent.model).chain(&agent.extra_args))
                .chain(&agent.pending_inputs);
            (for_each, item, named(step, texts.flat_map(TextTemplate::references)))
        }
        StepAction::ForEach { step: one, for_each, item, .. } => {
            let script = match &one.action {
                StepAction::Script { script, .. } => Some(script),
                StepAction::Gate { script, .. } => script.as_ref(),
                _ => None,
            };
            let command = script.into_iter().flat_map(|script| script.command.references());
            (for_each, item, named(one, command))
        }
        _ => return Vec::new(),
    };
    let Ok(Value::Array(elements)) = for_each.value(scope) else { return Vec::new() };
    let references: Vec<_> =
        references.into_iter().filter(|reference| reference.name == *item).collect();
    let mut found: Vec<ElementProblem> = Vec::new();
    for (index, element) in elements.into_iter().enumerate() {
        let scope = VariableScope::default().with(item, element);
        for reference in &references {
            let Err(error) = scope.resolve(reference) else { continue };
            let message = format!("task `{}.{index}`: {error}", step.name);
            if found.iter().all(|told| told.message != message) {
                let help = format!("an element is `${{{item}}}`; write what it lacks into it");
                found.push(ElementProblem { message, help });
            }
        }
    }
    found
}

/// The variables in the texts of a step, those of its folder and environment among them.
fn named<'a>(
    step: &'a PlanStep,
    own: impl Iterator<Item = &'a VariableReference>,
) -> Vec<&'a VariableReference> {
    let shared = step.cwd.iter().chain(step.env.values());
    own.chain(shared.flat_map(TextTemplate::references)).collect()
}
