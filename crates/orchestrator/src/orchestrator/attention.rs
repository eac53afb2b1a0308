//! Looks all the time whether every agent that waits has somebody to wait for: an intervention that
//! is open, or an answer on its way. One that has nobody is a defect of ours. It is counted, logged,
//! and looked at anew, so that its question comes back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coven_model::{AgentVerdict, AttemptId, SessionId};
use coven_workflow::SessionInput;
use coven_workflow::attention::{AttentionChange, AttentionWatch};
use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;

use super::Orchestrator;
use crate::engine::SessionController;
use coven_folder::best_effort;

/// How often all agents are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What is known of agents that wait for nobody.
#[derive(Debug)]
pub(super) struct AttentionAudit {
    /// How many were found, so far.
    found: AtomicU64,
    began: Instant,
    watch: Mutex<AttentionWatch<AgentKey>>,
}

impl Default for AttentionAudit {
    fn default() -> Self {
        Self { found: AtomicU64::new(0), began: Instant::now(), watch: Mutex::default() }
    }
}

/// An agent of a session.
type AgentKey = (SessionId, AttemptId);

impl AttentionAudit {
    /// Takes in which agents wait for nobody now.
    fn look(&self, unheard: &BTreeMap<AgentKey, AgentVerdict>) -> AttentionChange<AgentKey> {
        let agents = unheard.iter().map(|(agent, verdict)| (agent.clone(), verdict.digest.clone()));
        let change = self.watch.lock().look(self.began.elapsed(), agents);
        self.found.fetch_add(change.found.len() as u64, Ordering::Relaxed);
        change
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
        // What cannot be recorded cannot be asked. The session says that it waits for its disk.
        let open = controllers
            .iter()
            .filter(|controller| controller.is_open() && controller.storage_problem().is_none());
        let found = open.flat_map(|controller| {
            let id = controller.id().clone();
            let agents = controller.snapshot().unheard();
            agents.into_iter().map(move |(job, verdict)| ((id.clone(), job), verdict))
        });
        let found: BTreeMap<AgentKey, AgentVerdict> = found.collect();
        let change = self.shared.attention.look(&found);
        for ((session, job), _) in &change.ended {
            tracing::info!(session = %session, job = %job, "the agent has somebody to wait for");
        }
        for (session, job) in change.found {
            let verdict = found.get(&(session.clone(), job.clone()));
            tracing::error!(
                session = %session, job = %job, state = ?verdict.map(|verdict| verdict.state),
                rule = verdict.map(|verdict| verdict.evidence.rule.as_str()),
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
    use coven_model::event::SessionEvent;
    use coven_model::{InterventionId, TaskStatus};
    use coven_testkit::programs::TestProgram;
    use coven_workflow::input::ScreenObservation;

    use super::*;
    use crate::{EventSubscription, NewSession, Options, PublishedEvent};

    /// Longer than anything here takes on a loaded machine; only a failure waits for it.
    const DEADLINE: Duration = Duration::from_mins(2);

    /// The next question, and the observation that it followed.
    async fn question(events: &mut EventSubscription) -> (InterventionId, AttemptId, u64) {
        let mut asked = None;
        let search = async {
            loop {
                let envelope = events.next().await.unwrap().expect("the session should go on");
                let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
                match &**event {
                    SessionEvent::InterventionRequired { intervention, .. } => {
                        asked = Some(intervention.id.clone());
                    }
                    SessionEvent::TaskStatus { job, status: TaskStatus::WaitingForUser, seen } => {
                        return (asked.take().unwrap(), job.clone(), *seen);
                    }
                    _ => {}
                }
            }
        };
        tokio::time::timeout(DEADLINE, search).await.expect("a question")
    }

    /// A session is told that its agent works while it asks, as a handler with a defect would.
    ///
    /// Spec: C0.14.2
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_question_that_was_lost_is_counted_and_comes_back() {
        let folder = coven_testkit::folders::temporary().unwrap();
        let base = folder.path().join("base");
        std::fs::create_dir(&base).unwrap();
        let mut options =
            Options::new(&base, folder.path().join("state"), TestProgram::Agent.path());
        options.default_adapter = Some("demo".to_owned());
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let text = "name: lost\ndescription: An agent asks.\nsteps:\n  - {name: work, type: agent, mode: interactive, prompt: approve touch asked.txt}\n";
        let env = [("PATH", std::env::var_os("PATH").unwrap_or_default())]
            .into_iter()
            .chain(["HOME", "TMPDIR", "COVEN_DEMO_HOME"].map(|name| (name, base.clone().into())))
            .map(|(name, value)| (name.into(), value));
        let new = NewSession { env: env.collect(), ..NewSession::of_definition("test.yaml", text) };
        let id = orchestrator.execute_workflow(new).await.unwrap();
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let (first, job, seen) = question(&mut events).await;
        assert_eq!(orchestrator.unheard_agents(), 0);
        let (seen, what) = (seen + 1, ScreenObservation::Working);
        let lie = SessionInput::Observed { job, seen, what };
        let controller = orchestrator.controller(&id).unwrap();
        controller.input(lie).await.unwrap();
        assert_eq!(controller.snapshot().interventions().count(), 0, "the question is lost");
        assert_eq!(controller.snapshot().unheard().len(), 1);
        let (again, ..) = question(&mut events).await;
        assert_ne!(again, first, "it is asked again");
        assert_eq!(orchestrator.unheard_agents(), 1);
        assert_eq!(controller.snapshot().unheard().len(), 0);
        orchestrator.cancel(&id, "a test", "").await.unwrap();
        tokio::time::timeout(DEADLINE, controller.wait(false)).await.expect("its end");
        assert_eq!(orchestrator.unheard_agents(), 1, "an agent that is stopped waits for its end");
        orchestrator.close().await;
    }
}
