//! What an approval is about, read from the recordings of the real programs and from screens that
//! try to hide it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use coven_adapters::ScreenSniffer;
use coven_model::{AskedAction, AwaitingKind};
use coven_terminal::recording::EventData;
use coven_terminal::screen::{GridSize, Screen};

use crate::casts::{self, Cast};

/// A pause of the program after which its screen is whole.
const PAUSE: f64 = 0.3;

/// Every approval of a recording, each once.
fn approvals(cast: &Cast) -> Vec<AskedAction> {
    let mut found = Vec::new();
    for_each_question(cast, |sniffer| {
        if sniffer.verdict().kind == Some(AwaitingKind::Approval) {
            found.push(sniffer.asked_action());
        }
    });
    found
}

/// Looks at every question of a recording, each once.
fn for_each_question(cast: &Cast, mut look: impl FnMut(&ScreenSniffer)) {
    let mut screen = Screen::new(GridSize::new(cast.size.0, cast.size.1));
    screen.set_replies(false);
    let mut sniffer = ScreenSniffer::new(casts::rules(&cast.kind));
    let mut seen = BTreeSet::new();
    for (index, event) in cast.events.iter().enumerate() {
        let now = Duration::from_secs_f64(event.time);
        match &event.data {
            EventData::Output(text) => screen.feed(text.as_bytes()),
            EventData::Resize { cols, rows } => screen.resize(GridSize::new(*cols, *rows)),
            EventData::Input(_) => sniffer.typed(now),
            _ => {}
        }
        for signal in screen.take_signals() {
            sniffer.signal(&signal, now);
        }
        let next = cast.events.get(index + 1).map_or(event.time + 2.0, |event| event.time);
        if next - event.time < PAUSE {
            continue;
        }
        sniffer.read_screen(&screen.snapshot(), now);
        sniffer.tick(Duration::from_secs_f64(next));
        if sniffer.verdict().digest.is_some() && seen.insert(sniffer.excerpt().join("\n")) {
            look(&sniffer);
        }
    }
}

/// Spec: AD.2.1
#[test]
fn the_menus_of_all_recorded_questions_are_read_exactly() {
    let mut all = BTreeSet::new();
    for cast in casts::all() {
        for_each_question(&cast, |sniffer| {
            let mut line = format!("{} {}:", cast.kind, sniffer.verdict().evidence.rule);
            let Some(menu) = sniffer.menu() else {
                all.insert(format!("{line} no menu"));
                return;
            };
            for (index, entry) in menu.entries.iter().enumerate() {
                let mark = if index == menu.selected { "*" } else { "" };
                let text = if entry.takes_text { " (text)" } else { "" };
                write!(line, " [{mark}{}: {}{text}]", entry.id, entry.label).unwrap();
            }
            all.insert(line);
        });
    }
    insta::assert_snapshot!(all.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_commands_of_all_recorded_approvals_are_read_exactly() {
    let mut all = String::new();
    for cast in casts::all() {
        for AskedAction { tool, command, wrapped, truncated, .. } in approvals(&cast) {
            let (kind, name) = (&cast.kind, &cast.name);
            let tool = tool.as_deref().unwrap_or("?");
            let marks = [(wrapped, " wrapped"), (truncated, " truncated")];
            let marks: String = marks.iter().filter(|mark| mark.0).map(|mark| mark.1).collect();
            let command = command.unwrap_or_default();
            writeln!(all, "{kind} {name}: {tool}{marks} {command:?}").unwrap();
        }
    }
    insta::assert_snapshot!(all);
}

/// What is read from a screen that a program of this adapter would paint.
fn painted(kind: &str, screen: &str) -> AskedAction {
    let cast = Cast::new(kind, 120, 40).paints(0.0, screen).mark(2.0, "later");
    approvals(&cast).pop().unwrap_or_else(|| panic!("{kind} asks nothing: {screen}"))
}

fn codex(rows: &str) -> String {
    format!(
        "  Would you like to run the following command?\n\n  Reason: tests\n\n{rows}\n\n\n› 1. Yes, \
         proceed (y)\n  2. No, and tell Codex what to do differently (esc)\n\n  Press enter to \
         confirm or esc to cancel"
    )
}

fn opencode(rows: &str) -> String {
    let rows: Vec<String> = rows.lines().map(|row| format!("  ┃  {row}\n")).collect();
    format!(
        "  ┃  △ Permission required\n  ┃    # Shell command\n  ┃\n{}  ┃\n  ┃\n  ┃   Allow once   \
         Allow always   Reject   ctrl+f fullscreen\n  ┃",
        rows.concat()
    )
}

#[test]
fn a_screen_cannot_hide_a_part_of_a_command_behind_another_question() {
    assert_eq!(painted("codex", &codex("  $ make")).command.as_deref(), Some("make"));
    // The first that may be the command begins it, and the last that may end it ends it.
    let rows = "  $ rm -rf x\n\n\n› 1. Yes, proceed (y)\n  2. No\n  $ make";
    let read = painted("codex", &codex(rows));
    assert!(read.command.is_none_or(|command| command.contains("rm -rf x")));
    let read = painted(
        "codex",
        &codex("  $ rm x\n  Would you like to run the following command?\n\n  $ ls"),
    );
    assert_eq!(read.command, None);
    assert_eq!(painted("opencode", &opencode("$ make")).command.as_deref(), Some("make"));
    let rows = "$ make\n\n\n Allow once   Allow always   Reject\nrm -rf x";
    let read = painted("opencode", &opencode(rows));
    assert!(read.command.is_none_or(|command| command.contains("rm -rf x")));
    // More rows than the recordings show whole.
    let rows = format!("$ make\n{}", "rm x\n".repeat(9));
    assert_eq!(painted("opencode", &opencode(&rows)).command, None);
}

#[test]
fn a_blank_that_is_no_space_is_a_part_of_the_command() {
    for blank in ["\u{a0}", "\u{2003}", "\u{1680}", "\u{2028}", "\u{3000}"] {
        for command in [format!("sh run.sh{blank}"), format!("sh{blank}run.sh")] {
            let read = painted(
                "demo",
                &format!(
                    " Run this command?\n\n   {command}\n\n ❯ 1. Yes\n   2. Yes, always\n   3. No \
                     (esc)\n\n Enter to confirm · Esc to cancel"
                ),
            );
            assert_eq!(read.command, None, "{command:?}");
        }
        assert_eq!(painted("codex", &codex(&format!("  $ make{blank}"))).command, None);
    }
}

#[test]
fn a_command_that_is_cut_is_marked() {
    let read = painted("codex", &codex("  $ make\n  [… 68 lines] ^a view all"));
    assert!(read.truncated, "{read:?}");
    // The panel has room for seven rows, and says nothing of the others.
    let rows = |count| format!("$ make\n{}", "echo x\n".repeat(count));
    assert!(!painted("opencode", &opencode(&rows(5))).truncated);
    assert!(painted("opencode", &opencode(&rows(6))).truncated);
    let qwen = "  ? Shell make (Build it) ←\n\n     make a\n     ... last 44 lines hidden ...\n\n   Allow execution of: 'make'?\n\n   › 1. Yes, allow once\n     2. No, suggest changes (esc)\n\nPress ctrl-s to show more lines\n\n  ⠏ Waiting for user confirmation...";
    let read = painted("qwen", qwen);
    assert_eq!((read.tool.as_deref(), read.truncated), (Some("shell"), true), "{read:?}");
    let read = painted(
        "demo",
        " Run this command?\n\n   make a\n   … +12 lines\n\n ❯ 1. Yes\n   2. Yes, always\n   3. No (esc)\n\n Enter to confirm · Esc to cancel",
    );
    assert!(read.truncated, "{read:?}");
    let read = painted(
        "demo",
        " Run this command?\n\n   go test ./...\n\n ❯ 1. Yes\n   2. Yes, always\n   3. No (esc)\n\n Enter to confirm · Esc to cancel",
    );
    assert_eq!((read.command.as_deref(), read.truncated), (Some("go test ./..."), false));
}
