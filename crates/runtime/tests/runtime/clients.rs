//! Who is heard by a holder: the process that knows its secret.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use coven_runtime::domain::{Connection, Domain, Pane};
use coven_runtime::hold::HolderRegistry;
use coven_runtime::hold::protocol::ToHolder;
use coven_runtime::lineage::{JobSign, Lineage, lineage};
use coven_runtime::processes::Identity;
use coven_tape::{TapeEvent, TapeReader};
use coven_testkit::panes::{self, PaneOutput};

use crate::holder::{Attempts, adopted, domain, read_for};

/// Reads a pane to its end.
fn ended(pane: &mut dyn Pane) {
    panes::read_until(pane, &mut PaneOutput::default(), |_| false);
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + panes::DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// What a stranger hears from a holder until it is let go.
fn heard(folder: &std::path::Path, hello: &ToHolder<'_>) -> Vec<u8> {
    let mut socket = UnixStream::connect(folder.join("sock")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut frames = Vec::new();
    hello.encode(&mut frames);
    ToHolder::Input(b"typed\n").encode(&mut frames);
    drop(socket.write_all(&frames));
    let mut heard = Vec::new();
    match socket.read_to_end(&mut heard) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the stranger was not let go: {error}"),
    }
    heard
}

#[test]
fn a_client_without_the_secret_is_let_go_and_noted() {
    let attempts = Attempts::new();
    let config = attempts.config("read line; echo got $line", Connection::Pipes);
    let mut pane = domain().spawn(&config).unwrap();
    let folder = config.folder.clone().unwrap();
    let open = ToHolder::Hello { version: 1, offset: 0, secret: b"" };
    let wrong = ToHolder::Hello { version: 2, offset: 0, secret: &[7; 32] };
    for hello in [open, wrong, ToHolder::CloseInput] {
        assert_eq!(heard(&folder, &hello), b"", "{hello:?}");
    }
    pane.write(b"ours\n").unwrap();
    read_for(&mut *pane, "got ours\n");
    ended(&mut *pane);
    let mut refused = 0;
    for record in TapeReader::open(&folder).unwrap().records(0) {
        match record.unwrap().event {
            TapeEvent::Mark(note) => refused += usize::from(note.starts_with("coven:refused")),
            TapeEvent::Input(bytes) => assert_eq!(bytes, b"ours\n"),
            _ => {}
        }
    }
    assert_eq!(refused, 3);
}

#[test]
fn the_tape_says_when_nobody_followed_the_job() {
    let attempts = Attempts::new();
    let config = attempts.config("read line; echo got $line", Connection::Pipes);
    let pane = domain().spawn(&config).unwrap();
    let folder = config.folder.clone().unwrap();
    let notes = || {
        let tape = TapeReader::open(&folder).unwrap();
        let notes = tape.records(0).filter_map(|record| match record.unwrap().event {
            TapeEvent::Mark(note) => note.split(' ').next().map(str::to_owned),
            _ => None,
        });
        notes.collect::<Vec<_>>()
    };
    assert_eq!(notes(), [] as [&str; 0], "the first client is the one that started it");
    drop(pane);
    wait_until("the holder to note that its client left", || notes() == ["coven:left"]);
    let mut again = adopted(&config, 0);
    wait_until("the next client to be noted", || notes() == ["coven:left", "coven:followed"]);
    again.write(b"ours\n").unwrap();
    read_for(&mut again, "got ours\n");
    ended(&mut again);
    assert!(!notes()[2..].contains(&"coven:left".to_owned()), "the job was over: {:?}", notes());
}

#[test]
fn the_secret_of_a_holder_is_in_no_argument_and_no_environment() {
    let attempts = Attempts::new();
    let script = "cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/self/environ | od -An -tx1 -v | tr -d ' \\n'; ls /proc/$PPID/fd >/dev/null; cat; ls /proc/self/fd | wc -l";
    let config = attempts.config(script, Connection::Pipes);
    let mut pane = domain().spawn(&config).unwrap();
    pane.close_input().unwrap();
    let said = read_for(&mut *pane, "\n").text();
    ended(&mut *pane);
    let secret = std::fs::read(config.folder.unwrap().join("secret")).unwrap();
    assert_eq!(secret.len(), 32);
    let written: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(said.len() > 200 && !said.contains(&written), "{said}");
}

#[test]
fn a_holder_is_written_down_before_its_process_starts_and_forgotten_after_its_end() {
    let attempts = Attempts::new();
    let state = attempts.path().join("state");
    let registry = HolderRegistry::new(&state);
    let config = attempts.config("ls \"$STATE\"; cat", Connection::Pipes);
    let mut config = config;
    config.env.insert("STATE".into(), state.join("holders").into());
    let mut pane = domain().with_registry(registry.clone()).spawn(&config).unwrap();
    let said = read_for(&mut *pane, ".json\n").text();
    let [entry] = &registry.entries().unwrap()[..] else { panic!("one holder runs") };
    assert_eq!(said.trim(), format!("{}-{}.json", entry.holder.pid, entry.holder.start));
    let below = registry.refresh().unwrap().remove(0).tree;
    assert!(!below.is_empty());
    for process in below {
        let found = lineage(process.pid, &registry);
        // `ls` ends at this time.
        assert!(found == Lineage::Job(JobSign::Holder) || !process.is_running(), "{found:?}");
    }
    let own = Identity::own().unwrap();
    assert_eq!(lineage(own.pid, &registry), Lineage::Outside);
    pane.close_input().unwrap();
    ended(&mut *pane);
    let end = Instant::now() + Duration::from_secs(20);
    while !registry.entries().unwrap().is_empty() {
        assert!(Instant::now() < end, "the holder was not forgotten");
        std::thread::yield_now();
    }
}
