//! Terminals on the page: one keyboard for many viewers, search, copying, links.

use serde_json::json;

use super::browser::{Browser, key};
use super::{at, screen, signed_in};
use crate::support::{Daemon, Home, until};

/// An agent that has said something and waits for more.
async fn talking(daemon: &Daemon<'_>, prompt: &str) -> String {
    let task = json!({"id": "a", "adapter": "demo", "prompt": prompt});
    let id = daemon.stage(&[task]).await.id.to_string();
    daemon.see(&id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    id
}

async fn has_said(daemon: &Daemon<'_>, id: &str, text: &str) {
    until("the agent has said it", || async {
        let shown = screen(daemon, id, "a").await?;
        shown.lines.iter().any(|line| line.contains(text)).then_some(())
    })
    .await;
}

async fn columns(daemon: &Daemon<'_>, id: &str) -> u16 {
    screen(daemon, id, "a").await.unwrap().cols
}

/// Types a line into the terminal, whether or not anybody listens.
async fn types(browser: &Browser, line: &str) {
    browser.js("document.querySelector('.terminal-host textarea').focus()", json!([])).await;
    browser.types(line).await;
    browser.types(key::ENTER).await;
}

async fn copied(browser: &Browser) -> String {
    let text = browser.js_later("return await navigator.clipboard.readText()").await;
    text.as_str().unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[tokio::test]
async fn of_two_viewers_only_the_one_with_the_keyboard_types_and_sets_the_size() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = talking(&daemon, "say I am here.; ask Anything else?").await;
    let place = format!("{}/a", at(&id));
    let first = signed_in(&daemon).await;
    first.visit(&place).await;
    first.sees("You have the keyboard").await;
    until("the size of the first", || async { (columns(&daemon, &id).await > 100).then_some(()) })
        .await;
    let wide = columns(&daemon, &id).await;

    let second = signed_in(&daemon).await;
    second.resize(640, 700).await;
    second.visit(&place).await;
    second.sees("Keyboard: the page").await;
    second.sees("Take keyboard").await;
    types(&second, "unheard-before").await;
    second.resize(600, 700).await;
    types(&first, "heard-one").await;
    has_said(&daemon, &id, "heard-one").await;
    assert_eq!(columns(&daemon, &id).await, wide, "a viewer changed the size");

    second.press("Take keyboard").await;
    second.sees("You have the keyboard").await;
    first.sees("Keyboard: the page").await;
    until("the size of the second", || async {
        (columns(&daemon, &id).await < wide).then_some(())
    })
    .await;
    let narrow = columns(&daemon, &id).await;
    types(&first, "unheard-after").await;
    first.resize(1300, 900).await;
    types(&second, "say heard-two").await;
    has_said(&daemon, &id, "heard-two").await;
    let shown = screen(&daemon, &id, "a").await.unwrap();
    assert_eq!(shown.cols, narrow, "who lost the keyboard changed the size");
    assert!(!shown.lines.iter().any(|line| line.contains("unheard")), "{:?}", shown.lines);

    // Both see the same, and a viewer that leaves gives the keyboard back.
    second.press("Release").await;
    first.sees("Watching").await;
    first.press("Take keyboard").await;
    first.sees("You have the keyboard").await;
    second.sees("Keyboard: the page").await;
}

#[tokio::test]
async fn what_a_terminal_shows_is_searched_and_copied() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = talking(&daemon, "say The needle-in-the-hay is here.; ask Anything else?").await;
    has_said(&daemon, &id, "needle-in-the-hay").await;
    let browser = signed_in(&daemon).await;
    browser.allow("clipboard-read").await;
    browser.allow("clipboard-write").await;
    browser.visit(&format!("{}/a", at(&id))).await;
    browser.sees("You have the keyboard").await;

    let copy = "button[aria-label='Copy selection or screen']";
    browser.click(copy).await;
    browser.sees("Copied.").await;
    let all = copied(&browser).await;
    assert!(all.contains("needle-in-the-hay") && all.contains("Anything else?"), "{all}");

    browser.click("button[aria-label='Search in the terminal']").await;
    browser.fill(".terminal-search input", "no-such-thing").await;
    browser.types(key::ENTER).await;
    browser.sees("not found").await;
    browser.fill(".terminal-search input", "needle-in-the-hay").await;
    browser.types(key::ENTER).await;
    browser.sees_no("not found").await;
    // What was found is selected, and what is selected is copied.
    browser.click(copy).await;
    until("the selection is copied", || async {
        (copied(&browser).await == "needle-in-the-hay").then_some(())
    })
    .await;
    browser.js("document.querySelector('.terminal-search input').focus()", json!([])).await;
    browser.types(key::ESCAPE).await;
    browser.waits("the search is gone", "!document.querySelector('.terminal-search')").await;
    // The keyboard is the terminal's again, and its own keys search too.
    browser
        .waits("the terminal has the keyboard", "document.activeElement.closest('.terminal-host')")
        .await;
}

#[tokio::test]
async fn a_link_in_a_terminal_opens_a_page_of_its_own_and_nothing_but_pages() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let link = "https://example.invalid/a/page";
    let id = talking(&daemon, &format!("say Look at {link} please.; ask Anything else?")).await;
    has_said(&daemon, &id, link).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/a", at(&id))).await;
    browser.sees("You have the keyboard").await;
    browser
        .js("window.opened = []; window.open = (...all) => { window.opened.push(all); return null; }", json!([]))
        .await;
    // The agent draws anew when it gets the size of the page; click until that has come to rest.
    until("the link is opened", || async {
        let shown = screen(&daemon, &id, "a").await?;
        let row = shown.lines.iter().position(|line| line.contains(link))?;
        let column = shown.lines[row].split(link).next()?.chars().count();
        let script = "const one = document.querySelector('.terminal-host .xterm-screen').getBoundingClientRect();
            return [one.left + one.width * (arguments[0] + 4) / arguments[2], one.top + one.height * (arguments[1] + 0.5) / arguments[3]]";
        let place = browser.js(script, json!([column, row, shown.cols, shown.rows])).await;
        browser.click_at(place[0].as_f64()?, place[1].as_f64()?).await;
        let opened = browser.js("return window.opened", json!([])).await;
        (opened[0] == json!([link, "_blank", "noopener,noreferrer"])).then_some(())
    })
    .await;
}
