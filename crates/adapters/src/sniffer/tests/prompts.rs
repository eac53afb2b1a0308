//! Questions as the libraries for prompts paint them: clack and inquirer.

use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// What is known of a screen that has shown this for a while.
fn shown(text: &str) -> ScreenSniffer {
    let mut screen = Screen::new(GridSize::new(80, 24));
    screen.feed(text.replace('\n', "\r\n").as_bytes());
    let mut sniffer = ScreenSniffer::new(compiled(r#"{"states": {}}"#));
    sniffer.read_screen(&screen.snapshot(), ms(0));
    sniffer.tick(ms(2000));
    sniffer
}

/// The entries of a menu and which of them is selected.
fn menu(sniffer: &ScreenSniffer) -> Option<(Vec<&str>, usize)> {
    let menu = sniffer.menu()?;
    Some((menu.entries.iter().map(|entry| entry.label.as_str()).collect(), menu.selected))
}

/// As clack paints it: the mark of the question, a bar, and the cursor below it all.
fn clack(above: &str, question: &str, rows: &[&str]) -> String {
    let rows: String = rows.iter().map(|row| format!("\x1b[36m│\x1b[39m  {row}\n")).collect();
    format!("\x1b[?25l{above}│\n\x1b[36m◆\x1b[39m  {question}\n{rows}\x1b[36m└\x1b[39m\n")
}

/// Spec: AD.2.1
#[test]
fn choices_side_by_side_with_the_marks_of_radio_buttons_are_a_menu() {
    let ask = "Install dependencies?";
    let on = |label: &str| format!("\x1b[32m●\x1b[39m {label}");
    let off = |label: &str| format!("\x1b[2m○\x1b[22m \x1b[2m{label}\x1b[22m");
    let yes = format!("{} \x1b[2m/\x1b[22m {}", on("Yes"), off("No"));
    let no = format!("{} \x1b[2m/\x1b[22m {}", off("Yes"), on("No"));
    let done = "│\n◇  Your name?\n│  Ada\n";
    for (screen, labels, selected, title) in [
        (clack("", ask, &[&yes]), vec!["Yes", "No"], 0, ask),
        (clack(done, ask, &[&no]), vec!["Yes", "No"], 1, ask),
        // A question without its mark, and one that goes on in a second line.
        (clack("", "Install the tools", &[&no]), vec!["Yes", "No"], 1, "Install the tools"),
        (
            clack("", "Delete it?", &["All of it will be gone", &no]),
            vec!["Yes", "No"],
            1,
            "Delete it?",
        ),
        (
            format!("{ask}\n  ○ Yes  ○ No  ● Ask me later\n"),
            vec!["Yes", "No", "Ask me later"],
            2,
            ask,
        ),
        (format!("{ask}\n\n  ( ) Yes   (•) No\n"), vec!["Yes", "No"], 1, ask),
        (format!("{ask} ● Yes / ○ No"), vec!["Yes", "No"], 0, ask),
    ] {
        let sniffer = shown(&screen);
        let verdict = sniffer.verdict();
        assert_eq!(verdict.state, AgentState::Awaiting, "{screen}");
        assert_eq!(verdict.kind, Some(AwaitingKind::Choice), "{screen}");
        assert_eq!(menu(&sniffer), Some((labels, selected)), "{screen}");
        let read = sniffer.menu().unwrap();
        assert_eq!(read.layout, crate::MenuLayout::Columns, "{screen}");
        assert!(!read.may_take_other(), "{screen}");
        assert_eq!(sniffer.asked_title(), Some(title), "{screen}");
    }
}

#[test]
fn an_answer_is_bound_to_the_choice_that_has_the_mark() {
    let digest = |row: &str| {
        shown(&clack("", "Install dependencies?", &[row])).verdict().digest.clone().unwrap()
    };
    assert_eq!(digest("● Yes / ○ No"), digest("● Yes / ○ No"));
    assert_ne!(digest("● Yes / ○ No"), digest("○ Yes / ● No"), "Enter means something else there");
}

#[test]
fn marks_side_by_side_that_nobody_chooses_from_are_no_menu() {
    for screen in [
        // A legend, the state of services, a list of what was done.
        "3 services\n  ● running  ○ stopped\n",
        "web ● up\ndb ○ down\n",
        "Which one?\n  ● Yes  ● No\n",
        "Which one?\n  ○ Yes  ○ No\n",
        "Which one?\n  ● Yes\n",
        "Tasks?\n  [x] Read  [ ] Write\n",
        // It was answered.
        "│\n◇  Install dependencies?\n│  Yes\n",
    ] {
        assert_eq!(menu(&shown(screen)), None, "{screen}");
    }
}

/// Spec: AD.2.1
#[test]
fn a_list_with_the_marks_of_radio_buttons_between_bars_is_a_menu() {
    let done = "┌  create-app\n│\n◇  Your name?\n│  Ada\n";
    let rows = ["\x1b[2m○\x1b[22m \x1b[2mTypeScript\x1b[22m", "\x1b[32m●\x1b[39m JavaScript"];
    for (question, rows) in [
        ("Pick a type.", [rows[0], rows[1]]),
        ("The type", [rows[0], "\x1b[32m●\x1b[39m JavaScript \x1b[2m(old)\x1b[22m"]),
    ] {
        let sniffer = shown(&clack(done, question, &rows));
        let (labels, selected) = menu(&sniffer).unwrap();
        assert!(labels[0] == "TypeScript" && labels[1].starts_with("JavaScript"), "{labels:?}");
        assert_eq!((labels.len(), selected), (2, 1));
        assert_eq!(sniffer.asked_title(), Some(question));
        assert_eq!(sniffer.menu().unwrap().layout, crate::MenuLayout::Rows);
    }
}

/// What stands above a menu with a tick was asked before, and answered.
///
/// Spec: AD.2.1
#[test]
fn the_title_of_a_menu_is_no_line_that_was_answered_before() {
    let rows = "❯ npm\n  yarn\n  pnpm\n";
    let keys = "\n↑↓ navigate • ⏎ select\n";
    for (above, title) in [
        ("✔ Name: foo\n? Choose: (Use arrow keys)\n", Some("Choose: (Use arrow keys)")),
        (
            "✔ Which size? Large\n? Package manager (Use arrow keys)\n",
            Some("Package manager (Use arrow keys)"),
        ),
        ("✔ Which size? Large\n? Package manager\n", Some("Package manager")),
        (
            "? Which size? Large\n? Package manager (Use arrow keys)\n",
            Some("Package manager (Use arrow keys)"),
        ),
        (
            "✔ Really? … yes\n? Manager › - Use arrow-keys. Return to submit.\n",
            Some("Manager › - Use arrow-keys. Return to submit."),
        ),
        ("✓ Which size? · Large\n? Pick one …\n", Some("Pick one …")),
        ("◇  Which size?\n│  Large\n│\n◆  Package manager\n", Some("Package manager")),
        (
            "✔ Which size? Large\nPackage manager\n  Use arrow keys to move\n",
            Some("Package manager"),
        ),
        ("✔ Which size? Large\n", None),
    ] {
        for below in ["", keys] {
            let screen = format!("{above}{rows}{below}");
            let sniffer = shown(&screen);
            assert_eq!(sniffer.verdict().evidence.rule, "generic:menu", "{screen}");
            assert_eq!(sniffer.asked_title(), title, "{screen}");
        }
    }
    for (screen, title) in [
        ("✔ Name: foo\n? Go on? (Y/n) ", Some("Go on? (Y/n)")),
        ("Go on?\n[y/N] ", Some("Go on? [y/N]")),
        ("✔ Name: foo\n[y/N] ", Some("[y/N]")),
    ] {
        assert_eq!(shown(screen).asked_title(), title, "{screen}");
    }
}
