//! Through pipes: what is printed, what is remembered, and what is refused.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::Home;
use crate::{stderr, stdout};

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.agent(arguments).output().unwrap()
}

/// The exit code and what was said about it.
fn refusal(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(home, arguments);
    assert_eq!(stdout(&output), "", "{arguments:?}");
    (output.status.code(), stderr(&output).to_owned())
}

fn piped(home: &Home, input: &[u8]) -> Output {
    let mut agent = home.agent(["--headless"]);
    agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = agent.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // It may have seen enough before the end.
    pipe.write_all(input).ok();
    drop(pipe);
    child.wait_with_output().unwrap()
}

#[test]
fn help_shows_directives_and_exit_codes() {
    let output = run(&Home::new(), &["--help"]);
    let text = stdout(&output);
    for part in ["approve COMMAND", "Exit codes:\n  0    done", "--permissions", "double-fork"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("--helper"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn it_does_not_show_up_in_the_help_of_coven() {
    let output = crate::coven(&["--help"]);
    assert!(!stdout(&output).contains("demo-agent"));
}

#[test]
fn version_is_one_line() {
    let output = run(&Home::new(), &["--version"]);
    let expected = format!("coven-demo-agent {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(stdout(&output), expected);
}

#[test]
fn without_a_terminal_it_answers_and_ends() {
    let output = run(&Home::new(), &["hello"]);
    assert!(stdout(&output).starts_with("You said: \"hello\"."), "{}", stdout(&output));
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn a_stream_tells_everything_in_json_lines() {
    let home = Home::new();
    let arguments = ["--headless", "--output-format", "stream-json", "--session-id", "abc"];
    let prompt =
        ["--permissions", "edits", "say hi; write ./new.txt text; approve touch x; cost 2"];
    let output = run(&home, &[&arguments[..], &prompt].concat());
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = "system assistant assistant user assistant system user assistant result";
    assert_eq!(types.join(" "), expected);
    assert!(lines.iter().all(|line| line["session_id"] == "abc"));
    let result = lines.last().unwrap();
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch x");
    assert_eq!((&result["is_error"], &result["total_cost_usd"]), (&false.into(), &2.0.into()));
    assert_eq!(fs::read_to_string(home.path().join("new.txt")).unwrap(), "text\n");
    assert!(!home.path().join("x").exists());
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_resumed_session_remembers() {
    let home = Home::new();
    run(&home, &["--session-id", "abc", "my name is Ada"]);
    let output = run(&home, &["--resume", "abc", "who am I?"]);
    let answer = stdout(&output);
    assert!(answer.contains("Before that you said: \"my name is Ada\"."), "{answer}");
    let (code, text) = refusal(&home, &["--session-id", "abc", "hello"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("hint: go on with it: --resume abc"), "{text}");
}

#[test]
fn a_script_says_what_to_do() {
    let home = Home::new();
    fs::write(home.path().join("script"), "# comment\nsay one\nrepeat 2\nsay two\n").unwrap();
    let output = run(&home, &["--script", "script"]);
    assert_eq!(stdout(&output), "one\ntwo\ntwo\n");
    let output = run(&home, &["--first", "say zero", "--script", "script", "any prompt"]);
    assert_eq!(stdout(&output), "zero\none\ntwo\ntwo\n");
}

#[test]
fn exit_codes_are_as_documented() {
    let home = Home::new();
    for (prompt, code) in [("say a", 0), ("approve ls", 0), ("fail no", 1), ("exit 42", 42)] {
        assert_eq!(run(&home, &[prompt]).status.code(), Some(code), "{prompt}");
    }
}

#[test]
fn bad_input_is_refused_with_a_reason_and_a_hint() {
    let home = Home::new();
    fs::write(home.path().join("typo"), "say hi\nthnik 1\n").unwrap();
    fs::write(home.path().join("binary"), b"say \xff\xfe\n").unwrap();
    for (arguments, code, parts) in [
        (&["--headless"][..], 2, ["a headless run needs a prompt", "give it as the last argument"]),
        (&["--headless", " "], 2, ["a headless run needs a prompt", "hint:"]),
        (&["--no-such"], 2, ["unexpected argument '--no-such'", "Usage:"]),
        (&["-x"], 2, ["unexpected argument '-x'", "'-- -x'"]),
        (&["--permissions", "yolo", "hi"], 2, ["invalid value 'yolo'", "read-only"]),
        (&["--delay", "-1", "hi"], 2, ["--delay", "seconds"]),
        (&["--script", "none"], 2, ["cannot read the script none", "No such file"]),
        (&["--script", "."], 2, ["cannot read the script .", "directory"]),
        (&["--script", "binary"], 2, ["cannot read the script binary", "utf-8"]),
        (&["--script", "typo"], 2, ["typo:2: unknown directive", "did you mean \"think\"?"]),
        (&["--first", "hang on", "hi"], 2, ["--first: hang: takes nothing", "write it as `hang`"]),
        (&["--resume", "none", "hi"], 1, ["there is no session none", "hint:"]),
        (&["--resume", "../x", "hi"], 2, ["\"../x\" is not a session id", "hint:"]),
        (&["--resume", "a", "--session-id", "b"], 2, ["cannot be used with", "--session-id"]),
    ] {
        let (found, text) = refusal(&home, arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{arguments:?}: {text}");
    }
}

#[test]
fn a_prompt_may_begin_with_a_dash_after_two() {
    let output = run(&Home::new(), &["--headless", "--", "--version"]);
    assert!(stdout(&output).starts_with("You said: \"--version\"."), "{}", stdout(&output));
}

#[test]
fn a_prompt_that_is_not_text_is_refused() {
    let home = Home::new();
    let output = home.agent([OsString::from_vec(b"ab\xff".to_vec())]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not UTF-8: byte 3"), "{}", stderr(&output));
    let output = piped(&home, b"\x80");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_long_prompt_comes_from_stdin_and_a_huge_one_is_refused() {
    let home = Home::new();
    let output = piped(&home, &vec![b'x'; 1_000_000]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    assert!(output.stdout.len() < 1000);
    let output = piped(&home, &vec![b'x'; coven_demo::MAX_PROMPT + 1]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("longer than 4 MiB"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Home::new().agent(["flood 1000000"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Home::new().agent(["say hi"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: cannot write the output: No space"));
}
