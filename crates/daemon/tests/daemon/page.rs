//! The page in a real browser, against the real daemon and demo agents.

mod access;
mod agent_comments;
mod attention;
mod browser;
mod changes;
mod impostor;
mod journeys;
mod landing;
mod measure;
mod recovery;
mod screenshots;
mod sessions;
mod starting;
mod tabs;
mod terminals;

use coven_api::task::{AttemptQuery, TaskScreen};
use serde_json::json;

pub(crate) use self::browser::Browser;
use crate::support::{Daemon, Home};

/// Asks once before it runs a command.
const ASKING: &str = "name: asking
description: One agent that asks.
inputs:
  file: {description: What it writes, default: out.txt}
steps:
  - name: build
    type: agent
    adapter: demo
    mode: interactive
    permissions: ask
    prompt: |
      say I would like to write a file.
      approve echo hello > \"${input.file}\"
      say Thank you.
";

/// The run a page has just opened.
async fn opened(browser: &Browser) -> String {
    browser.waits("a session is open", "location.hash.startsWith('#/session/')").await;
    let hash = browser.js("return location.hash", json!([])).await;
    hash.as_str().unwrap().split('/').nth(2).unwrap().to_owned()
}

/// A home whose daemon keeps its port, as people set it who keep the page open, and runs many
/// agents at once.
pub(crate) fn home_with_port(agents: usize) -> Home {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    home_with(&format!("port: {free}\nmaxAgents: {agents}\n"))
}

fn home_with(config: &str) -> Home {
    let home = Home::new();
    std::fs::write(home.config().join("config.yaml"), config).unwrap();
    home
}

/// A browser that signed in with a one-time code, as `coven ui` does.
pub(crate) async fn signed_in(daemon: &Daemon<'_>) -> Browser {
    let browser = Browser::open(1440, 900).await;
    sign_in(&browser, daemon).await;
    browser
}

async fn sign_in(browser: &Browser, daemon: &Daemon<'_>) {
    let code = daemon.code().await;
    browser.go(&code.url).await;
    browser.sees("Connected").await;
}

/// What the terminal of a task shows.
async fn screen(daemon: &Daemon<'_>, id: &str, task: &str) -> Option<TaskScreen> {
    daemon.client.screen(id, task, AttemptQuery::default()).await.ok()
}

/// The address of a session on the page.
fn at(id: &str) -> String {
    format!("#/session/{id}")
}
