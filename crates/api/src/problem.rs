//! How everything that goes wrong is told: `application/problem+json` with a stable code. Each
//! code has a page in `docs/errors/`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::TextDiagnostic;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $title:literal;)*) => {
        /// What went wrong, for programs.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        pub enum ProblemCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl ProblemCode {
            /// All codes, in the order of their definition.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as it is written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status of an answer with it.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// The same in a few words, for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    /// The request cannot be read.
    BadRequest = "bad-request", 400, "The request cannot be read";
    /// The request has no token of a device, or a wrong one.
    Unauthorized = "unauthorized", 401, "A device is needed";
    /// The request does not come from where it may.
    Forbidden = "forbidden", 403, "The request is not allowed from there";
    /// An agent asks for what only people may do.
    AgentMayNot = "agent-may-not", 403, "An agent may not do this";
    /// The device may look or answer, and this is more.
    RoleMayNot = "role-may-not", 403, "The device may not do this";
    /// The folder's own files were not agreed to.
    NotTrusted = "not-trusted", 403, "The folder is not trusted";
    /// The folder belongs to another user, or every user may write to it.
    NotOwned = "not-owned", 403, "The folder is not yours alone";
    /// The session was not made by this user in this folder.
    ForeignSession = "foreign-session", 403, "The session is foreign";
    /// The journal of the session is missing, cut off or changed.
    DamagedSession = "damaged-session", 409, "The session is damaged";
    /// The session cannot be made the user's own.
    NotImportable = "not-importable", 409, "The session cannot be imported";
    /// There is no such route.
    NotFound = "not-found", 404, "There is no such address";
    /// There is no such session.
    WorkflowNotFound = "workflow-not-found", 404, "There is no such session";
    /// There is no such task in the session.
    TaskNotFound = "task-not-found", 404, "There is no such task";
    /// There is no such intervention.
    InterventionNotFound = "intervention-not-found", 404, "There is no such intervention";
    /// There is no such grimoire.
    GrimoireNotFound = "grimoire-not-found", 404, "There is no such grimoire";
    /// The task works in no tree, or the tree has nothing that could be looked at.
    NoTree = "no-tree", 404, "There is no such tree";
    /// The tree has no such checkpoint.
    CheckpointNotFound = "checkpoint-not-found", 404, "There is no such checkpoint";
    /// The file does not differ.
    FileNotChanged = "file-not-changed", 404, "The file does not differ";
    /// The repository has no such branch.
    BranchNotFound = "branch-not-found", 404, "There is no such branch";
    /// There is no such device.
    DeviceNotFound = "device-not-found", 404, "There is no such device";
    /// The route does not know this method.
    MethodNotAllowed = "method-not-allowed", 405, "This method is not allowed here";
    /// The request took too long to arrive.
    RequestTimeout = "request-timeout", 408, "The request took too long";
    /// The session is not running.
    NotLive = "not-live", 409, "The session is not running";
    /// The task has no agent that could be asked.
    NoAgent = "no-agent", 409, "The task has no running agent";
    /// The intervention was decided before.
    AlreadyDecided = "already-decided", 409, "It was decided before";
    /// The agent shows something else by now.
    StaleDigest = "stale-digest", 409, "The agent shows something else by now";
    /// The session does not allow it as it stands.
    NotNow = "not-now", 409, "This is not possible now";
    /// git refused, or could not be run.
    GitFailed = "git-failed", 409, "git could not do it";
    /// The same idempotency key was used for something else.
    KeyReused = "key-reused", 409, "The idempotency key was used for another request";
    /// There is a device of this name.
    DeviceExists = "device-exists", 409, "There is a device of this name";
    /// Another program keeps the folder's sessions.
    BaseDirTaken = "base-dir-taken", 409, "Another program keeps the sessions of this folder";
    /// The body is too large.
    TooLarge = "too-large", 413, "The request is too large";
    /// The body is not JSON.
    UnsupportedMediaType = "unsupported-media-type", 415, "The body must be JSON";
    /// The definition has errors.
    BadDefinition = "bad-definition", 422, "The definition has errors";
    /// The inputs do not fit.
    BadInput = "bad-input", 422, "The inputs do not fit";
    /// The folder cannot be used.
    BadBaseDir = "bad-base-dir", 422, "The folder cannot be used";
    /// There is no such adapter, or its file is wrong.
    BadAdapter = "bad-adapter", 422, "The adapter cannot be used";
    /// The decision is none of the options, or lacks its text.
    BadDecision = "bad-decision", 422, "The decision does not fit";
    /// The route is a WebSocket, and the request opens none.
    UpgradeRequired = "upgrade-required", 426, "This is a WebSocket";
    /// There are too many of these at once.
    TooMany = "too-many", 429, "There are too many of these at once";
    /// The headers are too large.
    HeadersTooLarge = "headers-too-large", 431, "The headers are too large";
    /// Something in the daemon failed.
    Internal = "internal", 500, "Something failed inside";
    /// The daemon is going away.
    Stopping = "stopping", 503, "The daemon is stopping";
    /// The disk does not take it.
    Storage = "storage", 507, "The disk does not take it";
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{detail}")]
pub struct ApiProblem {
    /// Where the code is explained: a path below the project's documentation.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in a few words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What went wrong, for programs.
    pub code: ProblemCode,
    /// What exactly went wrong.
    pub detail: String,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What is wrong in a text, at its places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<TextDiagnostic>,
    /// Names the request in the daemon's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ApiProblem {
    /// A problem with this code.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("docs/errors/{code}.md"),
            title: code.title().to_owned(),
            status: code.status(),
            code,
            detail: detail.into(),
            hint: None,
            problems: Vec::new(),
            request_id: None,
        }
    }

    /// The same with what to do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same with places in a text.
    #[must_use]
    pub fn with_problems(self, problems: Vec<TextDiagnostic>) -> Self {
        Self { problems, ..self }
    }
}
