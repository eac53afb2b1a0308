//! From an agent's paint to an event at a client: twenty agents at once under holders, each flooding
//! its terminal and asking again and again.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coven_api::client::{EventScope, StreamedEvent};
use coven_api::intervention::DecideRequest;
use coven_model::{Intervention, InterventionChoice};
use coven_testkit::bench::asking::AGENT;
use tokio::task::JoinSet;

use crate::place::{DEADLINE, Home};
use crate::{Plan, Times};

/// How many lines are printed between two questions, at most.
const MAX_FLOOD_LINES: usize = 2000;

/// What came of all agents.
pub(crate) struct Measured {
    pub(crate) asked: usize,
    pub(crate) delays: Times,
    pub(crate) doubled: usize,
}

/// The variables of the agents.
pub(crate) fn variables(plan: &Plan) -> [(&'static str, String); 2] {
    [("QUESTIONS", plan.questions.to_string()), ("FLOOD", MAX_FLOOD_LINES.to_string())]
}

pub(crate) async fn measure(plan: &Plan) -> io::Result<Measured> {
    let home = Home::new(None, "maxAgents: 100\n")?;
    let (daemon, _) = home.daemon().await?;
    let mut events = daemon.client.events(&EventScope::Everything, None);
    events.next().await.map_err(io::Error::other)?;
    let started = daemon.paint(plan.agents, AGENT, &variables(plan)).await?;
    let (mut delays, mut doubled, mut seen) = (Vec::new(), 0, BTreeSet::new());
    let mut answers = JoinSet::new();
    let follow = async {
        while let Some(streamed) = events.next().await.map_err(io::Error::other)? {
            let StreamedEvent::Event(event) = streamed else { continue };
            match event.kind.as_str() {
                "workflow.intervention.required" => {
                    let now = since_epoch();
                    let asked: Intervention =
                        serde_json::from_value(event.data["intervention"].clone())?;
                    let Some(painted) = asked.excerpt.lines().find_map(painted) else { continue };
                    if seen.insert(painted) {
                        delays.push(now.saturating_sub(painted));
                    } else {
                        doubled += 1;
                    }
                    let client = daemon.client.clone();
                    answers.spawn(async move {
                        let decision = InterventionChoice::Approve;
                        let digest = asked.digest;
                        let decide = DecideRequest::new(decision, digest);
                        // One that is gone by now is asked again, and counted then.
                        client.decide(&asked.id, &decide).await.ok();
                    });
                }
                "workflow.completed" | "workflow.failed" => break,
                _ => {}
            }
        }
        Ok::<_, io::Error>(())
    };
    tokio::time::timeout(DEADLINE, follow).await.map_err(io::Error::other)??;
    answers.join_all().await;
    daemon.ends(&started).await?;
    let asked = plan.agents * plan.questions;
    Ok(Measured { asked, delays: Times::new(delays), doubled })
}

pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// When a question was painted.
pub(crate) fn painted(line: &str) -> Option<Duration> {
    let number = line.trim().strip_prefix("Approve ")?.split_whitespace().next()?.replace(',', ".");
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}
