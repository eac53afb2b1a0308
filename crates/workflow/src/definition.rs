//! Definitions as they are written, before anything is known about them: the shapes that files
//! are held against, and what `coven schema` publishes.
//!
//! The structs are flat on purpose. Which keys belong to which type of step is checked by
//! [`crate::check`], because an enum would blame the wrong line.

pub mod grimoire;
pub mod stages;

use schemars::{Schema, SchemaGenerator, json_schema};

pub(crate) const KEBAB_CASE_PATTERN: &str = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$";
/// The longest name of a grimoire or a step.
pub(crate) const MAX_NAME_CHARS: usize = 64;

/// The shape of a name in kebab-case.
fn kebab(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "title": "a name in kebab-case such as `run-tests`: lowercase letters and digits, with single dashes between",
        "pattern": KEBAB_CASE_PATTERN,
        "maxLength": MAX_NAME_CHARS,
    })
}

/// The shape of an id in a stage workflow.
fn id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "title": "an id: 1 to 64 letters, digits, `-` or `_`",
        "pattern": "^[A-Za-z0-9_-]{1,64}$",
    })
}

/// The shape of which exit codes count as success.
fn exit_codes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"const": "any"},
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0, "maximum": 255}},
        ],
    })
}

/// What may happen when a job is lost.
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum OnLostName {
    Ask,
    Retry,
    Fail,
}

/// How far a job is confined.
fn sandbox(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["off", "read-only", "workspace", "required"]})
}

/// What a job is kept from.
fn confine(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["off", "signals", "files"]})
}

/// Where a job's process may be started.
fn domain(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["holder"]})
}

/// The shape of the size of a terminal. Its bounds are checked by [`crate::check`].
fn size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "title": "a terminal size such as `100x30`: columns and rows",
        "pattern": "^[0-9]+x[0-9]+$",
    })
}

/// What `expect` may be.
fn expect(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string", "enum": ["text", "any", "json", "comments"]},
            {"type": "object", "title": "a JSON schema"},
        ],
    })
}

/// What `for_each` may be.
fn for_each(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string", "title": "a variable such as `${tasks}`"},
            {"type": "array"},
        ],
    })
}

/// What `shell` may be.
fn shell(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string", "title": "a shell such as `bash`"},
            {"type": "array", "minItems": 1, "items": {"type": "string"}, "title": "a program and its arguments"},
        ],
    })
}

/// What `trigger` may be.
fn trigger(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"const": "manual"},
            {
                "type": "object",
                "required": ["event"],
                "additionalProperties": false,
                "properties": {
                    "event": {
                        "type": "string",
                        "title": "a type of event such as `workflow.completed`",
                        "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$",
                        "description": "The type of the event that starts it, such as `workflow.completed`; one of Coven's own, or any that is posted to it.",
                    },
                    "where": {
                        "type": "string",
                        "description": "What must be true of the event's data, as a condition: `grimoire == 'spec-to-beads'`.",
                    },
                },
            },
        ],
    })
}
