//! The conversation of interfaces: commands by id, and events that come without asking.

use coven_api::ipc::{COMMANDS, EVENTS, IpcAnswer, IpcPush, SUBPROTOCOL};
use coven_api::workflow::StartWorkflow;
use coven_api::{ApiProblem, ProblemCode};
use coven_model::WorkflowStatus;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{DEADLINE, Daemon, Home};

struct Interface {
    socket: WebSocketStream<UnixStream>,
    pushed: Vec<IpcPush>,
    next: u64,
}

impl Interface {
    async fn open(home: &Home) -> Self {
        let mut request = "ws://localhost/ipc".into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
        let stream = UnixStream::connect(home.socket()).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();
        Self { socket, pushed: Vec::new(), next: 0 }
    }

    async fn send(&mut self, text: &str) {
        self.socket.send(Message::Text(text.to_owned().into())).await.unwrap();
    }

    /// The next message, as JSON.
    async fn receive(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(DEADLINE, self.socket.next()).await;
            match message.expect("the daemon is silent").unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The answer to whatever was sent last; what is pushed meanwhile is kept.
    async fn answer(&mut self) -> IpcAnswer {
        loop {
            let value = self.receive().await;
            if value.get("event").is_some() {
                self.pushed.push(serde_json::from_value(value).unwrap());
            } else {
                return serde_json::from_value(value).unwrap();
            }
        }
    }

    async fn ask(&mut self, command: &str, args: Value) -> Result<Value, ApiProblem> {
        self.next += 1;
        let id = json!(self.next);
        self.send(&json!({"id": id, "command": command, "args": args}).to_string()).await;
        let answer = self.answer().await;
        assert_eq!(answer.id, id);
        answer.error.map_or(Ok(answer.result.unwrap_or_default()), Err)
    }

    /// The next event that is wanted, among what was pushed and what comes.
    async fn event(&mut self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let full = format!("orchestrator:{name}");
        loop {
            let found =
                self.pushed.iter().position(|push| push.event == full && wanted(&push.data));
            if let Some(found) = found {
                return self.pushed.remove(found).data;
            }
            let value = self.receive().await;
            self.pushed.push(serde_json::from_value(value).unwrap());
        }
    }
}

fn args(start: &StartWorkflow) -> Value {
    serde_json::to_value(start).unwrap()
}

fn stage(daemon: &Daemon<'_>, prompt: &str) -> StartWorkflow {
    let task = json!({"id": "a", "adapter": "demo", "prompt": prompt});
    let text = json!({"id": "staged", "stages": [{"id": "s", "tasks": [task]}]}).to_string();
    daemon.definition(&text)
}

/// Spec: C0.6.1, C0.10.1
#[tokio::test]
async fn an_interface_runs_a_workflow_hears_of_everything_and_answers_its_agent() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut ipc = Interface::open(&home).await;
    let mut watching = Interface::open(&home).await;
    let start = stage(&daemon, "say hello; approve touch yes.txt; exit 0");
    let started = ipc.ask("workflow:execute", args(&start)).await.unwrap();
    let id = started["sessionId"].clone();
    let ours = |data: &Value| data["sessionId"] == id;
    let begun = ipc.event("workflowStarted", ours).await;
    assert_eq!(begun["name"], started["name"]);
    ipc.event("stateChange", |data| ours(data) && data["state"] == "RUNNING").await;
    ipc.event("taskStatusChange", |data| ours(data) && data["status"] == "RUNNING").await;
    let output = ipc.event("taskOutput", ours).await;
    assert_eq!((&output["taskId"], &output["stream"]), (&json!("a"), &json!("out")));
    let asked = ipc.event("interactionNeeded", ours).await;
    assert_eq!(asked["taskId"], "a");
    assert!(asked["intervention"]["excerpt"].as_str().unwrap().contains("touch yes.txt"));
    let waits = |data: &Value| ours(data) && data["status"] == "WAITING_FOR_USER";
    assert_eq!(ipc.event("taskStatusChange", waits).await["taskId"], "a");
    ipc.event("stateChange", |data| data["state"] == "AWAITING_INTERACTION").await;
    let here = json!({"sessionId": id, "taskId": "a"});
    let size = json!({"sessionId": id, "taskId": "a", "cols": 100, "rows": 30});
    assert_eq!(ipc.ask("task:resize", size).await.unwrap(), json!({}));
    let keys = json!({"sessionId": id, "taskId": "a", "keys": ["y"]});
    assert_eq!(ipc.ask("task:interact", keys).await.unwrap(), json!({"delivered": true}));
    ipc.event("taskStatusChange", |data| ours(data) && data["status"] == "DONE").await;
    ipc.event("stateChange", |data| ours(data) && data["status"] == "completed").await;
    assert!(home.base().join("yes.txt").exists());
    let late = ipc.ask("task:complete", here).await.unwrap_err();
    assert_eq!(late.code.status(), 409, "{late:?}");
    // Another interface heard the same without having asked.
    watching.event("interactionNeeded", ours).await;
    watching.event("stateChange", |data| ours(data) && data["status"] == "completed").await;
    for push in ipc.pushed.iter().chain(&watching.pushed) {
        assert!(EVENTS.contains(&push.event.as_str()), "{}", push.event);
        assert!(push.data["sessionId"].is_string(), "{push:?}");
    }
    ipc.ask("session:delete", json!({"sessionId": id})).await.unwrap();
    let gone = ipc.ask("session:load", json!({"sessionId": id})).await.unwrap_err();
    assert_eq!(gone.code, ProblemCode::WorkflowNotFound);
}

/// Spec: C1.16.1
#[tokio::test]
async fn loading_a_session_only_shows_it_and_resuming_it_runs_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut held = stage(&daemon, "say it runs; exit 0");
    held.hold = true;
    let id = daemon.start(&held).await.id;
    let this = json!({"sessionId": id});
    let mut ipc = Interface::open(&home).await;
    let listed = ipc.ask("session:list", json!({"status": "pending"})).await.unwrap();
    assert_eq!(listed["workflows"][0]["id"], json!(id));
    for _ in 0..2 {
        let loaded = ipc.ask("session:load", this.clone()).await.unwrap();
        assert_eq!((&loaded["status"], &loaded["live"]), (&json!("pending"), &json!(false)));
        assert_eq!(loaded["session"]["sessionId"], json!(id));
    }
    assert!(ipc.pushed.is_empty(), "nothing runs: {:?}", ipc.pushed);
    let resumed = ipc.ask("session:resume", this.clone()).await.unwrap();
    assert_eq!(resumed["id"], json!(id));
    ipc.event("workflowStarted", |data| data["sessionId"] == json!(id)).await;
    ipc.event("stateChange", |data| data["status"] == "completed").await;
    daemon.ends(id.as_str(), WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn a_run_can_be_stopped_and_a_failure_is_told() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut ipc = Interface::open(&home).await;
    let started = ipc.ask("workflow:execute", args(&stage(&daemon, "hang"))).await.unwrap();
    let id = started["sessionId"].clone();
    ipc.event("taskOutput", |data| data["sessionId"] == id).await;
    let stop = json!({"sessionId": id, "why": "enough"});
    ipc.ask("workflow:stop", stop.clone()).await.unwrap();
    ipc.event("stateChange", |data| data["sessionId"] == id && data["status"] == "cancelled").await;
    ipc.ask("workflow:stop", stop).await.unwrap();
    let text = "name: f\ndescription: f\nsteps:\n  - {name: bad, type: script, command: exit 3}\n";
    let started = ipc.ask("workflow:execute", args(&daemon.definition(text))).await.unwrap();
    let id = started["sessionId"].clone();
    let told = ipc.event("error", |data| data["sessionId"] == id).await;
    assert_eq!(told["step"], "bad");
    assert!(told["message"].as_str().unwrap().contains('3'), "{told}");
    ipc.event("stateChange", |data| data["sessionId"] == id && data["state"] == "ERROR").await;
}

#[tokio::test]
async fn what_is_not_understood_is_answered_with_its_id() {
    let home = Home::new();
    let _daemon = home.daemon().await;
    let mut ipc = Interface::open(&home).await;
    let unknown = ipc.ask("session:lode", json!({})).await.unwrap_err();
    assert_eq!(unknown.code, ProblemCode::BadRequest);
    assert_eq!(unknown.hint.as_deref(), Some("did you mean `session:load`?"));
    for command in COMMANDS {
        let bad = ipc.ask(command, json!({"bogus": 1})).await.unwrap_err();
        assert_eq!(bad.code, ProblemCode::BadRequest, "{command}: {bad:?}");
        let odd = ipc.ask(command, json!([1])).await.unwrap_err();
        assert_eq!(odd.code, ProblemCode::BadRequest, "{command}: {odd:?}");
    }
    let listed = ipc.ask("adapter:list", Value::Null).await.unwrap();
    let adapters = listed["adapters"].as_array().unwrap();
    assert!(adapters.iter().any(|adapter| adapter["type"] == "demo"), "{adapters:#?}");
    for (text, id) in [
        ("{", Value::Null),
        ("[]", Value::Null),
        (r#"{"command":"session:list"}"#, Value::Null),
        (r#"{"id":{},"command":"session:list"}"#, json!({})),
        (r#"{"id":"x"}"#, json!("x")),
        (r#"{"id":7,"command":3}"#, json!(7)),
        (r#"{"id":8,"command":"session:list","more":1}"#, json!(8)),
    ] {
        ipc.send(text).await;
        let answer = ipc.answer().await;
        assert_eq!((answer.id, answer.result), (id, None), "{text}");
        assert_eq!(answer.error.unwrap().code, ProblemCode::BadRequest, "{text}");
    }
    // And it goes on.
    ipc.ask("session:list", Value::Null).await.unwrap();
}

#[tokio::test]
async fn a_daemon_that_stops_says_goodbye() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut ipc = Interface::open(&home).await;
    ipc.ask("session:list", Value::Null).await.unwrap();
    let goodbye = async {
        loop {
            if let Message::Close(frame) = ipc.socket.next().await.unwrap().unwrap() {
                return frame.unwrap();
            }
        }
    };
    let (status, goodbye) = tokio::join!(daemon.stop(), goodbye);
    assert!(status.success());
    assert_eq!(u16::from(goodbye.code), 1001);
}
