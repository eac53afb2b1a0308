//! `coven play`.

use insta::assert_snapshot;

use crate::home::Home;

const CAST: &str = "{\"version\": 2, \"width\": 80, \"height\": 24}\n[0.1, \"o\", \"first \"]\n[0.2, \"o\", \"second\\r\\n\"]\n[900.0, \"o\", \"last\\r\\n\"]\n";

#[test]
fn a_recording_is_played_without_its_pauses() {
    let home = Home::new();
    home.write("a.cast", CAST);
    let said = home.coven(&["play", "a.cast", "--speed", "100", "--idle-limit", "10ms"]).ok();
    assert_eq!(said.out, "first second\r\nlast\r\n");
    assert_snapshot!(home.said(&["play", "no-such.cast"]), @r"
    --- exit 1
    error: could not read no-such.cast: No such file or directory (os error 2)
    ");
    home.write("b.cast", "hello\n");
    assert_snapshot!(home.said(&["play", "b.cast"]), @r"
    --- exit 1
    error: b.cast cannot be played: line 1, column 1: not valid JSON: expected value
    ");
    assert_snapshot!(home.said(&["play", "a.cast", "--speed", "0"]), @r"
    --- exit 2
    error: invalid value '0' for '--speed <N>': a speed is a number from 0.01 to 1000

    For more information, try '--help'.
    ");
}

#[test]
fn a_player_on_a_terminal_can_be_paused_and_left() {
    let home = Home::new();
    home.write("a.cast", CAST);
    let mut terminal = home.terminal(&["play", "a.cast"]);
    terminal.until_shows("second");
    terminal.send(" ");
    terminal.send("q");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored());
    assert!(!terminal.text().contains("last"));
}

#[test]
fn the_terminal_of_a_task_is_played_back() {
    let home = Home::new();
    let name = home.asking("say Look here; approve ls");
    let said = home
        .coven(&["play", &format!("{name}/agent"), "--speed", "1000", "--idle-limit", "1ms"])
        .ok();
    assert!(said.out.contains("Look here"), "{}", said.out);
}
