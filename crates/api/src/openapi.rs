//! The published document (`OpenAPI` 3.1), made from the routes and the types.

use std::collections::{BTreeMap, BTreeSet};

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::event::{EventGap, EventSnapshot, SessionSnapshot};
use crate::problem::{ApiProblem, MEDIA_TYPE, ProblemCode};
use crate::route::{ApiRoute, COMMON_PROBLEMS, HttpMethod, ROUTES, RouteAccess, RouteAnswer};

/// The document as a value, its keys in the order of the alphabet: how a map keeps them depends on
/// what else is built, and the document must not.
pub fn document() -> Value {
    sorted(written())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            if let Some(largest) = fields.get("format").and_then(largest)
                && !fields.contains_key("maximum")
            {
                fields.insert("maximum".to_owned(), largest.into());
            }
            let fields: BTreeMap<String, Value> = fields.into_iter().collect();
            Value::Object(fields.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// That exactly one of these fields is there, each with its type.
pub(crate) fn one_of(fields: &[(&str, &str)]) -> Value {
    let one = |(name, kind): &(&str, &str)| json!({ "required": [name], "properties": { (*name): { "type": kind } } });
    fields.iter().map(one).collect()
}

/// The largest number of a format, which the types' own schemas leave out.
fn largest(format: &Value) -> Option<u64> {
    match format.as_str()? {
        "uint8" => Some(u8::MAX.into()),
        "uint16" => Some(u16::MAX.into()),
        "uint32" => Some(u32::MAX.into()),
        "uint64" => Some(u64::MAX),
        _ => None,
    }
}

fn written() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator();
    // What streams carry besides envelopes, and how problems look.
    generator.subschema_for::<SessionSnapshot>();
    generator.subschema_for::<EventSnapshot>();
    generator.subschema_for::<EventGap>();
    generator.subschema_for::<crate::attach::FromDaemon>();
    generator.subschema_for::<crate::attach::FromViewer>();
    generator.subschema_for::<crate::ipc::IpcCommand>();
    generator.subschema_for::<crate::ipc::IpcAnswer>();
    generator.subschema_for::<crate::ipc::IpcPush>();
    let problem = generator.subschema_for::<ApiProblem>().to_value();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let operation = operation(route, &mut generator, &problem);
        paths
            .entry(route.path)
            .or_default()
            .insert(route.method.as_str().to_lowercase(), operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Coven",
            "version": crate::API_VERSION.to_string(),
            "description": "The daemon of Coven. Errors are `application/problem+json` with a \
                stable `code`; each code has a page in docs/errors/. Over TCP every request needs \
                `Authorization: Bearer` with a token of a device; over the unix socket the peer \
                is checked instead. `x-coven-access` says which role a device needs: look, \
                answer or full; `socket` is there over the socket only, `open` needs no device.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// The document as it is committed and served.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(route: &ApiRoute, generator: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "responses": responses(route, generator, problem),
    });
    let mut parameters: Vec<Value> = path_parameters(route.path);
    if let Some(query) = route.query {
        parameters.extend(query_parameters(query, generator));
    }
    if route.name == "startWorkflow" {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same key with the same request gives the same session.",
            "schema": {
                "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$",
            },
        }));
    }
    if matches!(route.answers, RouteAnswer::Events(_)) {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "description": "Everything after this event.",
            "schema": { "type": "string", "pattern": "^[0-9]{0,19}$" },
        }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some((schema, required)) = route.body {
        operation["requestBody"] = json!({
            "required": required,
            "content": { "application/json": { "schema": schema(generator) } },
        });
    }
    operation["x-coven-access"] = json!(route.access.as_str());
    if route.access == RouteAccess::Open {
        operation["security"] = json!([]);
    }
    operation
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let describe = |name: &str| match name {
        "id" => {
            "The session: its id, the beginning of its id, or its name. With `@` and a folder behind \
             it, the one of that folder and no other."
        }
        "task" => "The task's id.",
        "session" => "The session's id; with the number it is the intervention's id.",
        "attempt" => "The number of the attempt, from 1.",
        "number" => "The intervention's number in its session.",
        _ => "Its name.",
    };
    names
        .map(|name| {
            json!({
                "name": name, "in": "path", "required": true,
                "description": describe(name),
                "schema": { "type": "string", "minLength": 1 },
            })
        })
        .collect()
}

/// A type whose fields are parameters of a query.
fn query_parameters(
    schema: fn(&mut SchemaGenerator) -> Schema,
    generator: &mut SchemaGenerator,
) -> Vec<Value> {
    let reference = schema(generator).to_value();
    let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let found = name.and_then(|name| generator.definitions().get(name)).cloned();
    let fields = found.as_ref().and_then(|found| found["properties"].as_object()).cloned();
    let fields: BTreeMap<String, Value> = fields.unwrap_or_default().into_iter().collect();
    fields
        .into_iter()
        .map(|(name, mut schema)| {
            let description =
                schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({
                "name": name, "in": "query", "required": false,
                "description": description, "schema": without_null(schema),
            })
        })
        .collect()
}

/// The same schema for a query, where what is not there is left out and cannot be null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &mut kinds[..] {
            schema["type"] = kind.take();
        }
    }
    if let Some(others) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        others.retain(|other| other["type"] != "null");
        if let [other] = &others[..] {
            return other.clone();
        }
    }
    schema
}

fn responses(route: &ApiRoute, generator: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut responses = Map::new();
    let (status, mut response) = match route.answers {
        RouteAnswer::Json(status, schema) => (
            status,
            json!({
                "description": "As asked.",
                "content": { "application/json": { "schema": schema(generator) } },
            }),
        ),
        RouteAnswer::Nothing => (204, json!({ "description": "Done." })),
        RouteAnswer::Events(schema) => (
            200,
            json!({
                "description": "Server-sent events: `snapshot`, `gap`, `lagged`, and envelopes.",
                "content": { "text/event-stream": { "itemSchema": {
                    "type": "object",
                    "required": ["event", "data"],
                    "properties": {
                        "event": { "type": "string" },
                        "id": { "type": "string" },
                        "data": {
                            "type": "string",
                            "contentMediaType": "application/json",
                            "contentSchema": { "anyOf": [
                                schema(generator),
                                generator.subschema_for::<EventSnapshot>(),
                                generator.subschema_for::<SessionSnapshot>(),
                                generator.subschema_for::<EventGap>(),
                                {
                                    "description": "What `lagged` and `end` say.",
                                    "type": "object",
                                    "properties": {
                                        "missed": { "type": "integer" },
                                        "reason": { "type": "string" },
                                    },
                                    "additionalProperties": false,
                                },
                            ] },
                        },
                    },
                } } },
            }),
        ),
        RouteAnswer::Socket => (101, json!({ "description": "A WebSocket." })),
        RouteAnswer::Other(media) => {
            (200, json!({ "description": "As asked.", "content": { (media): {} } }))
        }
    };
    if let Some(media) = route.instead {
        response["content"][media] = json!({});
    }
    responses.insert(status.to_string(), response);
    let mut codes: BTreeMap<u16, BTreeSet<ProblemCode>> = BTreeMap::new();
    for &code in route.problems.iter().chain(COMMON_PROBLEMS) {
        codes.entry(code.status()).or_default().insert(code);
    }
    if matches!(route.answers, RouteAnswer::Socket) {
        for code in [ProblemCode::BadRequest, ProblemCode::UpgradeRequired] {
            codes.entry(code.status()).or_default().insert(code);
        }
    }
    for (status, codes) in codes {
        let names: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        responses.insert(
            status.to_string(),
            json!({
                "description": names.join(", "),
                "content": { (MEDIA_TYPE): { "schema": problem } },
            }),
        );
    }
    Value::Object(responses)
}

/// The names of all methods that a path knows, for the header `Allow`.
pub fn allowed(path: &str) -> Vec<HttpMethod> {
    ROUTES.iter().filter(|route| route.path == path).map(|route| route.method).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Where the document is committed.
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

    /// Run with `COVEN_UPDATE=1` to write it anew.
    #[test]
    fn the_committed_document_is_the_one_that_is_served() {
        if std::env::var_os("COVEN_UPDATE").is_some() {
            std::fs::write(FILE, text()).unwrap();
        }
        let committed = std::fs::read_to_string(Path::new(FILE)).unwrap_or_default();
        assert!(committed == text(), "openapi.json is not up to date: COVEN_UPDATE=1 cargo test");
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_operation_has_a_name_of_its_own() {
        let document = document();
        let names: BTreeSet<&str> = ROUTES.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), ROUTES.len());
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        let pointer = reference.trim_start_matches('#');
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    open.extend(fields.values());
                }
                Value::Array(values) => open.extend(values),
                _ => {}
            }
        }
    }

    #[test]
    fn parameters_of_a_query_have_their_names_and_may_be_left_out() {
        let document = document();
        let parameters = &document["paths"]["/workflows"]["get"]["parameters"];
        let names: Vec<&str> =
            parameters.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["after", "baseDir", "limit", "search", "status"]);
    }
}
