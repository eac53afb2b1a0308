//! Turns: how they begin, go on, are broken off and end.

use super::*;

#[test]
fn it_appears_idle_and_waits_for_nothing_but_input() {
    let mut play = Play::new();
    assert!(play.shows("> Type a message"));
    assert_eq!(play.tui.deadline(), None);
    let printed = play.take();
    assert!(printed.starts_with("\x1b[?2004h"), "{printed:?}");
    assert!(printed.contains("\x1b]0;demo: idle\x1b\\"), "{printed:?}");
    assert!(printed.ends_with("\x1b]7501;state=idle:app=demo\x1b\\"), "{printed:?}");
}

#[test]
fn what_is_typed_is_shown_and_enter_submits_it() {
    let mut play = Play::new();
    play.keys("hello");
    assert!(play.shows("> hello"));
    play.take();
    play.keys("\r");
    assert!(play.shows("Working… (0s · esc to interrupt)"), "{:?}", play.frame());
    assert!(!play.shows("Type a message"));
    play.wait(LATER);
    assert!(play.shows("> Type a message"));
    assert!(play.printed.contains("You said: \"hello\"."), "{}", play.printed);
    assert_eq!(play.states(), ["working", "done"]);
}

#[test]
fn the_first_key_after_a_turn_takes_done_back() {
    let mut play = Play::prompted("say hi");
    play.wait(LATER).keys("x");
    assert_eq!(play.states(), ["idle", "working", "done", "idle"]);
}

#[test]
fn titles_say_what_it_needs() {
    let mut play = Play::prompted("approve ls");
    play.wait(LATER);
    let printed = play.take();
    let titles: Vec<&str> = printed.split("\x1b]0;").skip(1).collect();
    let titles: Vec<&str> = titles.iter().map(|t| t.split_once('\x1b').unwrap().0).collect();
    assert_eq!(titles, ["demo: idle", "demo: working", "demo: needs you"]);
}

#[test]
fn it_thinks_as_long_as_it_was_told_and_the_spinner_turns() {
    let mut play = Play::prompted("think 2.5; say done");
    play.wait(Duration::from_secs(2));
    assert!(play.shows("(2s · esc to interrupt)"));
    let before = play.frame();
    play.wait(Duration::from_millis(100));
    assert_ne!(play.frame(), before);
    assert!(!play.printed.contains("● done"));
    play.wait(LATER);
    assert!(play.printed.contains("● done"));
}

#[test]
fn hanging_ends_with_escape_only() {
    let mut play = Play::prompted("hang");
    play.wait(Duration::from_hours(1));
    assert!(play.shows("(3600s · esc to interrupt)"));
    play.keys("\x1b").wait(LATER);
    assert!(play.shows("Type a message"));
    assert!(play.printed.contains("Interrupted"));
    assert_eq!(play.states(), ["idle", "working", "idle"]);
}

#[test]
fn an_interrupted_command_is_cancelled_and_its_late_news_ignored() {
    let mut play = Play::prompted("disobey sleep 100; say never");
    play.wait(LATER);
    assert!(play.shows("Running…"));
    assert_eq!(play.actions, [run("sleep 100")]);
    play.keys("\x1b").wait(LATER);
    assert_eq!(play.actions[1], TuiAction::Cancel);
    play.finished(&ToolOutcome::ok("late news")).wait(LATER);
    assert!(!play.printed.contains("late news"));
    assert!(!play.printed.contains("● never"));
}

#[test]
fn what_is_submitted_meanwhile_waits_for_its_turn() {
    let mut play = Play::prompted("think 5; say one");
    play.keys("say two\r").keys("half");
    assert!(play.shows("  next: say two"));
    assert!(play.shows("> half"));
    play.wait(Duration::from_secs(7));
    let printed = &play.printed;
    assert!(printed.find("● one").unwrap() < printed.find("● two").unwrap());
    assert!(play.shows("> half"));
    assert_eq!(play.states(), ["idle", "working", "done", "working", "done"]);
}

#[test]
fn an_interrupt_gives_back_what_was_waiting() {
    let mut play = Play::prompted("hang");
    play.keys("next\r").keys("half").keys("\x1b").wait(LATER);
    assert!(play.shows("> next"));
    assert!(play.shows("  half"));
}

#[test]
fn a_failure_is_shown_and_announced_and_the_conversation_goes_on() {
    let mut play = Play::prompted("say before; fail no model; say after");
    play.wait(LATER);
    assert!(play.printed.contains("✗ Error: no model"));
    assert!(!play.printed.contains("● after"));
    assert_eq!(play.states(), ["idle", "working", "error"]);
    play.keys("say again\r").wait(LATER);
    assert_eq!(play.states(), ["idle", "working", "done"]);
}

#[test]
fn ctrl_c_twice_quits_but_once_only_clears() {
    let mut play = Play::new();
    play.keys("text\x03");
    assert!(play.shows("Press Ctrl-C again to exit"));
    assert!(play.shows("Type a message"));
    play.wait(QUIT_WINDOW);
    assert!(!play.shows("Press Ctrl-C"));
    assert_eq!(play.tui.deadline(), None);
    play.keys("\x03").wait(Duration::from_millis(500)).keys("\x03");
    assert_eq!(play.actions.last(), Some(&exit(0)));
}

#[test]
fn ctrl_c_interrupts_a_turn_before_it_quits() {
    let mut play = Play::prompted("hang");
    play.keys("\x03");
    assert!(play.printed.contains("Interrupted"));
    play.keys("\x03");
    assert_eq!(play.actions.last(), Some(&exit(0)));
}

#[test]
fn quitting_gives_the_terminal_back_and_takes_the_status_back() {
    for (keys, alternate) in [("/exit\r", false), ("/quit\r", true), ("\x04", false)] {
        let options = Options { alternate, ..Options::default() };
        let mut play = Play::with(&options, None);
        play.take();
        play.keys(keys);
        assert_eq!(play.actions.last(), Some(&exit(0)));
        let printed = play.take();
        assert!(printed.contains("\x1b]7501;state=clear:app=demo\x1b\\"), "{printed:?}");
        assert!(printed.contains("\x1b[?2004l"), "{printed:?}");
        assert_eq!(printed.contains("\x1b[?1049l"), alternate, "{printed:?}");
        assert!(printed.ends_with("\x1b[?25h"), "{printed:?}");
        play.keys("more\r").wait(LATER);
        assert_eq!(play.take(), "");
    }
}

#[test]
fn a_slash_is_a_command_unless_more_follows() {
    let mut play = Play::new();
    play.keys("/help\r");
    assert!(play.printed.contains("approve COMMAND"));
    play.keys("/nope\r");
    assert!(play.printed.contains("There is no /nope."));
    play.keys("/etc/hosts is a file\r").wait(LATER);
    assert!(play.printed.contains("You said: \"/etc/hosts is a file\"."));
}

#[test]
fn a_paste_is_text_and_nothing_else() {
    let mut play = Play::new();
    play.keys("\x1b[200~one\rtwo\x03\x1b[201~");
    assert!(play.shows("> one"));
    assert!(play.shows("  two"));
    play.keys("\r").wait(LATER);
    assert!(play.printed.contains("You said: \"one\" and one more line."), "{}", play.printed);
}

#[test]
fn each_turn_is_kept_before_it_is_told_to_be_done() {
    let mut play = Play::prompted("say hi; cost 0.5");
    play.now += LATER;
    play.tui.tick(play.now);
    let actions = play.tui.actions();
    let [TuiAction::WriteDown(answer), TuiAction::Save(session), TuiAction::Print(printed)] =
        actions.as_slice()
    else {
        panic!("{actions:?}");
    };
    assert_eq!(*answer, TranscriptLine::Answer("hi".to_owned()));
    assert_eq!((session.turns, session.prompts[0].as_str()), (1, "say hi; cost 0.5"));
    assert!(String::from_utf8_lossy(printed).contains("state=done"));
    assert!(play.shows("$0.50"));
}

#[test]
fn what_is_written_down_of_a_turn_is_its_prompt_and_what_was_said_after_the_last_tool() {
    let line = |prompt: &str| TranscriptLine::Prompt(prompt.to_owned());
    let prompt = "say before; disobey ls; say one; say two";
    let mut play = Play::prompted(prompt);
    play.wait(LATER).finished(&ToolOutcome::ok("x")).wait(LATER);
    assert_eq!(play.written, [line(prompt), TranscriptLine::Answer("one\n\ntwo".to_owned())]);
    let mut play = Play::prompted("disobey ls");
    play.wait(LATER).finished(&ToolOutcome::ok("x")).wait(LATER);
    assert_eq!(play.written[1], TranscriptLine::Answer("Done.".to_owned()));
    // A turn that is broken off or fails has no answer.
    let mut play = Play::prompted("say half; hang");
    play.wait(LATER).keys("\x1b").wait(LATER);
    assert_eq!(play.written, [line("say half; hang")]);
    let mut play = Play::prompted("say half; fail no");
    play.wait(LATER);
    assert_eq!(play.written, [line("say half; fail no")]);
}

#[test]
fn a_resumed_conversation_remembers() {
    let mut session = DemoSession::new("s".to_owned(), "demo-1".to_owned());
    session.remember("old news");
    let mut play = Play::resumed(&Options::default(), Some("hello"), session);
    play.wait(LATER);
    assert!(play.printed.contains("Turns so far: 1"));
    assert!(play.printed.contains("Before that you said: \"old"), "{}", play.printed);
}

#[test]
fn directives_end_the_process_as_they_say() {
    let mut play = Play::prompted("say bye; exit 7; say never");
    play.wait(LATER);
    assert!(play.printed.contains("● bye"));
    assert!(matches!(play.actions[0], TuiAction::Save(_)));
    assert_eq!(play.actions.last(), Some(&exit(7)));

    let mut play = Play::prompted("die KILL");
    play.wait(LATER);
    assert_eq!(play.actions, [TuiAction::End(ProcessExit::Die(9))]);

    let mut play = Play::prompted("split-utf8");
    play.wait(LATER);
    assert!(play.printed.ends_with("● caf\u{fffd}"), "{:?}", play.printed);
    assert_eq!(play.actions, [TuiAction::End(ProcessExit::SplitUtf8)]);

    let mut play = Play::prompted("close-tty 1");
    play.wait(LATER);
    assert!(play.printed.ends_with("\x1b[?25h"));
    assert_eq!(play.actions, [TuiAction::End(ProcessExit::CloseTty(Duration::from_secs(1)))]);
}

#[test]
fn nothing_gets_into_a_flood() {
    let mut play = Play::prompted("say before; flood 100; say after");
    play.take();
    play.now += LATER;
    play.tui.tick(play.now);
    let actions = play.tui.actions();
    let [.., TuiAction::Print(before), flood] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(*flood, TuiAction::Do(TuiEffect::Trick(AgentMisbehaviour::Flood(100))));
    assert!(before.ends_with(b"\r\x1b[J"), "{:?}", String::from_utf8_lossy(before));
    play.finished(&ToolOutcome::ok("I wrote 100 bytes."));
    // The flood ended in the middle of a line.
    assert!(play.take().starts_with("\r\n\x1b[?2026h"));
    play.wait(LATER);
    assert!(play.printed.contains("● after"));
}
