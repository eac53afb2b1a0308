//! The adapter file as people write it, and as they get it wrong.

mod approvals;
mod mistakes;

use coven_notation::{ProblemReport, SourceFile};

use super::*;
use crate::rules::ScreenRules;

/// What a person is told about a file.
fn report(text: &str) -> String {
    let source = SourceFile::new("config.json", text);
    let read = Config::read(&source);
    assert_eq!(read.value.is_none(), read.problems.iter().any(FileProblem::is_error), "{text}");
    ProblemReport::new(source, read.problems).render(false)
}

/// The file in its original form: nothing but these three keys.
const PLAIN: &str = r#"{
  "metadata": { "displayName": "Gemini", "icon": "gemini" },
  "states": {
    "interaction_handler": { "pattern": "Allow execution", "flags": "i", "description": "asks" },
    "execution_running": { "pattern": "esc to cancel" },
    "interaction_idle": { "pattern": "Type your message" }
  },
  "modes": {
    "interactive": { "baseArgs": ["-i"], "promptPosition": "last" },
    "headless": { "baseArgs": ["--approval-mode", "yolo"], "promptPosition": "last" }
  }
}"#;

#[test]
fn the_plain_form_with_three_keys_is_taken_as_it_is() {
    let said = report(PLAIN);
    let problems = said.lines().filter(|line| line.contains("]: "));
    let [warning] = problems.collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(warning.starts_with("warning[approval-without-region]"), "{said}");
    let config = Config::read(&SourceFile::new("plain", PLAIN)).value.unwrap();
    let rules = ScreenRules::new(&config).unwrap();
    let kinds: Vec<MatchKind> = (0..rules.len()).map(|rule| rules.get(rule).kind).collect();
    assert_eq!(
        kinds,
        [MatchKind::Approval, MatchKind::Working, MatchKind::Idle],
        "the names say what they mean"
    );
}

/// Spec: AD.9.1
#[test]
fn states_and_arguments_come_from_the_same_file() {
    let config = Config::read(&SourceFile::new("plain", PLAIN)).value.unwrap();
    assert_eq!(config.states.len(), 3);
    assert_eq!(config.modes.headless.unwrap().base_args, ["--approval-mode", "yolo"]);
}

#[test]
fn states_keep_the_order_of_the_file() {
    let text =
        r#"{"states": {"z": {"pattern": "z"}, "a": {"pattern": "a"}, "m": {"pattern": "m"}}}"#;
    let config = Config::read(&SourceFile::new("order", text)).value.unwrap();
    assert_eq!(config.states.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
}

#[test]
fn an_empty_object_is_an_adapter_about_which_nothing_is_known() {
    assert_eq!(report("{}"), "");
    assert_eq!(Config::read(&SourceFile::new("empty", "{}")).value, Some(Config::default()));
}

#[test]
fn every_built_in_file_is_right_and_says_so_without_a_warning() {
    for kind in crate::builtin::types() {
        assert_eq!(report(crate::builtin::source(kind).unwrap()), "", "{kind}");
    }
}

#[test]
fn every_built_in_file_is_the_same_after_it_was_written_again() {
    for kind in crate::builtin::types() {
        let source = SourceFile::new(kind, crate::builtin::source(kind).unwrap());
        let config = Config::read(&source).value.unwrap();
        let written = serde_json::to_string(&config).unwrap();
        assert_eq!(Config::read(&SourceFile::new(kind, written)).value, Some(config), "{kind}");
    }
}

#[test]
fn every_key_of_every_built_in_adapter_is_a_key() {
    for kind in crate::builtin::types() {
        let source = SourceFile::new(kind, crate::builtin::source(kind).unwrap());
        let config = Config::read(&source).value.unwrap();
        let keys = config.keys;
        let answers = config.dialogs.iter().flat_map(|dialog| dialog.answers.values());
        let all = [keys.approve, keys.approve_always, keys.deny, keys.interrupt, keys.submit];
        for names in all.iter().chain([&keys.quit, &keys.show_all]).chain(answers) {
            assert_eq!(crate::adapter::keys(names).len(), names.len(), "{kind}: {names:?}");
        }
    }
}

#[test]
fn the_published_schema_describes_every_key() {
    let schema = schema();
    let properties = schema["properties"].as_object().unwrap();
    for (name, property) in properties {
        let described = property.get("description").is_some() || name == "$schema";
        assert!(described, "`{name}` has no description");
    }
    assert_eq!(schema["title"], "Coven adapter");
    assert_eq!(schema["additionalProperties"], false);
}
