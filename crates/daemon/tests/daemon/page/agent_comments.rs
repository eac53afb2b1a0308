//! What an agent says about another's work, on the page, with real trees: it stands at its lines, is
//! taken over or left out, and goes to the agent whose work it is.

use coven_api::changes::AgentCommentsQuery;
use coven_api::tree::TreesQuery;
use coven_model::WorkflowStatus;
use serde_json::json;

use super::browser::{Browser, key};
use super::landing::repository;
use super::{at, signed_in};
use crate::support::{Daemon, Home};

/// One agent that writes two files, and one that only reads and reviews.
const REVIEWED: &str = r#"
name: reviewed
description: One agent writes, another reviews.
defaults: {isolation: auto, adapter: demo, mode: headless}
steps:
  - {name: write, type: agent, isolation: run, permissions: all, prompt: 'write docs/gifts.md Gift cards\nFor a year\nThe end; write docs/cart.md Carts'}
  - name: check
    type: agent
    permissions: read-only
    expect: comments
    prompt: 'json {"summary": "Nearly there.", "comments": [
      {"path": "docs/gifts.md", "line": 2, "text": "write docs/terms.md For two years"},
      {"path": "docs/gifts.md", "line": 3, "text": "Not needed."},
      {"path": "docs/cart.md", "line": 1, "text": "Too short."},
      {"path": "README.md", "line": 1, "text": "A link to the pages is missing."}]}'
"#;

/// A run that has ended, and a browser that may look at it.
async fn reviewed(daemon: &Daemon<'_>) -> (String, Browser) {
    let id = daemon.start(&daemon.definition(REVIEWED)).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    (id, signed_in(daemon).await)
}

async fn opened(browser: &Browser, id: &str, task: &str) {
    browser.visit(&format!("{}/{task}?tab=changes&file=docs%2Fgifts.md", at(id))).await;
    browser.waits("the lines are there", "document.querySelector('.diff-grid [data-cell]')").await;
}

/// How many comments of agents stand in the lines.
fn stand(count: usize) -> String {
    format!("document.querySelectorAll('.diff-grid .agent-comment').length === {count}")
}

#[tokio::test]
async fn what_an_agent_says_is_taken_over_by_key_left_out_and_sent_with_ones_own() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let (id, browser) = reviewed(&daemon).await;
    opened(&browser, &id, "write").await;
    browser.waits("both stand at their lines", &stand(2)).await;
    browser.sees("Nearly there.").await;
    browser.sees("4 comments by agents").await;
    // It is said whose it is, below the line that it is about.
    let below = "const row = document.querySelector('.diff-grid .agent-comment').closest('.diff-comment');
        return [row.previousElementSibling.innerText.includes('For a year'), row.querySelector('strong').innerText]";
    assert_eq!(browser.js(below, json!([])).await, json!([true, "check"]));
    // A file that did not change has no line to stand at.
    browser.sees("Comments of agents on files that are not listed").await;
    browser.sees("A link to the pages is missing.").await;
    browser
        .waits("the other file has one", "document.querySelector('[data-path=\"docs/cart.md\"] .is-agents')?.innerText.startsWith('1')")
        .await;

    // By key: from the button that takes it over.
    browser
        .js("document.querySelector('.diff-grid .agent-comment button').focus()", json!([]))
        .await;
    browser.types(key::ENTER).await;
    browser.waits("one is left", &stand(1)).await;
    browser.sees("not sent").await;
    // By mouse: what is left out is not shown again.
    browser.press("Leave out").await;
    browser.waits("none is left", &stand(0)).await;
    browser.reload().await;
    browser.sees("Connected").await;
    opened(&browser, &id, "write").await;
    browser
        .waits(
            "what was taken over is a draft",
            "document.querySelectorAll('.diff-grid .draft-comment').length === 1",
        )
        .await;
    browser.sees("2 comments by agents").await;
    browser.waits("and no more", &stand(0)).await;

    browser.js("document.querySelector('.changes').focus()", json!([])).await;
    browser.types("s").await;
    browser
        .waits("the keyboard is in it", "document.activeElement.matches('dialog textarea')")
        .await;
    browser.sees("1 comment, sent as one message").await;
    browser.chord(key::CONTROL, key::ENTER).await;
    browser.sees("a new run begins with the review").await;
    browser
        .waits("nothing is left to send", "!document.querySelector('.diff-grid .draft-comment')")
        .await;
    browser.waits("it does not come back", &stand(0)).await;
    // The one who wrote the page has done what the other said.
    let runs = daemon.client.workflows(&coven_api::workflow::ListQuery::default()).await.unwrap();
    let next = runs.workflows.iter().find(|run| run.id.as_str() != id).unwrap().id.to_string();
    daemon.ends(&next, WorkflowStatus::Completed).await;
    let trees = daemon.client.trees(Some(&next), &TreesQuery::default()).await.unwrap().trees;
    let text = std::fs::read_to_string(std::path::Path::new(&trees[0].path).join("docs/terms.md"));
    assert_eq!(text.unwrap(), "For two years\n");
    let other = daemon.client.agent_comments(&next, "write", &AgentCommentsQuery::default()).await;
    assert_eq!(other.unwrap().comments, [], "the other run has no reviewer");
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_comment_that_was_dropped_again_and_one_whose_lines_are_gone_are_shown() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let (id, browser) = reviewed(&daemon).await;
    browser.resize(390, 844).await;
    opened(&browser, &id, "write").await;
    browser.waits("both stand at their lines", &stand(2)).await;
    browser.press("Take over").await;
    browser.waits("one is left", &stand(1)).await;
    browser
        .js(
            "document.querySelector('.diff-grid [aria-label=\"Delete the comment\"]').click()",
            json!([]),
        )
        .await;
    browser.waits("it is the agent's again", &stand(2)).await;
    let fits =
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    assert_eq!(browser.js(fits, json!([])).await, true, "nothing is cut off on a narrow screen");

    let trees = daemon.client.trees(Some(&id), &TreesQuery::default()).await.unwrap().trees;
    let file = std::path::Path::new(&trees[0].path).join("docs/gifts.md");
    std::fs::write(file, "Gift cards\nNew\nThe end\n").unwrap();
    browser.press("Reload").await;
    browser
        .waits("it is said to be gone, with what it was about", "[...document.querySelectorAll('.changed-lines > .agent-comment')].some((one) => one.innerText.includes('outdated') && one.innerText.includes('For a year'))")
        .await;
    browser.waits("the other one stays", &stand(1)).await;

    // Its own author gets no review of itself from here.
    opened(&browser, &id, "check").await;
    browser.waits("it is shown", &stand(1)).await;
    assert!(!browser.text().await.contains("Take over"));
    assert_eq!(browser.complaints().await, [""; 0]);
}
