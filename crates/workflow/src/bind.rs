//! Holds what a run is given against what its plan wants to be given.

use coven_notation::{FileProblem, SourceSpan, near};
use serde_json::{Map, Value};

use crate::plan::{InputType, PlanInput, WorkflowPlan};

impl InputType {
    /// The type in words, as in "is not a number".
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

/// The inputs of a run: what is given, with defaults filled in and each of its declared type.
/// Text is made what is declared, because on a command line everything is text. Optional inputs
/// that are not given are null. Spans in the problems mean nothing: inputs are in no file.
pub fn bind_inputs(
    plan: &WorkflowPlan,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<FileProblem>> {
    let mut problems: Vec<FileProblem> = given
        .keys()
        .filter(|name| input(plan, name).is_none())
        .map(|name| unknown(plan, name))
        .collect();
    let mut bound = Map::new();
    for input in &plan.inputs {
        match value(input, given.get(&input.name)) {
            Ok(value) => drop(bound.insert(input.name.clone(), value)),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(bound) } else { Err(problems) }
}

/// The inputs that are known before a run is made: what is given and of its declared type, and
/// defaults. The others are left out.
pub fn known_inputs(plan: &WorkflowPlan, given: &Map<String, Value>) -> Map<String, Value> {
    let known = plan.inputs.iter().filter_map(|input| {
        let value = value(input, given.get(&input.name)).ok()?;
        Some((input.name.clone(), value))
    });
    known.filter(|(_, value)| !value.is_null()).collect()
}

/// The same for a run that an event starts: inputs are taken from the event's data by name, and
/// what the plan does not ask for is left out.
pub fn bind_event(
    plan: &WorkflowPlan,
    data: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<FileProblem>> {
    let wanted = data.iter().filter(|(name, _)| input(plan, name).is_some());
    bind_inputs(plan, &wanted.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn input<'a>(plan: &'a WorkflowPlan, name: &str) -> Option<&'a PlanInput> {
    plan.inputs.iter().find(|input| input.name == name)
}

fn unknown(plan: &WorkflowPlan, name: &str) -> FileProblem {
    let names: Vec<&str> = plan.inputs.iter().map(|input| input.name.as_str()).collect();
    let problem =
        |message: String| FileProblem::error("unknown-input", SourceSpan::default(), message);
    let about = format!("`{}` has no input `{name}`", plan.name);
    match near(name, names.iter().copied()).first() {
        Some(best) => problem(format!("{about}; did you mean `{best}`?")),
        None if names.is_empty() => problem(about).help("it takes no inputs"),
        None => problem(about).help(format!("its inputs are {}", names.join(", "))),
    }
}

fn value(input: &PlanInput, given: Option<&Value>) -> Result<Value, Box<FileProblem>> {
    let name = &input.name;
    let Some(given) = given.filter(|given| !given.is_null()) else {
        if let Some(default) = &input.default {
            return Ok(default.clone());
        }
        if !input.required {
            return Ok(Value::Null);
        }
        let mut problem = FileProblem::error(
            "missing-input",
            SourceSpan::default(),
            format!("the input `{name}` is missing"),
        );
        problem = match input.description.trim_end_matches('.') {
            "" => problem.help(format!("give it with `--input {name}=...`")),
            about => problem.help(format!("give it with `--input {name}=...`: {about}")),
        };
        return Err(Box::new(problem));
    };
    coerce_input(input.kind, given).ok_or_else(|| {
        let message = format!("the input `{name}` is not {}", input.kind.in_words());
        let help = match input.kind {
            InputType::String => "write text",
            InputType::Number => "write a number such as `3`",
            InputType::Boolean => "write `true` or `false`",
            InputType::Array => "write `a,b,c`, or a JSON list such as `[\"a\", \"b\"]`",
            InputType::Object => "write a JSON object such as `{\"key\": \"value\"}`",
        };
        Box::new(FileProblem::error("bad-input", SourceSpan::default(), message).help(help))
    })
}

/// Whether a value is of a type as it is.
pub(crate) fn fits(kind: InputType, value: &Value) -> bool {
    match kind {
        InputType::String => value.is_string(),
        InputType::Number => value.is_number(),
        InputType::Boolean => value.is_boolean(),
        InputType::Array => value.is_array(),
        InputType::Object => value.is_object(),
    }
}

/// A value of the type: as it is, or read from text, or written as text.
pub fn coerce_input(kind: InputType, given: &Value) -> Option<Value> {
    if fits(kind, given) {
        return Some(given.clone());
    }
    match (kind, given) {
        (InputType::String, Value::Number(_) | Value::Bool(_)) => {
            Some(Value::from(given.to_string()))
        }
        (InputType::String, _) => None,
        // On a command line, a list of words is `a,b,c`.
        (InputType::Array, Value::String(text)) if is_words(text) => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Some(words.map(Value::from).collect())
        }
        (_, Value::String(text)) => {
            let read: Value = serde_json::from_str(text.trim()).ok()?;
            fits(kind, &read).then_some(read)
        }
        _ => None,
    }
}

/// Whether a text for a list is words with commas, and no JSON: that of an object has commas too.
fn is_words(text: &str) -> bool {
    let text = text.trim_start();
    let object = text.strip_prefix('{').map(str::trim_start);
    !text.starts_with('[') && !object.is_some_and(|inside| inside.starts_with(['"', '}']))
}
