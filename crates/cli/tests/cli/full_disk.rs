//! What a full disk does to a run, as people see it: everything can be looked at and says what it
//! waits for, a cancel counts, and nothing is wrong afterwards.
//!
//! A limit on the size of the daemon's files stands in for a full disk where that is the project's:
//! the journal takes no more bytes then, and no root is needed. The state folder is on a small disk
//! of its own, which only root may mount.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use coven_testkit::skip::skip;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::Value;

use crate::STEP_TIMEOUT;
use crate::home::{Home, Said};

/// No command that only looks, and no cancel, takes this long, whatever the disk does.
const LOOK_TIMEOUT: &str = "20";

const WAITS: &str = "waits for disk space";

/// The same as [`Home::coven`], for a command that must not hang.
fn quick(home: &Home, args: &[&str]) -> Said {
    let mut line = vec![LOOK_TIMEOUT, "coven"];
    line.extend(args);
    let said = Said::of(&home.shell("timeout", &line).output().unwrap());
    assert_ne!(said.code, 124, "it hangs: {args:?}");
    said
}

/// Starts a daemon that is told of a file that may not grow, and is not ended for it.
fn start_daemon(home: &Home) -> Pid {
    let line = "trap '' XFSZ; exec coven daemon start";
    assert!(home.shell("sh", &["-c", line]).status().unwrap().success());
    let status = home.coven(&["daemon", "status", "--json"]).ok().json();
    Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

/// From now on no file of the daemon grows beyond this.
fn limit_files(daemon: Pid, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(daemon), Resource::Fsize, limit).unwrap();
}

fn journal(home: &Home, name: &str) -> PathBuf {
    let shown = home.coven(&["show", name, "--json"]).ok().json();
    let id = shown["id"].as_str().unwrap();
    home.path("project/.coven/sessions").join(id).join("journal.jsonl")
}

fn fill_journal(home: &Home, daemon: Pid, name: &str) {
    limit_files(daemon, Some(fs::metadata(journal(home, name)).unwrap().len()));
}

/// Waits until a session says that it waits for room, or that it does not.
fn until_waits(home: &Home, name: &str, waits: bool) -> Value {
    let end = Instant::now() + STEP_TIMEOUT;
    loop {
        let shown = quick(home, &["show", name, "--json"]).ok().json();
        if shown["waitsForDisk"].is_string() == waits {
            return shown;
        }
        assert!(Instant::now() < end, "{shown:#}");
        std::thread::yield_now();
    }
}

/// The status and the body of an answer of the daemon.
fn post(home: &Home, path: &str, body: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(home.path("state/coven/run/coven.sock")).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let json = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
    (status, serde_json::from_str(json).unwrap())
}

#[test]
fn a_run_whose_journal_takes_nothing_says_so_everywhere_and_a_cancel_counts() {
    let home = Home::new();
    let daemon = start_daemon(&home);
    let steps = "  - {name: look, type: gate, message: Ready?}\n  \
                 - {name: last, type: script, command: echo last}\n";
    home.run(steps, &[]).code(3);
    let name = home.only();
    fill_journal(&home, daemon, &name);

    let asked = &quick(&home, &["inbox", "--json"]).ok().json()["interventions"][0];
    let (id, digest) = (asked["id"].as_str().unwrap(), &asked["digest"]);
    let body = serde_json::json!({"decision": "approve", "digest": digest}).to_string();
    let (status, problem) = post(&home, &format!("/interventions/{id}"), &body);
    assert_eq!((status, &problem["code"]), (507, &Value::from("storage")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(WAITS), "{problem}");

    until_waits(&home, &name, true);
    let listed = quick(&home, &["ls"]).ok();
    assert!(listed.out.contains(WAITS) && listed.err.contains(WAITS), "{listed:?}");
    let shown = quick(&home, &["show", &name]).ok();
    assert!(shown.out.contains(WAITS), "{shown:?}");
    let inbox = quick(&home, &["inbox"]).ok();
    assert!(inbox.out.contains(WAITS), "{inbox:?}");
    quick(&home, &["events", &name]).ok();
    quick(&home, &["logs", &name]);
    let waited = home.coven(&["wait", &name, "--timeout", "100ms"]).code(124);
    assert!(waited.err.contains(WAITS), "{waited:?}");
    let mut follower = home.terminal(&["show", &name, "--follow"]);
    follower.until_shows(&format!("it {WAITS}"));
    follower.kill(Signal::TERM);
    follower.finish();

    let cancelled = quick(&home, &["cancel", &name]).ok();
    assert!(cancelled.out.contains("is being cancelled"), "{cancelled:?}");
    assert!(cancelled.err.contains("it is cancelled as soon as"), "{cancelled:?}");

    limit_files(daemon, None);
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).code(4).out, "cancelled\n");
    home.coven(&["audit"]).ok();
    let log = fs::read_to_string(home.path("state/coven/daemon.log")).unwrap();
    assert!(log.contains(WAITS), "{log}");
}

#[test]
fn a_cancel_that_found_no_room_counts_for_the_next_daemon() {
    for is_killed in [true, false] {
        let home = Home::new();
        let daemon = start_daemon(&home);
        let steps = "  - {name: work, type: script, command: 'touch begun; sleep 600'}\n";
        let name = home.run(steps, &["--detach"]).ok().out.trim().to_owned();
        let end = Instant::now() + STEP_TIMEOUT;
        while !home.path("project/begun").exists() {
            assert!(Instant::now() < end, "the job does not start");
            std::thread::yield_now();
        }
        fill_journal(&home, daemon, &name);
        let cancelled = quick(&home, &["cancel", &name]).ok();
        assert!(cancelled.err.contains("it is cancelled as soon as"), "{cancelled:?}");
        let listed = quick(&home, &["inbox", "--json"]).ok().json();
        assert_eq!(listed["waitsForDisk"][0]["name"], name.as_str(), "{listed:#}");
        if is_killed {
            home.kill_daemon();
        } else {
            home.coven(&["daemon", "stop"]).ok();
        }
        assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).code(4).out, "cancelled\n");
        home.coven(&["audit"]).ok();
    }
}

#[test]
fn what_an_agent_asks_on_a_full_disk_comes_up_when_there_is_room() {
    let home = Home::new();
    let daemon = start_daemon(&home);
    let name = home.agent("");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("Type a message");
    fill_journal(&home, daemon, &name);
    terminal.send("approve ls\r");
    terminal.until_shows("3. No (esc)");
    // Why nothing goes on is there at once, where people look for what waits for them.
    until_waits(&home, &name, true);
    let inbox = quick(&home, &["inbox"]).ok();
    assert!(inbox.out.contains(WAITS), "{inbox:?}");
    limit_files(daemon, None);
    until_waits(&home, &name, false);
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    let inbox = home.coven(&["inbox"]).ok();
    assert!(inbox.out.contains("ls") && !inbox.out.contains(WAITS), "{inbox:?}");
    home.coven(&["approve", &name]).ok();
    terminal.send("\x1dd");
    terminal.finish();
    home.coven(&["cancel", &name]).ok();
    home.coven(&["audit"]).ok();
}

/// A small disk of its own, if this user may mount one. Unmounted when it goes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "full-disk-test"];
        let output = Command::new("mount").args(mount).arg(at).output();
        output.is_ok_and(|output| output.status.success()).then(|| Self(at.to_path_buf()))
    }

    /// Leaves not one byte of room, also when something is removed, until this is let go.
    fn fill(&self) -> FullDisk {
        let path = self.0.join("ballast");
        let mut ballast = File::create(&path).unwrap();
        let mut fill = move || {
            for size in [4096, 1] {
                while ballast.write_all(&vec![0; size]).is_ok() {}
            }
        };
        fill();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let filling = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                fill();
                std::thread::yield_now();
            }
        });
        FullDisk { path, is_over, filling }
    }
}

/// A disk without room.
struct FullDisk {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    filling: JoinHandle<()>,
}

impl FullDisk {
    fn make_room(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.filling.join().unwrap();
        fs::remove_file(self.path).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn output_that_a_full_disk_takes_none_of_is_said_to_be_lost() {
    // Dropped last, after the daemon that has files on the disk.
    let disk: SmallDisk;
    let home = Home::new();
    let Some(mounted) = SmallDisk::mount(&home.path("state")) else {
        return skip("only root may mount a small disk");
    };
    disk = mounted;
    let until = |file: &str| {
        format!("until test -e {file}; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done")
    };
    let command = format!(
        "echo begun; touch begun.txt; {}; seq 1 100000; touch printed.txt; {}; echo end",
        until("go.txt"),
        until("end.txt")
    );
    for (used, status) in [("", "completed"), (", output: said", "failed")] {
        for file in ["begun.txt", "go.txt", "printed.txt", "end.txt"] {
            fs::remove_file(home.path("project").join(file)).ok();
        }
        let steps = format!("  - {{name: work, type: script, command: '{command}'{used}}}\n");
        let name = home.run(&steps, &["--detach"]).ok().out.trim().to_owned();
        let there = |file: &str| {
            let end = Instant::now() + STEP_TIMEOUT;
            while !home.path("project").join(file).exists() {
                assert!(Instant::now() < end, "{file} never came");
                std::thread::yield_now();
            }
        };
        there("begun.txt");
        let end = Instant::now() + STEP_TIMEOUT;
        while !quick(&home, &["logs", &name]).out.contains("begun") {
            assert!(Instant::now() < end, "its output never came");
        }
        let full = disk.fill();
        fs::write(home.path("project/go.txt"), "").unwrap();
        there("printed.txt");
        full.make_room();
        fs::write(home.path("project/end.txt"), "").unwrap();
        home.coven(&["wait", &name, "--timeout", "60s"]);
        let shown = home.coven(&["show", &name, "--json"]).ok().json();
        assert_eq!(shown["status"], status, "{shown:#}");
        let lost = shown["tasks"][0]["lost"].as_u64().unwrap();
        assert!(lost > 100_000, "{shown:#}");
        let words = format!("{lost} bytes of what it printed are lost: the disk was full");
        assert!(home.coven(&["show", &name]).ok().out.contains(&words));
        let logs = home.coven(&["logs", &name]).ok();
        assert!(logs.err.contains(&words) && !logs.err.contains("no longer kept"), "{logs:?}");
        let result = home.coven(&["output", &name, "work", "--json"]).ok().json();
        assert_eq!(result["lost"], lost, "{result:#}");
        let output = home.coven(&["output", &name, "work", "--stdout"]);
        let told = format!("{lost} bytes of the output of work are lost: the disk was full");
        assert!(output.err.contains(&told) && !output.err.contains("all of it"), "{output:?}");
    }
    drop(home);
    drop(disk);
}

#[test]
fn a_full_state_folder_loses_no_outcome_and_no_cancel() {
    // Dropped last, after the daemon that has files on the disk.
    let disk: SmallDisk;
    let home = Home::new();
    let Some(mounted) = SmallDisk::mount(&home.path("state")) else {
        return skip("only root may mount a small disk");
    };
    disk = mounted;
    let wait = "until test -e go.txt; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done";
    let steps = format!(
        "  - {{name: first, type: script, command: '{wait}'}}\n  \
         - {{name: look, type: gate, message: Ready?}}\n  \
         - {{name: last, type: script, command: echo last}}\n"
    );
    let one = home.run(&steps, &["--detach"]).ok().out.trim().to_owned();
    let other = home.run(&steps, &["--detach"]).ok().out.trim().to_owned();
    let live =
        |name: &str| home.coven(&["show", name, "--json"]).ok().json()["tasks"][0]["live"] == true;
    let end = Instant::now() + STEP_TIMEOUT;
    while !(live(&one) && live(&other)) {
        assert!(Instant::now() < end, "the jobs do not start");
    }
    let full = disk.fill();
    fs::write(home.path("project/go.txt"), "").unwrap();
    // How it ended must be on the disk before anything follows from it. It may still find a place
    // that something else has left.
    let end = Instant::now() + STEP_TIMEOUT;
    let stands = |name: &str| {
        let shown = quick(&home, &["show", name, "--json"]).ok().json();
        shown["waitsForDisk"].is_string() || shown["status"] == "blocked"
    };
    while !(stands(&one) && stands(&other)) {
        assert!(Instant::now() < end, "nothing is said about the disk");
    }
    let begun = Instant::now();
    quick(&home, &["cancel", &other]).ok();
    assert!(begun.elapsed() < Duration::from_secs(15));
    full.make_room();
    home.coven(&["wait", &one, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert_eq!(home.coven(&["wait", &other, "--timeout", "60s"]).code(4).out, "cancelled\n");

    let full = disk.fill();
    // The answer is recorded, and only what it starts has to wait.
    quick(&home, &["approve", &one]).ok();
    let shown = until_waits(&home, &one, true);
    assert_eq!(shown["status"], "running", "{shown:#}");
    let started = quick(&home, &["run", "./test.yaml", "--detach"]);
    assert!(started.code == 0 || started.err.contains("no room"), "{started:?}");
    full.make_room();
    assert_eq!(home.coven(&["wait", &one, "--timeout", "60s"]).ok().out, "completed\n");
    home.coven(&["audit"]).ok();
    drop(home);
    drop(disk);
}
