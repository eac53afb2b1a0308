//! What waits for a person: nothing is decided unseen, twice, or without saying what it means.

use coven_api::intervention::{DecideRequest, InterventionItem};
use coven_model::{InterventionChoice, WorkflowStatus};
use serde_json::json;

use super::{ASKING, Browser, signed_in};
use crate::support::{Daemon, Home};

async fn asking(daemon: &Daemon<'_>, name: &str) -> (String, InterventionItem) {
    let text = ASKING.replace("name: asking", &format!("name: {name}"));
    let id = daemon.start(&daemon.definition(&text)).await.id.to_string();
    let item = daemon.asked(&id).await;
    (id, item)
}

async fn decide(daemon: &Daemon<'_>, item: &InterventionItem, decision: InterventionChoice) {
    let digest = item.intervention.digest.clone();
    let wish = DecideRequest::new(decision, digest);
    daemon.client.decide(&item.intervention.id, &wish).await.unwrap();
}

async fn unlocked(browser: &Browser) {
    browser
        .waits(
            "it can be decided",
            "document.querySelector('.card') && !document.querySelector('.card-actions.locked')",
        )
        .await;
}

/// Counts what the page sends to decide something.
const COUNTING: &str = "window.decisions = [];
    window.honest = window.fetch;
    window.fetch = async (path, wishes) => {
        if (String(path).startsWith('/interventions/')) {
            window.decisions.push(JSON.parse(wishes.body).decision);
            if (window.hold) await window.hold;
        }
        return window.honest(path, wishes);
    };";

#[tokio::test]
async fn a_card_that_takes_the_place_of_another_cannot_be_decided_at_once() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (_, item) = asking(&daemon, "first").await;
    let (second, _) = asking(&daemon, "second").await;
    let browser = signed_in(&daemon).await;
    browser.waits("both are there", "document.querySelectorAll('.card').length === 2").await;
    unlocked(&browser).await;
    browser.js(COUNTING, json!([])).await;
    // Whatever comes into the place of the first is pressed and clicked in the very moment it does,
    // and in every frame for half a second, which is less than it is locked for.
    let hasty = "const queue = document.querySelector('.attention');
        queue.focus();
        let begun;
        const press = () => {
            const cards = queue.querySelectorAll('.card');
            if (cards.length !== 1) return;
            begun ??= performance.now();
            if (performance.now() - begun > 500) { watch.disconnect(); window.calm = true; return; }
            window.pressed = (window.pressed ?? 0) + 1;
            queue.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
            cards[0].querySelector('[data-choice=approve]').click();
            requestAnimationFrame(press);
        };
        const watch = new MutationObserver(press);
        watch.observe(queue, { childList: true, subtree: true });";
    browser.js(hasty, json!([])).await;
    decide(&daemon, &item, InterventionChoice::Deny).await;
    browser.waits("nobody is hasty any more", "window.calm").await;
    let pressed = browser.js("return window.pressed", json!([])).await;
    assert!(pressed.as_u64().unwrap() > 0, "{pressed}");
    assert_eq!(browser.js("return window.decisions", json!([])).await, json!([]));
    assert_eq!(daemon.client.workflow(&second).await.unwrap().interventions.len(), 1);
    unlocked(&browser).await;
    browser.types("a").await;
    browser.sees("Nothing needs you").await;
    assert_eq!(browser.js("return window.decisions", json!([])).await, json!(["approve"]));
    daemon.ends(&second, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn an_answer_that_somebody_else_gave_first_is_told_and_not_given_twice() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, item) = asking(&daemon, "raced").await;
    let browser = signed_in(&daemon).await;
    unlocked(&browser).await;
    browser.js(COUNTING, json!([])).await;
    // The page's answer is on its way while another client decides.
    browser.js("window.hold = new Promise((go) => { window.go = go; })", json!([])).await;
    browser.click(".card [data-choice=deny]").await;
    browser.waits("it is on its way", "window.decisions.length === 1").await;
    decide(&daemon, &item, InterventionChoice::Approve).await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    browser.js("window.go()", json!([])).await;
    browser.sees("Nothing was sent").await;
    browser.sees("Nothing needs you").await;
    let workflow = daemon.client.workflow(&id).await.unwrap();
    assert_eq!(workflow.item.status, WorkflowStatus::Completed);
    assert!(home.base().join("out.txt").exists());
}

#[tokio::test]
async fn always_shows_its_rule_before_it_can_be_made() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let (id, item) = asking(&daemon, "always").await;
    let browser = signed_in(&daemon).await;
    unlocked(&browser).await;
    browser.js(COUNTING, json!([])).await;
    let rule = item.always.unwrap();
    assert!(rule.contains("command: 'echo hello > \"out\\.txt\"'"), "{rule}");
    // Pressed at once, as a double click is, it makes nothing.
    let hasty = "document.querySelector('[data-choice=approve-always]').click();
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            document.querySelector('[data-rule=make]').click();
            done(document.querySelector('.always .rule').innerText);
        })));";
    let shown = browser.js(hasty, json!([])).await;
    assert_eq!(shown.as_str().unwrap().trim(), rule.trim());
    assert_eq!(browser.js("return window.decisions", json!([])).await, json!([]));
    browser
        .waits(
            "the rule is made",
            "(document.querySelector('[data-rule=make]')?.click(), window.decisions.length > 0)",
        )
        .await;
    assert_eq!(browser.js("return window.decisions", json!([])).await, json!(["approve-always"]));
    daemon.ends(&id, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn a_long_command_is_approved_only_when_its_end_was_in_view() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    // As on a small screen, where only a part of it is in view.
    let small = "const style = document.createElement('style');
        style.textContent = '.excerpt { max-height: 40px !important; }';
        document.head.append(style);";
    browser.js(small, json!([])).await;
    let (id, item) = asking(&daemon, "long").await;
    assert!(!item.intervention.truncated && item.always.is_some(), "{item:?}");
    browser.waits("it is there", "document.querySelector('.card .excerpt')").await;
    let small = "const box = document.querySelector('.card .excerpt');
        return [box.scrollHeight > box.clientHeight + 2, box.scrollTop];";
    assert_eq!(browser.js(small, json!([])).await, json!([true, 0]));
    unlocked(&browser).await;
    browser.js(COUNTING, json!([])).await;
    browser.sees("Scroll to the end of it before you approve.").await;
    let press = "const queue = document.querySelector('.attention');
        queue.focus();
        for (const key of ['a', 'A', 'y'])
            queue.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        for (const choice of ['approve', 'approve-always'])
            document.querySelector(`[data-choice=${choice}]`).click();
        return [document.querySelector('[data-choice=approve]').disabled,
            document.querySelector('.always') !== null, window.decisions.length];";
    assert_eq!(browser.js(press, json!([])).await, json!([true, false, 0]));
    browser.js("document.querySelector('.card .excerpt').scrollTop = 100000", json!([])).await;
    browser
        .waits("it can be approved", "!document.querySelector('[data-choice=approve]').disabled")
        .await;
    browser.click(".card [data-choice=approve]").await;
    browser.waits("it is approved", "window.decisions.length === 1").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn who_wants_it_is_notified_of_what_comes_while_the_page_is_out_of_sight() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    browser.allow("notifications").await;
    let recording = "window.notes = [];
        window.Notification = class extends window.Notification {
            constructor(title, more) { super(title, more); window.notes.push(`${title}: ${more.body}`); }
        };
        window.sight = (hidden) => {
            Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        };";
    browser.js(recording, json!([])).await;
    browser.click(".notify").await;
    browser.waits("they are on", "document.querySelector('.notify[aria-pressed=true]')").await;
    // What comes in sight is not told twice.
    let (_, seen) = asking(&daemon, "seen").await;
    browser.waits("it is there", "document.querySelectorAll('.card').length === 1").await;
    browser.js("window.sight(true)", json!([])).await;
    let (_, unseen) = asking(&daemon, "unseen").await;
    browser.waits("it is told", "window.notes.length > 0").await;
    let notes = browser.js("return window.notes", json!([])).await;
    assert_eq!(notes, json!([format!("build: Asks for approval: {}", unseen.intervention.reason)]));
    browser.js("window.sight(false)", json!([])).await;
    browser.click(".notify").await;
    browser.waits("they are off", "document.querySelector('.notify[aria-pressed=false]')").await;
    browser.js("window.sight(true)", json!([])).await;
    for item in [&seen, &unseen] {
        decide(&daemon, item, InterventionChoice::Deny).await;
    }
    asking(&daemon, "quiet").await;
    browser.waits("it is there", "document.title === '(1) Coven'").await;
    let notes = browser.js("return window.notes.length", json!([])).await;
    assert_eq!(notes, 1);
}
