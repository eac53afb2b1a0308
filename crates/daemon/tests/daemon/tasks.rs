//! One task over the wire: its screen, its output, its agent.

use coven_api::ProblemCode;
use coven_api::task::{
    AttemptQuery, OutputQuery, OutputStream, ScreenSize, TranscriptQuery, TypeRequest,
};
use coven_api::workflow::WorkflowDetails;
use coven_model::{
    AgentMode, AgentState, InterventionChoice, InterventionKind, TaskStatus, TranscriptPart,
    WorkflowStatus,
};
use serde_json::json;

use crate::support::{Daemon, Home, code, until};

fn message(text: &str) -> TypeRequest {
    TypeRequest { message: Some(text.to_owned()), ..TypeRequest::default() }
}

/// An interactive demo agent that has said hello and is idle.
async fn talking(daemon: &Daemon<'_>) -> String {
    let started =
        daemon.stage(&[json!({"id": "talk", "adapter": "demo", "prompt": "say hello"})]).await;
    let id = started.id.to_string();
    assert_eq!(daemon.asked(&id).await.intervention.kind, InterventionKind::EndedTurn);
    id
}

fn task(workflow: &WorkflowDetails) -> &coven_api::workflow::TaskItem {
    &workflow.tasks[0]
}

#[tokio::test]
async fn a_terminal_is_looked_at_typed_to_resized_and_explained() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = talking(&daemon).await;
    let (client, id) = (&daemon.client, id.as_str());
    let screen = client.screen(id, "talk", AttemptQuery::default()).await.unwrap();
    assert!(screen.live && screen.lines.iter().any(|line| line.contains("hello")), "{screen:#?}");
    assert_eq!(screen.lines.len(), screen.rows as usize);

    let why = client.explain(id, "talk").await.unwrap();
    assert_eq!((why.adapter.as_str(), why.mode), ("demo", AgentMode::Interactive));
    let verdict = why.verdict.unwrap();
    assert_eq!(verdict.state, AgentState::Idle);
    assert!(why.words.contains("idle") && why.since.is_some(), "{}", why.words);

    client.resize(id, "talk", ScreenSize { cols: 100, rows: 30 }).await.unwrap();
    until("the terminal has its new size", || async {
        let screen = client.screen(id, "talk", AttemptQuery::default()).await.unwrap();
        ((screen.cols, screen.rows) == (100, 30)).then_some(())
    })
    .await;
    for (cols, rows) in [(0, 10), (1, 10), (80, 0), (5000, 10)] {
        assert_eq!(
            code(client.resize(id, "talk", ScreenSize { cols, rows }).await),
            ProblemCode::BadRequest
        );
    }

    client.input(id, "talk", &message("say something else")).await.unwrap();
    until("the agent did what it was told", || async {
        let output = client.output(id, "talk", &OutputQuery::default()).await.unwrap();
        output.text.contains("something else").then_some(())
    })
    .await;
    let paste = TypeRequest { paste: Some("half a thought".to_owned()), ..TypeRequest::default() };
    until("the agent takes input again", || async { client.input(id, "talk", &paste).await.ok() })
        .await;
    until("what was pasted is on the screen", || async {
        let screen = client.screen(id, "talk", AttemptQuery::default()).await.unwrap();
        screen.lines.iter().any(|line| line.contains("half a thought")).then_some(())
    })
    .await;
    let keys = |names: &[&str]| TypeRequest {
        keys: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..TypeRequest::default()
    };
    client.input(id, "talk", &keys(&["Ctrl+U"])).await.unwrap();
    assert_eq!(code(client.input(id, "talk", &keys(&["NoSuchKey"])).await), ProblemCode::BadInput);
    assert_eq!(code(client.input(id, "talk", &keys(&[])).await), ProblemCode::BadRequest);
    assert_eq!(
        code(client.input(id, "talk", &TypeRequest::default()).await),
        ProblemCode::BadRequest
    );
    let two = TypeRequest { paste: Some("x".to_owned()), ..message("y") };
    assert_eq!(code(client.input(id, "talk", &two).await), ProblemCode::BadRequest);
    client.interrupt(id, "talk").await.unwrap();
}

/// Spec: C1.10.3
#[tokio::test]
async fn a_task_is_finished_by_hand_once_and_a_finished_one_is_refused() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = talking(&daemon).await;
    daemon.client.complete(&id, "talk").await.unwrap();
    let done = daemon.ends(&id, WorkflowStatus::Completed).await;
    assert_eq!(task(&done).status, TaskStatus::Done);
    assert_eq!(code(daemon.client.complete(&id, "talk").await), ProblemCode::NotNow);
    assert_eq!(code(daemon.client.stop(&id, "talk").await), ProblemCode::NotNow);
    assert_eq!(code(daemon.client.complete(&id, "nobody").await), ProblemCode::TaskNotFound);
    for result in [
        daemon.client.input(&id, "talk", &message("hello?")).await.map(drop),
        daemon.client.resize(&id, "talk", ScreenSize { cols: 80, rows: 24 }).await,
        daemon.client.interrupt(&id, "talk").await,
    ] {
        assert!(matches!(code(result), ProblemCode::NoAgent | ProblemCode::NotLive));
    }
    let screen = daemon.client.screen(&id, "talk", AttemptQuery::default()).await.unwrap();
    assert!(!screen.live && screen.lines.iter().any(|line| line.contains("hello")));
    let why = daemon.client.explain(&id, "talk").await.unwrap();
    assert!(why.verdict.is_none() && why.words.contains("DONE"), "{}", why.words);
}

/// Spec: C1.10.3
#[tokio::test]
async fn a_headless_task_cannot_be_finished_by_hand_or_typed_to() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[
            json!({"id": "work", "adapter": "demo", "executionMode": "headless", "prompt": "hang"}),
        ])
        .await;
    let id = started.id.as_str();
    daemon.see(id, |workflow| task(workflow).live).await;
    assert_eq!(code(daemon.client.complete(id, "work").await), ProblemCode::NotNow);
    assert_eq!(code(daemon.client.input(id, "work", &message("x")).await), ProblemCode::NoAgent);
    daemon.client.stop(id, "work").await.unwrap();
    let asked = daemon.asked(id).await;
    assert_eq!(asked.intervention.kind, InterventionKind::PartialFailure);
    assert!(asked.intervention.options.contains(&InterventionChoice::Abort));
    assert_eq!(home.running(), []);
}

#[tokio::test]
async fn what_a_headless_agent_did_is_readable_and_its_output_comes_in_pieces() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[json!({"id": "work", "adapter": "demo", "executionMode": "headless", "prompt": "say first; say second"})])
        .await;
    let id = started.id.as_str();
    daemon.ends(id, WorkflowStatus::Completed).await;
    let transcript =
        daemon.client.transcript(id, "work", &TranscriptQuery::default()).await.unwrap();
    let texts: Vec<&str> = transcript.entries.iter().map(|entry| entry.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("second")), "{transcript:#?}");
    assert!(
        transcript
            .entries
            .iter()
            .any(|entry| matches!(entry.part, TranscriptPart::Final { ok: true, .. })),
        "{transcript:#?}"
    );
    assert!(!transcript.live);

    let whole = daemon.client.output(id, "work", &OutputQuery::default()).await.unwrap();
    assert_eq!((whole.offset, whole.next, whole.live), (0, whole.end, false));
    let mut pieces = String::new();
    let mut query = OutputQuery { limit: Some(100), offset: Some(0), ..OutputQuery::default() };
    loop {
        let piece = daemon.client.output(id, "work", &query).await.unwrap();
        pieces.push_str(&piece.text);
        if piece.next == piece.end {
            break;
        }
        query.offset = Some(piece.next as i64);
    }
    assert_eq!(pieces, whole.text);
    let tail = OutputQuery { offset: Some(-10), ..OutputQuery::default() };
    assert_eq!(daemon.client.output(id, "work", &tail).await.unwrap().offset, whole.end - 10);
    let beyond = OutputQuery { offset: Some(1 << 40), ..OutputQuery::default() };
    assert_eq!(daemon.client.output(id, "work", &beyond).await.unwrap().text, "");
    let errors = OutputQuery { stream: Some(OutputStream::Err), ..OutputQuery::default() };
    assert!(daemon.client.output(id, "work", &errors).await.unwrap().text.len() < whole.text.len());
    let much = OutputQuery { limit: Some(1 << 40), ..OutputQuery::default() };
    assert_eq!(code(daemon.client.output(id, "work", &much).await), ProblemCode::BadRequest);
    let path = format!("/workflows/{id}/tasks/work/output?raw=true");
    let raw = daemon.raw("GET", &path).send().await.unwrap();
    assert_eq!(raw.headers()["content-type"], "application/octet-stream");
    assert_eq!(raw.bytes().await.unwrap().len() as u64, whole.end);
}

#[tokio::test]
async fn a_terminal_comes_as_a_recording_that_players_play() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = talking(&daemon).await;
    daemon.client.complete(&id, "talk").await.unwrap();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let cast = daemon.client.recording(&id, "talk", AttemptQuery::default()).await.unwrap();
    let mut lines = cast.split(|byte| *byte == b'\n');
    let header: serde_json::Value = serde_json::from_slice(lines.next().unwrap()).unwrap();
    assert_eq!(header["version"], 2);
    assert!(header["width"].as_u64().unwrap() > 1);
    assert!(String::from_utf8_lossy(&cast).contains("hello"));
}

/// Spec: C0.9.1, C1.13.1
#[tokio::test]
async fn whatever_agents_print_the_daemon_itself_prints_nothing() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[
            json!({"id": "loud", "adapter": "demo", "executionMode": "headless", "prompt": "flood 200000"}),
            json!({"id": "talk", "adapter": "demo", "prompt": "say hello; exit 0"}),
        ])
        .await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert!(daemon.stop().await.success());
    for stream in ["stdout", "stderr"] {
        assert_eq!(std::fs::read_to_string(home.path().join(stream)).unwrap(), "", "{stream}");
    }
}
