//! What a request asks for beside its command: a rule that allows the command has not seen it.

use serde_json::Value;

use super::ChannelKind;
use super::question::{ChannelQuestion, canonical_json};
use crate::transcript::json::JsonNode;

/// Fields of a request that say something about its command, and change nothing of what it does.
const WORDS_ABOUT_A_COMMAND: [&str; 7] =
    ["commandActions", "description", "reason", "timeout", "timeoutMs", "timeout_ms", "approvalId"];

/// Fields that name the folder in which a command runs.
pub(super) const FOLDER_FIELDS: [&str; 5] =
    ["cwd", "directory", "dir_path", "workdir", "workingDirectory"];

fn is_same_folder(one: &str, other: &str) -> bool {
    let clean = |path: &str| path.trim_end_matches('/').to_owned();
    clean(one) == clean(other) || matches!(one, "." | "./")
}

impl ChannelQuestion {
    /// What the request asks for beside its command, each as `NAME: VALUE`: everything in its input
    /// but words about it, and what speaks against what it seems to ask. `folder` is where the agent
    /// works.
    pub fn extras(&self, folder: Option<&str>) -> Vec<String> {
        let mut extras = self.doubts.clone();
        match (&self.command, &self.input) {
            (Some(command), Value::Object(fields)) => {
                let is_extra = |(name, value): &(&String, &Value)| {
                    !is_nothing(value) && !self.agrees(command, name, value, folder)
                };
                extras
                    .extend(fields.iter().filter(is_extra).map(|(name, value)| told(name, value)));
            }
            (Some(_), input) if !is_nothing(input) => extras.push(told("input", input)),
            _ => {}
        }
        extras.sort_unstable();
        extras.dedup();
        extras
    }

    /// Whether a field of the input goes with the command and asks for nothing more.
    fn agrees(&self, command: &str, name: &str, value: &Value, folder: Option<&str>) -> bool {
        match (name, value) {
            // Codex has it in the call of a shell, out of which the command was taken.
            ("command", Value::String(text)) => {
                text == command || self.channel == ChannelKind::CodexAppServer
            }
            ("commands", Value::Array(items)) => {
                items.iter().all(|item| item.as_str() == Some(command))
            }
            ("kind", Value::String(kind)) => kind == "command",
            ("environmentId", Value::String(id)) => id == "local",
            (name, Value::String(text)) if FOLDER_FIELDS.contains(&name) => {
                folder.is_some_and(|folder| is_same_folder(text, folder))
            }
            // The words of a call over ACP that is told by nothing else.
            ("title" | "content", _) => {
                self.channel == ChannelKind::Acp && self.input.get("command").is_none()
            }
            (name, _) => WORDS_ABOUT_A_COMMAND.contains(&name),
        }
    }
}

/// Whether a value asks for nothing.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// What stands in an object under names that are not known, each as `NAME: VALUE`: no rule has looked
/// at it, and it may say something else than what is known.
pub(super) fn unknown_members(object: JsonNode<'_>, known: &[&str]) -> Vec<String> {
    let others = object.fields().filter(|(name, _)| !known.contains(name));
    let given = |(name, value): (&str, JsonNode<'_>)| {
        let value = value.to_value().filter(|value| !is_nothing(value))?;
        Some(told(name, &value))
    };
    others.filter_map(given).collect()
}

pub(super) fn told(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {}", canonical_json(value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::channel::question::tests::question;

    fn extras(input: Value, folder: Option<&str>) -> Vec<String> {
        let question = ChannelQuestion {
            channel: ChannelKind::ClaudeStdio,
            tool: "Bash".to_owned(),
            input,
            command: Some("make".to_owned()),
            ..question()
        };
        question.extras(folder)
    }

    #[test]
    fn what_is_asked_beside_a_command_is_named() {
        let plain = json!({
            "command": "make", "description": "Build it", "timeout": 5000, "cwd": "/a/b/",
            "dangerouslyDisableSandbox": false, "additionalPermissions": null,
            "run_in_background": false,
        });
        assert_eq!(extras(plain, Some("/a/b")), [""; 0]);
        let more = json!({
            "command": "make", "cwd": "/etc", "dangerouslyDisableSandbox": true,
            "additionalPermissions": {"network": true}, "environmentId": "elsewhere",
            "run_in_background": true,
        });
        assert_eq!(
            extras(more, Some("/a/b")),
            [
                "additionalPermissions: {\"network\":true}",
                "cwd: /etc",
                "dangerouslyDisableSandbox: true",
                "environmentId: elsewhere",
                "run_in_background: true",
            ]
        );
        assert_eq!(extras(json!({"command": "make", "cwd": "/a"}), None), ["cwd: /a"]);
        let other = json!({"command": ["make"], "commands": ["make", "rm"]});
        assert_eq!(extras(other, None), ["command: [\"make\"]", "commands: [\"make\",\"rm\"]"]);
        assert_eq!(extras(json!("make"), None), ["input: make"]);
        assert_eq!(
            extras(json!({"command": "make x", "locations": [{"path": "/x"}]}), None).len(),
            2
        );
    }
}
