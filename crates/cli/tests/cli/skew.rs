//! A daemon of another version, and one that cannot be understood.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use insta::assert_snapshot;

use crate::home::Home;

/// Answers every request on the daemon's socket with this body, as often as said.
fn pretend(home: &Home, body: &'static str, times: usize) -> thread::JoinHandle<()> {
    let run = home.path("state/coven/run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::remove_file(run.join("coven.sock")).ok();
    let listener = UnixListener::bind(run.join("coven.sock")).unwrap();
    thread::spawn(move || {
        for _ in 0..times {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            write!(&stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        }
    })
}

fn done(home: &Home, thread: thread::JoinHandle<()>) {
    thread.join().unwrap();
    std::fs::remove_file(home.path("state/coven/run/coven.sock")).unwrap();
}

#[test]
fn another_version_is_explained_with_how_to_have_the_same() {
    let home = Home::new();
    let answer = "{\"version\": \"9.9.9\", \"api\": 99, \"events\": 1, \"pid\": 1}";
    let thread = pretend(&home, answer, 1);
    assert_snapshot!(home.said(&["ls"]), @r"
    --- exit 5
    error: the daemon is coven 9.9.9 with API 99, this command is coven 0.1.0 with API 1: they do not understand each other
    hint: coven daemon stop && coven daemon start  (agents go on meanwhile)
    ");
    done(&home, thread);
    let thread = pretend(&home, "what?", 1);
    assert_snapshot!(home.said(&["ls"]), @r"
    --- exit 5
    error: the daemon's answer cannot be read: expected value at line 1 column 1
    hint: the daemon may be of another version: coven daemon stop, then try again
    ");
    done(&home, thread);
}
