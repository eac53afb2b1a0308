//! `coven new`.

use insta::assert_snapshot;

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
    assert_eq!(std::fs::read_to_string(home.path("project/out.txt")).unwrap(), "good day\n");
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
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            r#"{{"schemaVersion": 1, "command": "{command}", "install": "brew ghost", "modes": {{"interactive": {{}}}}}}"#
        );
        std::fs::write(path, text).unwrap();
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
