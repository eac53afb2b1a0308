//! The client against small daemons, over every kind of byte stream.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::HeaderMap as Headers;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::DuplexStream;
use tokio::process::Command;

use super::*;
use crate::event::EventGap;
use crate::problem::ProblemCode;

const VERSION: &str = r#"{"version":"1.2.3","api":1,"events":1,"pid":7}"#;

/// A daemon that knows its version, one key, no session, and two events.
fn daemon() -> Router {
    let missing = || async {
        let problem = ApiProblem::new(ProblemCode::WorkflowNotFound, "there is no such session");
        let body = serde_json::to_string(&problem).unwrap();
        (StatusCode::NOT_FOUND, [("content-type", "application/problem+json")], body)
    };
    Router::new()
        .route("/version", get(|| async { VERSION }))
        .route("/status", get(|| async { "no JSON" }))
        .route(
            "/shutdown",
            post(|headers: Headers, body: String| async move { echo(&headers, &body) }),
        )
        .route("/workflows/{id}", get(missing))
        .route("/events", get(events))
}

/// Refuses what does not look as the client sends it.
fn echo(headers: &Headers, body: &str) -> Response {
    let is_json = headers["content-type"] == "application/json" && headers["host"] == "localhost";
    let ok = is_json && body == serde_json::to_string(&ShutdownRequest::default()).unwrap();
    (if ok { StatusCode::NO_CONTENT } else { StatusCode::BAD_REQUEST }).into_response()
}

/// Tells one event on each connection, and the one after the last that was seen.
async fn events(headers: Headers) -> Response {
    let seen = headers.get("last-event-id").map_or("0", |id| id.to_str().unwrap());
    let next = seen.parse::<u64>().unwrap() + 1;
    let body = match next {
        1 | 2 => format!("id: {next}\nevent: gap\ndata: {}\n\n", gap(next)),
        _ => "event: end\ndata: {}\n\n".to_owned(),
    };
    ([("content-type", "text/event-stream")], body).into_response()
}

fn gap(number: u64) -> serde_json::Value {
    serde_json::to_value(EventGap { after: number, oldest: number }).unwrap()
}

/// Serves one stream, as the daemon does.
fn serve(router: Router, stream: DuplexStream) {
    tokio::spawn(async move {
        let service = TowerToHyperService::new(router);
        // A client that goes away is none of the test's business.
        drop(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await,
        );
    });
}

/// A client whose connections are in this process, and how many there were.
fn in_process() -> (ApiClient, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let client = ApiClient::over(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = tokio::io::duplex(64);
        serve(daemon(), theirs);
        async { Ok(ours) }
    });
    (client, connections)
}

#[tokio::test]
async fn requests_go_over_any_byte_stream_and_share_a_connection() {
    let (client, connections) = in_process();
    assert_eq!(client.version().await.unwrap().pid, 7);
    client.shutdown(ShutdownRequest::default()).await.unwrap();
    match client.workflow("nobody").await {
        Err(ClientError::Problem(problem)) => {
            assert_eq!(problem.code, ProblemCode::WorkflowNotFound);
        }
        other => panic!("{other:?}"),
    }
    let unreadable = client.status().await;
    assert!(matches!(unreadable, Err(ClientError::Unreadable(_))), "{unreadable:?}");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn following_goes_on_after_the_last_event_that_was_seen() {
    let (client, _) = in_process();
    let mut events = client.events(&EventScope::Everything, None);
    let mut told = Vec::new();
    while let Some(streamed) = events.next().await.unwrap() {
        if !matches!(streamed, StreamedEvent::Reconnecting(_)) {
            told.push(streamed);
        }
    }
    let gap = |number| StreamedEvent::Gap(EventGap { after: number, oldest: number });
    assert_eq!(told, [gap(1), gap(2), StreamedEvent::End]);
}

#[tokio::test]
async fn requests_go_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let client = ApiClient::new(DaemonAddress::Socket(path.clone())).unwrap();
    let absent = client.version().await;
    assert!(matches!(absent, Err(ClientError::Unreachable(_))), "{absent:?}");
    let listener = tokio::net::UnixListener::bind(path).unwrap();
    let daemon = tokio::spawn(async move { axum::serve(listener, daemon()).await });
    assert_eq!(client.version().await.unwrap().version, "1.2.3");
    daemon.abort();
}

#[tokio::test]
async fn requests_go_over_the_input_and_output_of_a_child() {
    // Reads a request up to its empty line, and answers it.
    let script = format!(
        r"while IFS= read -r line && [ ${{#line}} -gt 1 ]; do :; done
           printf 'HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n%s' '{VERSION}'",
        VERSION.len()
    );
    let client = ApiClient::over(move || {
        let child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        async {
            let mut child = child?;
            let (output, input) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
            Ok(tokio::io::join(output, input))
        }
    });
    assert_eq!(client.version().await.unwrap().version, "1.2.3");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_not_waited_for_for_ever() {
    let client = ApiClient::over(|| async {
        let (ours, theirs) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let _open = theirs;
            std::future::pending::<()>().await;
        });
        Ok(ours)
    });
    match client.version().await {
        Err(ClientError::Unreachable(why)) => assert!(why.contains("60 seconds"), "{why}"),
        other => panic!("{other:?}"),
    }
    let client = ApiClient::over(std::future::pending::<io::Result<DuplexStream>>);
    match client.version().await {
        Err(ClientError::Unreachable(why)) => assert!(why.contains("not accepted"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_become_parts_that_cannot_leave_their_place() {
    assert_eq!(part("brisk-otter"), "brisk-otter");
    assert_eq!(part("a/../b?x=1#y z%"), "a%2F..%2Fb%3Fx%3D1%23y%20z%25");
    assert_eq!(part(".."), "%2E%2E");
    assert_eq!(part("é"), "%C3%A9");
}

#[test]
fn a_query_has_what_is_there() {
    let query = ListQuery {
        status: Some("running,blocked".to_owned()),
        limit: Some(5),
        ..ListQuery::default()
    };
    assert_eq!(query_string(&query), "?limit=5&status=running%2Cblocked");
    assert_eq!(query_string(&()), "");
}
