//! Requests to the daemon's socket, as any program of the user can make them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::home::Home;

/// What the daemon answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// Sends a request to the daemon, which is started if it does not run.
pub(super) fn request(home: &Home, method: &str, path: &str, body: Option<&Value>) -> Answer {
    home.coven(&["daemon", "start"]).ok();
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = UnixStream::connect(home.path("state/coven/run/coven.sock")).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close");
    let length = body.len();
    let head =
        if body.is_empty() { head } else { format!("{head}\r\ncontent-type: application/json") };
    write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: serde_json::from_str(body).unwrap_or_default() }
}

/// The sessions of a folder.
pub(super) fn workflows(home: &Home, base_dir: &Path) -> Value {
    let path = format!("/workflows?baseDir={}", base_dir.display());
    request(home, "GET", &path, None).body
}

/// Starts a run in a folder.
pub(super) fn start(home: &Home, base_dir: &Path) -> Answer {
    let text =
        "name: test\ndescription: A test.\nsteps:\n  - {name: a, type: script, command: 'true'}\n";
    let definition = json!({"name": "test.yaml", "text": text});
    request(
        home,
        "POST",
        "/workflows",
        Some(&json!({"baseDir": base_dir, "definition": definition})),
    )
}
