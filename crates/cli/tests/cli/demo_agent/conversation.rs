//! On a terminal: what a person sees, and what the keys do.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use coven_terminal::signals::ProgramState::{Blocked, Clear, Done, Error, Idle, Working};
use rustix::process::Signal;

use super::{Home, eventually, is_alive, pid_in};
use crate::terminal::Terminal;

const SIZE: (u16, u16) = (80, 24);

/// An agent that answers at once.
fn quick(home: &Home, arguments: &[&str]) -> Terminal {
    home.terminal(SIZE, &[&["--delay", "0"], arguments].concat())
}

#[test]
fn a_prompt_is_typed_answered_and_followed_by_the_next() {
    let home = Home::new();
    let mut terminal = quick(&home, &[]);
    terminal.until_state(Idle);
    assert!(terminal.text().contains("> Type a message"));
    assert_eq!(terminal.title(), "demo: idle");
    terminal.send("hello");
    terminal.until_shows("> hello");
    terminal.send("\r");
    terminal.until_state(Done);
    assert!(terminal.text().contains("● You said: \"hello\"."), "{}", terminal.text());
    assert!(terminal.text().contains("> Type a message"));
    assert_eq!(terminal.states, [Idle, Working, Done]);
    terminal.send("fail no model\r");
    terminal.until_state(Error);
    assert!(terminal.text().contains("✗ Error: no model"));
}

#[test]
fn two_equal_approvals_are_two_dialogs_and_the_commands_run() {
    for screen in [&[][..], &["--alt"]] {
        let home = Home::new();
        let prompt = "approve echo ran >> log; approve echo ran >> log; say finished";
        let mut terminal = quick(&home, &[screen, &[prompt]].concat());
        for answered in 1..=2 {
            terminal.until("a dialog", |terminal| {
                terminal.states.iter().filter(|state| **state == Blocked).count() == answered
            });
            let text = terminal.text();
            assert!(text.contains("Run this command?\n\n   echo ran >> log"), "{text}");
            assert_eq!(terminal.title(), "demo: needs you");
            terminal.send("\r");
        }
        terminal.until_state(Done);
        assert_eq!(terminal.states, [Idle, Working, Blocked, Working, Blocked, Working, Done]);
        assert_eq!(fs::read_to_string(home.path().join("log")).unwrap(), "ran\nran\n");
        assert!(terminal.text().contains("● finished"));
        assert!(!terminal.text().contains("Run this command?"));
    }
}

#[test]
fn a_refused_command_does_not_run() {
    let home = Home::new();
    let mut terminal = quick(&home, &["approve touch never; say finished"]);
    terminal.until_state(Blocked);
    terminal.send("\x1b");
    terminal.until_state(Done);
    assert!(terminal.text().contains("● I was not allowed to run: touch never"));
    assert!(!home.path().join("never").exists());
}

#[test]
fn questions_and_choices_wait_for_their_answers() {
    let home = Home::new();
    let mut terminal = quick(&home, &["ask Who are you?; choose Which? red|green"]);
    terminal.until_shows("> Type your answer");
    terminal.send("\x1b[200~Ada\nL.\x1b[201~\r");
    terminal.until_shows("❯ 1. red");
    terminal.send("\x1b[B\r");
    terminal.until_state(Done);
    let text = terminal.text();
    assert!(text.contains("● You answered: Ada\n  L.\n"), "{text}");
    assert!(text.contains("● You answered: green"), "{text}");
}

#[test]
fn escape_interrupts_a_command_and_all_it_started() {
    let home = Home::new();
    let mut terminal = quick(&home, &["disobey sleep 1000 & echo $! > pid; wait"]);
    let pid = pid_in(&home.path().join("pid"));
    terminal.until_shows("esc to interrupt");
    terminal.send("\x1b");
    terminal.until_shows("Interrupted");
    eventually("the end of the command", || (!is_alive(pid)).then_some(()));
    assert_eq!(terminal.states, [Idle, Working, Idle]);
}

#[test]
fn quitting_leaves_the_terminal_as_it_was() {
    for (screen, keys) in [(&[][..], "/exit\r"), (&["--alt"], "\x03\x03"), (&[], "\x04")] {
        let home = Home::new();
        let mut terminal = quick(&home, screen);
        terminal.until_state(Idle);
        assert!(terminal.is_raw());
        assert_eq!(terminal.alternate(), !screen.is_empty());
        terminal.send(keys);
        assert_eq!(terminal.finish().code(), Some(0));
        assert!(terminal.is_restored());
        assert_eq!(terminal.states, [Idle, Clear]);
        assert!(!terminal.alternate());
        assert_eq!(terminal.title(), "");
        assert!(terminal.bytes.ends_with(b"\x1b[?25h"));
    }
}

#[test]
fn a_signal_ends_it_after_it_has_left_the_terminal_as_it_was() {
    for (screen, signal) in [(&[][..], Signal::TERM), (&["--alt"], Signal::HUP)] {
        let home = Home::new();
        let prompt = "disobey sleep 1000 & echo $! > pid; wait";
        let mut terminal = quick(&home, &[screen, &[prompt]].concat());
        terminal.until_state(Working);
        let pid = pid_in(&home.path().join("pid"));
        terminal.kill(signal);
        let status = terminal.finish();
        assert_eq!(status.signal(), Some(signal.as_raw()));
        assert!(terminal.is_restored());
        assert!(!terminal.alternate());
        eventually("the end of the command", || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let home = Home::new();
    let mut terminal = quick(&home, &[]);
    terminal.until_state(Idle);
    let mut child = terminal.hang_up();
    assert_eq!(child.wait().unwrap().code(), Some(129));
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    for screen in [&[][..], &["--alt"]] {
        let home = Home::new();
        let prompt = "say one two three four five six seven eight nine ten; approve ls -l";
        let mut terminal = quick(&home, &[screen, &[prompt]].concat());
        terminal.until_state(Blocked);
        let rule = |columns: usize| format!("\n{}\n Run this command?", "─".repeat(columns));
        assert!(terminal.text().contains(&rule(79)), "{}", terminal.text());
        for (size, columns) in [((40, 10), 39), ((120, 30), 119)] {
            terminal.resize(size);
            terminal.until("another rule", |terminal| {
                let text = terminal.text();
                format!("\n{text}").contains(&rule(columns)) && text.contains("3. No (esc)")
            });
            assert_eq!(terminal.text().matches("Run this command?").count(), 1);
        }
    }
}

#[test]
fn what_is_half_typed_survives_a_change_of_size() {
    let home = Home::new();
    let mut terminal = quick(&home, &[]);
    terminal.until_state(Idle);
    // No space at the end: what is seen is all there is, and nothing is painted any more when the
    // size changes.
    let typed = ["word"; 12].join(" ");
    terminal.send(&typed);
    terminal.until_shows(&typed);
    terminal.resize((40, 12));
    terminal.until("two rows", |terminal| {
        let text = terminal.text();
        text.ends_with(&format!(
            "\n{}\n> {}\n  {}\n  /help · /exit",
            "─".repeat(39),
            &typed[..37],
            &typed[37..]
        ))
    });
    assert_eq!(terminal.text().matches("> word").count(), 1, "{}", terminal.text());
    assert_eq!(terminal.text().matches('─').count(), 39, "{}", terminal.text());
}

#[test]
fn idle_costs_nothing() {
    let home = Home::new();
    let mut terminal = quick(&home, &[]);
    terminal.until_state(Idle);
    // How often each of its threads has waited for something.
    let waits = |terminal: &Terminal| -> Vec<String> {
        let tasks = format!("/proc/{}/task", terminal.pid().as_raw_nonzero());
        fs::read_dir(tasks)
            .unwrap()
            .map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap())
            .map(|status| status.lines().filter(|line| line.contains("ctxt")).collect())
            .collect()
    };
    // What there is at the start is over when it is seen waiting for keys.
    terminal.send("x");
    terminal.until_shows("> x");
    assert!(!terminal.read(100));
    let before = waits(&terminal);
    assert!(!terminal.read(500), "it prints while it is idle");
    assert_eq!(waits(&terminal), before, "it wakes up while it is idle");
}

#[test]
fn a_conversation_can_be_resumed_on_a_terminal() {
    let home = Home::new();
    let mut terminal = quick(&home, &["--session-id", "abc", "my name is Ada"]);
    terminal.until_state(Done);
    terminal.send("/exit\r");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.text().contains("Go on with: coven demo-agent --resume abc"));
    let mut terminal = quick(&home, &["--resume", "abc", "hello"]);
    terminal.until_state(Done);
    assert!(terminal.text().contains("Before that you said:"), "{}", terminal.text());
}
