//! Checks steps that run a command: scripts and gates.

use coven_notation::{FileProblem, SourceNode};

use super::context::CheckContext;
use super::step::{COMMAND_KEYS, StepSurroundings};
use super::variables::StepVariables;
use crate::shell;

impl CheckContext<'_> {
    pub(super) fn command_step(
        &mut self,
        step: &SourceNode,
        variables: &StepVariables,
        around: &StepSurroundings,
    ) {
        let kind = step.get("type").and_then(SourceNode::as_str).unwrap_or_default();
        self.shared_fields(step, variables);
        self.expectation(step);
        if kind == "script" {
            self.require_key(step, kind, "command", "write what is to be run");
        }
        self.shell_command(step, variables, around);
    }

    /// Checks the command of a step or of a part of one, which may name its shell.
    pub(super) fn shell_command(
        &mut self,
        node: &SourceNode,
        variables: &StepVariables,
        around: &StepSurroundings,
    ) {
        let Some(command) = node.get("command") else { return };
        let own =
            node.get("shell").and_then(|shell| shell.as_str().or(shell.items().first()?.as_str()));
        match own.or(around.shell.as_deref()).filter(|program| !shell::is_shell(program)) {
            Some(program) if node.get("shell").is_none_or(|shell| shell.as_str().is_none()) => {
                self.foreign_command(command, program, variables);
            }
            _ => self.command(command, variables),
        }
    }

    pub(super) fn gate(
        &mut self,
        step: &SourceNode,
        variables: &StepVariables,
        around: &StepSurroundings,
    ) {
        self.command_step(step, variables, around);
        if let Some(message) = step.get("message") {
            self.template(message, variables);
        }
        if step.get("command").is_some() {
            if let Some(entry) = step.entries().iter().find(|entry| entry.key == "skippable") {
                self.error(
                    "key-not-for-type",
                    entry.key_span,
                    "`skippable` has no meaning for a gate with a command",
                    "remove it: a gate that failed can always be skipped",
                );
            }
            return;
        }
        if step.get("message").is_none() {
            self.error(
                "missing-key",
                step.key_span("type"),
                "a `gate` step needs `command` or `message`",
                "write the command that checks, or the question for a person",
            );
        }
        for entry in step.entries() {
            if COMMAND_KEYS.contains(&entry.key.as_str()) || entry.key == "output" {
                let message =
                    format!("`{}` has no meaning for a gate that asks a person", entry.key);
                let help = "add a `command`, or remove this";
                self.push(
                    FileProblem::error("key-not-for-type", entry.key_span, message).help(help),
                );
            }
        }
    }
}
