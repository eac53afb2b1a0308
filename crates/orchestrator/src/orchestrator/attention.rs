//! Looks all the time whether every agent that waits has somebody to wait for: an intervention that
//! is open, or an answer on its way. One that has nobody is a defect of ours. It is counted, logged,
//! and looked at anew, so that its question comes back. The time for which its session waits for its
//! disk is not counted: it hears of nothing meanwhile.

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
    /// One for each session that has agents that wait for nobody: each has a time of its own.
    watches: Mutex<BTreeMap<SessionId, AttentionWatch<AttemptId>>>,
}

impl Default for AttentionAudit {
    fn default() -> Self {
        Self { found: AtomicU64::new(0), began: Instant::now(), watches: Mutex::default() }
    }
}

/// The agents of a session that wait for nobody at a moment.
#[derive(Debug)]
struct UnheardAgents {
    agents: BTreeMap<AttemptId, AgentVerdict>,
    /// How long the session has waited for its disk so far. It hears of nothing meanwhile, so that
    /// this is no silence of its agents.
    disk_wait: Duration,
}

impl AttentionAudit {
    /// Takes in which agents of each session wait for nobody, at a time from any beginning.
    fn look(
        &self,
        now: Duration,
        unheard: &BTreeMap<SessionId, UnheardAgents>,
    ) -> AttentionChange<(SessionId, AttemptId)> {
        let mut all = AttentionChange { found: Vec::new(), ended: Vec::new() };
        let mut watches = self.watches.lock();
        for id in unheard.keys() {
            watches.entry(id.clone()).or_default();
        }
        watches.retain(|id, watch| {
            let shown = unheard.get(id);
            let now = now.saturating_sub(shown.map(|shown| shown.disk_wait).unwrap_or_default());
            let agents = shown.into_iter().flat_map(|shown| &shown.agents);
            let asked = agents.map(|(job, verdict)| (job.clone(), verdict.digest.clone()));
            let change = watch.look(now, asked);
            let of_session = |job: AttemptId| (id.clone(), job);
            all.found.extend(change.found.into_iter().map(of_session));
            let ended = change.ended.into_iter();
            all.ended.extend(ended.map(|(job, since)| (of_session(job), since)));
            shown.is_some()
        });
        self.found.fetch_add(all.found.len() as u64, Ordering::Relaxed);
        all
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
        let unheard = open.map(|controller| {
            let agents = controller.snapshot().unheard().into_iter().collect();
            // After the snapshot: what the disk took until now is no silence.
            let disk_wait = controller.disk_wait();
            (controller.id().clone(), UnheardAgents { agents, disk_wait })
        });
        let unheard: BTreeMap<SessionId, UnheardAgents> =
            unheard.filter(|(_, unheard)| !unheard.agents.is_empty()).collect();
        let audit = &self.shared.attention;
        let change = audit.look(audit.began.elapsed(), &unheard);
        for ((session, job), _) in &change.ended {
            tracing::info!(session = %session, job = %job, "the agent has somebody to wait for");
        }
        for (session, job) in change.found {
            let verdict = unheard.get(&session).and_then(|unheard| unheard.agents.get(&job));
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
    use coven_model::{
        AgentState, ContentDigest, EvidenceSource, InterventionId, TaskId, TaskStatus,
        VerdictEvidence,
    };
    use coven_testkit::programs::TestProgram;
    use coven_workflow::input::ScreenObservation;

    use super::*;
    use crate::{EventSubscription, NewSession, Options, PublishedEvent};

    /// Longer than anything here takes on a loaded machine; only a failure waits for it.
    const DEADLINE: Duration = Duration::from_mins(2);

    /// What an agent shows that asks.
    fn asking() -> AgentVerdict {
        let evidence = VerdictEvidence {
            source: EvidenceSource::Screen,
            rule: "ask".to_owned(),
            region: "screen".to_owned(),
            text: "Run it?".to_owned(),
            since: 0,
            conflicts: Vec::new(),
        };
        AgentVerdict {
            state: AgentState::Awaiting,
            kind: None,
            evidence,
            digest: Some(ContentDigest::of_bytes(b"Run it?")),
            retry: None,
        }
    }

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

    /// The facts before its question wait for the disk, and so does the question.
    #[test]
    fn the_time_for_which_a_session_waits_for_its_disk_is_no_silence_of_its_agents() {
        let audit = AttentionAudit::default();
        let slow = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        let other = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8058").unwrap();
        let job = AttemptId { task: TaskId::new("work").unwrap(), attempt: 1 };
        let waits = |disk_wait: u64| UnheardAgents {
            agents: BTreeMap::from([(job.clone(), asking())]),
            disk_wait: Duration::from_secs(disk_wait),
        };
        let look = |seconds: u64, sessions: &[(&SessionId, u64)]| {
            let unheard = sessions.iter().map(|(id, disk_wait)| ((*id).clone(), waits(*disk_wait)));
            let change = audit.look(Duration::from_secs(seconds), &unheard.collect());
            (change.found.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), change.ended.len())
        };
        assert_eq!(look(100, &[(&slow, 60)]), (vec![], 0), "what it waited for before is over");
        assert_eq!(look(106, &[(&slow, 65)]), (vec![], 0), "the disk took five of six seconds");
        assert_eq!(look(108, &[(&slow, 65), (&other, 0)]), (vec![], 0));
        assert_eq!(look(110, &[(&slow, 65), (&other, 0)]), (vec![slow.clone()], 0), "no reason");
        assert_eq!(look(113, &[(&slow, 68), (&other, 0)]), (vec![other.clone()], 0));
        assert_eq!(look(120, &[]), (vec![], 2), "each is counted once");
        assert_eq!(audit.found.load(Ordering::Relaxed), 2);
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
