//! The daemon itself: whether it is there, what it does, who may use it.

use std::collections::BTreeMap;

use coven_model::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthResponse {
    /// Whether the daemon takes requests: `ok`, or `stopping`.
    pub status: String,
}

/// The answer of `GET /version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionResponse {
    /// The version of the program.
    pub version: String,
    /// The version of this API.
    pub api: u32,
    /// The version of the facts it writes.
    pub events: u32,
    /// The process id of the daemon.
    pub pid: u32,
}

/// The answer of `GET /status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResponse {
    /// The version of the program.
    pub version: String,
    /// The process id of the daemon.
    pub pid: u32,
    /// Since when it runs.
    pub since: Timestamp,
    /// The resident memory of the daemon itself, without agents.
    pub memory_bytes: u64,
    /// The path of the daemon's socket.
    pub socket: String,
    /// Its address on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The port it had before, if another program had taken that when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_port: Option<u16>,
    /// The path of the daemon's log file.
    pub log: String,
    /// How many sessions there are, by status.
    pub sessions: BTreeMap<String, u64>,
    /// How many agents there are, by what they do.
    pub agents: BTreeMap<String, u64>,
    /// How many jobs run, wait for a slot, and how many slots there are.
    pub slots: SlotCounts,
    /// How many questions wait for a person.
    pub waiting: u64,
    /// How many agents waited so far and nobody was asked. A defect of Coven, if it is not 0.
    #[serde(default)]
    pub unheard: u64,
    /// Jobs that run and that nobody follows: their session is gone, or cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unattended: Vec<UnattendedJob>,
    /// The folders whose sessions it keeps.
    pub base_dirs: Vec<BaseDirStatus>,
}

/// A job that runs and that nobody follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnattendedJob {
    /// Its session, task and attempt.
    pub job: String,
    /// The process that holds it.
    pub pid: i32,
}

/// How many jobs run at once, and how many may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlotCounts {
    /// How many jobs run now.
    pub running: u64,
    /// Jobs that wait for a slot.
    pub queued: u64,
    /// How many may run at once.
    pub limit: u64,
}

/// A folder whose sessions the daemon keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaseDirStatus {
    /// The path of the folder.
    pub path: String,
    /// How many sessions it has.
    pub sessions: u64,
    /// Whether its `.coven/` may be used.
    pub trusted: bool,
    /// Why its sessions cannot be kept, where they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What `POST /shutdown` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShutdownRequest {
    /// Cancel all runs and stop their agents. Otherwise agents go on, and the next daemon takes
    /// them up.
    #[serde(default)]
    pub stop_agents: bool,
}

/// What a folder brings along, and whether it may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderTrust {
    /// The path of the folder.
    pub base_dir: String,
    /// Whether the content of the folder is trusted.
    pub state: TrustState,
    /// The digest of what it brings along now; nothing if it brings nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The files that count: everything below grimoires and adapters, the policy, and files of the
    /// project that adapters start or name.
    pub files: Vec<String>,
    /// Paths of the project that adapters name and that do not count: folders, files that are too
    /// large or not there, and what a text such as a command for a shell names. What is there when
    /// an adapter runs is what it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<String>,
    /// Who else can write to the folder, if another user can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<String>,
    /// What there is to see of each file, if that was asked for. It belongs to `digest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<FileChange>>,
}

/// What `GET /trust` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustQuery {
    /// The folder; the daemon's own workspace unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
    /// Whether the contents of the files are wanted, or what has changed of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub contents: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// One file that counts, held against what was agreed to before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The path within the folder.
    pub path: String,
    /// What has happened to it.
    pub kind: FileChangeKind,
    /// Whether it can be run as a program.
    pub executable: bool,
    /// How long it is.
    pub bytes: u64,
    /// The whole text of a new file, and what differs in one that was changed, as a unified diff.
    /// Nothing if it is no text (UTF-8) or too long to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What has happened to a file since it was agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileChangeKind {
    /// It was not there.
    Added,
    /// It was other.
    Changed,
    /// It is not there any more.
    Removed,
    /// Nothing.
    Unchanged,
}

/// How a folder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustState {
    /// It brings nothing along that would count.
    Nothing,
    /// The user has not agreed to it.
    Untrusted,
    /// The user agreed to exactly this content.
    Trusted,
    /// The user agreed, and the content has changed since.
    Changed,
    /// Others can write to the folder, and the user has not agreed to that: nothing in it is used.
    NotOwned,
}

/// What `POST /trust` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetTrust {
    /// The folder: an absolute path.
    pub base_dir: String,
    /// Whether what it brings along may be used.
    pub trusted: bool,
    /// The digest of what the decider saw. Needed to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Agree to this instead: that these can write to the folder, as `GET /trust` said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<String>,
}

/// The user's policy, and whether it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStanding {
    /// The path of the file.
    pub path: String,
    /// Whether what it allows counts.
    pub state: PolicyState,
    /// The digest of the file as it is now; nothing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What is wrong with it, if it cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The rules that say allow and ask, because they go by what is found on a screen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks_instead: Vec<String>,
}

/// How the user's policy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyState {
    /// There is none: every question is asked.
    Missing,
    /// The user accepted exactly this.
    Accepted,
    /// No policy was ever accepted: what it denies counts, what it allows is asked.
    New,
    /// Another one was accepted: what it denies counts, what it allows is asked.
    Changed,
    /// It has mistakes: every question is asked.
    Wrong,
}

/// What `POST /policy` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptPolicy {
    /// The digest of the file that the user looked at.
    pub digest: String,
}

/// The sessions of a folder that are not the user's own, and what importing each would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignSessions {
    /// The path of the folder.
    pub base_dir: String,
    /// The foreign sessions, newest first.
    pub sessions: Vec<ForeignSession>,
}

/// A session that is not the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignSession {
    /// The id of the session.
    pub id: String,
    /// Its readable name.
    pub name: String,
    /// Where its run stands, as its journal says.
    pub status: String,
    /// Whose seal its journal has: `none`, `yours` or `other`.
    pub seal: String,
    /// How many facts its journal has.
    pub facts: u64,
    /// The digest of its journal. Importing asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What would happen if it were imported.
    pub would: Vec<String>,
    /// Why it cannot be imported, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What `POST /import` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportSession {
    /// The folder: an absolute path.
    pub base_dir: String,
    /// The session: its id.
    pub session: String,
    /// The digest of the journal that the decider saw.
    pub digest: String,
    /// Import it only if the key in this file sealed it: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The answer of `POST /import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSession {
    /// The id of the session.
    pub id: String,
    /// Where its run stands.
    pub status: String,
}

/// What `POST /base-dirs` takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenBaseDir {
    /// The folder: an absolute path.
    pub base_dir: String,
}
