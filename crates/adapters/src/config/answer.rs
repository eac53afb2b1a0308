//! The part of an adapter file that says where a program writes down what was said.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a program on a terminal writes its conversation down, and how the answer is found in it.
/// A screen has no answer that could be used as data: programs leave marks of emphasis out, break
/// lines, number the lines of code, and lose what is longer than the screen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerConfig {
    /// The file, which has one JSON object in each line. It begins with `~/`; `*` stands for
    /// anything within one name, `${agentSession}` for the id of the conversation.
    pub file: String,
    /// Where the first line of the file has the id of the conversation, such as `meta.id`: for
    /// programs that do not name their files after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the first line of the file has the folder the program runs in: for programs whose
    /// conversations cannot be given an id. Two at once in one folder cannot be told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The lines that begin a turn: what the program was told.
    pub prompt: Vec<AnswerLine>,
    /// The lines that have what it said. The last of a turn is its answer.
    pub said: Vec<AnswerLine>,
    /// The lines after which there is more to come, such as calls of tools: what was said before
    /// is not the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<AnswerLine>,
}

/// Which lines are meant. A place in a line is the names of members with dots between them; `*`
/// stands for each entry of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AnswerLine {
    /// What stands at which place: a value, `"*"` for any, `null` for none.
    #[serde(rename = "where")]
    pub fields: BTreeMap<String, Value>,
    /// Where the text stands. A line without text is not meant then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of a member beside a text that says with `true` that it was not said, but thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
}
