//! Every command of the README, as a newcomer would type it.
//!
//! Agents that need an account are not there: a program of the same name stands in for them, which
//! only shows a prompt. What such an agent would have to work at is looked at with `--dry-run`.

use std::fs;
use std::path::Path;

use crate::docs::{STAND_IN, attaches, blocks};
use crate::home::Home;

/// How a command is tried.
#[derive(Clone, Copy)]
enum How {
    /// As it stands there.
    Runs,
    /// With another command in place of the beginning, because the program is built already.
    Built(&'static str, &'static str),
    /// On a terminal, until the agent that stands in shows its prompt; then it is left alone.
    Attaches,
    /// For a question that an agent asks.
    Answers,
    /// Only what it would do.
    WouldDo,
    /// It is what runs this test.
    Runner,
}

const COMMANDS: [(&str, How); 11] = [
    ("cargo run --release -- run demo", How::Built("cargo run --release --", "coven")),
    ("coven", How::Runs),
    ("coven ui", How::Runs),
    ("coven new claude", How::Attaches),
    ("coven inbox", How::Runs),
    ("coven approve NAME", How::Answers),
    ("coven run review-loop --adapter claude", How::Runs),
    ("coven new codex \"explain this repository\"", How::Attaches),
    ("coven run implement-bead --adapter claude", How::WouldDo),
    ("coven run my-workflow.yaml --input spec=docs/spec.md", How::Runs),
    ("cargo xtask test", How::Runner),
];

const WORKFLOW: &str = "name: mine\ndescription: One of my own.\ninputs:\n  spec: {required: true}\nsteps:\n  - {name: read, type: script, command: 'test -n ${input.spec}'}\n";

fn commands() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(readme).unwrap();
    let mut commands = Vec::new();
    for block in blocks(&text) {
        let lines = block.text.lines().filter_map(|line| line.strip_prefix("$ "));
        commands.extend(lines.map(|line| {
            let command = line.split_once(" # ").map_or(line, |(command, _)| command);
            command.trim().to_owned()
        }));
    }
    commands
}

/// A home with a repository, and with two fake agent programs on the path.
fn home() -> Home {
    let home = Home::new();
    for agent in ["claude", "codex"] {
        home.program(agent, STAND_IN);
    }
    home.write("my-workflow.yaml", WORKFLOW);
    home.write("docs/spec.md", "A specification.\n");
    let begin =
        "git init -q -b main && git add . && git -c user.name=n -c user.email=e commit -qm one";
    assert!(home.shell("bash", &["-c", begin]).status().unwrap().success());
    home
}

fn runs(home: &Home, command: &str) {
    let output = home.shell("bash", &["-c", command]).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let text = format!("{command}\n{}{}", said(&output.stdout), said(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let home = home();
    let listed = commands();
    let known: Vec<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(listed, known, "a command of the README is not tried here, or not any more");
    for (command, how) in COMMANDS {
        match how {
            How::Runs => runs(&home, command),
            How::Built(from, to) => runs(&home, &command.replace(from, to)),
            How::WouldDo => runs(&home, &format!("{command} --dry-run")),
            How::Answers => {
                let name = home.asking("approve true");
                runs(&home, &command.replace("NAME", &name));
            }
            How::Attaches => attaches(&home, command),
            How::Runner => {}
        }
    }
}
