//! `coven completions`, and what a shell makes of it.

use std::path::Path;
use std::process::Command;

use coven_testkit::skip::{skip, skip_optional};

use crate::home::{Home, SIZE};
use crate::terminal::Terminal;

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
    let tasks = ask(&["show", &format!("{name}/")]);
    assert!(tasks.contains(&format!("{name}/one")), "{tasks}");
    assert!(ask(&["run", ""]).contains("review-loop"));
    assert!(ask(&["new", "cl"]).contains("claude"));
    assert!(ask(&["gri"]).contains("grimoire"));
}

/// Whether a shell is there. Not every machine has all of them, but `bash` is everywhere.
fn is_there(shell: &str) -> bool {
    let there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(shell).exists());
    let reason = format!("{shell} is not installed here");
    match shell {
        _ if there => {}
        "bash" => skip(&reason),
        _ => skip_optional(&reason),
    }
    there
}

/// A shell on a terminal with our script loaded, in which Tab is pressed.
fn pressed(home: &Home, shell: Command, prepare: &str) {
    let name = home.asking("approve ls");
    let mut terminal = Terminal::start(shell, SIZE);
    terminal.send(&format!("PS1='ready> '; {prepare}; echo load''ed\n"));
    terminal.until_shows("loaded");
    // There are options too, so that it is offered and not taken; its first letters suffice.
    terminal.send("coven show \t\t");
    terminal.until_shows(&name);
    terminal.send(&format!("{}\t", &name[..4]));
    terminal.until_shows(&format!("ready> coven show {name}"));
    // Ctrl-U clears the line.
    terminal.send(&format!("\x15coven finish {name}/\t"));
    terminal.until_shows(&format!("ready> coven finish {name}/agent"));
    terminal.send("\x15coven appr\t");
    terminal.until_shows("ready> coven approve");
    terminal.send("\x15exit\n");
    terminal.finish();
}

#[test]
fn bash_completes_what_is_there_at_that_moment() {
    let home = Home::new();
    if is_there("bash") {
        let shell = home.shell("bash", &["--norc", "--noprofile", "-i"]);
        pressed(&home, shell, "source <(coven completions bash)");
    }
}

#[test]
fn zsh_completes_what_is_there_at_that_moment() {
    let home = Home::new();
    if is_there("zsh") {
        let shell = home.shell("zsh", &["-f", "-i"]);
        let prepare = "autoload -U compinit; compinit -u; source <(coven completions zsh)";
        pressed(&home, shell, prepare);
    }
}

#[test]
fn fish_completes_what_is_there_at_that_moment() {
    let home = Home::new();
    if !is_there("fish") {
        return;
    }
    let name = home.asking("approve ls");
    let offered = |line: &str| {
        let script = format!("coven completions fish | source; complete -C '{line}'");
        let output = home.shell("fish", &["--no-config", "-c", &script]).output().unwrap();
        crate::stdout(&output).to_owned()
    };
    assert!(offered("coven show ").contains(&name));
    assert!(offered(&format!("coven finish {name}/")).contains(&format!("{name}/agent")));
}
