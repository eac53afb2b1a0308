//! Screens on which something is painted all the time.

use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// After how many seconds a person is told of a program that prints something every quarter of a
/// second for two minutes.
fn told_after(begin: &str, print: impl Fn(usize) -> String) -> Option<u64> {
    let mut screen = Screen::new(GridSize::new(80, 24));
    let mut sniffer = sniffer();
    screen.feed(begin.replace('\n', "\r\n").as_bytes());
    (0_usize..480).zip(0_u64..).find_map(|(turn, quarter)| {
        let now = ms(quarter * 250);
        let printed = print(turn);
        if turn == 0 || !printed.is_empty() {
            screen.feed(printed.replace('\n', "\r\n").as_bytes());
            sniffer.printed(now);
            sniffer.read_screen(&screen.snapshot(), now);
        }
        sniffer.tick(now);
        sniffer.take_unexplained(now).then_some(now.as_secs())
    })
}

/// Paints the first line anew and puts the cursor back.
fn status_line(text: &str) -> String {
    format!("\x1b7\x1b[1;1H\x1b[2K{text}\x1b8")
}

const PROMPT: &str = "\n\nWhat should the release be called\n  name it: ";

/// Spec: C0.14.2
#[test]
fn a_prompt_below_a_line_that_is_painted_all_the_time_reaches_a_person() {
    let clock = |turn: usize| status_line(&format!("up for {}:{:02}", turn / 240, turn / 4 % 60));
    assert_eq!(told_after(PROMPT, clock), Some(20));
    let spinner = |turn: usize| status_line(&format!("{} 12%", ['⠋', '✻', '|', '·'][turn % 4]));
    assert_eq!(told_after(PROMPT, spinner), Some(20));
    let news =
        |turn: usize| status_line(&"tip: press help to see more ".repeat(3)[turn % 28..][..40]);
    assert!(
        told_after(PROMPT, news).is_some_and(|after| after <= 22),
        "{:?}",
        told_after(PROMPT, news)
    );
    let slow = |turn: usize| match turn % 40 {
        0 => status_line(["all is well", "two branches", "no network"][turn / 40 % 3]),
        _ => String::new(),
    };
    assert!(
        told_after(PROMPT, slow).is_some_and(|after| after <= 45),
        "{:?}",
        told_after(PROMPT, slow)
    );
    // One that is left in the clock is not where the program waits.
    let parked = |turn: usize| format!("\x1b[1;1H\x1b[2KElapsed 0:{}", turn / 4);
    assert_eq!(told_after(PROMPT, parked), Some(20));
    // The cursor of a program that hides it stays where it painted last.
    let hidden = |turn: usize| format!("\x1b[?25l\x1b[1;1H⠋ waiting for you since {turn}s");
    assert_eq!(told_after(PROMPT, hidden), Some(20));
}

/// Spec: C0.14.2
#[test]
fn a_prompt_with_a_clock_or_a_spinner_in_its_own_line_reaches_a_person() {
    let clock = |turn: usize| format!("\rName of the release: 12:{:02}", turn / 4 % 60);
    assert_eq!(told_after("\n", clock), Some(20));
    let spinner = |turn: usize| format!("\r{} Name it? ", ['⠋', '⠙', '|', '/'][turn % 4]);
    assert_eq!(told_after("\n", spinner), Some(20));
    let left = |turn: usize| format!("\rName it? ({} s left) ", 480 - turn);
    assert_eq!(told_after("\n", left), Some(20));
    // A program that says how far it is does something.
    let download = |turn: usize| format!("\rDownloading, eta: 0:{:02} [{turn}/480]", turn % 60);
    assert_eq!(told_after("", download), None);
}

/// Spec: C0.14.2
#[test]
fn a_program_that_does_something_nobody_knows_is_left_alone() {
    let lines = |turn: usize| {
        if turn.is_multiple_of(20) { format!("compiled {turn}\n") } else { String::new() }
    };
    assert_eq!(told_after("", lines), None);
    let numbers =
        |turn: usize| if turn.is_multiple_of(20) { format!("{turn}\n") } else { String::new() };
    assert_eq!(told_after("", numbers), None, "they scroll");
    assert_eq!(told_after("testing ", |_| ".".to_owned()), None);
    assert_eq!(told_after("", |turn| format!("\r{turn} of 480")), None);
    let many = |turn: usize| {
        let word = ["one", "two", "three"][turn % 3];
        format!("\x1b[?25l\x1b[H{word}\n{word}\n{word}\n")
    };
    assert_eq!(told_after("", many), None);
}
