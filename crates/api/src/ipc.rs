//! The conversation of interfaces over the WebSocket `/ipc`: commands with an id are answered with
//! that id, and events are pushed. The names are those of the source this grew from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The subprotocol of this conversation.
pub const SUBPROTOCOL: &str = "coven.ipc.v1";

/// The commands there are.
pub const COMMANDS: [&str; 10] = [
    "workflow:execute",
    "workflow:stop",
    "task:interact",
    "task:resize",
    "task:complete",
    "adapter:list",
    "session:list",
    "session:load",
    "session:resume",
    "session:delete",
];

/// The events there are.
pub const EVENTS: [&str; 6] = [
    "orchestrator:stateChange",
    "orchestrator:taskStatusChange",
    "orchestrator:taskOutput",
    "orchestrator:interactionNeeded",
    "orchestrator:workflowStarted",
    "orchestrator:error",
];

/// A command of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IpcCommand {
    /// Names the command in its answer: a number or a text.
    pub id: Value,
    /// The name of the command, one of [`COMMANDS`].
    pub command: String,
    /// The arguments of the command.
    #[serde(default)]
    pub args: Value,
}

/// The answer to one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IpcAnswer {
    /// The id of the command that is answered.
    pub id: Value,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::ApiProblem>,
}

/// A pushed event. Its data always has `sessionId`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IpcPush {
    /// The name of the event, one of [`EVENTS`].
    pub event: String,
    /// The data of the event.
    pub data: Value,
}
