//! Terminals that show ASCII alone, and terminals that understand no escape sequences.

use std::process::Command;

use crate::home::{Home, SIZE, Said};
use crate::terminal::Terminal;

const STEPS: &str = "  - {name: one, type: script, command: 'echo naïve 日本', output: said}\n  \
                     - {name: ask, type: agent, prompt: 'say hello'}\n";

fn in_locale(home: &Home, name: &str, value: &str, args: &[&str]) -> Said {
    Said::of(&home.command(args).env(name, value).output().unwrap())
}

#[test]
fn the_locale_c_gets_ascii_alone() {
    let home = Home::new();
    home.run(STEPS, &["--goal", "…"]).ok();
    let everything = [
        &["show"][..],
        &["ls"],
        &["show", "@/ask"],
        &["output"],
        &["logs"],
        &["events", "@"],
        &["show", "--json"],
        &["run", "./test.yaml", "--dry-run"],
        &["grimoire", "ls"],
        &["show", "na\u{ef}ve"],
    ];
    for args in everything {
        for (name, value) in [("LANG", "C"), ("LC_ALL", "POSIX"), ("LC_CTYPE", "de_DE.ISO-8859-1")]
        {
            let said = in_locale(&home, name, value, args);
            // What a program reads is exact.
            let is_data = ["output", "logs"].contains(&args[0]);
            assert!(said.err.is_ascii(), "{args:?}: {}", said.err);
            assert!(is_data || said.out.is_ascii(), "{args:?}: {}", said.out);
        }
    }
    assert!(home.coven(&["show"]).ok().out.contains("✓ one"));
    assert!(in_locale(&home, "LC_ALL", "C", &["show"]).out.contains("+ one"));
    let json = in_locale(&home, "LANG", "C", &["show", "--json"]).json();
    assert_eq!(json["session"]["variables"]["said"], "naïve 日本");
}

/// What a command writes to a terminal that understands nothing.
fn on_dumb(home: &Home, args: &[&str]) -> (bool, Vec<u8>) {
    let mut command: Command = home.command(args);
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(command, SIZE);
    let ok = terminal.finish().success();
    (ok, terminal.bytes.clone())
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let home = Home::new();
    home.run(STEPS, &[]).ok();
    for args in [&["run", "./test.yaml"][..], &["show"], &["ls"], &["logs"], &[], &["--help"]] {
        let (ok, bytes) = on_dumb(&home, args);
        let text = String::from_utf8_lossy(&bytes);
        assert!(ok && !bytes.contains(&0x1b), "{args:?}: {text:?}");
    }
    let name = home.agent("say hello");
    for args in [&["attach", &name][..], &["play", &name]] {
        let (ok, bytes) = on_dumb(&home, args);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!ok && text.contains("TERM is `dumb`") && !text.contains('\u{1b}'), "{text:?}");
    }
}
