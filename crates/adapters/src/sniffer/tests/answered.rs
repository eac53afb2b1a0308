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

/// A menu on a screen of its own has the cursor below it, and the next may look the same.
#[test]
fn the_same_menu_painted_again_in_the_same_place_is_asked_again() {
    let config = r#"{"states": {"interaction_menu": {"pattern": "^pick one:\\n[\\s\\S]*\\z", "begins": "^pick one", "kind": "choice"}}}"#;
    let mut sniffer = ScreenSniffer::new(compiled(config));
    let mut screen = Screen::new(GridSize::new(40, 6));
    let menu = "\x1b[2J\x1b[Hpick one:\r\n> a\r\n  b\r\n";
    screen.feed(menu.as_bytes());
    sniffer.read_screen(&screen.snapshot(), ms(10));
    let first = sniffer.verdict().digest.clone().unwrap();
    sniffer.typed(ms(1000));
    // What came between was gone before anybody looked.
    screen.feed(format!("\x1b[2J\x1b[Hworking\r\n{menu}").as_bytes());
    sniffer.read_screen(&screen.snapshot(), ms(1020));
    assert_eq!(sniffer.verdict().digest.as_ref(), Some(&first));
    sniffer.tick(ms(4100));
    assert_ne!(sniffer.verdict().digest.as_ref(), Some(&first));
    assert!(sniffer.verdict().digest.is_some() && sniffer.question_is_repeated());
}

/// Seen with Claude: it says that it is idle a moment before the dialog leaves the screen.
#[test]
fn an_answered_question_that_is_still_painted_when_a_signal_says_it_is_over_is_no_other() {
    let over = [status(ProgramState::Idle), title("ready")];
    let begun = [status(ProgramState::Blocked), title("ask")];
    for (begun, over) in begun.into_iter().zip(over) {
        let mut sniffer = sniffer();
        sniffer.signal(&begun, ms(0));
        sniffer.look_at_text("Run rm?", ms(10));
        let asked = sniffer.verdict().digest.clone();
        assert!(asked.is_some());
        sniffer.typed(ms(1000));
        sniffer.signal(&over, ms(1030));
        sniffer.look_at_text("Run rm?", ms(1040));
        assert_eq!((&sniffer.verdict().digest, sniffer.questions_asked()), (&asked, 1));
        assert_eq!(settled(&mut sniffer, ">", 1100), AgentState::Idle);
        // The same words are another question when the agent says so.
        sniffer.signal(&begun, ms(3000));
        sniffer.look_at_text("Run rm?", ms(3010));
        assert_ne!(sniffer.verdict().digest, asked);
        assert_eq!(sniffer.questions_asked(), 2);
    }
}

/// The next question may have the same words and be there before the screen was looked at.
#[test]
fn the_same_words_are_the_next_question_when_a_signal_came_between() {
    let mut sniffer = sniffer();
    sniffer.signal(&status(ProgramState::Blocked), ms(0));
    sniffer.look_at_text("Run rm?", ms(10));
    let asked = sniffer.verdict().digest.clone();
    sniffer.typed(ms(1000));
    sniffer.signal(&status(ProgramState::Working), ms(1010));
    sniffer.signal(&status(ProgramState::Blocked), ms(1015));
    sniffer.look_at_text("Run rm?", ms(1030));
    assert_ne!(sniffer.verdict().digest, asked);
    assert!(!sniffer.question_is_repeated());
}

/// What no rule knows is for a person, whatever the program calls it, and what says that lines are
/// hidden is cut off.
#[test]
fn an_announced_question_that_no_rule_knows_is_of_no_adapter() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("ask"), ms(0));
    for (text, rule) in [
        ("a dialog of the next version", "generic:announced"),
        ("Allow it?\n › 1. Yes\n   2. No\n... last 44 lines hidden ...", "generic:menu"),
    ] {
        sniffer.look_at_text(text, ms(10));
        sniffer.tick(ms(5000));
        assert_eq!(sniffer.verdict().evidence.rule, rule);
    }
    assert!(sniffer.asked_action().truncated);
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

#[test]
fn an_adapter_says_how_long_its_program_may_take_to_start() {
    let mut slow = ScreenSniffer::new(compiled(r#"{"startBound": "3m"}"#));
    slow.look_at_text("", ms(0));
    assert_eq!(slow.verdict().state, AgentState::Starting);
    assert!(!slow.take_unexplained(ms(179_000)));
    assert!(slow.take_unexplained(ms(181_000)));
}

/// Whoever has sent it may have ended. What is asked at the cursor is asked.
///
/// Spec: C0.14.2
#[test]
fn no_signal_and_no_title_hides_a_question_at_the_cursor() {
    let signals = [
        status(ProgramState::Working),
        status(ProgramState::Idle),
        status(ProgramState::Done),
        title("work"),
        title("ready"),
    ];
    for signal in &signals {
        for (shown, rule) in [
            ("Delete everything? (y/n) ", "generic:yes-no"),
            ("Overwrite it? [Y/n] ", "generic:yes-no"),
        ] {
            let mut sniffer = sniffer();
            sniffer.signal(signal, ms(0));
            sniffer.look_at_text(">", ms(100));
            sniffer.tick(ms(1000));
            sniffer.look_at_text(shown, ms(2000));
            sniffer.tick(ms(4500));
            let verdict = sniffer.verdict().clone();
            assert_eq!(verdict.state, AgentState::Awaiting, "{signal:?} {shown}");
            assert_eq!(verdict.evidence.rule, rule);
            assert!(verdict.digest.is_some() && sniffer.questions_asked() == 1);
            // What was answered may stay while the program says that it works on it.
            sniffer.typed(ms(5000));
            sniffer.signal(&status(ProgramState::Working), ms(5100));
            sniffer.look_at_text(shown, ms(5200));
            assert_eq!(sniffer.verdict().state, AgentState::Working, "{signal:?} {shown}");
            sniffer.tick(ms(15_000));
            assert_eq!(sniffer.verdict().state, AgentState::Working, "{signal:?} {shown}");
            // The next question is another one.
            sniffer.look_at_text("Delete all the rest? (y/n) ", ms(16_000));
            sniffer.tick(ms(21_000));
            assert_eq!(sniffer.verdict().state, AgentState::Awaiting, "{signal:?} {shown}");
            assert_eq!(sniffer.questions_asked(), 2);
        }
    }
}

/// A child of the agent can say that the agent works, and be wrong or dead by the time it asks.
#[test]
fn a_question_behind_a_signal_that_says_working_reaches_a_person() {
    for signal in [status(ProgramState::Working), title("work")] {
        let mut sniffer = sniffer();
        sniffer.signal(&signal, ms(0));
        sniffer.look_at_text("esc to interrupt", ms(10));
        assert!(!sniffer.take_unexplained(ms(60_000)), "it works");
        sniffer.printed(ms(60_000));
        sniffer.look_at_text("Run rm?", ms(60_010));
        assert_eq!(sniffer.verdict().state, AgentState::Working, "the signal counts at first");
        assert!(
            sniffer.deadline().is_some_and(|due| due <= ms(80_010)),
            "{:?}",
            sniffer.deadline()
        );
        assert!(!sniffer.take_unexplained(ms(79_000)));
        assert!(sniffer.take_unexplained(ms(80_010)));
        assert!(!sniffer.take_unexplained(ms(200_000)), "once");
    }
}
