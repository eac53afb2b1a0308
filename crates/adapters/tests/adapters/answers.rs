//! The answers of the real programs, exactly: their own conversations, and their screens at the same
//! moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use coven_adapters::answer::is_shown;
use coven_adapters::{Options, default_registry};
use coven_terminal::screen::{GridSize, Screen};
use coven_terminal::snapshot::ScreenSnapshot;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/answers")
}

fn read(path: &str) -> String {
    fs::read_to_string(fixtures().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(fixtures().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn screen(path: &str) -> ScreenSnapshot {
    let mut screen = Screen::new(GridSize::new(200, 60));
    screen.feed(read(path).replace('\n', "\r\n").as_bytes());
    screen.snapshot()
}

/// An answer after a tool was approved, one of JSON alone, with a block of code, longer than the
/// screen (word by word, and at once), of several paragraphs in narrow and wide terminals, after a
/// turn that was interrupted; and always the answer of the last turn alone.
#[track_caller]
fn every_answer_of(cli: &str) {
    let adapter = default_registry().create(cli, Options::default()).unwrap();
    let config = adapter.config().answer.as_ref().unwrap();
    let mut seen = BTreeSet::new();
    for size in names(cli) {
        for moment in names(&format!("{cli}/{size}")) {
            let Some(moment) = moment.strip_suffix(".jsonl") else { continue };
            let place = format!("{cli}/{size}/{moment}");
            seen.insert(moment.to_owned());
            let turn = config.last_turn(&read(&format!("{place}.jsonl"))).unwrap();
            if moment == "interrupted" {
                assert_eq!(turn.answer, None, "{place}");
                continue;
            }
            let said = read(&format!("said/{moment}.txt"));
            let answer = turn.answer.unwrap_or_else(|| panic!("{place} has no answer"));
            assert_eq!(answer, said.trim_end(), "{place}");
            let screen = screen(&format!("{place}.screen.txt"));
            assert!(is_shown(&answer, &screen), "{place}");
            assert!(!is_shown(&format!("{answer}\nNot said."), &screen), "{place}");
        }
    }
    let all = ["bare", "burst", "code", "interrupted", "json", "many", "prose", "shell"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn claude() {
    every_answer_of("claude");
}

#[test]
fn codex() {
    every_answer_of("codex");
}

#[test]
fn gemini() {
    every_answer_of("gemini");
}

#[test]
fn qwen() {
    every_answer_of("qwen");
}

#[test]
fn copilot() {
    every_answer_of("copilot");
}

#[test]
fn a_conversation_is_found_by_what_its_first_line_says() {
    let first = |path: &str| read(path).lines().next().unwrap().to_owned();
    let of = |cli: &str, line: &str, id: Option<&str>, folder: &str| {
        let adapter = default_registry().create(cli, Options::default()).unwrap();
        adapter.config().answer.as_ref().unwrap().is_of(line, id, folder)
    };
    let codex = first("codex/80x24/prose.jsonl");
    assert!(of("codex", &codex, None, "/home/dev/demo"));
    assert!(!of("codex", &codex, None, "/home/dev"));
    let (gemini, id) = (first("gemini/80x24/prose.jsonl"), "11111111-2222-4333-8444-555555555555");
    assert!(of("gemini", &gemini, Some(id), "/anywhere"));
    assert!(!of("gemini", &gemini, Some("11111111"), "/anywhere"));
}

#[test]
fn programs_that_cannot_be_read_say_so() {
    for (cli, reads) in [("opencode", false), ("aider", false), ("shell", false), ("demo", true)] {
        let adapter = default_registry().create(cli, Options::default()).unwrap();
        assert_eq!(adapter.config().abilities(cli).reads_answers, reads, "{cli}");
    }
}
