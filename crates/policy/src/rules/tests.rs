//! Which rule decides, and what a project may do to the user's word.

use coven_model::{AskedAction, AwaitingKind, InterventionChoice};
use coven_notation::SourceFile;
use insta::assert_snapshot;

use super::{EffectivePolicies, PolicyLayer, RuleEffect};
use crate::{AgentQuestion, Policy};

fn policy(rules: &str) -> Policy {
    let text = format!("version: 2\nrules:\n{rules}");
    let policy = Policy::read(&SourceFile::new("policy.yaml", text));
    policy.unwrap_or_else(|report| panic!("{}", report.render(false)))
}

fn user(rules: &str) -> EffectivePolicies {
    EffectivePolicies { user: Some(policy(rules)), ..EffectivePolicies::default() }
}

const NOTHING_KNOWN: AskedAction = AskedAction {
    tool: None,
    command: None,
    wrapped: false,
    truncated: false,
    extras: Vec::new(),
    secret: false,
    no_approval: None,
    entries: Vec::new(),
};

const APPROVAL: AgentQuestion<'static> = AgentQuestion {
    adapter: "claude",
    kind: AwaitingKind::Approval,
    rule: "approval",
    dialog: None,
    action: &NOTHING_KNOWN,
    excerpt: &[],
    digest: None,
};

/// What is decided about an approval that shows these lines, in one line.
fn decided(policies: &EffectivePolicies, lines: &[&str]) -> String {
    let excerpt: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    said(policies, &AgentQuestion { excerpt: &excerpt, ..APPROVAL })
}

fn tool(name: &str) -> AskedAction {
    AskedAction { tool: Some(name.to_owned()), ..NOTHING_KNOWN }
}

fn command(text: &str) -> AskedAction {
    AskedAction { command: Some(text.to_owned()), ..tool("shell") }
}

/// What is decided about a command that an agent wants to run, in one line.
fn decided_command(policies: &EffectivePolicies, text: &str) -> String {
    let excerpt: Vec<String> = text.lines().map(str::to_owned).collect();
    said(policies, &AgentQuestion { excerpt: &excerpt, action: &command(text), ..APPROVAL })
}

fn said(policies: &EffectivePolicies, question: &AgentQuestion<'_>) -> String {
    let decision = policies.decide(question);
    format!("{} by {}: {}", decision.ruling, decision.decided_by(), decision.reason)
}

/// A rule that is about everything says nothing about a command that nobody could read.
#[test]
fn what_cannot_be_read_is_asked_even_if_everything_is_allowed() {
    let policies = user("- name: all\n  decision: allow\n");
    assert_snapshot!(decided(&policies, &["Run it?"]), @"ask by policy:user:all: the rule allows it, and what cannot be read as a command from the agent's screen is asked");
    assert_snapshot!(decided_command(&policies, "cargo test \""), @"ask by policy:user:all: the rule allows it, and what cannot be read as a command from the agent's screen is asked");
    assert_snapshot!(decided_command(&policies, "cargo test"), @"allow by policy:user:all: ");
    let edit = tool("edit");
    let question = AgentQuestion { action: &edit, ..APPROVAL };
    assert_snapshot!(said(&policies, &question), @"allow by policy:user:all: ");
    let answers = user("- name: yes\n  decision: {answer: y}\n");
    assert_snapshot!(decided(&answers, &["Run it?"]), @"ask by policy:user:yes: the rule allows it, and what cannot be read as a command from the agent's screen is asked");
}

#[test]
fn what_is_forbidden_by_matches_is_found_however_it_is_written() {
    let policies = user(
        "- {name: no-force, matches: 'git push .*--force', decision: deny}\n\
         - {name: pushes, command: 'git push( .*)?', decision: allow}\n",
    );
    for text in [
        "git push origin x --force",
        "git  push origin x --force",
        "git push origin x \\\n--force",
        "git push origin xxxxxxxxxxxxxx\n  --force",
        "git 'push' origin x --force",
        "git pu\\sh origin x --for\"ce\"",
        "git pu\nsh origin x --force",
    ] {
        let decided = decided_command(&policies, text);
        assert!(decided.starts_with("deny by policy:user:no-force"), "{text:?}: {decided}");
    }
    assert_snapshot!(decided_command(&policies, "git push origin x"), @"allow by policy:user:pushes: ");
}

#[test]
fn the_first_rule_that_matches_decides_and_is_named_with_its_reason() {
    let policies = user(
        "- {name: no-force, matches: 'push .*--force', decision: deny, reason: History stays.}\n\
         - {adapter: [gemini, codex], decision: ask}\n\
         - {kind: approval, command: 'git .*', decision: allow}\n",
    );
    assert_snapshot!(decided_command(&policies, "git push origin --force"), @"deny by policy:user:no-force: History stays.");
    assert_snapshot!(decided_command(&policies, "git status"), @"allow by policy:user:rule 3:");
    assert_snapshot!(decided_command(&policies, "rm -r git"), @"ask by policy: no rule is about this part");
    let gemini = AgentQuestion { adapter: "gemini", ..APPROVAL };
    assert_snapshot!(said(&policies, &gemini), @"ask by policy:user:rule 2:");
    let decision = policies.decide(&gemini);
    assert_eq!((decision.layer, decision.rule.unwrap().line), (Some(PolicyLayer::User), 4));
}

#[test]
fn without_any_policy_everything_is_asked() {
    assert_snapshot!(decided(&EffectivePolicies::default(), &["rm"]), @"ask by policy: no rule is about this question");
}

#[test]
fn every_condition_must_fit() {
    let policies = user(
        "- {adapter: claude, kind: [approval, dialog], tool: Bash, dialog: trust, matches: x, decision: deny}\n",
    );
    let excerpt = ["x".to_owned()];
    let whole = AgentQuestion {
        kind: AwaitingKind::Dialog,
        action: &tool("Bash"),
        dialog: Some("trust"),
        excerpt: &excerpt,
        ..APPROVAL
    };
    assert_eq!(policies.decide(&whole).ruling, RuleEffect::Deny);
    for other in [
        AgentQuestion { adapter: "codex", ..whole },
        AgentQuestion { kind: AwaitingKind::Choice, ..whole },
        AgentQuestion { action: &tool("Read"), ..whole },
        AgentQuestion { dialog: Some("login"), ..whole },
        AgentQuestion { dialog: None, ..whole },
        AgentQuestion { excerpt: &[], ..whole },
    ] {
        assert_eq!(policies.decide(&other).rule, None, "{other:?}");
    }
}

#[test]
fn a_project_can_make_the_users_word_stricter_and_nothing_else() {
    let words = ["allow", "allow-always", "deny", "ask", "{answer: mine}", "{answer: theirs}"];
    let rule = |word: &str| Some(policy(&format!("- {{decision: {word}}}\n")));
    let table = words[..5].iter().flat_map(|user| {
        words.iter().filter(|project| **project != "{answer: mine}").map(move |project| {
            let policies = EffectivePolicies {
                user: rule(user),
                project: rule(project),
                ..EffectivePolicies::default()
            };
            let decision = policies.decide(&AgentQuestion { action: &tool("edit"), ..APPROVAL });
            let layer = decision.layer.unwrap();
            format!("{user:15} {project:17} -> {} ({layer})", decision.ruling)
        })
    });
    assert_snapshot!(table.collect::<Vec<_>>().join("\n"), @r"
    allow           allow             -> allow (user)
    allow           allow-always      -> allow (user)
    allow           deny              -> deny (project)
    allow           ask               -> ask (project)
    allow           {answer: theirs}  -> allow (user)
    allow-always    allow             -> allow (project)
    allow-always    allow-always      -> allow-always (user)
    allow-always    deny              -> deny (project)
    allow-always    ask               -> ask (project)
    allow-always    {answer: theirs}  -> allow-always (user)
    deny            allow             -> deny (user)
    deny            allow-always      -> deny (user)
    deny            deny              -> deny (user)
    deny            ask               -> deny (user)
    deny            {answer: theirs}  -> deny (user)
    ask             allow             -> ask (user)
    ask             allow-always      -> ask (user)
    ask             deny              -> deny (project)
    ask             ask               -> ask (user)
    ask             {answer: theirs}  -> ask (user)
    {answer: mine}  allow             -> answer (user)
    {answer: mine}  allow-always      -> answer (user)
    {answer: mine}  deny              -> deny (project)
    {answer: mine}  ask               -> ask (project)
    {answer: mine}  {answer: theirs}  -> answer (user)
    ");
}

#[test]
fn no_project_allows_or_answers_what_the_user_denies_or_wants_to_be_asked() {
    for strict in ["deny", "ask"] {
        for lax in ["allow", "allow-always", "{answer: y}"] {
            let policies = EffectivePolicies {
                user: Some(policy(&format!("- {{matches: rm, decision: {strict}}}\n"))),
                project: Some(policy(&format!(
                    "- {{name: all, adapter: claude, kind: approval, matches: rm, decision: {lax}}}\n"
                ))),
                ..EffectivePolicies::default()
            };
            let excerpt = ["rm -rf /".to_owned()];
            let decision = policies.decide(&AgentQuestion { excerpt: &excerpt, ..APPROVAL });
            assert_eq!(decision.ruling.to_string(), strict, "{lax}");
            assert_eq!(decision.layer, Some(PolicyLayer::User));
        }
    }
}

#[test]
fn a_project_decides_what_the_user_has_said_nothing_about() {
    let policies = EffectivePolicies {
        user: Some(policy("- {matches: rm, decision: deny}\n")),
        project: Some(policy("- {name: tests, command: cargo test, decision: allow}\n")),
        ..EffectivePolicies::default()
    };
    assert_snapshot!(decided_command(&policies, "cargo test"), @"allow by policy:project:tests:");
    assert_snapshot!(decided_command(&policies, "cargo test; rm -r target"), @"deny by policy:user:rule 1:");
}

#[test]
fn a_dialog_that_is_not_known_is_asked_about_whatever_the_rules_say() {
    for word in ["allow", "{answer: y}"] {
        let policies = user(&format!("- {{name: all, decision: {word}}}\n"));
        let unknown = AgentQuestion { kind: AwaitingKind::Dialog, ..APPROVAL };
        assert_eq!(policies.decide(&unknown).ruling, RuleEffect::Ask);
        let known = AgentQuestion { dialog: Some("trust"), ..unknown };
        assert_ne!(policies.decide(&known).ruling, RuleEffect::Ask);
    }
    let policies = user("- {name: all, decision: allow}\n");
    assert_snapshot!(said(&policies, &AgentQuestion { kind: AwaitingKind::Dialog, ..APPROVAL }), @"ask by policy:user:all: the rule says allow, and a dialog that is not known is never answered");
}

#[test]
fn what_a_question_does_not_offer_is_asked() {
    let policies = user("- {name: all, decision: allow}\n");
    assert_snapshot!(said(&policies, &AgentQuestion { kind: AwaitingKind::Question, ..APPROVAL }), @"ask by policy:user:all: the rule says allow, which a question does not offer");
    let policies = user("- {name: all, decision: {answer: pnpm}}\n");
    let decision = policies.decide(&AgentQuestion { kind: AwaitingKind::Choice, ..APPROVAL });
    assert_eq!(decision.ruling, RuleEffect::Answer("pnpm".to_owned()));
}

#[test]
fn a_rule_about_a_tool_is_careful_when_the_tool_is_not_known() {
    let policies =
        user("- {name: no-shell, tool: Bash, decision: deny}\n- {name: rest, decision: allow}\n");
    let with = |name: Option<&'static str>| {
        let action = name.map_or(NOTHING_KNOWN, tool);
        said(&policies, &AgentQuestion { action: &action, ..APPROVAL })
    };
    assert_snapshot!(with(Some("Bash")), @"deny by policy:user:no-shell:");
    assert_snapshot!(with(Some("Read")), @"allow by policy:user:rest:");
    assert_snapshot!(with(None), @"ask by policy:user:no-shell: the rule is about a tool, and the tool of this question is not known");
    // Not knowing is no reason to allow.
    let policies = user("- {tool: Read, decision: allow}\n");
    assert_eq!(policies.decide(&APPROVAL).rule, None);
}

#[test]
fn a_decision_becomes_a_fact_that_says_who_and_why() {
    let policies = user("- {name: no, decision: deny, reason: Not here.}\n");
    let fact = policies.decide(&APPROVAL).to_decision().unwrap();
    assert_eq!(fact.choice, InterventionChoice::Deny);
    assert_eq!(fact.by, "policy:user:no");
    assert_eq!((fact.why.as_str(), fact.text.as_deref()), ("Not here.", Some("Not here.")));
    let policies = user("- {decision: {answer: \"2\"}}\n");
    let fact = policies
        .decide(&AgentQuestion { action: &tool("edit"), ..APPROVAL })
        .to_decision()
        .unwrap();
    assert_eq!((fact.choice, fact.text.as_deref()), (InterventionChoice::Answer, Some("2")));
    assert_eq!(fact.by, "policy:user:rule 1");
    assert_eq!(EffectivePolicies::default().decide(&APPROVAL).to_decision(), None);
}

/// The rules that a guide would teach.
const TAUGHT: &str = "- {name: no-push, matches: git push, decision: deny}\n\
                      - {name: tests, command: 'cargo test( .*)?', decision: allow}\n\
                      - {name: logs, redirect: '>>? target/\\S+', decision: allow}\n\
                      - {name: release, command: make release && sh -c 'x y', decision: allow}\n";

#[test]
fn a_command_is_allowed_only_if_every_part_of_it_is() {
    let policies = user(TAUGHT);
    for allowed in [
        "cargo test",
        "cargo test --lib",
        "cargo test && cargo test --lib; cargo test",
        "(cargo test | cargo test)",
        "cargo test $(cargo test)",
        "cargo test > target/log 2>&1",
        "cargo test 2> /dev/null",
        "make release && sh -c 'x y'",
    ] {
        let text = decided_command(&policies, allowed);
        assert!(text.starts_with("allow by"), "{allowed:?}: {text}");
    }
    for asked in [
        "for f in a b; do cargo test $f; done",
        "for PATH in /tmp/evil:/bin; do cargo test; done",
        "(for LD_PRELOAD in ./x.so; do cargo test; done)",
        "cargo test $(for PATH in /tmp/evil; do cargo test; done)",
        "cargo test $[x]",
        "touch X # cargo test",
        "cargo test; touch X",
        "cargo test\ntouch X",
        "cargo test || touch X",
        "cargo test | tee X",
        "cargo test & touch X",
        "cargo test &",
        "cargo test $(touch X)",
        "cargo test `touch X`",
        "cargo test <(touch X)",
        "cargo test > ~/.bashrc",
        "cargo test > target/../../.bashrc",
        "cargo test > target/$X",
        "cargo test <<E\nx\nE",
        "RUSTC_WRAPPER=./x cargo test",
        "cargo testify",
        "xcargo test",
        "eval cargo test",
        "sh -c 'cargo test'",
        "sh -c 'x y'; cargo test",
        "cargo() { touch X; }; cargo test",
        "if cargo test; then touch X; fi",
        "cargo test 'a\nb'",
        "cargo test \\\ntouch X",
    ] {
        let text = decided_command(&policies, asked);
        assert!(text.starts_with("ask by"), "{asked:?}: {text}");
    }
    assert_snapshot!(decided_command(&policies, "cargo test && git push -f; true cargo test"), @"deny by policy:user:no-push:");
    assert_snapshot!(decided_command(&policies, "cargo test; touch X"), @"ask by policy: `touch X`: no rule is about this part");
    assert_snapshot!(decided_command(&policies, "cargo test > ~/.bashrc"), @"ask by policy: `> ~/.bashrc`: only a rule that spells it out, without a pattern, allows it");
    assert_snapshot!(decided_command(&policies, "cargo test `x`"), @"ask by policy: ``x``: it substitutes a command in backquotes; only a rule with the whole command allows it");
}

#[test]
fn what_is_not_whole_or_not_known_is_asked() {
    let policies = user(TAUGHT);
    let ask = |action: &AskedAction| said(&policies, &AgentQuestion { action, ..APPROVAL });
    let whole = command("cargo test");
    assert_snapshot!(ask(&whole), @"allow by policy:user:tests:");
    let cut = AskedAction { truncated: true, ..whole.clone() };
    assert_snapshot!(ask(&cut), @"ask by policy:user:tests: the rule says allow, and a part of what is asked is not shown");
    assert_snapshot!(ask(&tool("shell")), @"ask by policy: no rule is about this question");
    // A break at a full row may be a line break of the command.
    let broken = AskedAction { wrapped: true, ..command("cargo test a\ntouch X") };
    assert_snapshot!(ask(&broken), @"ask by policy: `touch X`: no rule is about this part");
    let joined = AskedAction { wrapped: true, ..command("cargo test\ncargo test") };
    assert_snapshot!(ask(&joined), @"ask by policy: `cargo testcargo test`: no rule is about this part");
    // Nothing is answered that is not shown whole, and no is an answer.
    let forbidding = user("- {name: never, command: 'cargo .*', decision: deny}\n");
    let denied = |action: &AskedAction| said(&forbidding, &AgentQuestion { action, ..APPROVAL });
    assert!(denied(&whole).starts_with("deny by"), "{}", denied(&whole));
    assert!(denied(&cut).starts_with("ask by"), "{}", denied(&cut));
    // A rule that forbids a command is careful where the command is not known.
    let policies = user("- {command: 'rm .*', decision: deny}\n- {decision: allow}\n");
    let ask = |action: &AskedAction| said(&policies, &AgentQuestion { action, ..APPROVAL });
    assert_snapshot!(ask(&tool("shell")), @"ask by policy:user:rule 1: the rule is about a command, and the command of this question is not known");
    assert_snapshot!(ask(&tool("edit")), @"allow by policy:user:rule 2:");
    assert_snapshot!(ask(&command("ls; rm x")), @"deny by policy:user:rule 1:");
}

#[test]
fn an_allow_by_what_is_found_on_the_screen_is_asked_and_a_deny_holds() {
    for version in [1, 2] {
        let text = format!(
            "version: {version}\nrules:\n- {{matches: rm, decision: deny}}\n\
             - {{matches: ^cargo test, decision: allow}}\n"
        );
        let read = Policy::read(&SourceFile::new("policy.yaml", text)).unwrap();
        assert_eq!(read.allows_by_matches().count(), 1);
        let policies = EffectivePolicies { user: Some(read), ..EffectivePolicies::default() };
        let asked = decided(&policies, &["cargo test"]);
        assert!(asked.starts_with("ask by policy:user:rule 2: the rule allows by `matches`"));
        assert!(decided(&policies, &["rm x"]).starts_with("deny"));
    }
}

#[test]
fn rules_that_were_not_accepted_deny_and_allow_nothing() {
    let read = policy(&format!("{TAUGHT}- {{kind: choice, decision: {{answer: y}}}}\n"));
    let policies =
        EffectivePolicies { user: Some(read.not_accepted()), ..EffectivePolicies::default() };
    assert!(decided_command(&policies, "cargo test").starts_with("ask by policy:user:tests: your"));
    assert!(decided_command(&policies, "git push").starts_with("deny"));
    let choice = AgentQuestion { kind: AwaitingKind::Choice, ..APPROVAL };
    assert_eq!(policies.decide(&choice).ruling, RuleEffect::Ask);
}

#[test]
fn a_rule_that_asks_or_denies_is_not_gone_round_by_one_that_spells_out_the_whole() {
    let policies = user(
        "- {command: git push.*, decision: ask}\n- {command: make && git push, decision: allow}\n\
         - {command: make && ls, decision: allow}\n",
    );
    assert_snapshot!(decided_command(&policies, "make && git push"), @"ask by policy:user:rule 1:");
    assert_snapshot!(decided_command(&policies, "make && ls"), @"allow by policy:user:rule 3:");
}

/// A rule for files is about the file that the shell opens, however its path is written.
#[test]
fn a_rule_for_files_is_not_passed_by_quotes_or_expansions() {
    let policies = user(
        "- {name: secrets, redirect: '[<>]+ secrets/.*', decision: deny}\n\
         - {name: target, redirect: '> target/.*', decision: allow}\n\
         - {name: echo, command: 'echo( .*)?', decision: allow}\n",
    );
    let decided = |target: &str| {
        let decided = decided_command(&policies, &format!("echo a > {target}"));
        decided.split(' ').next().unwrap().to_owned()
    };
    for allowed in ["target/x", "./target/x", "'target'/x", "\"target/a b\""] {
        assert_eq!(decided(allowed), "allow", "{allowed}");
    }
    for asked in [
        "target/.'.'/x",
        "target/.\"\"./x",
        "target/'../x'",
        "target/\\../x",
        "target/$x",
        "target/{..,a}/x",
        "target/`x`",
        "~/x",
        "~",
        "target/[.]*/x",
        "'target/../../x'",
        "!target/x",
    ] {
        assert_eq!(decided(asked), "ask", "{asked}");
    }
    for denied in ["secrets/x", "'secrets'/x", "./secrets/x", "target/../secrets/x", "s\\ecrets/x"]
    {
        assert_eq!(decided(denied), "deny", "{denied}");
    }
}

#[test]
fn what_is_denied_is_denied_in_quotes_too() {
    let policies = user(
        "- {name: push, command: 'git push( .*)?', decision: deny}\n\
         - {name: all, command: '.*', decision: allow}\n",
    );
    for command in ["git push -f", "g'it' push", "\\git \"push\" -f", "git p\"\"ush"] {
        assert!(decided_command(&policies, command).starts_with("deny"), "{command}");
    }
    assert!(decided_command(&policies, "git 'pull'").starts_with("allow"));
}
