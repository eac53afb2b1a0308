//! Every route with what it should never be sent.

use coven_api::ProblemCode;
use coven_api::route::{ApiRoute, HttpMethod, ROUTES, RouteAccess};
use serde_json::{Value, json};

use crate::http::Response;
use crate::support::{Home, problem};

const UNKNOWN_SESSION: &str = "01890000-0000-7000-8000-000000000000";

/// The path of a route with something in it that does not exist.
fn path(route: &ApiRoute) -> String {
    route
        .path
        .replace("{id}", UNKNOWN_SESSION)
        .replace("{session}", UNKNOWN_SESSION)
        .replace("{task}", "nothing")
        .replace("{attempt}", "1")
        .replace("{number}", "1")
        .replace("{name}", "nothing")
        + if route.name == "getFileChanges" { "?path=nothing" } else { "" }
}

/// A body that a route can read.
fn body(route: &ApiRoute) -> Value {
    match route.name {
        "startWorkflow" => json!({"grimoire": "nothing"}),
        "takeReport" => json!({"hook_event_name": "Stop"}),
        "typeToTask" => json!({"message": "hello"}),
        "resizeTask" => json!({"cols": 80, "rows": 24}),
        "decide" => json!({"decision": "approve"}),
        "sendReview" => json!({"summary": "well"}),
        "restoreTree" => json!({"workflow": UNKNOWN_SESSION}),
        "checkDefinition" => json!({"text": "name: x"}),
        "postEvent" => json!({"type": "something.happened"}),
        "setTrust" => json!({"baseDir": "/nowhere/at/all", "trusted": true}),
        "openBaseDir" => json!({"baseDir": "/nowhere/at/all"}),
        "importSession" => json!({
            "baseDir": "/nonexistent", "session": "01890a5d-ac96-774b-bcce-b302099a8057",
            "digest": "0",
        }),
        "acceptPolicy" => json!({"digest": "wrong"}),
        "askChallenge" => json!({"nonce": "A".repeat(43)}),
        "addDevice" => json!({"name": "robot"}),
        "signIn" => json!({
            "code": "wrong", "publicKey": "key", "signature": "none",
            "challenge": {
                "port": 1, "clientNonce": "a", "daemonNonce": "b", "issued": 1,
                "daemonKey": "key", "signature": "none",
            },
        }),
        _ => json!({}),
    }
}

/// Streams and sockets are tested where they are made; going away ends the test.
fn is_ordinary(route: &ApiRoute) -> bool {
    use coven_api::route::RouteAnswer;
    !matches!(route.answers, RouteAnswer::Events(_) | RouteAnswer::Socket)
        && route.name != "shutdown"
}

#[tokio::test]
async fn every_route_is_there_and_what_is_not_there_is_told_by_its_code() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for route in ROUTES.iter().filter(|route| is_ordinary(route)) {
        let mut request = daemon.raw(route.method.as_str(), &path(route));
        if route.body.is_some() {
            request = request.json(&body(route));
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        if status.is_success() {
            assert!(!route.path.contains('{'), "{} answers for nothing", route.name);
            continue;
        }
        let told = problem(response).await;
        let expected = match route.path {
            path if path.starts_with("/workflows/") => ProblemCode::WorkflowNotFound,
            "/trees/restore" => ProblemCode::WorkflowNotFound,
            path if path.starts_with("/interventions/") => ProblemCode::InterventionNotFound,
            "/workflows" | "/grimoires/{name}" => ProblemCode::GrimoireNotFound,
            "/trust" | "/base-dirs" | "/import" => ProblemCode::BadBaseDir,
            "/policy" => ProblemCode::StaleDigest,
            // Over the socket nobody needs to.
            "/sign-in" | "/sign-in/challenge" => ProblemCode::NotNow,
            "/devices/{name}" => ProblemCode::DeviceNotFound,
            // Agents report over loopback.
            "/hook/{session}/{task}/{attempt}" => ProblemCode::Forbidden,
            other => panic!("{other} answers {told:?}"),
        };
        assert_eq!(told.code, expected, "{}", route.name);
        let known = route.problems.contains(&told.code)
            || coven_api::route::COMMON_PROBLEMS.contains(&told.code);
        assert!(known, "{} does not say that {} may come of it", route.name, told.code);
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_there_are() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for route in ROUTES {
        for method in ["PUT", "PATCH", "DELETE", "POST", "GET", "NONSENSE"] {
            let known = ROUTES
                .iter()
                .any(|other| other.path == route.path && other.method.as_str() == method);
            // The names of grimoires are paths too.
            let named = route.path == "/grimoires/check" && method == "GET";
            if known || named {
                continue;
            }
            let response = daemon.raw(method, &path(route)).send().await.unwrap();
            let allow = response.headers().get("allow").cloned();
            let told = problem(response).await;
            assert_eq!(told.code, ProblemCode::MethodNotAllowed, "{method} {}", route.path);
            let allow = allow.unwrap().to_str().unwrap().to_owned();
            assert!(allow.split(", ").any(|name| name == route.method.as_str()), "{allow}");
        }
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_told_where_it_is_wrong() {
    let home = Home::new();
    let daemon = home.daemon().await;
    // Agents are told of no error: they would show it on their screens.
    let is_read = |route: &&ApiRoute| route.body.is_some() && route.access != RouteAccess::Report;
    for route in ROUTES.iter().filter(is_read) {
        let (method, path) = (route.method.as_str(), path(route));
        let send = |kind: &'static str, body: String| {
            daemon.raw(method, &path).header("content-type", kind).body(body).send()
        };
        let malformed =
            problem(send("application/json", "{\n  \"a\": tru".to_owned()).await.unwrap()).await;
        assert_eq!(malformed.code, ProblemCode::BadRequest, "{}", route.name);
        assert!(malformed.detail.contains("line 2"), "{}: {}", route.name, malformed.detail);
        let extra =
            problem(send("application/json", json!({"nonsense": 1}).to_string()).await.unwrap())
                .await;
        assert_eq!(extra.code, ProblemCode::BadRequest, "{}", route.name);
        assert!(extra.detail.contains("nonsense"), "{}: {}", route.name, extra.detail);
        let list = problem(send("application/json", "[1, 2]".to_owned()).await.unwrap()).await;
        assert_eq!(list.code, ProblemCode::BadRequest, "{}", route.name);
        let trailing = problem(send("application/json", "{} {}".to_owned()).await.unwrap()).await;
        assert_eq!(trailing.code, ProblemCode::BadRequest, "{}", route.name);
        let text = problem(send("text/plain", body(route).to_string()).await.unwrap()).await;
        assert_eq!(text.code, ProblemCode::UnsupportedMediaType, "{}", route.name);
        if route.body.is_some_and(|(_, required)| required) {
            let none = problem(daemon.raw(method, &path).send().await.unwrap()).await;
            assert_eq!(none.code, ProblemCode::BadRequest, "{}", route.name);
            let empty = problem(send("application/json", "{}".to_owned()).await.unwrap()).await;
            assert!(empty.status < 500, "{}: {empty:?}", route.name);
        }
    }
}

#[tokio::test]
async fn a_wrong_type_is_told_by_the_path_to_it() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let body = json!({"agent": {"adapter": "demo", "mode": "sideways"}});
    let told = problem(daemon.raw("POST", "/workflows").json(&body).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::BadRequest);
    assert!(told.detail.contains("agent.mode"), "{}", told.detail);
    assert!(told.detail.contains("headless"), "what is possible is told: {}", told.detail);
}

#[tokio::test]
async fn a_query_that_cannot_be_read_is_told() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for path in [
        "/workflows?nonsense=1",
        "/workflows?limit=many",
        "/workflows?limit=0",
        "/workflows?limit=100000",
        "/workflows?status=sleeping",
        "/interventions?state=perhaps",
        "/grimoires?folder=/tmp",
    ] {
        let told = problem(daemon.raw("GET", path).send().await.unwrap()).await;
        assert_eq!(told.code, ProblemCode::BadRequest, "{path}: {}", told.detail);
    }
    for path in [
        "/workflows?baseDir=relative/path",
        "/workflows?baseDir=/does/not/exist",
        "/grimoires?baseDir=/dev/null",
        "/adapters?baseDir=",
        "/trust?baseDir=/does/not/exist",
    ] {
        let told = problem(daemon.raw("GET", path).send().await.unwrap()).await;
        assert_eq!(told.code, ProblemCode::BadBaseDir, "{path}: {}", told.detail);
    }
}

#[tokio::test]
async fn what_is_nowhere_and_ids_that_try_to_be_paths_are_not_found() {
    let home = Home::new();
    let daemon = home.daemon().await;
    for (path, code) in [
        ("/nothing/here", ProblemCode::NotFound),
        ("/workflows/", ProblemCode::NotFound),
        ("/assets/../../../../etc/passwd", ProblemCode::NotFound),
        ("/assets/%2e%2e/%2e%2e/etc/passwd", ProblemCode::NotFound),
        ("/workflows/..%2f..%2fetc", ProblemCode::WorkflowNotFound),
        ("/workflows/%00", ProblemCode::WorkflowNotFound),
        ("/workflows/%ff%fe", ProblemCode::BadRequest),
        ("/workflows/%1b%5b31mred", ProblemCode::WorkflowNotFound),
        ("/grimoires/..%2f..%2fetc%2fpasswd", ProblemCode::GrimoireNotFound),
        ("/interventions?workflow=..%2f..", ProblemCode::WorkflowNotFound),
    ] {
        let response = daemon.raw("GET", path).send().await.unwrap();
        let told = problem(response).await;
        assert_eq!(told.code, code, "{path}: {}", told.detail);
        assert!(!told.detail.contains('\u{1b}'), "{path}");
    }
    let started = daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": "hang"})]).await;
    for task in ["..%2f..%2f..", "%2fetc%2fpasswd", "a%2f1", ".."] {
        for what in ["screen", "output", "recording", "explain"] {
            let path = format!("/workflows/{}/tasks/{task}/{what}", started.id);
            let told = problem(daemon.raw("GET", &path).send().await.unwrap()).await;
            assert!(
                matches!(told.code, ProblemCode::TaskNotFound | ProblemCode::NotFound),
                "{path}: {told:?}"
            );
        }
    }
    let path = format!("/workflows/{}/tasks/a/screen?attempt=7", started.id);
    let told = problem(daemon.raw("GET", &path).send().await.unwrap()).await;
    assert_eq!(told.code, ProblemCode::TaskNotFound);
}

#[tokio::test]
async fn requests_are_named_and_what_a_client_calls_them_is_kept_if_it_is_decent() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = |response: &Response| {
        response.headers().get("x-request-id").unwrap().to_str().unwrap().to_owned()
    };
    let named =
        daemon.raw("GET", "/health").header("x-request-id", "mine-17").send().await.unwrap();
    assert_eq!(id(&named), "mine-17");
    let long = "x".repeat(300);
    for bad in ["with space", "a\tb", long.as_str()] {
        let answer = daemon.raw("GET", "/health").header("x-request-id", bad).send().await.unwrap();
        assert_ne!(id(&answer), bad);
    }
    let told =
        daemon.raw("GET", "/nothing").header("x-request-id", "find-me").send().await.unwrap();
    assert_eq!(problem(told).await.request_id.unwrap(), "find-me");
    assert!(home.log().contains("find-me"), "{}", home.log());
}

#[tokio::test]
async fn the_published_document_is_what_is_served() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let served = daemon.raw("GET", "/openapi.json").send().await.unwrap().text().await.unwrap();
    assert_eq!(served, coven_api::openapi::text());
    let head = daemon.raw("HEAD", "/openapi.json").send().await.unwrap();
    assert!(head.status().is_success());
    assert_eq!(HttpMethod::Get.as_str(), "GET");
}

/// What `cargo xtask schemathesis` found once.
#[tokio::test]
async fn made_up_requests_of_before_get_the_answers_that_the_document_names() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let agent = json!({"id": "a", "adapter": "demo", "prompt": "say hello"});
    let id = daemon.stage(&[agent]).await.id.to_string();
    daemon.asked(&id).await;
    let send = async |path: &str, body: &str| {
        let request = daemon.raw("POST", path).header("content-type", "application/json");
        request.body(body.to_owned()).send().await.unwrap()
    };
    // A list was taken for the fields of an object in their order.
    for path in [format!("/workflows/{id}/resume"), "/shutdown".to_owned()] {
        assert_eq!(
            problem(send(&path, " [null]").await).await.code,
            ProblemCode::BadRequest,
            "{path}"
        );
    }
    // In a JSON schema this is an integer, and that is not.
    let resize = format!("/workflows/{id}/tasks/a/resize");
    assert_eq!(send(&resize, r#"{"cols": 100.0, "rows": 30}"#).await.status(), 204);
    let half = problem(send(&resize, r#"{"cols": 100.5, "rows": 30}"#).await).await;
    assert_eq!(half.code, ProblemCode::BadRequest);
    assert!(half.detail.contains("cols"), "{half:?}");
    // One more than the largest number there is.
    for path in [format!("/workflows/{id}/events"), "/events".to_owned()] {
        let request = daemon.raw("GET", &path).header("last-event-id", u64::MAX.to_string());
        let mut answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let mut heard = String::new();
        while !heard.contains("event: gap") {
            let piece = answer.chunk().await.unwrap().expect("more");
            heard.push_str(&String::from_utf8_lossy(&piece));
        }
    }
    // Each of these had a status that the document did not name, or a wrong one.
    for (method, path, code) in [
        ("GET", "/ipc", ProblemCode::UpgradeRequired),
        ("GET", "/interventions?state=decided", ProblemCode::BadInput),
        ("GET", "/workflows?after=", ProblemCode::BadInput),
        ("GET", "/workflows?after=../../etc", ProblemCode::BadInput),
    ] {
        let told = problem(daemon.raw(method, path).send().await.unwrap()).await;
        assert_eq!(told.code, code, "{path}");
    }
    let input = format!("/workflows/{id}/tasks/a/input");
    let told = problem(send(&input, r#"{"keys": ["NoSuchKey"]}"#).await).await;
    assert_eq!(told.code, ProblemCode::BadInput);
}
