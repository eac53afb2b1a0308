//! What can be run: grimoires and adapters.

use coven_model::{AgentMode, PlanView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which folder's catalogue is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaseDirQuery {
    /// The folder: an absolute path. The daemon's own default otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// The grimoires there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrimoireList {
    /// The grimoires, sorted by name.
    pub grimoires: Vec<GrimoireItem>,
}

/// A grimoire in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrimoireItem {
    /// The name by which it is used.
    pub name: String,
    /// What the grimoire does, in the words of its author.
    pub description: String,
    /// Where it comes from: `built-in`, `user` or `project`.
    pub layer: String,
    /// Its file, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it can be run: it is right, and its folder is trusted.
    pub usable: bool,
    /// Why the grimoire cannot be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// What starts it: `manual`, or the type of an event.
    pub trigger: String,
    /// The inputs that a run takes.
    pub inputs: Vec<InputItem>,
}

/// One input of a grimoire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputItem {
    /// The name by which it is used.
    pub name: String,
    /// What the input is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// `string`, `number`, `boolean`, `array` or `object`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it is if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A grimoire with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrimoireText {
    /// The same as in lists of grimoires.
    #[serde(flatten)]
    pub item: GrimoireItem,
    /// The text of the file.
    pub text: String,
    /// What is wrong with it.
    pub problems: Vec<TextDiagnostic>,
    /// What it would do, as a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
}

/// What `POST /grimoires/check` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckRequest {
    /// The text of a definition of either form.
    pub text: String,
    /// What it is called in messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder it would run in: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckResponse {
    /// Whether it can be run.
    pub ok: bool,
    /// What was found, in the order of the text.
    pub problems: Vec<TextDiagnostic>,
    /// The inputs that a run takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputItem>,
    /// What it would do, as a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
}

/// Something about a text, at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextDiagnostic {
    /// How much it matters: `error` or `warning`.
    pub severity: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The line where it ends.
    pub end_line: u32,
    /// The column after its end.
    pub end_column: u32,
}

/// The adapters there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterList {
    /// The adapters, sorted by type.
    pub adapters: Vec<AdapterItem>,
}

/// An adapter and whether its program is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterItem {
    /// The type by which tasks name the adapter.
    #[serde(rename = "type")]
    pub kind: String,
    /// What people call it.
    pub display_name: String,
    /// The name of its icon.
    pub icon: String,
    /// Where it comes from: `built-in`, `user` or `project`.
    pub layer: String,
    /// How it can run.
    pub modes: Vec<AgentMode>,
    /// The program that the adapter starts.
    pub command: String,
    /// Where that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The version that is installed, where it could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// The version our knowledge was tested with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_version: Option<String>,
    /// What is wrong with its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
