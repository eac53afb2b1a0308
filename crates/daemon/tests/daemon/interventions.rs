//! What waits for a person, decided over the wire: by what was seen, and once.

use std::os::unix::fs::MetadataExt as _;

use coven_api::ProblemCode;
use coven_api::intervention::{
    DecideRequest, InterventionItem, InterventionQuery, InterventionState,
};
use coven_model::{
    ContentDigest, InterventionChoice, InterventionId, InterventionKind, WorkflowStatus,
};
use serde_json::json;

use crate::support::{Daemon, Home, code};

fn decision(choice: InterventionChoice, asked: &InterventionItem) -> DecideRequest {
    let digest = asked.intervention.digest.clone();
    DecideRequest { why: Some("because".to_owned()), ..DecideRequest::new(choice, digest) }
}

async fn wants_to_touch(daemon: &Daemon<'_>) -> (String, InterventionItem) {
    let started = daemon
        .stage(&[json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"})])
        .await;
    let asked = daemon.asked(started.id.as_str()).await;
    (started.id.to_string(), asked)
}

/// The name is the person's own, and what a repository says it is counts nothing.
#[tokio::test]
async fn a_decision_carries_the_name_that_its_person_has_in_git() {
    let home = Home::new();
    std::fs::write(home.path().join(".gitconfig"), "[user]\n\tname = Mira Doe\n").unwrap();
    std::fs::create_dir(home.base().join(".git")).unwrap();
    let other = "[user]\n\tname = Somebody Else\n";
    std::fs::write(home.base().join(".git/config"), other).unwrap();
    let daemon = home.daemon().await;
    let (id, asked) = wants_to_touch(&daemon).await;
    let approve = decision(InterventionChoice::Approve, &asked);
    daemon.client.decide(&asked.intervention.id, &approve).await.unwrap();
    let query = InterventionQuery { state: Some(InterventionState::Decided), workflow: Some(id) };
    let past = daemon.client.interventions(&query).await.unwrap().interventions;
    let uid = std::fs::metadata(home.path()).unwrap().uid();
    let by = &past[0].decision.as_ref().unwrap().by;
    assert_eq!(*by, format!("Mira Doe (uid {uid} via socket)"));
}

#[tokio::test]
async fn an_approval_is_listed_with_everything_and_approved_once() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, asked) = wants_to_touch(&daemon).await;
    assert_eq!(asked.intervention.kind, InterventionKind::Approval);
    assert_eq!(asked.adapter.as_deref(), Some("demo"));
    assert_eq!(asked.base_dir, home.base().display().to_string());
    assert!(asked.intervention.excerpt.contains("touch made.txt"), "{asked:#?}");
    assert!(asked.intervention.digest.is_some() && asked.always.is_some());
    let blocked = daemon.client.workflow(&id).await.unwrap();
    assert_eq!((blocked.item.status, blocked.item.waiting), (WorkflowStatus::Blocked, 1));

    let which = &asked.intervention.id;
    let approve = decision(InterventionChoice::Approve, &asked);
    let decided = daemon.client.decide(which, &approve).await.unwrap();
    assert_eq!(decided.decision, InterventionChoice::Approve);
    assert_eq!(code(daemon.client.decide(which, &approve).await), ProblemCode::AlreadyDecided);
    assert_eq!(
        code(daemon.client.decide(which, &decision(InterventionChoice::Deny, &asked)).await),
        ProblemCode::AlreadyDecided
    );
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("made.txt").exists());
    assert_eq!(code(daemon.client.decide(which, &approve).await), ProblemCode::AlreadyDecided);

    let query = InterventionQuery { state: Some(InterventionState::Decided), workflow: Some(id) };
    let past = daemon.client.interventions(&query).await.unwrap().interventions;
    let told = past[0].decision.as_ref().unwrap();
    assert_eq!((told.choice, told.why.as_str()), (InterventionChoice::Approve, "because"));
    let uid = std::fs::metadata(home.path()).map(|data| data.uid()).unwrap();
    assert_eq!(told.by, format!("tester (uid {uid} via socket)"));
}

#[tokio::test]
async fn an_answer_to_something_else_presses_nothing() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, asked) = wants_to_touch(&daemon).await;
    let which = &asked.intervention.id;
    let mut stale = decision(InterventionChoice::Approve, &asked);
    stale.digest = Some(ContentDigest::of_bytes(b"another screen"));
    assert_eq!(code(daemon.client.decide(which, &stale).await), ProblemCode::StaleDigest);
    stale.digest = None;
    assert_eq!(code(daemon.client.decide(which, &stale).await), ProblemCode::BadDecision);
    let foreign = decision(InterventionChoice::Proceed, &asked);
    assert_eq!(code(daemon.client.decide(which, &foreign).await), ProblemCode::BadDecision);
    let silent = decision(InterventionChoice::Answer, &asked);
    assert_eq!(code(daemon.client.decide(which, &silent).await), ProblemCode::BadDecision);
    let nobody = InterventionId::in_session(&which.session(), 999);
    let never = daemon.client.decide(&nobody, &decision(InterventionChoice::Approve, &asked)).await;
    assert_eq!(code(never), ProblemCode::InterventionNotFound);
    assert!(!home.base().join("made.txt").exists());
    // It still waits, and can be decided.
    assert_eq!(daemon.asked(&id).await.intervention.id, *which);
    daemon.client.decide(which, &decision(InterventionChoice::Deny, &asked)).await.unwrap();
    assert!(!home.base().join("made.txt").exists());
}

#[tokio::test]
async fn a_gate_that_failed_is_retried_and_passed() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: gated\ndescription: x\nsteps:\n  - {name: check, type: gate, command: 'test -e there', message: it must be there}\n";
    let started = daemon.start(&daemon.definition(text)).await;
    let id = started.id.as_str();
    let asked = daemon.asked(id).await;
    assert_eq!(asked.intervention.kind, InterventionKind::FailedGate);
    assert_eq!(asked.workflow_name, started.name);
    let all = daemon.client.interventions(&InterventionQuery::default()).await.unwrap();
    assert_eq!(all.interventions.len(), 1);
    std::fs::write(home.base().join("there"), "").unwrap();
    daemon
        .client
        .decide(&asked.intervention.id, &decision(InterventionChoice::Retry, &asked))
        .await
        .unwrap();
    daemon.ends(id, WorkflowStatus::Completed).await;
    let left = daemon.client.interventions(&InterventionQuery::default()).await.unwrap();
    assert_eq!(left.interventions, []);
}

/// What is approved for always is the rule that was seen, and no other.
#[tokio::test]
async fn always_needs_the_rule_that_was_shown() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, asked) = wants_to_touch(&daemon).await;
    let which = &asked.intervention.id;
    let always = decision(InterventionChoice::ApproveAlways, &asked);
    assert_eq!(code(daemon.client.decide(which, &always).await), ProblemCode::BadDecision);
    let rule = asked.always.clone().unwrap();
    let other = DecideRequest { rule: Some(rule.replace("made", "other")), ..always.clone() };
    assert_eq!(code(daemon.client.decide(which, &other).await), ProblemCode::StaleDigest);
    let once = DecideRequest { save: true, ..decision(InterventionChoice::Approve, &asked) };
    assert_eq!(code(daemon.client.decide(which, &once).await), ProblemCode::BadDecision);
    let seen = DecideRequest { rule: Some(rule), ..always };
    daemon.client.decide(which, &seen).await.unwrap();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let query = InterventionQuery { state: Some(InterventionState::Decided), workflow: Some(id) };
    let past = daemon.client.interventions(&query).await.unwrap().interventions;
    let made = past[0].decision.clone().unwrap().rule.unwrap();
    assert_eq!((made.adapter.as_str(), made.command.as_str()), ("demo", "touch made.txt"));
}
