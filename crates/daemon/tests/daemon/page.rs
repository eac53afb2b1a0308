//! The page in a real browser, against the real daemon and demo agents.

mod access;
mod browser;
mod journeys;
mod recovery;
mod screenshots;
mod sessions;

use coven_api::task::{AttemptQuery, Screen};

use self::browser::Browser;
use crate::support::{Daemon, Home};

/// A home whose daemon keeps its port, as people set it who keep the page open, and runs many
/// agents at once.
fn home_with_port() -> Home {
    let home = Home::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(home.config().join("config.yaml"), format!("port: {free}\nmaxAgents: 16\n"))
        .unwrap();
    home
}

/// A browser that signed in with a one-time code, as `coven ui` does.
async fn signed_in(daemon: &Daemon<'_>) -> Browser {
    let browser = Browser::open(1440, 900).await;
    sign_in(&browser, daemon).await;
    browser
}

async fn sign_in(browser: &Browser, daemon: &Daemon<'_>) {
    let code = daemon.client.sign_in_code().await.unwrap();
    browser.go(&code.url).await;
    browser.sees("Connected").await;
}

/// What the terminal of a task shows.
async fn screen(daemon: &Daemon<'_>, id: &str, task: &str) -> Option<Screen> {
    daemon.client.screen(id, task, AttemptQuery::default()).await.ok()
}

/// The address of a session on the page.
fn at(id: &str) -> String {
    format!("#/session/{id}")
}
