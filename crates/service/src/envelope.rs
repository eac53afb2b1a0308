//! Events of sessions as the JSON that goes over the wire.

use coven_api::event::ENVELOPE_VERSION;
use coven_model::event::Event;
use coven_model::{AttemptId, SessionId, Timestamp, Verdict};
use coven_orchestrator::{Envelope, Live, Published};
use coven_runtime::domain::Stream;
use serde::Serialize;
use serde_json::Value;

/// [`coven_api::event::EventEnvelope`] without copies: the same fact goes to many.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pos: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    time: Timestamp,
    workflow_id: &'a SessionId,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    Fact(&'a Event),
    /// A fact of a later version, which only its journal can tell.
    Unknown {
        #[serde(rename = "type")]
        kind: &'a str,
        data: &'a Value,
    },
    Live {
        #[serde(rename = "type")]
        kind: &'a str,
        data: Data<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
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
        verdict: &'a Verdict,
    },
    Problem {
        problem: &'a str,
    },
    Nothing {},
}

/// The type of an event, such as `task.ended`.
pub fn event_kind(envelope: &Envelope) -> &str {
    match &envelope.what {
        Published::Fact { event, .. } => event.kind(),
        Published::Live(Live::Output { .. }) => "task.output",
        Published::Live(Live::State { .. }) => "task.state",
        Published::Live(Live::Restored) => "session.restored",
        Published::Live(Live::Storage { .. }) => "session.storage",
        Published::Live(Live::Trigger { .. }) => "session.trigger",
    }
}

/// The name of a stream on the wire.
pub fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Output => "out",
        Stream::Error => "err",
    }
}

/// An event as JSON, on one line: a [`coven_api::event::Envelope`].
pub fn write_json(envelope: &Envelope) -> String {
    let live = |data| (None, What::Live { kind: event_kind(envelope), data });
    let (seq, what) = match &envelope.what {
        Published::Fact { seq, event } => match &**event {
            Event::Unknown { kind, data } => (Some(*seq), What::Unknown { kind, data }),
            event => (Some(*seq), What::Fact(event)),
        },
        Published::Live(Live::Output { job, stream: from, offset, length, clean }) => {
            let stream = stream_name(*from);
            live(Data::Output { job, stream, offset: *offset, len: *length, clean })
        }
        Published::Live(Live::State { job, verdict }) => live(Data::State { job, verdict }),
        Published::Live(Live::Storage { problem } | Live::Trigger { problem }) => {
            live(Data::Problem { problem })
        }
        Published::Live(Live::Restored) => live(Data::Nothing {}),
    };
    let written = Written {
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

    fn envelope(pos: Option<u64>, what: Published) -> Envelope {
        let session = SessionId::new("0199a2b4-0000-7000-8000-000000000001").unwrap();
        Envelope { pos, session, time: Timestamp::from_millis(5), what }
    }

    fn told(envelope: &Envelope) -> Told {
        let text = write_json(envelope);
        assert!(!text.contains('\n'), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_fact_is_written_as_the_api_says() {
        let event = Arc::new(Event::WorkflowStarted { at: Timestamp::from_millis(5) });
        let told = told(&envelope(Some(9), Published::Fact { seq: 2, event }));
        assert_eq!((told.v, told.pos, told.seq), (1, Some(9), Some(2)));
        assert_eq!((told.kind.as_str(), told.data), ("workflow.started", json!({"at": 5})));
    }

    #[test]
    fn a_fact_of_a_later_version_is_passed_on() {
        let event = Event::Unknown { kind: "task.sung".to_owned(), data: json!({"to": "moon"}) };
        let told = told(&envelope(None, Published::Fact { seq: 2, event: Arc::new(event) }));
        assert_eq!((told.kind.as_str(), told.data), ("task.sung", json!({"to": "moon"})));
        assert_eq!((told.pos, told.seq), (None, Some(2)));
    }

    #[test]
    fn what_is_live_has_no_number_and_stays_on_its_line() {
        let output = Live::Output {
            job: AttemptId { task: TaskId::new("build.1").unwrap(), attempt: 2 },
            stream: Stream::Error,
            offset: 7,
            length: 3,
            clean: "a\nb\r\n\n".into(),
        };
        let told = told(&envelope(None, Published::Live(output)));
        assert_eq!((told.pos, told.seq, told.kind.as_str()), (None, None, "task.output"));
        let expected = json!({"task": "build.1", "attempt": 2, "stream": "err", "offset": 7,
            "len": 3, "clean": "a\nb\r\n\n"});
        assert_eq!(told.data, expected);
    }
}
