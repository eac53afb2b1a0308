//! What waits for a person, decided over the wire: by what was seen, and once.

use coven_api::Code;
use coven_api::intervention::{Decide, InterventionItem, InterventionQuery, InterventionState};
use coven_model::{Choice, Digest, InterventionId, InterventionKind, WorkflowStatus};
use serde_json::json;

use crate::support::{Daemon, Home, code};

fn decision(choice: Choice, asked: &InterventionItem) -> Decide {
    Decide {
        decision: choice,
        answer: None,
        digest: asked.intervention.digest.clone(),
        why: Some("because".to_owned()),
    }
}

async fn wants_to_touch(daemon: &Daemon<'_>) -> (String, InterventionItem) {
    let started = daemon
        .stage(&[json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"})])
        .await;
    let asked = daemon.asked(started.id.as_str()).await;
    (started.id.to_string(), asked)
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
    let approve = decision(Choice::Approve, &asked);
    let decided = daemon.client.decide(which, &approve).await.unwrap();
    assert_eq!(decided.decision, Choice::Approve);
    assert_eq!(code(daemon.client.decide(which, &approve).await), Code::AlreadyDecided);
    assert_eq!(
        code(daemon.client.decide(which, &decision(Choice::Deny, &asked)).await),
        Code::AlreadyDecided
    );
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("made.txt").exists());
    assert_eq!(code(daemon.client.decide(which, &approve).await), Code::AlreadyDecided);

    let query = InterventionQuery { state: Some(InterventionState::Decided), workflow: Some(id) };
    let past = daemon.client.interventions(&query).await.unwrap().interventions;
    let told = past[0].decision.as_ref().unwrap();
    assert_eq!((told.choice, told.why.as_str()), (Choice::Approve, "because"));
    assert_eq!(told.by, "tester via socket");
}

#[tokio::test]
async fn an_answer_to_something_else_presses_nothing() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, asked) = wants_to_touch(&daemon).await;
    let which = &asked.intervention.id;
    let mut stale = decision(Choice::Approve, &asked);
    stale.digest = Some(Digest::of_bytes(b"another screen"));
    assert_eq!(code(daemon.client.decide(which, &stale).await), Code::StaleDigest);
    stale.digest = None;
    assert_eq!(code(daemon.client.decide(which, &stale).await), Code::BadDecision);
    let foreign = decision(Choice::Proceed, &asked);
    assert_eq!(code(daemon.client.decide(which, &foreign).await), Code::BadDecision);
    let silent = decision(Choice::Answer, &asked);
    assert_eq!(code(daemon.client.decide(which, &silent).await), Code::BadDecision);
    let nobody = InterventionId::in_session(&which.session(), 999);
    let never = daemon.client.decide(&nobody, &decision(Choice::Approve, &asked)).await;
    assert_eq!(code(never), Code::InterventionNotFound);
    assert!(!home.base().join("made.txt").exists());
    // It still waits, and can be decided.
    assert_eq!(daemon.asked(&id).await.intervention.id, *which);
    daemon.client.decide(which, &decision(Choice::Deny, &asked)).await.unwrap();
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
    daemon.client.decide(&asked.intervention.id, &decision(Choice::Retry, &asked)).await.unwrap();
    daemon.ends(id, WorkflowStatus::Completed).await;
    let left = daemon.client.interventions(&InterventionQuery::default()).await.unwrap();
    assert_eq!(left.interventions, []);
}
