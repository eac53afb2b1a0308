//! Devices: how a browser signs in, what each role may do, and how a device ends.
//! `docs/security.md` names these tests.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use coven_api::attach::{BEARER_SUBPROTOCOL, FromDaemon};
use coven_api::device::{
    AskChallenge, DeviceRole, MakeSignInCode, SignIn, SignInChallenge, SignedIn,
};
use coven_api::ipc::SUBPROTOCOL as IPC;
use coven_api::route::{HttpMethod, ROUTES, RouteAccess, RouteAnswer};
use coven_api::{ApiProblem, ProblemCode};
use futures_util::{SinkExt, StreamExt};
use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::http::{Request, Response, Server};
use crate::support::{DEADLINE, Daemon, Home, code, problem, until};

const NONCE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What a page does, without a browser.
struct Page<'a> {
    daemon: &'a Daemon<'a>,
    key: SigningKey,
}

impl<'a> Page<'a> {
    fn new(daemon: &'a Daemon<'a>, seed: u8) -> Self {
        Self { daemon, key: SigningKey::from_slice(&[seed; 32]).unwrap() }
    }

    async fn post(&self, path: &str, body: &impl serde::Serialize) -> Response {
        let address = self.daemon.address().await;
        let request = Request::new(Server::Tcp(address), "POST", path);
        let request = request.header("origin", format!("http://{address}"));
        request.header("sec-fetch-site", "same-origin").json(body).send().await.unwrap()
    }

    async fn challenge(&self) -> SignInChallenge {
        let ask = AskChallenge { nonce: NONCE.to_owned() };
        self.post("/sign-in/challenge", &ask).await.json().await.unwrap()
    }

    fn signed(&self, challenge: SignInChallenge, code: Option<&str>) -> SignIn {
        let public_key = BASE64.encode(self.key.verifying_key().to_sec1_point(false).as_bytes());
        let signature: Signature = self.key.sign(challenge.device_text(&public_key).as_bytes());
        SignIn {
            code: code.map(str::to_owned),
            name: Some("Test".to_owned()),
            public_key,
            challenge,
            signature: BASE64.encode(signature.to_bytes()),
        }
    }

    async fn sign_in(&self, code: Option<&str>) -> Result<SignedIn, ApiProblem> {
        let sign_in = self.signed(self.challenge().await, code);
        let answer = self.post("/sign-in", &sign_in).await;
        if answer.status().is_success() {
            return Ok(answer.json().await.unwrap());
        }
        Err(problem(answer).await)
    }
}

#[tokio::test]
async fn a_browser_signs_in_with_a_code_once_and_by_its_key_from_then_on() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let page = Page::new(&daemon, 1);
    assert_eq!(page.sign_in(None).await.unwrap_err().code, ProblemCode::Unauthorized);
    let made = daemon.code().await;
    let (url, code) = made.url.split_once("/#code=").unwrap();
    assert_eq!((url, code), (format!("http://{}", daemon.address().await).as_str(), &*made.code));
    let first = page.sign_in(Some(code)).await.unwrap();
    assert_eq!((first.device.name.as_str(), first.device.role), ("Test", DeviceRole::Full));
    daemon.tcp_with(first.token.clone()).await.status().await.unwrap();
    // A code is used up, also for the same browser; the key is enough.
    let again = page.sign_in(Some(code)).await.unwrap_err();
    assert_eq!(again.code, ProblemCode::Unauthorized);
    let second = page.sign_in(None).await.unwrap();
    assert_ne!(first.token, second.token);
    // Another key is another device, and the daemon's key is what the code said.
    let other = Page::new(&daemon, 2);
    assert_eq!(other.sign_in(None).await.unwrap_err().code, ProblemCode::Unauthorized);
    let challenge = page.challenge().await;
    let bytes = BASE64.decode(&challenge.daemon_key).unwrap();
    let key = VerifyingKey::from_sec1_bytes(&bytes).unwrap();
    let signature = Signature::from_slice(&BASE64.decode(&challenge.signature).unwrap()).unwrap();
    key.verify(challenge.daemon_text().as_bytes(), &signature).unwrap();
    // Tokens of browsers go with the daemon, the device stays.
    assert!(daemon.stop().await.success());
    let daemon = home.daemon().await;
    let refused = daemon.tcp_with(first.token).await.status().await;
    assert_eq!(crate::support::code(refused), ProblemCode::Unauthorized);
    let page = Page::new(&daemon, 1);
    page.sign_in(None).await.unwrap();
}

#[tokio::test]
async fn what_is_signed_for_another_port_or_changed_is_worth_nothing() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let page = Page::new(&daemon, 1);
    page.sign_in(Some(&daemon.code().await.code)).await.unwrap();
    let challenge = page.challenge().await;
    let signed = page.signed(challenge.clone(), None);
    for wrong in [
        SignIn { signature: challenge.signature.clone(), ..signed.clone() },
        page.signed(SignInChallenge { port: challenge.port ^ 1, ..challenge.clone() }, None),
        page.signed(SignInChallenge { issued: challenge.issued + 1, ..challenge.clone() }, None),
        SignIn { public_key: "AAAA".to_owned(), ..signed.clone() },
    ] {
        let told = problem(page.post("/sign-in", &wrong).await).await;
        assert_eq!(told.code, ProblemCode::Unauthorized, "{wrong:?}");
    }
    assert!(page.post("/sign-in", &signed).await.status().is_success());
    let again = problem(page.post("/sign-in", &signed).await).await;
    assert_eq!(again.code, ProblemCode::Unauthorized, "a challenge lets in once");
}

#[tokio::test]
async fn wrong_codes_never_keep_the_owner_out() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let stranger = Page::new(&daemon, 9);
    let mut last = ProblemCode::Unauthorized;
    for _ in 0..15 {
        last = stranger.sign_in(Some("guess.AAAA")).await.unwrap_err().code;
    }
    assert_eq!(last, ProblemCode::TooMany);
    let owner = Page::new(&daemon, 1);
    owner.sign_in(Some(&daemon.code().await.code)).await.unwrap();
}

/// A route with something in the place of what varies.
fn path_of(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "x".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_route_asks_for_its_role_and_what_is_for_the_socket_is_for_no_device() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let address = daemon.address().await;
    for role in [DeviceRole::Look, DeviceRole::Answer, DeviceRole::Full] {
        let token = daemon.token(role).await;
        for route in ROUTES {
            // A stream that goes on would have to be cut.
            if matches!(route.answers, RouteAnswer::Events(_)) {
                continue;
            }
            let request =
                Request::new(Server::Tcp(address), route.method.as_str(), &path_of(route.path));
            let request = request.header("authorization", format!("Bearer {token}"));
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let told = if status >= 400 { Some(problem(answer).await.code) } else { None };
            let expected = match route.access {
                RouteAccess::Socket => Some(ProblemCode::Forbidden),
                // A device is no agent.
                RouteAccess::Report => Some(ProblemCode::Unauthorized),
                RouteAccess::Device(needed) if needed > role => Some(ProblemCode::RoleMayNot),
                _ => None,
            };
            match expected {
                Some(expected) => assert_eq!(told, Some(expected), "{role:?} {}", route.name),
                None => assert!(
                    !matches!(told, Some(ProblemCode::RoleMayNot | ProblemCode::Forbidden)),
                    "{role:?} {}: {told:?}",
                    route.name
                ),
            }
        }
    }
    for name in
        ["makeSignInCode", "listDevices", "addDevice", "removeDevice", "setTrust", "shutdown"]
    {
        let route = ROUTES.iter().find(|route| route.name == name).unwrap();
        assert_eq!(route.access, RouteAccess::Socket, "{name}");
    }
    for route in ROUTES.iter().filter(|route| route.method == HttpMethod::Get) {
        assert!(!matches!(route.access, RouteAccess::Device(role) if role != DeviceRole::Look));
    }
}

/// A conversation over TCP with a token.
async fn socket(
    daemon: &Daemon<'_>,
    path: &str,
    protocol: &str,
    token: &str,
) -> tokio_tungstenite::WebSocketStream<tokio::net::TcpStream> {
    let address = daemon.address().await;
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    let protocols = format!("{protocol}, {BEARER_SUBPROTOCOL}{token}");
    request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    tokio_tungstenite::client_async(request, stream).await.unwrap().0
}

#[tokio::test]
async fn a_device_that_may_look_cannot_answer_type_or_start_anything() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch never.txt; exit 0"})])
        .await;
    let id = started.id.as_str();
    let asked = daemon.asked(id).await.intervention;
    let token = daemon.token(DeviceRole::Look).await;
    let client = daemon.tcp_with(token.clone()).await;
    client.workflow(id).await.unwrap();
    let approve = serde_json::from_value(json!({"decision": "approve", "digest": asked.digest}));
    let approve = approve.unwrap();
    assert_eq!(code(client.decide(&asked.id, &approve).await), ProblemCode::RoleMayNot);
    // One that may answer does not write the policy of every session.
    let answers = daemon.tcp_with(daemon.token(DeviceRole::Answer).await).await;
    let always = daemon.asked(id).await.always;
    let save =
        json!({"decision": "approve-always", "digest": asked.digest, "rule": always, "save": true});
    let save = serde_json::from_value(save).unwrap();
    for client in [&client, &answers] {
        assert_eq!(code(client.decide(&asked.id, &save).await), ProblemCode::RoleMayNot);
    }
    assert!(!home.config().join("policy.yaml").exists());
    let typed = serde_json::from_value(json!({"keys": ["1"]})).unwrap();
    assert_eq!(code(client.input(id, "a", &typed).await), ProblemCode::RoleMayNot);
    let start = daemon.grimoire("demo");
    assert_eq!(code(client.start(&start, None).await), ProblemCode::RoleMayNot);
    let mut ipc = socket(&daemon, "/ipc", IPC, &token).await;
    for (command, args, allowed) in [
        ("session:list", json!({}), true),
        ("task:interact", json!({"sessionId": id, "taskId": "a", "keys": ["1"]}), false),
        ("workflow:stop", json!({"sessionId": id}), false),
        ("workflow:execute", json!({"grimoire": "demo"}), false),
    ] {
        let text = json!({"id": command, "command": command, "args": args}).to_string();
        ipc.send(Message::Text(text.into())).await.unwrap();
        let answer = loop {
            let Message::Text(text) = ipc.next().await.unwrap().unwrap() else { continue };
            let value: Value = serde_json::from_str(&text).unwrap();
            if value["id"] == command {
                break value;
            }
        };
        let told = answer["error"]["code"].as_str();
        assert_eq!(told, (!allowed).then_some("role-may-not"), "{answer}");
    }
    // It sees the terminal and does not get the keyboard, even if nobody has it.
    let path = format!("/workflows/{id}/tasks/a/attach?take=true");
    let mut terminal = socket(&daemon, &path, coven_api::attach::SUBPROTOCOL, &token).await;
    loop {
        let Message::Text(text) = terminal.next().await.unwrap().unwrap() else { continue };
        if let FromDaemon::Keyboard { yours, .. } = serde_json::from_str(&text).unwrap() {
            assert!(!yours);
            break;
        }
    }
    terminal.send(Message::Binary(b"1\r".to_vec().into())).await.unwrap();
    let answering = daemon.tcp_with(daemon.token(DeviceRole::Answer).await).await;
    assert_eq!(code(answering.start(&start, None).await), ProblemCode::RoleMayNot);
    assert_eq!(daemon.asked(id).await.decision, None);
    assert!(!home.base().join("never.txt").exists());
    answering.decide(&asked.id, &approve).await.unwrap();
    daemon.ends(id, coven_model::WorkflowStatus::Completed).await;
    let workflow = daemon.client.workflow(id).await.unwrap();
    let recorded = serde_json::to_string(&workflow).unwrap();
    assert!(!recorded.contains("look-0"), "nothing was done in its name");
}

#[tokio::test]
async fn the_live_streams_of_a_device_end_when_it_is_removed() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let token = daemon.token(DeviceRole::Look).await;
    let address = daemon.address().await;
    let request = Request::new(Server::Tcp(address), "GET", "/events");
    let mut stream =
        request.header("authorization", format!("Bearer {token}")).send().await.unwrap();
    assert!(stream.status().is_success());
    stream.chunk().await.unwrap();
    let mut ipc = socket(&daemon, "/ipc", IPC, &token).await;
    let listed = daemon.client.devices().await.unwrap().devices;
    assert_eq!((listed[0].name.as_str(), listed[0].connections), ("look-0", 2));
    let other = daemon.tcp().await;
    daemon.client.remove_device("look-0").await.unwrap();
    let ended = async {
        // What was on its way may still come; then it is cut.
        while let Ok(Some(_)) = stream.chunk().await {}
        while let Some(Ok(_)) = ipc.next().await {}
    };
    tokio::time::timeout(DEADLINE, ended).await.expect("they go on");
    let client = daemon.tcp_with(token).await;
    assert_eq!(code(client.status().await), ProblemCode::Unauthorized);
    assert_eq!(code(daemon.client.remove_device("look-0").await), ProblemCode::DeviceNotFound);
    other.status().await.unwrap();
}

#[tokio::test]
async fn the_file_that_leads_to_the_page_is_private_and_goes_with_its_code() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let daemon = home.daemon().await;
    let make = MakeSignInCode { redirect_file: true, ..MakeSignInCode::default() };
    let code = daemon.client.sign_in_code(&make).await.unwrap();
    let file = std::path::PathBuf::from(code.file.unwrap());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains(&code.url));
    Page::new(&daemon, 1).sign_in(Some(&code.code)).await.unwrap();
    assert!(!file.exists());
    // One that was not used goes with the daemon, or with the next one.
    let code = daemon.client.sign_in_code(&make).await.unwrap();
    daemon.kill();
    let left = std::path::PathBuf::from(code.file.unwrap());
    assert!(left.exists());
    let _daemon = home.daemon().await;
    assert!(!left.exists());
}

#[tokio::test]
async fn the_port_stays_the_same_and_a_port_that_was_taken_is_told() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let first = daemon.address().await;
    daemon.kill();
    let daemon = home.daemon().await;
    assert_eq!(daemon.address().await, first);
    assert_eq!(daemon.client.status().await.unwrap().lost_port, None);
    assert!(daemon.stop().await.success());
    let taken =
        until("the port is free", || async { std::net::TcpListener::bind(first).ok() }).await;
    let daemon = home.daemon().await;
    let second = daemon.address().await;
    assert_ne!(second, first);
    assert_eq!(daemon.client.status().await.unwrap().lost_port, Some(first.port()));
    assert_eq!(daemon.code().await.lost_port, Some(first.port()));
    assert!(home.log().contains(&format!("port {}", first.port())));
    drop(taken);
    drop(daemon);
    let daemon = home.daemon().await;
    assert_eq!(daemon.address().await, second);
}
