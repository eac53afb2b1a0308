//! Questions to a person, and the keys that answer them.

use super::*;

/// Waits until the dialog is there.
fn asked(prompt: &str) -> Play {
    let mut play = Play::prompted(prompt);
    play.wait(LATER);
    assert_eq!(play.tui.deadline(), None, "a dialog does not move");
    play.take();
    play
}

#[test]
fn an_approval_shows_the_command_and_what_can_be_answered() {
    let play = asked("approve touch x && echo ok");
    assert_eq!(
        play.frame()[1..],
        [
            " Run this command?",
            "",
            "   touch x && echo ok",
            "",
            " ❯ 1. Yes",
            "   2. Yes, always",
            "   3. No (esc)",
            "",
            " Enter to confirm · Esc to cancel",
        ]
    );
}

#[test]
fn yes_runs_the_command_and_shows_what_it_printed() {
    for keys in ["\r", "1", "y", "\x1b[B\x1b[A\r"] {
        let mut play = asked("approve ls; say done");
        play.keys(keys);
        assert_eq!(play.actions, [run("ls")], "{keys:?}");
        play.finished(&ToolOutcome::ok("a\nb")).wait(LATER);
        let printed = &play.printed;
        assert!(printed.contains("● Run(ls)"), "{printed}");
        assert!(printed.contains("  └ a\r\n    b\r\n"), "{printed}");
        assert!(printed.contains("● done"), "{printed}");
    }
}

#[test]
fn no_says_so_and_goes_on() {
    for keys in ["3", "n", "\x1b", "\x1b[A\r", "\x1b[B\x1b[B\r"] {
        let mut play = asked("approve ls; say done");
        play.keys(keys).wait(LATER);
        assert!(play.printed.contains("● I was not allowed to run: ls"), "{keys:?}");
        assert!(play.printed.contains("● done"), "{keys:?}");
        assert!(matches!(play.actions[..], [TuiAction::Save(_)]), "{keys:?}");
    }
}

#[test]
fn other_keys_answer_nothing() {
    let mut play = asked("approve ls");
    play.keys("x049 \t\x7f\x15").keys("\x1b[200~1\r\x1b[201~").wait(LATER);
    assert!(play.shows("Run this command?"));
    assert_eq!(play.actions, []);
}

#[test]
fn always_is_remembered_for_this_command() {
    let mut play = asked("approve ls; approve ls; approve ls -l");
    play.keys("2").finished(&ToolOutcome::ok("")).wait(LATER);
    assert_eq!(play.actions, [run("ls"), run("ls")]);
    play.finished(&ToolOutcome::ok("")).wait(LATER);
    assert!(play.shows("   ls -l"));
}

#[test]
fn the_same_question_again_is_another_dialog() {
    let options = Options { delay: Duration::ZERO, ..Options::default() };
    let mut play = Play::with(&options, Some("repeat 3; approve ls"));
    play.wait(Duration::ZERO);
    play.keys("n").wait(Duration::ZERO);
    play.keys("y").finished(&ToolOutcome::ok("")).wait(Duration::ZERO);
    let dialogs = play.printed.matches("Run this command?").count();
    assert_eq!(dialogs, 3);
    let blocked = "blocked:kind=permission";
    let states = play.states();
    assert_eq!(states, ["idle", "working", blocked, "working", blocked, "working", blocked]);
}

#[test]
fn permissions_answer_for_a_person() {
    for (permissions, actions) in [
        (PermissionMode::ReadOnly, vec![]),
        (PermissionMode::Edits, vec!["write"]),
        (PermissionMode::All, vec!["write", "run"]),
    ] {
        let options = Options { permissions, ..Options::default() };
        let mut play = Play::with(&options, Some("write ./f text; approve ls"));
        for _ in 0..3 {
            play.wait(LATER).finished(&ToolOutcome::ok(""));
        }
        let done: Vec<&str> = play
            .actions
            .iter()
            .filter_map(|action| match action {
                TuiAction::Do(TuiEffect::Tool(ToolUse::Write { .. })) => Some("write"),
                TuiAction::Do(TuiEffect::Tool(ToolUse::Command(_))) => Some("run"),
                _ => None,
            })
            .collect();
        assert_eq!(done, actions, "{permissions:?}");
        assert_eq!(play.tui.status() == TuiStatus::Done, permissions != PermissionMode::Edits);
    }
}

#[test]
fn writing_a_file_shows_its_name_and_text() {
    let play = asked("write ./notes.txt one\\ntwo");
    let frame = play.frame();
    assert_eq!(frame[1..6], [" Write this file?", "", "   ./notes.txt", "   one", "   two"]);
}

#[test]
fn a_question_takes_any_text() {
    let mut play = asked("ask What is your name?");
    assert!(play.shows(" What is your name?"));
    assert!(play.shows("> Type your answer"));
    play.keys("\r");
    assert!(play.shows("> Type your answer"), "an empty answer is none");
    play.keys("1 Ada\r").wait(LATER);
    assert!(play.printed.contains("● You answered: 1 Ada"));
    assert_eq!(play.states(), ["working", "done"]);

    let mut play = asked("ask Why?");
    play.keys("\x1b").wait(LATER);
    assert!(play.printed.contains("● You did not answer."));
}

#[test]
fn a_choice_takes_one_of_its_options() {
    for (keys, answer) in [
        ("2", "You answered: green"),
        ("\x1b[B\r", "You answered: green"),
        ("k\r", "You answered: blue"),
        ("\r", "You answered: red"),
        ("\x1b", "You did not answer."),
        ("4\x1b", "You did not answer."),
    ] {
        let mut play = asked("choose Which colour? red|green|blue");
        assert_eq!(
            play.frame()[1..6],
            [" Which colour?", "", " ❯ 1. red", "   2. green", "   3. blue"]
        );
        play.keys(keys).wait(LATER);
        assert!(play.printed.contains(answer), "{keys:?}: {}", play.printed);
    }
}

#[test]
fn what_was_half_typed_is_still_there_after_a_dialog() {
    let mut play = Play::prompted("think 1; approve ls");
    play.keys("half").wait(Duration::from_secs(2));
    assert!(!play.shows("half"));
    play.keys("n").wait(LATER);
    assert!(play.shows("> half"));
}

#[test]
fn ctrl_c_breaks_the_whole_turn_off() {
    let mut play = asked("approve ls; say never");
    play.keys("\x03").wait(LATER);
    assert!(play.printed.contains("Interrupted"));
    assert!(!play.printed.contains("● never"));
}

#[test]
fn a_dialog_fits_on_any_screen() {
    let long = "echo a-very-long-word and-more ".repeat(100);
    for prompt in [
        format!("approve {long}"),
        format!("write ./f {}", "line\\n".repeat(100)),
        format!("ask {long}"),
        "choose 1|2|3|4|5|6|7|8|9".to_owned(),
        format!("choose {long}? {long}|{long}"),
    ] {
        let mut play = asked(&prompt);
        for (columns, rows) in [(1, 1), (16, 6), (20, 8), (40, 10), (80, 13), (80, 14), (200, 50)] {
            play.resize(columns, rows);
            for key in ["", "\x1b[B", "\x1b[B", "\x1b[A"] {
                play.keys(key);
                let (frame, size) = (play.frame(), play.tui.size);
                assert!(frame.len() <= size.rows, "{columns}x{rows} {prompt}");
                let wide = frame.iter().all(|line| crate::text::width(line) < size.columns);
                assert!(wide, "{columns}x{rows} {frame:?}");
                let selected = prompt.starts_with("ask") || play.shows("❯");
                assert!(selected, "{columns}x{rows} {frame:?}");
            }
        }
    }
}

#[test]
fn what_an_agent_says_cannot_move_the_cursor() {
    let mut play = Play::new();
    play.keys("\x1b[200~say a\x1b[2Jb\x1b]0;evil\x07c\x1b[201~\r").wait(LATER);
    let mut shown = asked("approve printf '\u{1b}[2J'");
    shown
        .keys("1")
        .finished(&ToolOutcome::ok("\x1b[31mred\x1b]0;evil\x07\r\n\u{9b}2J"))
        .wait(LATER);
    for printed in [play.take(), shown.take()] {
        assert!(!printed.contains("\x1b[2J") && !printed.contains("evil"), "{printed:?}");
        assert!(!printed.contains("\x1b[31m") && !printed.contains('\u{9b}'), "{printed:?}");
    }
}
