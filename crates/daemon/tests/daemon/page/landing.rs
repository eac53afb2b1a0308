//! The way from an agent's work to a branch, on the page, with real trees: a review that the agent
//! obeys, a conflict that a person resolves, and landing.

use std::path::Path;

use coven_api::tree::TreesQuery;
use coven_api::workflow::{OneAgent, RunIsolation, StartWorkflow};
use coven_model::{PermissionLevel, WorkflowStatus};
use coven_testkit::git::git;
use serde_json::json;

use super::browser::{Browser, key};
use super::{at, signed_in};
use crate::support::{Daemon, Home};

/// Two agents that write the same file, one after the other, and one that writes another.
const CONFLICT: &str = r#"
name: pages
description: Three agents write pages, two of them the same.
defaults: {isolation: auto}
steps:
  - name: pages
    type: parallel-agents
    adapter: demo
    mode: headless
    permissions: all
    for_each:
      - {file: docs/cart.md, text: How the cart works}
      - {file: docs/cart.md, text: What a cart is}
      - {file: docs/gifts.md, text: Gift cards}
    prompt: write ${item.file} ${item.text}
    commit: "${item.text}"
"#;

/// A repository with one commit, and somebody who works in it.
pub(super) fn repository(home: &Home) {
    let base = home.base();
    std::fs::write(
        home.path().join(".gitconfig"),
        "[user]\n\tname = Mira\n\temail = mira@example.invalid\n",
    )
    .unwrap();
    git(&base, &["init", "--quiet"]);
    std::fs::write(base.join(".gitignore"), ".coven/\n").unwrap();
    std::fs::write(base.join("README.md"), "# Shop\n").unwrap();
    git(&base, &["add", "."]);
    git(&base, &["commit", "--quiet", "-m", "Begin"]);
}

/// An agent on a terminal, in a tree of its own.
pub(super) async fn one_agent(daemon: &Daemon<'_>, prompt: &str) -> String {
    let agent = OneAgent {
        adapter: "demo".to_owned(),
        prompt: Some(prompt.to_owned()),
        mode: None,
        model: None,
        permissions: Some(PermissionLevel::All),
        extra_args: Vec::new(),
        auto_approve: false,
    };
    let start = StartWorkflow {
        agent: Some(agent),
        isolation: Some(RunIsolation::Task),
        ..daemon.anything()
    };
    let id = daemon.start(&start).await.id.to_string();
    daemon
        .see(&id, |workflow| {
            workflow.tasks.iter().any(|task| {
                task.verdict
                    .as_ref()
                    .is_some_and(|verdict| matches!(verdict.state, coven_model::AgentState::Idle))
            })
        })
        .await;
    id
}

/// Opens the dialog that lands a tree, from the list of trees.
pub(super) async fn lands(browser: &Browser, id: &str, tree: &str) {
    browser.visit(&format!("{}?tab=trees", at(id))).await;
    browser.click(&format!("[data-tree={tree:?}] .tree-actions button")).await;
    browser.waits("it is said", "document.querySelector('.merge-answer .notice')").await;
}

fn shown(base: &Path, what: &str) -> String {
    git(base, &["show", what])
}

#[tokio::test]
async fn a_review_on_the_page_is_obeyed_by_the_agent_and_what_it_did_is_landed() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let id = one_agent(&daemon, "write docs/gifts.md Gift cards").await;
    let task = daemon.client.workflow(&id).await.unwrap().tasks[0].id.to_string();
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/{task}?tab=changes", at(&id))).await;
    browser.sees("Gift cards").await;
    browser.waits("the lines are there", "document.querySelector('.diff-grid [data-cell]')").await;

    browser.js("document.querySelector('.changes').focus()", json!([])).await;
    browser.types("c").await;
    browser
        .waits("it can be written", "document.activeElement.matches('.comment-form textarea')")
        .await;
    browser.types("write docs/gifts.md Gift cards, good for a year").await;
    browser.chord(key::CONTROL, key::ENTER).await;
    browser.waits("it is kept", "document.querySelector('.draft-comment')").await;
    browser.types("s").await;
    browser
        .waits("the keyboard is in it", "document.activeElement.matches('dialog textarea')")
        .await;
    browser.chord(key::CONTROL, key::ENTER).await;
    browser.waits("nothing is left to send", "!document.querySelector('.draft-comment')").await;
    // The agent has done so, and the page shows it without being asked again.
    browser.sees("Gift cards, good for a year").await;
    let sent = daemon.client.workflow(&id).await.unwrap();
    assert_eq!(sent.tasks[0].attempt, 1, "the living agent had the message");

    // Nothing has left the tree, and the checkout has none of it.
    let base = home.base();
    assert!(!base.join("docs").exists());
    daemon.client.complete(&id, &task).await.unwrap();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    lands(&browser, &id, "@run").await;
    browser.sees("1 commit can be landed on main without a conflict").await;
    let before = git(&base, &["rev-parse", "main"]);
    browser.click("dialog [type=submit]").await;
    browser.sees("Landed: main is at").await;
    assert_ne!(git(&base, &["rev-parse", "main"]), before);
    assert_eq!(shown(&base, "main:docs/gifts.md"), "Gift cards, good for a year");
    // The checkout was clean and follows its branch.
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
    assert!(base.join("docs/gifts.md").exists());
    let message = git(&base, &["log", "-1", "--no-merges", "--format=%B"]);
    assert!(message.contains("Coven-Task: "), "{message}");
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_conflict_is_resolved_by_a_person_and_a_checkout_with_changes_is_left_alone() {
    let home = Home::new();
    repository(&home);
    let base = home.base();
    let daemon = home.daemon().await;
    let id = daemon.start(&daemon.definition(CONFLICT)).await.id.to_string();
    let conflict = daemon.asked(&id).await;
    assert_eq!(conflict.intervention.task.as_ref().unwrap().as_str(), "pages.1");
    let browser = signed_in(&daemon).await;
    browser.visit(&at(&id)).await;
    browser.sees("Cannot be landed").await;
    browser.sees("docs/cart.md").await;
    browser.visit(&format!("{}?tab=trees", at(&id))).await;
    browser.sees("Both changed").await;

    // Somebody merges the branch of the run in the tree of the task, as the card says.
    let trees = daemon.client.trees(Some(&id), &TreesQuery::default()).await.unwrap().trees;
    let find = |name: &str| trees.iter().find(|tree| tree.tree.as_str() == name).unwrap();
    let (task, run) = (find("pages.1"), find("@run"));
    let path = Path::new(&task.path);
    let merged = std::process::Command::new("git")
        .args(["-c", "user.name=Mira", "-c", "user.email=mira@example.invalid"])
        .args(["merge", "--quiet", &run.branch])
        .current_dir(path)
        .output()
        .unwrap();
    assert!(!merged.status.success(), "they conflict");
    std::fs::write(path.join("docs/cart.md"), "What a cart is, and how it works\n").unwrap();
    git(path, &["add", "docs/cart.md"]);
    git(path, &["commit", "--quiet", "--no-edit"]);
    browser.visit(&at(&id)).await;
    browser.press("Retry").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert_eq!(
        shown(&base, &format!("{}:docs/cart.md", run.branch)),
        "What a cart is, and how it works"
    );

    // The person's own work is in the way of landing, and stays as it is.
    std::fs::create_dir(base.join("docs")).unwrap();
    std::fs::write(base.join("docs/gifts.md"), "my own notes\n").unwrap();
    std::fs::write(base.join("README.md"), "# Shop, in the works\n").unwrap();
    let before = (git(&base, &["status", "--porcelain"]), git(&base, &["rev-parse", "main"]));
    lands(&browser, &id, "@run").await;
    browser.sees("main is checked out with changes that are not committed.").await;
    let disabled = "return document.querySelector('dialog [type=submit]').disabled";
    assert_eq!(browser.js(disabled, json!([])).await, true);
    assert_eq!(
        (git(&base, &["status", "--porcelain"]), git(&base, &["rev-parse", "main"])),
        before
    );
    // Another branch can have it.
    git(&base, &["branch", "pages"]);
    browser.fill("dialog .field input", "pages").await;
    browser.js("document.querySelector('dialog .field input').dispatchEvent(new Event('change', { bubbles: true }))", json!([])).await;
    browser.sees("can be landed on pages without a conflict").await;
    browser.click("dialog [type=submit]").await;
    browser.sees("Landed: pages is at").await;
    assert_eq!(shown(&base, "pages:docs/gifts.md"), "Gift cards");
    assert_eq!(
        (git(&base, &["status", "--porcelain"]), git(&base, &["rev-parse", "main"])),
        before
    );
    assert_eq!(browser.complaints().await, [""; 0]);
}
