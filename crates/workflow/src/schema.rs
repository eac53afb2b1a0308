//! The JSON schemas of both forms of definition, for editors: what we publish is what we check.

use std::sync::LazyLock;

use serde_json::Value;

use crate::definition::grimoire::Grimoire;
use crate::definition::stages::StageWorkflow;

pub fn grimoire() -> Value {
    coven_notation::schema_of::<Grimoire>()
}

/// The schema of a stage workflow.
pub fn workflow() -> Value {
    coven_notation::schema_of::<StageWorkflow>()
}

pub(crate) fn cached_grimoire() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(grimoire);
    &SCHEMA
}

pub(crate) fn cached_workflow() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(workflow);
    &SCHEMA
}
