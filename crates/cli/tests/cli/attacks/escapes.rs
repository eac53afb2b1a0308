//! Names, arguments and texts with escape sequences: whatever a repository, an agent or a caller
//! calls a thing, no command lets its terminal act on it, and none shows it in another order or
//! not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::journal::Stage;
use super::plant::Planted;
use super::{folder, script, until};
use crate::home::{Home, Said};
use crate::terminal::Terminal;

/// Sets a title, paints, clears, turns around and hides.
const NAME: &str = "x\x1b]0;owned\x07\x1b[31m\u{9b}2J\u{202e}\u{200b}\u{ad}y";

/// A project in a folder of that name, in which everything is called like that.
struct HostileProject {
    home: Home,
    folder: PathBuf,
}

impl HostileProject {
    fn new() -> Self {
        let home = Home::new();
        let folder = folder(&home, NAME);
        let write = |name: &str, text: &str| {
            let file = folder.join(".coven").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let yaml = NAME.escape_default().to_string();
        let yaml = yaml.replace("\\u{1b}", "\\e").replace("\\u{7}", "\\a");
        let yaml = yaml.replace("\\u{9b}", "\\x9b").replace("\\u{ad}", "\\xad");
        let yaml = yaml.replace("\\u{202e}", "\\u202e").replace("\\u{200b}", "\\u200b");
        write(&format!("grimoires/{NAME}.yaml"), &grimoire("true"));
        write(&format!("grimoires/{NAME}2.yaml"), &format!("{NAME}: {NAME}\n"));
        write("grimoires/named.yaml", &format!("\"{yaml}\": \"{yaml}\"\nsteps: \"{yaml}\"\n"));
        write(&format!("adapters/{NAME}.yaml"), &format!("name: \"{yaml}\"\n"));
        write(
            "policy.yaml",
            &format!("version: 2\nrules: [{{name: \"{yaml}\", \"{yaml}\": 1}}]\n"),
        );
        let planted = Planted::new(&home, &folder, Stage::Blocked);
        let journal = planted.folder.join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let json = serde_json::to_string(NAME).unwrap();
        fs::write(&journal, text.replace(&planted.name, json.trim_matches('"'))).unwrap();
        Self { home, folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.current_dir(&self.folder);
        command
    }

    /// What a command says here, which is harmless.
    #[track_caller]
    fn say(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().unwrap();
        let said = Said::of(&output);
        assert_harmless(args, &said.out);
        assert_harmless(args, &said.err);
        said
    }
}

fn grimoire(command: &str) -> String {
    format!("name: plain\nsteps:\n{}", script("print", command))
}

/// Whether a terminal would act on this character, or show it in another place or not at all.
fn acts(character: char) -> bool {
    let invisible = ['\u{ad}', '\u{61c}', '\u{feff}', '\u{2028}', '\u{2029}'];
    (character.is_control() && character != '\n')
        || invisible.contains(&character)
        || ('\u{200b}'..='\u{200f}').contains(&character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2060}'..='\u{206f}').contains(&character)
}

#[track_caller]
fn assert_harmless(args: &[&str], text: &str) {
    let found = text.lines().find(|line| line.contains(acts));
    assert!(found.is_none(), "coven {args:?} prints {:?}", found.unwrap_or_default());
}

/// Every command there is, as the reference lists them.
fn commands() -> Vec<Vec<String>> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let text = fs::read_to_string(reference).unwrap();
    let heading = |line: &str| {
        let name = line.strip_prefix("## `coven ")?.strip_suffix('`')?;
        Some(name.split(' ').map(str::to_owned).collect())
    };
    let commands: Vec<Vec<String>> = text.lines().filter_map(heading).collect();
    assert!(commands.len() > 40, "the reference has other headings now: {commands:?}");
    commands
}

#[test]
fn no_command_repeats_an_argument_that_acts_on_a_terminal() {
    let project = HostileProject::new();
    // What an agent prints is the agent's.
    for command in commands().into_iter().filter(|command| *command != ["demo-agent"]) {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let with = |more: &[&str]| {
            project.say(&[&command, more].concat());
        };
        // As a name, as an option, as the value of one, and each as JSON.
        with(&[NAME]);
        with(&[&format!("--{NAME}")]);
        with(&[&format!("--json={NAME}")]);
        with(&[NAME, NAME, "--json"]);
        with(&["--json", &format!("{NAME}/{NAME}")]);
        with(&[&format!("./{NAME}.yaml")]);
    }
    project.say(&[NAME]);
    project.say(&["--json", NAME]);
}

#[test]
fn no_command_prints_a_name_of_a_repository_that_acts_on_a_terminal() {
    let project = HostileProject::new();
    let folder = project.folder.to_str().unwrap();
    let listings: &[&[&str]] = &[
        &[],
        &["ls"],
        &["ls", "-C", folder],
        &["trust"],
        &["trust", "--owner"],
        &["open", folder],
        &["ls"],
        &["import", folder],
        &["audit"],
        &["audit", folder],
        &["doctor"],
        &["inbox"],
        &["grimoire", "ls"],
        &["grimoire", "show", "named"],
        &["grimoire", "check", ".coven/grimoires/named.yaml"],
        &["adapter", "ls"],
        &["policy", "test"],
        &["policy", "test", "--policy", ".coven/policy.yaml"],
        &["run", "named"],
        &["run", "--dry-run", ".coven/grimoires/named.yaml"],
        &["show", NAME],
        &["init"],
        &["daemon", "status"],
    ];
    for listing in listings {
        project.say(listing);
        let json = [*listing, &["--json"]].concat();
        // JSON means the same, escaped.
        project.say(&json);
    }
}

#[test]
fn names_of_a_run_of_ours_and_what_it_prints_do_not_act_on_a_terminal() {
    let project = HostileProject::new();
    let goal = format!("goal {NAME}");
    let file =
        project.home.write("plain.yaml", &grimoire("printf 'a\\033]0;t\\007\\033[2Jb\\n'; exit 3"));
    project.say(&["run", file.to_str().unwrap(), "--name", NAME]);
    project.say(&["run", file.to_str().unwrap(), "--var", &format!("{NAME}={goal}")]);
    project.say(&["run", file.to_str().unwrap()]);
    let said = project.say(&["ls", "--json"]);
    let names: Vec<String> = said.json()["workflows"]
        .as_array()
        .map(|rows| rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect())
        .unwrap_or_default();
    assert!(!names.is_empty(), "{}", said.out);
    for name in &names {
        for verb in ["show", "logs", "events", "explain", "wait", "retry"] {
            project.say(&[verb, name]);
            project.say(&[verb, name, "--json"]);
        }
    }
}

#[test]
fn on_a_terminal_only_our_own_colours_are_sent() {
    let project = HostileProject::new();
    for args in [&["ls", "-C", "."][..], &["show", NAME], &["trust"], &["--json", NAME], &[NAME]] {
        let mut terminal = Terminal::start(project.command(args), crate::home::SIZE);
        if args == ["trust"] {
            terminal.until_shows("[y/N]");
            terminal.send("n");
        }
        terminal.finish();
        assert_eq!(terminal.title(), "", "coven {args:?} set a title");
        assert!(!terminal.text().contains(acts), "coven {args:?}: {:?}", terminal.text());
    }
}

/// A home with an agent that prints this (as `printf` reads it) when Enter is pressed, and its
/// session.
fn printing_agent(config: &str, printed: &str) -> (Home, String) {
    let home = Home::new();
    let file = |name: &str, text: &str| {
        let path = home.path("home/.config/coven").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let script = format!("echo ready; read x; printf 'a{printed}b printed\\n'; read x");
    let modes = serde_json::json!({"interactive": {"baseArgs": ["-c", script], "usePty": true}});
    let adapter = serde_json::json!({"command": "/bin/sh", "modes": modes});
    file("adapters/printing/config.json", &adapter.to_string());
    file("config.yaml", config);
    let name = home.coven(&["new", "printing", "--detach"]).ok().out.trim().to_owned();
    until("the agent", || {
        home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"] == true
    });
    (home, name)
}

/// What a terminal gets on which the agent is attached, played, and its exact output shown.
fn shown_to_a_terminal((home, name): &(Home, String)) -> [String; 3] {
    let mut attached = home.terminal(&["attach", name]);
    attached.until_shows("ready");
    attached.send("\r");
    attached.until_shows("ab printed");
    attached.send("\x1dd");
    attached.finish();
    let task = format!("{name}/agent");
    let shown = |args: &[&str]| {
        let mut terminal = home.terminal(args);
        terminal.finish();
        let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
        assert!(text.contains("b printed"), "{args:?}: {text:?}");
        text
    };
    [
        String::from_utf8_lossy(&attached.bytes).into_owned(),
        shown(&["play", &task, "--speed", "1000", "--idle-limit", "1ms"]),
        shown(&["logs", &task, "--raw"]),
    ]
}

/// As `printf` reads it.
const CLIPBOARD: &str = r"\033]52;c;b3duZWQ=\007";

#[test]
fn an_agent_does_not_write_the_clipboard_of_whoever_looks_at_it() {
    for shown in shown_to_a_terminal(&printing_agent("", CLIPBOARD)) {
        assert!(!shown.contains("b3duZWQ="), "{shown:?}");
    }
}

#[test]
fn an_agent_writes_the_clipboard_where_the_user_allows_it() {
    for shown in shown_to_a_terminal(&printing_agent("agentClipboard: true\n", CLIPBOARD)) {
        assert!(shown.contains("\x1b]52;c;b3duZWQ=\x07"), "{shown:?}");
    }
}

#[test]
fn an_agent_does_not_make_the_terminal_of_whoever_looks_at_it_type() {
    let queries = [
        r"\005",
        r"\033[c",
        r"\033[6n",
        r"\033[?996n",
        r"\033[?2026$p",
        r"\033[>0q",
        r"\033[?u",
        r"\033[18t",
        r"\033]11;?\007",
        r"\033P$qm\033\\",
        r"\033P+q436f\033\\",
    ];
    // The text that is turned around is that of U+202E in UTF-8.
    let printed = format!("{}\\342\\200\\256", queries.concat().replace('%', "%%"));
    for shown in shown_to_a_terminal(&printing_agent("", &printed)) {
        for query in queries {
            let query = query.replace(r"\033", "\x1b").replace(r"\007", "\x07");
            let query = query.replace(r"\005", "\x05").replace(r"\\", r"\");
            assert!(!shown.contains(&query), "{query:?} in {shown:?}");
        }
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
}
