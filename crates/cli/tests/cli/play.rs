//! `coven play`.

use insta::assert_snapshot;

use crate::home::Home;
use crate::terminal::Terminal;

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

#[test]
fn a_recording_of_another_size_is_cut_and_follows_its_sizes() {
    let home = Home::new();
    // Twelve columns and six rows, then five rows fewer; every row is written by its place.
    let cast = concat!(
        "{\"version\": 2, \"width\": 12, \"height\": 6}\n",
        "[0.0, \"o\", \"\\u001b[1;1Habcdefghijkl\\u001b[2;1Hsecond\\u001b[6;1Hsixth row xx\"]\n",
        "[0.1, \"r\", \"8x3\"]\n",
        "[0.2, \"o\", \"\\u001b[2J\\u001b[1;1Hsmall\\u001b[3;1Hend\"]\n",
        "[900.0, \"o\", \"never\"]\n",
    );
    home.write("a.cast", cast);
    let mut terminal = Terminal::start(home.command(&["play", "a.cast"]), (8, 4));
    terminal.until("the small screen", |terminal| terminal.text() == "small\n\nend");
    // All of it was there before, as far as there was room: nothing was wrapped.
    let seen = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(seen.contains("sixth ro") && !seen.contains("sixth row"), "{seen:?}");
    terminal.resize((4, 2));
    terminal.until("less of it", |terminal| terminal.text() == "\nend");
    terminal.send("q");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored() && terminal.is_as_new());
}
