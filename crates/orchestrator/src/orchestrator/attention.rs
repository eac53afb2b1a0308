//! Looks all the time whether every agent that waits has somebody to wait for: an intervention that
//! is open, or an answer on its way. One that has nobody is a defect of ours. It is counted, logged,
//! and looked at anew, so that its question comes back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coven_model::{AgentVerdict, AttemptId, SessionId};
use coven_workflow::SessionInput;
use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;

use super::Orchestrator;
use crate::engine::SessionController;
use coven_folder::best_effort;

/// How often all agents are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long it may take from an agent's screen to its session, on a machine that is busy.
const ATTENTION_DELAY: Duration = Duration::from_secs(5);

/// What is known of agents that wait for nobody.
#[derive(Debug, Default)]
pub(super) struct AttentionAudit {
    /// How many were found, so far.
    found: AtomicU64,
    /// Those of the last look.
    unheard: Mutex<HashMap<(SessionId, AttemptId), UnheardAgent>>,
}

/// An agent that waits for nobody.
#[derive(Clone, Debug)]
struct UnheardAgent {
    verdict: AgentVerdict,
    since: Instant,
    /// Whether it was counted.
    is_counted: bool,
}

impl AttentionAudit {
    /// Takes in which agents wait for nobody now. Gives those that have for too long, each once.
    fn look(
        &self,
        now: Instant,
        unheard: Vec<((SessionId, AttemptId), AgentVerdict)>,
    ) -> Vec<(SessionId, AttemptId, AgentVerdict)> {
        let mut known = self.unheard.lock();
        let mut due = Vec::new();
        let still = unheard.into_iter().map(|(job, verdict)| {
            let before = known.remove(&job).filter(|known| known.verdict.digest == verdict.digest);
            let (since, was_counted) =
                before.map_or((now, false), |known| (known.since, known.is_counted));
            let is_counted = was_counted || now.duration_since(since) >= ATTENTION_DELAY;
            if is_counted && !was_counted {
                due.push((job.0.clone(), job.1.clone(), verdict.clone()));
            }
            (job, UnheardAgent { verdict, since, is_counted })
        });
        *known = still.collect();
        self.found.fetch_add(due.len() as u64, Ordering::Relaxed);
        due
    }
}

impl Orchestrator {
    /// How many agents were found that waited and had neither an open question nor an answer on its
    /// way. Always 0, unless Coven has a defect.
    pub fn unheard_agents(&self) -> u64 {
        self.shared.attention.found.load(Ordering::Relaxed)
    }

    /// Looks at all agents in the background, as long as there is an orchestrator.
    pub(super) fn keep_attention(&self) {
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            let mut turns = tokio::time::interval(LOOK_INTERVAL);
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                turns.tick().await;
                let Some(shared) = shared.upgrade() else { return };
                let orchestrator = Self { shared };
                if orchestrator.is_closing() {
                    return;
                }
                orchestrator.look_for_unheard().await;
            }
        });
    }

    async fn look_for_unheard(&self) {
        let controllers = self.shared.controllers.all();
        let open = controllers.iter().filter(|controller| controller.is_open());
        let found = open.flat_map(|controller| {
            let id = controller.id().clone();
            let agents = controller.snapshot().unheard();
            agents.into_iter().map(move |(job, verdict)| ((id.clone(), job), verdict))
        });
        for (session, job, verdict) in self.shared.attention.look(Instant::now(), found.collect()) {
            let evidence = &verdict.evidence;
            tracing::error!(
                session = %session, job = %job, state = %verdict.state, rule = %evidence.rule,
                "an agent waits and nobody was asked; it is looked at again"
            );
            let is_its = |controller: &&SessionController| *controller.id() == session;
            if let Some(controller) = controllers.iter().find(is_its) {
                let told = controller.input(SessionInput::Unheard { job }).await;
                best_effort("look at an agent again", told);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use coven_model::{AgentState, ContentDigest, EvidenceSource, TaskId, VerdictEvidence};

    use super::*;

    fn waiting(words: &str) -> Vec<((SessionId, AttemptId), AgentVerdict)> {
        let session = SessionId::new("0198b5a0-0000-7000-8000-000000000001").unwrap();
        let job = AttemptId { task: TaskId::new("talk").unwrap(), attempt: 1 };
        let evidence = VerdictEvidence {
            source: EvidenceSource::Screen,
            rule: "interaction_approval".to_owned(),
            region: "screen".to_owned(),
            text: words.to_owned(),
            since: 0,
            conflicts: Vec::new(),
        };
        let digest = Some(ContentDigest::of_bytes(words.as_bytes()));
        let (state, kind, retry) = (AgentState::Awaiting, None, None);
        let verdict = AgentVerdict { state, kind, evidence, retry, digest };
        vec![((session, job), verdict)]
    }

    #[test]
    fn an_agent_that_waits_for_nobody_for_too_long_is_found_once() {
        let audit = AttentionAudit::default();
        let begin = Instant::now();
        let look =
            |seconds: u64, agents| audit.look(begin + Duration::from_secs(seconds), agents).len();
        assert_eq!(look(0, waiting("Run it?")), 0);
        assert_eq!(look(4, waiting("Run it?")), 0, "its session may be about to hear of it");
        assert_eq!(look(5, waiting("Run it?")), 1);
        assert_eq!(look(50, waiting("Run it?")), 0, "it is counted once");
        assert_eq!(look(51, waiting("Another?")), 0, "another question is another matter");
        assert_eq!(look(52, Vec::new()), 0);
        assert_eq!(look(60, waiting("Another?")), 0, "it was attended to in between");
        assert_eq!(look(65, waiting("Another?")), 1);
        assert_eq!(audit.found.load(Ordering::Relaxed), 2);
    }
}
