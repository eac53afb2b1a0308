//! What a policy file may say, and what it is told when it says something else.

use coven_notation::{ProblemReport, SourceFile};
use insta::assert_snapshot;

use super::{Policy, schema};

fn refused(text: &str) -> String {
    Policy::read(&SourceFile::new("policy.yaml", text)).unwrap_err().render(false)
}

fn warned(text: &str) -> String {
    let source = SourceFile::new("policy.yaml", text);
    let policy = Policy::read(&source).unwrap();
    ProblemReport::new(source, policy.warnings().to_vec()).render(false)
}

#[test]
fn the_example_of_the_documentation_is_a_policy() {
    let documentation = include_str!("../file.rs");
    let lines = documentation.lines().skip_while(|line| !line.contains("```yaml")).skip(1);
    let yaml: String = lines
        .take_while(|line| !line.contains("```"))
        .map(|line| {
            format!("{}\n", line.strip_prefix("//!").unwrap().strip_prefix(' ').unwrap_or(""))
        })
        .collect();
    assert_eq!(warned(&yaml), "");
    assert_eq!(Policy::read(&SourceFile::new("policy.yaml", yaml)).unwrap().rules.len(), 3);
}

#[test]
fn every_problem_is_reported_at_once_and_at_its_place() {
    let text = "version: 1\nrules:\n  - nam: x\n    decision: alow\n  - matches: 'a(b'\n    kind: [approval, aproval]\n    \
                decision: {answer: 3}\n  - adapter: []\n    reason: none\n";
    assert_snapshot!(refused(text), @r"
    error[unknown-key]: `rules[0]`: unknown key `nam`; did you mean `name`?
     --> policy.yaml:3:5
      |
    3 |   - nam: x
      |     ^^^

    error[not-one-of]: `rules[0].decision`: expected one of `allow`, `allow-always`, `deny` or `ask`, found the string `alow`
     --> policy.yaml:4:15
      |
    4 |     decision: alow
      |               ^^^^
      |
      = help: did you mean `allow`?

    error[bad-pattern]: not a regular expression: unclosed group
     --> policy.yaml:5:16
      |
    5 |   - matches: 'a(b'
      |                ^

    error[not-one-of]: `rules[1].kind[1]`: expected one of `approval`, `question`, `choice` or `dialog`, found the string `aproval`
     --> policy.yaml:6:22
      |
    6 |     kind: [approval, aproval]
      |                      ^^^^^^^
      |
      = help: did you mean `approval`?

    error[wrong-type]: `rules[1].decision.answer`: expected a string, found the number 3
     --> policy.yaml:7:24
      |
    7 |     decision: {answer: 3}
      |                        ^
      |
      = help: put it in quotes to make it a string

    error[missing-key]: `rules[2]`: missing key `decision`
     --> policy.yaml:8:5
      |
    8 |   - adapter: []
      |     ^^^^^^^
      |
      = help: `decision`: What happens with a question that the rule matches

    error[too-short]: `rules[2].adapter`: the list must not be empty
     --> policy.yaml:8:14
      |
    8 |   - adapter: []
      |              ^^
    ");
}

#[test]
fn a_file_of_a_newer_version_is_told_so_and_nothing_else() {
    assert_snapshot!(refused("version: 3\nrules: {later: true}\n"), @r"
    error[newer-version]: this policy has version 3; this Coven knows version 2
     --> policy.yaml:1:10
      |
    1 | version: 3
      |          ^
      |
      = help: update Coven; until then the policy is not used, and everything is asked
    ");
}

#[test]
fn the_version_must_be_there() {
    assert_snapshot!(refused("rules: []\n"), @r"
    error[missing-key]: missing key `version`
     --> policy.yaml:1:1
      |
    1 | rules: []
      | ^^^^^
      |
      = help: `version`: The version of this format: 2
    ");
    assert_snapshot!(refused("version: 0\nrules: []\n"), @r"
    error[out-of-range]: `version`: must be at least 1, found 0
     --> policy.yaml:1:10
      |
    1 | version: 0
      |          ^
    ");
}

#[test]
fn two_rules_cannot_have_one_name() {
    assert_snapshot!(refused("version: 1\nrules:\n- {name: a, decision: ask}\n- {name: a, kind: choice, decision: ask}\n"), @r"
    error[duplicate-name]: two rules are named `a`
     --> policy.yaml:4:10
      |
    4 | - {name: a, kind: choice, decision: ask}
      |          ^
      |
     ::: policy.yaml:3:10
      |
    3 | - {name: a, decision: ask}
      |          - the first one is here
    ");
}

#[test]
fn rules_that_never_decide_are_warned_about() {
    assert_snapshot!(warned(
        "version: 1\nrules:\n- kind: [question, choice]\n  decision: allow\n- decision: ask\n- adapter: claude\n  decision: allow\n"
    ), @"
    warning[impossible-decision]: a question or a choice does not offer to allow
     --> policy.yaml:4:13
      |
    4 |   decision: allow
      |             ^^^^^
      |
      = help: such a question is asked; give a text with {answer: …}, deny it, or ask

    warning[unreachable-rule]: this rule and those after it are never reached
     --> policy.yaml:6:3
      |
    6 | - adapter: claude
      |   ^^^^^^^
      |
     ::: policy.yaml:5:3
      |
    5 | - decision: ask
      |   -------- this rule is about every question
      |
      = help: put rules that are about less before it

    warning[asks-unread]: an approval whose command cannot be read from the agent's screen, or cannot be taken apart, is asked although this rule allows it
     --> policy.yaml:7:13
      |
    7 |   decision: allow
      |             ^^^^^
      |
      = help: `command: …` says which commands are allowed
    ");
}

#[test]
fn an_empty_list_of_rules_is_a_policy() {
    assert_eq!(warned("version: 1\nrules: []\n"), "");
}

#[test]
fn the_schema_is_published_with_a_title_and_descriptions() {
    let schema = schema();
    assert_eq!(schema["title"], "Coven policy");
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["definitions"]["RuleEntry"]["properties"]["matches"]["description"].is_string());
}
