//! How frames reach a terminal.

use super::*;

const ALTERNATE: fn() -> Options = || Options { alternate: true, ..Options::default() };

#[test]
fn every_change_is_one_synchronized_update() {
    for options in [Options::default(), ALTERNATE()] {
        let mut play = Play::with(&options, None);
        play.take();
        play.keys("x");
        let printed = play.take();
        assert!(printed.starts_with("\x1b[?2026h\x1b[?25l"), "{printed:?}");
        let (_, after) = printed.split_once("\x1b[?25h\x1b[?2026l").unwrap();
        assert_eq!(after, "");
        assert_eq!(printed.matches("\x1b[?2026h").count(), 1);
    }
}

#[test]
fn nothing_is_printed_if_nothing_has_changed() {
    for options in [Options::default(), ALTERNATE()] {
        let mut play = Play::with(&options, None);
        play.take();
        play.tui.tick(LATER);
        play.resize(60, 20);
        play.keys("\x1b[D\x1b[C\x1b[I").wait(LATER);
        assert_eq!(play.take(), "");
    }
}

#[test]
fn inline_it_paints_over_its_own_frame_only() {
    let mut play = Play::new();
    play.take();
    play.keys("x");
    // One row up from the prompt to the rule, then erase to the end of the screen.
    let printed = play.take();
    assert!(printed.starts_with("\x1b[?2026h\x1b[?25l\x1b[1A\r\x1b[J"), "{printed:?}");
    assert!(!printed.contains("\x1b[2J") && !printed.contains("\x1b[H"), "{printed:?}");
}

#[test]
fn inline_a_narrower_terminal_has_wrapped_the_frame() {
    let mut play = Play::new();
    play.take();
    // The rule of 59 columns takes three rows of 25 now.
    play.resize(25, 20);
    let printed = play.take();
    assert!(printed.starts_with("\x1b[?2026h\x1b[?25l\x1b[3A\r\x1b[J"), "{printed:?}");
    assert!(play.frame().iter().all(|line| crate::text::width(line) < 25));
}

#[test]
fn inline_the_cursor_is_in_a_wrapped_line_too() {
    let mut play = Play::new();
    play.keys(&"x".repeat(40)).take();
    // Three rows of rule, and one of text before that with the cursor.
    play.resize(25, 20);
    let printed = play.take();
    assert!(printed.starts_with("\x1b[?2026h\x1b[?25l\x1b[4A\r\x1b[J"), "{printed:?}");
}

#[test]
fn on_the_alternate_screen_only_changed_rows_are_painted() {
    let mut play = Play::with(&ALTERNATE(), None);
    let printed = play.take();
    assert!(printed.starts_with("\x1b[?1049h"), "{printed:?}");
    play.keys("x");
    assert_eq!(
        play.take(),
        "\x1b[?2026h\x1b[?25l\x1b[19;1H\x1b[2K>\x1b[3Gx\x1b[19;4H\x1b[?25h\x1b[?2026l"
    );
}

#[test]
fn on_the_alternate_screen_words_stand_where_the_cursor_was_put() {
    let mut play = Play::with(&ALTERNATE(), Some("say I will use a tool"));
    play.wait(LATER);
    assert!(play.printed.contains("●\x1b[3GI\x1b[5Gwill\x1b[10Guse\x1b[14Ga\x1b[16Gtool"));
}

#[test]
fn on_the_alternate_screen_everything_is_painted_anew_at_another_size() {
    let mut play = Play::with(&ALTERNATE(), Some("say hello"));
    play.wait(LATER).take();
    play.resize(30, 12);
    let printed = play.take();
    assert!(printed.contains("\x1b[2J"), "{printed:?}");
    assert!(printed.contains("hello"), "{printed:?}");
    assert!(!printed.contains("\x1b[13;"), "{printed:?}");
}

#[test]
fn a_terminal_that_knows_no_size_gets_the_usual_one() {
    assert_eq!(TuiSize::reported(0, 0), TuiSize { columns: 80, rows: 24 });
    assert_eq!(TuiSize::reported(1, 1), TuiSize::SMALLEST);
    assert_eq!(TuiSize::reported(65535, 1), TuiSize { columns: 65535, rows: 6 });
}
