//! Agents that waited while nobody was asked, found in the journal and on the tapes by the rule that
//! the daemon holds all the time.

use std::collections::BTreeMap;

use coven_model::event::{SessionEvent, TaskEnded};
use coven_model::{AttemptId, JobWork, ProcessEnding, Timestamp};
use coven_runtime::processes;
use coven_store::session::ReadOnlySession;
use coven_store::{Attempt, JournalRecord};
use coven_workflow::attention::AttentionWatch;
use coven_workflow::{State, fold};
use serde_json::{Value, json};

use super::facts::JournalSummary;
use super::states::{self, AgentMoment, ShownState};
use crate::output;

/// An agent that waited and had neither an open question nor an answer on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnheardAgent {
    pub(super) job: AttemptId,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// What it showed.
    pub(super) shown: ShownState,
}

impl UnheardAgent {
    /// For people.
    pub(super) fn line(&self) -> String {
        let Self { job, from, to, shown } = self;
        let did = if shown.activity.is_unexplained {
            format!("was {} for too long", shown.activity.state)
        } else {
            "waited for an answer".to_owned()
        };
        let rule = match shown.rule.as_str() {
            "" => String::new(),
            rule => format!(" (seen by {rule})"),
        };
        format!(
            "{job} {did}{rule} and nobody was asked, from {} to {} ({})",
            output::moment(*from),
            output::moment(*to),
            output::age(to.since(*from)),
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "task": self.job.task,
            "attempt": self.job.attempt,
            "state": self.shown.activity.state,
            "rule": self.shown.rule,
            "digest": self.shown.activity.digest,
            "from": self.from,
            "to": self.to,
        })
    }
}

/// What all agents on a terminal did. Tells before each of them the how manieth it is.
pub(super) fn tapes(
    look: &ReadOnlySession,
    records: &[JournalRecord<SessionEvent>],
    told: &JournalSummary,
    now: Timestamp,
    tell: &mut dyn FnMut(usize),
) -> BTreeMap<AttemptId, Vec<AgentMoment>> {
    let ended = records.iter().filter_map(|record| match &record.fact {
        SessionEvent::TaskEnded(ended) if !is_kept(ended) => Some((&ended.job, record.time)),
        SessionEvent::TaskReleased { job, .. } => Some((job, record.time)),
        _ => None,
    });
    let ended: BTreeMap<&AttemptId, Timestamp> = ended.collect();
    let agents = records.iter().filter_map(|record| match &record.fact {
        SessionEvent::TaskStarted(started) => match &started.spec.work {
            JobWork::Agent(_) if started.spec.work.is_interactive() => {
                Some(&started.spec.job.attempt)
            }
            _ => None,
        },
        _ => None,
    });
    let read = |job: &AttemptId| {
        let place = told.places.get(job).copied().unwrap_or_default();
        look.attempt_path(place, job)?;
        let attempt = look.attempt(place, job).ok().flatten()?;
        let ended = ended.get(job).copied();
        let until = ended.or_else(|| is_alive(&attempt).then_some(now));
        // A tape that cannot be read is found where the tapes are checked.
        states::moments(&attempt.tape().ok()?, until).ok()
    };
    let mut read_next = |(place, job): (usize, &AttemptId)| {
        tell(place + 1);
        Some((job.clone(), read(job)?))
    };
    agents.enumerate().filter_map(&mut read_next).collect()
}

/// Whether the agent of a task that is over was left alive.
fn is_kept(ended: &TaskEnded) -> bool {
    ended.outcome.ending == ProcessEnding::Alive
}

fn is_alive(attempt: &Attempt) -> bool {
    let spawn = attempt.spawn().ok().flatten();
    spawn.is_some_and(|spawn| !processes::of_job(&spawn.job).is_empty())
}

/// Goes through what happened in a session and what its agents did meanwhile. `now` counts for
/// agents that are alive.
pub(super) fn unheard(
    records: &[JournalRecord<SessionEvent>],
    tapes: &BTreeMap<AttemptId, Vec<AgentMoment>>,
    now: Timestamp,
) -> Vec<UnheardAgent> {
    let facts = records.iter().map(|record| (record.time, SessionMoment::Fact(&record.fact)));
    let moments = tapes.iter().flat_map(|(job, moments)| {
        moments.iter().map(move |moment| (moment.at, SessionMoment::Agent(job, moment)))
    });
    let mut all: Vec<_> = facts.chain(moments).collect();
    all.sort_by_key(|(at, _)| *at);
    let mut walk = AttentionWalk::default();
    for (at, moment) in all {
        walk.look(at);
        walk.apply(moment);
        walk.look(at);
    }
    walk.end(now)
}

#[derive(Clone, Copy)]
enum SessionMoment<'a> {
    Fact(&'a SessionEvent),
    Agent(&'a AttemptId, &'a AgentMoment),
}

#[derive(Default)]
struct AttentionWalk {
    state: State,
    shown: BTreeMap<AttemptId, ShownState>,
    watch: AttentionWatch<AttemptId>,
    /// Those that are waiting for too long, with what they show.
    waiting: BTreeMap<AttemptId, ShownState>,
    found: Vec<UnheardAgent>,
}

impl AttentionWalk {
    fn apply(&mut self, moment: SessionMoment<'_>) {
        match moment {
            SessionMoment::Fact(fact) => {
                self.state = fold(std::mem::take(&mut self.state), fact);
                match fact {
                    SessionEvent::TaskEnded(ended) if !is_kept(ended) => {
                        self.shown.remove(&ended.job);
                    }
                    SessionEvent::TaskReleased { job, .. } => {
                        self.shown.remove(job);
                    }
                    _ => {}
                }
            }
            SessionMoment::Agent(job, AgentMoment { shown: Some(shown), .. }) => {
                self.shown.insert(job.clone(), shown.clone());
            }
            SessionMoment::Agent(job, AgentMoment { shown: None, .. }) => {
                self.shown.remove(job);
            }
        }
    }

    fn look(&mut self, at: Timestamp) {
        let run = self.state.run();
        let unheard = self
            .shown
            .iter()
            .filter(|(job, shown)| run.is_some_and(|run| run.is_unheard(job, &shown.activity)));
        let unheard = unheard.map(|(job, shown)| (job.clone(), shown.activity.digest.clone()));
        let change = self.watch.look(std::time::Duration::from_millis(at.as_millis()), unheard);
        for (job, since) in change.ended {
            let Some(shown) = self.waiting.remove(&job) else { continue };
            let from = Timestamp::default().after(since);
            self.found.push(UnheardAgent { job, from, to: at, shown });
        }
        for job in change.found {
            let shown = self.shown.get(&job).cloned();
            self.waiting.extend(shown.map(|shown| (job, shown)));
        }
    }

    /// Those that still wait do so until now, if there is a daemon that looks at them.
    fn end(mut self, now: Timestamp) -> Vec<UnheardAgent> {
        self.look(now);
        self.shown.clear();
        self.look(now);
        self.found
    }
}
