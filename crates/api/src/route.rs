//! Every route of the daemon: what it is called with and what it answers. The published document
//! is made from this list, and the daemon's own tests hold its router against it.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

use crate::attach::AttachQuery;
use crate::catalogue::{
    AdapterList, BaseDirQuery, CheckRequest, CheckResponse, GrimoireList, GrimoireText,
};
use crate::changes::{
    AgentComments, AgentCommentsQuery, ChangesQuery, FileChanges, FileChangesQuery, ReviewAnswer,
    SendReview, TreeChanges,
};
use crate::device::{
    AddDevice, AddedDevice, AskChallenge, DeviceList, DeviceRole, MakeSignInCode, SignIn,
    SignInChallenge, SignInCode, SignedIn,
};
use crate::event::{EventEnvelope, EventQuery, PostEvent, TriggeredSessions};
use crate::intervention::{DecideRequest, DecideResponse, InterventionList, InterventionQuery};
use crate::problem::ProblemCode;
use crate::system::{
    AcceptPolicy, BaseDirStatus, FolderTrust, ForeignSessions, HealthResponse, ImportSession,
    ImportedSession, OpenBaseDir, PolicyStanding, SetTrust, ShutdownRequest, StatusResponse,
    TrustQuery, VersionResponse,
};
use crate::task::{
    AgentReport, AttemptQuery, LogQuery, LogText, OutputQuery, OutputText, ReportAnswer,
    ScreenSize, TaskScreen, TaskTranscript, TranscriptQuery, TypeRequest, TypeResponse,
    VerdictExplanation,
};
use crate::tree::{
    MergeAnswer, MergeRequest, PruneTrees, PrunedTrees, RestoreTree, RestoredTree, TreeList,
    TreesQuery,
};
use crate::workflow::{
    ActionRequest, ListQuery, SessionOutputs, StartWorkflow, StartedSession, WorkflowDetails,
    WorkflowPage,
};

/// The HTTP method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads, and changes nothing.
    Get,
    /// Starts or changes something.
    Post,
    /// Ends a run or removes something.
    Delete,
}

impl HttpMethod {
    /// As it stands in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Makes the schema of a type.
pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// What a route answers when all is well.
#[derive(Clone, Copy, Debug)]
pub enum RouteAnswer {
    /// A JSON value, with this status.
    Json(u16, MakeSchema),
    /// Nothing, with status 204.
    Nothing,
    /// A stream of events.
    Events(MakeSchema),
    /// The connection becomes a WebSocket.
    Socket,
    /// Something else, of this media type.
    Other(&'static str),
}

/// One route of the API, as the document describes it.
#[derive(Clone, Copy, Debug)]
pub struct ApiRoute {
    /// The HTTP method of the request.
    pub method: HttpMethod,
    /// The path; what varies is in braces.
    pub path: &'static str,
    /// The name of the operation.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What may stand in the query.
    pub query: Option<MakeSchema>,
    /// What the body is; and whether there must be one.
    pub body: Option<(MakeSchema, bool)>,
    /// What the route answers when all is well.
    pub answers: RouteAnswer,
    /// The media type that it may be asked for instead.
    pub instead: Option<&'static str>,
    /// What can go wrong besides what can always.
    pub problems: &'static [ProblemCode],
    /// Who may use it.
    pub access: RouteAccess,
}

/// Who may use a route. Over the socket that is the daemon's own user, whatever stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Every client that is heard at all.
    Open,
    /// A device with this role, or one that may do more.
    Device(DeviceRole),
    /// No device: it is there over the socket only.
    Socket,
    /// No device and nothing of the user's: an agent that shows the token of its own attempt, over
    /// loopback only.
    Report,
}

impl RouteAccess {
    /// As it stands in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Device(role) => role.as_str(),
            Self::Socket => "socket",
            Self::Report => "report",
        }
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn get(path: &'static str, name: &'static str, summary: &'static str) -> ApiRoute {
    ApiRoute {
        method: HttpMethod::Get,
        path,
        name,
        summary,
        query: None,
        body: None,
        answers: RouteAnswer::Nothing,
        instead: None,
        problems: &[],
        access: RouteAccess::Device(DeviceRole::Look),
    }
}

const fn post(path: &'static str, name: &'static str, summary: &'static str) -> ApiRoute {
    let access = RouteAccess::Device(DeviceRole::Full);
    ApiRoute { method: HttpMethod::Post, access, ..get(path, name, summary) }
}

impl ApiRoute {
    const fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(of::<T>), ..self }
    }

    const fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some((of::<T>, true)), ..self }
    }

    const fn may_take<T: JsonSchema>(self) -> Self {
        Self { body: Some((of::<T>, false)), ..self }
    }

    const fn or_as(self, media: &'static str) -> Self {
        Self { instead: Some(media), ..self }
    }

    const fn gives<T: JsonSchema>(self) -> Self {
        Self { answers: RouteAnswer::Json(200, of::<T>), ..self }
    }

    const fn creates<T: JsonSchema>(self) -> Self {
        Self { answers: RouteAnswer::Json(201, of::<T>), ..self }
    }

    const fn answers(self, answers: RouteAnswer) -> Self {
        Self { answers, ..self }
    }

    const fn or(self, problems: &'static [ProblemCode]) -> Self {
        Self { problems, ..self }
    }

    const fn open(self) -> Self {
        Self { access: RouteAccess::Open, ..self }
    }

    const fn by(self, role: DeviceRole) -> Self {
        Self { access: RouteAccess::Device(role), ..self }
    }

    const fn of_agent(self) -> Self {
        Self { access: RouteAccess::Report, ..self }
    }

    const fn socket_only(self) -> Self {
        Self { access: RouteAccess::Socket, ..self }
    }
}

const START_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::NotTrusted,
    ProblemCode::GrimoireNotFound,
    ProblemCode::KeyReused,
    ProblemCode::NotNow,
    ProblemCode::BaseDirTaken,
    ProblemCode::BadDefinition,
    ProblemCode::BadInput,
    ProblemCode::BadBaseDir,
    ProblemCode::BadAdapter,
    ProblemCode::Storage,
];
const WORKFLOW_PROBLEMS: &[ProblemCode] =
    &[ProblemCode::WorkflowNotFound, ProblemCode::DamagedSession];
const CHANGE_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::NotLive,
    ProblemCode::NotNow,
    ProblemCode::Storage,
];
const TASK_PROBLEMS: &[ProblemCode] =
    &[ProblemCode::WorkflowNotFound, ProblemCode::TaskNotFound, ProblemCode::DamagedSession];
const AGENT_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::NotLive,
    ProblemCode::NoAgent,
    ProblemCode::NotNow,
];
const TYPE_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::NotLive,
    ProblemCode::NoAgent,
    ProblemCode::NotNow,
    ProblemCode::BadInput,
];
const DECIDE_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::InterventionNotFound,
    ProblemCode::NotLive,
    ProblemCode::AlreadyDecided,
    ProblemCode::StaleDigest,
    ProblemCode::NotNow,
    ProblemCode::BadDecision,
    ProblemCode::Storage,
];
const CHANGES_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::DamagedSession,
    ProblemCode::NoTree,
    ProblemCode::CheckpointNotFound,
    ProblemCode::FileNotChanged,
    ProblemCode::GitFailed,
    ProblemCode::BadInput,
];
const COMMENTS_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::DamagedSession,
    ProblemCode::NoTree,
    ProblemCode::GitFailed,
    ProblemCode::BadInput,
];
const REVIEW_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::NoTree,
    ProblemCode::CheckpointNotFound,
    ProblemCode::FileNotChanged,
    ProblemCode::GitFailed,
    ProblemCode::BadInput,
    ProblemCode::NotLive,
    ProblemCode::NoAgent,
    ProblemCode::NotNow,
];
const LAND_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::NoTree,
    ProblemCode::BranchNotFound,
    ProblemCode::GitFailed,
    ProblemCode::BadInput,
    ProblemCode::NotNow,
    ProblemCode::Storage,
];
const RESTORE_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::ForeignSession,
    ProblemCode::DamagedSession,
    ProblemCode::BaseDirTaken,
    ProblemCode::WorkflowNotFound,
    ProblemCode::TaskNotFound,
    ProblemCode::NoTree,
    ProblemCode::CheckpointNotFound,
    ProblemCode::GitFailed,
    ProblemCode::NotNow,
    ProblemCode::Storage,
];
const FOLDER_PROBLEMS: &[ProblemCode] = &[ProblemCode::BadBaseDir];
const OPEN_FOLDER_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::AgentMayNot,
    ProblemCode::NotOwned,
    ProblemCode::NotNow,
    ProblemCode::BadBaseDir,
    ProblemCode::BaseDirTaken,
    ProblemCode::Storage,
];
const PEOPLE_ONLY_PROBLEMS: &[ProblemCode] = &[ProblemCode::AgentMayNot];

/// All routes, in the order of the document.
pub const ROUTES: &[ApiRoute] = &[
    post("/workflows", "startWorkflow", "Start a workflow; answers before it has ended")
        .takes::<StartWorkflow>()
        .creates::<StartedSession>()
        .or(START_PROBLEMS),
    get("/workflows", "listWorkflows", "List sessions, the newest first")
        .query::<ListQuery>()
        .gives::<WorkflowPage>()
        .or(&[ProblemCode::NotOwned, ProblemCode::BadBaseDir, ProblemCode::BadInput]),
    get("/workflows/{id}", "getWorkflow", "Everything about a session")
        .gives::<WorkflowDetails>()
        .or(WORKFLOW_PROBLEMS),
    get("/workflows/{id}/outputs", "getOutputs", "What the steps of a session gave, whole")
        .gives::<SessionOutputs>()
        .or(WORKFLOW_PROBLEMS),
    ApiRoute {
        method: HttpMethod::Delete,
        access: RouteAccess::Device(DeviceRole::Full),
        ..get("/workflows/{id}", "cancelWorkflow", "Cancel a session: its agents are stopped")
            .may_take::<ActionRequest>()
            .gives::<WorkflowDetails>()
            .or(CHANGE_PROBLEMS)
    },
    post("/workflows/{id}/resume", "resumeWorkflow", "Let a session go on from where it stands")
        .may_take::<ActionRequest>()
        .gives::<WorkflowDetails>()
        .or(CHANGE_PROBLEMS),
    post("/workflows/{id}/retry", "retryWorkflow", "Try what failed again")
        .may_take::<ActionRequest>()
        .gives::<WorkflowDetails>()
        .or(CHANGE_PROBLEMS),
    post("/workflows/{id}/purge", "purgeWorkflow", "Delete a session that is over")
        .may_take::<ActionRequest>()
        .answers(RouteAnswer::Nothing)
        .or(CHANGE_PROBLEMS),
    get("/workflows/{id}/events", "followWorkflow", "What happens in a session, as it happens")
        .query::<EventQuery>()
        .answers(RouteAnswer::Events(of::<EventEnvelope>))
        .or(&[ProblemCode::WorkflowNotFound, ProblemCode::TooMany]),
    get("/workflows/{id}/tasks/{task}/screen", "getScreen", "What the terminal of a task shows")
        .query::<AttemptQuery>()
        .gives::<TaskScreen>()
        .or(TASK_PROBLEMS),
    get("/workflows/{id}/tasks/{task}/output", "getOutput", "What a task printed, piece by piece")
        .query::<OutputQuery>()
        .gives::<OutputText>()
        .or_as("application/octet-stream")
        .or(TASK_PROBLEMS),
    get(
        "/workflows/{id}/tasks/{task}/log",
        "getLog",
        "What the terminal of a task showed, as lines",
    )
    .query::<LogQuery>()
    .gives::<LogText>()
    .or(TASK_PROBLEMS),
    get(
        "/workflows/{id}/tasks/{task}/transcript",
        "getTranscript",
        "What an agent without a terminal said and did; as a stream of `entry` events too",
    )
    .query::<TranscriptQuery>()
    .gives::<TaskTranscript>()
    .or_as("text/event-stream")
    .or(TASK_PROBLEMS),
    get("/workflows/{id}/tasks/{task}/recording", "getRecording", "A task as an asciicast v2 file")
        .query::<AttemptQuery>()
        .answers(RouteAnswer::Other("application/x-asciicast"))
        .or(TASK_PROBLEMS),
    get("/workflows/{id}/tasks/{task}/explain", "explainTask", "Why we think what we say of it")
        .gives::<VerdictExplanation>()
        .or(TASK_PROBLEMS),
    post("/workflows/{id}/tasks/{task}/input", "typeToTask", "Type to the agent of a task")
        .takes::<TypeRequest>()
        .gives::<TypeResponse>()
        .by(DeviceRole::Answer)
        .or(TYPE_PROBLEMS),
    post("/workflows/{id}/tasks/{task}/resize", "resizeTask", "Give its terminal another size")
        .takes::<ScreenSize>()
        .answers(RouteAnswer::Nothing)
        .by(DeviceRole::Answer)
        .or(AGENT_PROBLEMS),
    post("/workflows/{id}/tasks/{task}/interrupt", "interruptTask", "Press its interrupt key")
        .answers(RouteAnswer::Nothing)
        .by(DeviceRole::Answer)
        .or(AGENT_PROBLEMS),
    post("/workflows/{id}/tasks/{task}/complete", "completeTask", "Say that a task is done")
        .answers(RouteAnswer::Nothing)
        .or(AGENT_PROBLEMS),
    post("/workflows/{id}/tasks/{task}/stop", "stopTask", "Stop its agent; the task has failed")
        .answers(RouteAnswer::Nothing)
        .or(AGENT_PROBLEMS),
    get("/workflows/{id}/tasks/{task}/attach", "attachTask", "Its terminal, over WebSocket")
        .query::<AttachQuery>()
        .answers(RouteAnswer::Socket)
        .or(&[
            ProblemCode::WorkflowNotFound,
            ProblemCode::TaskNotFound,
            ProblemCode::NoAgent,
            ProblemCode::TooMany,
        ]),
    get("/workflows/{id}/tasks/{task}/changes", "getChanges", "What changed in the tree of a task")
        .query::<ChangesQuery>()
        .gives::<TreeChanges>()
        .or(CHANGES_PROBLEMS),
    get(
        "/workflows/{id}/tasks/{task}/changes/file",
        "getFileChanges",
        "What changed in one file, line by line",
    )
    .query::<FileChangesQuery>()
    .gives::<FileChanges>()
    .or(CHANGES_PROBLEMS),
    get(
        "/workflows/{id}/tasks/{task}/changes/patch",
        "getPatch",
        "What changed, as a patch that git takes; with 5 MiB of files at most, the others are named in it",
    )
    .query::<ChangesQuery>()
    .answers(RouteAnswer::Other("text/x-diff"))
    .or(CHANGES_PROBLEMS),
    get(
        "/workflows/{id}/tasks/{task}/comments",
        "getAgentComments",
        "What agents with `expect: comments` say about the work of a task",
    )
    .query::<AgentCommentsQuery>()
    .gives::<AgentComments>()
    .or(COMMENTS_PROBLEMS),
    post(
        "/workflows/{id}/tasks/{task}/review",
        "sendReview",
        "Send comments about its changes to the agent of a task",
    )
    .takes::<SendReview>()
    .gives::<ReviewAnswer>()
    .by(DeviceRole::Answer)
    .or(REVIEW_PROBLEMS),
    get("/workflows/{id}/trees", "listTreesOfWorkflow", "The trees of a session")
        .query::<TreesQuery>()
        .gives::<TreeList>()
        .or(WORKFLOW_PROBLEMS),
    post("/workflows/{id}/merge", "mergeTree", "Bring a tree onto a branch, or say what would be")
        .takes::<MergeRequest>()
        .gives::<MergeAnswer>()
        .or(LAND_PROBLEMS),
    get("/trees", "listTrees", "The trees of all sessions")
        .query::<TreesQuery>()
        .gives::<TreeList>(),
    post("/trees/prune", "pruneTrees", "Remove the trees that are landed or empty")
        .may_take::<PruneTrees>()
        .gives::<PrunedTrees>()
        .or(LAND_PROBLEMS),
    post("/trees/restore", "restoreTree", "Bring back what a checkpoint holds")
        .takes::<RestoreTree>()
        .gives::<RestoredTree>()
        .or(RESTORE_PROBLEMS),
    post("/hook/{session}/{task}/{attempt}", "takeReport", "What an agent reports by itself")
        .takes::<AgentReport>()
        .gives::<ReportAnswer>()
        .of_agent(),
    get("/interventions", "listInterventions", "What waits for a person")
        .query::<InterventionQuery>()
        .gives::<InterventionList>()
        .or(&[ProblemCode::WorkflowNotFound, ProblemCode::BadInput]),
    post("/interventions/{session}/{number}", "decide", "Decide what waits for a person")
        .takes::<DecideRequest>()
        .gives::<DecideResponse>()
        .by(DeviceRole::Answer)
        .or(DECIDE_PROBLEMS),
    get("/grimoires", "listGrimoires", "The grimoires there are")
        .query::<BaseDirQuery>()
        .gives::<GrimoireList>()
        .or(FOLDER_PROBLEMS),
    get("/grimoires/{name}", "getGrimoire", "A grimoire with its text and what is wrong with it")
        .query::<BaseDirQuery>()
        .gives::<GrimoireText>()
        .or(&[ProblemCode::GrimoireNotFound, ProblemCode::BadBaseDir]),
    post("/grimoires/check", "checkDefinition", "Check a definition without running it")
        .takes::<CheckRequest>()
        .gives::<CheckResponse>()
        .by(DeviceRole::Look)
        .or(FOLDER_PROBLEMS),
    get("/adapters", "listAdapters", "The agents that can be run")
        .query::<BaseDirQuery>()
        .gives::<AdapterList>()
        .or(FOLDER_PROBLEMS),
    get("/events", "followEverything", "What happens everywhere, as it happens")
        .query::<EventQuery>()
        .answers(RouteAnswer::Events(of::<EventEnvelope>))
        .or(&[ProblemCode::TooMany]),
    post("/events", "postEvent", "Tell of an event; grimoires may wait for it")
        .takes::<PostEvent>()
        .gives::<TriggeredSessions>()
        .or(OPEN_FOLDER_PROBLEMS),
    get("/policy", "getPolicy", "The user's policy, and whether it counts")
        .gives::<PolicyStanding>(),
    post("/policy", "acceptPolicy", "Agree to the user's policy as it is")
        .takes::<AcceptPolicy>()
        .gives::<PolicyStanding>()
        .or(&[ProblemCode::AgentMayNot, ProblemCode::StaleDigest, ProblemCode::BadRequest]),
    get("/trust", "getTrust", "What a folder brings along, and whether it may be used")
        .query::<TrustQuery>()
        .gives::<FolderTrust>()
        .or(FOLDER_PROBLEMS),
    post("/trust", "setTrust", "Agree to what a folder brings along, or no longer")
        .takes::<SetTrust>()
        .gives::<FolderTrust>()
        .socket_only()
        .or(&[
            ProblemCode::AgentMayNot,
            ProblemCode::NotOwned,
            ProblemCode::StaleDigest,
            ProblemCode::BadBaseDir,
        ]),
    get("/import", "listForeign", "The foreign sessions of a folder, and what importing would do")
        .query::<BaseDirQuery>()
        .gives::<ForeignSessions>()
        .or(FOLDER_PROBLEMS),
    post("/import", "importSession", "Make a foreign session your own")
        .takes::<ImportSession>()
        .gives::<ImportedSession>()
        .socket_only()
        .or(&[
            ProblemCode::AgentMayNot,
            ProblemCode::NotOwned,
            ProblemCode::StaleDigest,
            ProblemCode::NotImportable,
            ProblemCode::BadBaseDir,
            ProblemCode::BaseDirTaken,
            ProblemCode::Storage,
        ]),
    post("/sign-in/codes", "makeSignInCode", "A code that signs a browser in")
        .may_take::<MakeSignInCode>()
        .creates::<SignInCode>()
        .socket_only()
        .or(&[
            ProblemCode::AgentMayNot,
            ProblemCode::DeviceExists,
            ProblemCode::BadInput,
            ProblemCode::NotNow,
        ]),
    post("/sign-in/challenge", "askChallenge", "The daemon's signature, and what to sign in turn")
        .takes::<AskChallenge>()
        .gives::<SignInChallenge>()
        .open()
        .or(&[ProblemCode::AgentMayNot, ProblemCode::NotNow]),
    post("/sign-in", "signIn", "Sign in with a device's key, the first time with a code")
        .takes::<SignIn>()
        .gives::<SignedIn>()
        .open()
        .or(&[ProblemCode::AgentMayNot, ProblemCode::DeviceExists, ProblemCode::NotNow]),
    get("/devices", "listDevices", "The devices that may use the daemon over TCP")
        .gives::<DeviceList>()
        .socket_only(),
    post("/devices", "addDevice", "Add a program, which gets a token")
        .takes::<AddDevice>()
        .creates::<AddedDevice>()
        .socket_only()
        .or(&[ProblemCode::AgentMayNot, ProblemCode::DeviceExists, ProblemCode::BadInput]),
    ApiRoute {
        method: HttpMethod::Delete,
        ..get("/devices/{name}", "removeDevice", "Remove a device; its connections end")
            .answers(RouteAnswer::Nothing)
            .socket_only()
            .or(&[ProblemCode::AgentMayNot, ProblemCode::DeviceNotFound])
    },
    post("/base-dirs", "openBaseDir", "Let the sessions of a folder be listed with the others")
        .takes::<OpenBaseDir>()
        .gives::<BaseDirStatus>()
        .or(OPEN_FOLDER_PROBLEMS),
    get("/status", "getStatus", "What the daemon does").gives::<StatusResponse>(),
    post("/shutdown", "shutdown", "Let the daemon go away")
        .may_take::<ShutdownRequest>()
        .answers(RouteAnswer::Nothing)
        .socket_only()
        .or(PEOPLE_ONLY_PROBLEMS),
    get("/health", "getHealth", "Whether the daemon is there").gives::<HealthResponse>().open(),
    get("/version", "getVersion", "Which daemon this is").gives::<VersionResponse>().open(),
    get("/metrics", "getMetrics", "Numbers, in the text format of Prometheus")
        .answers(RouteAnswer::Other("text/plain")),
    get("/openapi.json", "getDocument", "This document")
        .answers(RouteAnswer::Other("application/json"))
        .open(),
    get("/ipc", "ipc", "The conversation of interfaces, over WebSocket")
        .answers(RouteAnswer::Socket),
];

/// What can go wrong with any request.
pub const COMMON_PROBLEMS: &[ProblemCode] = &[
    ProblemCode::BadRequest,
    ProblemCode::Unauthorized,
    ProblemCode::Forbidden,
    ProblemCode::RoleMayNot,
    ProblemCode::RequestTimeout,
    ProblemCode::TooLarge,
    ProblemCode::UnsupportedMediaType,
    ProblemCode::TooMany,
    ProblemCode::HeadersTooLarge,
    ProblemCode::Internal,
    ProblemCode::Stopping,
    ProblemCode::Storage,
];
