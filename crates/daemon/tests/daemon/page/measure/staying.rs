//! Staying on the page: what it keeps in memory while agents talk and its user goes from one view
//! to the next.

use std::time::{Duration, Instant};

use serde_json::json;

use super::super::at;
use super::super::browser::Browser;
use super::Plan;

/// What the page keeps at one moment.
pub(super) struct Look {
    pub(super) after: Duration,
    /// Bytes of the JavaScript heap that are in use once everything unused was thrown away.
    pub(super) heap: u64,
    /// Elements and texts, also those that only a script still knows.
    pub(super) nodes: u64,
    pub(super) listeners: u64,
    /// Bytes that the page's process has for itself.
    pub(super) process: u64,
}

/// Walks through the page for as long as the plan says, and looks at what it keeps.
pub(super) async fn looks(browser: &Browser, id: &str, plan: &Plan) -> Vec<Look> {
    browser.own("Performance.enable", json!({})).await;
    let grid = at(id);
    let began = Instant::now();
    let mut looks = Vec::new();
    for step in 1..=*plan.looks.last().unwrap() {
        let end = plan.step * step;
        tour(browser, id, plan).await;
        browser.visit(&grid).await;
        browser
            .waits("the terminals live", "document.querySelectorAll('.tile .xterm').length >= 4")
            .await;
        // The rest of the time it stays where the most is going on.
        let left = end.saturating_sub(began.elapsed()).as_millis();
        browser.js_later(&format!("await new Promise((done) => setTimeout(done, {left}))")).await;
        if plan.looks.contains(&step) {
            let look = look(browser, began.elapsed()).await;
            eprintln!("after {:?}: {} KiB", look.after, look.heap / 1024);
            looks.push(look);
        }
    }
    looks
}

/// To every part of the page, and some terminals.
async fn tour(browser: &Browser, id: &str, plan: &Plan) {
    for agent in [1, 2, plan.chatty] {
        browser.visit(&format!("{}/agent-{agent}", at(id))).await;
        browser.sees("You have the keyboard").await;
    }
    browser.visit(&format!("{}/agent-3?tab=output", at(id))).await;
    browser.waits("its output", "document.querySelector('.output-text')").await;
    browser.visit(&format!("{}?tab=timeline", at(id))).await;
    browser.waits("its facts", "document.querySelector('.timeline li')").await;
    browser.visit("#/adapters").await;
    browser.waits("the adapters", "document.querySelector('.adapter')").await;
    browser.visit("#/").await;
    browser.waits("the overview", "document.querySelector('.overview')").await;
}

async fn look(browser: &Browser, after: Duration) -> Look {
    // What the first collection lets go may have held more.
    for _ in 0..3 {
        browser.own("HeapProfiler.collectGarbage", json!({})).await;
    }
    let told = browser.own("Performance.getMetrics", json!({})).await;
    let metric = |name: &str| {
        let all = told["metrics"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name).unwrap();
        found["value"].as_f64().unwrap() as u64
    };
    Look {
        after,
        heap: metric("JSHeapUsedSize"),
        nodes: metric("Nodes"),
        listeners: metric("JSEventListeners"),
        process: browser.memory(),
    }
}
