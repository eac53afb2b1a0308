//! Checks one step of a grimoire.

use coven_notation::{MapEntry, SourceNode, near};

use super::context::{CheckContext, list};
use super::variables::{StepVariables, type_of_schema};
use crate::condition::ValueType;
use crate::expect::comments;

/// The keys that every step has.
const COMMON_STEP_KEYS: [&str; 15] = [
    "name",
    "type",
    "needs",
    "when",
    "timeout",
    "retry",
    "cwd",
    "env",
    "output",
    "on_failure",
    "on_lost",
    "needs_approval",
    "approval_timeout",
    "domain",
    "isolation",
];

/// The types of steps, and the keys that each has beside those.
const STEP_TYPE_KEYS: [(&str, &[&str]); 6] = [
    ("agent", &AGENT_KEYS),
    (
        "agent-loop",
        &[
            "prompt",
            "adapter",
            "mode",
            "model",
            "permissions",
            "extra_args",
            "auto_approve",
            "channel",
            "sandbox",
            "confine",
            "size",
            "expect",
            "ok_exit_codes",
            "arbiter",
            "until",
            "max_iterations",
            "on_max_iterations",
            "context",
            "land",
            "on_conflict",
            "commit",
        ],
    ),
    (
        "parallel-agents",
        &[
            "prompt",
            "adapter",
            "mode",
            "model",
            "permissions",
            "extra_args",
            "auto_approve",
            "channel",
            "sandbox",
            "confine",
            "size",
            "expect",
            "ok_exit_codes",
            "for_each",
            "as",
            "max_concurrent",
            "land",
            "on_conflict",
            "commit",
        ],
    ),
    (
        "loop",
        &[
            "steps",
            "until",
            "max_iterations",
            "on_max_iterations",
            "sandbox",
            "confine",
            "land",
            "on_conflict",
            "commit",
        ],
    ),
    (
        "script",
        &[
            "command",
            "shell",
            "expect",
            "ok_exit_codes",
            "sandbox",
            "confine",
            "for_each",
            "as",
            "max_concurrent",
        ],
    ),
    (
        "gate",
        &[
            "command",
            "shell",
            "message",
            "skippable",
            "ok_exit_codes",
            "sandbox",
            "confine",
            "for_each",
            "as",
            "max_concurrent",
        ],
    ),
];

/// The keys of agents.
const AGENT_KEYS: [&str; 19] = [
    "for_each",
    "as",
    "max_concurrent",
    "land",
    "on_conflict",
    "commit",
    "prompt",
    "adapter",
    "mode",
    "model",
    "permissions",
    "extra_args",
    "auto_approve",
    "channel",
    "sandbox",
    "confine",
    "size",
    "expect",
    "ok_exit_codes",
];

/// Keys that say how a command is run, which a gate without one does not need.
pub(super) const COMMAND_KEYS: [&str; 9] =
    ["timeout", "retry", "cwd", "env", "shell", "ok_exit_codes", "sandbox", "confine", "domain"];

/// What a step needs from outside of it.
pub(super) struct StepSurroundings {
    /// Whether `defaults` names an adapter, or the machine has a default.
    pub(super) adapter: bool,
    /// The shell that `defaults` names.
    pub(super) shell: Option<String>,
}

/// Checks a step; tells what its output will be.
pub(super) fn check(
    context: &mut CheckContext<'_>,
    step: &SourceNode,
    variables: &mut StepVariables,
    around: &StepSurroundings,
) -> ValueType {
    let kind = step.get("type").and_then(SourceNode::as_str).unwrap_or_default();
    keys(context, step, kind);
    confinement(context, step);
    approval_timeout(context, step, kind);
    if let Some(when) = step.get("when") {
        context.condition(when, variables);
    }
    let runs_over = step.get("for_each").is_some_and(|node| !node.is_null());
    if !runs_over && kind != "parallel-agents" {
        without_for_each(context, step);
    }
    let result = match kind {
        "agent" if runs_over => context.parallel(step, variables, around),
        "script" | "gate" if runs_over => context.commands(step, variables, around),
        "agent" => {
            context.agent_step(step, variables, around);
            answer(step, ValueType::FreeText)
        }
        "agent-loop" => context.agent_loop(step, variables, around),
        "parallel-agents" => context.parallel(step, variables, around),
        "loop" => context.steps_loop(step, variables, around),
        "script" => {
            context.command_step(step, variables, around);
            answer(step, ValueType::Text)
        }
        "gate" => {
            context.gate(step, variables, around);
            ValueType::Text
        }
        _ => {
            context.shared_fields(step, variables);
            ValueType::Any
        }
    };
    variables.set_local(Vec::new());
    result
}

/// Checks that every key belongs to the step's type.
pub(super) fn keys(context: &mut CheckContext<'_>, step: &SourceNode, kind: &str) {
    let Some((_, own)) = STEP_TYPE_KEYS.iter().find(|(name, _)| *name == kind) else { return };
    let article = if kind.starts_with('a') { "an" } else { "a" };
    for entry in step.entries() {
        let key = entry.key.as_str();
        if COMMON_STEP_KEYS.contains(&key) || own.contains(&key) {
            continue;
        }
        let owners: Vec<&str> = STEP_TYPE_KEYS
            .iter()
            .filter(|(_, keys)| keys.contains(&key))
            .map(|(name, _)| *name)
            .collect();
        // A key that nothing has was told already.
        if !owners.is_empty() {
            context.error(
                "key-not-for-type",
                entry.key_span,
                format!("`{key}` does not belong to {article} `{kind}` step"),
                format!("it is for {}", list(&owners)),
            );
        }
    }
}

/// Keys that say how a step runs over something mean nothing where it does not.
fn without_for_each(context: &mut CheckContext<'_>, step: &SourceNode) {
    for entry in step.entries() {
        if matches!(entry.key.as_str(), "as" | "max_concurrent") {
            let message = format!("`{}` has no meaning without `for_each`", entry.key);
            let help = "add `for_each`, or remove it";
            context.error("key-not-for-type", entry.key_span, message, help);
        }
    }
}

/// Checks that a sandbox, which confines files, is not taken back by the other key.
pub(super) fn confinement(context: &mut CheckContext<'_>, step: &SourceNode) {
    let word = |key: &str| step.get(key).and_then(SourceNode::as_str);
    let (Some(sandbox), Some(confine @ ("off" | "signals"))) = (word("sandbox"), word("confine"))
    else {
        return;
    };
    if sandbox != "off"
        && let Some(node) = step.get("confine")
    {
        context.error(
            "confine-with-sandbox",
            node.span,
            format!("`confine: {confine}` contradicts `sandbox: {sandbox}`, which confines files"),
            "leave one of them out".to_owned(),
        );
    }
}

/// Checks that a time to decide belongs to something that is decided.
fn approval_timeout(context: &mut CheckContext<'_>, step: &SourceNode, kind: &str) {
    let asks_to_start = step.get("needs_approval").is_some_and(|node| node.as_bool() == Some(true));
    let is_question = kind == "gate" && step.get("command").is_none();
    if let Some(node) = step.get("approval_timeout")
        && !asks_to_start
        && !is_question
    {
        context.error(
            "key-not-for-type",
            node.span,
            "`approval_timeout` has no meaning for a step that asks nobody",
            "add `needs_approval: true`, or remove it; `timeout` limits how long a step runs",
        );
    }
}

/// What the step's answer will be.
pub(super) fn answer(step: &SourceNode, text: ValueType) -> ValueType {
    match step.get("expect") {
        None => text,
        Some(expect) => match expect.as_str() {
            Some("text" | "any") => text,
            Some("comments") => type_of_schema(&comments::schema()),
            Some(_) => ValueType::Any,
            None => type_of_schema(&expect.to_json()),
        },
    }
}

impl CheckContext<'_> {
    /// A key that a type of step cannot do without.
    pub(super) fn require_key(
        &mut self,
        step: &SourceNode,
        kind: &str,
        key: &'static str,
        help: &str,
    ) -> bool {
        if step.get(key).is_some_and(|value| !value.is_null()) {
            return true;
        }
        // A key that is nearly this one was told already.
        let is_known = |name: &str| {
            COMMON_STEP_KEYS.contains(&name)
                || STEP_TYPE_KEYS.iter().any(|(_, keys)| keys.contains(&name))
        };
        let slip = |entry: &MapEntry| !is_known(&entry.key) && !near(&entry.key, [key]).is_empty();
        if step.entries().iter().any(slip) {
            return false;
        }
        let article = if kind.starts_with('a') { "an" } else { "a" };
        let message = format!("{article} `{kind}` step needs `{key}`");
        self.error("missing-key", step.key_span("type"), message, help);
        false
    }

    pub(super) fn agent_step(
        &mut self,
        step: &SourceNode,
        variables: &StepVariables,
        around: &StepSurroundings,
    ) {
        let kind = step.get("type").and_then(SourceNode::as_str).unwrap_or_default();
        self.shared_fields(step, variables);
        self.expectation(step);
        if self.require_key(step, kind, "prompt", "write what the agent is told")
            && let Some(prompt) = step.get("prompt")
        {
            self.prompt(prompt, variables);
        }
        if !around.adapter && step.get("adapter").is_none_or(SourceNode::is_null) {
            self.error(
                "no-adapter",
                step.key_span("type"),
                "it is not said which agent to run",
                "add `adapter`, here or under `defaults`",
            );
        }
    }

    fn prompt(&mut self, prompt: &SourceNode, variables: &StepVariables) {
        if prompt.as_str().is_some_and(|text| text.trim().is_empty()) {
            let help = "write what the agent is told";
            self.error("empty-prompt", prompt.span, "the prompt is empty", help);
        }
        self.template(prompt, variables);
    }

    fn agent_loop(
        &mut self,
        step: &SourceNode,
        variables: &mut StepVariables,
        around: &StepSurroundings,
    ) -> ValueType {
        let result = answer(step, ValueType::FreeText);
        variables.set_local(round_names());
        self.agent_step(step, variables, around);
        let until = step.get("until").filter(|until| !until.is_null());
        let help = "write `until: {command: cargo test}`, or `arbiter: {prompt: Is anything left \
                    to do?}`";
        if (until.is_some() || self.require_key(step, "agent-loop", "arbiter", help))
            && let Some(arbiter) = step.get("arbiter")
        {
            self.shared_fields(arbiter, variables);
            if let Some(prompt) = arbiter.get("prompt") {
                self.prompt(prompt, variables);
            }
        }
        if let Some(until) = until {
            if until.as_str().is_some() {
                let message = "an `agent-loop` ends by a command or an arbiter, and this is text";
                let help = "write `until: {command: cargo test}`; a `loop` takes a condition";
                self.error("until-not-command", until.span, message, help);
            }
            self.shared_fields(until, variables);
            self.shell_command(until, variables, around);
        }
        result
    }
}

/// What the texts of a round know beside the variables.
pub(super) fn round_names() -> Vec<(String, ValueType)> {
    vec![
        ("iteration".to_owned(), ValueType::Number),
        ("previous".to_owned(), ValueType::object([("output".to_owned(), ValueType::FreeText)])),
        (
            "verdict".to_owned(),
            ValueType::object([
                ("reason".to_owned(), ValueType::FreeText),
                ("verdict".to_owned(), ValueType::Text),
            ]),
        ),
    ]
}
