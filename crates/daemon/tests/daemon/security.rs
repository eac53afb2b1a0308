//! What must not get in. `docs/security.md` names these tests.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use coven_api::ProblemCode;
use coven_api::device::DeviceRole;
use coven_model::WorkflowStatus;

use crate::http::{Request, Response, Server};
use crate::support::{Daemon, Home, agent_program, problem, until};

struct Web {
    address: std::net::SocketAddr,
    port: u16,
    token: String,
}

impl Web {
    async fn of(daemon: &Daemon<'_>) -> Self {
        let address = daemon.address().await;
        assert!(address.ip().is_loopback());
        Self { address, port: address.port(), token: daemon.token(DeviceRole::Full).await }
    }

    fn request(&self, method: &str, path: &str) -> Request {
        Request::new(Server::Tcp(self.address), method, path)
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&'static str, &str)]) -> Response {
        let request = self.request(method, path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        request.send().await.unwrap()
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }
}

#[tokio::test]
async fn other_users_cannot_read_what_lets_one_in() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let token = daemon.token(DeviceRole::Look).await;
    let mode = |name: &str| {
        std::fs::metadata(home.state().join(name)).unwrap().permissions().mode() & 0o777
    };
    for (name, expected) in [
        ("", 0o700),
        ("run", 0o700),
        ("run/coven.sock", 0o600),
        ("daemon.key", 0o600),
        ("port.json", 0o600),
        ("devices.json", 0o600),
        ("daemon.log", 0o600),
        ("run/daemon.lock", 0o600),
    ] {
        assert_eq!(mode(name), expected, "{name}");
    }
    assert!(token.len() >= 43, "256 bits");
    let read = |name: &str| std::fs::read_to_string(home.state().join(name)).unwrap();
    assert!(!read("devices.json").contains(&token), "what is kept lets nobody in");
    // A key that others could have read is not used again.
    let old = read("daemon.key");
    assert!(daemon.stop().await.success());
    let key = home.state().join("daemon.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let daemon = home.daemon().await;
    assert_ne!(read("daemon.key"), old);
    assert_eq!(mode("daemon.key"), 0o600);
    // Tokens of programs outlive the daemon, and only their own.
    let client = daemon.tcp_with(token).await;
    client.status().await.unwrap();
    assert!(!home.state().join("token").exists());
}

#[tokio::test]
async fn over_tcp_nothing_is_answered_without_a_device() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let wrong = format!("Bearer {}", "A".repeat(43));
    for (method, path) in [
        ("GET", "/workflows"),
        ("GET", "/status"),
        ("GET", "/metrics"),
        ("POST", "/workflows"),
        ("POST", "/shutdown"),
        ("GET", "/nothing"),
        ("GET", "/events"),
        ("GET", "/ipc"),
    ] {
        for headers in [
            &[][..],
            &[("authorization", wrong.as_str())],
            &[("authorization", "Basic abc")],
            &[("cookie", "token=abc")],
        ] {
            let response = web.send(method, path, headers).await;
            assert!(response.headers().get("set-cookie").is_none());
            assert!(response.headers().get("access-control-allow-origin").is_none());
            let told = problem(response).await;
            assert_eq!(told.code, ProblemCode::Unauthorized, "{method} {path}");
        }
    }
    let right = web.bearer();
    assert!(web.send("GET", "/status", &[("authorization", &right)]).await.status().is_success());
    for open in ["/health", "/version", "/openapi.json", "/"] {
        assert!(web.send("GET", open, &[]).await.status().is_success(), "{open}");
    }
}

#[tokio::test]
async fn a_name_that_was_rebound_to_this_machine_is_turned_away() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let right = web.bearer();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{}", web.port),
        "127.0.0.1:1".to_owned(),
        format!("127.0.0.1.evil.example:{}", web.port),
    ] {
        for path in ["/status", "/health", "/"] {
            let told =
                problem(web.send("GET", path, &[("authorization", &right), ("host", &host)]).await)
                    .await;
            assert_eq!(told.code, ProblemCode::Forbidden, "{host}");
        }
    }
    // Another user may listen there, so nothing of ours is said or kept under these names.
    for name in ["localhost", "[::1]"] {
        let host = format!("{name}:{}", web.port);
        for path in ["/status", "/health", "/sign-in/challenge"] {
            let told = web.send("GET", path, &[("authorization", &right), ("host", &host)]).await;
            assert_eq!(problem(told).await.code, ProblemCode::Forbidden, "{host}{path}");
        }
        let page = web.send("GET", "/", &[("host", &host)]).await;
        assert_eq!(page.status().as_u16(), 308, "{host}");
        let own = format!("http://127.0.0.1:{}/", web.port);
        assert_eq!(page.headers()["location"].to_str().unwrap(), own);
    }
}

#[tokio::test]
async fn a_page_of_another_site_cannot_do_anything() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let (right, own) = (web.bearer(), format!("http://127.0.0.1:{}", web.port));
    let auth = ("authorization", right.as_str());
    for headers in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:3000")],
        &[("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        // A browser that does not say from where.
        &[("sec-fetch-mode", "cors")],
        &[("sec-fetch-site", "same-origin")],
        &[("referer", "http://evil.example/")],
    ] {
        let headers: Vec<_> = headers.iter().copied().chain([auth]).collect();
        let told = problem(web.send("POST", "/shutdown", &headers).await).await;
        assert_eq!(told.code, ProblemCode::Forbidden, "{headers:?}");
    }
    let preflight = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    let response = web.send("OPTIONS", "/workflows", &preflight).await;
    assert!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
    assert!(!response.status().is_success());
    let page = [
        auth,
        ("origin", own.as_str()),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "application/json"),
    ];
    let answer = web.send("POST", "/grimoires/check", &page).await;
    assert_eq!(problem(answer).await.code, ProblemCode::BadRequest, "it came in, and has no body");
}

#[tokio::test]
async fn a_form_of_another_site_is_not_read() {
    let home = Home::new();
    let daemon = home.daemon().await;
    // Even over the socket, where no origin is checked: what a form can send is no JSON.
    for kind in ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"] {
        let request = daemon.raw("POST", "/workflows").header("content-type", kind);
        let told = problem(request.body(r#"{"grimoire":"demo"}"#).send().await.unwrap()).await;
        assert_eq!(told.code, ProblemCode::UnsupportedMediaType, "{kind}");
    }
}

#[tokio::test]
async fn a_token_in_a_url_is_refused_and_never_logged() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let right = web.bearer();
    for path in [
        "/status?token=",
        "/status?access_token=",
        "/status?TOKEN=",
        "/version?a=",
        "/x/",
        "/assets/",
        "/workflows/",
    ] {
        let path = format!("{path}{}", web.token);
        for headers in [&[][..], &[("authorization", right.as_str())]] {
            let told = problem(web.send("GET", &path, headers).await).await;
            assert_eq!(told.code, ProblemCode::BadRequest);
            assert!(told.hint.unwrap().contains("Authorization"));
        }
    }
    web.send("GET", "/status", &[("authorization", &right)]).await;
    web.send("GET", "/status", &[("authorization", &format!("Bearer {}x", web.token))]).await;
    assert!(daemon.stop().await.success());
    assert!(home.log().contains("bad-request"), "the log has the requests");
    assert!(!home.log().contains(&web.token));
}

/// What an agent can try with the socket in its hand: `curl` is not everywhere, bash is.
const TRY: &str = r#"
request() { # method path body
  python3 - "$@" <<'PY'
import socket, sys, os
method, path, body = sys.argv[1], sys.argv[2], (sys.argv[3] if len(sys.argv) > 3 else "")
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SOCK"])
s.sendall(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
data = b""
while True:
    part = s.recv(65536)
    if not part: break
    data += part
print(data.split(b" ")[1].decode(), "agent-may-not" if b"agent-may-not" in data else "")
PY
}
"#;

#[tokio::test]
async fn an_agent_may_look_and_may_not_decide_finish_or_start_anything() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let script = format!(
        "{TRY}\n{{ request GET /workflows; request POST /workflows '{{\"grimoire\":\"demo\"}}'; request POST /shutdown '{{}}'; request DELETE /workflows/x; request POST /sign-in/codes; request POST /devices '{{\"name\":\"x\"}}'; request POST /trust '{{}}'; env -u COVEN_JOB setsid bash -c \"$(declare -f request); request POST /shutdown '{{}}'\"; }} > said.txt 2>&1"
    );
    std::fs::write(home.base().join("try.sh"), script).unwrap();
    let mut start = daemon.definition("name: sneaky\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'bash try.sh'}\n");
    let sock = home.socket().display().to_string();
    start.env.as_mut().unwrap().insert("SOCK".to_owned(), sock);
    let started = daemon.start(&start).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    let said = std::fs::read_to_string(home.base().join("said.txt")).unwrap();
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines[0], "200", "looking is fine: {said}");
    assert_eq!(lines[1..], ["403 agent-may-not"; 7], "{said}");
}

#[tokio::test]
async fn an_agent_that_stole_the_token_may_not_either() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let script = r#"
import socket, os
s = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
token = os.environ["TOKEN"]
s.sendall(f"POST /shutdown HTTP/1.1\r\nhost: 127.0.0.1:{os.environ['PORT']}\r\nauthorization: Bearer {token}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode())
data = b""
while True:
    part = s.recv(65536)
    if not part: break
    data += part
open("said.txt", "wb").write(data)
"#;
    std::fs::write(home.base().join("try.py"), script).unwrap();
    let mut start = daemon.definition("name: thief\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'python3 try.py'}\n");
    let env = start.env.as_mut().unwrap();
    env.insert("PORT".to_owned(), web.port.to_string());
    env.insert("TOKEN".to_owned(), web.token.clone());
    let started = daemon.start(&start).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    let said = std::fs::read_to_string(home.base().join("said.txt")).unwrap();
    assert!(said.contains("403") && said.contains("agent-may-not"), "{said}");
    daemon.client.version().await.unwrap();
}

#[tokio::test]
async fn an_agent_cannot_start_a_daemon() {
    let home = Home::new();
    let mut command = home.command();
    command.env("COVEN_JOB", "somebody/a/1");
    let (status, said) = home.refused(command);
    assert!(!status.success() && said.contains("an agent cannot start the daemon"), "{said}");
}

#[tokio::test]
async fn escape_sequences_reach_no_log_line_and_no_message() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\nERROR forged line";
    let mut start = daemon.grimoire(nasty);
    start.goal = Some(nasty.to_owned());
    let response = daemon.raw("POST", "/workflows").json(&start).send().await.unwrap();
    let told = problem(response).await;
    assert!(!told.detail.contains('\u{1b}'), "{:?}", told.detail);
    let path = "/workflows/%1b%5b2Jname%0aERROR%20forged";
    problem(daemon.raw("GET", path).send().await.unwrap()).await;
    daemon.raw("GET", "/%1b%5b2J").send().await.unwrap();
    assert!(daemon.stop().await.success());
    let log = home.log();
    assert!(!log.contains('\u{1b}') && !log.contains('\r') && !log.contains('\u{7}'), "{log:?}");
    assert!(!log.lines().any(|line| line.starts_with("ERROR forged")), "{log}");
}

#[tokio::test]
async fn the_page_may_only_talk_to_us_and_cannot_be_framed() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let web = Web::of(&daemon).await;
    let page = web.send("GET", "/", &[]).await;
    let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    for part in
        ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe-eval") && !policy.contains("script-src 'self' '"), "{policy}");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("x-frame-options"), "DENY");
    assert_eq!(header("referrer-policy"), "no-referrer");
}

#[tokio::test]
async fn secrets_of_the_caller_are_in_no_view_journal_or_log() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition("name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'test \"$API_TOKEN\" = s3cr3t-value-77'}\n");
    let secret = "s3cr3t-value-77";
    start.definition.as_mut().unwrap().text =
        "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'test -n \"$API_TOKEN\"'}\n".to_owned();
    start.env.as_mut().unwrap().insert("API_TOKEN".to_owned(), secret.to_owned());
    let started = daemon.start(&start).await;
    let id = started.id.as_str();
    daemon.ends(id, WorkflowStatus::Completed).await;
    let seen =
        daemon.raw("GET", &format!("/workflows/{id}")).send().await.unwrap().text().await.unwrap();
    assert!(!seen.contains(secret));
    assert!(daemon.stop().await.success());
    assert!(!home.log().contains(secret));
    let mut folders = vec![home.base().join(".coven")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read(&path).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&text).contains(secret), "{}", path.display());
            }
        }
    }
}

#[tokio::test]
async fn only_what_is_our_own_is_heard_on_the_socket() {
    let home = Home::new();
    let daemon = home.daemon().await;
    // As root another user can be had; elsewhere the mode of the socket already keeps them out.
    let mut stream = std::os::unix::net::UnixStream::connect(home.socket()).unwrap();
    stream.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    if !rustix::process::geteuid().is_root() {
        return coven_testkit::skip::skip("only root can be another user");
    }
    // Everything is opened to others, so that only the check of the peer is left.
    for folder in
        [home.path().to_owned(), home.path().join("state"), home.state(), home.state().join("run")]
    {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(home.socket(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{}')\ns.sendall(b'GET /version HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n')\nprint(len(s.recv(100)))",
        home.socket().display()
    );
    let mut other = std::process::Command::new("python3");
    std::os::unix::process::CommandExt::uid(&mut other, 65534);
    let output = other.args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.trim() == "0" || !output.status.success(), "{said}");
    until("the log says so", || async {
        home.log().contains("another user tried to connect").then_some(())
    })
    .await;
    drop(daemon);
    assert!(agent_program().exists());
}
