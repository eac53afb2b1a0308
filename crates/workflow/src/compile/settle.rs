//! Settles what a plan leaves to its inputs before it runs: which agent to take.

use coven_notation::{Problem, Span};
use serde_json::{Map, Value};

use crate::check::Known;
use crate::plan::{Action, AgentSpec, Plan};
use crate::scope::Scope;
use crate::template::{Template, to_text};

/// Fills in the adapters that a plan takes from its inputs (`adapter: ${input.agent}`), where an
/// input that is empty means the default of the machine. To be called with the bound inputs
/// before a run is made of the plan. Spans in the problems mean nothing.
pub fn settle(
    plan: &mut Plan,
    input: &Map<String, Value>,
    known: &Known,
) -> Result<(), Vec<Problem>> {
    let scope = Scope::default().with("input", Value::Object(input.clone()));
    let mut problems = Vec::new();
    for step in &mut plan.steps {
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

fn agents(action: &mut Action) -> Vec<&mut AgentSpec> {
    match action {
        Action::Agent { agent } | Action::ParallelAgents { agent, .. } => vec![agent],
        Action::AgentLoop { agent, arbiter, .. } => vec![agent, arbiter],
        Action::Stage { tasks } => tasks.iter_mut().map(|task| &mut task.agent).collect(),
        Action::Script { .. } | Action::Gate { .. } => Vec::new(),
    }
}

fn choose(agent: &mut AgentSpec, scope: &Scope, known: &Known) -> Result<(), Box<Problem>> {
    let Ok(template) = Template::parse(&agent.adapter) else { return Ok(()) };
    let Some(reference) = template.single() else { return Ok(()) };
    let chosen = scope.resolve(reference).map(to_text).unwrap_or_default();
    let here = Span::default();
    if !chosen.is_empty() {
        if known.adapters.contains(&chosen) {
            agent.adapter = chosen;
            return Ok(());
        }
        let near = coven_notation::near(&chosen, &known.adapters);
        let meant =
            near.first().map(|best| format!("; did you mean `{best}`?")).unwrap_or_default();
        let message = format!("`{reference}` names an unknown adapter, `{chosen}`{meant}");
        let problem = Problem::error("unknown-adapter", here, message);
        let help = format!("there are {}", known.adapters.join(", "));
        return Err(Box::new(problem.help(help)));
    }
    let Some(default) = &known.default_adapter else {
        let message =
            format!("`{reference}` does not say which agent to run, and there is no default");
        let help = "give the input, or set a default adapter in the configuration";
        return Err(Box::new(Problem::error("no-adapter", here, message).help(help)));
    };
    agent.adapter.clone_from(default);
    Ok(())
}
