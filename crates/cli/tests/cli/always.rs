//! Approving a command for always: the rule is shown first, counts in its session, and is written
//! into the policy only where that is wanted.

use std::fs;

use serde_json::Value;

use crate::home::{Home, Said};
use crate::terminal::Terminal;

/// Columns and rows of a terminal on which a question fits with its rule.
const LARGE: (u16, u16) = (100, 50);

fn policy_path(home: &Home) -> std::path::PathBuf {
    home.path("home/.config/coven/policy.yaml")
}

/// Puts a policy in place, and accepts it as the user would.
fn policy(home: &Home, text: &str) {
    fs::create_dir_all(policy_path(home).parent().unwrap()).unwrap();
    fs::write(policy_path(home), text).unwrap();
    home.coven(&["policy", "accept", "--yes"]).ok();
}

fn blocks(home: &Home, name: &str) {
    home.coven(&["wait", name, "--until", "blocked", "--timeout", "60s"]).code(3);
}

/// What is asked now: the command, or the kind of question.
fn asked(home: &Home, name: &str) -> String {
    let json = home.coven(&["inbox", name, "--json"]).ok().json();
    let asked = &json["interventions"][0];
    asked["command"].as_str().or(asked["kind"].as_str()).unwrap().to_owned()
}

/// Who decided the questions of a session, and how.
fn decisions(home: &Home, name: &str) -> Vec<(String, String)> {
    let events = home.coven(&["events", name, "--json"]).ok().lines();
    let decision = |event: Value| {
        let decision = &event["data"]["decision"];
        let text = |key: &str| decision[key].as_str().map(str::to_owned);
        Some((text("choice")?, text("by")?))
    };
    events.into_iter().filter_map(decision).collect()
}

fn always(home: &Home, name: &str, more: &[&str]) -> Said {
    let mut args = vec!["approve", name, "--always"];
    args.extend(more);
    home.coven(&args)
}

#[test]
fn a_command_is_approved_for_the_rest_of_its_session_also_by_the_next_daemon() {
    let home = Home::new();
    let name = home.asking("approve echo 'a.b'; approve echo b; approve echo 'a.b'; say Done.");
    let said = always(&home, &name, &[]).ok();
    assert!(said.err.contains("for the rest of the session:\n  - name: always-"), "{}", said.err);
    assert!(said.err.contains("  command: 'echo ''a\\.b'''\n"), "{}", said.err);
    blocks(&home, &name);
    assert_eq!(asked(&home, &name), "echo b");
    home.kill_daemon();
    home.coven(&["approve", &name]).ok();
    blocks(&home, &name);
    // The same command was not asked again.
    assert_eq!(asked(&home, &name), "ended-turn");
    let decided = decisions(&home, &name);
    assert_eq!(decided[0].0, "approve-always");
    assert_eq!(decided[2].0, "approve");
    assert!(decided[2].1.starts_with("policy:session:always-"), "{decided:?}");
    assert!(!policy_path(&home).exists());
    home.coven(&["audit"]).ok();
    // It is a rule of that session.
    let other = home.asking("approve echo 'a.b'");
    assert_eq!(asked(&home, &other), "echo 'a.b'");
}

#[test]
fn a_saved_rule_counts_in_every_session_and_the_policy_keeps_its_comments() {
    let home = Home::new();
    let text = "# mine\nversion: 2\nrules:\n  - name: no\n    matches: rm -rf  # never\n    decision: deny\n# end\n";
    policy(&home, text);
    let name = home.asking("approve echo a");
    let said = always(&home, &name, &["--save"]).ok();
    assert!(said.err.contains("from now on, in every session:\n"), "{}", said.err);
    let now = fs::read_to_string(policy_path(&home)).unwrap();
    let (before, end) = text.split_once("# end").unwrap();
    assert!(now.starts_with(before) && now.ends_with(&format!("# end{end}")), "{now}");
    assert!(now.contains("  - name: always-") && now.contains("command: 'echo a'"), "{now}");
    let said = home.coven(&["policy", "accept", "--yes"]).ok();
    assert!(said.out.contains("is accepted already"), "{}", said.out);
    let other = home.asking("approve echo a; approve echo b");
    assert_eq!(asked(&home, &other), "echo b");
    assert!(decisions(&home, &other)[0].1.starts_with("policy:user:always-"));
}

#[test]
fn a_saved_rule_keeps_the_line_ends_and_the_byte_order_mark_of_the_policy() {
    let home = Home::new();
    let text = "\u{feff}version: 2\r\nrules:\r\n  - name: no # never\r\n    matches: rm -rf\r\n    decision: deny\r\n# end\r\n";
    policy(&home, text);
    let name = home.asking("approve echo a");
    always(&home, &name, &["--save"]).ok();
    let now = fs::read_to_string(policy_path(&home)).unwrap();
    assert!(
        now.starts_with("\u{feff}version: 2\r\n") && now.ends_with("allow\r\n# end\r\n"),
        "{now:?}"
    );
    assert_eq!(now.matches('\n').count(), now.matches("\r\n").count(), "{now:?}");
    assert_eq!(now.matches('\r').count(), now.matches("\r\n").count(), "{now:?}");
    let said = home.coven(&["policy", "accept", "--yes"]).ok();
    assert!(said.out.contains("is accepted already"), "{}", said.out);
}

#[test]
fn a_policy_that_is_wrong_or_was_not_accepted_takes_no_rule() {
    let home = Home::new();
    let name = home.asking("approve echo a");
    fs::create_dir_all(policy_path(&home).parent().unwrap()).unwrap();
    for (text, why, code) in [
        ("version: 2\nrules: {\n", "your policy cannot be read, and was left as it is", 2),
        ("version: 1\nrules: []\n", "your policy has version 1", 2),
        ("version: 2\nrules: [{decision: allow}]\n", "to which no rule can be added", 2),
        ("version: 2\nrules:\n  - decision: allow\n", "your policy changed and was not", 1),
    ] {
        fs::write(policy_path(&home), text).unwrap();
        let said = always(&home, &name, &["--save"]).code(code);
        assert!(said.err.contains(why) && said.err.contains("nothing was decided"), "{}", said.err);
        assert_eq!(fs::read_to_string(policy_path(&home)).unwrap(), text);
        assert_eq!(asked(&home, &name), "echo a");
    }
    assert_eq!(decisions(&home, &name), []);
    fs::remove_file(policy_path(&home)).unwrap();
    always(&home, &name, &["--save"]).ok();
    let said = home.coven(&["policy", "accept", "--yes"]).ok();
    assert!(said.out.contains("is accepted already"), "{}", said.out);
}

#[test]
fn a_rule_that_denies_wins() {
    let home = Home::new();
    let name = home.asking("approve touch X; approve echo b; approve touch X; say Done.");
    always(&home, &name, &[]).ok();
    blocks(&home, &name);
    fs::remove_file(home.path("project/X")).unwrap();
    policy(&home, "version: 2\nrules:\n  - {name: no, matches: touch, decision: deny}\n");
    home.coven(&["approve", &name]).ok();
    blocks(&home, &name);
    let decided = decisions(&home, &name);
    assert_eq!(decided[2], ("deny".to_owned(), "policy:user:no".to_owned()), "{decided:?}");
    assert!(!home.path("project/X").exists());
}

/// Lets an agent ask for what was approved for always, after this was done to its policies; what is
/// asked then, and what was decided.
fn asks_again_after(home: &Home, change: impl FnOnce()) -> (String, Vec<(String, String)>) {
    let name = home.asking("approve touch X; approve echo b; approve touch X; say Done.");
    always(home, &name, &[]).ok();
    blocks(home, &name);
    fs::remove_file(home.path("project/X")).unwrap();
    change();
    home.coven(&["approve", &name]).ok();
    blocks(home, &name);
    assert!(!home.path("project/X").exists());
    (asked(home, &name), decisions(home, &name))
}

const DENY: &str = "version: 2\nrules:\n  - {name: no, matches: touch, decision: deny}\n";

#[test]
fn a_policy_that_is_written_while_an_agent_works_denies_what_was_approved_for_always() {
    let home = Home::new();
    let (_, decided) = asks_again_after(&home, || {
        fs::create_dir_all(policy_path(&home).parent().unwrap()).unwrap();
        fs::write(policy_path(&home), DENY).unwrap();
    });
    assert_eq!(decided[2], ("deny".to_owned(), "policy:user:no".to_owned()), "{decided:?}");
}

#[test]
fn a_policy_of_the_project_that_is_trusted_while_an_agent_works_denies_it_too() {
    let home = Home::new();
    let (_, decided) = asks_again_after(&home, || {
        home.write(".coven/policy.yaml", DENY);
        home.coven(&["trust", "--yes"]).ok();
    });
    assert_eq!(decided[2], ("deny".to_owned(), "policy:project:no".to_owned()), "{decided:?}");
}

#[test]
fn while_a_policy_cannot_be_read_nothing_is_approved_by_a_rule_of_the_session() {
    let home = Home::new();
    let (asked, _) = asks_again_after(&home, || {
        fs::create_dir_all(policy_path(&home).parent().unwrap()).unwrap();
        fs::write(policy_path(&home), "version: 2\nrules: {\n").unwrap();
    });
    assert_eq!(asked, "touch X");
}

#[test]
fn what_cannot_be_taken_apart_is_approved_once_and_not_for_always() {
    let home = Home::new();
    let name = home.asking("approve touch X # cargo test");
    let said = always(&home, &name, &[]).code(1);
    assert!(said.err.contains("it cannot be approved for always: "), "{}", said.err);
    assert!(said.err.contains("there is a comment in it"), "{}", said.err);
    let listed = home.coven(&["inbox"]).ok().out;
    assert!(listed.contains("coven approve") && !listed.contains("--always"), "{listed}");
    home.coven(&["approve", &name]).ok();
    blocks(&home, &name);
    assert!(home.path("project/X").exists());
}

#[test]
fn a_terminal_shows_the_rule_before_it_asks() {
    let home = Home::new();
    let name = home.asking("approve echo a");
    let start = || Terminal::start(home.command(&["approve", &name, "--always"]), LARGE);
    let mut terminal = start();
    terminal.until_shows("Make this rule? [y/N]");
    assert!(terminal.text().contains("command: 'echo a'"), "{}", terminal.text());
    terminal.send("n");
    assert_eq!(terminal.finish().code(), Some(1));
    assert_eq!(asked(&home, &name), "echo a");
    let mut terminal = start();
    terminal.until_shows("Make this rule? [y/N]");
    terminal.send("y");
    assert_eq!(terminal.finish().code(), Some(0));
    assert_eq!(decisions(&home, &name)[0].0, "approve-always");
}

/// A run whose agent asks for this command, on a terminal.
fn followed(home: &Home, command: &str, size: (u16, u16)) -> Terminal {
    let text = format!(
        "name: asks\ndescription: Asks.\nsteps:\n  - name: ask\n    type: agent\n    adapter: demo\n    \
         mode: interactive\n    permissions: ask\n    prompt: |\n      approve {command}\n      say Done.\n"
    );
    home.write("asks.yaml", &text);
    Terminal::start(home.command(&["run", "./asks.yaml"]), size)
}

/// The question as it was drawn last, whatever its lines. What was drawn for another size of the
/// terminal may still stand above it.
fn words(terminal: &mut Terminal) -> String {
    let text = terminal.text();
    let question = &text[text.rfind("\n?").unwrap_or(0)..];
    question.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn until_says(terminal: &mut Terminal, what: &str) {
    terminal.until(what, |terminal| words(terminal).contains(what));
}

#[test]
fn a_terminal_that_is_too_small_for_a_command_says_so_and_where_it_can_be_read() {
    let home = Home::new();
    let mut terminal = followed(&home, "echo begin-of-it && echo end-of-it", (40, 8));
    until_says(&mut terminal, "too small to show the whole command");
    until_says(&mut terminal, &format!("enlarge the terminal, or: coven inbox {}", home.only()));
    until_says(&mut terminal, "[d] deny");
    let small = words(&mut terminal);
    assert!(!small.contains("[a] approve"), "{small}");
    terminal.resize(LARGE);
    until_says(&mut terminal, "[A] approve always");
    let large = words(&mut terminal);
    assert!(!large.contains("too small"), "{large}");
    // There is room for the command, and not for the rule that approving it for always makes.
    terminal.send("A");
    terminal.until_shows("[y] make it");
    terminal.resize((40, 8));
    until_says(&mut terminal, "too small to show the whole rule");
    until_says(&mut terminal, "[Esc] back");
    let small = words(&mut terminal);
    assert!(!small.contains("[y]"), "{small}");
}

#[test]
fn an_approve_key_is_refused_while_the_end_of_the_command_is_not_shown() {
    let home = Home::new();
    let mut terminal = followed(&home, "echo begin-of-it && echo end-of-it", (60, 7));
    terminal.until_shows("too small to show the whole command");
    assert!(!terminal.text().contains("end-of-it"), "{}", terminal.text());
    for key in ["a", "A"] {
        terminal.until_shows("[d] deny");
        terminal.send(key);
        terminal.until("the key was read", |terminal| !terminal.read(200));
        assert_eq!(decisions(&home, &home.only()), [], "{key}");
    }
    terminal.resize(LARGE);
    terminal.until_shows("end-of-it");
    terminal.until_shows("[a] approve");
    terminal.send("a");
    terminal.until("it is approved", |terminal| {
        terminal.read(100);
        decisions(&home, &home.only()).len() == 1
    });
    assert_eq!(decisions(&home, &home.only())[0].0, "approve");
    assert_eq!(terminal.finish().code(), Some(0));
}

#[test]
fn a_run_shows_the_rule_before_the_key_that_makes_it_counts() {
    let home = Home::new();
    let mut terminal = followed(&home, "echo a", LARGE);
    terminal.until_shows("[A] approve always");
    // What is typed behind the key was typed before the rule was shown.
    terminal.send("Ay");
    terminal.until_shows("press one");
    terminal.until_shows("[A] approve always");
    terminal.send("A");
    terminal.until_shows("approve always makes this rule");
    terminal.send("y");
    terminal.until_shows("[y] make it");
    assert!(terminal.text().contains("command: 'echo a'"), "{}", terminal.text());
    assert_eq!(decisions(&home, &home.only()), []);
    terminal.send("n");
    terminal.until_shows("[A] approve always");
    terminal.send("A");
    terminal.until_shows("[y] make it");
    terminal.send("y");
    terminal.until("the rule is made", |terminal| {
        terminal.read(100);
        !decisions(&home, &home.only()).is_empty()
    });
    assert_eq!(decisions(&home, &home.only())[0].0, "approve-always");
    assert_eq!(terminal.finish().code(), Some(0));
}
