//! The part of an adapter file that says what an approval is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where in an approval it stands what the agent wants to do. A policy holds its rules for
/// commands against what is found here, and asks where nothing is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalConfig {
    /// The tool the agent wants to use, by a name for policies: `shell`, `edit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A regular expression over all lines of the question. Its group `command` takes the lines of
    /// the command, and must take every line that may belong to it. The whole expression takes every
    /// line from the beginning of the question to its end, but for the first and the last of those
    /// that the pattern of the state takes: where a line is left, no command is read and a person is
    /// asked.
    pub command: String,
    /// A regular expression over each of those lines, whose first group is the text without frame
    /// and indentation. A line that it does not match makes the command unreadable. Without it a
    /// line of the command can look like any other, so that no command is read where the beginning
    /// of the question is there twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// A pattern for the line with which the question begins, where a command could show the same
    /// line: it must be on the screen once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<String>,
    /// A pattern for what the program shows in place of a part that it leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
}
