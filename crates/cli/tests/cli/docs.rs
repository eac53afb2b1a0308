//! The documentation is true: its commands run, and its reference is that of the program.
//!
//! Each page of docs/ with a command is run from top to bottom in a home of its own. In a block
//! ```` ```console ````, a line that begins with `$ ` is a command; one that ends with `# exit N`
//! ends with that code, others with 0. `brisk-otter` stands for the newest session. A block with
//! `agent` behind its language needs an agent that is not there: a program of its name, which only
//! shows a prompt, stands in for it, and what starts one alone is run on a terminal until the prompt
//! is shown. No block is left out. A block with `file=PATH` is written to that file. Of `cargo run
//! --example` the example is run, because it is built already.
//!
//! What pages say of commands between their lines is held against the program's reference: each
//! verb and each option must be there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::home::{Home, SIZE};
use crate::terminal::Terminal;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

pub(crate) struct Block {
    info: String,
    pub(crate) text: String,
    line: usize,
}

pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (place, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => {
                let info = info.trim().to_owned();
                open = Some(Block { info, text: String::new(), line: place + 1 });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

/// What pages take for granted: a recording of one's own, and any file.
fn prepare(page: &Path) -> Home {
    let home = Home::new();
    if page.ends_with("guides/adding-an-adapter.md") {
        let recording = docs("../fixtures/recordings/claude/approve-shell.cast");
        let text = fs::read_to_string(recording).unwrap();
        home.write("session.cast", &text);
        home.write("recordings/approve-shell.cast", &text);
    }
    if page.ends_with("guides/library.md") {
        home.write("FILE", "\u{1b}[1mBold\u{1b}[0m and plain.\n");
    }
    home
}

/// Lets a program stand in for an agent that needs an account, and makes the project a repository.
fn stand_in(home: &Home) {
    home.program("claude", STAND_IN);
    let begin =
        "git init -q -b main && git add . && git -c user.name=n -c user.email=e commit -qm one";
    assert!(home.shell("bash", &["-c", begin]).status().unwrap().success());
}

/// An agent that only shows a prompt.
pub(crate) const STAND_IN: &str = "#!/bin/sh\nprintf 'This is not an agent\\n> '\nread line\n";

/// Runs a command that starts an agent on a terminal, until that shows its prompt; then leaves it.
pub(crate) fn attaches(home: &Home, command: &str) {
    let mut terminal = Terminal::start(home.shell("bash", &["-c", command]), SIZE);
    terminal.until_shows("This is not an agent");
    terminal.send("\x1dd");
    terminal.until_shows("Detached");
    assert_eq!(terminal.finish().code(), Some(0));
}

/// Runs every command of a page.
fn run(page: &Path) {
    let home = prepare(page);
    let text = fs::read_to_string(page).unwrap();
    let mut commands = 0;
    for block in blocks(&text) {
        let mut words = block.info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        if let Some(file) = words.iter().find_map(|word| word.strip_prefix("file=")) {
            home.write(file, &block.text);
        }
        if language != "console" {
            continue;
        }
        let with_agent = words.contains(&"agent");
        if with_agent {
            stand_in(&home);
        }
        for line in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let (command, code) = line.split_once("# exit ").unwrap_or((line, "0"));
            commands += 1;
            if with_agent && command.starts_with("coven new ") {
                attaches(&home, command);
                continue;
            }
            one(&home, page, block.line, command.trim(), code.trim().parse().unwrap());
        }
    }
    assert!(commands > 0, "{} runs nothing", page.display());
}

/// A command with the example that was built in the place of what would build it.
fn with_built_example(command: &str) -> String {
    let Some(rest) = command.strip_prefix("cargo run -p ") else { return command.to_owned() };
    let mut words = rest.split(' ').skip_while(|word| *word != "--example").skip(1);
    let name = words.next().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_coven")).with_file_name("examples").join(name);
    assert!(program.is_file(), "cargo build --workspace --examples makes {}", program.display());
    let (_, arguments) = rest.split_once(" -- ").unwrap();
    format!("{} {arguments}", program.display())
}

fn one(home: &Home, page: &Path, line: usize, command: &str, code: i32) {
    // A command that speaks of no session may well be one that needs no daemon.
    let command = if command.contains("brisk-otter") {
        let newest = home.coven(&["ls", "-n", "1", "--json"]).ok().json();
        command.replace("brisk-otter", newest["workflows"][0]["name"].as_str().unwrap())
    } else {
        command.to_owned()
    };
    let command = with_built_example(&command);
    let output = home.shell("bash", &["-c", &command]).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}, the block at line {line}: {command}\n{}{}",
        page.display(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_reference_is_that_of_the_program() {
    let home = Home::new();
    let made = home.coven(&["man", "--reference"]).ok().out;
    let path = docs("reference/cli.md");
    if std::env::var_os("COVEN_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "docs/reference/cli.md is not what the program says; run this test with COVEN_BLESS=1"
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let home = Home::new();
    let text = home.coven(&["man", "--reference"]).ok().out;
    for section in text.split("\n## `").skip(2) {
        let name = section.split('`').next().unwrap();
        let group = section.contains("<COMMAND>");
        let plain = name.split(' ').count() > 2;
        assert!(group || plain || section.contains("Examples:"), "{name} has no example");
    }
}

macro_rules! pages {
    ($($name:ident: $path:literal;)*) => {
        $(#[test] fn $name() { run(&docs($path)); })*

        const TESTED: &[&str] = &[$($path),*];
    };
}

/// Every page below docs/, as text, by its path there.
fn all_pages() -> Vec<(String, String)> {
    let mut folders = vec![docs("")];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let name = path.strip_prefix(docs("")).unwrap().display().to_string();
                pages.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn no_page_and_no_block_is_left_out() {
    let mut missing = Vec::new();
    for (page, text) in all_pages() {
        let has_commands = |block: &Block| block.text.lines().any(|line| line.starts_with("$ "));
        let all = blocks(&text);
        let is_tested = TESTED.contains(&page.as_str());
        if is_tested != all.iter().any(has_commands) {
            missing.push(format!("{page} is in the list: {is_tested}"));
        }
        for block in all {
            let mut words = block.info.split_whitespace();
            let language = words.next().unwrap_or_default();
            let is_shell = matches!(language, "sh" | "bash" | "shell" | "console-session");
            let is_left_out = language != "console" && has_commands(&block);
            let words: Vec<&str> = words.filter(|word| !word.starts_with("file=")).collect();
            if is_shell || is_left_out || !matches!(words.as_slice(), [] | ["agent"]) {
                missing.push(format!("{page}:{}: a block with `{}`", block.line, block.info));
            }
        }
        if page.starts_with("guides/") && !is_tested {
            missing.push(format!("{page} is a guide and has no command"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The verbs of the program with what the reference says of each, by their words.
fn reference() -> BTreeMap<String, String> {
    let home = Home::new();
    let text = home.coven(&["man", "--reference"]).ok().out;
    let sections = text.split("\n## `coven").skip(1);
    let split = |section: &str| {
        let (name, text) = section.split_once('`').unwrap();
        (name.trim().to_owned(), text.to_owned())
    };
    sections.map(split).collect()
}

/// Whether a command does nothing without one of its verbs.
fn is_group(name: &str, text: &str) -> bool {
    text.contains(&format!("Usage: coven {name} <COMMAND>"))
}

/// What is wrong with a command that a page mentions.
fn wrong(reference: &BTreeMap<String, String>, command: &str) -> Option<String> {
    let command = command.split(" | ").next()?.split(" > ").next()?.split(" && ").next()?;
    let command = command.replacen("coven workflow", "coven grimoire", 1);
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let verbs: Vec<&str> =
        words.iter().copied().take_while(|word| !word.starts_with('-')).take(2).collect();
    let named = |count: usize| {
        let name = verbs.get(..count)?.join(" ");
        let text = reference.get(&name)?;
        Some((name, text))
    };
    let (name, text) = match named(2).or_else(|| named(1)).or_else(|| named(0)) {
        Some((name, _)) if name.is_empty() && !verbs.is_empty() => {
            return Some(format!("there is no verb `{}`", verbs[0]));
        }
        // A group does nothing without one of its verbs.
        Some((name, text)) if is_group(&name, text) && verbs.join(" ") != name => {
            return Some(format!("`coven {name}` has no verb `{}`", verbs.last().unwrap()));
        }
        Some(found) => found,
        None => return Some("it is no command".to_owned()),
    };
    let options = words.iter().take_while(|word| **word != "--");
    for option in options.filter(|word| word.starts_with('-') && word.len() > 1) {
        let option = option.split(['=', '…', ']', ')', ',']).next().unwrap();
        let is_there = |one: &str| text.split([' ', ',', '\n', '[', '=']).any(|word| word == one);
        if !is_there(option) && !matches!(option, "--help" | "-h" | "--version" | "-V") {
            return Some(format!("`coven {name}` has no option `{option}`"));
        }
    }
    None
}

/// Commands that pages mention between their blocks: their verbs and options are those of the
/// program.
#[test]
fn every_command_that_a_page_mentions_is_one_of_the_program() {
    let reference = reference();
    for (command, is_wrong) in [
        ("coven ls --status running -n 3", false),
        ("coven workflow ls --json", false),
        ("coven grimoire list", true),
        ("coven lst", true),
        ("coven ls --state running", true),
    ] {
        assert_eq!(wrong(&reference, command).is_some(), is_wrong, "{command}");
    }
    let mut found = Vec::new();
    let mut count = 0;
    let readme = fs::read_to_string(docs("../README.md")).unwrap();
    for (page, text) in all_pages().into_iter().chain([("README.md".to_owned(), readme)]) {
        for (place, line) in text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            for span in spans.filter(|span| *span == "coven" || span.starts_with("coven ")) {
                count += 1;
                let why = wrong(&reference, span);
                found.extend(why.map(|why| format!("{page}:{}: `{span}`: {why}", place + 1)));
            }
        }
    }
    assert!(count > 200, "only {count} commands are mentioned");
    assert!(found.is_empty(), "{found:#?}");
}

pages! {
    the_first_workflow: "guides/first-workflow.md";
    writing_a_grimoire: "guides/writing-a-grimoire.md";
    the_cookbook: "guides/cookbook.md";
    adding_an_adapter: "guides/adding-an-adapter.md";
    policy_and_approvals: "guides/policy-and-approvals.md";
    the_api_and_its_events: "guides/api-and-events.md";
    the_library: "guides/library.md";
    teams_in_one_repository: "guides/teams-in-one-repository.md";
    troubleshooting: "guides/troubleshooting.md";
    exit_codes: "reference/exit-codes.md";
    the_shapes_of_json: "reference/json.md";
}

/// Everything that a run leaves in the folder of its session has a row in the reference.
#[test]
fn what_lies_beside_a_session_is_in_the_reference() {
    let home = Home::new();
    home.coven(&["run", "demo", "--auto", "deny"]).code(1);
    home.run("  - {name: big, type: script, command: 'head -c 100000 /dev/zero | tr \"\\0\" x', output: big}\n", &[]).ok();
    let page = fs::read_to_string(docs("reference/session-json.md")).unwrap();
    let mut found = Vec::new();
    for session in fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten() {
        for entry in fs::read_dir(session.path()).unwrap().flatten() {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found.sort();
    found.dedup();
    assert!(found.len() >= 6, "{found:?}");
    for name in &found {
        let is_told = page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}/"));
        assert!(is_told || name == "session.json", "{name} is not in the reference: {found:?}");
    }
}
