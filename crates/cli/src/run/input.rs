//! The inputs of a run, as the workflow wants them.

use coven_api::ApiClient;
use coven_api::catalogue::{BaseDirQuery, CheckRequest, InputItem};
use coven_notation::{FileSyntax, SourceFile, parse};
use coven_workflow::plan::InputType;
use coven_workflow::{WorkflowPlan, coerce_input};
use serde_json::{Map, Value, json};

use super::{Arguments, RunTarget};
use crate::failure::{CommandFailure, Result};
use crate::{output, written};

/// The longest goal that is made up.
const MAX_GOAL_CHARS: usize = 120;

/// The goal of a run that was started without one: the name of what runs and its inputs.
pub(super) fn goal(what: &RunTarget, inputs: &[String]) -> String {
    let name = match what {
        RunTarget::Grimoire(name) => name.as_str(),
        RunTarget::Definition(definition) => definition.name.as_str(),
    };
    let inputs = inputs.iter().map(|input| format!(" {}", output::one_line(input)));
    output::shortened(&format!("{name}{}", inputs.collect::<String>()), MAX_GOAL_CHARS)
}

/// Whether a file says itself what its run is for, as stage workflows can.
pub(super) fn has_goal(what: &RunTarget) -> bool {
    let RunTarget::Definition(definition) = what else { return false };
    let source = SourceFile::new(definition.name.as_str(), definition.text.as_str());
    // What cannot be read is refused in a moment.
    let read = parse(&source, FileSyntax::Yaml);
    read.is_ok_and(|node| node.get("goal").is_some())
}

/// The inputs from the command line and from a file; the command line counts more.
pub(super) async fn read(
    client: &ApiClient,
    arguments: &Arguments,
    what: &RunTarget,
    base_dir: &str,
) -> Result<Map<String, Value>> {
    let mut inputs = from_file(arguments)?;
    if arguments.inputs.is_empty() {
        return Ok(inputs);
    }
    let known = known(client, what, base_dir).await;
    for text in &arguments.inputs {
        let (name, value) = named(text)?;
        // A type that a newer daemon knows is the daemon's to check.
        let kind = known.iter().find(|input| input.name == name);
        let kind = kind.and_then(|input| serde_json::from_value(json!(input.kind)).ok());
        inputs.insert(name.to_owned(), typed(name, value, kind)?);
    }
    Ok(inputs)
}

/// The same for a run that is only shown, of which the plan is here.
pub(super) fn given(arguments: &Arguments, plan: &WorkflowPlan) -> Result<Map<String, Value>> {
    let mut inputs = from_file(arguments)?;
    for text in &arguments.inputs {
        let (name, value) = named(text)?;
        let kind = plan.inputs.iter().find(|input| input.name == name).map(|input| input.kind);
        inputs.insert(name.to_owned(), typed(name, value, kind)?);
    }
    Ok(inputs)
}

fn from_file(arguments: &Arguments) -> Result<Map<String, Value>> {
    let Some(path) = &arguments.input_file else { return Ok(Map::new()) };
    let (name, bytes) = written::read(path)?;
    object(&name, bytes)
}

fn named(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| {
        CommandFailure::usage(format!("`{text}` is no input")).hint("write --input NAME=VALUE")
    })
}

/// What the workflow takes. One that cannot be read says so when it is started.
async fn known(client: &ApiClient, what: &RunTarget, base_dir: &str) -> Vec<InputItem> {
    let base_dir = Some(base_dir.to_owned());
    match what {
        RunTarget::Grimoire(name) => client
            .grimoire(name, &BaseDirQuery { base_dir })
            .await
            .map(|grimoire| grimoire.item.inputs)
            .unwrap_or_default(),
        RunTarget::Definition(definition) => {
            let (text, name) = (definition.text.clone(), Some(definition.name.clone()));
            let checked = client.check(&CheckRequest { text, name, base_dir }).await;
            checked.map(|checked| checked.inputs).unwrap_or_default()
        }
    }
}

/// A value of the type that is wanted. What wants a text gets it as it is.
fn typed(name: &str, text: &str, kind: Option<InputType>) -> Result<Value> {
    let given = Value::from(text);
    let Some(kind) = kind else { return Ok(given) };
    coerce_input(kind, &given).ok_or_else(|| {
        let (kind, example) = match kind {
            InputType::String => ("string", "text"),
            InputType::Number => ("number", "3"),
            InputType::Boolean => ("boolean", "true"),
            InputType::Array => ("array", "'[\"a\", \"b\"]'"),
            InputType::Object => ("object", "'{\"key\": \"value\"}'"),
        };
        CommandFailure::usage(format!(
            "the input `{name}` is of the type {kind}, and `{text}` is not"
        ))
        .hint(format!("for example: --input {name}={example}"))
    })
}

fn object(name: &str, bytes: Vec<u8>) -> Result<Map<String, Value>> {
    let wrong =
        |text: String| CommandFailure::failed(text).hint("an input file is an object: NAME: VALUE");
    let source =
        SourceFile::from_bytes(name, bytes).map_err(|report| wrong(report.render(false)))?;
    let json = std::path::Path::new(name).extension().is_some_and(|ending| ending == "json");
    let syntax = if json { FileSyntax::Json } else { FileSyntax::Yaml };
    let read = coven_notation::read::<Map<String, Value>>(&source, syntax);
    read.value.ok_or_else(|| {
        let report = coven_notation::ProblemReport::new(source, read.problems);
        wrong(format!("{name} cannot be read\n{}", report.render(false)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_become_what_the_workflow_wants() {
        assert_eq!(typed("a", "007", None).unwrap(), Value::from("007"));
        assert_eq!(typed("a", "007", Some(InputType::String)).unwrap(), Value::from("007"));
        assert_eq!(typed("a", "3", Some(InputType::Number)).unwrap(), Value::from(3));
        assert_eq!(typed("a", "true", Some(InputType::Boolean)).unwrap(), Value::from(true));
        assert_eq!(typed("a", "a, b", Some(InputType::Array)).unwrap(), json!(["a", "b"]));
        assert_eq!(typed("a", "[1]", Some(InputType::Array)).unwrap(), json!([1]));
        assert!(typed("a", "[1", Some(InputType::Array)).is_err());
        assert!(typed("a", "three", Some(InputType::Number)).is_err());
        assert!(typed("a", "[1]", Some(InputType::Object)).is_err());
    }
}
