//! Schemas as such: what is published, what is not understood, and what serde says last.

use insta::assert_snapshot;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Step, about};
use crate::stopwatch::CpuStopwatch;
use crate::{FileSyntax, SourceFile, SourceNode, check, parse, read, schema_of};

fn tree(text: &str) -> SourceNode {
    parse(&SourceFile::new("file", text), FileSyntax::Json).unwrap()
}

fn messages(text: &str, schema: &serde_json::Value) -> Vec<String> {
    check(&tree(text), schema).into_iter().map(|problem| problem.message).collect()
}

#[test]
fn the_published_schema_is_draft_07_and_names_the_type() {
    let schema = schema_of::<Step>();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["title"], "Step");
    assert_eq!(schema["required"], json!(["name", "prompt"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["timeout"]["examples"][0], "30m");
}

#[test]
fn what_only_serde_can_refuse_is_reported_at_its_place() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(try_from = "String")]
    #[schemars(with = "String")]
    struct Even;
    impl TryFrom<String> for Even {
        type Error = String;
        fn try_from(text: String) -> Result<Self, String> {
            if text.len().is_multiple_of(2) { Ok(Self) } else { Err(format!("`{text}` is odd")) }
        }
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only reading it matters")]
    struct File {
        list: Vec<Even>,
    }
    assert_eq!(about::<File>("list: [ab]\n"), "");
    assert_snapshot!(about::<File>("list:\n  - ab\n  - abc\n"), @r"
    error[bad-value]: `abc` is odd
     --> step.yaml:3:5
      |
    3 |   - abc
      |     ^^^
    ");
}

#[test]
fn names_of_keys_can_be_checked() {
    let schema = json!({"type": "object", "propertyNames": {"pattern": "^[A-Z]+$"}});
    assert_eq!(messages(r#"{"OK": 1}"#, &schema), Vec::<String>::new());
    assert_eq!(messages(r#"{"no": 1}"#, &schema), ["`no`: `no` does not have the form `^[A-Z]+$`"]);
}

#[test]
fn a_schema_that_allows_nothing_and_one_that_allows_all_are_understood() {
    assert_eq!(messages("[1, {}]", &json!(true)), Vec::<String>::new());
    let schema = json!({"properties": {"a": false}});
    assert_eq!(
        messages(r#"{"a": 1}"#, &schema),
        ["`a`: nothing is allowed here, found the number 1"]
    );
}

#[test]
fn fixed_positions_and_parts_that_all_must_fit_are_checked() {
    let schema = json!({"items": [{"type": "string"}, {"type": "integer"}], "maxItems": 2});
    assert_eq!(
        messages(r#"["a", "b", 1]"#, &schema),
        [
            "the list may have at most 2 entries, found 3",
            "`[1]`: expected a whole number, found the string `b`",
        ]
    );
    let schema = json!({"allOf": [{"minimum": 2}, {"exclusiveMaximum": 9}]});
    assert_eq!(messages("1", &schema), ["must be at least 2, found 1"]);
    assert_eq!(messages("9", &schema), ["must be less than 9, found 9"]);
}

#[test]
fn references_that_lead_nowhere_or_in_a_circle_end() {
    let schema = json!({"$ref": "#/definitions/a", "definitions": {
        "a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}});
    assert_eq!(messages("1", &schema), Vec::<String>::new());
    assert_eq!(messages("1", &json!({"$ref": "#/nowhere"})), Vec::<String>::new());
    let schema = json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]});
    assert_eq!(messages("\"x\"", &schema), Vec::<String>::new());
}

#[test]
fn alternatives_inside_alternatives_cannot_keep_us_busy_for_ever() {
    let branch = |name: &str| {
        json!({"type": "object", "required": [name],
        "properties": {"next": {"$ref": "#"}}})
    };
    let schema = json!({"anyOf": [branch("a"), branch("b"), branch("c"), branch("d")]});
    let text = format!("{}{{}}{}", "{\"next\":".repeat(60), "}".repeat(60));
    let started = CpuStopwatch::start();
    assert!(!messages(&text, &schema).is_empty());
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

/// A map with many keys that the schema does not know.
fn with_unknown_keys(count: usize) -> String {
    let mut text = "name: a\nprompt: b\n".to_owned();
    for index in 0..count {
        text.push_str(&format!("promp{index}: x\n"));
    }
    text
}

#[test]
fn unknown_keys_cost_as_much_as_there_are_and_no_more_than_a_hundred_are_told() {
    let check = |count: usize| {
        let source = SourceFile::new("step.yaml", with_unknown_keys(count));
        let (read, work) = crate::work::of(|| read::<Step>(&source, FileSyntax::Yaml));
        assert_eq!(read.problems.len(), 101);
        let more = format!("{} more problems are not shown", count - 100);
        assert!(read.problems[100].message.contains(&more), "{:?}", read.problems[100]);
        work
    };
    let (small, large) = (check(5_000), check(20_000));
    assert!(large < 6 * small, "{small} comparisons for 5,000 keys, {large} for 20,000");
    assert!(large < 200_000, "{large} comparisons for 20,000 keys");
}
