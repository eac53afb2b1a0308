//! Events as they happen: every follower gets each fact once and none is left out, also if other
//! followers are slow or the daemon is killed in between.

use coven_api::client::{EventScope, StreamedEvent};
use coven_api::event::{EventEnvelope, EventGap, EventSnapshot, SessionSnapshot};
use coven_api::intervention::DecideRequest;
use coven_api::{ApiClient, ProblemCode};
use coven_model::{InterventionChoice, TaskStatus, WorkflowStatus};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

use crate::stream_support::{Raw, event, find, journal, next};
use crate::support::{Home, code, problem};

const STEPS: &str = "
name: steps
description: Three scripts.
steps:
  - {name: one, type: script, command: echo first, output: one}
  - {name: two, type: script, command: echo second}
  - {name: three, type: script, command: echo third}
";

/// Spec: C0.6.1, GR.8.1, GR.8.2
#[tokio::test]
async fn whoever_follows_everything_sees_how_it_stands_and_then_each_fact_once() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for client in [daemon.client.clone(), daemon.tcp().await] {
        let mut events = client.events(&EventScope::Everything, None);
        let Some(StreamedEvent::Snapshot(snapshot)) = next(&mut events).await else { panic!() };
        let snapshot: EventSnapshot = serde_json::from_value(snapshot).unwrap();
        let started = daemon.start(&daemon.definition(STEPS)).await;
        assert!(snapshot.workflows.iter().all(|item| item.id != started.id));
        let (mut facts, mut pos) = (Vec::new(), snapshot.pos);
        while facts.last().is_none_or(|fact: &EventEnvelope| fact.kind != "workflow.completed") {
            let envelope = event(&mut events).await;
            assert_eq!(envelope.workflow_id, started.id);
            if let Some(at) = envelope.pos {
                assert!(at > pos, "{at} came after {pos}");
                pos = at;
                facts.push(*envelope);
            } else {
                assert_eq!(envelope.seq, None, "what is live has no number: {}", envelope.kind);
            }
        }
        assert_eq!(events.cursor(), Some(pos));
        let told: Vec<_> =
            facts.iter().map(|fact| (fact.seq.unwrap(), fact.kind.clone())).collect();
        assert_eq!(told, journal(&daemon, started.id.as_str()).await);
        let of = |kind: &str| facts.iter().find(|fact| fact.kind == kind).unwrap().data.clone();
        let (begun, done) = (of("workflow.step.started"), of("workflow.step.completed"));
        assert_eq!((&begun["step"], &begun["type"]), (&json!("one"), &json!("script")));
        assert_eq!((&done["step"], &done["summary"]), (&json!("one"), &json!("first")));
    }
}

/// Spec: C0.6.1, C0.10.1, GR.8.3
#[tokio::test]
async fn a_question_of_an_agent_that_nobody_watches_calls_a_person_with_all_it_takes_to_answer() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut everything = daemon.client.events(&EventScope::Everything, None);
    assert!(matches!(next(&mut everything).await, Some(StreamedEvent::Snapshot(_))));
    let task = json!({"id": "a", "adapter": "demo", "prompt": "approve touch asked.txt; exit 0"});
    let started = daemon.stage(&[task]).await;
    let asked = find(&mut everything, "workflow.intervention.required").await;
    assert_eq!(asked.workflow_id, started.id);
    let asked: coven_model::Intervention =
        serde_json::from_value(asked.data["intervention"].clone()).unwrap();
    assert!(!asked.reason.is_empty() && asked.options.contains(&InterventionChoice::Approve));
    assert!(asked.excerpt.contains("touch asked.txt"), "{}", asked.excerpt);
    // A follower of the session that comes only now sees it in its first picture.
    let mut one = daemon.client.events(&EventScope::Workflow(started.id.to_string()), None);
    let Some(StreamedEvent::Snapshot(snapshot)) = next(&mut one).await else { panic!() };
    let snapshot: SessionSnapshot = serde_json::from_value(snapshot).unwrap();
    let workflow = snapshot.workflow;
    assert_eq!(workflow.tasks[0].status, TaskStatus::WaitingForUser);
    assert_eq!(workflow.interventions[0].id, asked.id);
    let decide = DecideRequest::new(InterventionChoice::Approve, asked.digest);
    daemon.client.decide(&asked.id, &decide).await.unwrap();
    let mut seq = snapshot.seq;
    loop {
        match next(&mut one).await.unwrap() {
            StreamedEvent::Event(envelope) if envelope.seq.is_some() => {
                seq += 1;
                assert_eq!(envelope.seq, Some(seq), "no fact is left out or told twice");
            }
            StreamedEvent::Event(_) => {}
            StreamedEvent::End => break,
            other => panic!("{other:?}"),
        }
    }
    let facts = journal(&daemon, started.id.as_str()).await;
    assert_eq!(facts.last().unwrap(), &(seq, "workflow.completed".to_owned()));
    assert_eq!(next(&mut one).await, None);
}

#[tokio::test]
async fn what_is_live_has_no_cursor_and_can_be_left_out() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut all = Raw::open(&daemon, "/events", None).await;
    let mut facts = Raw::open(&daemon, "/events?live=false", None).await;
    assert_eq!(all.find("snapshot").await.id, facts.find("snapshot").await.id);
    let task = json!({"id": "a", "adapter": "demo", "prompt": "say hello there; exit 0"});
    daemon.stage(&[task]).await;
    let mut live = 0;
    loop {
        let frame = all.next().await.unwrap();
        if frame.comment.is_some() {
            continue;
        }
        assert_eq!(frame.event, frame.data["type"], "the event is named by its type");
        assert_eq!(frame.id, frame.data["pos"].as_u64());
        live += usize::from(frame.id.is_none());
        if frame.event == "task.output" {
            assert_eq!(frame.data["data"]["task"], "a");
            assert!(frame.data["data"]["len"].as_u64().unwrap() > 0);
        }
        if frame.event == "task.state" {
            assert!(frame.data["data"]["verdict"]["state"].is_string());
        }
        if frame.event == "workflow.completed" {
            break;
        }
    }
    assert!(live > 1, "the agent printed and worked");
    loop {
        let frame = facts.next().await.unwrap();
        assert!(frame.id.is_some(), "{frame:?}");
        if frame.event == "workflow.completed" {
            break;
        }
    }
}

#[tokio::test]
async fn a_session_that_is_over_is_told_from_its_beginning_or_shown_and_then_it_ends() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon.start(&daemon.definition(STEPS)).await;
    let id = started.id.as_str();
    daemon.ends(id, WorkflowStatus::Completed).await;
    let facts = journal(&daemon, id).await;
    assert_eq!(facts[0], (1, "session.created".to_owned()));
    let numbers: Vec<u64> = facts.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(numbers, (1..=facts.len() as u64).collect::<Vec<_>>());
    let shown = Raw::open(&daemon, &format!("/workflows/{id}/events"), None).await.rest().await;
    let kinds: Vec<&str> = shown.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(kinds, ["snapshot", "end"]);
    assert_eq!(shown[0].id, numbers.last().copied());
    // In the middle, by the header that browsers send, which counts more than the address.
    let path = format!("/workflows/{}/events?after=0", started.name);
    let rest = Raw::open(&daemon, &path, Some(4)).await.rest().await;
    assert_eq!(rest[0].id, Some(5));
    assert_eq!(rest.len(), facts.len() - 4 + 1);
    // At the very end there is nothing to tell but that.
    let end = Raw::open(&daemon, &path, numbers.last().copied()).await.rest().await;
    assert_eq!(end.len(), 1);
    assert_eq!(end[0].event, "end");
}

#[tokio::test]
async fn a_cursor_that_never_was_gets_a_gap_and_then_a_snapshot() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon.start(&daemon.definition(STEPS)).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    for scope in [EventScope::Everything, EventScope::Workflow(started.id.to_string())] {
        let mut events = daemon.client.events(&scope, Some(9_000_000_000));
        let Some(StreamedEvent::Gap(EventGap { after, oldest })) = next(&mut events).await else {
            panic!()
        };
        assert_eq!((after, oldest), (9_000_000_000, 1));
        assert!(matches!(next(&mut events).await, Some(StreamedEvent::Snapshot(_))));
        assert!(events.cursor().unwrap() < 1000, "the cursor is a real one again");
    }
}

#[tokio::test]
async fn what_cannot_be_followed_is_said_as_a_problem() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let get = |path: &'static str| daemon.raw("GET", path).send();
    assert_eq!(
        problem(get("/workflows/nobody/events").await.unwrap()).await.code,
        ProblemCode::WorkflowNotFound
    );
    assert_eq!(problem(get("/events?after=x").await.unwrap()).await.code, ProblemCode::BadRequest);
    assert_eq!(problem(get("/events?after=-1").await.unwrap()).await.code, ProblemCode::BadRequest);
    assert_eq!(problem(get("/events?before=1").await.unwrap()).await.code, ProblemCode::BadRequest);
    let odd = daemon.raw("GET", "/events").header("Last-Event-ID", "yesterday").send().await;
    assert_eq!(problem(odd.unwrap()).await.code, ProblemCode::BadRequest);
    let mut gone = daemon
        .client
        .events(&EventScope::Workflow("01890a5d-ac96-774b-bcce-b302099a8057".to_owned()), None);
    assert_eq!(code(gone.next().await), ProblemCode::WorkflowNotFound);
    assert!(gone.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_daemon_that_stops_says_so_and_a_silent_stream_beats() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut raw = Raw::open(&daemon, "/events", None).await;
    raw.find("snapshot").await;
    let beat = raw.next().await.unwrap();
    assert_eq!(beat.comment.as_deref(), Some("beat"));
    assert!(daemon.stop().await.success());
    assert_eq!(raw.find("stopping").await.id, None);
    assert!(raw.next().await.is_none());
}

const LONG: &str = "
name: long
description: Many small steps, so that there is always something in the middle.
steps:
  - {name: list, type: script, command: \"echo '[1,2,3,4,5,6]'\", expect: json, output: items}
  - {name: work, type: parallel-agents, mode: headless, for_each: '${items}', prompt: 'think 0.3; say done ${item}', output: results}
  - {name: a, type: script, command: echo a}
  - {name: b, type: script, command: echo b}
  - {name: c, type: script, command: echo c}
  - {name: d, type: agent, mode: headless, prompt: think 0.3}
  - {name: e, type: script, command: echo e}
  - {name: f, type: script, command: echo f}
";

/// Spec: C0.8.2
#[tokio::test]
async fn followers_go_on_with_neither_gap_nor_double_when_the_daemon_is_killed_in_between() {
    let home = Home::new();
    let mut daemon = home.daemon().await;
    let mut everything = daemon.client.events(&EventScope::Everything, None);
    assert!(matches!(next(&mut everything).await, Some(StreamedEvent::Snapshot(_))));
    let mut start = daemon.definition(LONG);
    start.default_adapter = Some("demo".to_owned());
    let started = daemon.start(&start).await;
    let mut one = daemon.client.events(&EventScope::Workflow(started.id.to_string()), Some(0));
    let (mut facts, mut told) = (Vec::new(), Vec::new());
    let mut kills = [6, 14, 22, 31].into_iter().peekable();
    while let Some(streamed) = next(&mut one).await {
        match streamed {
            StreamedEvent::Event(envelope) => {
                let Some(seq) = envelope.seq else { continue };
                facts.push((seq, envelope.kind.clone()));
            }
            StreamedEvent::Reconnecting(_) | StreamedEvent::Lagged | StreamedEvent::End => {}
            other => panic!("{other:?}"),
        }
        if kills.next_if(|at| facts.len() >= *at).is_some() {
            daemon.kill();
            daemon = home.daemon().await;
        }
    }
    assert_eq!(kills.next(), None, "every kill was in the middle");
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert_eq!(facts, journal(&daemon, started.id.as_str()).await);
    // The follower of all sessions that read nothing meanwhile has missed nothing either.
    let mut pos = 0;
    while told.len() < facts.len() {
        match next(&mut everything).await.unwrap() {
            StreamedEvent::Event(envelope) if envelope.pos.is_some() => {
                assert!(envelope.pos.unwrap() > pos);
                pos = envelope.pos.unwrap();
                told.push((envelope.seq.unwrap(), envelope.kind.clone()));
            }
            StreamedEvent::Snapshot(_) | StreamedEvent::Gap(_) => {
                panic!("a cursor that is kept needs none")
            }
            _ => {}
        }
    }
    assert_eq!(told, facts);
}

#[tokio::test]
async fn a_reader_that_does_not_read_slows_nobody_is_told_and_misses_no_fact() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task =
        json!({"id": "a", "adapter": "demo", "prompt": "think 0.5; flood 100000000; exit 0"});
    let started = daemon.stage(&[task]).await;
    let id = started.id.as_str();
    let mut raw = Raw::open(&daemon, &format!("/workflows/{id}/events?after=0"), None).await;
    // Nothing is read until the run is over, which it is all the same.
    daemon.ends(id, WorkflowStatus::Completed).await;
    let frames = raw.rest().await;
    let missed: u64 = frames
        .iter()
        .filter(|frame| frame.event == "lagged")
        .map(|frame| frame.data["missed"].as_u64().unwrap())
        .sum();
    assert!(missed > 0, "such a flood is more than a connection holds, in the largest pieces");
    let told: Vec<_> =
        frames.iter().filter_map(|frame| Some((frame.id?, frame.event.clone()))).collect();
    assert_eq!(told, journal(&daemon, id).await);
}

#[tokio::test]
async fn two_hundred_followers_all_hear_the_same() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let tcp = daemon.tcp().await;
    let mut followers = Vec::new();
    for number in 0..200 {
        let client: &ApiClient = if number % 2 == 0 { &daemon.client } else { &tcp };
        let mut events = client.events(&EventScope::Everything, None);
        assert!(matches!(next(&mut events).await, Some(StreamedEvent::Snapshot(_))));
        followers.push(events);
    }
    // And some that never read a word.
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = UnixStream::connect(home.socket()).await.unwrap();
        let request = b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        silent.push(stream);
    }
    let started = daemon.start(&daemon.definition(STEPS)).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    let wanted = journal(&daemon, started.id.as_str()).await;
    for mut events in followers {
        let mut told = Vec::new();
        while told.len() < wanted.len() {
            let envelope = event(&mut events).await;
            told.extend(envelope.seq.map(|seq| (seq, envelope.kind.clone())));
        }
        assert_eq!(told, wanted);
    }
}
