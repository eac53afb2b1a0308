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

/// Spec: AD.11.2
#[tokio::test]
async fn an_adapter_is_shown_with_the_icon_it_names_and_an_unknown_one_visibly_with_the_default() {
    let home = Home::new();
    for (kind, metadata) in [
        ("sparkling", r#"{"displayName": "Sparkling", "icon": "spark"}"#),
        ("plain", r#"{"displayName": "Plain"}"#),
        ("odd", r#"{"displayName": "Odd", "icon": "no-such-icon"}"#),
    ] {
        let folder = home.config().join("adapters").join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!(
            r#"{{"schemaVersion": 1, "metadata": {metadata}, "modes": {{"headless": {{}}}}}}"#
        );
        std::fs::write(folder.join("config.json"), config).unwrap();
    }
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    browser.visit("#/adapters").await;
    browser.sees("Sparkling").await;
    let rows = "return Object.fromEntries([...document.querySelectorAll('.adapter')].map((row) => {
        const icon = row.querySelector('.adapter-icon');
        const style = getComputedStyle(icon).borderTopStyle;
        return [row.querySelector('code').innerText, [icon.dataset.icon, style, icon.title, icon.querySelector('svg').innerHTML]];
    }))";
    let rows = browser.js(rows, json!([])).await;
    for (kind, icon) in [
        ("sparkling", "spark"),
        ("plain", "agent"),
        ("claude", "claude"),
        ("codex", "codex"),
        ("shell", "terminal"),
    ] {
        assert_eq!((&rows[kind][0], &rows[kind][1]), (&json!(icon), &json!("solid")), "{kind}");
        assert_eq!(rows[kind][2], "", "{kind}");
    }
    assert_eq!((&rows["odd"][0], &rows["odd"][1]), (&json!("agent"), &json!("dashed")));
    assert!(rows["odd"][2].as_str().unwrap().contains("no-such-icon"));
    assert_eq!(rows["odd"][3], rows["plain"][3], "the default one is drawn");
    // Every built-in has a picture of its own.
    let kinds =
        ["aider", "claude", "codex", "copilot", "demo", "gemini", "opencode", "qwen", "shell"];
    let mut pictures: Vec<&str> =
        kinds.iter().map(|kind| rows[*kind][3].as_str().unwrap()).collect();
    pictures.sort_unstable();
    pictures.dedup();
    assert_eq!(pictures.len(), kinds.len());
    if let Some(folder) = std::env::var_os("COVEN_SCREENSHOTS") {
        browser.screenshot(&std::path::Path::new(&folder).join("adapter-icons.png")).await;
    }
}
