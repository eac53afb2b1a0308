//! Any text as a template, a condition and a command: nothing panics, sources survive their way
//! to disk, and no value ever becomes part of a command's text.

#![no_main]

use coven_workflow::{Condition, ShellCommand, TextTemplate, VariableScope};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// What a value looks like that must never be seen in a command.
const VALUE: &str = "v4lue-$(touch x)`touch x`'\"\n-";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut names = Map::new();

    let (template, _) = TextTemplate::parse_all(text);
    for reference in template.references() {
        let written = &text[reference.offset..reference.offset + reference.length];
        assert!(written.starts_with("${") && written.ends_with('}'));
        names.insert(reference.name.clone(), Value::from(VALUE));
    }
    let verbatim = TextTemplate::verbatim(text);
    assert_eq!(verbatim.render(&VariableScope::default()).expect("it has no variables"), text);
    assert_eq!(TextTemplate::parse(verbatim.source()).expect("it is escaped"), verbatim);
    if let Ok(template) = TextTemplate::parse(text) {
        let stored = serde_json::to_string(&template).expect("it can be written");
        let back: TextTemplate = serde_json::from_str(&stored).expect("it can be read back");
        assert_eq!(back, template);
        let _ = template.render(&VariableScope::new(names.clone()));
        let _ = template.value(&VariableScope::new(names.clone()));
    }

    if let Ok(condition) = Condition::parse(text) {
        let scope = VariableScope::default()
            .with("a", json!([1, "b", null, {"c": true}]))
            .with("b", json!(1));
        let _ = condition.evaluate(&scope);
        let _ = condition.check(&|_| coven_workflow::condition::ValueType::FreeText);
        assert!(condition.references().len() <= text.len());
    }

    if let Ok(command) = ShellCommand::parse(text) {
        for reference in command.references() {
            names.insert(reference.name.clone(), Value::from(VALUE));
        }
        if let Ok(prepared) = command.prepare(&VariableScope::new(names)) {
            // What is not ours stays as it was, and what is ours is nowhere in the text.
            assert!(text.contains(VALUE) || !prepared.text.contains(VALUE));
            assert!(
                prepared
                    .env
                    .iter()
                    .all(|(name, value)| name.starts_with("COVEN_V") && value == VALUE)
            );
        }
    }
});
