//! Texts with variables.

use serde_json::{Value, json};

use super::*;

fn scope() -> VariableScope {
    match json!({
        "task": {"title": "Fix", "files": ["a.rs", "b.rs"], "odd key": 1, "sub-key": {"x": true}},
        "input": {"spec": "spec.md"}, "none": null, "n": 1.5, "text": "${n}",
        "steps": {"run-tests": {"status": "completed", "exit_code": 0}},
    }) {
        Value::Object(map) => VariableScope::new(map),
        _ => VariableScope::default(),
    }
}

fn render(text: &str) -> String {
    TextTemplate::parse(text).unwrap().render(&scope()).unwrap()
}

#[test]
fn variables_are_filled_in_by_name_and_path() {
    assert_eq!(render("${task.title} ${task.files[1]}!"), "Fix b.rs!");
    assert_eq!(render("${input.spec} ${inputs.spec}"), "spec.md spec.md");
    assert_eq!(render("${steps.run-tests.status}: ${steps.run-tests.exit_code}"), "completed: 0");
    assert_eq!(render("${task[\"odd key\"]} ${task.sub-key.x} ${n}"), "1 true 1.5");
    assert_eq!(render("ä${n}€${n}"), "ä1.5€1.5");
}

#[test]
fn what_is_not_known_yet_stays_as_it_is_written() {
    let known = |text: &str| TextTemplate::parse(text).unwrap().render_known(&scope());
    assert_eq!(known("${input.spec}: ${plan.title} ${none}."), "spec.md: ${plan.title} .");
    assert_eq!(known("$${input.spec} ${task.files[9]}"), "${input.spec} ${task.files[9]}");
}

#[test]
fn lists_and_objects_become_json_and_null_becomes_nothing() {
    assert_eq!(render("${task.files}"), r#"["a.rs","b.rs"]"#);
    assert_eq!(render("${task.sub-key}"), r#"{"x":true}"#);
    assert_eq!(render("[${none}]"), "[]");
}

#[test]
fn a_value_is_never_read_as_a_template() {
    assert_eq!(render("${text}"), "${n}");
}

#[test]
fn a_doubled_dollar_is_a_literal() {
    assert_eq!(render("$${n} $$${n} $ $$ $n {n} 5$"), "${n} $${n} $ $$ $n {n} 5$");
    for text in ["", "$${", "${", "a${b}c", "$$${", "$"] {
        let verbatim = TextTemplate::verbatim(text);
        assert_eq!(verbatim.render(&VariableScope::default()).unwrap(), text);
        assert_eq!(verbatim.literal(), Some(text));
        assert_eq!(TextTemplate::parse(verbatim.source()).unwrap(), verbatim);
    }
}

#[test]
fn a_single_variable_is_the_value_itself() {
    let value = |text: &str| TextTemplate::parse(text).unwrap().value(&scope()).unwrap();
    assert_eq!(value("${task.files}"), json!(["a.rs", "b.rs"]));
    assert_eq!(value("${none}"), Value::Null);
    assert_eq!(value(" ${n}"), json!(" 1.5"));
    assert_eq!(value("${n}${n}"), json!("1.51.5"));
}

#[test]
fn references_know_where_they_stand() {
    let template = TextTemplate::parse("ä ${n} $${x} ${task.files[0]}").unwrap();
    let found: Vec<_> =
        template.references().map(|one| (one.to_string(), one.offset, one.length)).collect();
    assert_eq!(found, [("n".to_owned(), 3, 4), ("task.files[0]".to_owned(), 14, 16)]);
}

#[test]
fn what_is_no_variable_is_told_with_its_place_and_all_at_once() {
    let (_, errors) = TextTemplate::parse_all("a ${} b ${x:-y} c ${ n } d ${a.} e ${x");
    let told: Vec<_> = errors.iter().map(|error| (error.offset, error.length)).collect();
    assert_eq!(told, [(2, 3), (8, 7), (18, 6), (27, 5), (35, 2)]);
    assert!(TextTemplate::parse("${a\nb}").is_err());
    assert!(TextTemplate::parse(&format!("${{{}}}", "a".repeat(2000))).is_err());
    for text in
        ["${a[}", "${a[-1]}", "${a[1}", "${.a}", "${a..b}", "${a b}", "${1}", "${ä}", "${a[\"b]}"]
    {
        assert!(TextTemplate::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_template_is_its_source_on_disk_and_a_constant_is_its_value() {
    let template = TextTemplate::parse("a ${b.c}").unwrap();
    assert_eq!(serde_json::to_string(&template).unwrap(), "\"a ${b.c}\"");
    assert_eq!(serde_json::from_str::<TextTemplate>("\"a ${b.c}\"").unwrap(), template);
    assert!(serde_json::from_str::<TextTemplate>("\"${\"").is_err());
    let constant = TextTemplate::constant(json!(["${a}", 1]));
    let back: TextTemplate =
        serde_json::from_str(&serde_json::to_string(&constant).unwrap()).unwrap();
    assert_eq!(back, constant);
    assert_eq!(back.value(&VariableScope::default()).unwrap(), json!(["${a}", 1]));
    assert_eq!(back.references().count(), 0);
}

#[test]
fn functions_change_a_value_before_it_becomes_text() {
    assert_eq!(render("${task.files | join ', '}"), "a.rs, b.rs");
    assert_eq!(render("${task.files|lines}"), "a.rs\nb.rs");
    assert_eq!(render("${none | default 'main'} ${n | default \"x\"}"), "main 1.5");
    assert_eq!(render("  ${task.files | lines | indent 2}"), "  a.rs\n  b.rs");
    assert_eq!(render("${task.files | lines | quote}"), "> a.rs\n> b.rs");
    assert_eq!(render("${task.title | json} ${task.files | json}"), "\"Fix\" [\"a.rs\",\"b.rs\"]");
    assert_eq!(
        render("${none | default '}|'} ${task.files | join \" } \\\"|\"}"),
        "}| a.rs } \"|b.rs"
    );
    assert_eq!(render("${task.title | join ', '}"), "Fix", "what is no array is one element");
}

#[test]
fn a_value_that_something_is_done_with_is_a_text() {
    let template = TextTemplate::parse("${task.files | json}").unwrap();
    assert!(template.single().is_none());
    assert_eq!(template.value(&scope()).unwrap(), json!("[\"a.rs\",\"b.rs\"]"));
    let default = TextTemplate::parse("${n | default '1'}").unwrap();
    assert_eq!(default.value(&scope()).unwrap(), json!(1.5), "which a default alone leaves");
    let unknown = TextTemplate::parse("${later | default \"x\" | indent 2}").unwrap();
    assert_eq!(unknown.render_known(&scope()), "${later | default \"x\" | indent 2}");
    let stored = serde_json::to_string(&unknown).unwrap();
    assert_eq!(serde_json::from_str::<TextTemplate>(&stored).unwrap(), unknown);
}

#[test]
fn a_function_that_cannot_be_read_is_told_at_its_place() {
    let wrong = |text: &str| {
        let error = TextTemplate::parse(text).unwrap_err();
        (text[error.offset..error.offset + error.length].trim().to_owned(), error.to_string())
    };
    let there = "there are `default`, `join`, `lines`, `indent`, `quote` and `json`";
    let unknown = wrong("ä ${a | lines | jion ', '}");
    assert_eq!(unknown.0, "jion ', '");
    assert_eq!(unknown.1, format!("`jion` is no function; did you mean `join`?; {there}"));
    for (text, place, message) in [
        ("${a | join}", "join", "`join` takes a text in quotes, as in `join ', '`"),
        ("${a | json 2}", "json 2", "`json` takes nothing behind it"),
        ("${a | indent x}", "indent x", "`indent` takes a number up to 100, as in `indent 4`"),
        (
            "${a | default main}",
            "default main",
            "`default` takes a text in quotes, as in `default 'main'`",
        ),
    ] {
        assert_eq!(wrong(text), (place.to_owned(), message.to_owned()), "{text}");
    }
    let (template, errors) = TextTemplate::parse_all("${a | no} ${b | nor} ${task.title}");
    assert_eq!((template.references().count(), errors.len()), (1, 2), "each is told");
}
