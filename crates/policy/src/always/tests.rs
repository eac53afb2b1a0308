//! Which commands make a rule, what the rule allows, and what stays of a policy it is added to.

use coven_model::AwaitingKind;
use insta::assert_snapshot;

use super::*;
use crate::{AgentQuestion, EffectivePolicies};

fn asked(command: &str) -> AskedAction {
    let command = Some(command.to_owned());
    AskedAction { tool: Some("shell".to_owned()), command, ..AskedAction::default() }
}

fn rule(command: &str) -> SessionRule {
    always_rule("demo", &asked(command)).unwrap()
}

fn added(policy: &str, command: &str) -> Result<String, AddRuleError> {
    add_rule(Some(&SourceFile::new("policy.yaml", policy)), &rule(command))
}

/// What a policy decides about a command.
fn decided(policy: &str, command: &str) -> String {
    let user = Policy::read(&SourceFile::new("policy.yaml", policy)).unwrap();
    let policies = EffectivePolicies { user: Some(user), ..EffectivePolicies::default() };
    let excerpt = [command.to_owned()];
    let decision = policies.decide(&AgentQuestion {
        adapter: "demo",
        kind: AwaitingKind::Approval,
        rule: "approval",
        dialog: None,
        action: &asked(command),
        excerpt: &excerpt,
        digest: None,
    });
    format!("{} by {}", decision.ruling, decision.decided_by())
}

#[test]
fn the_rule_is_the_whole_command_and_no_pattern() {
    assert_snapshot!(rule_text(&rule("cargo test --lib 'it''s' $(ls *.rs) > a.log")), @r"
    - name: always-6631fa069789
      adapter: 'demo'
      command: 'cargo test --lib ''it''''s'' \$\(ls \*\.rs\) > a\.log'
      decision: allow
    ");
    assert_snapshot!(rule_text(&rule("cargo test\ngit status")), @r#"
    - name: always-be44314527bf
      adapter: 'demo'
      command: "cargo test\ngit status"
      decision: allow
    "#);
}

/// A person reads the rule before making it, and what is added to a policy says the same.
#[test]
fn a_rule_shows_what_would_not_show_by_its_number() {
    let rule = SessionRule {
        name: "always-1".to_owned(),
        adapter: "demo".to_owned(),
        command: "echo \u{202e}a\u{200b}b\u{7}c\u{9d}d\u{e0041}e".to_owned(),
    };
    let text = rule_text(&rule);
    assert!(!text.lines().flat_map(str::chars).any(is_unprintable), "{text:?}");
    for number in ["\\u202e", "\\u200b", "\\u0007", "\\u009d", "\\U000e0041"] {
        assert!(text.contains(number), "{text}");
    }
    let policy = add_rule(None, &rule).unwrap();
    assert!(policy.contains("\\u202e") && !policy.contains('\u{202e}'), "{policy}");
}

#[test]
fn what_was_not_read_whole_makes_no_rule() {
    let whole = asked("cargo test");
    let none = |action: AskedAction| always_rule("demo", &action).unwrap_err().to_string();
    assert_snapshot!(none(AskedAction { command: None, ..whole.clone() }), @"the agent does not show a command that can be read");
    assert_snapshot!(none(AskedAction { truncated: true, ..whole.clone() }), @"a part of the command is not shown");
    assert_snapshot!(none(AskedAction { wrapped: true, ..whole }), @"the agent broke the command into rows, which looks like line breaks of the command");
    assert_snapshot!(none(asked("cargo test \"")), @"the command cannot be taken apart: it is not a command that can be parsed");
    assert_snapshot!(none(asked("touch x # cargo test")), @"the command cannot be taken apart: there is a comment in it");
}

#[test]
fn a_saved_rule_allows_its_command_and_no_other() {
    let commands = [
        "cargo test",
        "cargo   test",
        "cargo test --lib 'it''s' $(ls *.rs) > a.log",
        "cargo test\ngit status",
        "eval \"$X\"",
        "sh -c 'a.b [c]{2} ^$ | tee x'",
    ];
    for command in commands {
        let policy = added("version: 2\nrules: []\n", command).unwrap();
        let name = rule(command).name;
        assert_eq!(decided(&policy, command), format!("allow by policy:user:{name}"), "{command}");
        for other in [format!("{command} x"), format!("x {command}"), format!("{command}; x")] {
            assert!(decided(&policy, &other).starts_with("ask"), "{other:?} with {policy}");
        }
    }
}

#[test]
fn a_policy_keeps_its_comments_and_its_layout() {
    let policy = "# mine\nversion: 2   # two\n\nrules:\n    -   name: one   # first\n        \
                  matches: x\n        decision: deny\n\n    # the last\n    - decision: ask # why\n\n\
                  # the end\n";
    assert_snapshot!(added(policy, "cargo test").unwrap(), @"
    # mine
    version: 2   # two

    rules:
        -   name: one   # first
            matches: x
            decision: deny

        # the last
        - decision: ask # why
        - name: always-1efc4515c2ed
          adapter: 'demo'
          command: 'cargo test'
          decision: allow

    # the end
    ");
    assert_snapshot!(added("rules:\n- decision: ask\nversion: 2", "cargo test").unwrap(), @"
    rules:
    - decision: ask
    - name: always-1efc4515c2ed
      adapter: 'demo'
      command: 'cargo test'
      decision: allow
    version: 2
    ");
    assert_snapshot!(added("rules:   [ ]  # none\nversion: 2\n", "cargo test").unwrap(), @"
    rules:
      - name: always-1efc4515c2ed
        adapter: 'demo'
        command: 'cargo test'
        decision: allow  # none
    version: 2
    ");
    assert_snapshot!(add_rule(None, &rule("cargo test")).unwrap(), @"
    # Which questions of agents are answered without you.
    # `coven policy edit` changes it, `coven policy test` tries it.
    version: 2
    rules:
      - name: always-1efc4515c2ed
        adapter: 'demo'
        command: 'cargo test'
        decision: allow
    ");
}

#[test]
fn a_rule_is_added_once() {
    let once = added("version: 2\nrules: []\n", "cargo test").unwrap();
    assert_eq!(added(&once, "cargo test").unwrap(), once);
}

#[test]
fn a_policy_that_cannot_take_the_rule_is_refused() {
    let why = |policy: &str| added(policy, "cargo test").unwrap_err();
    assert!(matches!(why("version: 2\nrules: {"), AddRuleError::Wrong(_)));
    assert_eq!(why("version: 1\nrules: []\n"), AddRuleError::OldVersion);
    assert_eq!(why("version: 2\nrules: [{decision: ask}]\n"), AddRuleError::Layout);
    let name = rule("cargo test").name;
    let taken = format!("version: 2\nrules:\n- name: {name}\n  decision: deny\n");
    assert_eq!(why(&taken), AddRuleError::Layout);
}

#[test]
fn an_added_rule_comes_after_those_that_deny() {
    let policy = "version: 2\nrules:\n- name: no\n  matches: push\n  decision: deny\n";
    let policy = added(policy, "git push").unwrap();
    assert_eq!(decided(&policy, "git push"), "deny by policy:user:no");
}
