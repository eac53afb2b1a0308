//! The page while the daemon is killed and comes back.

use coven_model::WorkflowStatus;
use serde_json::{Value, json};

use super::{at, home_with_port, screen, signed_in};

const ASKING: &str = "name: asking\ndescription: x\nsteps:\n  - {name: before, type: script, command: echo before}\n  - name: build\n    type: agent\n    adapter: demo\n    mode: interactive\n    permissions: ask\n    prompt: |\n      approve echo hello\n      say Thank you.\n";

/// The numbers of the facts that the timeline shows, the newest first.
const SEQS: &str =
    "[...document.querySelectorAll('.timeline [data-seq]')].map((one) => Number(one.dataset.seq))";

#[tokio::test]
async fn the_page_goes_on_by_itself_after_the_daemon_was_killed_and_shows_each_fact_once() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let id = daemon.start(&daemon.definition(ASKING)).await.id.to_string();
    daemon.asked(&id).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}?tab=timeline", at(&id))).await;
    browser.sees("Show every fact").await;
    browser.js("document.querySelector('.timeline input').click()", json!([])).await;
    browser.sees("Asks for approval").await;

    daemon.kill();
    browser.sees("The daemon does not answer").await;
    // What was known stays on the page.
    browser.sees("Asks for approval").await;

    let daemon = home.daemon().await;
    browser.sees("Connected").await;
    browser.sees_no("The daemon does not answer").await;
    browser.click(".card [data-choice=approve]").await;
    let done = daemon.ends(&id, WorkflowStatus::Completed).await;
    browser.sees("Run completed").await;
    browser.waits("the last fact is there", &format!("{SEQS}[0] === {}", done.last_seq)).await;
    let seqs = browser.js(&format!("return {SEQS}"), json!([])).await;
    let expected: Vec<u64> = (1..=done.last_seq).rev().collect();
    assert_eq!(seqs, Value::from(expected), "every fact once, in order");
    assert_eq!(browser.js("return document.querySelectorAll('.card').length", json!([])).await, 0);
}

#[tokio::test]
async fn a_terminal_that_is_looked_at_is_there_again_after_the_daemon_was_killed() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let id = daemon
        .stage(&[
            json!({"id": "a", "adapter": "demo", "prompt": "say still here; ask Anything else?"}),
        ])
        .await
        .id
        .to_string();
    daemon.asked(&id).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/a", at(&id))).await;
    browser.sees("You have the keyboard").await;
    daemon.kill();
    browser.sees("Connection lost").await;
    let daemon = home.daemon().await;
    browser.sees("You have the keyboard").await;
    let screen = screen(&daemon, &id, "a").await.unwrap();
    assert!(screen.lines.iter().any(|line| line.contains("Anything else?")), "{:?}", screen.lines);
    daemon.client.cancel(&id, &coven_api::workflow::ActionRequest::default()).await.unwrap();
    daemon.ends(&id, WorkflowStatus::Cancelled).await;
}
