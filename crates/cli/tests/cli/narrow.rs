//! Terminals of eighty columns and of forty: lines are made for them, and not broken by them.

use crate::home::Home;
use crate::terminal::Terminal;

/// The lines that a command prints on a terminal of so many columns, as it prints them.
fn lines(home: &Home, args: &[&str], columns: u16) -> Vec<String> {
    let mut terminal = Terminal::start(home.command(args), (columns, 40));
    terminal.finish();
    let text = coven_terminal::sanitise::strip(&terminal.bytes).into_owned();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The lines that are too wide. A path, a command to copy and an id are whole, whatever their
/// length.
fn too_wide(home: &Home, args: &[&str], columns: u16) -> Vec<String> {
    let root = home.root().to_str().unwrap();
    let whole = |line: &String| {
        let begins = |with: &str| line.trim_start().starts_with(with);
        line.contains(root) || begins("coven ") || begins("id ")
    };
    let lines = lines(home, args, columns);
    let wide = |line: &String| line.chars().count() > usize::from(columns) && !whole(line);
    lines.into_iter().filter(wide).collect()
}

#[test]
fn what_is_listed_fits() {
    let home = Home::new();
    let nothing: [String; 0] = [];
    assert_eq!(too_wide(&home, &[], 80), nothing, "the first words");
    assert_eq!(too_wide(&home, &["doctor"], 80), nothing, "doctor");
    let long = "say a long goal that is told in more words than there is room for in any list";
    home.coven(&["new", "demo", long, "--mode", "headless"]).ok();
    let name = home.only();
    for columns in [80, 40] {
        for args in [&["ls"][..], &["show", &name], &["inbox"]] {
            // What it was told is shown as it was told.
            let wide = too_wide(&home, args, columns);
            let ours: Vec<_> = wide.iter().filter(|line| !line.starts_with("goal")).collect();
            assert!(ours.is_empty(), "{args:?} on {columns}: {ours:#?}");
        }
    }
    assert_eq!(too_wide(&home, &["ls"], 40), nothing);
    assert_eq!(too_wide(&home, &[], 80), nothing);
}

#[test]
fn a_run_on_a_narrow_terminal_is_not_broken_in_two() {
    let home = Home::new();
    home.write(
        "gate.yaml",
        "name: gate\ndescription: Asks.\nsteps:\n  - {name: a-step-with-a-long-name, type: gate, command: 'false', message: It is not there and will not be there.}\n",
    );
    let mut terminal = Terminal::start(home.command(&["run", "./gate.yaml"]), (40, 30));
    terminal.until_shows("[x] abort the run");
    let text = terminal.text();
    assert!(text.lines().any(|line| line.starts_with("  ? a-step-with")), "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("  ? "), "{text}");
    terminal.send("x");
    terminal.until_shows("has failed");
    assert_eq!(terminal.finish().code(), Some(1));
}

#[test]
fn an_error_is_broken_between_words() {
    let home = Home::new();
    let args = ["new", "cluade", "hi", "--detach"];
    let mut terminal = Terminal::start(home.command(&args), (40, 30));
    assert_eq!(terminal.finish().code(), Some(1));
    let text = terminal.text();
    let words = home.coven(&args).code(1).err;
    for word in words.split_whitespace() {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    assert!(
        text.lines().skip(1).all(|line| line.starts_with(' ') || line.starts_with("hint:")),
        "{text}"
    );
}

#[test]
fn the_shell_goes_on_below_what_the_agent_showed() {
    let home = Home::new();
    let name = home.asking("approve ls");
    let mut terminal = Terminal::start(home.command(&["attach", &name]), (80, 40));
    terminal.until_shows("3. No (esc)");
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
    let text = terminal.text();
    let last = text.lines().count();
    assert!(last < 30 && text.lines().last().unwrap().starts_with("Detached"), "{text}");
}
