//! What an agent is asked to do, and who can read it.

use std::fs;

use crate::home::Home;

/// What the program writes: its input, and its own arguments and those of its holder.
const SCRIPT: &str = "cat > got.txt; cat /proc/$$/cmdline /proc/$PPID/cmdline > seen.txt";

/// Runs an agent that takes its prompt this way; the arguments that every user can read, and what
/// it got as its input.
fn seen(position: &str) -> (String, String) {
    let home = Home::new();
    let headless = serde_json::json!({
        "baseArgs": ["-c", SCRIPT, "agent"], "promptPosition": position, "transcript": "text",
    });
    let adapter = serde_json::json!({"command": "/bin/sh", "modes": {"headless": headless}});
    let file = home.path("home/.config/coven/adapters/mine/config.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, adapter.to_string()).unwrap();
    let steps = "  - {name: a, type: agent, adapter: mine, mode: headless, prompt: secret-words}\n";
    home.run(steps, &[]).ok();
    let read = |name: &str| fs::read_to_string(home.path("project").join(name)).unwrap();
    (read("seen.txt"), read("got.txt"))
}

#[test]
fn a_prompt_on_the_input_is_in_no_argument_of_a_process() {
    let (arguments, input) = seen("stdin");
    assert_eq!(input, "secret-words");
    assert!(!arguments.contains("secret-words"), "{arguments:?}");
}

#[test]
fn a_prompt_in_a_file_is_in_no_argument_of_a_process() {
    let (arguments, input) = seen("file");
    assert_eq!(input, "");
    assert!(
        arguments.contains("prompt.md") && !arguments.contains("secret-words"),
        "{arguments:?}"
    );
}

#[test]
fn a_prompt_that_is_an_argument_can_be_read_by_every_user() {
    let (arguments, _) = seen("last");
    assert!(arguments.contains("secret-words"), "{arguments:?}");
}
