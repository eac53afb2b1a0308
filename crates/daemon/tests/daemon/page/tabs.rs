//! Many tabs of one browser: they share one stream, because a browser opens six connections to one
//! host for all of them together.

use coven_model::WorkflowStatus;
use serde_json::json;

use super::browser::Browser;
use super::{ASKING, home_with_port, sign_in};
use crate::support::{Daemon, Home, until};

const TABS: usize = 8;

/// As many tabs, each signed in; the last one is in front.
async fn tabs(browser: &Browser, daemon: &Daemon<'_>) -> Vec<String> {
    let mut tabs = vec![browser.this_tab().await];
    sign_in(browser, daemon).await;
    while tabs.len() < TABS {
        tabs.push(browser.tab().await);
        sign_in(browser, daemon).await;
    }
    tabs
}

/// Waits until each of these tabs has this title.
async fn titled(browser: &Browser, tabs: &[String], title: &str) {
    for tab in tabs {
        browser.turn_to(tab).await;
        browser.waits(title, &format!("document.title === {title:?}")).await;
    }
}

#[tokio::test]
async fn the_eighth_tab_works_like_the_first_and_all_of_them_hear_what_happens() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = Browser::open(1440, 900).await;
    let tabs = tabs(&browser, &daemon).await;
    let (front, others) = tabs.split_last().unwrap();
    let id = daemon.start(&daemon.definition(ASKING)).await.id.to_string();
    daemon.asked(&id).await;
    titled(&browser, &tabs, "(1) Coven").await;
    browser.turn_to(front).await;
    browser.click(".card [data-choice=approve]").await;
    browser.sees("Nothing needs you").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    titled(&browser, &tabs, "Coven").await;

    // The tab that had the stream is closed; another takes it.
    browser.turn_to(front).await;
    browser.close_tab().await;
    let id = daemon.start(&daemon.definition(ASKING)).await.id.to_string();
    daemon.asked(&id).await;
    titled(&browser, others, "(1) Coven").await;
    browser.turn_to(&tabs[0]).await;
    browser.own("Page.bringToFront", json!({})).await;
    browser.click(".card [data-choice=approve]").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    titled(&browser, others, "Coven").await;
}

#[tokio::test]
async fn every_tab_goes_on_by_itself_after_the_daemon_was_killed() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let browser = Browser::open(1440, 900).await;
    let mut tabs = vec![browser.this_tab().await];
    sign_in(&browser, &daemon).await;
    for _ in 0..2 {
        tabs.push(browser.tab().await);
        sign_in(&browser, &daemon).await;
    }
    daemon.kill();
    for tab in &tabs {
        browser.turn_to(tab).await;
        browser.sees("The daemon does not answer").await;
    }
    let daemon = home.daemon().await;
    let id = daemon.start(&daemon.definition(ASKING)).await.id.to_string();
    daemon.asked(&id).await;
    for tab in &tabs {
        browser.turn_to(tab).await;
        browser.sees_no("The daemon does not answer").await;
        browser.waits("it counts", "document.title === '(1) Coven'").await;
        browser.waits("one card", "document.querySelectorAll('.card').length === 1").await;
    }
    daemon.client.cancel(&id, &coven_api::workflow::ActionRequest::default()).await.unwrap();
    until("it is over", || async {
        let workflow = daemon.client.workflow(&id).await.unwrap();
        workflow.item.status.is_final().then_some(())
    })
    .await;
}
