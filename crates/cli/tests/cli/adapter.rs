//! `coven adapter` and `coven schema adapter`, as a person uses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::{stderr, stdout};

/// A home and a project of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.path("project")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
        command.args(args).current_dir(self.path("project")).stdin(Stdio::null());
        command.env_remove("XDG_CONFIG_HOME").env("HOME", self.0.path());
        command
    }

    fn adapter(&self, args: &[&str]) -> Output {
        let mut all = vec!["adapter"];
        all.extend(args);
        self.command(&all).output().unwrap()
    }

    /// Everything a command said, without the name of the folder.
    fn said(&self, args: &[&str]) -> String {
        let output = self.adapter(args);
        let text = format!(
            "{}--- exit {}\n{}",
            stdout(&output),
            output.status.code().unwrap(),
            stderr(&output)
        );
        text.replace(self.0.path().to_str().unwrap(), "~")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Home {
    /// Some commands start a daemon.
    fn drop(&mut self) {
        if self.path(".local/state/coven/run").exists() {
            self.command(&["daemon", "stop"]).output().unwrap();
        }
    }
}

fn recording(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn ls_shows_every_adapter_in_eighty_columns() {
    let home = Home::new();
    assert_snapshot!(home.said(&["ls"]), @r"
    TYPE      NAME         MODES                  TESTED   FROM
    aider     aider        interactive, headless  0.86.2   built in
    claude    Claude Code  interactive, headless  2.1.325  built in
    codex     Codex        interactive, headless  0.166.0  built in
    copilot   Copilot CLI  interactive, headless  1.0.102  built in
    demo      Demo agent   interactive, headless  0.1.0    built in
    gemini    Gemini CLI   interactive, headless  0.61.0   built in
    opencode  opencode     interactive, headless  1.18.33  built in
    qwen      Qwen Code    interactive, headless  0.24.4   built in
    shell     Shell        interactive, headless  -        built in
    --- exit 0
    ");
    let all = stdout(&home.adapter(&["ls"])).to_owned();
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn ls_shows_where_a_changed_adapter_comes_from_and_what_is_wrong() {
    let home = Home::new();
    home.write(".config/coven/adapters/claude/config.json", r#"{"command": "my-claude"}"#);
    home.write(".config/coven/adapters/broken/config.json", r#"{"comand": "x"}"#);
    home.write("project/.coven/adapters/theirs/config.json", r#"{"command": "x"}"#);
    let said = home.said(&["ls"]);
    assert!(said.contains("built in < user"), "{said}");
    assert!(said.contains("did you mean `command`?"), "{said}");
    assert!(!said.lines().any(|line| line.starts_with("theirs  ")), "{said}");
}

#[test]
fn ls_as_json_has_the_layers() {
    let home = Home::new();
    let output = home.adapter(&["ls", "--json"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let gemini = all.iter().find(|entry| entry["type"] == "gemini").unwrap();
    assert_eq!(gemini["displayName"], "Gemini CLI");
    assert_eq!(gemini["modes"], serde_json::json!(["interactive", "headless"]));
    assert_eq!(gemini["layers"][0]["layer"], "built in");
}

#[test]
fn show_prints_all_layers_laid_together_and_source_the_file_itself() {
    let home = Home::new();
    home.write(".config/coven/adapters/demo/config.json", r#"{"command": "/opt/coven"}"#);
    let shown: Value = serde_json::from_slice(&home.adapter(&["show", "demo"]).stdout).unwrap();
    assert_eq!(shown["command"], "/opt/coven");
    assert_eq!(shown["metadata"]["displayName"], "Demo agent");
    let source = home.adapter(&["show", "demo", "--source"]);
    assert_eq!(stdout(&source), coven_adapters::builtin::source("demo").unwrap());
    assert_snapshot!(home.said(&["show", "claud"]), @r"
    --- exit 1
    error: there is no adapter `claud`; did you mean `claude`?
    ");
    assert_snapshot!(home.said(&["show", "mine", "--source"]), @r"
    --- exit 1
    error: `mine` is not built in
    hint: these are: aider, claude, codex, copilot, demo, gemini, opencode, qwen, shell
    ");
}

#[test]
fn check_shows_every_problem_with_its_line() {
    let home = Home::new();
    home.write(
        "project/mine.json",
        "{\n  \"comand\": \"x\",\n  \"states\": { \"a\": { \"pattern\": \"(\" } },\n  \"keys\": { \"deny\": [\"Ecs\"] }\n}\n",
    );
    assert_snapshot!(home.said(&["check", "mine.json"]), @r#"
    --- exit 1
    error[unknown-key]: unknown key `comand`; did you mean `command`?
     --> mine.json:2:3
      |
    2 |   "comand": "x",
      |   ^^^^^^^^

    error[bad-pattern]: not a regular expression: unclosed group
     --> mine.json:3:34
      |
    3 |   "states": { "a": { "pattern": "(" } },
      |                                  ^

    error[key]: unknown key "Ecs"; did you mean Esc?
     --> mine.json:4:22
      |
    4 |   "keys": { "deny": ["Ecs"] }
      |                      ^^^^^
    "#);
    let output = home.adapter(&["check", "mine.json", "--json"]);
    let files: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(files[0]["ok"], false);
    assert_eq!(files[0]["problems"][1]["line"], 3);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn check_takes_files_folders_and_types() {
    let home = Home::new();
    home.write("project/here/config.json", "{}");
    assert_snapshot!(home.said(&["check", "claude", "here"]), @r"
    built-in claude: ok
    here/config.json: ok
    --- exit 0
    ");
    assert_snapshot!(home.said(&["check", "nowhere.json"]), @r"
    --- exit 1
    error: could not read nowhere.json: No such file or directory (os error 2)
    ");
    assert_snapshot!(home.said(&["check", "cluade"]), @r"
    --- exit 1
    error: `cluade` is neither a file nor an adapter
    hint: did you mean `claude`?
    ");
    assert_snapshot!(home.said(&["check", "nothing"]), @r"
    --- exit 1
    error: `nothing` is neither a file nor an adapter
    hint: `coven adapter ls` shows the adapters; a file is named by its path
    ");
}

#[test]
fn a_new_adapter_passes_its_check_and_is_there() {
    let home = Home::new();
    assert_snapshot!(home.said(&["new", "mine", "--user"]), @r"
    ~/.config/coven/adapters/mine/config.json
    --- exit 0
    Edit it, then: coven adapter check ~/.config/coven/adapters/mine/config.json
    ");
    assert_snapshot!(home.said(&["check", "mine"]), @r"
    ~/.config/coven/adapters/mine/config.json: ok
    --- exit 0
    ");
    assert!(home.said(&["ls"]).contains("mine "));
    assert_snapshot!(home.said(&["new", "mine", "--user"]), @r"
    --- exit 1
    error: ~/.config/coven/adapters/mine/config.json is already there
    hint: edit it, or choose another type
    ");
    assert_snapshot!(home.said(&["new", "My Own"]), @r#"
    --- exit 2
    error: "My Own" cannot be the type of an adapter
    hint: use lower-case letters, digits, `-` and `_`
    "#);
}

#[test]
fn a_new_adapter_can_begin_with_another_one() {
    let home = Home::new();
    home.adapter(&["new", "claude-work", "--from", "claude"]);
    // It is agreed to as it was written, so it counts at once.
    assert_eq!(home.adapter(&["check", "claude-work"]).status.code(), Some(0));
    let shown = home.adapter(&["show", "claude-work"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["command"], "claude");
    home.adapter(&["new", "ours"]);
    assert!(home.path("project/.coven/adapters/ours/config.json").is_file());
    assert_snapshot!(home.said(&["new", "x", "--from", "cluade"]), @r"
    --- exit 1
    error: there is no adapter `cluade`; did you mean `claude`?
    ");
}

#[test]
fn replay_as_json_is_one_line_per_change() {
    let home = Home::new();
    let output =
        home.adapter(&["replay", "claude", &recording("claude/approve-shell.cast"), "--json"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<&str> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states[0], "starting");
    assert!(states.contains(&"awaiting"), "{states:?}");
    let awaiting = lines.iter().find(|line| line["state"] == "awaiting").unwrap();
    assert_eq!(awaiting["kind"], "approval");
    assert!(awaiting["t"].as_f64().unwrap() > 0.0);
    for key in ["source", "rule", "region", "text", "since"] {
        assert!(!awaiting["evidence"][key].is_null(), "{awaiting}");
    }
    assert!(lines.iter().all(|line| line.get("kind").is_some()), "the key is always there");
    let times: Vec<f64> = lines.iter().map(|line| line["t"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn replay_for_people_fits_eighty_columns() {
    let home = Home::new();
    let output = home.adapter(&["replay", "codex", &recording("codex/approve-shell.cast")]);
    assert!(stdout(&output).lines().all(|line| line.chars().count() < 80), "{}", stdout(&output));
    assert_snapshot!(stdout(&output), @r"
    0.000  starting             started
    0.546  idle                 interaction_idle: › Ask Codex to do anything
    1.443  working              osc7501: working
    1.776  awaiting (approval)  interaction_approval: Press enter to confirm o…
    3.048  # awaiting_approval:shell
    4.089  working              osc7501: working
    4.373  idle                 osc7501: done
    5.580  # idle:finished
    ");
}

#[test]
fn replay_answers_for_any_recording_and_from_a_pipe() {
    let home = Home::new();
    let cast = home.write(
        "x.cast",
        "{\"version\": 2, \"width\": 80, \"height\": 24}\n[0.5, \"o\", \"$ ls\\r\\n\"]\n[1.0, \"x\", \"?\"]\n",
    );
    let mut command = home.command(&["adapter", "replay", "shell", "-", "--json"]);
    let output = command.stdin(fs::File::open(cast).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("{\"t\":0.0,\"state\":\"starting\""),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_recording_that_is_none_is_told_with_what_one_is() {
    let home = Home::new();
    home.write(
        "project/broken.cast",
        "{\"version\": 2, \"width\": 80, \"height\": 24}\n[0.5, oh\n",
    );
    assert_snapshot!(home.said(&["replay", "claude", "broken.cast", "--json"]), @r#"
    {"t":0.0,"state":"starting","kind":null,"evidence":{"source":"process","rule":"started","region":"process","text":"","since":0}}
    --- exit 1
    {"error":{"code":"failed","message":"broken.cast cannot be replayed: line 2, column 7: not valid JSON: expected value","exit":1,"hint":"a recording is an asciicast v2 file, as `asciinema rec` or `coven play --export` make it"}}
    "#);
    home.write("project/empty.cast", "");
    assert_snapshot!(home.said(&["replay", "claude", "empty.cast"]), @r"
    --- exit 1
    error: empty.cast cannot be replayed: the recording is empty; its first line must be an asciicast v2 header
    hint: a recording is an asciicast v2 file, as `asciinema rec` or `coven play --export` make it
    ");
    assert_snapshot!(home.said(&["replay", "claude", "missing.cast"]), @r"
    --- exit 1
    error: could not read missing.cast: No such file or directory (os error 2)
    ");
    assert_snapshot!(home.said(&["replay", "cluade", "empty.cast"]), @r"
    --- exit 1
    error: there is no adapter `cluade`; did you mean `claude`?
    ");
}

#[test]
fn a_file_given_for_a_replay_counts_over_the_adapter() {
    let home = Home::new();
    let config = home.write("mine.json", r#"{"signals": {"osc7501": false, "title": []}}"#);
    let cast = recording("codex/idle.cast");
    let args = ["replay", "codex", &cast, "--config", config.to_str().unwrap(), "--json"];
    let output = home.adapter(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains("\"osc7501\""), "{}", stdout(&output));
}

#[test]
fn test_holds_recordings_against_their_marks() {
    let home = Home::new();
    let output = home.adapter(&["test", "codex", "--recordings", &recording("codex")]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("15 of 15 marks right in 7 recordings\n"));

    let header = "{\"version\": 2, \"width\": 80, \"height\": 24}\n";
    let cast = format!("{header}[0.5, \"o\", \"> \"]\n[2.0, \"m\", \"working:really\"]\n");
    home.write(".config/coven/adapters/mine/one.cast", &cast);
    home.adapter(&["new", "mine", "--user"]);
    assert_snapshot!(home.said(&["test", "mine"]), @r"
    mine  0/1  ~/.config/coven/adapters/mine/one.cast
        2.00 s: marked `working:really`, read as idle by interaction_idle: >
    0 of 1 marks right in 1 recording
    --- exit 1
    ");
    assert_snapshot!(home.said(&["test", "demo"]), @r"
    --- exit 1
    error: there are no recordings
    hint: put asciicast files with marks such as `idle:start` beside an adapter's config.json
    ");
    assert_snapshot!(home.said(&["test", "--recordings", "x"]), @r"
    --- exit 2
    error: --recordings needs exactly one type
    hint: coven adapter test claude --recordings FOLDER
    ");
}

#[test]
fn test_with_a_folder_that_is_not_there_says_so() {
    let home = Home::new();
    assert_snapshot!(home.said(&["test", "demo", "--recordings", "nowhere"]), @r"
    --- exit 1
    error: could not read nowhere: No such file or directory (os error 2)
    ");
}

#[test]
fn the_schema_is_what_check_goes_by() {
    let home = Home::new();
    let output = home.command(&["schema", "adapter"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema, coven_adapters::config::schema());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    for args in [&["adapter", "ls"][..], &["adapter", "show", "claude"], &["schema", "adapter"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(args).stdout(writer).output().unwrap();
        let told = stderr(&output);
        assert!(output.status.code() == Some(0) && !told.contains("error"), "{args:?}: {told}");
    }
}
