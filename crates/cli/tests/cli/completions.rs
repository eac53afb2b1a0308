//! `coven completions`, and what a shell asks.

use crate::home::Home;

#[test]
fn shells_get_a_script_and_live_names() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.coven(&["completions", shell]).ok().out;
        assert!(script.contains("COVEN_COMPLETE"), "{script}");
    }
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    let ask = |words: &[&str]| {
        let mut command = home.command(&["--", "coven"]);
        command.args(words).env("COVEN_COMPLETE", "fish");
        let output = command.output().unwrap();
        crate::stdout(&output).to_owned()
    };
    assert!(ask(&["show", ""]).contains(&name), "{}", ask(&["show", ""]));
    assert!(ask(&["run", ""]).contains("review-loop"));
    assert!(ask(&["new", "cl"]).contains("claude"));
    assert!(ask(&["gri"]).contains("grimoire"));
}
