//! What people do on the page: start a run, see it, answer it, type to it, end it.

use coven_api::workflow::OneAgent;
use coven_model::{AgentMode, WorkflowStatus};
use serde_json::json;

use super::browser::key;
use super::{ASKING, at, opened, screen, sign_in, signed_in};
use crate::support::{Daemon, Home, until};

async fn asking(daemon: &Daemon<'_>, name: &str) -> String {
    let text = ASKING.replace("name: asking", &format!("name: {name}"));
    daemon.start(&daemon.definition(&text)).await.id.to_string()
}

/// Spec: C0.6.1, C0.10.1, AD.2.1
#[tokio::test]
async fn a_run_that_is_started_on_the_page_is_seen_live_and_its_question_answered_there() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    assert!(!browser.js("return location.href", json!([])).await.to_string().contains("code"));

    browser.press("New run").await;
    browser.press("Definition").await;
    browser.fill("input[list=base-dirs]", &home.base().display().to_string()).await;
    // A mistake is shown at its place before anything is started.
    browser.fill(".editor textarea", &ASKING.replace("    type: agent", "    typo: agent")).await;
    browser.sees("typo").await;
    browser.waits("the mistake is marked", "document.querySelector('.editor mark')").await;
    browser.fill(".editor textarea", ASKING).await;
    browser.sees("No errors found").await;
    browser.fill("#input-file", "from-the-page.txt").await;
    browser.press("Start run").await;

    let id = opened(&browser).await;
    browser.sees("This run needs you").await;
    browser
        .waits(
            "the real dialog is shown",
            "document.querySelector('.excerpt')?.innerText.includes('from-the-page.txt')",
        )
        .await;
    browser.waits("the title counts", "document.title.startsWith('(1)')").await;
    let told = daemon.client.workflow(&id).await.unwrap();
    assert_eq!(told.tasks[0].status, coven_model::TaskStatus::WaitingForUser);
    browser.click(".card [data-choice=approve]").await;

    browser.sees("Completed").await;
    browser.waits("nothing waits", "document.title === 'Coven'").await;
    browser
        .waits(
            "the step is done in the plan",
            "document.querySelector('[data-step=build][data-status=completed]')",
        )
        .await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert_eq!(std::fs::read_to_string(home.base().join("from-the-page.txt")).unwrap(), "hello\n");
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_question_is_approved_and_another_denied_with_the_keyboard_alone() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (first, second) = (asking(&daemon, "first").await, asking(&daemon, "second").await);
    daemon.asked(&first).await;
    daemon.asked(&second).await;
    let browser = super::Browser::open(1440, 900).await;
    sign_in(&browser, &daemon).await;
    browser.waits("both are there", "document.querySelectorAll('.card').length === 2").await;
    let order = browser
        .js(
            "return [...document.querySelectorAll('.card')].map((card) => card.dataset.id)",
            json!([]),
        )
        .await;

    // Nothing happens while the queue does not have the keyboard.
    browser.types("a").await;
    browser
        .waits("the cards are no longer locked", "!document.querySelector('.card-actions.locked')")
        .await;
    browser.types("d").await;
    for _ in 0..60 {
        if browser
            .js("return document.activeElement.classList.contains('attention')", json!([]))
            .await
            == true
        {
            break;
        }
        browser.types(key::TAB).await;
    }
    assert_eq!(browser.js("return document.querySelectorAll('.card').length", json!([])).await, 2);
    browser.types("a").await;
    browser.waits("one is left", "document.querySelectorAll('.card').length === 1").await;
    browser.waits("it can be decided", "!document.querySelector('.card-actions.locked')").await;
    browser.types("d").await;
    browser.sees("Nothing needs you").await;

    let approved = order[0].as_str().unwrap().split('/').next().unwrap().to_owned();
    daemon.ends(&approved, WorkflowStatus::Completed).await;
    let denied = if approved == first { second } else { first };
    let decided = format!("/interventions?state=decided&workflow={denied}");
    until("the denial is told", || async {
        let text = daemon.raw("GET", &decided).send().await.unwrap().text().await.unwrap();
        text.contains("\"choice\":\"deny\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn always_says_what_it_means_and_the_agent_asks_no_more() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = ASKING.replace("say Thank you.", "approve echo hello > \"${input.file}\"");
    let id = daemon.start(&daemon.definition(&text)).await.id.to_string();
    daemon.asked(&id).await;
    let browser = signed_in(&daemon).await;
    browser
        .waits(
            "it can be decided",
            "document.querySelector('.card') && !document.querySelector('.card-actions.locked')",
        )
        .await;
    browser.js("document.querySelector('.attention').focus()", json!([])).await;
    browser.chord(key::SHIFT, "A").await;
    browser.waits("what always means is told", "document.querySelector('.always .rule')").await;
    // The button counts once the rule was there for a moment.
    browser
        .waits(
            "nothing waits",
            "(document.querySelector('[data-rule=make]')?.click(),
             document.body.innerText.includes('Nothing needs you'))",
        )
        .await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn an_answer_in_words_reaches_the_agent_that_asked() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[json!({"id": "a", "adapter": "demo", "prompt": "ask Which colour?; say Noted."})])
        .await;
    let browser = signed_in(&daemon).await;
    browser.sees("Which colour?").await;
    browser.fill(".card-answer input", "violet").await;
    browser.click(".card [data-choice=answer]").await;
    until("the agent has it", || async {
        let shown = screen(&daemon, started.id.as_str(), "a").await?;
        shown.lines.iter().any(|line| line.contains("violet")).then_some(())
    })
    .await;
    daemon
        .client
        .cancel(started.id.as_str(), &coven_api::workflow::ActionRequest::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_terminal_is_typed_into_and_the_task_finished_by_hand() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.anything();
    start.agent = Some(OneAgent {
        adapter: "demo".to_owned(),
        prompt: Some("say I am here.".to_owned()),
        mode: Some(AgentMode::Interactive),
        ..OneAgent::default()
    });
    let started = daemon.start(&start).await;
    let id = started.id.as_str();
    let task = daemon.see(id, |workflow| workflow.tasks.iter().any(|task| task.live)).await.tasks
        [0]
    .id
    .to_string();
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/{task}", at(id))).await;
    browser.sees("You have the keyboard").await;
    // The agent's terminal has the size of the page's, because the page holds the keyboard.
    until("the size arrived", || async {
        let shown = screen(&daemon, id, &task).await?;
        (shown.cols > 80).then_some(())
    })
    .await;
    browser.js("document.querySelector('.terminal-host textarea').focus()", json!([])).await;
    browser.types("say typed on the page").await;
    browser.types(key::ENTER).await;
    until("the agent answered what was typed", || async {
        let shown = screen(&daemon, id, &task).await?;
        let lines = shown.lines.iter().filter(|line| line.contains("typed on the page"));
        (lines.count() >= 2).then_some(())
    })
    .await;
    browser.sees("Ended its turn").await;
    browser.press("Finish").await;
    daemon.ends(id, WorkflowStatus::Completed).await;
    browser.sees("Completed").await;
    assert_eq!(home.running(), []);
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_gate_blocks_and_is_let_through_on_the_page() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: gated\ndescription: x\nsteps:\n  - {name: check, type: gate, command: test -f go, message: There must be a go.}\n  - {name: after, type: script, command: echo through}\n";
    let id = daemon.start(&daemon.definition(text)).await.id.to_string();
    let browser = signed_in(&daemon).await;
    browser.visit(&at(&id)).await;
    browser.sees("There must be a go.").await;
    browser
        .waits(
            "the gate stands in the way",
            "document.querySelector('[data-step=check][data-status=blocked]')",
        )
        .await;
    browser.click(".card [data-choice=retry]").await;
    browser
        .waits("it failed again", "document.querySelector('.card')?.dataset.id.endsWith('/2')")
        .await;
    std::fs::write(home.base().join("go"), "").unwrap();
    browser.click(".card [data-choice=retry]").await;
    browser.sees("Completed").await;
    browser
        .waits(
            "what follows was done",
            "document.querySelector('[data-step=after][data-status=completed]')",
        )
        .await;
}

#[tokio::test]
async fn an_answer_to_what_the_agent_no_longer_shows_is_not_given_and_that_is_said() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = asking(&daemon, "stale").await;
    daemon.asked(&id).await;
    let browser = signed_in(&daemon).await;
    // The page answers something that was shown earlier.
    let script = "window.honest = window.fetch;
        window.fetch = (path, wishes) => window.honest(path, String(path).startsWith('/interventions/')
            ? { ...wishes, body: JSON.stringify({ ...JSON.parse(wishes.body), digest: '0'.repeat(64) }) }
            : wishes);";
    browser.js(script, json!([])).await;
    browser.click(".card [data-choice=approve]").await;
    browser.sees("Nothing was sent").await;
    assert_eq!(daemon.client.workflow(&id).await.unwrap().interventions.len(), 1);
    browser.js("window.fetch = window.honest", json!([])).await;
    browser.click(".card [data-choice=approve]").await;
    browser.sees("Nothing needs you").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn what_is_decided_elsewhere_is_gone_from_the_page() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = asking(&daemon, "elsewhere").await;
    let item = daemon.asked(&id).await.intervention;
    let browser = signed_in(&daemon).await;
    browser.waits("the card is there", "document.querySelector('.card')").await;
    let decision = json!({"decision": "approve", "digest": item.digest});
    let path = format!("/interventions/{}", item.id);
    let answer = daemon.raw("POST", &path).json(&decision).send().await.unwrap();
    assert!(answer.status().is_success());
    browser.sees("Nothing needs you").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}
