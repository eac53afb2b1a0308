//! Who can use the page: people with assistive technology can, clients that are not signed in
//! cannot.

use serde_json::json;

use super::browser::{Browser, key};
use super::{at, sign_in, signed_in};
use crate::support::{Daemon, Home};

/// Looks for barriers on what the page shows now.
pub(super) async fn barriers(browser: &Browser, place: &str) -> Vec<String> {
    // What is still locked or moving is grey on purpose, for less than a second.
    browser
        .waits(
            "the page has come to rest",
            "!document.querySelector('.locked') && document.getAnimations().length === 0",
        )
        .await;
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dev/axe.min.js");
    browser.js(&std::fs::read_to_string(tool).unwrap(), json!([])).await;
    let found = browser
        .js_later(
            "const result = await axe.run(document, { resultTypes: ['violations'] });
             return result.violations.map((one) => ({ impact: one.impact, id: one.id, help: one.help,
                 nodes: one.nodes.slice(0, 5).map((node) => `${node.html.slice(0, 160)}: ${node.failureSummary}`) }));",
        )
        .await;
    let found = found.as_array().unwrap_or_else(|| panic!("{found}")).clone();
    found
        .iter()
        .filter(|one| one["impact"] == "serious" || one["impact"] == "critical")
        .map(|one| format!("{place}: {} ({}) {:#}", one["id"], one["help"], one["nodes"]))
        .collect()
}

/// Something of everything: a question, a run that is over, one that failed.
async fn populated(daemon: &Daemon<'_>) -> (String, String) {
    let agents = [
        json!({"id": "asks", "adapter": "demo", "prompt": "approve echo hello", "permissions": "ask"}),
        json!({"id": "works", "adapter": "demo", "prompt": "think 600"}),
        json!({"id": "reads", "adapter": "demo", "executionMode": "headless", "prompt": "say I look first."}),
    ];
    let live = daemon.stage(&agents).await.id.to_string();
    daemon.asked(&live).await;
    let text = "name: failing\ndescription: x\nsteps:\n  - {name: look, type: script, command: cat missing.txt}\n";
    let failed = daemon.start(&daemon.definition(text)).await.id.to_string();
    daemon.see(&failed, |workflow| workflow.item.status.is_final()).await;
    (live, failed)
}

#[tokio::test]
async fn no_part_of_the_page_has_a_serious_barrier_in_dark_or_light() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = Browser::open(1440, 900).await;
    browser.go(&format!("http://{}/", daemon.address().await)).await;
    browser.sees("Sign in to Coven").await;
    let mut found = barriers(&browser, "signing in").await;
    sign_in(&browser, &daemon).await;
    found.extend(barriers(&browser, "empty").await);
    let (live, failed) = populated(&daemon).await;
    let places = [
        ("overview", "#/".to_owned(), ".card"),
        ("session", at(&live), ".tile"),
        ("terminal", format!("{}/asks", at(&live)), ".xterm"),
        ("transcript", format!("{}/reads", at(&live)), ".transcript"),
        ("output", format!("{}/reads?tab=output", at(&live)), ".output-text"),
        ("timeline", format!("{}?tab=timeline", at(&live)), ".timeline li"),
        ("variables", format!("{}?tab=variables", at(&live)), ".panel"),
        ("errors", format!("{}?tab=errors", at(&failed)), ".errors"),
        // Its button fades in once the first choice is read.
        ("new run", "#/new".to_owned(), "button.primary.large:enabled"),
        ("grimoires", "#/grimoires".to_owned(), ".editor"),
        ("adapters", "#/adapters".to_owned(), ".adapter"),
    ];
    for scheme in ["dark", "light"] {
        browser.prefers(scheme).await;
        for (name, place, there) in &places {
            browser.visit(place).await;
            browser.waits(name, &format!("document.querySelector({there:?})")).await;
            found.extend(barriers(&browser, &format!("{name}, {scheme}")).await);
        }
        browser.click("#sessions-button").await;
        found.extend(barriers(&browser, &format!("sessions, {scheme}")).await);
        browser.types(key::ESCAPE).await;
    }
    browser.resize(390, 844).await;
    browser.visit("#/").await;
    found.extend(barriers(&browser, "overview, small").await);
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[tokio::test]
async fn the_page_fits_every_width_from_a_phone_to_a_wall() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    let (live, _) = populated(&daemon).await;
    for (width, height) in [(360, 740), (768, 1024), (1440, 900), (3840, 2160)] {
        browser.resize(width, height).await;
        for place in [
            "#/".to_owned(),
            at(&live),
            format!("{}/asks", at(&live)),
            "#/new".to_owned(),
            "#/grimoires".to_owned(),
            "#/adapters".to_owned(),
        ] {
            browser.visit(&place).await;
            browser
                .waits("it is drawn", "document.querySelector('main')?.children.length > 0")
                .await;
            let over = browser.js("return document.documentElement.scrollWidth - innerWidth + Math.max(0, document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth)", json!([])).await;
            assert!(over.as_i64().unwrap() <= 0, "{place} at {width}: {over} pixels too wide");
        }
    }
}

#[tokio::test]
async fn nothing_is_asked_of_another_host_and_the_policy_is_never_broken() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    let (live, _) = populated(&daemon).await;
    for place in
        [at(&live), format!("{}/asks", at(&live)), "#/new".to_owned(), "#/adapters".to_owned()]
    {
        browser.visit(&place).await;
        browser.waits("it is drawn", "document.querySelector('main')?.children.length > 0").await;
    }
    browser.visit(&format!("{}/asks", at(&live))).await;
    browser.sees("You have the keyboard").await;
    let hosts = browser
        .js("return [...new Set(performance.getEntriesByType('resource').map((one) => new URL(one.name).host))]", json!([]))
        .await;
    assert_eq!(hosts, json!([daemon.address().await.to_string()]));
    // A terminal that is left before it is connected is no breach of the policy.
    let left = "WebSocket is closed before the connection is established";
    let mut complaints = browser.complaints().await;
    complaints.retain(|complaint| !complaint.contains(left));
    assert_eq!(complaints, [""; 0]);
    // Tokens are in no address and in no storage.
    let kept = browser
        .js(
            "return [location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)]",
            json!([]),
        )
        .await;
    assert!(!kept.to_string().contains("coven_"), "{kept}");
}

#[tokio::test]
async fn who_has_no_code_sees_how_to_get_one_and_a_used_code_is_worth_nothing() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let code = daemon.code().await;
    let browser = Browser::open(1440, 900).await;
    browser.go(&format!("http://{}/", daemon.address().await)).await;
    browser.sees("coven ui").await;
    browser.fill(".sign-in input", &code.code).await;
    browser.press("Sign in").await;
    browser.sees("Connected").await;
    let other = Browser::open(1440, 900).await;
    other.go(&code.url).await;
    other.sees("Sign in to Coven").await;
    other.waits("it is told", "document.querySelector('.wrong')").await;
}
