//! The first start of a CLI, with all its dialogs.

use std::time::Instant;

use coven_model::{AgentState, InterventionChoice};
use coven_testkit::real_cli::Home;

use super::marks::said;
use super::{Lab, START_BOUND, settle};
use crate::agent::Told;

/// More dialogs than any CLI has at its first start.
const MAX_DIALOGS: usize = 8;

impl Lab<'_> {
    /// The first start in an empty home: every dialog is noticed, and the ones that Coven knows
    /// are accepted.
    pub(super) async fn first_start(&mut self) {
        let agent = match self.start(Home::Fresh) {
            Ok(agent) => agent,
            Err(error) => return self.add("first start", "starts", error, "none", String::new()),
        };
        let (mut seen, mut from) = (Vec::new(), 0);
        let mut deadline = Instant::now() + START_BOUND;
        let end = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let next = agent.wait_within(left, from, "a dialog or the prompt", |told| match told {
                Told::Asks(question) => Some(Some(question.clone())),
                Told::State(AgentState::Idle) => Some(None),
                _ => None,
            });
            match next.await {
                Ok((at, Some(question))) if seen.len() < MAX_DIALOGS => {
                    from = at + 1;
                    // Some start anew behind a dialog.
                    deadline = Instant::now() + START_BOUND;
                    settle(&agent).await;
                    self.frames.keep(&agent, "awaiting:dialog", true).await;
                    let name = question.dialog.clone().unwrap_or_else(|| question.rule.clone());
                    let answered = agent.choose(&question, InterventionChoice::Approve).await;
                    seen.push(name);
                    if let Err(error) = answered {
                        break Ok(format!("a person must answer it: {error}"));
                    }
                }
                Ok((_, Some(_))) => break Err("it asks again and again".to_owned()),
                // Some show their prompt for a moment before a dialog.
                Ok((at, None)) => {
                    from = at + 1;
                    settle(&agent).await;
                    if agent.runner.verdict().state == AgentState::Idle {
                        break Ok("then its prompt".to_owned());
                    }
                }
                Err(error) => break Err(error),
            }
        };
        if end.is_err() {
            settle(&agent).await;
            self.stage.keep("first start", &agent.portrait(self.stage).await);
        }
        let said = said(&agent.runner.verdict());
        let shown = if seen.is_empty() { "no dialog".to_owned() } else { seen.join(", ") };
        let (mark, end) = match end {
            Ok(end) => ("right", end),
            Err(error) => ("silent", error),
        };
        self.add("first start", "dialogs, then its prompt", said, mark, format!("{shown}; {end}"));
        agent.stop().await.0.ok();
    }
}
