//! How much is asked of a person from a fresh install to the first agent that was answered: at most
//! one question, the agent's own.
//!
//! Nothing is typed before the agent's own question is on the screen. Whatever asked something
//! before that would wait for ever, and the test with it.

use std::fs;
use std::process::Command;

use crate::home::Home;

/// What asks on a terminal for something other than the agent's question.
const OTHER_QUESTIONS: [&str; 4] = ["[y/N]", "[Y/n]", "(y/n)", "Press "];

/// A home in which nothing was ever set up, and a plain repository of a user.
fn fresh() -> Home {
    let home = Home::new();
    let mut git = Command::new("git");
    git.args(["init", "--quiet"]).arg(home.path("project")).env("HOME", home.path("home"));
    assert!(git.status().unwrap().success());
    assert_eq!(fs::read_dir(home.path("home")).unwrap().count(), 0);
    assert!(!home.path("state").exists() && !home.path("project/.coven").exists());
    home
}

/// How many questions the sessions of a home have asked, by their facts.
fn asked(home: &Home) -> usize {
    let sessions = fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten();
    let journal = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("journal.jsonl")).unwrap();
        text.matches("\"workflow.intervention.required\"").count()
    };
    sessions.map(journal).sum()
}

fn expect_nothing_else_was_asked(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let others: Vec<&&str> = OTHER_QUESTIONS.iter().filter(|what| text.contains(**what)).collect();
    assert!(others.is_empty(), "{others:?} in {text}");
}

#[test]
fn a_new_agent_in_a_plain_repository_asks_one_question_and_it_is_its_own() {
    let home = fresh();
    let mut terminal = home.terminal(&["new", "demo", "approve touch answered.txt"]);
    terminal.until_shows("3. No (esc)");
    expect_nothing_else_was_asked(&terminal.bytes);
    terminal.send("1");
    terminal.until_shows("Type a message");
    assert!(home.path("project/answered.txt").exists());
    // An answer in the agent's own terminal may come before the question was seen by us.
    assert!(asked(&home) <= 1);
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
    expect_nothing_else_was_asked(&terminal.bytes);
}

#[test]
fn a_first_run_in_a_plain_repository_asks_one_question_and_it_is_its_agents() {
    let home = fresh();
    let step = "{name: ask, type: agent, mode: interactive, permissions: ask, prompt: \"approve touch answered.txt; exit 0\"}";
    let text = format!(
        "name: first\ndescription: First.\ndefaults: {{adapter: demo}}\nsteps:\n  - {step}\n"
    );
    home.write("first.yaml", &text);
    let mut terminal = home.terminal(&["run", "./first.yaml"]);
    terminal.until_shows("[a] approve");
    expect_nothing_else_was_asked(&terminal.bytes);
    terminal.send("a");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(home.path("project/answered.txt").exists());
    assert_eq!(asked(&home), 1);
    expect_nothing_else_was_asked(&terminal.bytes);
}
