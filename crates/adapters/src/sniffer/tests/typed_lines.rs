//! Questions that are answered with a line.

use coven_model::EvidenceSource;
use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// What is known of a screen that has shown this for a while, on a terminal that does this with what
/// is typed.
fn shown(config: &str, typed: TypedText, text: &str) -> ScreenSniffer {
    let mut screen = Screen::new(GridSize::new(80, 24));
    screen.feed(text.replace('\n', "\r\n").as_bytes());
    let mut sniffer = ScreenSniffer::new(compiled(config));
    sniffer.set_typed_text(typed);
    sniffer.read_screen(&screen.snapshot(), ms(0));
    sniffer.tick(ms(2000));
    sniffer
}

const NUMBERED: &str = "Which version?\n> 1. patch\n  2. minor\n  3. major\nEnter a number: ";

/// The idle rule of the built-in adapter for a shell.
const SHELL: &str = r#"{"states": {"interaction_idle":
    {"pattern": "(?:^|[^0-9])% ?$|[$#>❯»] ?$", "kind": "idle", "region": "cursor:1"}}}"#;

#[test]
fn a_list_above_a_prompt_for_a_line_has_no_entries_that_keys_could_select() {
    for screen in [
        NUMBERED,
        "What to deploy?\n  1) dev\n  2) staging\n> 3) prod\nChoice [1-3]: ",
        "Pick one:\n  Apples\n\u{276f} Pears\n\nYour choice: ",
    ] {
        let line = shown(SHELL, TypedText::Line, screen);
        assert_eq!(line.verdict().evidence.rule, "generic:menu", "{screen}");
        assert!(line.verdict().digest.is_some(), "{screen}");
        assert!(line.menu().is_none() && line.asked_action().entries.is_empty(), "{screen}");
        let keys = shown(SHELL, TypedText::Shown, screen);
        assert!(keys.asked_action().entries.len() > 1, "{screen}");
    }
}

#[test]
fn a_list_is_not_asked_any_more_once_its_line_was_given() {
    for after in ["2\n", "2\ndone\n", "2\nName of the release: "] {
        let sniffer = shown(SHELL, TypedText::Line, &format!("{NUMBERED}{after}"));
        assert_ne!(sniffer.verdict().state, AgentState::Awaiting, "{after}");
    }
}

#[test]
fn a_question_of_the_adapter_has_no_entries_where_a_line_is_collected() {
    let config = r#"{"states": {"asks": {"pattern": "^Enter a number", "kind": "choice", "region": "tail:1"}}}"#;
    assert_eq!(shown(config, TypedText::Shown, NUMBERED).asked_action().entries.len(), 3);
    let line = shown(config, TypedText::Line, NUMBERED);
    assert_eq!(line.verdict().evidence.rule, "asks");
    assert!(line.asked_action().entries.is_empty());
}

#[test]
fn a_question_for_yes_or_no_at_a_prompt_counts_before_the_prompt() {
    for screen in [
        "Overwrite? [y/N] > ",
        "Overwrite the production database? (y/n)\n> ",
        "Overwrite the production database? (yes/no)\n\u{276f} ",
        "$ ./deploy\nOverwrite? [Y/n]> ",
    ] {
        for typed in [TypedText::Line, TypedText::Shown] {
            let sniffer = shown(SHELL, typed, screen);
            let verdict = sniffer.verdict();
            assert_eq!(verdict.evidence.rule, "generic:yes-no", "{screen}");
            assert_eq!(verdict.evidence.source, EvidenceSource::Generic, "{screen}");
            assert_eq!(verdict.evidence.conflicts.len(), 1, "{verdict:#?}");
        }
    }
    for screen in [
        "$ ",
        "$ grep Overwrite deploy\necho \"Overwrite? (y/n)\"\n$ ",
        "Overwrite? (y/n)\nuser@host:~> ",
        "Overwrite? (y/n)\n\n> ",
        "Overwrite? (y/n)\n> no",
        "Overwrite? [y/N] > n\n> ",
    ] {
        let sniffer = shown(SHELL, TypedText::Shown, screen);
        assert_ne!(sniffer.verdict().state, AgentState::Awaiting, "{screen}");
    }
}

/// A program may set its terminal up only after it has painted its menu.
#[test]
fn a_question_gets_its_entries_once_they_can_be_read_and_stays_the_same() {
    let config = r#"{"states": {"asks": {"pattern": "^Which version", "kind": "choice"}}}"#;
    let mut screen = Screen::new(GridSize::new(80, 24));
    screen.feed(NUMBERED.replace('\n', "\r\n").as_bytes());
    let mut sniffer = ScreenSniffer::new(compiled(config));
    sniffer.set_typed_text(TypedText::Line);
    sniffer.read_screen(&screen.snapshot(), ms(0));
    sniffer.tick(ms(2000));
    let digest = sniffer.verdict().digest.clone();
    assert!(digest.is_some() && sniffer.asked_action().entries.is_empty());
    for (typed, entries, at) in
        [(TypedText::Shown, 3, 3000), (TypedText::Line, 0, 4000), (TypedText::Shown, 3, 5000)]
    {
        sniffer.set_typed_text(typed);
        sniffer.read_screen(&screen.snapshot(), ms(at));
        assert_eq!(sniffer.asked_action().entries.len(), entries);
        assert_eq!(sniffer.verdict().digest, digest);
    }
}

/// An answer names an entry by its number: under the same words another entry may have it.
#[test]
fn other_entries_or_another_command_under_the_same_words_are_another_question() {
    let config = r#"{
        "states": {
            "asks": {"pattern": "^Which version", "kind": "choice"},
            "approval": {"pattern": "^Run it", "kind": "approval", "region": "cursor:1"}
        },
        "approvals": [{"tool": "shell", "command": "\\$ (?P<command>.*)\nRun it"}]
    }"#;
    let mut sniffer = ScreenSniffer::new(compiled(config));
    let mut now = 0;
    let mut digest = |shown: &str| {
        let mut screen = Screen::new(GridSize::new(80, 24));
        screen.feed(shown.replace('\n', "\r\n").as_bytes());
        now += 1000;
        sniffer.read_screen(&screen.snapshot(), ms(now));
        (sniffer.verdict().digest.clone().unwrap(), sniffer.asked_action())
    };
    let menu = |labels: [&str; 2]| format!("Which version?\n> {}\n  {}\n", labels[0], labels[1]);
    let (first, _) = digest(&menu(["1. patch", "2. minor"]));
    assert_eq!(digest(&menu(["1. patch", "2. minor (latest)"])).0, first);
    let (second, asked) = digest(&menu(["1. patch", "2. delete everything"]));
    assert_ne!(second, first);
    assert_eq!(asked.entries[1].label, "delete everything");
    assert_eq!(digest("Which version?\n").0, second, "it is painted anew");
    assert_ne!(digest(&menu(["1. patch", "2. minor"])).0, second);
    let (first, asked) = digest("$ ls\nRun it? ");
    assert_eq!(asked.command.as_deref(), Some("ls"));
    assert_eq!(digest("Run it? ").0, first);
    assert_ne!(digest("$ rm -rf /\nRun it? ").0, first);
}
