//! What counts as a plain command, held against the shells that agents use.

use std::path::Path;
use std::process::{Command, Stdio};

use coven_policy::{PartKind, parts};

const SHELLS: [&str; 4] = ["bash", "dash", "zsh", "fish"];

/// How many commands that a rule would allow are run. In each of them stands what must not run.
const ALLOWED_COMMANDS: usize = 150;

/// What commands are made of. `touch X` must run in none that a rule for `echo` allows.
const PIECES: [&str; 60] = [
    "echo ",
    "touch X",
    "$(touch X)",
    "(touch X)",
    " ",
    " ",
    " ",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "\\",
    "$",
    "${",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "=",
    "=cat",
    "~",
    "^",
    "!",
    "*",
    "?",
    "#",
    "%",
    "a",
    "x",
    "A=1 ",
    "$PATH",
    "${PATH}",
    "(e)",
    ":-",
    ":h",
    ":s/a/b/",
    "*(e:'touch X':)",
    "{a,b}",
    "c",
    "\\c",
    "\\x28",
    "'\\'",
    "$'",
    "$\"",
    "\\$(touch X)",
    "a[",
    "2>",
    ">",
    "|",
    "&",
    ";",
    "\n",
    "@",
    "-",
    "+",
    "/",
    ",",
];

/// Whether a rule for `echo` with anything behind it would allow the command.
fn is_allowed(command: &str) -> bool {
    let is_echo = |text: &str| text == "echo" || text.starts_with("echo ");
    parts(command).is_ok_and(|parts| {
        parts
            .iter()
            .all(|part| part.kind == PartKind::Command && !part.only_exactly && is_echo(&part.text))
    })
}

/// Runs a command as agents do, and says whether it has made the file.
fn touches(shell: &str, command: &str, folder: &Path) -> bool {
    let run = Command::new(shell)
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(run.is_ok(), "{shell}: {run:?}");
    std::fs::remove_file(folder.join("X")).is_ok()
}

/// The shells that are installed here. A fresh machine has bash and dash; with zsh and fish the test
/// shows more.
fn shells() -> Vec<&'static str> {
    let is_there =
        |shell: &&str| ["/bin", "/usr/bin"].iter().any(|at| Path::new(at).join(shell).exists());
    SHELLS.into_iter().filter(is_there).collect()
}

#[test]
fn no_shell_runs_more_than_a_rule_has_allowed() {
    let shells = shells();
    assert!(shells.contains(&"bash"), "{shells:?}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "").unwrap();
    let mut random = fastrand::Rng::with_seed(21);
    let mut allowed = 0;
    while allowed < ALLOWED_COMMANDS {
        let pieces = (0..random.usize(1..9)).map(|_| PIECES[random.usize(..PIECES.len())]);
        let command = format!("echo {}", pieces.collect::<String>());
        if !command.contains("touch X") || !is_allowed(&command) {
            continue;
        }
        allowed += 1;
        for shell in &shells {
            assert!(!touches(shell, &command, folder.path()), "{shell}: {command}");
        }
    }
}

/// Each of these runs in one of the shells, and not in bash as it is taken apart.
#[test]
fn what_runs_in_one_shell_alone_is_not_allowed() {
    let shells = shells();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "").unwrap();
    for (shell, command) in [
        ("zsh", r#"echo "${(e):-\$(touch X)}""#),
        ("zsh", "echo *(e:'touch X':)"),
        ("zsh", "echo $(echo) *(e:'touch X':)"),
        ("zsh", "echo $PATH['$(touch X)']"),
        ("zsh", "echo x >! X"),
        ("zsh", "echo =(touch X)"),
        ("fish", r"echo 'a\' '(touch X)' '\'"),
        ("fish", "echo (touch X)"),
        ("fish", "echo {a}(touch X)"),
        ("fish", r"echo ~+[\$(touch X)]"),
        ("fish", "echo a 2>| touch X"),
    ] {
        assert!(!is_allowed(command), "{command}");
        if shells.contains(&shell) {
            let ran = touches(shell, command, folder.path());
            assert!(ran, "{shell} has changed, and does not run this any more: {command}");
        }
    }
}
