//! The API against its own document, by a program that makes up requests: `cargo xtask
//! schemathesis` installs it and runs this.

use std::fs;
use std::process::Command;

use coven_api::device::DeviceRole;
use coven_api::workflow::StartWorkflow;
use coven_model::AutoAnswer;
use coven_model::WorkflowStatus;
use serde_json::json;

use crate::support::Home;

#[ignore = "needs schemathesis: `cargo xtask schemathesis`"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_requests_get_only_the_answers_that_the_document_names() {
    let program = std::env::var("COVEN_SCHEMATHESIS").expect("where schemathesis is");
    let more = std::env::var("COVEN_SCHEMATHESIS_ARGS").unwrap_or_default();
    let home = Home::new();
    let daemon = home.daemon().await;
    // Something to find: a session that is over, and one that asks and goes on asking.
    let over = StartWorkflow { auto: Some(AutoAnswer::Allow), ..daemon.grimoire("demo") };
    let over = daemon.start(&over).await.id.to_string();
    daemon.ends(&over, WorkflowStatus::Completed).await;
    let asking = json!({"id": "a", "adapter": "demo", "permissions": "ask",
        "prompt": "approve echo one\napprove echo two\nexit 0"});
    let asking = daemon.stage(&[asking]).await.id.to_string();
    daemon.asked(&asking).await;

    let folder = home.path().join("schemathesis");
    fs::create_dir(&folder).unwrap();
    let document = daemon.raw("GET", "/openapi.json").send().await.unwrap().text().await.unwrap();
    fs::write(folder.join("openapi.json"), document).unwrap();
    fs::write(folder.join("schemathesis.toml"), settings(&asking)).unwrap();
    let (address, token) = (daemon.address().await, daemon.token(DeviceRole::Full).await);
    let mut command = Command::new(program);
    command
        .args(["run", "openapi.json", "--checks", "all", "--continue-on-failure"])
        .args(["--url", &format!("http://{address}"), "--request-timeout", "5"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(more.split_whitespace())
        .env_clear()
        .envs(home.env())
        .current_dir(&folder);
    let ended = tokio::task::spawn_blocking(move || command.status()).await.unwrap().unwrap();
    assert!(ended.success(), "schemathesis found something: {ended}");
    daemon.client.status().await.unwrap();
    assert_eq!(daemon.stop().await.code(), Some(0), "the daemon still stops as it should");
}

/// Ids that exist, so that more than `404` is answered. What fits the document and still makes no
/// sense, such as a folder that is not there, is answered with 422; a WebSocket with 426.
fn settings(asking: &str) -> String {
    format!(
        "[parameters]\n\"path.id\" = \"{asking}\"\n\"path.task\" = \"a\"\n\
         \"path.session\" = \"{asking}\"\n\"path.number\" = \"1\"\n\n\
         [checks.positive_data_acceptance]\n\
         expected-statuses = [\"2xx\", \"401\", \"403\", \"404\", \"409\", \"422\", \"426\", \"429\"]\n\n\
         [checks.negative_data_rejection]\n\
         expected-statuses = [\"400\", \"401\", \"403\", \"404\", \"405\", \"409\", \"415\", \"422\", \"426\"]\n"
    )
}
