//! `coven new`.

use std::fs;

use insta::assert_snapshot;

use crate::demo_agent::eventually;
use crate::home::Home;

#[test]
fn one_agent_is_started_and_attached() {
    let home = Home::new();
    let mut terminal = home.terminal(&["new", "demo", "say Hello from the agent"]);
    terminal.until_shows("Hello from the agent");
    terminal.until_shows("Type a message");
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
    let name = home.only();
    assert!(terminal.text().contains(&format!("coven attach {name}/agent")), "{}", terminal.text());
    assert!(terminal.is_restored());
    assert_eq!(
        home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["goal"],
        "say Hello from the agent"
    );
}

#[test]
fn an_agent_in_the_background_prints_its_name() {
    let home = Home::new();
    let said = home.coven(&["new", "demo", "say hi", "--detach"]).ok();
    assert_eq!(said.out.trim(), home.only());
    let said = home.coven(&["new", "demo", "say hi", "--json"]).ok();
    assert!(said.json()["id"].is_string());
}

#[test]
fn a_shell_without_a_command_is_the_users_shell_and_tells_no_secret() {
    // One reads plain lines, the other edits them itself.
    for shell in ["/bin/sh", "/bin/bash"] {
        is_the_users_shell(shell);
    }
}

/// Starts a shell without a command.
fn start_shell(home: &Home, shell: &str) -> String {
    let mut start = home.command(&["new", "shell", "--detach"]);
    let start = start.env("SHELL", shell).env("MY_TOKEN", "do-not-print-me").output().unwrap();
    assert!(start.status.success(), "{start:?}");
    let name = home.only();
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    name
}

fn is_the_users_shell(shell: &str) {
    let home = Home::new();
    let name = start_shell(&home, shell);
    let said = home.coven(&["send", &name, "echo $((40 + 2)) > answer.txt"]).ok();
    assert!(said.out.contains("sent to"), "{}", said.out);
    eventually("the command", || {
        (fs::read_to_string(home.path("project/answer.txt")).ok()? == "42\n").then_some(())
    });
    let logs = home.coven(&["logs", &name]).ok().out;
    assert!(!logs.contains("do-not-print-me") && !logs.contains("PATH="), "{logs}");
}

/// Whenever the daemon dies, a command that ran is not said to be undelivered, and is not run again.
#[test]
fn a_command_for_a_shell_runs_once_whenever_the_daemon_dies() {
    let home = Home::new();
    let name = start_shell(&home, "/bin/bash");
    for number in 0..4 {
        let command = format!("echo {number} >> ran.txt");
        let mut send = home.command(&["send", &name, &command]).spawn().unwrap();
        // It is accepted, and is typed and run while the daemon dies.
        let is_queued = || {
            let told = home.coven(&["events", &name, "--json"]).out;
            told.contains(&command).then_some(())
        };
        eventually("the message", is_queued);
        home.kill_daemon();
        send.wait().unwrap();
        eventually("the command", || {
            home.coven(&["ls"]).ok();
            let ran = fs::read_to_string(home.path("project/ran.txt")).ok()?;
            ran.lines().any(|line| line == number.to_string()).then_some(())
        });
    }
    let events = || home.coven(&["events", &name, "--json"]).out;
    eventually("that all arrived", || {
        let told = events();
        assert!(!told.contains("undelivered-message"), "{told}");
        (told.matches("input.delivered").count() == 4).then_some(())
    });
    let ran = fs::read_to_string(home.path("project/ran.txt")).unwrap();
    assert_eq!(ran, "0\n1\n2\n3\n");
}

#[test]
fn variables_alone_are_no_command_that_prints_them() {
    let home = Home::new();
    let said = home.coven(&["new", "shell", "A=1", "--mode", "headless"]).code(1);
    let told = format!("{}{}", said.out, said.err);
    assert!(!told.contains("PATH="), "{told}");
    let logs = home.coven(&["logs", &home.only()]).out;
    assert!(logs.contains("no command was given") && !logs.contains("PATH="), "{logs}");
}

#[test]
fn a_headless_agent_does_one_turn() {
    let home = Home::new();
    let said = home.coven(&["new", "demo", "say All done.", "--mode", "headless"]).ok();
    assert!(said.out.contains("is completed"), "{}", said.out);
    let name = home.only();
    assert!(home.coven(&["logs", &name]).ok().out.contains("All done."));
}

#[test]
fn an_agent_gets_its_own_arguments_and_this_environment() {
    let home = Home::new();
    let mut command = home.command(&[
        "new",
        "demo",
        "approve echo \"$GREETING\" > out.txt",
        "--mode",
        "headless",
        "--permissions",
        "all",
        "--",
        "--delay",
        "0",
    ]);
    let output = command.env("GREETING", "good day").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(home.path("project/out.txt")).unwrap(), "good day\n");
}

#[test]
fn what_is_missing_is_said() {
    let home = Home::new();
    assert_snapshot!(home.said(&["new", "demo"]), @r"
    --- exit 2
    error: there is no terminal to show the agent on
    hint: --detach starts it in the background, --mode headless lets it do one turn
    ");
    assert_snapshot!(home.said(&["new", "demo", "--mode", "headless"]), @r#"
    --- exit 2
    error: without a terminal an agent needs something to do
    hint: coven new demo "PROMPT" --mode headless
    "#);
    assert_snapshot!(home.said(&["new", "cluade", "hi", "--detach"]), @r"
    --- exit 1
    error: unknown adapter `cluade`; did you mean `claude`?
    hint: there are `aider`, `claude`, `codex`, `copilot`, `demo`, `gemini`, `opencode`, `qwen` and `shell`; a folder `.coven/adapters/cluade/` with a `config.json` adds another
    ");
}

#[test]
fn an_agent_that_is_not_there_is_told_and_not_waited_for() {
    let home = Home::new();
    let adapter = |name: &str, command: &str| {
        let path = home.path("home/.config/coven/adapters").join(name).join("config.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            r#"{{"schemaVersion": 1, "command": "{command}", "install": "brew ghost", "modes": {{"interactive": {{}}}}}}"#
        );
        fs::write(path, text).unwrap();
    };
    adapter("ghost", "no-such-ghost");
    assert_snapshot!(home.said(&["new", "ghost", "hi", "--detach"]), @r"
    --- exit 1
    error: there is no program `no-such-ghost` in your PATH
    hint: install it: brew ghost
    ");
    assert!(home.names().is_empty());
    adapter("spirit", "/no/such/spirit");
    let said = home.coven(&["new", "spirit", "--detach"]).code(1);
    assert!(said.err.contains("`/no/such/spirit`"), "{}", said.err);
    assert!(home.names().is_empty());
    // Where a relative path leads is known when the agent starts.
    adapter("spirit", "no/such/spirit");
    let mut terminal = home.terminal(&["new", "spirit"]);
    terminal.until_shows("could not be started");
    assert_eq!(terminal.finish().code(), Some(1));
    assert!(terminal.text().contains("coven cancel"), "{}", terminal.text());
}
