//! What keys mean while a run is followed: never something that the person did not see.

use crate::home::Home;
use crate::terminal::Terminal;

/// A gate that is opened by one key, and what it guards.
const DEPLOY: &str = "  - {name: deploy, type: gate, message: Deploy to production?}\n  - {name: after, type: script, command: 'touch deployed'}\n";

/// Follows these steps on a terminal.
fn followed(home: &Home, steps: &str) -> Terminal {
    let text =
        format!("name: keys\ndescription: Keys.\ndefaults: {{adapter: demo}}\nsteps:\n{steps}");
    home.write("keys.yaml", &text);
    home.terminal(&["run", "./keys.yaml"])
}

/// The gate is open, and a key that is pressed now opens it.
fn deploys(home: &Home, mut terminal: Terminal) {
    terminal.until("the gate with its keys", |terminal| {
        let text = terminal.text();
        text.contains("? deploy: Deploy to production?") && text.contains("[a] approve")
    });
    assert!(!home.path("project/deployed").exists(), "{}", terminal.text());
    terminal.send("a");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(home.path("project/deployed").exists());
}

/// Waits until the run asks what guards the deployment.
fn until_deploy_is_asked(home: &Home, terminal: &mut Terminal, name: &str) {
    terminal.until("the question of the gate", |_| {
        let shown = home.coven(&["show", name, "--json"]).ok().json();
        shown["interventions"][0]["step"] == "deploy"
    });
}

#[test]
fn a_text_that_is_typed_stays_one_when_its_question_is_answered_elsewhere() {
    let home = Home::new();
    let ask = "  - {name: ask, type: agent, mode: interactive, prompt: 'ask Which colour?'}\n";
    let mut terminal = followed(&home, &format!("{ask}{DEPLOY}"));
    terminal.until_shows("[t] type an answer");
    terminal.send("t");
    terminal.until_shows("Enter sends");
    terminal.send("as ");
    terminal.until_shows("text (Enter sends, Esc goes back): as");
    let name = home.only();
    home.coven(&["answer", &name, "answer", "other"]).ok();
    until_deploy_is_asked(&home, &mut terminal, &name);
    terminal.until_shows("was answered elsewhere");
    assert!(terminal.text().contains("answer by "), "{}", terminal.text());
    for letter in ["a", " ", "s", "a", "d", "\x1b[A", "day a", "a"] {
        terminal.send(letter);
    }
    terminal.send("\r");
    deploys(&home, terminal);
}

#[test]
fn a_text_that_is_typed_stays_one_when_the_run_ends() {
    let home = Home::new();
    let ask = "  - {name: ask, type: agent, mode: interactive, prompt: 'ask Which colour?'}\n";
    let mut terminal = followed(&home, ask);
    terminal.until_shows("[t] type an answer");
    terminal.send("t");
    terminal.until_shows("Enter sends");
    home.coven(&["cancel", &home.only()]).ok();
    terminal.until_shows("Enter or Esc goes on");
    terminal.send("for the shell");
    assert!(terminal.is_raw() && terminal.is_running());
    terminal.send("\r");
    assert_eq!(terminal.finish().code(), Some(4));
}

#[test]
fn keys_count_once_they_are_shown_also_for_the_first_question_after_a_while() {
    let home = Home::new();
    let first = "  - {name: first, type: gate, message: The first?}\n  - {name: between, type: script, command: 'sleep 1'}\n";
    let mut terminal = followed(&home, &format!("{first}{DEPLOY}"));
    terminal.until_shows("[a] approve");
    terminal.send("a");
    // Nothing is asked for a while, and then the question comes up under the fingers.
    terminal.until_shows("? deploy: Deploy to production?");
    assert!(!terminal.text().contains("[a] approve"), "{}", terminal.text());
    terminal.send("a");
    deploys(&home, terminal);
}

#[test]
fn several_keys_at_once_and_pasted_text_decide_nothing() {
    let home = Home::new();
    let mut terminal = followed(&home, DEPLOY);
    terminal.until_shows("[a] approve");
    terminal.send("deploy it as it was");
    terminal.until_shows("press one");
    terminal.until_shows("[a] approve");
    terminal.send("\x1b[200~a\x1b[201~");
    terminal.until_shows("pasted");
    deploys(&home, terminal);
}

#[test]
fn a_confirmation_takes_one_key_and_no_word_that_begins_like_it() {
    let home = Home::new();
    home.write(
        ".coven/grimoires/mine.yaml",
        "name: mine\ndescription: Mine.\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    let mut terminal = home.terminal(&["run", "mine"]);
    terminal.until_shows("[y/N]");
    terminal.send("yesterday it was fine");
    assert_eq!(terminal.finish().code(), Some(1));
    assert!(terminal.text().contains("not trusted"), "{}", terminal.text());
}
