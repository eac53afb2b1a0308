//! Checks a grimoire as a whole.

use std::collections::HashMap;

use coven_notation::{Node, Problem, Span};

use super::context::Context;
use super::step::Surroundings;
use super::variables::Variables;
use super::{inputs, step, trigger};

pub(super) fn check(context: &mut Context<'_>, root: &Node) {
    let mut variables = Variables::new(inputs::check(context, root));
    trigger::check(context, root);
    let around = defaults(context, root, &variables);
    let steps = root.get("steps").map(Node::items).unwrap_or_default();
    unique_names(context, steps);
    unique_outputs(context, steps, &variables);
    for step in steps {
        let output = step.get("output").and_then(|node| Some((node.as_str()?, node.span)));
        variables.announce(name(step), step.key_span("name"), output);
    }
    for step in steps {
        let result = step::check(context, step, &mut variables, &around);
        let output = step.get("output").and_then(Node::as_str);
        variables.pass(name(step), output, result);
    }
}

fn name(step: &Node) -> &str {
    step.get("name").and_then(Node::as_str).unwrap_or_default()
}

fn defaults(context: &mut Context<'_>, root: &Node, variables: &Variables) -> Surroundings {
    let named = context.known.default_adapter.is_some();
    let Some(defaults) = root.get("defaults") else {
        return Surroundings { adapter: named, shell: None };
    };
    context.shared_fields(defaults, variables);
    let shell = defaults.get("shell");
    let first = shell.and_then(|shell| shell.as_str().or(shell.items().first()?.as_str()));
    Surroundings {
        adapter: named || defaults.get("adapter").is_some_and(|adapter| !adapter.is_null()),
        shell: first.map(str::to_owned),
    }
}

fn unique_names(context: &mut Context<'_>, steps: &[Node]) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for step in steps {
        let Some(node) = step.get("name") else { continue };
        let Some(name) = node.as_str() else { continue };
        if let Some(first) = seen.get(name) {
            let message = format!("there are two steps `{name}`");
            let problem = Problem::error("duplicate-name", node.span, message);
            let problem =
                problem.also(*first, "the first one").help("give each step a name of its own");
            context.push(problem);
        } else {
            seen.insert(name, node.span);
        }
    }
}

fn unique_outputs(context: &mut Context<'_>, steps: &[Node], variables: &Variables) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for step in steps {
        let Some(node) = step.get("output") else { continue };
        let Some(output) = node.as_str() else { continue };
        context.variable_name(node, output, variables, "a variable");
        if let Some(first) = seen.get(output) {
            let message = format!("two steps have the output `{output}`");
            let problem = Problem::error("duplicate-output", node.span, message);
            let help = "give each step an output of its own; a step that is skipped would otherwise wipe out the other's";
            context.push(problem.also(*first, "the first one").help(help));
        } else {
            seen.insert(output, node.span);
        }
    }
}
