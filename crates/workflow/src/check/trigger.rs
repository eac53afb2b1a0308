//! Checks what starts a grimoire by itself, and that it does not start itself for ever.

use coven_notation::{FileProblem, SourceNode};
use serde_json::Value;

use super::context::{CheckContext, did_you_mean};
use crate::condition::Condition;
use crate::plan::{PlanTrigger, WorkflowPlan};
use crate::scope::VariableScope;

/// Our own events that a run sends about itself, and that can start a grimoire.
pub const RUN_EVENTS: [&str; 12] = [
    "workflow.started",
    "workflow.completed",
    "workflow.failed",
    "workflow.blocked",
    "workflow.resumed",
    "workflow.cancelled",
    "workflow.step.started",
    "workflow.step.completed",
    "workflow.step.failed",
    "workflow.step.skipped",
    "workflow.intervention.required",
    "workflow.intervention.resolved",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerMatch {
    Yes,
    No,
    /// It depends on more than the name.
    Perhaps,
}

/// Whether a run of the grimoire called `other` starts this plan by its events.
pub fn fires_on(plan: &WorkflowPlan, other: &str) -> TriggerMatch {
    match &plan.trigger {
        PlanTrigger::Manual => TriggerMatch::No,
        PlanTrigger::Event { event, condition } => fires(event, condition.as_ref(), other),
    }
}

fn fires(event: &str, condition: Option<&Condition>, grimoire: &str) -> TriggerMatch {
    if !RUN_EVENTS.contains(&event) {
        return TriggerMatch::No;
    }
    let Some(condition) = condition else { return TriggerMatch::Yes };
    let scope = VariableScope::default()
        .with("grimoire", Value::from(grimoire))
        .with("type", Value::from(event));
    match condition.evaluate(&scope) {
        Ok(true) => TriggerMatch::Yes,
        Ok(false) => TriggerMatch::No,
        Err(_) => TriggerMatch::Perhaps,
    }
}

pub(super) fn check(context: &mut CheckContext<'_>, root: &SourceNode) {
    let Some(trigger) = root.get("trigger") else { return };
    let Some(event) = trigger.get("event") else { return };
    let Some(event_name) = event.as_str() else { return };
    if event_name.starts_with("workflow.") && !RUN_EVENTS.contains(&event_name) {
        let message =
            format!("there is no event `{event_name}`{}", did_you_mean(event_name, RUN_EVENTS));
        let help =
            "events that you post yourself may have any name that does not begin with `workflow.`";
        context.error("unknown-event", event.span, message, help);
    }
    let mut condition = None;
    if let Some(node) = trigger.get("where") {
        match Condition::parse(node.as_str().unwrap_or_default()) {
            Ok(parsed) => {
                for mistake in parsed.check(&|_| crate::condition::ValueType::Any) {
                    let span = context.span_inside(node, mistake.offset, mistake.length);
                    let message = "this is never true or false, and a condition must be";
                    context.push(FileProblem::error("condition-not-boolean", span, message).help(
                        "compare something of the event, as in `grimoire == 'spec-to-beads'`",
                    ));
                }
                condition = Some(parsed);
            }
            Err(error) if node.as_str().is_some() => {
                let span = context.span_inside(node, error.offset, error.length);
                context.push(
                    FileProblem::error("bad-condition", span, error.to_string())
                        .help("a condition is written as in `grimoire == 'spec-to-beads'`"),
                );
                return;
            }
            Err(_) => return,
        }
    }
    let name = root.get("name").and_then(SourceNode::as_str).unwrap_or_default();
    if fires(event_name, condition.as_ref(), name) == TriggerMatch::Yes {
        let message = format!("`{name}` would be started by its own events, for ever");
        context.error(
            "trigger-loop",
            root.key_span("trigger"),
            message,
            format!("say whose events are meant, as in `where: \"grimoire != '{name}'\"`"),
        );
    }
}
