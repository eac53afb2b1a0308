//! What is told about approvals that a policy is held against.

use super::report;

fn told(command: &str, more: &str) -> Vec<String> {
    let command = serde_json::Value::from(command);
    let text = format!(r#"{{"approvals": [{{"command": {command}{more}}}]}}"#);
    report(&text).lines().filter(|line| line.contains("[approval")).map(str::to_owned).collect()
}

#[test]
fn a_command_that_could_be_read_for_less_than_it_is_is_a_warning() {
    let line = r#", "line": "^  (.*)$""#;
    let whole = r"^Run this:\n(?P<command>(?:  .*\n?)+)\z";
    assert_eq!(told(whole, line), [] as [&str; 0]);
    assert_eq!(told("^Write ", ""), [] as [&str; 0], "it names no command");
    let rows = "warning[approval-without-line]: without `line` a command of more than one row can \
                show a row that looks like the first line of its question, and is then read for \
                less than it is";
    assert_eq!(told("^Run (?P<command>.*)$", ""), [rows]);
    let part = "warning[approval-part-of-line]: this pattern may take a part of a line, and where \
                it does no command is read";
    for command in [r"Run (?P<command>.*)$", r"^Run (?P<command>\w+)"] {
        assert_eq!(told(command, line), [part], "{command}");
    }
}

#[test]
fn a_dialog_for_an_approval_says_how_it_begins() {
    let text = |begins: &str| {
        format!(
            r#"{{"dialogs": [{{"name": "run", "kind": "approval", "pattern": "^Proceed", "region": "tail:1"{begins}}}],
               "approvals": [{{"command": "^Write "}}]}}"#
        )
    };
    assert!(report(&text("")).contains("warning[approval-without-begin]: `run` does not say"));
    assert_eq!(report(&text(r#", "begins": "^Write ""#)), "");
}
