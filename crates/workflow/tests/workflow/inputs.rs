//! What a run is given, held against what its plan wants.

use coven_workflow::{bind_event, bind_inputs};
use serde_json::{Value, json};

use crate::plan;

const TEXT: &str = "name: g\ndescription: G.\ninputs:\n  spec: {description: Path of the spec., required: true}\n  \
     count: {type: number, default: 3}\n  fast: {type: boolean}\n  files: {type: array}\n  more: {type: object}\n\
     steps:\n  - {name: a, type: script, command: date}\n";

fn bind(given: &Value) -> Result<Value, Vec<String>> {
    let plan = plan("g.yaml", TEXT);
    bind_inputs(&plan, given.as_object().unwrap()).map(Value::Object).map_err(|problems| {
        let text = |problem: &coven_notation::FileProblem| match &problem.help {
            Some(help) => format!("{} ({help})", problem.message),
            None => problem.message.clone(),
        };
        problems.iter().map(text).collect()
    })
}

#[test]
fn defaults_are_filled_in_and_what_is_not_given_is_null() {
    assert_eq!(
        bind(&json!({"spec": "a.md"})).unwrap(),
        json!({"spec": "a.md", "count": 3, "fast": null, "files": null, "more": null})
    );
}

#[test]
fn text_from_a_command_line_becomes_what_is_declared() {
    let given = json!({"spec": "7", "count": "2.5", "fast": "true", "files": "a, b,c", "more": "{\"a\": 1}"});
    assert_eq!(
        bind(&given).unwrap(),
        json!({"spec": "7", "count": 2.5, "fast": true, "files": ["a", "b", "c"], "more": {"a": 1}})
    );
    assert_eq!(bind(&json!({"spec": 7, "files": "[1, 2]"})).unwrap()["files"], json!([1, 2]));
    assert_eq!(bind(&json!({"spec": 7})).unwrap()["spec"], "7");
    assert_eq!(bind(&json!({"spec": "", "files": ""})).unwrap()["files"], json!([]));
}

/// Cut at its commas it would be a list of broken pieces of JSON.
#[test]
fn an_object_is_no_list_of_words() {
    let told = [r#"{"a":1,"b":2}"#, " {} ", r#"{"a":1},{"b":2}"#, r#"{ "a": 1, b}"#]
        .map(|files| bind(&json!({"spec": "x", "files": files})));
    for told in told {
        let told = told.unwrap_err().join("\n");
        assert!(told.starts_with("the input `files` is not a list"), "{told}");
    }
    let words = bind(&json!({"spec": "x", "files": "{name}.txt,b"})).unwrap();
    assert_eq!(words["files"], json!(["{name}.txt", "b"]));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let wrong =
        bind(&json!({"spce": "x", "count": "many", "fast": "yes", "files": {"a": 1}, "zebra": 1}));
    insta::assert_snapshot!(wrong.unwrap_err().join("\n"), @r#"
    `g` has no input `spce`; did you mean `spec`?
    `g` has no input `zebra` (its inputs are spec, count, fast, files, more)
    the input `spec` is missing (give it with `--input spec=...`: Path of the spec)
    the input `count` is not a number (write a number such as `3`)
    the input `fast` is not true or false (write `true` or `false`)
    the input `files` is not a list (write `a,b,c`, or a JSON list such as `["a", "b"]`)
    "#);
}

#[test]
fn an_event_gives_what_is_asked_for_and_the_rest_is_left_out() {
    let plan = plan("g.yaml", TEXT);
    let data = json!({"spec": "a.md", "workflowId": "x"});
    let bound = bind_event(&plan, data.as_object().unwrap()).unwrap();
    assert_eq!(bound["spec"], "a.md");
    assert!(!bound.contains_key("workflowId"));
    assert!(bind_event(&plan, json!({}).as_object().unwrap()).is_err());
}
