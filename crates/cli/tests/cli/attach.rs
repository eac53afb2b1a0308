//! `coven attach`, on a terminal of our own.

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::home::{Home, SIZE};
use crate::terminal::Terminal;

#[test]
fn an_agent_is_seen_and_typed_to_and_left_alone() {
    let home = Home::new();
    let name = home.asking("say Look here; approve echo yes > yes.txt");
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("3. No (esc)");
    assert!(terminal.text().contains("Look here"), "{}", terminal.text());
    assert!(terminal.is_raw());
    terminal.send("1");
    terminal.until_shows("Type a message");
    assert!(home.path("project/yes.txt").exists());
    terminal.send("\x1d");
    terminal.send("d");
    terminal.until_shows("Detached");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored());
    // The agent goes on.
    assert_eq!(home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"], true);
}

#[test]
fn the_terminal_is_left_as_it_was_whatever_the_agent_turned_on() {
    let home = Home::new();
    let said = home.coven(&["new", "demo", "approve ls", "--detach", "--", "--alt"]).ok();
    let name = said.out.trim().to_owned();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("3. No (esc)");
    assert!(terminal.alternate());
    terminal.kill(Signal::TERM);
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored() && !terminal.alternate() && terminal.is_as_new());
}

#[test]
fn the_agent_gets_the_size_of_whoever_types() {
    let home = Home::new();
    let name = home.asking("approve ls");
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("3. No (esc)");
    let size = || {
        let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
        (json["screen"]["cols"].as_u64().unwrap(), json["screen"]["rows"].as_u64().unwrap())
    };
    terminal.until("its size", |_| size() == (SIZE.0.into(), SIZE.1.into()));
    terminal.resize((72, 20));
    terminal.until("the new size", |_| size() == (72, 20));
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
}

/// The size of a viewer that left must not be that of the next question: on a small terminal agents
/// leave out what they have no room for.
#[test]
fn the_size_of_a_viewer_that_leaves_does_not_stay() {
    let home = Home::new();
    let name = home.asking("approve ls");
    let size = || {
        let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
        (json["screen"]["cols"].as_u64().unwrap(), json["screen"]["rows"].as_u64().unwrap())
    };
    let own = size();
    let mut terminal = Terminal::start(home.command(&["attach", &name]), (36, 9));
    terminal.until("the size of the viewer", |_| size() == (36, 9));
    // What is asked on so small a terminal may be cut, and is no longer approved from outside.
    let asked = || home.coven(&["inbox", &name, "--json"]).ok().json()["interventions"][0].clone();
    terminal.until("the question counts as cut", |_| asked()["truncated"] == true);
    let said = home.coven(&["approve", &name]).code(1);
    assert!(said.err.contains("coven attach"), "{}", said.err);
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
    let mut other = home.terminal(&["attach", &name, "--read-only"]);
    other.until("its own size", |_| size() == own);
    other.until("the question is whole again", |_| asked()["truncated"].is_null());
    home.coven(&["approve", &name]).ok();
}

#[test]
fn somebody_who_only_looks_types_nothing() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let mut terminal = home.terminal(&["attach", &name, "--read-only", "--detach-key", "ctrl-a"]);
    terminal.until_shows("3. No (esc)");
    terminal.send("1");
    terminal.send("\x01d");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(!home.path("project/yes.txt").exists());
    assert_eq!(
        home.coven(&["inbox", "--json"]).ok().json()["interventions"][0]["kind"],
        "approval"
    );
}

#[test]
fn a_terminal_that_is_too_small_shows_a_part_and_not_a_muddle() {
    let home = Home::new();
    let name = home.asking("say 0123456789 abcdefghijklmnopqrstuvwxyz; approve echo yes > yes.txt");
    let screen = || {
        let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
        let lines = json["screen"]["lines"].as_array().unwrap().clone();
        lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (columns, rows) = (30, 10);
    let looks = ["attach", &name, "--read-only"];
    let mut terminal = Terminal::start(home.command(&looks), (columns, rows));
    terminal.until_shows("3. No (esc)");
    assert!(terminal.title().contains("this terminal is smaller"), "{}", terminal.title());
    // Each row that is seen is the beginning of one of the agent's, in its order.
    let all = screen();
    let mut rest = all.iter();
    for line in terminal.text().lines() {
        let begins = |row: &String| {
            let cut: String = row.chars().take(columns.into()).collect();
            cut.trim_end() == line
        };
        assert!(rest.any(begins), "{line:?} of\n{}\nin\n{}", terminal.text(), all.join("\n"));
    }
    // Its size is that of the agent as soon as it may type, and not before.
    let size = || {
        let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
        (json["screen"]["cols"].as_u64().unwrap(), json["screen"]["rows"].as_u64().unwrap())
    };
    assert_ne!(size(), (columns.into(), rows.into()));
    terminal.resize((60, 8));
    terminal.until_shows("3. No (esc)");
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored() && terminal.is_as_new());
}

#[test]
fn whoever_takes_the_keyboard_gives_the_agent_the_size() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let mut first = home.terminal(&["attach", &name]);
    first.until_shows("3. No (esc)");
    let mut second = Terminal::start(home.command(&["attach", &name]), (50, 12));
    second.until_shows("3. No (esc)");
    second.send("\x1dt");
    let size = || {
        let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
        (json["screen"]["cols"].as_u64().unwrap(), json["screen"]["rows"].as_u64().unwrap())
    };
    second.until("its size", |_| size() == (50, 12));
    second.send("1");
    second.until_shows("Type a message");
    // The other one still sees it, on a terminal that is larger now.
    first.until_shows("Type a message");
    for terminal in [&mut first, &mut second] {
        terminal.send("\x1dd");
        assert_eq!(terminal.finish().code(), Some(0));
    }
}

#[test]
fn there_is_one_keyboard_and_whoever_wants_it_takes_it() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let mut first = home.terminal(&["attach", &name]);
    first.until_shows("3. No (esc)");
    let mut second = home.terminal(&["attach", &name]);
    second.until("another viewer", |terminal| terminal.title().contains("another viewer types"));
    second.send("1");
    second.send("\x1dt");
    first.until("the loss", |terminal| terminal.title().contains("another viewer types"));
    assert!(!home.path("project/yes.txt").exists());
    second.send("1");
    second.until_shows("Type a message");
    assert!(home.path("project/yes.txt").exists());
    for terminal in [&mut first, &mut second] {
        terminal.send("\x1dd");
        assert_eq!(terminal.finish().code(), Some(0));
    }
}

#[test]
fn an_agent_that_ends_is_said_to_have_ended() {
    let home = Home::new();
    let name = home.asking("approve ls; exit 0");
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("3. No (esc)");
    terminal.send("1");
    terminal.until_shows("has ended");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored());
}

#[test]
fn an_agent_that_is_just_started_is_waited_for() {
    let home = Home::new();
    let name = home.agent("say hello there");
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("hello there");
    terminal.send("\x1dd");
    assert_eq!(terminal.finish().code(), Some(0));
}

#[test]
fn what_cannot_be_attached_to_is_explained() {
    let home = Home::new();
    let name = home.asking("approve ls");
    assert_snapshot!(home.said(&["attach", &name]), @r"
    --- exit 2
    error: this needs a terminal to show the agent on
    hint: coven logs shows what it printed, coven show NAME/TASK what its screen shows now
    ");
    home.coven(&["cancel", &name]).ok();
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("no agent on a terminal now");
    assert_eq!(terminal.finish().code(), Some(1));
}

#[test]
fn a_daemon_that_dies_is_hardly_noticed_and_one_that_is_stopped_stays_so() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let mut terminal = home.terminal(&["attach", &name]);
    terminal.until_shows("3. No (esc)");
    let before = home.coven(&["daemon", "status", "--json"]).ok().json()["pid"].clone();
    home.kill_daemon();
    terminal.until("another daemon", |_| {
        let now = home.coven(&["daemon", "status", "--json"]).json()["pid"].clone();
        now.is_number() && now != before
    });
    // The viewer that types gets the keyboard back as soon as the agent is there again.
    let mut presses = 0;
    terminal.until("the answer", |terminal| {
        if !home.path("project/yes.txt").exists() {
            presses += 1;
            assert!(presses < 300, "{}", terminal.text());
            terminal.send("1");
            terminal.read(200);
        }
        // What was typed too much stands in the prompt.
        home.path("project/yes.txt").exists() && terminal.text().contains("● Run(")
    });
    home.coven(&["daemon", "stop"]).ok();
    terminal.until_shows("The daemon was stopped; the agent goes on.");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.is_restored());
    assert_eq!(home.coven(&["daemon", "status", "--json"]).code(5).json()["running"], false);
    // The agent has gone on without the daemon, and is still listed.
    assert_eq!(home.coven(&["ls", "--json"]).ok().json()["total"], 1);
}
