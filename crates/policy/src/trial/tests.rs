//! The table of `coven policy test`.

use coven_model::{
    Intervention, InterventionChoice, InterventionId, InterventionKind, SessionId, Timestamp,
};
use coven_notation::SourceFile;
use insta::assert_snapshot;

use super::{PastQuestion, test};
use crate::{EffectivePolicies, Policy};

fn intervention(number: u64, kind: InterventionKind, excerpt: &str) -> Intervention {
    let session = SessionId::new("0190d1c7-0000-7000-8000-000000000001").unwrap();
    let id = InterventionId::in_session(&session, number);
    Intervention {
        tool: Some("shell".to_owned()),
        command: excerpt.lines().last().map(str::to_owned),
        excerpt: excerpt.to_owned(),
        ..Intervention::new(id, "build", kind, Timestamp::default())
    }
}

#[test]
fn each_past_intervention_is_held_against_the_rules() {
    let text = "version: 2\nrules:\n\
                - {name: tests, command: 'cargo test( .*)?', decision: allow}\n\
                - {name: push, matches: git push, decision: deny}\n\
                - {name: never, adapter: nobody, decision: deny}\n";
    let policy = Policy::read(&SourceFile::new("policy.yaml", text)).unwrap();
    let policies = EffectivePolicies { user: Some(policy), ..EffectivePolicies::default() };
    let asked = [
        intervention(1, InterventionKind::Approval, "Run?\ncargo test --all\n"),
        intervention(2, InterventionKind::Approval, "Run?\ngit push\n"),
        intervention(3, InterventionKind::Approval, "Run?\nmake\n"),
        intervention(4, InterventionKind::FailedGate, "cargo test\n"),
        intervention(5, InterventionKind::Approval, "cargo test\n"),
    ];
    let decided = [
        Some(InterventionChoice::Approve),
        Some(InterventionChoice::Approve),
        Some(InterventionChoice::Deny),
        None,
        None,
    ];
    let past = asked.iter().zip(decided).map(|(intervention, decided)| PastQuestion {
        intervention,
        adapter: "claude",
        dialog: None,
        decided,
    });
    let trial = test(&policies, past);
    let rows = trial.rows.iter().map(|row| {
        let says = row
            .decision
            .as_ref()
            .map(|decision| format!("{} {}", decision.ruling, decision.decided_by()));
        format!("{:?} | {:?} | {:?}", says, row.past.decided, row.agrees)
    });
    assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r#"
    Some("allow policy:user:tests") | Some(Approve) | Some(true)
    Some("deny policy:user:push") | Some(Approve) | Some(false)
    Some("ask policy") | Some(Deny) | None
    None | None | None
    Some("allow policy:user:tests") | None | None
    "#);
    let unused: Vec<&str> = trial.unused.iter().map(|(_, rule)| rule.name.as_str()).collect();
    assert_eq!(unused, ["never"]);
}

#[test]
fn what_is_always_for_a_person_is_asked_whatever_the_rules_say() {
    let text = "version: 2\nrules:\n- {name: all, kind: choice, decision: {answer: one}}\n";
    let policy = Policy::read(&SourceFile::new("policy.yaml", text)).unwrap();
    let policies = EffectivePolicies { user: Some(policy), ..EffectivePolicies::default() };
    let choice = || intervention(1, InterventionKind::Choice, "Which?");
    let ruling = |asked: &Intervention| {
        let (adapter, dialog, decided) = ("claude", None, None);
        let past = PastQuestion { intervention: asked, adapter, dialog, decided };
        let trial = test(&policies, [past]);
        (trial.rows[0].decision.as_ref().unwrap().ruling.to_string(), trial.unused.len())
    };
    let known = Intervention { rule: Some("interaction_choice".to_owned()), ..choice() };
    assert_eq!(ruling(&known), ("answer".to_owned(), 0));
    let generic = Intervention { rule: Some("generic:menu".to_owned()), ..choice() };
    assert_eq!(ruling(&generic), ("ask".to_owned(), 1));
    let secret = Intervention { secret: true, ..choice() };
    assert_eq!(ruling(&secret), ("ask".to_owned(), 1));
}

#[test]
fn a_rule_for_a_part_of_a_command_decided_something() {
    let text = "version: 2\nrules:\n\
                - {name: tests, command: 'cargo test( .*)?', decision: allow}\n\
                - {name: logs, redirect: '>>? target/\\S+', decision: allow}\n";
    let policy = Policy::read(&SourceFile::new("policy.yaml", text)).unwrap();
    let policies = EffectivePolicies { user: Some(policy), ..EffectivePolicies::default() };
    let asked = intervention(1, InterventionKind::Approval, "cargo test > target/log");
    let past =
        PastQuestion { intervention: &asked, adapter: "claude", dialog: None, decided: None };
    assert!(test(&policies, [past]).unused.is_empty());
}
