//! A client at the other end of two pipes. Every wait has a deadline.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::error::Error;
use crate::options::{Options, PermissionMode};
use crate::session::DemoSessionStore;
use crate::streams::AgentStreams;
use crate::{acp, wait};

/// How long a test waits for what must come. Long, because a loaded machine is slow and a test that
/// passes does not wait.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) struct Client {
    to_agent: Option<PipeWriter>,
    from_agent: PipeReader,
    errors: PipeReader,
    buffer: Vec<u8>,
    messages: VecDeque<Value>,
    next_id: u64,
    agent: JoinHandle<Result<u8, Error>>,
}

/// What a turn sent before its response.
pub(super) struct TurnMessages {
    pub(super) updates: Vec<Value>,
    pub(super) response: Value,
}

impl TurnMessages {
    /// The updates in short, one per line.
    pub(super) fn summary(&self) -> String {
        self.updates.iter().map(summary).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn stop_reason(&self) -> &str {
        self.response["result"]["stopReason"].as_str().unwrap_or_default()
    }
}

fn summary(update: &Value) -> String {
    let text = |value: &Value| value["text"].as_str().unwrap_or_default().to_owned();
    let field = |name: &str| update[name].as_str().unwrap_or_default();
    match field("sessionUpdate") {
        "user_message_chunk" => format!("user: {}", text(&update["content"])),
        "agent_message_chunk" => format!("says: {}", text(&update["content"])),
        "agent_thought_chunk" => format!("thinks: {}", text(&update["content"])),
        "tool_call" => format!("{} {} {}", field("kind"), field("status"), update["rawInput"]),
        "tool_call_update" => {
            format!("{}: {}", field("status"), text(&update["content"][0]["content"]))
                .trim_end_matches([':', ' '])
                .to_owned()
        }
        "usage_update" => "usage".to_owned(),
        other => other.to_owned(),
    }
}

/// A folder for an agent to work in, with another for its sessions.
pub(super) struct Workspace(TempDir);

impl Workspace {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self(folder)
    }

    /// Where the agent works.
    pub(super) fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    pub(super) fn store(&self) -> DemoSessionStore {
        let home = self.0.path().join("sessions");
        DemoSessionStore::find(|_| Some(home.clone().into()))
    }

    /// A client of an agent that has done nothing yet.
    pub(super) fn connect(&self, options: Options) -> Client {
        Client::new(options, self.store())
    }

    /// A client with a session.
    pub(super) fn session(&self, permissions: PermissionMode) -> (Client, String) {
        let mut client = self.connect(Options { permissions, ..Options::default() });
        client.initialize();
        let id = client.new_session(&self.work());
        (client, id)
    }
}

impl Client {
    fn new(options: Options, store: DemoSessionStore) -> Self {
        let (input, to_agent) = io::pipe().unwrap();
        let (from_agent, output) = io::pipe().unwrap();
        let (errors, error_output) = io::pipe().unwrap();
        let agent = std::thread::spawn(move || {
            let streams = AgentStreams {
                input: input.as_fd(),
                output: output.as_fd(),
                errors: error_output.as_fd(),
            };
            acp::run(&options, store, streams)
        });
        Self {
            to_agent: Some(to_agent),
            from_agent,
            errors,
            buffer: Vec::new(),
            messages: VecDeque::new(),
            next_id: 100,
            agent,
        }
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        self.to_agent.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and returns its response, which must be the next message.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let response = self.receive();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(super) fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", &json!({ "sessionId": session }));
    }

    pub(super) fn initialize(&mut self) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.call("initialize", &params)["result"].clone()
    }

    pub(super) fn new_session(&mut self, folder: &Path) -> String {
        let response = self.call("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        response["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Begins a turn and returns the id of its request.
    pub(super) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))
    }

    /// A whole turn in which nothing is asked.
    pub(super) fn turn(&mut self, session: &str, text: &str) -> TurnMessages {
        let id = self.prompt(session, text);
        self.until_response(id)
    }

    pub(super) fn until_response(&mut self, id: u64) -> TurnMessages {
        let mut updates = Vec::new();
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return TurnMessages { updates, response: message };
            }
            assert_eq!(message["method"], "session/update", "{message}");
            updates.push(message["params"]["update"].clone());
        }
    }

    /// The next request of the agent, after any updates.
    pub(super) fn until_question(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message["method"] != "session/update" {
                assert_eq!(message["method"], "session/request_permission", "{message}");
                return message;
            }
        }
    }

    /// Reads until an update fits.
    pub(super) fn until_update(&mut self, fits: impl Fn(&Value) -> bool) {
        loop {
            let message = self.receive();
            assert_eq!(message["method"], "session/update", "{message}");
            if fits(&message["params"]["update"]) {
                return;
            }
        }
    }

    pub(super) fn select(&mut self, question: &Value, option: &str) {
        let outcome = json!({ "outcome": "selected", "optionId": option });
        self.respond(question, &outcome);
    }

    pub(super) fn respond(&mut self, question: &Value, outcome: &Value) {
        let result = json!({ "outcome": outcome });
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
    }

    /// The next message, whole lines of JSON-RPC 2.0 only.
    pub(super) fn receive(&mut self) -> Value {
        let end = Instant::now() + STEP_TIMEOUT;
        loop {
            if let Some(message) = self.messages.pop_front() {
                return message;
            }
            assert!(self.fill(end), "the agent closed its output");
        }
    }

    /// Reads more. Returns whether there can be more.
    fn fill(&mut self, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "nothing came from the agent in time");
        if wait::ready([Some(self.from_agent.as_fd())], Some(left)).unwrap() == [false] {
            return true;
        }
        let mut bytes = vec![0; 64 * 1024];
        let count = self.from_agent.read(&mut bytes).unwrap();
        self.buffer.extend_from_slice(&bytes[..count]);
        while let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=at).collect();
            let message: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            self.messages.push_back(message);
        }
        count > 0
    }

    /// Closes the input and returns how the agent ended.
    pub(super) fn close(mut self) -> AgentEnd {
        self.to_agent = None;
        self.wait_for_end()
    }

    /// How the agent ended by itself. What it left in its output that is no whole line is returned
    /// as it is.
    pub(super) fn wait_for_end(mut self) -> AgentEnd {
        let end = Instant::now() + STEP_TIMEOUT;
        // The thread closes the pipes when it ends.
        while self.fill(end) {}
        let mut errors = String::new();
        let code = self.agent.join().unwrap();
        self.errors.read_to_string(&mut errors).unwrap();
        AgentEnd { code, messages: self.messages.into(), rest: self.buffer, errors }
    }
}

pub(super) struct AgentEnd {
    pub(super) code: Result<u8, Error>,
    /// What had not been received.
    pub(super) messages: Vec<Value>,
    pub(super) rest: Vec<u8>,
    pub(super) errors: String,
}

impl AgentEnd {
    pub(super) fn assert_clean(&self) {
        assert_eq!(*self.code.as_ref().unwrap(), 0);
        assert_eq!((self.messages.as_slice(), self.rest.as_slice()), (&[][..], &[][..]));
        assert_eq!(self.errors, "");
    }
}
