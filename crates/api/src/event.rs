//! Events, as they go over the wire.

use coven_model::{SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::intervention::InterventionItem;
use crate::workflow::{WorkflowDetails, WorkflowItem};

/// The version of the envelope.
pub const ENVELOPE_VERSION: u32 = 1;

/// Something that happened. `docs/EVENTS.md` has every type with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventEnvelope {
    /// The version of this shape.
    pub v: u32,
    /// The place among all facts of the daemon. What is live has none, and neither has a fact that
    /// is replayed from one session's journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pos: Option<u64>,
    /// The place among the facts of its session, without holes. What is live has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it happened, by the daemon's clock.
    pub time: Timestamp,
    /// The type of the event, such as `task.started`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The session that the event is about.
    pub workflow_id: SessionId,
    /// The data of the event; its shape depends on the type.
    pub data: Value,
}

/// What `GET …/events` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventQuery {
    /// Everything after this; as the header `Last-Event-ID`, which counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Whether what is live is told too; so unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
}

/// How one session looks now: the first event of its stream without a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// The next fact is the one after this.
    pub seq: u64,
    /// Everything about the session.
    pub workflow: WorkflowDetails,
}

/// How everything looks now: the first event of `GET /events` without a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventSnapshot {
    /// The next fact is after this.
    pub pos: u64,
    /// The newest sessions, at most 200, and every one that is not over.
    pub workflows: Vec<WorkflowItem>,
    /// Everything that waits for a person.
    pub interventions: Vec<InterventionItem>,
}

/// Some events are no longer kept; a snapshot follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventGap {
    /// The cursor that was asked for.
    pub after: u64,
    /// The oldest event that is still kept.
    pub oldest: u64,
}

/// An event that a client posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PostEvent {
    /// Its type, such as `issue.opened`.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 200), regex(pattern = "^[A-Za-z0-9._:/-]+$"))]
    pub kind: String,
    /// What conditions and inputs of triggered grimoires see.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// Posting the same id again is the same event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The folder whose grimoires it may start, and in which they run: an absolute path. Without it,
    /// the daemon's workspace, so that no project's own grimoire is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// What an event started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggeredSessions {
    /// The sessions that the event started.
    pub started: Vec<SessionId>,
}
