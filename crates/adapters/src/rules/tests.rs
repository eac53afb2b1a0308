//! Rules on texts and screens: regions, wraps, cursors, flags, and what a question is reduced to.

use coven_notation::SourceFile;
use coven_terminal::screen::{GridSize, Screen};
use insta::assert_debug_snapshot;

use super::*;

fn rules(text: &str) -> ScreenRules {
    let config = Config::read(&SourceFile::new("test", text)).value.unwrap();
    ScreenRules::new(&config).unwrap()
}

/// The first rule that matches a text, by its name.
fn first(rules: &ScreenRules, text: &str) -> Option<String> {
    let hit = rules.first(&LineView::of_text(text), |_| true)?;
    Some(rules.get(hit.rule).name.clone())
}

#[test]
fn the_order_of_the_file_is_the_priority() {
    let rules = rules(r#"{"states": {"b": {"pattern": "x"}, "a": {"pattern": "xx"}}}"#);
    assert_eq!(first(&rules, "xx").as_deref(), Some("b"));
}

#[test]
fn dialogs_come_before_states() {
    let rules = rules(
        r#"{"states": {"b": {"pattern": "x"}}, "dialogs": [{"name": "d", "pattern": "x", "region": "tail:1"}]}"#,
    );
    assert_eq!(first(&rules, "x").as_deref(), Some("dialog:d"));
}

#[test]
fn a_region_is_the_part_of_the_screen_it_says() {
    let text = "one\ntwo\nthree\n\n\n";
    for (region, found) in [
        ("screen", "one two three"),
        ("tail:1", "three"),
        ("tail:2", "two three"),
        ("tail:99", "one two three"),
        ("head:2", "one two"),
        ("head:99", "one two three"),
    ] {
        for word in ["one", "two", "three"] {
            let rules = rules(&format!(
                r#"{{"states": {{"a": {{"pattern": "{word}", "region": "{region}"}}}}}}"#
            ));
            assert_eq!(first(&rules, text).is_some(), found.contains(word), "{region} {word}");
        }
    }
}

#[test]
fn the_region_at_the_cursor_ends_with_its_line() {
    let rules = rules(r#"{"states": {"a": {"pattern": "two|three", "region": "cursor:2"}}}"#);
    let mut screen = Screen::new(GridSize::new(10, 5));
    screen.feed(b"one\r\ntwo\r\nthree\r\nfour\x1b[1;1H");
    let snapshot = screen.snapshot();
    assert!(
        rules.first(&LineView::of_screen(&snapshot), |_| true).is_none(),
        "the cursor is on one"
    );
    screen.feed(b"\x1b[3;1H");
    let snapshot = screen.snapshot();
    let hit = rules.first(&LineView::of_screen(&snapshot), |_| true).unwrap();
    assert_eq!(hit.line, "two");
}

#[test]
fn rows_that_the_terminal_wrapped_are_one_line() {
    let rules = rules(r#"{"states": {"a": {"pattern": "^Allow execution of .Shell.$"}}}"#);
    let mut screen = Screen::new(GridSize::new(10, 5));
    screen.feed(b"Allow execution of [Shell]");
    let snapshot = screen.snapshot();
    assert!(rules.first(&LineView::of_screen(&snapshot), |_| true).is_some());
}

#[test]
fn a_rule_can_ask_for_a_cursor_and_a_text_has_none_to_ask_about() {
    let visible = rules(r#"{"states": {"a": {"pattern": "x", "cursor": "visible"}}}"#);
    let hidden = rules(r#"{"states": {"a": {"pattern": "x", "cursor": "hidden"}}}"#);
    let mut screen = Screen::new(GridSize::new(10, 5));
    for (bytes, is_visible) in [("x\x1b[?25l", false), ("\x1b[?25h", true)] {
        screen.feed(bytes.as_bytes());
        let snapshot = screen.snapshot();
        let view = LineView::of_screen(&snapshot);
        assert_eq!(visible.first(&view, |_| true).is_some(), is_visible);
        assert_eq!(hidden.first(&view, |_| true).is_some(), !is_visible);
    }
    assert!(first(&visible, "x").is_some() && first(&hidden, "x").is_some());
}

#[test]
fn a_rule_does_not_count_where_its_not_is_found() {
    let rules = rules(r#"{"states": {"a": {"pattern": "ask", "not": "^> ", "region": "tail:3"}}}"#);
    assert!(first(&rules, "ask").is_some());
    assert!(first(&rules, "ask\n> x").is_none());
    assert!(first(&rules, "> x\nb\nask\nc").is_some(), "above the region");
}

#[test]
fn a_rule_counts_only_below_what_a_person_said_last() {
    let rules = rules(r#"{"states": {"a": {"pattern": "^error", "below": "^> "}}}"#);
    assert!(first(&rules, "> do it\nerror").is_some());
    assert!(first(&rules, "error\n> do it\nok").is_none());
    assert!(first(&rules, "error").is_some(), "nobody said anything");
}

#[test]
fn flags_count_in_every_part_of_a_rule() {
    let one = rules(r#"{"states": {"a": {"pattern": "ASK # a comment", "flags": "ix"}}}"#);
    assert!(first(&one, "please ask").is_some());
    let two = rules(r#"{"states": {"a": {"pattern": "a.b", "not": "C", "flags": "si"}}}"#);
    assert!(first(&two, "a\nb").is_some());
    assert!(first(&two, "a\nb c").is_none());
}

#[test]
fn a_word_boundary_is_that_of_ascii() {
    let rules = rules(r#"{"states": {"a": {"pattern": "\\bask\\b[\\]x]?\\B"}}}"#);
    assert!(first(&rules, "éask]").is_some(), "é is no letter here");
    assert!(first(&rules, "task]").is_none());
}

#[test]
fn a_question_begins_where_its_rule_says_even_above_the_region() {
    let rules = rules(
        r#"{"states": {"interaction": {"pattern": "esc to cancel", "region": "tail:1", "begins": "^---"}}}"#,
    );
    let text = "prose\n--- old\nold\n--- new\nRun rm?\n1. Yes\nesc to cancel";
    let hit = rules.first(&LineView::of_text(text), |_| true).unwrap();
    assert_eq!(hit.excerpt, ["--- new", "Run rm?", "1. Yes", "esc to cancel"]);
}

#[test]
fn what_makes_a_question_is_its_words_without_frames_and_volatile_parts() {
    let rules = rules(r#"{"volatile": ["\\d+s", "[⠁-⣿]"]}"#);
    let wide = ["│ ⠋ Run rm?    12s │".to_owned(), "╰────╯".to_owned()];
    let narrow = ["│ ⠙ Run   │".to_owned(), "│ rm?  7s │".to_owned()];
    assert_eq!(rules.essence(&wide), rules.essence(&narrow));
    assert_debug_snapshot!(rules.essence(&wide), @r#"
    [
        "Run",
        "rm?",
    ]
    "#);
}

#[test]
fn a_title_is_read_by_the_first_rule_that_fits() {
    let rules = rules(
        r#"{"signals": {"title": [{"pattern": "^x", "kind": "working"}, {"pattern": ".", "kind": "rest"}]}}"#,
    );
    let kind = |title: &str| rules.title(title).map(|(kind, _)| kind);
    assert_eq!(
        (kind("x"), kind("y"), kind("")),
        (Some(MatchKind::Working), Some(MatchKind::Rest), None)
    );
}

#[test]
fn a_region_says_itself_as_it_is_written() {
    for text in ["screen", "tail:15", "head:1", "cursor:1000"] {
        assert_eq!(text.parse::<ScreenRegion>().unwrap().to_string(), text);
    }
    for text in ["", "tail:", "tail:-1", "tail:1001", "screen:1", "foot:2", "tail:1.5"] {
        assert!(text.parse::<ScreenRegion>().is_err(), "{text}");
    }
}

/// A command is read from the question that is asked, not from one that was answered before or from
/// what the agent printed.
#[test]
fn a_command_of_an_older_question_is_not_read() {
    let made = |begins: &str| {
        rules(&format!(
            r#"{{"states": {{"ask": {{"pattern": "^Proceed\\? \\(y/n\\)", "kind": "approval", "region": "cursor:1"{begins}}}}},
               "approvals": [{{"tool": "shell", "command": "^Run (?P<command>.*)$"}}]}}"#
        ))
    };
    let command = |rules: &ScreenRules, text: &str| {
        let hit = rules.first(&LineView::of_text(text), |_| true).unwrap();
        hit.action.command
    };
    let (plain, exact) = (made(""), made(r#", "begins": "^Run ""#));
    let older = "Run step 1\nProceed? (y/n) y\ndone\n";
    for (text, of_plain, of_exact) in [
        ("Run step 1\nProceed? (y/n)", Some("step 1"), Some("step 1")),
        ("Run step 1\nProceed? (y/n) y\nRun rm x\nProceed? (y/n)", Some("rm x"), Some("rm x")),
        (&format!("{older}rm x\nProceed? (y/n)"), None, None),
        ("Run step 1\nRun rm x\nProceed? (y/n)", None, None),
    ] {
        assert_eq!(command(&plain, text).as_deref(), of_plain, "{text}");
        assert_eq!(command(&exact, text).as_deref(), of_exact, "{text}");
    }
}

/// A policy approves a command that it is told. One of which a line is missing is another command.
#[test]
fn a_command_is_read_only_where_every_line_of_its_question_is_taken() {
    let made = |command: &str, line: &str| {
        let approval = serde_json::json!({"tool": "shell", "command": command, "line": line});
        let ask = serde_json::json!({
            "pattern": r"^Proceed\? \(y/n\)", "kind": "approval", "region": "cursor:1", "begins": "^Run "});
        let mut config = serde_json::json!({"states": {"ask": ask}, "approvals": [approval]});
        if line.is_empty() {
            config["approvals"][0].as_object_mut().unwrap().remove("line");
        }
        rules(&config.to_string())
    };
    let read = |rules: &ScreenRules, question: &str| {
        let text = format!("hello\n{question}\nProceed? (y/n)");
        rules.first(&LineView::of_text(&text), |_| true).unwrap().action.command
    };
    let plain = made("^Run (?P<command>.*)$", "");
    for (question, command) in [
        ("Run echo hi", Some("echo hi")),
        ("Run echo hi\n", Some("echo hi")),
        ("Run echo hi\ntouch evil", None),
        ("Run echo hi\n\n\n; touch evil", None),
        ("Run touch evil &&\nRun echo hi", None),
        ("Run touch evil\nRun echo hi", None),
        ("Run touch evil\n\nx\nRun echo hi", None),
    ] {
        assert_eq!(read(&plain, question).as_deref(), command, "{question}");
    }
    // A pattern that takes a part of a line takes the line not.
    for command in
        ["Run (?P<command>echo [a-z]+)", "(?P<command>echo hi)$", "^Run (?P<command>echo)"]
    {
        assert_eq!(read(&made(command, ""), "Run echo hi; touch evil"), None, "{command}");
        assert_eq!(read(&made(command, ""), "Run true; echo hi"), None, "{command}");
    }
    // The pattern of the state takes its first and its last line, and none between.
    let spans = rules(
        r#"{"states": {"ask": {"pattern": "^Run [\\s\\S]*Proceed\\? \\(y/n\\)", "kind": "approval",
            "region": "tail:9", "begins": "^Run "}},
            "approvals": [{"tool": "shell", "command": "^Run (?P<command>.*)$"}]}"#,
    );
    assert_eq!(read(&spans, "Run echo hi").as_deref(), Some("echo hi"));
    assert_eq!(read(&spans, "Run echo hi\ntouch evil"), None);
    // With rows that cannot look like the beginning.
    let rows = made("^Run this:\n(?P<command>(?:  .*\n?)+)$", "^  (.*)$");
    for (question, command) in [
        ("Run this:\n  echo hi", Some("echo hi")),
        ("Run this:\n  echo hi\n  touch evil", Some("echo hi\ntouch evil")),
        ("Run this:\n  touch evil\n  Run this:\n  echo hi", Some("touch evil\nRun this:\necho hi")),
        ("Run this:\n  echo hi\ntouch evil", None),
    ] {
        assert_eq!(read(&rows, question).as_deref(), command, "{question}");
    }
}

/// A box is read when it is whole, wherever the cursor is and whatever its edge looks like.
#[test]
fn the_command_of_a_box_is_read_with_its_edges() {
    let rules = rules(
        r#"{"states": {"ask": {"pattern": "\\(a\\) allow", "region": "tail:6", "begins": "^\\+-",
            "kind": "approval"}},
            "approvals": [{"tool": "shell", "line": "^\\|   (.*)$",
            "command": "\\A\\+-+\\+\\n\\| ask .*\\n\\| Run this\\?\\n(?P<command>(?:\\|   .*\\n)+)\\| \\(a\\) allow.*\\n\\+-+\\+\\z"}]}"#,
    );
    let mut screen = Screen::new(GridSize::new(80, 24));
    screen.feed(b"\x1b[2J\x1b[H+------+\r\n| ask 1.2\r\n");
    screen.feed(b"| Run this?\r\n|   touch asked-1-2\r\n| (a) allow  (d) deny\r\n");
    let read = |screen: &mut Screen| {
        let snapshot = screen.snapshot();
        let view = LineView::of_screen(&snapshot);
        rules.first(&view, |_| true).unwrap().action.command
    };
    assert_eq!(read(&mut screen), None);
    screen.feed(b"+------+\r\n");
    assert_eq!(read(&mut screen).as_deref(), Some("touch asked-1-2"));
}
