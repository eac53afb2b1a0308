//! Which agents wait for nobody: they ask something, or nobody knows what they do, and their session
//! has neither asked a person nor sent an answer. The daemon looks for them all the time, and
//! `coven audit` looks for them afterwards, both by what stands here.

use std::collections::BTreeMap;
use std::time::Duration;

use coven_model::{AgentState, AttemptId, ContentDigest};

use crate::state::WorkflowRun;

/// How long it may take from an agent's screen to its session, on a machine that is busy.
pub const ATTENTION_DELAY: Duration = Duration::from_secs(5);

/// What an agent shows, as far as somebody may have to attend to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownActivity {
    pub state: AgentState,
    /// Its question, if it asks one.
    pub digest: Option<ContentDigest>,
    /// Whether nobody knows what it does, for longer than that may last.
    pub is_unexplained: bool,
}

impl WorkflowRun {
    /// Whether the agent of this attempt waits and has nobody to wait for. One that is being
    /// stopped, or is not the business of the run any more, waits for its end.
    pub fn is_unheard(&self, job: &AttemptId, shown: &ShownActivity) -> bool {
        let waits = shown.digest.is_some() || shown.is_unexplained;
        self.watched(job).is_some_and(|live| waits && !live.is_attended(shown.state))
    }
}

/// Tells agents that wait for nobody from those whose session is about to hear of them.
#[derive(Debug)]
pub struct AttentionWatch<K> {
    /// Those that waited for nobody when they were last looked at.
    waiting: BTreeMap<K, WaitingAgent>,
}

#[derive(Clone, Debug)]
struct WaitingAgent {
    digest: Option<ContentDigest>,
    since: Duration,
    is_found: bool,
}

/// What a look at all agents found.
#[derive(Debug, PartialEq, Eq)]
pub struct AttentionChange<K> {
    /// Agents that have waited for nobody for too long, each once.
    pub found: Vec<K>,
    /// Those found before that do not any more, and since when they had.
    pub ended: Vec<(K, Duration)>,
}

impl<K> Default for AttentionWatch<K> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<K: Clone + Ord> AttentionWatch<K> {
    /// Takes in which agents wait for nobody now, with what they ask. The time counts from any
    /// beginning, the same at every look.
    pub fn look(
        &mut self,
        now: Duration,
        unheard: impl IntoIterator<Item = (K, Option<ContentDigest>)>,
    ) -> AttentionChange<K> {
        let mut before = std::mem::take(&mut self.waiting);
        let mut found = Vec::new();
        for (agent, digest) in unheard {
            let is_known = before.get(&agent).is_some_and(|known| known.digest == digest);
            let known = if is_known { before.remove(&agent) } else { None };
            let mut waits = known.unwrap_or(WaitingAgent { digest, since: now, is_found: false });
            if !waits.is_found && now.saturating_sub(waits.since) >= ATTENTION_DELAY {
                waits.is_found = true;
                found.push(agent.clone());
            }
            self.waiting.insert(agent, waits);
        }
        let ended = before.into_iter().filter(|(_, waited)| waited.is_found);
        let ended = ended.map(|(agent, waited)| (agent, waited.since)).collect();
        AttentionChange { found, ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_waits_for_nobody_for_too_long_is_found_once() {
        let mut watch = AttentionWatch::default();
        let mut look = |seconds: u64, asks: &[&str]| {
            let asks = asks.iter().map(|asks| ((), Some(ContentDigest::of_bytes(asks.as_bytes()))));
            let change = watch.look(Duration::from_secs(seconds), asks);
            let ended = change.ended.first().map(|((), since)| since.as_secs());
            (change.found.len(), ended)
        };
        assert_eq!(look(0, &["Run it?"]), (0, None));
        assert_eq!(look(4, &["Run it?"]), (0, None), "its session may be about to hear of it");
        assert_eq!(look(5, &["Run it?"]), (1, None));
        assert_eq!(look(50, &["Run it?"]), (0, None), "it is counted once");
        assert_eq!(look(52, &[]), (0, Some(0)));
        assert_eq!(look(60, &["Another?"]), (0, None), "it was attended to in between");
        assert_eq!(look(65, &["Another?"]), (1, None));
    }

    #[test]
    fn another_question_is_another_matter() {
        let mut watch = AttentionWatch::default();
        let digest = |asks: &str| Some(ContentDigest::of_bytes(asks.as_bytes()));
        let seconds = Duration::from_secs;
        watch.look(seconds(0), [((), digest("Run it?"))]);
        watch.look(seconds(9), [((), digest("Run it?"))]);
        let change = watch.look(seconds(10), [((), digest("Another?"))]);
        assert_eq!((change.found, change.ended), (vec![], vec![((), seconds(0))]));
        assert_eq!(watch.look(seconds(15), [((), digest("Another?"))]).found.len(), 1);
    }
}
