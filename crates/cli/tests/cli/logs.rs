//! `coven logs`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_tasks_printed_is_shown_clean_or_as_it_was() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: \"printf '\\\\033[31mred\\\\033[0m\\\\n'\"}\n  - {name: two, type: script, command: 'echo two; echo oops >&2'}\n", &[]).ok();
    let name = home.only();
    assert_snapshot!(home.said(&["logs", &name]), @r"
    ==> one <==
    red

    ==> two <==
    two
    oops
    --- exit 0
    ");
    assert_eq!(
        home.coven(&["logs", &format!("{name}/one"), "--raw"]).ok().out,
        "\u{1b}[31mred\u{1b}[0m\n"
    );
    assert_eq!(home.coven(&["logs", &format!("{name}/two"), "--stream", "err"]).ok().out, "oops\n");
    assert_snapshot!(home.said(&["logs", &format!("{name}/three")]), @r"
    --- exit 1
    error: NAME has no task `three`
    hint: name one: NAME/one, NAME/two
    ");
}

#[test]
fn of_an_agent_without_a_terminal_it_is_what_it_said_and_did() {
    let home = Home::new();
    home.run("  - {name: work, type: agent, permissions: all, prompt: \"say Let me see.; approve echo hi; say Done.\"}\n", &[]).ok();
    let name = home.only();
    let said = home.coven(&["logs", &name]).ok();
    assert!(said.out.contains("Let me see.") && said.out.contains("echo hi"), "{}", said.out);
    assert!(home.coven(&["logs", &name, "--plain"]).ok().out.contains("{\"type\""));
}

#[test]
fn following_shows_what_is_printed_later() {
    let home = Home::new();
    let steps = "  - {name: slow, type: script, command: 'echo before; while ! test -f go; do read -t 0.1 <> <(:) || true; done; echo after'}\n";
    home.write("slow.yaml", &format!("name: slow\ndescription: Slow.\nsteps:\n{steps}"));
    let name = home.coven(&["run", "./slow.yaml", "--detach"]).ok().out.trim().to_owned();
    home.coven(&["events", &name]).ok();
    let mut child = loop {
        let said = home.coven(&["show", &name, "--json"]).ok();
        if said.json()["tasks"][0]["live"] == true {
            break home.command(&["logs", "-f", &name]).stdout(Stdio::piped()).spawn().unwrap();
        }
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "before");
    home.write("go", "");
    assert_eq!(lines.next().unwrap().unwrap(), "after");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_last_lines_are_those_of_the_whole_log() {
    let home = Home::new();
    let steps = "  - {name: count, type: script, command: 'seq 100000'}\n";
    home.run(steps, &[]).ok();
    let name = home.only();
    let all = home.coven(&["logs", &name]).ok().out;
    for lines in [0, 1, 3, 20_000, 200_000] {
        let count = lines.to_string();
        let said = home.coven(&["logs", &name, "--tail", &count]).ok().out;
        let first = all.lines().count().saturating_sub(lines);
        let expected: String = all.split_inclusive('\n').skip(first).collect();
        assert_eq!(said.len(), expected.len(), "--tail {count}");
        assert_eq!(said, expected, "--tail {count}");
    }
    let said = home.coven(&["logs", &name, "--tail", "2", "--stream", "out"]).ok().out;
    assert_eq!(said, "99999\n100000\n");
    let lines = home.coven(&["logs", &name, "--json"]).ok().lines();
    assert_eq!(lines.len(), 100_000);
    assert_eq!(lines[99_999]["text"], "100000");
}

/// The journal of a session that is over has everything that its steps gave, so it is not read
/// again for each piece of a long log. What lies aside is gone while a log is printed, so that the
/// journal cannot be read any more.
#[test]
fn the_journal_is_read_for_the_first_piece_of_a_log_alone() {
    let home = Home::new();
    let steps = "  - {name: count, type: script, command: 'seq 600000'}\n";
    home.run(steps, &[]).ok();
    let name = home.only();
    let shown = home.coven(&["show", &name, "--json"]).ok().json();
    let id = shown["session"]["sessionId"].as_str().unwrap();
    // Of a session in memory no journal is read; after a restart it is not in memory.
    home.coven(&["daemon", "stop"]).ok();
    let mut child = home.command(&["logs", &name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "1");
    // The log is longer than a piece, and the pipe takes less than one.
    let values = home.path("project").join(".coven/sessions").join(id).join("values");
    std::fs::rename(&values, values.with_extension("gone")).unwrap();
    assert_eq!(lines.count(), 599_999);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let home = Home::new();
    let steps = "  - {name: slow, type: script, command: 'while ! test -f go; do echo on; read -t 0.1 <> <(:) || true; done'}\n";
    home.write("slow.yaml", &format!("name: slow\ndescription: Slow.\nsteps:\n{steps}"));
    let name = home.coven(&["run", "./slow.yaml", "--detach"]).ok().out.trim().to_owned();
    let mut child = loop {
        let said = home.coven(&["show", &name, "--json"]).ok();
        if said.json()["tasks"][0]["live"] == true {
            break home.command(&["logs", "-f", &name]).stdout(Stdio::piped()).spawn().unwrap();
        }
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "on");
    drop(lines);
    let (sender, ended) = std::sync::mpsc::sync_channel(1);
    let waiting = std::thread::spawn(move || sender.send(child.wait().unwrap().success()));
    let success = ended.recv_timeout(crate::STEP_TIMEOUT);
    home.write("go", "");
    waiting.join().unwrap().unwrap();
    assert!(success.expect("it should end while the task goes on"));
}

#[test]
fn the_last_words_of_an_agent_are_shown_once() {
    let home = Home::new();
    home.coven(&["new", "demo", "say All done.", "--mode", "headless"]).ok();
    let said = home.coven(&["logs", &home.only()]).ok().out;
    assert_eq!(said.matches("All done.").count(), 1, "{said}");
}

/// What exact output turned on, the shell that comes next must not find on.
#[test]
fn a_terminal_is_set_back_after_exact_output() {
    let home = Home::new();
    let steps = concat!(
        "  - {name: alt, type: script, command: 'printf \"\\033[?1049h\\033[?25l\\033(0lqk\"'}\n",
        "  - {name: plain, type: script, command: 'printf \"\\033[31mred\\033[m\\n\"'}\n",
    );
    home.run(steps, &[]).ok();
    let name = home.only();
    let raw = |task: &str| {
        let mut terminal = home.terminal(&["logs", &format!("{name}/{task}"), "--raw"]);
        assert_eq!(terminal.finish().code(), Some(0));
        terminal
    };
    let terminal = raw("alt");
    let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
    let (_, behind) = text.split_once("\x1b[?1049h\x1b[?25l\x1b(0lqk").unwrap();
    assert!(behind.contains("\x1b(B"), "{behind:?}");
    assert!(terminal.is_as_new());
    // Output that leaves nothing behind is not followed by what moves the cursor.
    let terminal = raw("plain");
    let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
    assert!(text.contains("\x1b[31mred") && !text.contains("\x1b[?1049l"), "{text:?}");
}

/// The lines that have words.
fn words(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric)).collect()
}

/// A program that paints its whole screen again for every line that it says, as agents do: its
/// stream without escape sequences has every line many times and its words in pieces.
const PAINTER: &str = r"
printf '\033[?1049h'
paint() {
  printf '\033[?2026h\033[H'
  first=$(( $1 > 10 ? $1 - 10 : 0 )); row=1
  while [ $first -lt $1 ]; do
    printf '\033[%d;1HI\033[%d;3Hwill\033[%d;8Hsay %d\033[K' $row $row $row $first
    first=$((first + 1)); row=$((row + 1))
  done
  printf '\033[12;1H> type here\033[?2026l'
}
count=1
while [ $count -le 30 ]; do paint $count; count=$((count + 1)); done
while ! test -f go; do read -t 0.1 <> <(:) || true; done
while [ $count -le 32 ]; do paint $count; count=$((count + 1)); done
printf '\033[?1049l'
";

#[test]
fn a_terminal_agent_is_shown_line_by_line_as_a_person_saw_it() {
    let home = Home::new();
    home.write("painter.sh", PAINTER);
    let name = home.coven(&["new", "shell", "--detach", "--", "bash", "painter.sh"]).ok().out;
    let name = name.trim().to_owned();
    let said = |number: usize| format!("I will say {number}");
    let mut expected: Vec<String> = (0..30).map(said).collect();
    expected.push("> type here".to_owned());
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    loop {
        let shown = home.coven(&["logs", &name]);
        if words(&shown.out) == expected {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{}", shown.out);
    }
    let tail = home.coven(&["logs", &name, "--tail", "3"]).ok().out;
    assert_eq!(tail.lines().count(), 3);
    assert!(tail.ends_with("> type here\n"), "{tail}");

    let mut child = home.command(&["logs", "-f", &name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in &expected {
        let next = lines.by_ref().map(Result::unwrap).find(|line| !line.trim().is_empty());
        assert_eq!(next.as_deref().map(str::trim), Some(line.as_str()));
    }
    home.write("go", "");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(words(&rest.join("\n")), [said(30), said(31)]);
    assert!(child.wait().unwrap().success());

    expected = (0..32).map(said).chain(["> type here".to_owned()]).collect();
    assert_eq!(words(&home.coven(&["logs", &name]).ok().out), expected);
    let file =
        std::fs::read_dir(home.path("project/.coven/sessions")).unwrap().next().unwrap().unwrap();
    let logs = std::fs::read_dir(file.path().join("logs")).unwrap().next().unwrap().unwrap();
    assert_eq!(words(&std::fs::read_to_string(logs.path()).unwrap()), expected);
}
