//! What other users of the machine, and programs that open connections without end, can do over
//! loopback. `docs/security.md` names these tests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{Home, until};

/// As many connections as there could be at all when both listeners shared their places.
const FLOOD: usize = 2048;

#[tokio::test]
async fn a_flood_of_idle_tcp_connections_does_not_keep_the_owner_from_the_socket() {
    let home = Home::new();
    let daemon = home.daemon().await;
    crate::limits::more_files();
    let address = daemon.address().await;
    let mut held: Vec<TcpStream> =
        (0..FLOOD).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &held {
        stream.set_nonblocking(true).unwrap();
    }
    // There is no place for all of them; once one is refused, the places over TCP are taken.
    until("one is refused", || {
        let mut answer = [0; 16];
        let mut is_refused =
            |stream: &mut TcpStream| matches!(stream.read(&mut answer), Ok(length) if length > 0);
        std::future::ready(held.iter_mut().any(&mut is_refused).then_some(()))
    })
    .await;
    let version = home.client().version().await;
    assert!(version.is_ok(), "the owner is kept out: {version:?}");
    drop(held);
}

/// What a process of another user gets for a request.
fn as_other_user(address: SocketAddr, user: u32, request: &str) -> String {
    let script = "import socket, sys\n\
        s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n\
        data = b''\n\
        try:\n    s.sendall(sys.argv[3].encode())\n    while True:\n        part = s.recv(65536)\n        \
        if not part: break\n        data += part\nexcept ConnectionError: pass\n\
        print(data.decode())";
    let mut other = Command::new("python3");
    other.uid(user).args(["-c", script, &address.ip().to_string(), &address.port().to_string()]);
    let output = other.arg(request).current_dir("/").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A plain request for what needs no token.
fn get(address: SocketAddr, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_process_of_another_user_gets_no_word_over_tcp() {
    if !rustix::process::geteuid().is_root() {
        return coven_testkit::skip::skip("only root can be another user");
    }
    let home = Home::new();
    let daemon = home.daemon().await;
    let address = daemon.address().await;
    let mut own = TcpStream::connect(address).unwrap();
    own.write_all(get(address, "/version").as_bytes()).unwrap();
    let mut answer = String::new();
    own.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for path in ["/version", "/"] {
        assert_eq!(as_other_user(address, 65534, &get(address, path)), "", "{path}");
    }
    until("the log says so", || async {
        home.log().contains("another user tried to connect").then_some(())
    })
    .await;
}

#[tokio::test]
async fn processes_of_a_proxy_are_heard_and_need_a_device() {
    if !rustix::process::geteuid().is_root() {
        return coven_testkit::skip::skip("only root can be another user");
    }
    let home = Home::new();
    std::fs::write(home.config().join("config.yaml"), "proxyUsers: [\"65534\"]\n").unwrap();
    let daemon = home.daemon().await;
    let address = daemon.address().await;
    let said = as_other_user(address, 65534, &get(address, "/version"));
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let said = as_other_user(address, 65534, &get(address, "/status"));
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    let token = daemon.token(coven_api::device::DeviceRole::Look).await;
    let with = get(address, "/status")
        .replace("\r\n\r\n", &format!("\r\nauthorization: Bearer {token}\r\n\r\n"));
    let said = as_other_user(address, 65534, &with);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(as_other_user(address, 65533, &get(address, "/version")), "");
}
