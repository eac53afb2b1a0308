//! A small typed client: over the daemon's socket, over TCP with a token, or over any byte stream.

mod events;
mod outputs;
mod terminal;
#[cfg(test)]
mod tests;
mod transport;
mod trees;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use coven_model::InterventionId;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};

pub use events::{EventScope, EventStream, StreamedEvent};
pub use terminal::{FromTerminal, TerminalConnection, ToTerminal};
use transport::{HttpAnswer, Transport};

use crate::catalogue::{
    AdapterList, BaseDirQuery, CheckRequest, CheckResponse, GrimoireList, GrimoireText,
};
use crate::device::{AddDevice, AddedDevice, DeviceList, MakeSignInCode, SignInCode};
use crate::event::{PostEvent, TriggeredSessions};
use crate::intervention::{DecideRequest, DecideResponse, InterventionList, InterventionQuery};
use crate::problem::ApiProblem;
use crate::system::{
    AcceptPolicy, BaseDirStatus, FolderTrust, ForeignSessions, ImportSession, ImportedSession,
    OpenBaseDir, PolicyStanding, SetTrust, ShutdownRequest, StatusResponse, TrustQuery,
    VersionResponse,
};
use crate::task::{
    AttemptQuery, LogQuery, LogText, OutputQuery, OutputText, ScreenSize, TaskScreen,
    TaskTranscript, TranscriptQuery, TypeRequest, TypeResponse, VerdictExplanation,
};
use crate::workflow::{
    ActionRequest, ListQuery, StartWorkflow, StartedSession, WorkflowDetails, WorkflowPage,
};

/// Where the daemon is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DaemonAddress {
    /// The daemon's socket, which only its user can open.
    Socket(PathBuf),
    /// Its port on loopback, with the token of a device.
    Tcp {
        /// The address that the daemon listens on.
        address: SocketAddr,
        /// The token of a device, as `coven device add NAME --token` gives it.
        token: String,
    },
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon is not there, or went away.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(String),
    /// The daemon says that something is wrong.
    #[error(transparent)]
    Problem(Box<ApiProblem>),
    /// The daemon's answer cannot be read, as it may be of another version.
    #[error("the daemon's answer cannot be read: {0}")]
    Unreadable(String),
}

/// A client of the daemon. Clones share their connections.
#[derive(Clone, Debug)]
pub struct ApiClient {
    transport: Transport,
}

impl ApiClient {
    /// A client of the daemon at this address. Nothing is sent yet.
    pub fn new(address: DaemonAddress) -> Result<Self, ClientError> {
        Ok(Self { transport: Transport::to(address)? })
    }

    /// A client of a daemon at the other end of byte streams of any kind: `connect` opens one for
    /// each connection, for example by starting a program and joining its output and its input.
    pub fn over<F, S>(connect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self { transport: Transport::over(connect) }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<HttpAnswer, ClientError> {
        self.send_with(method, path, HeaderMap::new(), body).await
    }

    async fn send_with(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: &impl Serialize,
    ) -> Result<HttpAnswer, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| unreadable(&error))?;
        self.transport.answer(method, path, headers, Some(body)).await
    }

    async fn fetch(&self, path: &str, query: &impl Serialize) -> Result<HttpAnswer, ClientError> {
        let path = format!("{path}{}", query_string(query));
        self.transport.answer(Method::GET, &path, HeaderMap::new(), None).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(&self.fetch(path, query).await?)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(&self.send(Method::POST, path, body).await?)
    }

    async fn act(&self, path: &str, body: &impl Serialize) -> Result<(), ClientError> {
        self.send(Method::POST, path, body).await.map(drop)
    }

    /// Starts a workflow. The same key with the same request gives the same session.
    pub async fn start(
        &self,
        what: &StartWorkflow,
        key: Option<&str>,
    ) -> Result<StartedSession, ClientError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let key = HeaderValue::from_str(key).map_err(|error| unreadable(&error))?;
            headers.insert("idempotency-key", key);
        }
        read(&self.send_with(Method::POST, "/workflows", headers, what).await?)
    }

    /// Lists sessions, the newest first.
    pub async fn workflows(&self, query: &ListQuery) -> Result<WorkflowPage, ClientError> {
        self.get("/workflows", query).await
    }

    /// Everything about a session.
    pub async fn workflow(&self, id: &str) -> Result<WorkflowDetails, ClientError> {
        self.get(&format!("/workflows/{}", part(id)), &()).await
    }

    /// Cancels the run of a session.
    pub async fn cancel(
        &self,
        id: &str,
        wish: &ActionRequest,
    ) -> Result<WorkflowDetails, ClientError> {
        let path = format!("/workflows/{}", part(id));
        read(&self.send(Method::DELETE, &path, wish).await?)
    }

    /// Lets a session go on.
    pub async fn resume(
        &self,
        id: &str,
        wish: &ActionRequest,
    ) -> Result<WorkflowDetails, ClientError> {
        self.post(&format!("/workflows/{}/resume", part(id)), wish).await
    }

    /// Tries what failed again.
    pub async fn retry(
        &self,
        id: &str,
        wish: &ActionRequest,
    ) -> Result<WorkflowDetails, ClientError> {
        self.post(&format!("/workflows/{}/retry", part(id)), wish).await
    }

    /// Deletes a session that is over.
    pub async fn purge(&self, id: &str) -> Result<(), ClientError> {
        self.act(&format!("/workflows/{}/purge", part(id)), &ActionRequest::default()).await
    }

    /// Follows what happens: after this cursor, or from a snapshot on.
    pub fn events(&self, scope: &EventScope, after: Option<u64>) -> EventStream {
        EventStream::new(self.clone(), scope.path(), after)
    }

    /// What the terminal of a task shows.
    pub async fn screen(
        &self,
        id: &str,
        task: &str,
        query: AttemptQuery,
    ) -> Result<TaskScreen, ClientError> {
        self.get(&task_path(id, task, "screen"), &query).await
    }

    /// What a task printed.
    pub async fn output(
        &self,
        id: &str,
        task: &str,
        query: &OutputQuery,
    ) -> Result<OutputText, ClientError> {
        self.get(&task_path(id, task, "output"), query).await
    }

    /// What the terminal of a task showed, line by line.
    pub async fn log(&self, id: &str, task: &str, query: LogQuery) -> Result<LogText, ClientError> {
        self.get(&task_path(id, task, "log"), &query).await
    }

    /// What a task printed, as it came, and where the next piece begins.
    pub async fn output_bytes(
        &self,
        id: &str,
        task: &str,
        query: &OutputQuery,
    ) -> Result<(Vec<u8>, u64), ClientError> {
        let query = OutputQuery { raw: Some(true), ..query.clone() };
        let answer = self.fetch(&task_path(id, task, "output"), &query).await?;
        let next = answer.headers.get("x-next-offset").and_then(|next| next.to_str().ok());
        let next = next.and_then(|next| next.parse().ok()).ok_or_else(|| {
            ClientError::Unreadable("it does not say where the next piece begins".to_owned())
        })?;
        Ok((answer.body.to_vec(), next))
    }

    /// What a headless agent did.
    pub async fn transcript(
        &self,
        id: &str,
        task: &str,
        query: &TranscriptQuery,
    ) -> Result<TaskTranscript, ClientError> {
        self.get(&task_path(id, task, "transcript"), query).await
    }

    /// A task as an asciicast file.
    pub async fn recording(
        &self,
        id: &str,
        task: &str,
        query: AttemptQuery,
    ) -> Result<Vec<u8>, ClientError> {
        let answer = self.fetch(&task_path(id, task, "recording"), &query).await?;
        Ok(answer.body.to_vec())
    }

    /// Why we think what we say of a task.
    pub async fn explain(&self, id: &str, task: &str) -> Result<VerdictExplanation, ClientError> {
        self.get(&task_path(id, task, "explain"), &()).await
    }

    /// Types to the agent of a task.
    pub async fn input(
        &self,
        id: &str,
        task: &str,
        typing: &TypeRequest,
    ) -> Result<TypeResponse, ClientError> {
        self.post(&task_path(id, task, "input"), typing).await
    }

    /// Gives the terminal of a task another size.
    pub async fn resize(&self, id: &str, task: &str, size: ScreenSize) -> Result<(), ClientError> {
        self.act(&task_path(id, task, "resize"), &size).await
    }

    /// Presses the interrupt key of a task's agent.
    pub async fn interrupt(&self, id: &str, task: &str) -> Result<(), ClientError> {
        self.act(&task_path(id, task, "interrupt"), &EmptyBody {}).await
    }

    /// Says that a task is done.
    pub async fn complete(&self, id: &str, task: &str) -> Result<(), ClientError> {
        self.act(&task_path(id, task, "complete"), &EmptyBody {}).await
    }

    /// Stops the agent of a task.
    pub async fn stop(&self, id: &str, task: &str) -> Result<(), ClientError> {
        self.act(&task_path(id, task, "stop"), &EmptyBody {}).await
    }

    /// What waits for a person.
    pub async fn interventions(
        &self,
        query: &InterventionQuery,
    ) -> Result<InterventionList, ClientError> {
        self.get("/interventions", query).await
    }

    /// Decides what waits for a person.
    pub async fn decide(
        &self,
        id: &InterventionId,
        decide: &DecideRequest,
    ) -> Result<DecideResponse, ClientError> {
        self.post(&format!("/interventions/{id}"), decide).await
    }

    /// The grimoires there are.
    pub async fn grimoires(&self, query: &BaseDirQuery) -> Result<GrimoireList, ClientError> {
        self.get("/grimoires", query).await
    }

    /// One grimoire with its text.
    pub async fn grimoire(
        &self,
        name: &str,
        query: &BaseDirQuery,
    ) -> Result<GrimoireText, ClientError> {
        self.get(&format!("/grimoires/{}", part(name)), query).await
    }

    /// Checks a definition without starting it.
    pub async fn check(&self, check: &CheckRequest) -> Result<CheckResponse, ClientError> {
        self.post("/grimoires/check", check).await
    }

    /// The agents that can be run.
    pub async fn adapters(&self, query: &BaseDirQuery) -> Result<AdapterList, ClientError> {
        self.get("/adapters", query).await
    }

    /// Tells of an event.
    pub async fn post_event(&self, event: &PostEvent) -> Result<TriggeredSessions, ClientError> {
        self.post("/events", event).await
    }

    /// What a folder brings along.
    pub async fn trust(&self, query: &TrustQuery) -> Result<FolderTrust, ClientError> {
        self.get("/trust", query).await
    }

    /// Agrees to what a folder brings along, or no longer.
    pub async fn set_trust(&self, trust: &SetTrust) -> Result<FolderTrust, ClientError> {
        self.post("/trust", trust).await
    }

    /// The foreign sessions of a folder, and what importing them would do.
    pub async fn foreign_sessions(
        &self,
        query: &BaseDirQuery,
    ) -> Result<ForeignSessions, ClientError> {
        self.get("/import", query).await
    }

    /// Makes a foreign session the user's own.
    pub async fn import(&self, import: &ImportSession) -> Result<ImportedSession, ClientError> {
        self.post("/import", import).await
    }

    /// The user's policy, and whether it counts.
    pub async fn policy(&self) -> Result<PolicyStanding, ClientError> {
        self.get("/policy", &()).await
    }

    /// Agrees to the user's policy as it was seen.
    pub async fn accept_policy(
        &self,
        accept: &AcceptPolicy,
    ) -> Result<PolicyStanding, ClientError> {
        self.post("/policy", accept).await
    }

    /// Lets a folder be known, with its sessions.
    pub async fn open_base_dir(&self, open: &OpenBaseDir) -> Result<BaseDirStatus, ClientError> {
        self.post("/base-dirs", open).await
    }

    /// A code that signs a browser in.
    pub async fn sign_in_code(&self, make: &MakeSignInCode) -> Result<SignInCode, ClientError> {
        self.post("/sign-in/codes", make).await
    }

    /// The devices that may use the daemon over TCP.
    pub async fn devices(&self) -> Result<DeviceList, ClientError> {
        self.get("/devices", &()).await
    }

    /// Adds a program, which gets a token.
    pub async fn add_device(&self, add: &AddDevice) -> Result<AddedDevice, ClientError> {
        self.post("/devices", add).await
    }

    /// Removes a device. Its tokens and connections end.
    pub async fn remove_device(&self, name: &str) -> Result<(), ClientError> {
        let path = format!("/devices/{}", part(name));
        self.send(Method::DELETE, &path, &EmptyBody {}).await.map(drop)
    }

    /// What the daemon does.
    pub async fn status(&self) -> Result<StatusResponse, ClientError> {
        self.get("/status", &()).await
    }

    /// Which daemon this is.
    pub async fn version(&self) -> Result<VersionResponse, ClientError> {
        self.get("/version", &()).await
    }

    /// Lets the daemon go away.
    pub async fn shutdown(&self, how: ShutdownRequest) -> Result<(), ClientError> {
        self.act("/shutdown", &how).await
    }

    /// The terminal of a task.
    pub async fn attach(
        &self,
        id: &str,
        task: &str,
        query: crate::attach::AttachQuery,
    ) -> Result<TerminalConnection, ClientError> {
        let path = format!("{}{}", task_path(id, task, "attach"), query_string(&query));
        TerminalConnection::open(&self.transport, &path).await
    }
}

/// The body of requests that take no arguments.
#[derive(Serialize)]
struct EmptyBody {}

/// The path of something about a task.
fn task_path(id: &str, task: &str, what: &str) -> String {
    format!("/workflows/{}/tasks/{}/{what}", part(id), part(task))
}

/// A text as one part of a path or a query.
fn part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            part.push(char::from(byte));
        } else {
            part = format!("{part}%{byte:02X}");
        }
    }
    // Two dots alone would mean another folder.
    if part.chars().all(|character| character == '.') { part.replace('.', "%2E") } else { part }
}

/// The fields of a struct as a query; those that are nothing are left out.
fn query_string(query: &impl Serialize) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(query) else {
        return String::new();
    };
    let fields: BTreeMap<String, serde_json::Value> = fields.into_iter().collect();
    let mut text = String::new();
    for (name, value) in fields {
        let value = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::String(value) => value,
            other => other.to_string(),
        };
        let before = if text.is_empty() { "?" } else { "&" };
        text = format!("{text}{before}{}={}", part(&name), part(&value));
    }
    text
}

fn problem(status: StatusCode, body: &[u8]) -> ClientError {
    if let Ok(problem) = serde_json::from_slice::<ApiProblem>(body) {
        return ClientError::Problem(Box::new(problem));
    }
    let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
    ClientError::Unreadable(format!("status {status}: {text}"))
}

fn read<T: DeserializeOwned>(answer: &HttpAnswer) -> Result<T, ClientError> {
    serde_json::from_slice(&answer.body).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn std::fmt::Display) -> ClientError {
    ClientError::Unreadable(error.to_string())
}

impl EventScope {
    fn path(&self) -> String {
        match self {
            Self::Everything => "/events".to_owned(),
            Self::Workflow(id) => format!("/workflows/{}/events", part(id)),
        }
    }
}
