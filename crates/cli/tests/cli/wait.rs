//! `coven wait`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn scripts_learn_by_the_exit_code_how_it_stands() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["wait", &name, "--until", "blocked"]), @r"
    blocked
    --- exit 3
    look: Look at it.
    ");
    assert_snapshot!(home.said(&["wait", &name, "--timeout", "50ms"]), @r"
    --- exit 124
    NAME is blocked: look: Look at it.
    To go on: coven approve NAME, or coven deny NAME
    error: the time is up
    hint: coven show NAME
    ");
    assert_eq!(
        home.coven(&["wait", &name, "--until", "blocked", "--json"]).code(3).json()["stands"],
        "blocked"
    );
    home.coven(&["answer", &name, "deny"]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).code(1).out, "failed\n");
    assert_eq!(home.coven(&["wait", &name, "--until", "idle"]).code(1).out, "failed\n");
}

#[test]
fn what_is_over_is_not_waited_for_however_short_the_time() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "0s"]).ok().out, "completed\n");
    let told = home.coven(&["wait", &name, "--json"]).ok().json();
    assert_eq!(told, serde_json::json!({"stands": "completed"}));
}

#[test]
fn an_agent_that_is_idle_is_waited_for() {
    let home = Home::new();
    let name = home.agent("");
    let wait = || home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]);
    assert_eq!(wait().ok().out, "idle\n");
    // Its turn is over, which is for a person to look at, and it is idle.
    home.coven(&["send", &format!("{name}/agent"), "think 1"]).ok();
    assert_eq!(wait().ok().out, "idle\n");
    home.coven(&["send", &name, "approve ls"]).ok();
    assert_eq!(wait().code(3).out, "blocked\n");
}

/// What `--auto` answers is not told as something that a person has to do.
#[test]
fn an_answer_that_comes_by_itself_blocks_nobody() {
    let home = Home::new();
    let gates: String =
        (0..40).map(|n| format!("  - {{name: g{n}, type: gate, message: Look.}}\n")).collect();
    for until in ["done", "blocked"] {
        home.run(&gates, &["--auto", "allow", "--detach"]).ok();
        let said = home.coven(&["wait", "@", "--until", until, "--timeout", "60s"]).ok();
        assert_eq!((said.out.as_str(), said.err.as_str()), ("completed\n", ""), "{until}");
    }
    // What it leaves to a person still blocks, and is said.
    let asks = "  - {name: ask, type: agent, adapter: shell, mode: interactive, extra_args: [bash, -c], prompt: 'read -r -p \"Overwrite it? (y/n) \" x'}\n";
    home.run(asks, &["--auto", "allow", "--detach"]).ok();
    let said = home.coven(&["wait", "@", "--until", "blocked", "--timeout", "60s"]).code(3);
    assert!(said.err.contains("Overwrite it?"), "{}", said.err);
    let said = home.coven(&["wait", "@", "--timeout", "10ms"]).code(124);
    assert!(said.err.contains(" is blocked: ask"), "{}", said.err);
}
