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
        let has_entries = matches!(rule, "generic:menu" | "generic:press-key");
        assert_eq!(sniffer.menu().is_some(), has_entries, "{screen}");
    }
}

/// The next question of a program may be one that is no menu, and Enter would answer it.
///
/// Spec: C0.14.2
#[test]
fn a_menu_that_was_answered_is_not_asked_again_above_a_single_entry() {
    let menu = "Deploy where?\n  staging\n  production\n❯ nowhere\n";
    for next in
        ["-> nowhere\nReally wipe the disk?\n❯ Yes, wipe it\n", "-> nowhere\nChoose again\n❯ one\n"]
    {
        let mut screen = Screen::new(GridSize::new(80, 24));
        screen.feed(menu.replace('\n', "\r\n").as_bytes());
        let mut sniffer = ScreenSniffer::new(compiled(NOTHING_KNOWN));
        sniffer.read_screen(&screen.snapshot(), ms(0));
        sniffer.tick(ms(2000));
        let asked = sniffer.verdict().digest.clone();
        assert!(asked.is_some() && sniffer.menu().is_some(), "{next}");
        sniffer.typed(ms(3000));
        screen.feed(next.replace('\n', "\r\n").as_bytes());
        sniffer.read_screen(&screen.snapshot(), ms(3100));
        for seconds in 4..60_u64 {
            sniffer.read_screen(&screen.snapshot(), ms(seconds * 1000));
            sniffer.tick(ms(seconds * 1000));
            if sniffer.verdict().state != AgentState::Awaiting || seconds < 10 {
                continue;
            }
            let labels: Vec<_> = sniffer.menu().map_or(Vec::new(), |menu| {
                menu.entries.iter().map(|entry| entry.label.clone()).collect()
            });
            assert!(!labels.contains(&"staging".to_owned()), "{next} after {seconds} s");
            assert_ne!(sniffer.asked_title(), Some("Deploy where?"), "{next} after {seconds} s");
        }
    }
}

#[test]
fn a_mark_that_a_list_goes_on_is_no_entry() {
    for screen in [
        "Pick one:\n  ↑ more\n  Apples\n❯ Pears\n  Plums\n  ↓ more\n",
        "Pick one:\n  ▲ 3 above\n  Apples\n❯ Pears\n  Plums\n  ▼ 12 below\n",
        "Pick one:\n  Apples\n❯ Pears\n  Plums\n  ↓ 4 more below\n",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        let menu = sniffer.menu().unwrap();
        let labels: Vec<_> = menu.entries.iter().map(|one| one.label.as_str()).collect();
        assert_eq!((labels, menu.selected), (vec!["Apples", "Pears", "Plums"], 1), "{screen}");
    }
    // An entry may begin with an arrow: it is one where the mark of the menu can stand at it.
    let sniffer = shown(NOTHING_KNOWN, "Move it:\n❯ Stay\n  ↑ Up\n  ↓ Down\n");
    assert_eq!(sniffer.menu().map(|menu| menu.entries.len()), Some(3));
}

#[test]
fn enter_is_offered_where_it_only_goes_on() {
    for screen in [
        "Press Enter to continue…",
        "Press [Enter] to continue",
        "hit return when you are done",
        "Press any key to close this window",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        let labels: Vec<_> = sniffer.menu().unwrap().entries.iter().map(|one| &one.label).collect();
        assert_eq!(labels, ["Press Enter"], "{screen}");
    }
    for screen in [
        "Type a name for it and press Enter",
        "Press Enter to select, Esc to go back",
        "Press Enter to confirm or Esc to cancel",
        "Press space to mark",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        assert_eq!(sniffer.verdict().evidence.rule, "generic:press-key", "{screen}");
        assert_eq!(sniffer.menu(), None, "{screen}");
    }
}

#[test]
fn a_line_that_is_not_shown_is_asked_for_in_any_program() {
    let hidden = |screen: &str| {
        let mut screen_of_it = Screen::new(GridSize::new(80, 24));
        screen_of_it.feed(screen.replace('\n', "\r\n").as_bytes());
        let mut sniffer = ScreenSniffer::new(compiled(NOTHING_KNOWN));
        sniffer.set_typed_text(TypedText::Hidden);
        sniffer.read_screen(&screen_of_it.snapshot(), ms(0));
        sniffer.tick(ms(2000));
        sniffer
    };
    for screen in [
        "[sudo] password for ada: ",
        "Enter passphrase for key '/home/ada/.ssh/id': ",
        "Password\n",
        "API key? ",
    ] {
        assert_eq!(hidden(screen).verdict().evidence.rule, "generic:hidden-line", "{screen}");
    }
    // A program that gives its terminal to another one hides nothing by itself.
    for (screen, is_secret) in [
        ("[sudo] password for ada: ", true),
        ("Enter passphrase for key '/home/ada/.ssh/id': ", true),
        ("ada@host's password:", true),
        ("Verification code: ", true),
        ("Password\n", false),
        ("Pin this version? ", false),
        ("Total tokens: ", false),
        ("password: taken from the keyring", false),
        ("Password: changed\ndone", false),
    ] {
        let verdict = shown(NOTHING_KNOWN, screen).verdict().clone();
        assert_eq!(verdict.evidence.rule == "generic:hidden-line", is_secret, "{screen}");
    }
    for screen in ["", "building 12 of 40", "done\n\n"] {
        assert_ne!(hidden(screen).verdict().state, AgentState::Awaiting, "{screen}");
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

/// What a person has typed into a prompt, and the lines above and below it.
#[test]
fn a_draft_in_a_prompt_is_no_menu() {
    let rule = "─".repeat(60);
    let screen = format!(
        "✻ Demo agent 0.1.0\n  demo-1 · permissions: ask\n  /home/ada\n\n{rule}\n> say it\n  /help · /exit"
    );
    assert_ne!(shown(NOTHING_KNOWN, &screen).verdict().state, AgentState::Awaiting);
    let screen = "  permissions: ask\n  /home/ada\n\n> say it\n  /help · /exit";
    assert_ne!(shown(NOTHING_KNOWN, screen).verdict().state, AgentState::Awaiting);
}

/// The entries of a menu and which of them is selected.
fn menu(sniffer: &ScreenSniffer) -> Option<(Vec<&str>, usize)> {
    let menu = sniffer.menu()?;
    Some((menu.entries.iter().map(|entry| entry.label.as_str()).collect(), menu.selected))
}

/// A menu of three entries, one of them between two codes.
fn lit(before: &str, selected: usize, on: &str, behind: &str) -> String {
    let row = |(index, entry): (usize, &str)| {
        if index == selected {
            format!("{on}  {entry}{behind}\x1b[0m\n")
        } else {
            format!("  {entry}\n")
        }
    };
    let rows: String = ["Red", "Green", "Blue"].into_iter().enumerate().map(row).collect();
    format!("{before}{rows}")
}

/// Spec: AD.2.1
#[test]
fn a_menu_whose_selected_entry_is_only_lit_is_read_wherever_the_light_is() {
    let bar = " ".repeat(73);
    for (before, on, behind) in [
        ("Which colour?\n\n", "\x1b[7m", ""),
        ("Which colour?\n\n", "\x1b[7m", &*bar),
        ("Which colour?\n", "\x1b[44;97m", "    "),
        ("Select one\n", "\x1b[48;5;24m", ""),
        ("Colours (↑/↓, Enter)\n\n", "\x1b[48;2;1;2;3m", ""),
        ("\x1b[?25lColours\n", "\x1b[7m", ""),
        ("  Which colour?\n", "\x1b[7m", ""),
        ("The colour:\n", "\x1b[7m", ""),
    ] {
        for selected in 0..3 {
            let screen = lit(before, selected, on, behind);
            let sniffer = shown(NOTHING_KNOWN, &screen);
            assert_eq!(sniffer.verdict().evidence.rule, "generic:menu", "{screen}");
            let entries = vec!["Red", "Green", "Blue"];
            assert_eq!(menu(&sniffer), Some((entries, selected)), "{screen}");
        }
    }
    // In a box with a background of its own, as dialog and whiptail paint it.
    let boxed = "\x1b[47;30m┌──────────┐\n│ Colour?  │\n│  1 Red   │\n│\x1b[41m  2 Green \x1b[47m│\n\
                 │  3 Blue  │\n└──────────┘\x1b[0m";
    let sniffer = shown(NOTHING_KNOWN, boxed);
    assert_eq!(menu(&sniffer), Some((vec!["1 Red", "2 Green", "3 Blue"], 1)));
    // Two entries, and the keys in the line below.
    let two = "Go on?\n\n  \x1b[7mYes\x1b[0m\n  No\n  enter to select";
    assert_eq!(menu(&shown(NOTHING_KNOWN, two)), Some((vec!["Yes", "No"], 0)));
}

/// As curses programs paint their menus: the cursor stays behind, and nothing names the keys.
///
/// Spec: AD.2.1
#[test]
fn a_menu_whose_selected_entry_is_lit_and_has_a_mark_is_read() {
    for mark in [">", "*", "=>"] {
        for (on, is_whole) in [("\x1b[7m", true), ("\x1b[7m", false), ("\x1b[44m", true)] {
            for selected in 0..3 {
                let blank = " ".repeat(mark.len());
                let row = |(index, entry): (usize, &str)| match (index == selected, is_whole) {
                    (true, true) => format!("{on}{mark} {entry}\x1b[0m\n"),
                    (true, false) => format!("{mark} {on}{entry}\x1b[0m\n"),
                    _ => format!("{blank} {entry}\n"),
                };
                let entries = ["Red", "Green", "Blue"];
                let rows: String = entries.into_iter().enumerate().map(row).collect();
                let screen = format!("Colours\n\n{rows}\nversion 2\n");
                let sniffer = shown(NOTHING_KNOWN, &screen);
                assert_eq!(menu(&sniffer), Some((entries.to_vec(), selected)), "{screen}");
                assert_eq!(sniffer.asked_title(), Some("Colours"));
            }
        }
    }
    // A mark that all have says nothing, and one that is not lit is an item of a list.
    for screen in ["List\n* one\n* two\n* three\n", "On branch\n  main\n* work\n  test\n"] {
        assert_eq!(menu(&shown(NOTHING_KNOWN, screen)), None, "{screen}");
    }
}

/// What people read in a list is what the program asks.
///
/// Spec: AD.2.1
#[test]
fn the_title_of_a_question_is_its_own_line() {
    for (screen, title) in [
        ("Which colour?\n\n❯ Red\n  Green\n  Blue\n", "Which colour?"),
        ("Which colour?\n  ↑/↓ to move, enter to select\n❯ Red\n  Green\n", "Which colour?"),
        ("Which colour? (use arrow keys)\n❯ Red\n  Green\n", "Which colour? (use arrow keys)"),
        ("? Which colour?\n  some words about it\n❯ Red\n  Green\n", "Which colour?"),
        (
            "Which colour?\n❯ 1. Red\n  2. Green\n\n enter to confirm, esc to cancel",
            "Which colour?",
        ),
        (
            "┌────────────────────┐\n│ Delete the volume? │\n│                    │\n\
          │  [\x1b[7m Yes \x1b[0m]   [ No ]  │\n└────────────────────┘",
            "Delete the volume?",
        ),
        ("Delete it? [\x1b[7m Yes \x1b[0m] [ No ]", "Delete it?"),
        ("12:00:01\nGo on? (y/n) ", "Go on? (y/n)"),
        ("12:00:01\n❯ Go on? (y/n) ", "Go on? (y/n)"),
        ("Delete everything?\n12:00:01\n\nReally go on? (y/n) ", "Really go on? (y/n)"),
        ("Delete everything?\n[y/N] ", "Delete everything? [y/N]"),
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        assert_eq!(sniffer.asked_title(), Some(title), "{screen} {:?}", sniffer.verdict());
    }
}

#[test]
fn an_answer_is_bound_to_the_entry_that_is_lit() {
    let digest = |selected: usize| {
        let screen = lit("Which colour?\n\n", selected, "\x1b[7m", "");
        shown(NOTHING_KNOWN, &screen).verdict().digest.clone().unwrap()
    };
    assert_eq!(digest(0), digest(0));
    assert_ne!(digest(0), digest(1), "Enter means something else there");
}

/// Spec: AD.2.1
#[test]
fn entries_side_by_side_are_read_where_one_shows_that_it_is_selected() {
    let lit = "\x1b[7m";
    for (screen, labels, selected) in [
        (format!("Trust this folder?\n\n  {lit}[ Yes ]\x1b[0m  [ No ]\n"), vec!["Yes", "No"], 0),
        (format!("Trust this folder?\n\n  [ Yes ]  [ {lit}No\x1b[0m ]\n"), vec!["Yes", "No"], 1),
        ("Trust it?\n  [ Yes ]  > [ No ]  [ Cancel ]\n".to_owned(), vec!["Yes", "No", "Cancel"], 1),
        // With the cursor at the selected one, and in the colours of a dialog.
        ("Trust it?\n  < Yes >  < No >\x1b[2;5H".to_owned(), vec!["Yes", "No"], 0),
        (
            "\x1b[?25l\x1b[47;30m Trust it?          \n  <Yes>    \x1b[44m<No>\x1b[47m  \x1b[0m"
                .to_owned(),
            vec!["Yes", "No"],
            1,
        ),
        (format!("Go on?\n\n   Yes   {lit} No \x1b[0m   Always\n"), vec!["Yes", "No", "Always"], 1),
    ] {
        let sniffer = shown(NOTHING_KNOWN, &screen);
        assert_eq!(sniffer.verdict().state, AgentState::Awaiting, "{screen}");
        let rule = &sniffer.verdict().evidence.rule;
        assert_eq!(menu(&sniffer), Some((labels, selected)), "{rule} {screen}");
        assert_eq!(sniffer.menu().unwrap().layout, crate::MenuLayout::Columns, "{screen}");
    }
    // Which of them Enter would take is not to be seen, or they are something else.
    for screen in [
        "Trust this folder?\n  [ Yes ]  [ No ]\n",
        "NAME   STATUS   AGE\n\x1b[7mNAME\x1b[0m   ready   3d\n",
        "Which files?\n\x1b[1mREADME\x1b[0m  LICENSE\n",
    ] {
        assert_eq!(menu(&shown(NOTHING_KNOWN, screen)), None, "{screen}");
    }
}

#[test]
fn an_answer_to_buttons_is_bound_to_all_that_stands_above_them() {
    let digest = |what: &str| {
        let screen = format!("Delete {what}?\nThis cannot be undone.\n  [ Yes ]  > [ No ]\n");
        shown(NOTHING_KNOWN, &screen).verdict().digest.clone().unwrap()
    };
    assert_ne!(digest("notes.txt"), digest("everything"));
}

/// Spec: AD.2.1
#[test]
fn a_menu_that_was_printed_above_the_cursor_is_read_by_its_light() {
    for selected in 0..3 {
        let screen = lit("Colours\n\n", selected, "\x1b[7m", "");
        let entries = vec!["Red", "Green", "Blue"];
        assert_eq!(menu(&shown(NOTHING_KNOWN, &screen)), Some((entries, selected)), "{screen}");
    }
    let screen = lit("Colours\n\n", 1, "\x1b[7m", "");
    assert_eq!(menu(&shown(NOTHING_KNOWN, &format!("{screen}$ "))), None, "it is over");
}

/// Spec: AD.2.1
#[test]
fn of_marks_that_disagree_the_one_at_the_cursor_counts() {
    for (screen, selected) in [
        ("Pick:\n (•) Red\n ( ) Green\n ( ) Blue\n", 0),
        ("Pick:\n ( ) Red\n ( ) Green\n (*) Blue\n", 2),
        ("Pick one\n [x] Red\n [ ] Green\n [ ] Blue\n", 0),
        ("Pick:\n ◯ Red\n ◉ Green\n ◯ Blue\n", 1),
        ("Pick:\n ○ Red\n ● Green\n ○ Blue\n", 1),
        ("Pick:\n❯ ◉ Red\n  ○ Green\n  ○ Blue\n", 0),
        ("Pick:\n  ◉ Red\n❯ ○ Green\n  ○ Blue\n", 1),
        ("Pick:\n  (•) Red\n  ( ) Green\n> ( ) Blue\n", 2),
        ("Pick:\n❯ [ ] Red\n  [x] Green\n  [x] Blue\n", 0),
        ("Pick:\n  ◉ Red\n\x1b[7m  ○ Green\x1b[0m\n  ○ Blue\n", 1),
        ("Pick:\n  (•) 1. Red\n  ( ) 2. Green\n\x1b[7m  ( ) 3. Blue\x1b[0m\n", 2),
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        assert_eq!(sniffer.verdict().evidence.rule, "generic:menu", "{screen}");
        assert_eq!(menu(&sniffer), Some((vec!["Red", "Green", "Blue"], selected)), "{screen}");
        // Where another key chooses, Enter takes what is chosen and not what the cursor is on.
        let is_apart = matches!(selected, 1 | 2) && (screen.contains(['❯', '>', '\x1b']))
            || screen.contains("❯ [ ]");
        assert_eq!(sniffer.menu().unwrap().may_take_other(), is_apart, "{screen}");
    }
}

/// Where another key chooses, Enter would take nothing at all.
#[test]
fn a_list_in_which_nothing_is_chosen_yet_is_not_answered_by_enter() {
    for screen in [
        "Pick:\n\x1b[7m[ ] Red\x1b[0m\n[ ] Green\n[ ] Blue\n",
        "Pick:\n\x1b[7m( ) Red\x1b[0m\n( ) Green\n( ) Blue\n",
        "Pick:\n[ ] Red\n[ ] Green\n\x1b[7m[ ] Blue\x1b[0m\n",
        "? Pick\n❯ ☐ Red\n  ☐ Green\n  ☐ Blue\n",
        "? Pick\n❯ ◻ Red\n  ◼ Green\n  ◻ Blue\n",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        let read = menu(&sniffer);
        assert_eq!(read.map(|read| read.0), Some(vec!["Red", "Green", "Blue"]), "{screen}");
        assert!(sniffer.menu().unwrap().may_take_other(), "{screen}");
    }
}

#[test]
fn what_is_lit_or_ticked_and_no_menu_awaits_nothing() {
    let bar = |text: &str| format!("\x1b[7m{text:<80}\x1b[0m");
    let page = "a line of text\n".repeat(23);
    let top = format!(
        "top - 10:00:01 up 1 day\nTasks: 90 total\n\n{}\n    {:<8}root      20   0  0.0 init\n    \
         {:<8}root      20   0  0.0 kthreadd\n",
        bar("    PID     USER      PR  NI  %CPU COMMAND"),
        1,
        2
    );
    let nano = format!(
        "{}\nfirst line\nsecond line\n{}\x1b[7m^G\x1b[0m Help  \x1b[7m^X\x1b[0m Exit\x1b[2;1H",
        bar("  GNU nano 7.2          notes.txt"),
        "\n".repeat(18)
    );
    for screen in [
        // The status lines of less, man, vim and tmux, and what more shows.
        &*format!("{page}\x1b[7mnotes.txt (END)\x1b[0m"),
        &*format!("{page}\x1b[7mManual page ls(1) line 1 (press h for help or q to quit)\x1b[0m"),
        &*format!("{}{}\n:\x1b[3;4H", "a line of text\n".repeat(22), bar("notes.txt  1,1  All")),
        &*format!("{page}{}\x1b[3;4H", bar("[0] 0:bash*  host 10:00")),
        // Heads of tables.
        &*top,
        &*nano,
        &*format!("{}\nweb       up 3 days\ndb        up 1 day\n", bar("NAME      STATUS")),
        "\x1b[7mNAME      STATUS\x1b[0m\nweb       up 3 days\ndb        up 1 day\n",
        &*format!("The services:\n{}\nweb       up 3 days\n", bar("NAME      STATUS")),
        // Changed lines.
        "  10   fn main() {\n\x1b[48;2;0;60;0m  11 +     run();\x1b[0m\n  12   }\n",
        "  fn main() {\n\x1b[42m  + let x = 1;\x1b[0m\n  done\n",
        "\x1b[?25l  fn main() {\n\x1b[42m  let x = 1;\x1b[0m\n  done\n",
        // Words that are lit, and a cursor that a program draws itself.
        "it passed\n\x1b[7mPASS\x1b[0m src/a.rs\nPASS src/b.rs\n",
        "\x1b[7mRuns\x1b[0m\none\ntwo\n",
        "\x1b[?25la\n\x1b[7mb\x1b[0m\nc\n",
        // Tasks of a plan.
        "The plan:\n  [x] Read the file\n  [ ] Change it\n  [ ] Test it\n",
        "● Read the file\n● Changed it\n  Test it\n",
    ] {
        let sniffer = shown(NOTHING_KNOWN, screen);
        assert_ne!(sniffer.verdict().state, AgentState::Awaiting, "{screen}");
    }
}

/// A question that counts down is one question.
#[test]
fn a_time_that_runs_in_a_question_makes_no_other_question() {
    let mut sniffer = ScreenSniffer::new(compiled(r#"{"states": {}}"#));
    let mut asked = None;
    for second in 0..20_u64 {
        let text = format!("Continue? [y/N] (auto-no in {}s)", 299 - second);
        let now = 20_000 + second * 500;
        sniffer.look_at_text(&text, ms(now));
        sniffer.tick(ms(now + 400));
        let digest = sniffer.verdict().digest.clone();
        if second > 4 {
            assert!(digest.is_some() && (asked.is_none() || digest == asked), "{text}");
            asked = digest;
        }
    }
    sniffer.look_at_text("Delete? [y/N] (auto-no in 299s)", ms(40_000));
    sniffer.tick(ms(42_000));
    assert_ne!(sniffer.verdict().digest, asked);
}

/// A list that sorts itself while it is asked.
#[test]
fn the_entries_of_a_question_are_those_of_its_excerpt() {
    let screen = |order: [&str; 3]| {
        let [first, second, third] = order;
        let mut screen = Screen::new(GridSize::new(80, 24));
        let text = format!("Pick an action\r\n❯ {first}\r\n  {second}\r\n  {third}\r\n");
        screen.feed(text.as_bytes());
        screen.snapshot()
    };
    let mut sniffer = ScreenSniffer::new(compiled(NOTHING_KNOWN));
    let (keep, other) = (["keep", "DELETE", "rename"], ["DELETE", "rename", "keep"]);
    sniffer.read_screen(&screen(keep), ms(0));
    sniffer.tick(ms(2000));
    sniffer.typed(ms(2000));
    for (order, now) in [(other, 2100), (keep, 2500), (other, 2900), (keep, 5200), (other, 9000)] {
        sniffer.read_screen(&screen(order), ms(now));
        sniffer.tick(ms(now));
        let labels: Vec<_> =
            sniffer.asked_action().entries.into_iter().map(|entry| entry.label).collect();
        let words = |line: &String| line.trim_matches(['❯', ' ']).to_owned();
        let excerpt: Vec<_> = sniffer.excerpt()[1..].iter().map(words).collect();
        assert_eq!(excerpt, labels, "at {now} ms");
    }
}
