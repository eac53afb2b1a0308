//! Pictures of the page, made by `cargo xtask screenshots`: each scene, in three sizes, dark and
//! light. Not a test of anything: people look at them.

use std::path::PathBuf;

use serde_json::json;

use super::landing::{lands, one_agent, repository};
use super::{at, home_with_port, signed_in};
use crate::support::{Daemon, Home, until};

const SIZES: [(u32, u32); 3] = [(1440, 900), (768, 1024), (390, 844)];

/// Where the pictures go.
fn folder() -> PathBuf {
    let folder = std::env::var_os("COVEN_SCREENSHOTS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/screenshots")),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

async fn shoot(browser: &super::Browser, scene: &str) {
    for (width, height) in SIZES {
        browser.resize(width, height).await;
        for scheme in ["dark", "light"] {
            browser.prefers(scheme).await;
            browser.js_later("await new Promise((done) => setTimeout(done, 900))").await;
            browser.screenshot(&folder().join(format!("{scene}-{width}-{scheme}.png"))).await;
        }
    }
    browser.resize(1440, 900).await;
}

/// A run with a plan, a fan-out at work, and more to come.
const FEATURE: &str = "
name: implement-feature
description: From a spec to a reviewed change.
steps:
  - name: plan
    type: agent
    adapter: demo
    mode: headless
    prompt: |
      say I split the work into four tasks.
      cost 0.42
      json [\"Parse the header\", \"Write the index\", \"Compact old segments\", \"Tell about gaps\"]
    expect: json
    output: tasks
  - name: build
    type: parallel-agents
    for_each: ${tasks}
    adapter: demo
    mode: interactive
    permissions: ask
    max_concurrent: 4
    prompt: |
      say I start with ${item}.
      think WAIT
      approve cargo test --package store
      say Done with ${item}.
    output: built
  - name: review
    type: agent-loop
    adapter: demo
    prompt: say I look at the change again.
    arbiter: {prompt: Is any finding actionable?}
    max_iterations: 3
  - {name: tests, type: gate, command: cargo test, message: The tests must pass before the pull request.}
  - {name: stat, type: script, command: git diff --stat}
";

async fn run(daemon: &Daemon<'_>, goal: &str, text: &str) -> String {
    let mut start = daemon.definition(text);
    start.goal = Some(goal.to_owned());
    daemon.start(&start).await.id.to_string()
}

async fn over(daemon: &Daemon<'_>, goal: &str, command: &str) {
    let text = format!(
        "name: prepare-pr\ndescription: x\nsteps:\n  - {{name: diff, type: script, command: '{command}'}}\n"
    );
    let id = run(daemon, goal, &text).await;
    daemon.see(&id, |workflow| workflow.item.status.is_final()).await;
}

#[tokio::test]
#[ignore = "makes pictures; `cargo xtask screenshots` runs it"]
async fn pictures_of_the_page() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    shoot(&browser, "empty").await;

    over(&daemon, "Prepare the pull request for the index", "echo 3 files changed").await;
    over(&daemon, "Look for dead links in the docs", "cat no-such-file").await;
    over(&daemon, "Count the lines", "wc -l /etc/hostname").await;
    let busy = run(
        &daemon,
        "Implement the segment index from docs/spec.md",
        &FEATURE.replace("WAIT", "100000"),
    )
    .await;
    daemon.see(&busy, |workflow| workflow.tasks.iter().filter(|task| task.live).count() == 4).await;
    browser.visit(&at(&busy)).await;
    browser.waits("terminals", "document.querySelectorAll('.tile .xterm').length >= 4").await;
    shoot(&browser, "busy").await;
    browser.visit("#/").await;
    shoot(&browser, "overview").await;

    let asking = run(
        &daemon,
        "Compact old segments without stopping writers",
        &FEATURE.replace("WAIT", "0.2"),
    )
    .await;
    until("all four ask", || async {
        let workflow = daemon.client.workflow(&asking).await.unwrap();
        (workflow.interventions.len() == 4).then_some(())
    })
    .await;
    run(&daemon, "Release 0.2", "name: release\ndescription: x\nsteps:\n  - {name: signed, type: gate, command: 'echo signature is missing; exit 1', message: The tag must be signed.}\n").await;
    browser.waits("five wait", "document.title.startsWith('(5)')").await;
    shoot(&browser, "attention").await;
    browser.visit(&format!("{}/build.1", at(&asking))).await;
    browser.sees("You have the keyboard").await;
    shoot(&browser, "terminal").await;
    browser.visit(&format!("{}?tab=timeline", at(&asking))).await;
    shoot(&browser, "timeline").await;
    browser.visit("#/new").await;
    shoot(&browser, "new").await;
    browser.visit("#/grimoires/demo").await;
    shoot(&browser, "grimoires").await;
    browser.visit("#/adapters").await;
    shoot(&browser, "adapters").await;
    browser.visit(&at(&busy)).await;
    browser.js("document.querySelector('#sessions-button').click()", json!([])).await;
    shoot(&browser, "sessions").await;

    daemon.kill();
    browser.sees("The daemon does not answer").await;
    browser.visit("#/").await;
    shoot(&browser, "error").await;
    let daemon = home.daemon().await;
    for id in [busy, asking] {
        daemon.client.cancel(&id, &coven_api::workflow::ActionRequest::default()).await.ok();
    }
}

#[tokio::test]
#[ignore = "makes pictures; `cargo xtask screenshots` runs it"]
async fn pictures_of_signing_in() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let address = daemon.address().await;
    let browser = super::Browser::open(1440, 900).await;
    browser.go(&format!("http://{address}/")).await;
    browser.sees("Sign in to Coven").await;
    shoot(&browser, "sign-in").await;
    browser.visit(&format!("#code={}.{}", "A".repeat(43), "A".repeat(22))).await;
    browser.waits("it is told", "document.querySelector('.wrong')").await;
    shoot(&browser, "sign-in-wrong").await;
    super::sign_in(&browser, &daemon).await;
    let name = daemon.client.devices().await.unwrap().devices[0].name.clone();
    daemon.client.remove_device(&name).await.unwrap();
    browser.sees("was removed").await;
    shoot(&browser, "sign-in-removed").await;
    super::sign_in(&browser, &daemon).await;
    daemon.kill();
    // A daemon of another home answers on the port.
    let other = super::home_with(&format!("port: {}\n", address.port()));
    let _stranger = other.daemon().await;
    browser.sees("This is not your daemon").await;
    shoot(&browser, "not-the-daemon").await;
}

/// What the shop has before the agent of the picture works on it, and what it makes of that.
const ORDER: &str = "\
import { Cart } from './cart';

export interface Order {
  id: string;
  lines: Line[];
  total: number;
}

/** Makes an order of what is in a cart. */
export function place(cart: Cart): Order {
  const lines = cart.lines.map((line) => ({ ...line }));
  const total = lines.reduce((sum, line) => sum + line.price * line.count, 0);
  return { id: crypto.randomUUID(), lines, total };
}
";
const ORDER_WITH_CARDS: &str = "\
import { Cart } from './cart';
import { GiftCard, spend } from './gifts';

export interface Order {
  id: string;
  lines: Line[];
  total: number;
  paidByCard: number;
}

/** Makes an order of what is in a cart. A gift card pays as much of it as is left on the card. */
export function place(cart: Cart, card?: GiftCard): Order {
  const lines = cart.lines.map((line) => ({ ...line }));
  const total = lines.reduce((sum, line) => sum + line.price * line.count, 0);
  const paidByCard = card ? spend(card, total) : 0;
  return { id: crypto.randomUUID(), lines, total, paidByCard };
}
";
const GIFTS: &str = "\
/** A card that was bought before, in cents. */
export interface GiftCard {
  code: string;
  left: number;
}

/** Takes up to so much from a card, and says how much it was. */
export function spend(card: GiftCard, wanted: number): number {
  const taken = Math.min(card.left, wanted);
  card.left -= taken;
  return taken;
}
";

/// What a review and its landing look like, of an agent's real work in a real tree.
#[tokio::test]
#[ignore = "makes pictures; `cargo xtask screenshots` runs it"]
async fn pictures_of_a_review() {
    let home = Home::new();
    let base = home.base();
    std::fs::create_dir(base.join("src")).unwrap();
    std::fs::write(base.join("src/order.ts"), ORDER).unwrap();
    repository(&home);
    let work = home.path().join("work/src");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("order.ts"), ORDER_WITH_CARDS).unwrap();
    std::fs::write(work.join("gifts.ts"), GIFTS).unwrap();
    let daemon = home.daemon().await;
    let prompt =
        format!("say An order can be paid with a gift card.\napprove cp {}/* src/", work.display());
    let id = one_agent(&daemon, &prompt).await;
    let task = daemon.client.workflow(&id).await.unwrap().tasks[0].id.to_string();
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/{task}?tab=changes", at(&id))).await;
    browser.waits("the lines are there", "document.querySelector('.diff-grid [data-cell]')").await;
    browser.js("document.querySelector('.changes').focus()", json!([])).await;
    browser.types("c").await;
    browser.waits("a form", "document.activeElement.matches('.comment-form textarea')").await;
    browser.types("A card that expired must not pay.").await;
    browser.chord(super::browser::key::CONTROL, super::browser::key::ENTER).await;
    browser.waits("it is kept", "document.querySelector('.draft-comment')").await;
    shoot(&browser, "review").await;
    daemon.client.complete(&id, &task).await.unwrap();
    daemon.ends(&id, coven_model::WorkflowStatus::Completed).await;
    lands(&browser, &id, "@run").await;
    browser.sees("can be landed on").await;
    shoot(&browser, "landing").await;
}
