//! The part of an adapter file that says how its menus are used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the entries of a menu are found, beyond those that stand below one another with a mark before
/// the selected one, and which of them takes a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EntriesConfig {
    /// A regular expression for the line of a menu whose entries stand beside one another, with one
    /// group for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// A regular expression for the label of the entry that takes a text of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The keys that are pressed when that entry is selected, before the text is typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text_keys: Vec<String>,
}
