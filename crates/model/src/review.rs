//! Comments about lines of files: those of people, and those that agents with `expect: comments`
//! answer with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which side of a comparison a line is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewSide {
    /// What it is compared with.
    Old,
    /// What is there now.
    #[default]
    New,
}

/// A comment about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewComment {
    /// The file, as `GET …/changes` names it.
    pub path: String,
    /// The side that the line is on; `new` unless said.
    #[serde(default)]
    pub side: ReviewSide,
    /// The line, from 1.
    #[schemars(range(min = 1))]
    pub line: u32,
    /// The last line, if it is about more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub end_line: Option<u32>,
    /// The comment.
    #[schemars(length(min = 1, max = 16_384))]
    pub text: String,
}

/// The answer of an agent with `expect: comments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WrittenReview {
    /// What it says about the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it says about lines.
    pub comments: Vec<ReviewComment>,
}
