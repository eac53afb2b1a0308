//! Questions on screens that no rule of an adapter knows.

use coven_model::EvidenceSource;
use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// What is known of a screen that has shown this for a while.
fn shown(config: &str, text: &str) -> ScreenSniffer {
    let mut screen = Screen::new(GridSize::new(80, 24));
    screen.feed(text.replace('\n', "\r\n").as_bytes());
    let mut sniffer = ScreenSniffer::new(compiled(config));
    sniffer.read_screen(&screen.snapshot(), ms(0));
    sniffer.tick(ms(2000));
    sniffer
}

const NOTHING_KNOWN: &str = r#"{"states": {"interaction_idle": {"pattern": "^never$"}}}"#;

/// Spec: AD.2.1
#[test]
fn what_asks_in_any_program_awaits_a_choice() {
    let numbered =
        "Allow execution of: 'touch'?\n\n › 1. Yes, allow once\n   2. Always\n   3. No (esc)";
    let plain = "Pick one:\n  Apples\n❯ Pears\n  Plums\n";
    let arrows = "? Pick one (use arrows)\n> Apples\n  Pears\n\n(enter to select)";
    let radio = "Sign in?\n ◉ Browser\n ○ Key\n";
    for (rule, screen) in [
        ("generic:menu", numbered),
        ("generic:menu", plain),
        ("generic:menu", arrows),
        ("generic:menu", radio),
        ("generic:yes-no", "Overwrite notes.txt? [y/N] "),
        ("generic:yes-no", "Are you sure (yes/no/[fingerprint])? "),
        ("generic:buttons", "┌──────┐\n│ Trust this folder? │\n│ [ Yes ]  [ No ] │\n└──────┘"),
        ("generic:waits", "running\n⠏ Waiting for user confirmation..."),
        ("generic:press-key", "Sign-in is done.\n\nPress Enter to continue…"),
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        let verdict = sniffer.verdict();
        assert_eq!(verdict.kind, Some(AwaitingKind::Choice), "{screen}");
        assert_eq!(verdict.evidence.source, EvidenceSource::Generic, "{screen}");
        assert_eq!(verdict.evidence.rule, rule, "{screen}");
        assert!(verdict.digest.is_some() && !sniffer.excerpt().is_empty(), "{screen}");
        assert_eq!(sniffer.menu().is_some(), rule == "generic:menu", "{screen}");
    }
}

#[test]
fn entries_with_descriptions_are_read_without_them() {
    let provider = "\
┌──────────────────────────────┐
│ Connect a Provider           │
│                              │
│ › Model Studio               │
│   Official recommended setup │
│                              │
│   Third-party Providers      │
│   Choose a built-in provider │
│                              │
│   Custom Provider            │
│   Connect a local server     │
│ ──────────────────────────── │
│ Terms of Services            │
└──────────────────────────────┘";
    let sniffer = shown(NOTHING_KNOWN, provider);
    let menu = sniffer.menu().unwrap();
    let labels: Vec<&str> = menu.entries.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(labels, ["Model Studio", "Third-party Providers", "Custom Provider"]);
    assert_eq!(menu.selected, 0);
}

#[test]
fn what_only_looks_like_a_question_awaits_nothing() {
    let above = format!("❯ 1. Yes\n  2. No\n{}", "a line of output\n".repeat(12));
    for screen in [
        "The plan:\n 1. Read the file\n 2. Change it\n 3. Test it\n",
        "> a message of\n  two lines\n",
        "Overwrite notes.txt? [y/N] y\nwritten\n",
        "it prints [y/n] in the middle\nand goes on",
        "array[0] = x(1) + y(2)",
        &above,
        "",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        assert_ne!(sniffer.verdict().state, AgentState::Awaiting, "{screen}");
    }
}

#[test]
fn a_rule_of_the_adapter_comes_first() {
    let config = r#"{"states": {
        "interaction_approval": {"pattern": "Allow execution", "region": "tail:6"},
        "execution_running": {"pattern": "^Thinking", "region": "tail:6"}}}"#;
    let menu = "❯ 1. Yes\n  2. No";
    let approval = shown(config, &format!("Allow execution?\n{menu}"));
    assert_eq!(approval.verdict().evidence.rule, "interaction_approval");
    assert_eq!(approval.asked_action().entries.len(), 2);
    let working = shown(config, &format!("{menu}\nThinking"));
    assert_eq!(working.verdict().state, AgentState::Working);
}

#[test]
fn a_frame_that_is_only_passing_through_is_not_asked() {
    let mut sniffer = ScreenSniffer::new(compiled(NOTHING_KNOWN));
    sniffer.look_at_text("❯ 1. Yes\n  2. No", ms(0));
    sniffer.tick(ms(900));
    assert_eq!(sniffer.verdict().state, AgentState::Starting);
    sniffer.look_at_text("ready", ms(950));
    sniffer.tick(ms(1900));
    assert_ne!(sniffer.verdict().state, AgentState::Awaiting);
}

#[test]
fn a_program_that_calls_itself_idle_behind_a_menu_awaits_a_choice() {
    let config = r#"{"signals": {"title": [{"pattern": "^Ready", "kind": "idle"}]},
        "states": {"interaction_idle": {"pattern": "^> Type"}}}"#;
    let title = "\x1b]0;Ready\x07";
    let asked = |screen: &str| {
        let mut emulator = Screen::new(GridSize::new(80, 24));
        emulator.feed(format!("{title}{screen}").replace('\n', "\r\n").as_bytes());
        let mut sniffer = ScreenSniffer::new(compiled(config));
        for signal in emulator.take_signals() {
            sniffer.signal(&signal, ms(0));
        }
        sniffer.read_screen(&emulator.snapshot(), ms(0));
        sniffer.tick(ms(3000));
        sniffer.verdict().clone()
    };
    let verdict = asked("A new version is out.\n❯ 1. Update\n  2. Skip");
    assert_eq!(verdict.state, AgentState::Awaiting);
    assert_eq!(verdict.evidence.conflicts.len(), 1, "{verdict:#?}");
    assert_eq!(asked("❯ 1. Update\n  2. Skip\n> Type a message").state, AgentState::Idle);
}
