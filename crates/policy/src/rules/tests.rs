//! Which rule decides, and what a project may do to the user's word.

use coven_model::{AwaitingKind, InterventionChoice};
use coven_notation::SourceFile;
use insta::assert_snapshot;

use super::{EffectivePolicies, PolicyLayer, RuleEffect};
use crate::{AgentQuestion, Policy};

fn policy(rules: &str) -> Policy {
    let text = format!("version: 1\nrules:\n{rules}");
    let policy = Policy::read(&SourceFile::new("policy.yaml", text));
    policy.unwrap_or_else(|report| panic!("{}", report.render(false)))
}

fn user(rules: &str) -> EffectivePolicies {
    EffectivePolicies { user: Some(policy(rules)), project: None }
}

const APPROVAL: AgentQuestion<'static> = AgentQuestion {
    adapter: "claude",
    kind: AwaitingKind::Approval,
    rule: "approval",
    dialog: None,
    tool: None,
    excerpt: &[],
    digest: None,
};

/// What is decided about an approval that shows these lines, in one line.
fn decided(policies: &EffectivePolicies, lines: &[&str]) -> String {
    let excerpt: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    said(policies, &AgentQuestion { excerpt: &excerpt, ..APPROVAL })
}

fn said(policies: &EffectivePolicies, question: &AgentQuestion<'_>) -> String {
    let decision = policies.decide(question);
    format!("{} by {}: {}", decision.ruling, decision.decided_by(), decision.reason)
}

#[test]
fn the_first_rule_that_matches_decides_and_is_named_with_its_reason() {
    let policies = user(
        "- {name: no-force, matches: 'push .*--force', decision: deny, reason: History stays.}\n\
         - {adapter: [gemini, codex], decision: ask}\n\
         - {kind: approval, matches: ^git, decision: allow}\n",
    );
    assert_snapshot!(decided(&policies, &["Run this?", "git push origin --force"]), @"deny by policy:user:no-force: History stays.");
    assert_snapshot!(decided(&policies, &["Run this?", "git status"]), @"allow by policy:user:rule 3:");
    assert_snapshot!(decided(&policies, &["Run this?", "rm -r git"]), @"ask by policy: no rule is about this question");
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
        tool: Some("Bash"),
        dialog: Some("trust"),
        excerpt: &excerpt,
        ..APPROVAL
    };
    assert_eq!(policies.decide(&whole).ruling, RuleEffect::Deny);
    for other in [
        AgentQuestion { adapter: "codex", ..whole },
        AgentQuestion { kind: AwaitingKind::Choice, ..whole },
        AgentQuestion { tool: Some("Read"), ..whole },
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
            let policies = EffectivePolicies { user: rule(user), project: rule(project) };
            let decision = policies.decide(&APPROVAL);
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
        project: Some(policy("- {name: tests, matches: cargo test, decision: allow}\n")),
    };
    assert_snapshot!(decided(&policies, &["cargo test"]), @"allow by policy:project:tests:");
    assert_snapshot!(decided(&policies, &["cargo test; rm -r target"]), @"deny by policy:user:rule 1:");
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
    let with = |tool: Option<&'static str>| said(&policies, &AgentQuestion { tool, ..APPROVAL });
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
    let fact = policies.decide(&APPROVAL).to_decision().unwrap();
    assert_eq!((fact.choice, fact.text.as_deref()), (InterventionChoice::Answer, Some("2")));
    assert_eq!(fact.by, "policy:user:rule 1");
    assert_eq!(EffectivePolicies::default().decide(&APPROVAL).to_decision(), None);
}
