//! Terminals over WebSocket: the exact screen first, then every byte; one keyboard for all who look.

use std::path::PathBuf;

use coven_api::attach::{AttachQuery, BEARER_SUBPROTOCOL, FromDaemon, FromViewer, SUBPROTOCOL};
use coven_api::client::{FromTerminal, TerminalConnection};
use coven_api::device::DeviceRole;
use coven_api::task::AttemptQuery;
use coven_api::workflow::{ActionRequest, StartedSession};
use coven_api::{ApiClient, DaemonAddress, ProblemCode};
use coven_model::WorkflowStatus;
use coven_tape::{TapeEvent as Taped, TapeReader};
use coven_terminal::screen::{GridSize, Screen};
use serde_json::json;
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{DEADLINE, Daemon, Home, code, problem};

/// A viewer with a terminal of its own, which shows what it is sent.
struct Viewer {
    terminal: TerminalConnection,
    screen: Screen,
    /// Everything since the last picture.
    bytes: Vec<u8>,
    /// Where that began, and whether the viewer was too slow for what came before.
    begun: (u64, bool),
    said: Vec<FromDaemon>,
}

impl Viewer {
    async fn open(daemon: &Daemon<'_>, started: &StartedSession, query: AttachQuery) -> Self {
        let id = started.id.as_str();
        daemon.see(id, |workflow| workflow.tasks[0].live).await;
        Self::new(daemon.client.attach(id, "a", query).await.unwrap()).await
    }

    /// Takes the first two messages, which are the picture.
    async fn new(terminal: TerminalConnection) -> Self {
        let screen = Screen::new(GridSize::default());
        let (bytes, said) = (Vec::new(), Vec::new());
        let mut viewer = Self { terminal, screen, bytes, begun: (u64::MAX, false), said };
        viewer.step().await;
        assert!(matches!(viewer.said[0], FromDaemon::Screen { lagged: false, .. }));
        viewer
    }

    /// Takes one message. Says whether there was one.
    async fn step(&mut self) -> bool {
        let next = tokio::time::timeout(DEADLINE, self.terminal.next()).await;
        match next.expect("the terminal is silent").unwrap() {
            None => return false,
            Some(FromTerminal::Bytes(bytes)) => {
                self.screen.feed(&bytes);
                self.bytes.extend(bytes);
            }
            Some(FromTerminal::Said(said)) => {
                match &said {
                    FromDaemon::Screen { cols, rows, offset, lagged, .. } => {
                        self.screen = Screen::new(GridSize::new(*cols, *rows));
                        self.begun = (*offset, *lagged);
                        self.bytes.clear();
                        let picture = self.terminal.next().await.unwrap();
                        let Some(FromTerminal::Bytes(picture)) = picture else { panic!() };
                        self.screen.feed(&picture);
                    }
                    FromDaemon::Resized { cols, rows } => {
                        self.screen.resize(GridSize::new(*cols, *rows));
                    }
                    _ => {}
                }
                self.said.push(said);
            }
        }
        true
    }

    /// Takes messages until one says what is wanted, and forgets what was said up to it.
    async fn said<T>(&mut self, what: &str, wanted: impl Fn(&FromDaemon) -> Option<T>) -> T {
        loop {
            let found = self.said.iter().position(|said| wanted(said).is_some());
            if let Some(found) = found {
                return self.said.drain(..=found).filter_map(|said| wanted(&said)).last().unwrap();
            }
            assert!(self.step().await, "the connection was closed before: {what}");
        }
    }

    /// Waits until its terminal shows a text.
    async fn shows(&mut self, text: &str) {
        while !self.screen.snapshot().text().contains(text) {
            assert!(self.step().await, "the connection was closed before `{text}` was shown");
        }
    }

    async fn keyboard(&mut self, wanted: bool) -> Option<String> {
        self.said("who has the keyboard", |said| match said {
            FromDaemon::Keyboard { yours, holder } if *yours == wanted => Some(holder.clone()),
            _ => None,
        })
        .await
    }

    async fn refused(&mut self) -> String {
        self.said("a refusal", |said| match said {
            FromDaemon::Refused { reason } => Some(reason.clone()),
            _ => None,
        })
        .await
    }

    async fn write(&mut self, text: &str) {
        self.terminal.sender.write(text.as_bytes().to_vec()).await.unwrap();
    }

    async fn say(&mut self, what: FromViewer) {
        self.terminal.sender.say(&what).await.unwrap();
    }
}

fn folder(home: &Home, started: &StartedSession) -> PathBuf {
    home.path().join(format!("state/coven/jobs/{}/a/1", started.id))
}

/// Everything the agent printed.
fn tape(home: &Home, started: &StartedSession) -> Vec<u8> {
    let reader = TapeReader::open(&folder(home, started)).unwrap();
    let printed = reader.records(0).map(|record| match record.unwrap().event {
        Taped::Output { bytes, .. } => bytes,
        _ => Vec::new(),
    });
    printed.flatten().collect()
}

async fn agent(daemon: &Daemon<'_>, prompt: &str) -> StartedSession {
    daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": prompt})]).await
}

#[tokio::test]
async fn a_viewer_sees_the_agents_own_screen_and_types_to_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "say good morning; ask And your name?; exit 0").await;
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    viewer.shows("Enter to answer").await;
    daemon.asked(started.id.as_str()).await;
    let shown = daemon.client.screen(started.id.as_str(), "a", AttemptQuery::default()).await;
    let shown = shown.unwrap();
    while viewer.begun.0 + (viewer.bytes.len() as u64) < shown.offset {
        assert!(viewer.step().await);
    }
    let snapshot = viewer.screen.snapshot();
    let lines: Vec<String> =
        snapshot.text().lines().map(|line| line.trim_end().to_owned()).collect();
    let theirs: Vec<String> = shown.lines.iter().map(|line| line.trim_end().to_owned()).collect();
    assert_eq!(lines.join("\n").trim_end(), theirs.join("\n").trim_end());
    assert_eq!((snapshot.size().columns, snapshot.size().rows), (shown.cols, shown.rows));
    assert!(viewer.keyboard(true).await.is_some());
    viewer.write("Mira\r").await;
    viewer.shows("Mira").await;
    let reason = viewer
        .said("the end", |said| match said {
            FromDaemon::Ended { reason } => Some(reason.clone()),
            _ => None,
        })
        .await;
    assert!(reason.contains("exit code 0"), "{reason}");
    assert!(!viewer.step().await, "nothing follows");
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn a_flooding_agents_every_byte_reaches_whoever_attached_up_to_the_last() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "think 0.5; flood 3000000; say the very last; exit 0").await;
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    // Each picture says where it stands, and what follows it is what was printed from there on.
    let mut pieces = vec![];
    while viewer.step().await {
        let (begun, lagged) = viewer.begun;
        if pieces.last().is_none_or(|(last, _, _)| *last != begun) {
            pieces.push((begun, lagged, Vec::new()));
        }
        pieces.last_mut().unwrap().2.clone_from(&viewer.bytes);
    }
    assert!(
        matches!(viewer.said.last(), Some(FromDaemon::Ended { .. })),
        "{:?}",
        viewer.said.last()
    );
    let tape = tape(&home, &started);
    assert!(tape.len() > 3_000_000);
    for (number, (begun, lagged, bytes)) in pieces.iter().enumerate() {
        let begun = *begun as usize;
        assert_eq!(*lagged, number > 0, "only who was too slow gets a second picture");
        assert!(tape[begun..].starts_with(bytes), "from {begun}, {} bytes", bytes.len());
    }
    let (begun, _, bytes) = pieces.last().unwrap();
    let all: Vec<_> = pieces.iter().map(|(at, lagged, bytes)| (at, lagged, bytes.len())).collect();
    assert_eq!(*begun as usize + bytes.len(), tape.len(), "up to the end: {all:?}");
    assert!(viewer.screen.snapshot().text().contains("the very last"));
}

#[tokio::test]
async fn a_viewer_that_does_not_read_slows_nobody_and_gets_a_new_picture() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "think 0.5; flood 16000000; say the very last; exit 0").await;
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    while viewer.step().await {}
    let lagged = |said: &&FromDaemon| matches!(said, FromDaemon::Screen { lagged: true, .. });
    assert!(viewer.said.iter().filter(lagged).count() >= 1);
    let tape = tape(&home, &started);
    assert_eq!(viewer.begun.0 + viewer.bytes.len() as u64, tape.len() as u64);
    let shown = daemon.client.screen(started.id.as_str(), "a", AttemptQuery::default()).await;
    let theirs = shown.unwrap().lines.join("\n");
    assert_eq!(viewer.screen.snapshot().text().trim_end(), theirs.trim_end());
    assert!(theirs.contains("the very last"));
}

#[tokio::test]
async fn many_look_one_types_and_whoever_takes_the_keyboard_has_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "ask What now?; exit 0").await;
    let sized = AttachQuery { cols: Some(90), rows: Some(30), ..AttachQuery::default() };
    let mut first = Viewer::open(&daemon, &started, sized).await;
    assert_eq!(
        first.screen.size(),
        GridSize::new(90, 30),
        "whoever holds the keyboard sets the size"
    );
    let mut second = Viewer::open(&daemon, &started, sized).await;
    let only_look = AttachQuery { read_only: Some(true), take: Some(true), ..sized };
    let mut third = Viewer::open(&daemon, &started, only_look).await;
    first.keyboard(true).await;
    assert!(second.keyboard(false).await.is_some(), "somebody has it");
    first.shows("Enter to answer").await;

    // Who does not hold the keyboard neither types nor resizes.
    second.write("x").await;
    assert!(second.refused().await.contains("take it first"));
    second.say(FromViewer::Resize { cols: 50, rows: 20 }).await;
    assert!(second.refused().await.contains("take it first"));
    third.say(FromViewer::Take).await;
    assert!(third.refused().await.contains("only look"));

    // Taken over: everybody hears of it, and of the new size.
    second.say(FromViewer::Take).await;
    second.keyboard(true).await;
    first.keyboard(false).await;
    first.write("not me").await;
    assert!(first.refused().await.contains("take it first"));
    second.say(FromViewer::Resize { cols: 70, rows: 20 }).await;
    for viewer in [&mut first, &mut second, &mut third] {
        viewer
            .said("the new size", |said| {
                matches!(said, FromDaemon::Resized { cols: 70, rows: 20 }).then_some(())
            })
            .await;
        assert_eq!(viewer.screen.size(), GridSize::new(70, 20));
    }
    second.say(FromViewer::Resize { cols: 1, rows: 20 }).await;
    assert!(second.refused().await.contains("columns"));

    // Given back, it is free; a viewer that leaves gives it back too.
    second.say(FromViewer::Release).await;
    assert_eq!(first.keyboard(false).await, None);
    second.write("x").await;
    assert!(second.refused().await.contains("nobody"));
    first.say(FromViewer::Take).await;
    first.keyboard(true).await;
    while third.keyboard(false).await.is_none() {}
    drop(first);
    while third.keyboard(false).await.is_some() {}
    let take = AttachQuery { take: Some(true), ..AttachQuery::default() };
    let mut last = Viewer::open(&daemon, &started, take).await;
    last.keyboard(true).await;
    last.write("rest\r").await;
    third.shows("rest").await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
}

/// Spec: C0.11.3
#[tokio::test]
async fn an_agent_that_was_left_alive_can_be_attached_to_after_its_session_is_over() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = json!({"id": "a", "adapter": "demo", "prompt": "say ready", "keepAlive": true});
    let started = daemon.stage(&[task]).await;
    let id = started.id.as_str();
    let asked = daemon
        .see(id, |workflow| workflow.item.status.is_final() || !workflow.interventions.is_empty());
    if !asked.await.item.status.is_final() {
        daemon.client.complete(id, "a").await.unwrap();
    }
    let done = daemon.ends(id, WorkflowStatus::Completed).await;
    assert!(done.item.kept);
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    viewer.shows("ready").await;
    viewer.keyboard(true).await;
    viewer.write("say still here\r").await;
    viewer.shows("still here").await;
    daemon.client.stop(id, "a").await.unwrap();
    viewer.said("the end", |said| matches!(said, FromDaemon::Ended { .. }).then_some(())).await;
}

#[tokio::test]
async fn a_daemon_that_stops_closes_terminals_and_the_next_one_opens_them_again() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "ask Still there?; exit 0").await;
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    viewer.shows("Enter to answer").await;
    let before = viewer.screen.snapshot().text();
    let (status, ()) = tokio::join!(daemon.stop(), async { while viewer.step().await {} });
    assert!(status.success());
    let ended = viewer.said.iter().any(|said| matches!(said, FromDaemon::Ended { .. }));
    assert!(!ended, "the agent goes on");
    let daemon = home.daemon().await;
    let mut viewer = Viewer::open(&daemon, &started, AttachQuery::default()).await;
    assert_eq!(viewer.screen.snapshot().text(), before);
    viewer.write("yes\r").await;
    viewer.shows("yes").await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
}

#[tokio::test]
async fn what_has_no_terminal_is_said_with_where_to_look_instead() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = json!({"id": "a", "adapter": "demo", "prompt": "hang", "executionMode": "headless"});
    let started = daemon.stage(&[task]).await;
    let id = started.id.as_str();
    daemon.see(id, |workflow| workflow.tasks[0].live).await;
    let attach = async |id: &str, task: &str, query| daemon.client.attach(id, task, query).await;
    let query = AttachQuery::default();
    assert_eq!(code(attach(id, "a", query).await), ProblemCode::NoAgent);
    assert_eq!(code(attach(id, "b", query).await), ProblemCode::TaskNotFound);
    assert_eq!(code(attach(id, "../a", query).await), ProblemCode::TaskNotFound);
    assert_eq!(code(attach("nobody", "a", query).await), ProblemCode::WorkflowNotFound);
    let half = AttachQuery { cols: Some(80), ..query };
    assert_eq!(code(attach(id, "a", half).await), ProblemCode::BadRequest);
    let huge = AttachQuery { cols: Some(5000), rows: Some(20), ..query };
    assert_eq!(code(attach(id, "a", huge).await), ProblemCode::BadRequest);
    daemon.client.cancel(id, &ActionRequest::default()).await.unwrap();
    daemon.ends(id, WorkflowStatus::Cancelled).await;
    assert_eq!(code(attach(id, "a", query).await), ProblemCode::NoAgent);
    // Not a WebSocket at all.
    let plain = daemon.raw("GET", &format!("/workflows/{id}/tasks/a/attach")).send().await;
    assert_eq!(problem(plain.unwrap()).await.code, ProblemCode::UpgradeRequired);
}

#[tokio::test]
async fn a_page_shows_its_token_among_the_subprotocols_and_is_answered_with_the_other() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "hang").await;
    let id = started.id.as_str();
    daemon.see(id, |workflow| workflow.tasks[0].live).await;
    let address = daemon.address().await;
    let connect = async |protocols: String, origin: Option<String>| {
        let url = format!("ws://{address}/workflows/{id}/tasks/a/attach?readOnly=true");
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert("origin", origin.parse().unwrap());
        }
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        tokio_tungstenite::client_async(request, stream).await
    };
    let status = |error: SocketError| match error {
        SocketError::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    };
    let bearer = format!("{BEARER_SUBPROTOCOL}{}", daemon.token(DeviceRole::Full).await);
    let both = format!("{SUBPROTOCOL}, {bearer}");
    let ours = Some(format!("http://{address}"));
    let (_socket, response) = connect(both.clone(), ours.clone()).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], SUBPROTOCOL);
    let elsewhere = Some("http://evil.example".to_owned());
    assert_eq!(status(connect(both, elsewhere).await.unwrap_err()), 403);
    assert_eq!(status(connect(SUBPROTOCOL.to_owned(), ours.clone()).await.unwrap_err()), 401);
    assert_eq!(status(connect(bearer.clone(), ours.clone()).await.unwrap_err()), 400);
    let other = format!("coven.attach.v9, {bearer}");
    assert_eq!(status(connect(other, ours).await.unwrap_err()), 400);
}

/// Where the process that plays the agent finds the daemon, and what it attaches to.
const SOCKET: &str = "COVEN_TEST_SOCKET";
const SESSION: &str = "COVEN_TEST_SESSION";

#[tokio::test]
async fn an_agent_may_look_at_a_terminal_and_never_type() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = agent(&daemon, "approve touch never.txt; exit 0").await;
    daemon.asked(started.id.as_str()).await;
    // This very program, as a process that runs in a job.
    let played = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "stream_attach::played_as_an_agent"])
        .env("COVEN_JOB", format!("{}/a/1", started.id))
        .env(SOCKET, home.socket())
        .env(SESSION, started.id.as_str())
        .output();
    let played = tokio::time::timeout(DEADLINE, played).await.unwrap().unwrap();
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stdout));
    assert!(String::from_utf8_lossy(&played.stdout).contains("1 passed"));
    let asked = daemon.asked(started.id.as_str()).await;
    assert_eq!(asked.decision, None);
    assert!(!home.base().join("never.txt").exists());
}

#[tokio::test]
#[ignore = "the other half of the test before, which runs it as a process of its own"]
async fn played_as_an_agent() {
    let socket = std::env::var_os(SOCKET).expect("run the test before instead");
    let client = ApiClient::new(DaemonAddress::Socket(socket.into())).unwrap();
    let session = std::env::var(SESSION).unwrap();
    let take = AttachQuery { take: Some(true), ..AttachQuery::default() };
    let mut viewer = Viewer::new(client.attach(&session, "a", take).await.unwrap()).await;
    viewer.shows("touch never.txt").await;
    viewer.keyboard(false).await;
    viewer.write("y").await;
    assert!(viewer.refused().await.contains("only look"));
    viewer.say(FromViewer::Take).await;
    assert!(viewer.refused().await.contains("only look"));
}
