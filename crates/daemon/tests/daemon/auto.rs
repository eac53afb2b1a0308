//! Runs whose questions are answered by policies, without a person.

use coven_api::intervention::{InterventionQuery, InterventionState};
use coven_model::AutoAnswer;
use coven_model::WorkflowStatus;
use serde_json::json;

use crate::support::Home;

fn everything() -> String {
    json!({"id": "auto", "stages": [
        {"id": "one", "tasks": [{"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt"}]},
    ]})
    .to_string()
}

#[tokio::test]
async fn a_run_that_allows_everything_needs_nobody() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(&everything());
    start.auto = Some(AutoAnswer::Allow);
    let started = daemon.start(&start).await;
    let id = started.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("made.txt").exists());
    let query = InterventionQuery { state: Some(InterventionState::Decided), workflow: Some(id) };
    let past = daemon.client.interventions(&query).await.unwrap().interventions;
    assert!(past.len() >= 2, "{past:#?}");
    for item in past {
        assert_eq!(item.decision.unwrap().by, "--auto allow");
    }
}

#[tokio::test]
async fn a_run_that_denies_everything_ends_without_having_done_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: gate\ndescription: x\nsteps:\n  - {name: leave, type: gate, message: May I?}\n  - {name: a, type: script, command: 'touch made.txt'}\n";
    let mut start = daemon.definition(text);
    start.auto = Some(AutoAnswer::Deny);
    let started = daemon.start(&start).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Failed).await;
    assert!(!home.base().join("made.txt").exists());
}

#[tokio::test]
async fn what_was_wanted_is_remembered_by_the_next_daemon() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: gate\ndescription: x\nsteps:\n  - {name: wait, type: script, command: 'until test -e go; do sleep 0.05; done'}\n  - {name: leave, type: gate, message: May I?}\n";
    let mut start = daemon.definition(text);
    start.auto = Some(AutoAnswer::Allow);
    let id = daemon.start(&start).await.id.to_string();
    daemon.see(&id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    daemon.kill();
    // The question comes up while no daemon runs, and is open when the next one has started.
    std::fs::write(home.base().join("go"), "").unwrap();
    let daemon = home.daemon().await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}
