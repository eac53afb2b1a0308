//! What an agent can be told to do wrong, so that others can be tested against it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Stdio};

use coven_terminal::signals::ProgramState::{Blocked, Done};
use rustix::process::{Pid, Signal, getsid, kill_process};

use super::{Home, eventually, is_alive, pid_in};

const SIZE: (u16, u16) = (80, 24);

/// Starts an agent headless, with its output in a pipe.
fn start(home: &Home, prompt: &str) -> (Child, BufReader<ChildStdout>) {
    let arguments = ["--headless", "--output-format", "stream-json", prompt];
    let mut child = home.agent(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn read_until(output: &mut BufReader<ChildStdout>, text: &str) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "no {text}");
    }
}

/// What was written is exactly this flood, and more around it.
fn assert_flooded(bytes: &[u8], size: u64) {
    let mut expected = Vec::new();
    coven_demo::flood::write(size, &mut expected).unwrap();
    let start = bytes.windows(10).position(|window| window == b"flood 0000").unwrap();
    assert!(bytes[start..].starts_with(&expected));
}

#[test]
fn signals_can_be_ignored_headless() {
    let (mut child, mut output) =
        start(&Home::new(), "ignore-signals; say ready; think 0.2; exit 5");
    read_until(&mut output, "ready");
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn signals_can_be_ignored_on_a_terminal() {
    let home = Home::new();
    let mut terminal = home.terminal(SIZE, &["--first", "ignore-signals", "approve ls"]);
    terminal.until_state(Blocked);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        terminal.kill(signal);
    }
    terminal.send("n");
    terminal.until_state(Done);
    let pid = terminal.pid();
    // Even a terminal that goes away does not impress it.
    let mut child = terminal.hang_up();
    assert!(is_alive(pid));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_double_fork_leaves_a_process_of_nobody_behind() {
    let home = Home::new();
    let output = home.agent(["double-fork 1000 pid; say done"]).output().unwrap();
    assert_eq!(crate::stdout(&output), "done\n");
    let pid = pid_in(&home.path().join("pid"));
    assert!(is_alive(pid));
    assert_eq!(getsid(Some(pid)), Ok(pid));
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
    let caught = u64::from_str_radix(caught, 16).unwrap();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        assert_ne!(caught & 1 << (signal.as_raw() - 1), 0, "{signal:?}");
    }
    kill_process(pid, Signal::KILL).unwrap();
    eventually("its end", || (!is_alive(pid)).then_some(()));
}

#[test]
fn a_late_writer_writes_after_the_end() {
    let home = Home::new();
    let (mut child, mut output) = start(&home, "late-writer 0.3; exit 3");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("}\nlate\n"), "{rest}");

    let mut terminal = home.terminal(SIZE, &["late-writer; die KILL"]);
    let status = terminal.finish();
    assert_eq!(status.signal(), Some(9));
    assert!(terminal.bytes.ends_with(b"late\n"));
}

#[test]
fn a_flood_is_exact() {
    const SIZE_OF_FLOOD: u64 = 5_000_001;
    let home = Home::new();
    let output = home.agent([format!("flood {SIZE_OF_FLOOD}")]).output().unwrap();
    assert_flooded(&output.stdout, SIZE_OF_FLOOD);
    assert_eq!(output.stdout.len() as u64, SIZE_OF_FLOOD + "Done.\n".len() as u64);

    for screen in ["--first=say inline", "--alt"] {
        let prompt = "flood 200001; say after";
        let mut terminal = home.terminal(SIZE, &[screen, "--delay=0", prompt]);
        terminal.until_state(Done);
        assert_flooded(&terminal.bytes, 200_001);
        assert!(terminal.text().contains("● after"), "{}", terminal.text());
    }
}

#[test]
fn it_stops_in_the_middle_of_a_character() {
    let home = Home::new();
    let output = home.agent(["split-utf8"]).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"caf\xc3"[..], Some(0)));
    let mut terminal = home.terminal(SIZE, &["split-utf8"]);
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.bytes.ends_with(b"caf\xc3"));
}

#[test]
fn it_dies_by_any_signal() {
    let home = Home::new();
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("PIPE", 13), ("ABRT", 6)] {
        let prompt = format!("die {name}");
        let output = home.agent([&prompt]).output().unwrap();
        assert_eq!(output.status.signal(), Some(number), "{name}");
        assert!(!output.status.core_dumped(), "{name}");
        let mut terminal = home.terminal(SIZE, &["--delay", "0", &prompt]);
        assert_eq!(terminal.finish().signal(), Some(number), "{name}");
    }
}

#[test]
fn it_exits_with_any_code() {
    let home = Home::new();
    let mut terminal = home.terminal(SIZE, &["--delay=0", "say bye; exit 77"]);
    assert_eq!(terminal.finish().code(), Some(77));
    assert!(terminal.text().contains("● bye"));
}

#[test]
fn it_closes_its_terminal_and_lives_on() {
    let home = Home::new();
    let mut terminal = home.terminal(SIZE, &["--delay=0", "close-tty 0.5"]);
    terminal.read_to_end();
    assert!(terminal.is_running());
    assert_eq!(terminal.finish().code(), Some(0));

    let (mut child, mut output) = start(&home, "close-tty 0.5");
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn it_hangs_until_it_is_killed() {
    let (mut child, mut output) = start(&Home::new(), "say ready; hang");
    read_until(&mut output, "ready");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}
