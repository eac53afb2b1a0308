//! The JSON schemas of both forms of definition, for editors: what we publish is what we check.

use serde_json::Value;

use crate::definition::grimoire::Grimoire;
use crate::definition::stages::StageWorkflow;

/// The schema of a grimoire.
pub fn grimoire() -> Value {
    coven_notation::schema_of::<Grimoire>()
}

/// The schema of a stage workflow.
pub fn workflow() -> Value {
    coven_notation::schema_of::<StageWorkflow>()
}
