//! A value that is kept aside because it is large, for people: how it begins, how large it is, and
//! how to see all of it.

use coven_model::view::LargeValueReference;
use serde_json::Value;

use crate::output;

/// What is shown of a large value.
#[derive(Debug)]
pub(crate) struct LargeValue {
    /// How it begins, on as many lines as that has.
    pub(crate) beginning: String,
    bytes: u64,
}

impl LargeValue {
    /// The large value that this stands for; none if it is a value itself.
    pub(crate) fn of(shown: &Value) -> Option<Self> {
        let LargeValueReference { begins, bytes, .. } = LargeValueReference::of(shown)?;
        Some(Self { beginning: output::clean(&begins), bytes })
    }

    /// How large it is, and the command that prints all of it.
    pub(crate) fn rest(&self, session: &str, name: &str) -> String {
        format!("… ({} bytes; coven output {session} {name})", self.bytes)
    }

    /// How large it is.
    pub(crate) fn size(&self) -> String {
        format!("… ({} bytes)", self.bytes)
    }
}
