//! Settles what a plan leaves to its inputs before it runs: which agent to take.

use std::collections::BTreeSet;

use coven_notation::{FileProblem, SourceSpan};
use serde_json::{Map, Value};

use crate::check::CheckEnvironment;
use crate::plan::{AgentSpec, StepAction, WorkflowPlan};
use crate::scope::VariableScope;
use crate::template::{TextTemplate, to_text};

/// Fills in the adapters that a plan takes from its inputs (`adapter: ${input.agent}`), where an
/// input that is empty means the default of the machine. To be called with the bound inputs
/// before a run is made of the plan. Spans in the problems mean nothing.
pub fn settle(
    plan: &mut WorkflowPlan,
    input: &Map<String, Value>,
    known: &CheckEnvironment,
) -> Result<(), Vec<FileProblem>> {
    let scope = VariableScope::default().with("input", Value::Object(input.clone()));
    let mut problems = Vec::new();
    for step in &mut plan.steps {
        if let Some(of_items) = adapters_of_items(&step.action, &scope) {
            for problem in of_items.iter().filter_map(|name| unknown_adapter(name, known)) {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
            continue;
        }
        for agent in agents(&mut step.action) {
            if let Err(problem) = choose(agent, &scope, known)
                && !problems.contains(problem.as_ref())
            {
                problems.push(*problem);
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn agents(action: &mut StepAction) -> Vec<&mut AgentSpec> {
    match action {
        StepAction::Agent { agent } | StepAction::ParallelAgents { agent, .. } => vec![agent],
        StepAction::AgentLoop { agent, arbiter, .. } => {
            std::iter::once(agent).chain(arbiter).collect()
        }
        StepAction::Loop { steps, .. } => {
            steps.iter_mut().flat_map(|step| agents(&mut step.action)).collect()
        }
        StepAction::ForEach { step, .. } => agents(&mut step.action),
        StepAction::Stage { tasks } => tasks.iter_mut().map(|task| &mut task.agent).collect(),
        StepAction::Script { .. } | StepAction::Gate { .. } => Vec::new(),
    }
}

/// The adapters that the elements of a fan-out name, for a step that takes its adapters from them;
/// as far as the elements are known before the run.
fn adapters_of_items(action: &StepAction, scope: &VariableScope) -> Option<Vec<(String, String)>> {
    let StepAction::ParallelAgents { agent, for_each, item, .. } = action else { return None };
    let template = TextTemplate::parse(&agent.adapter).ok()?;
    let reference = template.single().filter(|one| one.name == *item)?;
    let Ok(Value::Array(elements)) = for_each.value(scope) else { return Some(Vec::new()) };
    let name = |element: Value| {
        let scope = VariableScope::default().with(item, element);
        let name = scope.resolve(reference).map(to_text).unwrap_or_default();
        (reference.to_string(), name)
    };
    Some(elements.into_iter().map(name).collect())
}

/// The adapters that an agent of a step will have, each once, as far as they are known before the
/// run; and whether an input decides about that.
pub(crate) fn adapter_names(
    action: &StepAction,
    agent: &AgentSpec,
    scope: &VariableScope,
) -> (Vec<String>, bool) {
    let template = TextTemplate::parse(&agent.adapter).ok();
    let Some(reference) = template.as_ref().and_then(TextTemplate::single) else {
        return (vec![agent.adapter.clone()], false);
    };
    let (mut names, by_input) = match adapters_of_items(action, scope) {
        Some(of_items) => {
            let literal = adapters_of_items(action, &VariableScope::default());
            let by_input = literal.is_none_or(|literal| literal.is_empty());
            (of_items.into_iter().map(|(_, name)| name).collect(), by_input)
        }
        None => (scope.resolve(reference).map(to_text).into_iter().collect::<Vec<_>>(), true),
    };
    let mut seen = BTreeSet::new();
    names.retain(|name: &String| !name.is_empty() && seen.insert(name.clone()));
    (names, by_input)
}

fn unknown_adapter(
    (reference, name): &(String, String),
    known: &CheckEnvironment,
) -> Option<FileProblem> {
    if known.adapters.contains(name) {
        return None;
    }
    let here = SourceSpan::default();
    let message = if name.is_empty() {
        format!("an element has no adapter in `{reference}`")
    } else {
        let near = coven_notation::near(name, &known.adapters);
        let meant =
            near.first().map(|best| format!("; did you mean `{best}`?")).unwrap_or_default();
        format!("`{reference}` names an unknown adapter, `{name}`{meant}")
    };
    let help = format!("there are {}", known.adapters.join(", "));
    Some(FileProblem::error("unknown-adapter", here, message).help(help))
}

fn choose(
    agent: &mut AgentSpec,
    scope: &VariableScope,
    known: &CheckEnvironment,
) -> Result<(), Box<FileProblem>> {
    let Ok(template) = TextTemplate::parse(&agent.adapter) else { return Ok(()) };
    let Some(reference) = template.single() else { return Ok(()) };
    let chosen = scope.resolve(reference).map(to_text).unwrap_or_default();
    let here = SourceSpan::default();
    if !chosen.is_empty() {
        if known.adapters.contains(&chosen) {
            agent.adapter = chosen;
            return Ok(());
        }
        let near = coven_notation::near(&chosen, &known.adapters);
        let meant =
            near.first().map(|best| format!("; did you mean `{best}`?")).unwrap_or_default();
        let message = format!("`{reference}` names an unknown adapter, `{chosen}`{meant}");
        let problem = FileProblem::error("unknown-adapter", here, message);
        let help = format!("there are {}", known.adapters.join(", "));
        return Err(Box::new(problem.help(help)));
    }
    let Some(default) = &known.default_adapter else {
        let message =
            format!("`{reference}` does not say which agent to run, and there is no default");
        let help = "give the input, or set a default adapter in the configuration";
        return Err(Box::new(FileProblem::error("no-adapter", here, message).help(help)));
    };
    agent.adapter.clone_from(default);
    Ok(())
}
