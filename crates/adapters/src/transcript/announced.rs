//! Plans and changes of files that stand in what a tool is given. Agents name their tools as they
//! like; the shapes of these inputs are few.
//!
//! | shape | whose |
//! |---|---|
//! | `todos: [{content \| description \| text, status}]` | Claude's `TodoWrite`, Qwen, Gemini, opencode |
//! | `plan: [{step, status}]` | Codex' `update_plan` |
//! | `changes: [{path, kind, diff}]` | Codex' file changes |
//! | a path with `old_string` and `new_string`, or `edits` of them | Claude's `Edit` and `MultiEdit`, Gemini, Qwen, opencode, Copilot |
//! | a path with `content` or `file_text` | the same agents, for whole files |

use coven_model::{StepStatus, TranscriptStep};
use serde_json::Value;

use super::entry::{TranscriptItem, name, visible_line};
use super::file_diff::{FileDiff, MAX_DIFFS};
use super::json::JsonNode;

/// How many steps of a plan are kept. A plan is for people.
const MAX_STEPS: usize = 200;

const PATHS: [&str; 4] = ["file_path", "filePath", "path", "absolute_path"];
const BEFORE: [&str; 3] = ["old_string", "oldString", "old_str"];
const AFTER: [&str; 3] = ["new_string", "newString", "new_str"];
const WHOLE: [&str; 2] = ["content", "file_text"];

/// Tells the plan and the changes in what a tool is given; whether there are changes.
pub(crate) fn tell(
    call: Option<&str>,
    input: JsonNode<'_>,
    tell: &mut dyn FnMut(TranscriptItem),
) -> bool {
    if !input.is_object() {
        return false;
    }
    for list in ["todos", "plan"] {
        if let Some(item) = plan(input.get(list)) {
            tell(item);
        }
    }
    let changes = changes(input);
    let found = !changes.is_empty();
    for change in changes.into_iter().take(MAX_DIFFS) {
        tell(change.item(call));
    }
    found
}

/// A plan from a list of steps; nothing if the list is no plan.
pub(crate) fn plan(list: JsonNode<'_>) -> Option<TranscriptItem> {
    let steps: Option<Vec<TranscriptStep>> = list.items().take(MAX_STEPS).map(step).collect();
    let steps = steps.filter(|steps| !steps.is_empty())?;
    Some(TranscriptItem::Plan { steps })
}

fn step(step: JsonNode<'_>) -> Option<TranscriptStep> {
    let words = ["content", "step", "text", "description", "title"];
    let text = words.into_iter().find_map(|field| step.get(field).str())?;
    let status = match (step.get("status").str(), step.get("completed").bool()) {
        (Some("completed" | "done"), _) | (None, Some(true)) => StepStatus::Completed,
        (Some("in_progress" | "inProgress"), _) => StepStatus::InProgress,
        _ => StepStatus::Pending,
    };
    Some(TranscriptStep { text: visible_line(text), status })
}

fn changes(input: JsonNode<'_>) -> Vec<FileDiff> {
    let listed: Vec<FileDiff> = input.get("changes").items().filter_map(patch).collect();
    if !listed.is_empty() {
        return listed;
    }
    let Some(path) = text(input, &PATHS) else { return Vec::new() };
    let edits: Vec<FileDiff> =
        input.get("edits").items().filter_map(|edit| replacement(path, edit)).collect();
    if !edits.is_empty() {
        return edits;
    }
    let whole = || Some(FileDiff::between(Some(path), "", text(input, &WHOLE)?));
    replacement(path, input).or_else(whole).into_iter().collect()
}

fn replacement(path: &str, edit: JsonNode<'_>) -> Option<FileDiff> {
    Some(FileDiff::between(Some(path), text(edit, &BEFORE)?, text(edit, &AFTER)?))
}

/// A change that is told as a diff. Of a new file Codex tells the content.
fn patch(change: JsonNode<'_>) -> Option<FileDiff> {
    let (path, diff) = (change.get("path").str()?, change.get("diff").str()?);
    let kind = change.get("kind");
    let is_new = kind.get("type").str().or(kind.str()) == Some("add");
    let is_diff = diff.starts_with("@@") || diff.starts_with("---") || diff.starts_with("diff ");
    Some(if is_new && !is_diff {
        FileDiff::between(Some(path), "", diff)
    } else {
        FileDiff::of_unified(Some(path), diff)
    })
}

fn text<'a>(input: JsonNode<'a>, fields: &[&str]) -> Option<&'a str> {
    fields.iter().find_map(|field| input.get(field).str())
}

/// What a tool is used for, in short.
pub(crate) fn purpose(input: &Value) -> String {
    let node = JsonNode::Kept(input);
    let usual = ["command", "cmd", "file_path", "filePath", "path", "url", "query", "pattern"];
    let found = usual.into_iter().find_map(|field| node.get(field).str());
    let listed = || {
        let commands = node.get("command").items().filter_map(JsonNode::str);
        let words: Vec<&str> = commands.collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let changed = || {
        let paths = node.get("changes").items().filter_map(|change| change.get("path").str());
        let paths: Vec<String> = paths.map(name).collect();
        (!paths.is_empty()).then(|| paths.join(", "))
    };
    let told = found.map(str::to_owned).or_else(listed).or_else(changed);
    match told {
        Some(told) => told,
        None if input.is_null() => String::new(),
        None => node.readable_text(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(input: &Value) -> Vec<String> {
        let mut items = Vec::new();
        tell(Some("c"), JsonNode::Kept(input), &mut |item| items.push(item));
        items.iter().map(|item| serde_json::to_string(item).unwrap()).collect()
    }

    #[test]
    fn plans_of_all_agents_are_the_same_list() {
        let expected = r#"{"type":"plan","steps":[{"text":"look","status":"completed"},{"text":"write","status":"in-progress"},{"text":"test","status":"pending"}]}"#;
        let claude = json!({"todos": [
            {"content": "look", "status": "completed", "activeForm": "Looking"},
            {"content": "write", "status": "in_progress"},
            {"content": "test", "status": "pending"},
        ]});
        let codex = json!({"plan": [
            {"step": "look", "status": "completed"},
            {"step": "write", "status": "inProgress"},
            {"step": "test", "status": "pending"},
        ]});
        let gemini = json!({"todos": [
            {"description": "look", "status": "completed"},
            {"description": "write", "status": "in_progress"},
            {"description": "test", "status": "cancelled"},
        ]});
        for input in [claude, codex, gemini] {
            assert_eq!(told(&input), [expected], "{input}");
        }
        for none in [json!({"todos": []}), json!({"todos": "x"}), json!({"plan": ["a"]}), json!(1)]
        {
            assert_eq!(told(&none), [""; 0], "{none}");
        }
    }

    #[test]
    fn edits_of_all_agents_are_the_same_diff() {
        let expected = r#"{"type":"diff","call":"c","path":"a.rs","diff":{"text":"-one\n+two\n"},"added":1,"removed":1}"#;
        for input in [
            json!({"file_path": "a.rs", "old_string": "one", "new_string": "two"}),
            json!({"filePath": "a.rs", "oldString": "one", "newString": "two"}),
            json!({"path": "a.rs", "old_str": "one", "new_str": "two"}),
            json!({"file_path": "a.rs", "edits": [{"old_string": "one", "new_string": "two"}]}),
            json!({"changes": [{"path": "a.rs", "kind": {"type": "update"}, "diff": "-one\n+two\n"}]}),
        ] {
            assert_eq!(told(&input), [expected], "{input}");
        }
        let written = r#"{"type":"diff","call":"c","path":"a.rs","diff":{"text":"+one\n+two\n"},"added":2,"removed":0}"#;
        for input in [
            json!({"file_path": "a.rs", "content": "one\ntwo\n"}),
            json!({"path": "a.rs", "file_text": "one\ntwo\n"}),
            json!({"changes": [{"path": "a.rs", "kind": {"type": "add"}, "diff": "one\ntwo\n"}]}),
        ] {
            assert_eq!(told(&input), [written], "{input}");
        }
        for none in [
            json!({"path": "a"}),
            json!({"command": "ls"}),
            json!({"changes": [{"path": "a", "kind": "add"}]}),
        ] {
            assert_eq!(told(&none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_purpose_is_the_command_or_the_file() {
        assert_eq!(purpose(&json!({"command": "ls", "timeout": 3})), "ls");
        assert_eq!(purpose(&json!({"command": ["git", "log"]})), "git log");
        assert_eq!(purpose(&json!({"changes": [{"path": "a"}, {"path": "b"}]})), "a, b");
        assert_eq!(purpose(&json!({"questions": []})), r#"{"questions":[]}"#);
        assert_eq!(purpose(&Value::Null), "");
    }
}
