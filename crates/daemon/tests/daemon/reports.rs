//! What an agent on a terminal reports by itself: only it can send it, and it decides nothing.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use coven_api::intervention::{DecideRequest, InterventionQuery};
use coven_api::{ApiProblem, ProblemCode};
use coven_model::{
    AgentState, AgentVerdict, EvidenceSource, InterventionChoice, InterventionKind, StateMark,
};
use coven_tape::{TapeEvent, TapeReader};
use serde_json::{Value, json};

use crate::http::{Request, Response, Server};
use crate::support::{Daemon, Home, problem, until};

/// An agent that paints what it is told to, writes down how it was started, goes to work at every key
/// and writes that down too, and prints something all the time, as agents with a spinner do. `work N`
/// paints N frames of work.
const AGENT: &str = r#"#!/bin/bash
name=$1; shift
printf '%s\n' "$@" > "$name.args"
printf '%s' "$COVEN_HOOK_TOKEN" > "$name.token"
stty -echo
mkfifo "$name.orders"
exec 3<>"$name.orders"
paint() { printf '\033[2J\033[H%s' "$1"; }
take() { while read -r -n 1 key; do printf '%s\n' "$key" >> "$name.typed"; paint '(0) esc to interrupt'; done; }
take <&0 &
paint '> '
while :; do
  if read -r -t 0.1 order <&3; then
    case $order in
      work*) for frame in $(seq "${order#work }"); do paint "($frame) esc to interrupt"; read -r -t 0.05 <><(:); done ;;
      *) paint "$order" ;;
    esac
  else
    printf '\0337\0338'
  fi
done
"#;

/// An agent of a session that was started for a test.
struct Reporter<'a> {
    daemon: &'a Daemon<'a>,
    id: String,
    name: &'static str,
}

/// Writes the adapter of an agent that reports, and that it may.
fn write_adapter(home: &Home) {
    std::fs::write(home.config().join("config.yaml"), "agentReports: true\n").unwrap();
    let program = home.path().join("reporter");
    std::fs::write(&program, AGENT).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).unwrap();
    let config = json!({
        "schemaVersion": 1,
        "command": program,
        "modes": {"interactive": {"promptPosition": "last"}},
        "hooks": {"kind": "claude-http"},
        "keys": {"approve": ["y"], "deny": ["n"]},
        "states": {
            "asks": {"pattern": "^Run (.*)\\?", "region": "tail:4", "kind": "approval"},
            "works": {"pattern": "esc to interrupt", "region": "tail:1", "kind": "working"},
            "rests": {"pattern": "^>", "region": "tail:1", "kind": "idle"},
        },
    });
    let folder = home.config().join("adapters/reporter");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

impl<'a> Reporter<'a> {
    async fn start(daemon: &'a Daemon<'a>, name: &'static str, more: &[&str]) -> Self {
        // Its own name comes first, before what is added to make it report.
        let adapter = daemon.home.config().join("adapters").join(name);
        std::fs::create_dir_all(&adapter).unwrap();
        let text = std::fs::read(daemon.home.config().join("adapters/reporter/config.json"));
        let mut config: Value = serde_json::from_slice(&text.unwrap()).unwrap();
        config["modes"]["interactive"]["baseArgs"] = json!([name]);
        std::fs::write(adapter.join("config.json"), config.to_string()).unwrap();
        let task = json!({"id": "a", "adapter": name, "prompt": "begin", "extraArgs": more});
        let id = daemon.stage(&[task]).await.id.to_string();
        let found = Self { daemon, id, name };
        found.shows(AgentState::Idle).await;
        found
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.daemon.home.base().join(format!("{}.{kind}", self.name))
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.file("token")).unwrap()
    }

    fn args(&self) -> Vec<String> {
        std::fs::read_to_string(self.file("args")).unwrap().lines().map(str::to_owned).collect()
    }

    fn path(&self) -> String {
        format!("/hook/{}/a/1", self.id)
    }

    fn order(&self, order: &str) {
        let mut orders = std::fs::OpenOptions::new().write(true).open(self.file("orders")).unwrap();
        writeln!(orders, "{order}").unwrap();
    }

    /// Waits until the daemon believes this.
    async fn shows(&self, state: AgentState) -> AgentVerdict {
        until(&format!("it is {state}"), || async {
            let verdict = self.daemon.client.explain(&self.id, "a").await.ok()?.verdict?;
            (verdict.state == state).then_some(verdict)
        })
        .await
    }

    async fn address(&self) -> SocketAddr {
        self.daemon.address().await
    }

    async fn request(&self) -> Request {
        Request::new(Server::Tcp(self.address().await), "POST", &self.path())
    }

    /// Reports an event, as the agent does.
    async fn report(&self, event: &str) {
        let request = self.request().await.json(&json!({"hook_event_name": event, "cwd": "/"}));
        let request = request.header("authorization", format!("Bearer {}", self.token()));
        assert_taken(request.send().await.unwrap()).await;
    }

    /// What was noted of it on its tape, in order: the marks of reports and of states, and what it
    /// painted.
    fn tape(&self) -> Vec<String> {
        let spawned = self.daemon.home.spawned();
        let own = |(path, record): &(PathBuf, Value)| {
            let is_own = record["job"].as_str().is_some_and(|job| job.contains(&self.id));
            is_own.then(|| path.parent().unwrap().to_owned())
        };
        let folder = spawned.iter().find_map(own).unwrap();
        let mut noted = Vec::new();
        for record in TapeReader::open(&folder).unwrap().records(0) {
            match record.unwrap().event {
                TapeEvent::Mark(note) => match StateMark::read(&note) {
                    Some(mark) => noted.push(format!("is {}", mark.state)),
                    None => noted.push(note),
                },
                TapeEvent::Output { bytes, .. } => {
                    noted.push(String::from_utf8_lossy(&bytes).into_owned());
                }
                _ => {}
            }
        }
        noted
    }

    async fn is_noted(&self, mark: &str) {
        until(&format!("{mark} is noted"), || {
            std::future::ready(self.tape().iter().any(|note| note == mark).then_some(()))
        })
        .await;
    }

    async fn interventions(&self) -> Vec<InterventionKind> {
        let query = InterventionQuery { workflow: Some(self.id.clone()), state: None };
        let open = self.daemon.client.interventions(&query).await.unwrap();
        open.interventions.into_iter().map(|item| item.intervention.kind).collect()
    }
}

async fn assert_taken(response: Response) {
    let status = response.status().as_u16();
    assert_eq!((status, &*response.text().await.unwrap()), (200, "{}"));
}

/// What a refusal says, without what is different each time.
async fn refusal(response: Response) -> ApiProblem {
    let mut told = problem(response).await;
    told.request_id = None;
    told
}

#[tokio::test]
async fn an_agent_is_started_with_the_address_and_the_token_of_its_own_attempt() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    let args = agent.args();
    assert_eq!(args[0], "--settings");
    let settings: Value = serde_json::from_str(&args[1]).unwrap();
    let url = format!("http://{}{}", agent.address().await, agent.path());
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["url"], url);
    assert_eq!(args[2..], ["begin"]);
    assert_eq!(agent.token().len(), 64);
    assert!(!home.log().contains(&agent.token()));
    agent.report("PostToolUse").await;
    let verdict = agent.shows(AgentState::Working).await;
    assert_eq!(verdict.evidence.source, EvidenceSource::Channel);
    assert_eq!(verdict.evidence.rule, "hook:PostToolUse");
    // It has worked, and rests by its report and on its screen.
    agent.report("Stop").await;
    let asked = daemon.asked(&agent.id).await;
    assert_eq!(asked.intervention.kind, InterventionKind::EndedTurn);
    assert_eq!(agent.shows(AgentState::Idle).await.evidence.rule, "hook:Stop");
}

#[tokio::test]
async fn settings_of_the_users_own_are_kept_and_nothing_is_reported() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &["--settings", "mine.json"]).await;
    assert_eq!(agent.args(), ["--settings", "mine.json", "begin"]);
    assert_eq!(agent.token(), "");
    let request = agent.request().await.header("authorization", "Bearer ");
    let told = problem(request.json(&json!({})).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::Unauthorized, "no token is not the right one");
}

#[tokio::test]
async fn without_an_address_or_the_users_word_no_reports_are_asked_for() {
    let home = Home::new();
    write_adapter(&home);
    let mut command = home.command();
    command.arg("no-tcp");
    let daemon = home.daemon_as(command).await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    assert_eq!((agent.args(), agent.token()), (vec!["begin".to_owned()], String::new()));
    daemon.stop().await;
    std::fs::remove_file(home.config().join("config.yaml")).unwrap();
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "two", &[]).await;
    assert_eq!((agent.args(), agent.token()), (vec!["begin".to_owned()], String::new()));
}

#[tokio::test]
async fn only_the_token_of_the_attempt_reports_and_a_stranger_learns_nothing() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    let other = Reporter::start(&daemon, "two", &[]).await;
    let address = agent.address().await;
    let device = daemon.token(coven_api::device::DeviceRole::Full).await;
    let path = agent.path();
    let nowhere = "/hook/01890000-0000-7000-8000-000000000000/a/1";
    let (own, others) = (agent.token(), other.token());
    let mut told = Vec::new();
    for (path, token) in [
        (&*path, Some("")),
        (&*path, Some("wrong")),
        (&*path, Some(&*others)),
        (&*path, Some(&*device)),
        (&*path, Some(&own[..63])),
        (&*path, None),
        (&*path.replace("/a/1", "/a/2"), Some(&*own)),
        (&*path.replace("/a/1", "/a/x"), Some(&*own)),
        (&*path.replace("/a/1", "/b/1"), Some(&*own)),
        (nowhere, Some(&*own)),
        ("/hook/x/..%2f/1", Some(&*own)),
    ] {
        let mut request = Request::new(Server::Tcp(address), "POST", path);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = json!({"hook_event_name": "PostToolUse"});
        told.push(refusal(request.json(&body).send().await.unwrap()).await);
    }
    assert!(told.iter().all(|problem| *problem == told[0]), "{told:#?}");
    assert_eq!(told[0].code, ProblemCode::Unauthorized);
    // What is refused is noted nowhere. The one that is taken comes after all of them.
    agent.report("Stop").await;
    agent.is_noted("hook Stop").await;
    assert!(!agent.tape().iter().any(|note| note == "hook PostToolUse"));
    assert!(!other.tape().iter().any(|note| note.starts_with("hook ")));
}

#[tokio::test]
async fn the_token_of_an_attempt_opens_nothing_else_and_no_page_can_use_it() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    let (address, bearer) = (agent.address().await, format!("Bearer {}", agent.token()));
    let stop = format!("/workflows/{}/tasks/a/stop", agent.id);
    for (method, path) in
        [("POST", &*stop), ("GET", "/status"), ("GET", &*agent.path()), ("PUT", &*agent.path())]
    {
        let request = Request::new(Server::Tcp(address), method, path);
        let answer = request.header("authorization", &bearer).send().await.unwrap();
        assert_eq!(problem(answer).await.code, ProblemCode::Unauthorized, "{method} {path}");
    }
    let report = json!({"hook_event_name": "PostToolUse"});
    for (name, value) in [
        ("origin", "https://example.com".to_owned()),
        ("origin", format!("http://{address}")),
        ("origin", "null".to_owned()),
        ("sec-fetch-site", "same-origin".to_owned()),
        ("referer", format!("http://{address}/")),
        ("host", format!("localhost:{}", address.port())),
    ] {
        let request = agent.request().await.header("authorization", &bearer).header(name, &value);
        let told = problem(request.json(&report).send().await.unwrap()).await;
        assert_eq!(told.code, ProblemCode::Forbidden, "{name}: {value}");
    }
    let request = daemon.raw("POST", &agent.path()).header("authorization", &bearer);
    let told = problem(request.json(&report).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::Forbidden, "over the socket");
    agent.report("Stop").await;
    agent.is_noted("hook Stop").await;
    assert!(!agent.tape().iter().any(|note| note == "hook PostToolUse"));
}

#[tokio::test]
async fn only_the_beginning_of_a_report_is_read() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    let bearer = format!("Bearer {}", agent.token());
    let long = "x".repeat(64 << 10);
    // Neither of these is an error, because the agent would show that on its screen.
    for body in [
        format!("{{\"tool_response\":\"{long}\",\"hook_event_name\":\"StopFailure\"}}"),
        "not a report".to_owned(),
        "{\"hook_event_name\":\"SomethingNew\"}".to_owned(),
        format!("{{\"hook_event_name\":\"Stop\",\"tool_response\":\"{long}\"}}"),
    ] {
        let request = agent.request().await.header("authorization", &bearer);
        assert_taken(request.body(body).send().await.unwrap()).await;
    }
    agent.is_noted("hook Stop").await;
    let noted: Vec<String> =
        agent.tape().into_iter().filter(|note| note.starts_with("hook ")).collect();
    assert_eq!(noted, ["hook Stop"]);
}

#[tokio::test]
async fn a_forged_end_ends_no_work_and_answers_no_question() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    agent.order("(0) esc to interrupt");
    agent.shows(AgentState::Working).await;
    // It works on for longer than any source has to say that it rests.
    agent.report("Stop").await;
    agent.is_noted("hook Stop").await;
    agent.order("work 30");
    agent.order("Run rm?");
    let asked = daemon.asked(&agent.id).await;
    assert_eq!(asked.intervention.kind, InterventionKind::Approval);
    let tape = agent.tape();
    let from = tape.iter().position(|note| note == "hook Stop").unwrap();
    assert!(!tape[from..].iter().any(|note| note == "is idle"), "{:#?}", &tape[from..]);
    // Neither what works nor what has ended takes the question away.
    for event in ["UserPromptSubmit", "PreToolUse", "PostToolUse", "StopFailure", "Stop"] {
        agent.report(event).await;
        agent.is_noted(&format!("hook {event}")).await;
    }
    agent.order("Run rm?");
    agent.order("Run rm?");
    let verdict = agent.shows(AgentState::Awaiting).await;
    assert_eq!(verdict.digest, asked.intervention.digest);
    assert_eq!(agent.interventions().await, [InterventionKind::Approval]);
    assert!(!agent.file("typed").exists(), "nothing was pressed");
    let approve =
        DecideRequest::new(InterventionChoice::Approve, asked.intervention.digest.clone());
    daemon.client.decide(&asked.intervention.id, &approve).await.unwrap();
    let typed = until("the answer arrives", || {
        let typed = std::fs::read_to_string(agent.file("typed"));
        std::future::ready(typed.ok().filter(|typed| !typed.is_empty()))
    });
    assert_eq!(typed.await, "y\n");
}

#[tokio::test]
async fn what_was_reported_is_known_to_the_next_daemon() {
    let home = Home::new();
    write_adapter(&home);
    let daemon = home.daemon().await;
    let agent = Reporter::start(&daemon, "one", &[]).await;
    agent.report("PostToolUse").await;
    agent.shows(AgentState::Working).await;
    let mode = |path: &PathBuf| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
    };
    let file = home.spawned()[0].0.with_file_name("hook.json");
    assert_eq!(mode(&file) & 0o777, 0o600);
    let (id, name) = (agent.id.clone(), agent.name);
    daemon.kill();
    let daemon = home.daemon().await;
    let agent = Reporter { daemon: &daemon, id, name };
    let verdict = agent.shows(AgentState::Working).await;
    assert_eq!(verdict.evidence.rule, "hook:PostToolUse");
    // The token is the same.
    agent.report("Stop").await;
    let asked = daemon.asked(&agent.id).await;
    assert_eq!(asked.intervention.kind, InterventionKind::EndedTurn);
}
