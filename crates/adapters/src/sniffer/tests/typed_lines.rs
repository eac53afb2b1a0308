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
