//! Commands with hostile values, in the real shells of this machine.

use std::path::Path;
use std::process::Command;

use coven_workflow::{ShellCommand, VariableScope};
use serde_json::Value;

/// Values that would do something if a shell ever read them as text. Each tries to make `x`.
const HOSTILE: [&str; 18] = [
    "$(touch x)",
    "`touch x`",
    "a[$(touch x)]",
    "a[`touch x`]",
    "\"; touch x; \"",
    "'; touch x; '",
    "; touch x",
    "&& touch x",
    "| touch x",
    "\ntouch x\n",
    "EOF\ntouch x\n",
    "${x:=$(touch x)}",
    "$((a[$(touch x)]))",
    "-rf --help -",
    "*",
    "\\",
    "\u{1b}[31mred\u{7}",
    " two  words\ttab ",
];

/// Ways to write a variable. Each prints its value once between `<` and `>`.
const COMMANDS: [&str; 14] = [
    "printf '<%s>' ${v}",
    "printf '<%s>' \"${v}\"",
    "printf '<%s>' \"\"${v}\"\"",
    "printf '<%s>' \"$(printf %s ${v}; printf .)\"",
    "printf '<%s>' \"$(printf %s \"${v}\"; printf .)\"",
    "w=${v}; printf '<%s>' \"$w\"",
    "w=\"${v}\" sh -c 'printf \"<%s>\" \"$w\"'",
    "printf '<%s>' ${UNSET:-${v}}",
    "printf '<%s>' \"${UNSET:-${v}}\"",
    "# it's ${v}\nprintf '<%s>' ${v}",
    "cat <<EOF\n<${v}>\nEOF",
    "cat <<EOF\n<$(printf %s ${v})>\nEOF",
    "f() { printf '<%s>' \"$1\"; }; f ${v}",
    "case ${v} in *) printf '<%s>' ${v};; esac",
];

fn run(shell: &str, folder: &Path, command: &str, value: &str) -> (String, String) {
    let scope = VariableScope::default().with("v", Value::from(value));
    let prepared = ShellCommand::parse(command).unwrap().prepare(&scope).unwrap();
    let output = Command::new(shell)
        .args(["-eu", "-c", &prepared.text])
        .envs(prepared.env)
        .current_dir(folder)
        .output()
        .unwrap();
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (show(&output.stdout), show(&output.stderr))
}

fn shells() -> Vec<&'static str> {
    let there = |shell: &&str| Command::new(shell).args(["-c", ":"]).output().is_ok();
    ["bash", "sh", "dash", "zsh"].into_iter().filter(there).collect()
}

#[test]
fn a_hostile_value_reaches_every_shell_unchanged_and_executes_nothing() {
    for shell in shells() {
        for command in COMMANDS {
            for value in HOSTILE {
                let folder = tempfile::tempdir().unwrap();
                let (out, err) = run(shell, folder.path(), command, value);
                // A substitution drops newlines at the end; the point behind it keeps them.
                let expected =
                    [format!("<{value}>"), format!("<{value}>\n"), format!("<{value}.>")];
                let cut = format!("<{}>\n", value.trim_end_matches('\n'));
                assert!(
                    expected.contains(&out) || out == cut,
                    "{shell}: {command} with {value:?} printed {out:?}, {err}"
                );
                let left = std::fs::read_dir(folder.path()).unwrap().count();
                assert_eq!(left, 0, "{shell}: {command} with {value:?} was executed");
            }
        }
    }
}

#[test]
fn a_test_of_numbers_in_single_brackets_executes_nothing() {
    for shell in ["bash", "dash"].into_iter().filter(|shell| shells().contains(shell)) {
        let folder = tempfile::tempdir().unwrap();
        let command = "if [ \"${v}\" -gt 3 ]; then echo more; else echo less; fi";
        assert_eq!(run(shell, folder.path(), command, "5").0, "more\n");
        run(shell, folder.path(), command, "a[$(touch x)]");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{shell}");
    }
}

#[test]
fn the_largest_value_that_is_accepted_really_fits() {
    let value = "x".repeat(coven_workflow::shell::MAX_ENV_VALUE_BYTES);
    let folder = tempfile::tempdir().unwrap();
    let (out, err) = run("sh", folder.path(), "printf %s ${v} | wc -c", &value);
    assert_eq!(out.trim(), value.len().to_string(), "{err}");
}
