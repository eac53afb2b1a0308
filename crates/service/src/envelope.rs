//! Events of sessions as the JSON that goes over the wire.

use coven_api::event::ENVELOPE_VERSION;
use coven_model::event::SessionEvent;
use coven_model::{AgentVerdict, AttemptId, SessionId, Timestamp};
use coven_orchestrator::{FeedEvent, LiveEvent, PublishedEvent};
use coven_runtime::domain::PaneStream;
use serde::Serialize;
use serde_json::Value;

/// [`coven_api::event::EventEnvelope`] without copies: the same fact goes to many.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenEnvelope<'a> {
    v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pos: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    time: Timestamp,
    workflow_id: &'a SessionId,
    #[serde(flatten)]
    what: EnvelopeBody<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EnvelopeBody<'a> {
    Fact(&'a SessionEvent),
    /// A fact of a later version, which only its journal can tell.
    Unknown {
        #[serde(rename = "type")]
        kind: &'a str,
        data: &'a Value,
    },
    Live {
        #[serde(rename = "type")]
        kind: &'a str,
        data: EnvelopeData<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum EnvelopeData<'a> {
    Output {
        #[serde(flatten)]
        job: &'a AttemptId,
        stream: &'static str,
        offset: u64,
        len: usize,
        clean: &'a str,
    },
    State {
        #[serde(flatten)]
        job: &'a AttemptId,
        verdict: &'a AgentVerdict,
    },
    Problem {
        problem: &'a str,
    },
    Nothing {},
}

/// The type of an event, such as `task.ended`.
pub fn event_kind(envelope: &FeedEvent) -> &str {
    match &envelope.what {
        PublishedEvent::Fact { event, .. } => event.kind(),
        PublishedEvent::Live(LiveEvent::Output { .. }) => "task.output",
        PublishedEvent::Live(LiveEvent::State { .. }) => "task.state",
        PublishedEvent::Live(LiveEvent::Restored) => "session.restored",
        PublishedEvent::Live(LiveEvent::Storage { .. }) => "session.storage",
        PublishedEvent::Live(LiveEvent::Trigger { .. }) => "session.trigger",
    }
}

/// The name of a stream on the wire.
pub fn stream_name(stream: PaneStream) -> &'static str {
    match stream {
        PaneStream::Output => "out",
        PaneStream::Error => "err",
    }
}

/// An event as JSON, on one line: a [`coven_api::event::FeedEvent`].
pub fn write_json(envelope: &FeedEvent) -> String {
    let live = |data| (None, EnvelopeBody::Live { kind: event_kind(envelope), data });
    let (seq, what) = match &envelope.what {
        PublishedEvent::Fact { seq, event } => match &**event {
            SessionEvent::Unknown { kind, data } => {
                (Some(*seq), EnvelopeBody::Unknown { kind, data })
            }
            event => (Some(*seq), EnvelopeBody::Fact(event)),
        },
        PublishedEvent::Live(LiveEvent::Output { job, stream: from, offset, length, clean }) => {
            let stream = stream_name(*from);
            live(EnvelopeData::Output { job, stream, offset: *offset, len: *length, clean })
        }
        PublishedEvent::Live(LiveEvent::State { job, verdict }) => {
            live(EnvelopeData::State { job, verdict })
        }
        PublishedEvent::Live(LiveEvent::Storage { problem } | LiveEvent::Trigger { problem }) => {
            live(EnvelopeData::Problem { problem })
        }
        PublishedEvent::Live(LiveEvent::Restored) => live(EnvelopeData::Nothing {}),
    };
    let written = WrittenEnvelope {
        v: ENVELOPE_VERSION,
        pos: envelope.pos,
        seq,
        time: envelope.time,
        workflow_id: &envelope.session,
        what,
    };
    // Nothing in here can fail to be written; if it did, a client would see an empty event.
    serde_json::to_string(&written).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coven_api::event::EventEnvelope as Told;
    use coven_model::TaskId;
    use serde_json::json;

    use super::*;

    fn envelope(pos: Option<u64>, what: PublishedEvent) -> FeedEvent {
        let session = SessionId::new("0199a2b4-0000-7000-8000-000000000001").unwrap();
        FeedEvent { pos, session, time: Timestamp::from_millis(5), what }
    }

    fn told(envelope: &FeedEvent) -> Told {
        let text = write_json(envelope);
        assert!(!text.contains('\n'), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_fact_is_written_as_the_api_says() {
        let event = Arc::new(SessionEvent::WorkflowStarted { at: Timestamp::from_millis(5) });
        let told = told(&envelope(Some(9), PublishedEvent::Fact { seq: 2, event }));
        assert_eq!((told.v, told.pos, told.seq), (1, Some(9), Some(2)));
        assert_eq!((told.kind.as_str(), told.data), ("workflow.started", json!({"at": 5})));
    }

    #[test]
    fn a_fact_of_a_later_version_is_passed_on() {
        let event =
            SessionEvent::Unknown { kind: "task.sung".to_owned(), data: json!({"to": "moon"}) };
        let told = told(&envelope(None, PublishedEvent::Fact { seq: 2, event: Arc::new(event) }));
        assert_eq!((told.kind.as_str(), told.data), ("task.sung", json!({"to": "moon"})));
        assert_eq!((told.pos, told.seq), (None, Some(2)));
    }

    #[test]
    fn what_is_live_has_no_number_and_stays_on_its_line() {
        let output = LiveEvent::Output {
            job: AttemptId { task: TaskId::new("build.1").unwrap(), attempt: 2 },
            stream: PaneStream::Error,
            offset: 7,
            length: 3,
            clean: "a\nb\r\n\n".into(),
        };
        let told = told(&envelope(None, PublishedEvent::Live(output)));
        assert_eq!((told.pos, told.seq, told.kind.as_str()), (None, None, "task.output"));
        let expected = json!({"task": "build.1", "attempt": 2, "stream": "err", "offset": 7,
            "len": 3, "clean": "a\nb\r\n\n"});
        assert_eq!(told.data, expected);
    }
}
