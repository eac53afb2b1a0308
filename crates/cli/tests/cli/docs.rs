//! The documentation is true: its commands run, and its reference is that of the program.
//!
//! Each page is run from top to bottom in a home of its own. In a block ```` ```console ````, a line
//! that begins with `$ ` is a command; one that ends with `# exit N` ends with that code, others
//! with 0. `brisk-otter` stands for the newest session. A block with `no-run` behind its language
//! needs a terminal or an agent that is not there, and is only looked at. A block with `file=PATH`
//! is written to that file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::home::Home;

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

/// Runs every command of a page.
fn run(page: &Path) {
    let home = Home::new();
    let text = fs::read_to_string(page).unwrap();
    let mut commands = 0;
    for block in blocks(&text) {
        let mut words = block.info.split_whitespace();
        let language = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        if let Some(file) = words.iter().find_map(|word| word.strip_prefix("file=")) {
            home.write(file, &block.text);
        }
        if language != "console" || words.contains(&"no-run") {
            continue;
        }
        for line in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let (command, code) = line.split_once("# exit ").unwrap_or((line, "0"));
            one(&home, page, block.line, command.trim(), code.trim().parse().unwrap());
            commands += 1;
        }
    }
    assert!(commands > 0, "{} runs nothing", page.display());
}

fn one(home: &Home, page: &Path, line: usize, command: &str, code: i32) {
    // A command that speaks of no session may well be one that needs no daemon.
    let command = if command.contains("brisk-otter") {
        let newest = home.coven(&["ls", "-n", "1", "--json"]).ok().json();
        command.replace("brisk-otter", newest["workflows"][0]["name"].as_str().unwrap())
    } else {
        command.to_owned()
    };
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

        #[test]
        fn no_guide_is_left_out() {
            let mut tested: Vec<&str> = vec![$($path),*];
            tested.retain(|path| path.starts_with("guides/"));
            let mut there: Vec<String> = fs::read_dir(docs("guides")).unwrap().flatten()
                .map(|entry| format!("guides/{}", entry.file_name().to_string_lossy())).collect();
            tested.sort_unstable();
            there.sort();
            assert_eq!(tested, there);
        }
    };
}

pages! {
    the_first_workflow: "guides/first-workflow.md";
    writing_a_grimoire: "guides/writing-a-grimoire.md";
    adding_an_adapter: "guides/adding-an-adapter.md";
    policy_and_approvals: "guides/policy-and-approvals.md";
    the_api_and_its_events: "guides/api-and-events.md";
    the_library: "guides/library.md";
    teams_in_one_repository: "guides/teams-in-one-repository.md";
    troubleshooting: "guides/troubleshooting.md";
    exit_codes: "reference/exit-codes.md";
    the_shapes_of_json: "reference/json.md";
}
