//! Starting from the page: one agent, a file with a definition, what a folder brings along.

use coven_api::system::{SetTrust, TrustQuery};
use coven_model::WorkflowStatus;
use serde_json::json;

use super::{ASKING, opened, screen, signed_in};
use crate::support::{Home, until};

const OWN: &str = "name: own\ndescription: Comes with the project.\nsteps:\n  - {name: a, type: script, command: 'touch ran'}\n";

#[tokio::test]
async fn one_agent_is_started_and_talked_to() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    browser.press("New run").await;
    browser.press("One agent").await;
    browser.fill("input[list=base-dirs]", &home.base().display().to_string()).await;
    browser
        .waits("the demo agent is offered", "document.querySelector('option[value=demo]')")
        .await;
    let choose = "const one = document.querySelector('option[value=demo]').closest('select');
        one.value = 'demo'; one.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.js(choose, json!([])).await;
    browser.fill(".new-run-form textarea", "say I was started on the page.").await;
    browser.press("Start run").await;
    let id = opened(&browser).await;
    let workflow = daemon.see(&id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    assert_eq!(workflow.item.base_dir, home.base().display().to_string());
    let task = workflow.tasks[0].id.to_string();
    browser.click(".tile-head").await;
    browser.sees("You have the keyboard").await;
    until("it said so", || async {
        let shown = screen(&daemon, &id, &task).await?;
        shown.lines.iter().any(|line| line.contains("started on the page")).then_some(())
    })
    .await;
    browser.fill(".message textarea", "say A second thing.").await;
    browser.press("Send").await;
    until("it heard more", || async {
        let shown = screen(&daemon, &id, &task).await?;
        shown.lines.iter().any(|line| line.contains("A second thing.")).then_some(())
    })
    .await;
    browser.press("Finish").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn a_definition_is_taken_from_a_file() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let file = home.path().join("asking.yaml");
    std::fs::write(&file, ASKING).unwrap();
    let browser = signed_in(&daemon).await;
    browser.visit("#/new").await;
    browser.press("Definition").await;
    browser.fill("input[list=base-dirs]", &home.base().display().to_string()).await;
    browser.upload("input[type=file]", &file).await;
    browser
        .waits(
            "the file is in the editor",
            "document.querySelector('.editor textarea').value.startsWith('name: asking')",
        )
        .await;
    browser.sees("No errors found").await;
    browser.waits("its inputs are asked for", "document.querySelector('#input-file')").await;
    browser
        .waits("its plan is drawn", "document.querySelector('.preview [data-step=build]')")
        .await;
    browser.fill("#input-file", "uploaded.txt").await;
    browser.press("Start run").await;
    let id = opened(&browser).await;
    browser.click(".card [data-choice=approve]").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("uploaded.txt").exists());
}

#[tokio::test]
async fn what_a_folder_brings_along_runs_once_somebody_has_looked_at_it() {
    let home = Home::new();
    let own = home.base().join(".coven/grimoires/own.yaml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, OWN).unwrap();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    browser.visit("#/new").await;
    browser.fill("input[list=base-dirs]", &home.base().display().to_string()).await;
    browser.click("input[type=radio][value=own]").await;
    browser.sees("This folder is not trusted").await;
    browser.sees(".coven/grimoires/own.yaml").await;
    browser
        .waits("it cannot be started", "document.querySelector('.form-end button').disabled")
        .await;
    // A browser cannot agree; it says how, and sees when it was done.
    browser.sees(&format!("coven trust {}", home.base().display())).await;
    browser.press("I have agreed").await;
    browser.sees("This folder is not trusted").await;
    let base_dir = home.base().display().to_string();
    let query = TrustQuery { base_dir: Some(base_dir.clone()), contents: false };
    let digest = daemon.client.trust(&query).await.unwrap().digest;
    let agree = SetTrust { base_dir, trusted: true, digest, owners: None };
    daemon.client.set_trust(&agree).await.unwrap();
    browser.press("I have agreed").await;
    browser.sees_no("This folder is not trusted").await;
    browser.press("Start run").await;
    let id = opened(&browser).await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("ran").exists() && !home.base().join("evil").exists());
}
