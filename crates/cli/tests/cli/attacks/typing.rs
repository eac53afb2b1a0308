//! A job connects to the holder of another agent and types the answer to its question.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::script;
use crate::home::Home;

/// Says hello to a holder and types. Reads until the holder closes the connection or the command
/// that was typed for has run. It tries without a secret first, then with every file of 64 bytes or
/// less that lies beside the socket.
const TYPIST: &str = r#"
import glob, os, socket, struct, sys
sock, done = sys.argv[1], sys.argv[2]
folder = os.path.dirname(sock)
def frame(kind, body):
    return kind + struct.pack("<I", len(body)) + body
def attempt(secret):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(20)
    os.chdir(folder)
    peer.connect("sock")
    hello = struct.pack("<IQ", 2 if secret else 1, 0) + secret
    said = b""
    try:
        peer.sendall(frame(b"h", hello) + frame(b"i", b"1\r") + frame(b"i", b"y\r"))
        while not os.path.exists(done):
            part = peer.recv(65536)
            if not part:
                return "closed after %d bytes" % len(said)
            said += part
        return "typed"
    except (ConnectionResetError, BrokenPipeError):
        return "closed after %d bytes" % len(said)
results = [attempt(b"")]
for path in glob.glob(folder + "/*"):
    try:
        content = open(path, "rb").read(65) if os.path.isfile(path) else b""
    except OSError:
        continue
    if 0 < len(content) <= 64:
        results.append(attempt(content))
        results.append(attempt(bytes.fromhex(content.decode().strip())) if len(content) == 64 else "")
print("\n".join(results))
"#;

/// The sockets of holders below a folder.
fn holder_sockets(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_socket() && path.ends_with("sock") {
            found.push(path);
        } else if kind.is_dir() {
            found.extend(holder_sockets(&path));
        }
    }
    found
}

/// An agent that asks, and what a job says that typed into it.
fn typed_by(home: &Home, step: impl Fn(&str) -> String) -> String {
    let asking = home.asking("approve touch approved.txt");
    let [socket] = &holder_sockets(home.root())[..] else { panic!("one agent runs") };
    let done = home.path("project/approved.txt");
    let typist = home.write("typist.py", TYPIST);
    let command = format!(
        "python3 {} {} {} > said.txt 2>&1 || true",
        typist.display(),
        socket.display(),
        done.display()
    );
    home.run(&step(&command), &[]).ok();
    let said = fs::read_to_string(home.path("project/said.txt")).unwrap();
    assert!(!done.exists(), "a job answered the question of another agent: {said}");
    home.coven(&["wait", &asking, "--until", "blocked", "--timeout", "60s"]).code(3);
    said
}

#[test]
fn a_confined_job_cannot_type_into_another_agent() {
    let home = Home::new();
    let said = typed_by(&home, |command| {
        script("typist", command).replace("type: script", "type: script\n    sandbox: workspace")
    });
    assert!(said.lines().all(|line| line.is_empty() || line == "closed after 0 bytes"), "{said}");
}

#[test]
fn a_script_cannot_type_into_another_agent_with_the_secret_of_its_holder() {
    let home = Home::new();
    let said = typed_by(&home, |command| script("typist", command));
    assert!(said.lines().count() > 1, "the secret was not found: {said}");
    assert!(said.lines().all(|line| line.is_empty() || line == "closed after 0 bytes"), "{said}");
}
