//! Texts made of everything that means something to a template, a condition or a shell.

use coven_workflow::condition::ValueType;
use coven_workflow::{Condition, ShellCommand, TextTemplate, VariableScope};
use proptest::prelude::*;
use serde_json::{Map, Value};

const PIECES: &[&str] = &[
    "${x}",
    "${x.y}",
    "$${",
    "${",
    "}",
    "$(",
    "$((",
    "((",
    "))",
    ")",
    "(",
    "'",
    "\"",
    "`",
    "\\",
    "\n",
    " ",
    "\t",
    "<<EOF\n",
    "<<'EOF'\n",
    "EOF\n",
    "<<-E",
    "<(",
    "> ",
    "& ",
    "&&",
    "| ",
    "; ",
    "#",
    "[[ ",
    " ]]",
    " -eq ",
    "a[",
    "]",
    "${A:-",
    "${#x}",
    "${A[",
    "case x in",
    "esac",
    "eval ",
    "bash -c ",
    "x=",
    "declare -i ",
    "ä",
    "\0",
    "== ",
    "not ",
    "'a'",
    "1",
    "x",
    "is ",
    "null",
    "in ",
    "length",
    "\u{1b}",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const SECRET: &str = "s3cret";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics_and_no_value_gets_into_a_command(text in text()) {
        let (template, _) = TextTemplate::parse_all(&text);
        prop_assert!(template.references().all(|one| one.offset + one.length <= text.len()));
        let verbatim = TextTemplate::verbatim(&text);
        prop_assert_eq!(verbatim.render(&VariableScope::default()).unwrap(), text.clone());
        prop_assert_eq!(&TextTemplate::parse(verbatim.source()).unwrap(), &verbatim);

        if let Ok(condition) = Condition::parse(&text) {
            condition.evaluate(&VariableScope::default()).ok();
            let _ = condition.check(&|_| ValueType::Any);
        }

        let (command, errors) = ShellCommand::parse_all(&text);
        prop_assert!(errors.iter().all(|one| text.is_char_boundary(one.offset)));
        let mut names = Map::new();
        for reference in command.references() {
            names.insert(reference.name.clone(), Value::from(SECRET));
        }
        if let Ok(prepared) = command.prepare(&VariableScope::new(names)) {
            prop_assert!(!prepared.text.contains(SECRET));
            if prepared.env.is_empty() && !text.contains("$${") {
                prop_assert_eq!(prepared.text, text);
            }
        }
    }
}
