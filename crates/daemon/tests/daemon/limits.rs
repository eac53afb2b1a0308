//! Requests that are too large, too slow or too many.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

use coven_api::ProblemCode;
use coven_api::intervention::DecideRequest;
use coven_api::workflow::ListQuery;
use coven_model::{AgentState, InterventionChoice, InterventionKind, WorkflowStatus};
use serde_json::json;

use crate::support::{DEADLINE, Home, problem, until};

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_the_daemon_goes_on() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let large = json!({"goal": "x".repeat(5 << 20)}).to_string();
    let request = daemon.raw("POST", "/workflows").header("content-type", "application/json");
    let told = problem(request.body(large).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::TooLarge);
    // Just below the limit it is read.
    let fits = json!({"definition": {"text": "#".repeat(3 << 20)}}).to_string();
    let request = daemon.raw("POST", "/workflows").header("content-type", "application/json");
    let told = problem(request.body(fits).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::BadDefinition);
}

#[tokio::test]
async fn headers_that_are_too_large_or_too_many_are_refused() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let request = daemon.raw("GET", "/health").header("x-large", "x".repeat(20 * 1024));
    assert_eq!(problem(request.send().await.unwrap()).await.code, ProblemCode::HeadersTooLarge);
    let long = format!("/workflows/{}", "x".repeat(20 * 1024));
    let told = problem(daemon.raw("GET", &long).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::HeadersTooLarge);
    for (header, expected) in [("x".repeat(200 * 1024), "431"), ("x: y\r\n".repeat(1000), "431")] {
        let mut stream = UnixStream::connect(home.socket()).unwrap();
        let text = format!("GET /health HTTP/1.1\r\nhost: x\r\nx-a: {header}\r\n\r\n");
        stream.write_all(text.as_bytes()).ok();
        let mut answer = [0; 64];
        let length = stream.read(&mut answer).unwrap_or(0);
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(length == 0 || answer.contains(expected), "{answer}");
    }
    daemon.client.version().await.unwrap();
}

#[tokio::test]
async fn what_is_no_http_is_turned_away() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for nonsense in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
    {
        let mut stream = UnixStream::connect(home.socket()).unwrap();
        stream.write_all(nonsense).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400") || answer.contains("505"),
            "{answer}"
        );
    }
    daemon.client.version().await.unwrap();
}

#[tokio::test]
async fn headers_that_never_end_are_not_waited_for() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut stream = TcpStream::connect(daemon.address().await).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: ").unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let closed = tokio::task::spawn_blocking(move || {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).is_ok()
    });
    // Others are served meanwhile.
    daemon.client.version().await.unwrap();
    assert!(closed.await.unwrap(), "it was never closed");
}

#[tokio::test]
async fn clients_that_do_not_read_hold_up_nobody() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[json!({"id": "loud", "adapter": "demo", "executionMode": "headless", "prompt": "flood 1000000"})])
        .await;
    let id = started.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let mut deaf = Vec::new();
    for _ in 0..20 {
        let mut stream = UnixStream::connect(home.socket()).unwrap();
        let text = format!(
            "GET /workflows/{id}/tasks/loud/output?raw=true&limit=1000000 HTTP/1.1\r\nhost: x\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).unwrap();
        deaf.push(stream);
    }
    for _ in 0..5 {
        let answered = tokio::time::timeout(DEADLINE, daemon.client.workflow(&id)).await;
        answered.expect("the daemon answers others").unwrap();
    }
    drop(deaf);
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_so_and_room_is_made_when_some_go() {
    let home = Home::new();
    let daemon = home.daemon().await;
    more_files();
    // As fast as can be: a connection that says nothing is closed after a while.
    let mut held: Vec<UnixStream> =
        (0..2100).map(|_| UnixStream::connect(home.socket()).unwrap()).collect();
    for stream in &held {
        stream.set_nonblocking(true).unwrap();
    }
    let refused = until("somebody is refused", || {
        let mut answer = [0; 512];
        let said = held.iter_mut().rev().find_map(|stream| match stream.read(&mut answer) {
            Ok(length) if length > 0 => {
                Some(String::from_utf8_lossy(&answer[..length]).into_owned())
            }
            _ => None,
        });
        std::future::ready(said)
    })
    .await;
    assert!(refused.contains("429") && refused.contains("too-many"), "{refused}");
    drop(held);
    until("there is room again", || async { daemon.client.version().await.ok() }).await;
}

#[tokio::test]
async fn a_thousand_followers_hear_every_fact_once_and_in_order() {
    let home = Home::new();
    let daemon = home.daemon().await;
    more_files();
    let text = "name: many\ndescription: x\nsteps:\n  - {name: first, type: gate, message: Wait.}\n  - {name: last, type: script, command: echo}\n";
    let id = daemon.start(&daemon.definition(text)).await.id.to_string();
    let asked = daemon.asked(&id).await.intervention.id;
    let followers: Vec<UnixStream> = (0..1000)
        .map(|_| {
            let mut stream = UnixStream::connect(home.socket()).unwrap();
            let head = format!("GET /workflows/{id}/events?after=0 HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let approve = DecideRequest::new(InterventionChoice::Approve, None);
    daemon.client.decide(&asked, &approve).await.unwrap();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    // The number of an answer is from before its content, so that a client that follows from there
    // misses no fact.
    let last = daemon.client.workflow(&id).await.unwrap().last_seq;
    let wanted: Vec<u64> = (1..=last).collect();
    for mut stream in followers {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut heard = String::new();
        let mut piece = [0; 16 * 1024];
        while !heard.contains("event: workflow.completed") {
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "it was cut off: {heard}");
            heard.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        let facts = heard.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok());
        assert_eq!(facts.collect::<Vec<u64>>(), wanted);
    }
}

#[tokio::test]
async fn a_full_disk_is_told_nothing_is_begun_and_it_works_again_when_there_is_room() {
    let home = Home::new();
    let at = home.base();
    let mount = ["-t", "tmpfs", "-o", "size=2m,mode=0700", "daemon-test"];
    let mounted = Command::new("mount").args(mount).arg(&at).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return coven_testkit::skip::skip("only root may mount a small disk");
    }
    let _disk = Mounted(at.clone());
    let daemon = home.daemon().await;
    let text = "name: one\ndescription: x\nsteps:\n  - {name: only, type: script, command: echo}\n";
    let before = daemon.start(&daemon.definition(text)).await.id.to_string();
    daemon.ends(&before, WorkflowStatus::Completed).await;
    let ballast = at.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    drop(file);
    let start = serde_json::to_value(daemon.definition(text)).unwrap();
    let refused = problem(daemon.raw("POST", "/workflows").json(&start).send().await.unwrap());
    let refused = refused.await;
    assert_eq!(refused.code, ProblemCode::Storage, "{refused:?}");
    assert!(refused.detail.contains("no room is left"), "{refused:?}");
    let page = daemon.client.workflows(&ListQuery::default()).await.unwrap();
    assert_eq!(page.workflows.len(), 1, "{page:?}");
    std::fs::remove_file(&ballast).unwrap();
    let after = daemon.start(&daemon.definition(text)).await.id.to_string();
    daemon.ends(&after, WorkflowStatus::Completed).await;
    assert!(daemon.stop().await.success());
}

/// What an agent prints while the disk is full is lost, and with it what its screen shows. It is
/// made to paint anew, so that the next daemon knows where it stands.
#[tokio::test]
async fn an_agent_that_went_on_while_the_disk_was_full_is_understood_by_the_next_daemon() {
    let home = Home::new();
    let at = home.path().join("state");
    let mount = ["-t", "tmpfs", "-o", "size=3m,mode=0700", "daemon-test"];
    let mounted = Command::new("mount").args(mount).arg(&at).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return coven_testkit::skip::skip("only root may mount a small disk");
    }
    let _disk = Mounted(at.clone());
    let mut daemon = home.daemon().await;
    let task = json!({
        "id": "talk", "adapter": "demo", "permissions": "ask",
        "prompt": "approve echo hi; say Done.",
    });
    let id = daemon.stage(&[task]).await.id.to_string();
    let asked = daemon.asked(&id).await.intervention;
    assert_eq!(asked.kind, InterventionKind::Approval);
    let ballast = at.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    drop(file);
    let approve = DecideRequest::new(InterventionChoice::Approve, asked.digest.clone());
    daemon.client.decide(&asked.id, &approve).await.unwrap();
    let ended = || async {
        let asked = daemon.asked(&id).await.intervention;
        (asked.kind == InterventionKind::EndedTurn).then_some(())
    };
    until("the turn ends", ended).await;
    daemon.kill();
    std::fs::remove_file(&ballast).unwrap();
    daemon = home.daemon().await;
    let idle = || async {
        let asked = daemon.asked(&id).await.intervention;
        let explained = daemon.client.explain(&id, "talk").await.ok()?;
        (explained.verdict?.state == AgentState::Idle).then_some(asked)
    };
    let asked = until("the agent is seen to be idle", idle).await;
    assert_eq!(asked.kind, InterventionKind::EndedTurn);
    assert!(daemon.stop().await.success());
}

/// A small disk, unmounted when it goes.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

/// Lets this process have as many connections as it may.
pub(crate) fn more_files() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let room = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, room).unwrap();
}
