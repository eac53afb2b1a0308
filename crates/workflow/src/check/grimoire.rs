//! Checks a grimoire as a whole.

use std::collections::HashMap;

use coven_notation::{FileProblem, SourceNode, SourceSpan};

use super::context::CheckContext;
use super::step::StepSurroundings;
use super::variables::StepVariables;
use super::{inputs, needs, step, trigger};

pub(super) fn check(context: &mut CheckContext<'_>, root: &SourceNode) {
    let mut variables = StepVariables::new(inputs::check(context, root));
    trigger::check(context, root);
    let around = defaults(context, root, &variables);
    let steps = root.get("steps").map(SourceNode::items).unwrap_or_default();
    let all: Vec<&SourceNode> = steps.iter().flat_map(with_inner).collect();
    unique_names(context, &all);
    unique_outputs(context, &all, &variables);
    for step in steps {
        for inner in inner_steps(step) {
            variables.announce_inner(name(inner), name(step));
        }
        let output = step.get("output").and_then(|node| Some((node.as_str()?, node.span)));
        variables.announce(name(step), step.key_span("name"), output);
    }
    let order = needs::check(context, steps);
    for place in &order.places {
        let step = &steps[*place];
        variables.set_reach(order.reach(*place));
        let result = step::check(context, step, &mut variables, &around);
        let output = step.get("output").and_then(SourceNode::as_str);
        variables.add_result(name(step), output, result);
        if step.get("command").is_some() && step.get("for_each").is_none() {
            variables.add_command(name(step));
        }
    }
}

/// The steps inside a loop.
pub(super) fn inner_steps(step: &SourceNode) -> &[SourceNode] {
    step.get("steps").map(SourceNode::items).unwrap_or_default()
}

fn with_inner(step: &SourceNode) -> impl Iterator<Item = &SourceNode> {
    std::iter::once(step).chain(inner_steps(step))
}

fn name(step: &SourceNode) -> &str {
    step.get("name").and_then(SourceNode::as_str).unwrap_or_default()
}

fn defaults(
    context: &mut CheckContext<'_>,
    root: &SourceNode,
    variables: &StepVariables,
) -> StepSurroundings {
    let named = context.known.default_adapter.is_some();
    let Some(defaults) = root.get("defaults") else {
        return StepSurroundings { adapter: named, shell: None };
    };
    context.shared_fields(defaults, variables);
    let shell = defaults.get("shell");
    let first = shell.and_then(|shell| shell.as_str().or(shell.items().first()?.as_str()));
    StepSurroundings {
        adapter: named || defaults.get("adapter").is_some_and(|adapter| !adapter.is_null()),
        shell: first.map(str::to_owned),
    }
}

fn unique_names(context: &mut CheckContext<'_>, steps: &[&SourceNode]) {
    let mut seen: HashMap<&str, SourceSpan> = HashMap::new();
    for step in steps {
        let Some(node) = step.get("name") else { continue };
        let Some(name) = node.as_str() else { continue };
        if let Some(first) = seen.get(name) {
            let message = format!("there are two steps `{name}`");
            let problem = FileProblem::error("duplicate-name", node.span, message);
            let problem = problem
                .with_related(*first, "the first one")
                .help("give each step a name of its own");
            context.push(problem);
        } else {
            seen.insert(name, node.span);
        }
    }
}

fn unique_outputs(
    context: &mut CheckContext<'_>,
    steps: &[&SourceNode],
    variables: &StepVariables,
) {
    let mut seen: HashMap<&str, SourceSpan> = HashMap::new();
    for step in steps {
        let Some(node) = step.get("output") else { continue };
        let Some(output) = node.as_str() else { continue };
        context.variable_name(node, output, variables, "a variable");
        if let Some(first) = seen.get(output) {
            let message = format!("two steps have the output `{output}`");
            let problem = FileProblem::error("duplicate-output", node.span, message);
            let help = "give each step an output of its own; a step that is skipped would otherwise wipe out the other's";
            context.push(problem.with_related(*first, "the first one").help(help));
        } else {
            seen.insert(output, node.span);
        }
    }
}
