//! What the page costs, measured by `cargo xtask bench page`: how much is fetched, how soon it
//! answers with a hundred agents alive, and what it keeps while fifty of them talk. Writes its
//! section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench page                      measure and write docs/benchmarks.md
//! cargo xtask bench page -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench page -- --quick           a short look, printed only
//! ```

#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

mod opening;
mod report;
mod staying;

use std::time::Duration;

use coven_testkit::bench::arguments;
use serde_json::json;

use super::{home_with, signed_in};
use crate::support::{Daemon, until};

/// How much to measure.
struct Plan {
    /// Sessions, and agents in each, that are alive when the page is opened.
    sessions: usize,
    agents: usize,
    /// How often it is opened.
    rounds: usize,
    chatty: usize,
    /// For how long they do, and after how long each look is taken, counted in `step`.
    step: Duration,
    looks: &'static [u32],
}

const FULL: Plan = Plan {
    sessions: 20,
    agents: 5,
    rounds: 9,
    chatty: 50,
    step: Duration::from_mins(1),
    looks: &[1, 2, 5, 10],
};

const QUICK: Plan = Plan {
    sessions: 4,
    agents: 5,
    rounds: 3,
    chatty: 10,
    step: Duration::from_secs(15),
    looks: &[1, 2],
};

#[tokio::test]
#[ignore = "measures; `cargo xtask bench page` runs it"]
async fn the_page() {
    let wanted = std::env::var("COVEN_BENCH").unwrap_or_default();
    let wanted = wanted.split_whitespace().map(str::to_owned);
    let arguments = arguments::parse(env!("CARGO_MANIFEST_DIR"), None, wanted).unwrap();
    let plan = if arguments.quick { QUICK } else { FULL };
    let (size, few, many) = opened(&plan).await;
    let looks = stayed(&plan).await;
    let section = report::section(&plan, &size, &few, &many, &looks);
    println!("{section}");
    arguments.publish(&section).unwrap();
}

async fn opened(plan: &Plan) -> (opening::Size, opening::Times, opening::Times) {
    let home = home_with("maxAgents: 256\n");
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    working(&daemon, "think 100000", 1).await;
    eprintln!("opening with one agent");
    let few = opening::times(&browser, 1, plan.rounds).await;
    eprintln!("opening with {} agents", plan.sessions * plan.agents);
    for session in 0..plan.sessions {
        // One is there already.
        let count = if session == 0 { plan.agents - 1 } else { plan.agents };
        working(&daemon, "think 100000", count).await;
    }
    let many = opening::times(&browser, plan.sessions * plan.agents, plan.rounds).await;
    eprintln!("size");
    let size = opening::size(&browser).await;
    (size, few, many)
}

async fn stayed(plan: &Plan) -> Vec<staying::Look> {
    let home = home_with("maxAgents: 256\n");
    let daemon = home.daemon().await;
    eprintln!("starting {} agents that talk", plan.chatty);
    let talk =
        "repeat 100000; say Another thought about the header of the third segment.; think 0.4";
    let id = working(&daemon, talk, plan.chatty).await;
    let browser = signed_in(&daemon).await;
    staying::looks(&browser, &id, plan).await
}

/// A session with so many agents, all of them alive.
async fn working(daemon: &Daemon<'_>, prompt: &str, count: usize) -> String {
    let tasks: Vec<_> = (1..=count)
        .map(|number| json!({"id": format!("agent-{number}"), "adapter": "demo", "prompt": prompt}))
        .collect();
    let id = daemon.stage(&tasks).await.id.to_string();
    until("all are alive", || async {
        let workflow = daemon.client.workflow(&id).await.unwrap();
        (workflow.tasks.iter().filter(|task| task.live).count() == count).then_some(())
    })
    .await;
    id
}
