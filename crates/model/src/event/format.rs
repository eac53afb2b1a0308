//! How facts are written and read. Known types strictly, unknown ones as they are.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::SessionEvent;

/// Every type there is in this version.
pub const KINDS: [&str; 44] = [
    "session.created",
    "session.deleted",
    "session.imported",
    "workflow.started",
    "workflow.blocked",
    "workflow.resumed",
    "workflow.stopping",
    "workflow.completed",
    "workflow.failed",
    "workflow.cancelled",
    "workflow.retried",
    "workflow.step.started",
    "workflow.step.completed",
    "workflow.step.landing",
    "workflow.step.failed",
    "workflow.step.skipped",
    "workflow.loop.judged",
    "workflow.loop.extended",
    "workflow.intervention.required",
    "workflow.intervention.resolved",
    "workflow.intervention.withdrawn",
    "task.started",
    "task.ended",
    "task.status",
    "task.stopping",
    "task.released",
    "task.exposed",
    "task.confined",
    "task.channel",
    "input.queued",
    "input.decided",
    "input.delivered",
    "input.refused",
    "timer.set",
    "agent.usage",
    "tree.wanted",
    "tree.ready",
    "tree.failed",
    "tree.checkpoint",
    "tree.landed",
    "tree.conflict",
    "tree.kept",
    "tree.removed",
    "review.sent",
];

static KNOWN_KINDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| BTreeSet::from(KINDS));

/// A fact of any version.
#[derive(Serialize, Deserialize)]
struct StoredEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Value,
}

impl Serialize for SessionEvent {
    /// Fails for what a later version wrote: we would not know what we write.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Unknown { kind, .. } = self {
            let message = format!("a fact of type `{kind}` is not known and cannot be written");
            return Err(serde::ser::Error::custom(message));
        }
        // The derived function, which is named like the trait's.
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for SessionEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = StoredEvent::deserialize(deserializer)?;
        if !KNOWN_KINDS.contains(written.kind.as_str()) {
            return Ok(Self::Unknown { kind: written.kind, data: written.data });
        }
        let value = serde_json::to_value(written).map_err(serde::de::Error::custom)?;
        Self::deserialize(value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{JobTimer, TimerPurpose};
    use crate::{AttemptId, TaskId, Timestamp};

    fn read(value: Value) -> Result<SessionEvent, serde_json::Error> {
        serde_json::from_value(value)
    }

    /// The sections of the page about events that are named like a fact, with their examples.
    fn sections() -> Vec<(String, Vec<String>)> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/EVENTS.md");
        let page = std::fs::read_to_string(page).unwrap();
        let mut sections: Vec<(String, Vec<String>)> = Vec::new();
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                sections.push((heading.to_owned(), Vec::new()));
            } else if let Some((_, examples)) = sections.last_mut()
                && line.starts_with("{\"type\"")
            {
                examples.push(line.to_owned());
            }
        }
        sections
    }

    #[test]
    fn every_fact_has_a_section_for_people_and_every_section_is_a_fact() {
        let mut told: Vec<String> = sections().into_iter().map(|(kind, _)| kind).collect();
        let mut kinds = KINDS.to_vec();
        told.sort();
        kinds.sort_unstable();
        assert_eq!(told, kinds, "docs/EVENTS.md and the facts there are");
    }

    #[test]
    fn every_example_for_people_is_a_fact_as_it_is_written() {
        for (kind, examples) in sections() {
            assert!(!examples.is_empty(), "{kind} has no example");
            for example in examples {
                let event: SessionEvent = serde_json::from_str(&example).unwrap();
                assert_eq!(event.kind(), kind);
                let written = serde_json::to_value(&event).unwrap();
                let shown: Value = serde_json::from_str(&example).unwrap();
                assert_eq!(written, shown, "the example of {kind}");
            }
        }
    }

    #[test]
    fn a_fact_reads_back_as_it_was_written() {
        let job = AttemptId { task: TaskId::new("build.3").unwrap(), attempt: 2 };
        let timer = JobTimer { job, purpose: TimerPurpose::Retry };
        let event = SessionEvent::TimerSet { timer, due: Timestamp::from_millis(7) };
        let written = json!({"type": "timer.set", "data": {
            "timer": {"task": "build.3", "attempt": 2, "purpose": "retry"}, "due": 7}});
        assert_eq!(serde_json::to_value(&event).unwrap(), written);
        assert_eq!(read(written).unwrap(), event);
        assert_eq!(event.kind(), "timer.set");
    }

    #[test]
    fn a_fact_of_a_later_version_is_kept_and_never_written() {
        let event = read(json!({"type": "task.teleported", "data": {"to": "mars"}})).unwrap();
        assert_eq!(event.kind(), "task.teleported");
        let error = serde_json::to_string(&event).unwrap_err().to_string();
        assert_eq!(error, "a fact of type `task.teleported` is not known and cannot be written");
    }

    #[test]
    fn a_known_fact_that_lacks_something_is_an_error() {
        let error = read(json!({"type": "workflow.started", "data": {}})).unwrap_err();
        assert!(error.to_string().contains("missing field `at`"), "{error}");
        assert!(read(json!({"data": {}})).is_err());
    }

    #[test]
    fn a_field_that_was_added_later_does_not_disturb() {
        let event = read(json!({"type": "workflow.started", "data": {"at": 1, "mood": "good"}}));
        assert_eq!(event.unwrap(), SessionEvent::WorkflowStarted { at: Timestamp::from_millis(1) });
    }
}
