//! Questions after an answer, and screens that nobody knows.

use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// An adapter in the plain form names no region, and what was answered stays on the screen.
#[test]
fn an_answered_line_is_not_asked_again_until_it_is_painted_anew() {
    let config = r#"{"states": {"interaction_handler": {"pattern": "\\(y/n\\)"}}}"#;
    let mut sniffer = ScreenSniffer::new(compiled(config));
    let mut screen = Screen::new(GridSize::new(40, 6));
    let mut now = 0;
    let mut show = |sniffer: &mut ScreenSniffer, text: &str, later: u64| {
        screen.feed(text.as_bytes());
        now += 10;
        sniffer.read_screen(&screen.snapshot(), ms(now));
        now += later;
        sniffer.tick(ms(now));
        sniffer.verdict().digest.clone()
    };
    let first = show(&mut sniffer, "Proceed? (y/n) ", 0).unwrap();
    assert_eq!(show(&mut sniffer, "", 60_000), Some(first.clone()), "it waits for long");
    sniffer.typed(ms(61_000));
    assert_eq!(show(&mut sniffer, "y\r\nstep 1\r\n", 60_000), None);
    assert_eq!(show(&mut sniffer, "step 2\r\n", 60_000), None, "whatever is printed below");
    let second = show(&mut sniffer, "Proceed? (y/n) ", 0).unwrap();
    assert_ne!(first, second);
    // The next one may be there before the screen was looked at, also where everything scrolls.
    let mut last = second;
    for _ in 0..3 {
        sniffer.typed(ms(300_000));
        let next = show(&mut sniffer, "y\r\nProceed? (y/n) ", 0).unwrap();
        assert_ne!(last, next);
        assert!(!sniffer.question_is_repeated());
        last = next;
    }
}

#[test]
fn a_question_that_stays_after_an_answer_is_asked_once_more_and_marked() {
    let config =
        r#"{"states": {"interaction_handler": {"pattern": "Allow\\?", "region": "tail:3"}}}"#;
    let mut sniffer = ScreenSniffer::new(compiled(config));
    sniffer.look_at_text("Allow?\n> yes\n  no", ms(0));
    let first = sniffer.verdict().digest.clone().unwrap();
    sniffer.typed(ms(1000));
    sniffer.look_at_text("Allow?\n> yes\n  no", ms(1100));
    sniffer.tick(ms(3900));
    assert_eq!(sniffer.verdict().digest.as_ref(), Some(&first), "it may still be taken");
    sniffer.tick(ms(4100));
    assert_ne!(sniffer.verdict().digest.as_ref(), Some(&first));
    assert!(sniffer.question_is_repeated());
}

#[test]
fn what_nobody_knows_is_told_once_it_was_quiet_for_long_enough() {
    let mut unknown = sniffer();
    unknown.look_at_text("something odd", ms(0));
    unknown.tick(ms(10_000));
    assert_eq!(unknown.verdict().state, AgentState::Unknown);
    unknown.printed(ms(15_000));
    assert!(!unknown.take_unexplained(ms(34_999)));
    assert_eq!(unknown.deadline(), Some(ms(35_000)));
    assert!(unknown.take_unexplained(ms(35_000)));
    assert!(!unknown.take_unexplained(ms(90_000)), "once");
    assert_eq!(settled(&mut unknown, ">", 91_000), AgentState::Idle);
    assert!(!unknown.take_unexplained(ms(200_000)), "it is known");
    assert_eq!(settled(&mut unknown, "odd again", 201_000), AgentState::Unknown);
    assert!(unknown.take_unexplained(ms(300_000)));

    let mut slow = sniffer();
    slow.look_at_text("", ms(0));
    assert!(!slow.take_unexplained(ms(59_000)));
    assert!(slow.take_unexplained(ms(61_000)), "it does not get done with starting");
}
