//! Checks a stage workflow as a whole.

use std::collections::HashMap;

use coven_notation::{FileProblem, SourceNode, SourceSpan};

use super::context::CheckContext;

pub(super) fn check(context: &mut CheckContext<'_>, root: &SourceNode) {
    let stages = root.get("stages").map(SourceNode::items).unwrap_or_default();
    let mut stage_ids = HashMap::new();
    let mut task_ids = HashMap::new();
    for stage in stages {
        unique(context, stage, "stages", &mut stage_ids);
        for task in stage.get("tasks").map(SourceNode::items).unwrap_or_default() {
            unique(context, task, "tasks", &mut task_ids);
            check_task(context, task);
        }
    }
}

fn unique<'a>(
    context: &mut CheckContext<'_>,
    node: &'a SourceNode,
    what: &str,
    seen: &mut HashMap<&'a str, SourceSpan>,
) {
    let Some(id) = node.get("id") else { return };
    let Some(text) = id.as_str() else { return };
    if let Some(first) = seen.get(text) {
        let message = format!("there are two {what} `{text}`");
        let problem = FileProblem::error("duplicate-id", id.span, message)
            .with_related(*first, "the first one");
        context.push(problem.help("every id may stand once in the whole workflow"));
    } else {
        seen.insert(text, id.span);
    }
}

fn check_task(context: &mut CheckContext<'_>, task: &SourceNode) {
    if let Some(adapter) = task.get("adapter") {
        context.adapter_name(adapter);
    }
    let mode = task.get("executionMode");
    let headless = mode.and_then(SourceNode::as_str) == Some("headless");
    let prompt = task.get("prompt").and_then(SourceNode::as_str);
    if headless && prompt.is_none_or(|text| text.trim().is_empty()) {
        let span = mode.map_or(task.span, |mode| mode.span);
        context.error(
            "headless-without-prompt",
            span,
            "a headless task needs a prompt: it gets no other input",
            "add `prompt`, or make the task `interactive`",
        );
    }
    if headless && task.get("keepAlive").is_some() {
        let message = "`keepAlive` has no meaning for a headless task";
        let problem = FileProblem::error("key-not-for-mode", task.key_span("keepAlive"), message);
        context
            .push(problem.help(
                "a headless agent ends by itself; remove it, or make the task `interactive`",
            ));
    }
    context.environment(task, None);
    context.durations(task);
    context.terminal_size(task);
    context.expectation(task);
    for key in ["prompt", "cwd", "name", "model"] {
        if let Some(text) = task.get(key) {
            context.plain_text(text);
        }
    }
    for key in ["extraArgs", "pendingInputs"] {
        for text in task.get(key).into_iter().flat_map(SourceNode::items) {
            context.plain_text(text);
        }
    }
}
