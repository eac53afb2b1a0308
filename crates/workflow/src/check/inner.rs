//! Checks loops of several steps, and the steps inside them.

use std::collections::HashMap;

use coven_notation::{FileProblem, SourceNode};

use super::context::CheckContext;
use super::grimoire::inner_steps;
use super::step::{COMMAND_KEYS, StepSurroundings, answer, confinement, keys, round_names};
use super::variables::StepVariables;
use crate::condition::ValueType;

/// Keys of a fan-out, which there is not inside a loop.
const FAN_OUT_KEYS: [&str; 3] = ["for_each", "as", "max_concurrent"];

/// Keys of steps that concern the place of a step in the run, which one inside a loop does not have.
/// The loop has them.
const OUTSIDE_KEYS: [&str; 8] = [
    "needs",
    "needs_approval",
    "approval_timeout",
    "on_lost",
    "isolation",
    "land",
    "on_conflict",
    "commit",
];

/// What a step inside a loop cannot be called, because a task of the loop is.
const CHECK_NAME: &str = "check";

impl CheckContext<'_> {
    pub(super) fn steps_loop(
        &mut self,
        step: &SourceNode,
        variables: &mut StepVariables,
        around: &StepSurroundings,
    ) -> ValueType {
        self.require_key(step, "loop", "steps", "write the steps of a round as a list");
        let help = "write `until: {command: cargo test}`, or a condition such as \
                    `until: steps.test.exit_code == 0`";
        self.require_key(step, "loop", "until", help);
        let inner = inner_steps(step);
        let mut names = round_names();
        let mut known = HashMap::new();
        let mut last = ValueType::Any;
        for one in inner {
            let is_script = kind(one) == "script";
            last = answer(one, if is_script { ValueType::Text } else { ValueType::FreeText });
            known.insert(name(one).to_owned(), last.clone());
            if let Some(output) = one.get("output").and_then(SourceNode::as_str) {
                names.push((output.to_owned(), last.clone()));
            }
            if is_script {
                variables.add_command(name(one));
            }
        }
        variables.set_local(names);
        variables.set_inner(known);
        for one in inner {
            self.inner_step(one, variables, around);
        }
        self.shared_fields(step, variables);
        if let Some(until) = step.get("until").filter(|until| !until.is_null()) {
            if until.as_str().is_some() {
                self.condition(until, variables);
                self.command_keys(step);
            } else {
                self.shared_fields(until, variables);
                self.shell_command(until, variables, around);
            }
        }
        variables.set_inner(HashMap::new());
        last
    }

    /// Keys that say how the command of `until` is run mean nothing where there is none.
    fn command_keys(&mut self, step: &SourceNode) {
        for entry in step.entries() {
            if COMMAND_KEYS.contains(&entry.key.as_str()) {
                let key = &entry.key;
                let message = format!("`{key}` has no meaning for a loop that a condition ends");
                let help = "write it at the steps inside";
                self.error("key-not-for-type", entry.key_span, message, help);
            }
        }
    }

    fn inner_step(
        &mut self,
        step: &SourceNode,
        variables: &StepVariables,
        around: &StepSurroundings,
    ) {
        let kind = kind(step);
        // What is no step, or does not say of which type, was told already.
        if kind.is_empty() {
            return;
        }
        if !matches!(kind, "agent" | "script") {
            let span = step.get("type").map_or(step.span, |node| node.span);
            let article = if kind.starts_with('a') { "an" } else { "a" };
            let message = format!("{article} `{kind}` step cannot stand inside a loop");
            let help = "an `agent` and a `script` can; put it before or after the loop";
            return self.error("type-inside-loop", span, message, help);
        }
        if name(step) == CHECK_NAME {
            let span = step.get("name").map_or(step.span, |node| node.span);
            let message = "inside a loop, `check` is the command that ends it";
            self.error("reserved-name", span, message, "choose another name");
        }
        for entry in step.entries() {
            let help = match entry.key.as_str() {
                key if OUTSIDE_KEYS.contains(&key) => "write it at the loop",
                key if FAN_OUT_KEYS.contains(&key) => {
                    "put a step with `for_each` before or after the loop: inside, each step is one \
                     agent or one command in each round, and the loop itself runs over nothing"
                }
                _ => continue,
            };
            let message = format!("`{}` does not belong to a step inside a loop", entry.key);
            let problem = FileProblem::error("key-inside-loop", entry.key_span, message);
            self.push(problem.help(help));
        }
        if let Some(node) = step.get("on_failure")
            && node.as_str() == Some("block")
        {
            let message =
                "a step inside a loop ends the loop when it fails, or lets the round go on";
            let help = "write `on_failure: block` at the loop, or `continue` here";
            self.error("block-inside-loop", node.span, message, help);
        }
        keys(self, step, kind);
        confinement(self, step);
        if let Some(when) = step.get("when") {
            self.condition(when, variables);
        }
        if kind == "agent" {
            self.agent_step(step, variables, around);
        } else {
            self.command_step(step, variables, around);
        }
    }
}

fn kind(step: &SourceNode) -> &str {
    step.get("type").and_then(SourceNode::as_str).unwrap_or_default()
}

fn name(step: &SourceNode) -> &str {
    step.get("name").and_then(SourceNode::as_str).unwrap_or_default()
}
