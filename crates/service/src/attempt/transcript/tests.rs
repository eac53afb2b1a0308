//! Transcripts from tapes: the same entries however a tape is read, and no secrets in them.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

use std::path::{Path, PathBuf};

use coven_model::TranscriptPart;
use coven_runner::HiddenTexts;
use coven_tape::{Options, TapeStream, TapeWriter};
use serde_json::{Value, json};

use super::tape::BLOCK_BYTES;
use super::*;

/// A tape in a folder of its own.
struct Tape {
    _root: tempfile::TempDir,
    folder: PathBuf,
    writer: TapeWriter,
    time: u64,
}

impl Tape {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap();
        let writer = TapeWriter::create(&folder, Options::default()).unwrap();
        Self { _root: root, folder, writer, time: 0 }
    }

    /// One whose agent speaks a protocol.
    fn channel(kind: &str) -> Self {
        let tape = Self::new();
        let setup = json!({"kind": kind, "options": {}, "cwd": "/", "previous": {}});
        std::fs::write(tape.folder.join("channel.json"), setup.to_string()).unwrap();
        tape
    }

    fn print(&mut self, stream: TapeStream, bytes: &[u8]) {
        self.time += 1000;
        self.writer.output(self.time, stream, bytes).unwrap();
    }

    fn line(&mut self, value: &Value) {
        self.print(TapeStream::Out, format!("{value}\n").as_bytes());
    }

    fn write(&mut self, value: &Value) {
        self.time += 1000;
        self.writer.input(self.time, format!("{value}\n").as_bytes()).unwrap();
    }

    fn source(&self, format: TranscriptFormat) -> TapeSource {
        TapeSource { folder: self.folder.clone(), format }
    }

    fn page(&self, format: TranscriptFormat, query: &TranscriptQuery) -> TranscriptPage {
        page(&self.source(format), false, query).unwrap()
    }

    fn all(&self, format: TranscriptFormat) -> Vec<TranscriptEntry> {
        self.page(format, &TranscriptQuery { limit: Some(10_000), ..TranscriptQuery::default() })
            .entries
    }
}

fn after(id: u64, limit: u64) -> TranscriptQuery {
    TranscriptQuery { after: Some(id), limit: Some(limit), ..TranscriptQuery::default() }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every recorded run: its name, its format, its output.
fn headless_samples() -> Vec<(String, TranscriptFormat, Vec<u8>, Vec<u8>)> {
    let formats = [
        ("claude", TranscriptFormat::ClaudeStreamJson),
        ("codex", TranscriptFormat::CodexJson),
        ("gemini", TranscriptFormat::GeminiStreamJson),
        ("opencode", TranscriptFormat::OpencodeJson),
        ("qwen", TranscriptFormat::QwenStreamJson),
        ("copilot", TranscriptFormat::CopilotJson),
        ("aider", TranscriptFormat::Text),
    ];
    let mut samples = Vec::new();
    for (agent, format) in formats {
        for entry in std::fs::read_dir(fixtures().join("headless").join(agent)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "out") {
                let stderr = std::fs::read(path.with_extension("err")).unwrap_or_default();
                let name = path.display().to_string();
                samples.push((name, format, std::fs::read(path).unwrap(), stderr));
            }
        }
    }
    assert!(samples.len() > 25, "{}", samples.len());
    samples
}

fn texts(entries: &[TranscriptEntry]) -> String {
    let list: Vec<Value> = entries
        .iter()
        .map(|entry| json!([entry.text, serde_json::to_value(&entry.part).unwrap()]))
        .collect();
    serde_json::to_string_pretty(&list).unwrap()
}

#[test]
fn every_recorded_run_is_the_same_at_once_in_pieces_and_page_by_page() {
    for (name, format, stdout, stderr) in headless_samples() {
        let mut whole = Tape::new();
        for block in stdout.chunks(coven_tape::MAX_PAYLOAD) {
            whole.print(TapeStream::Out, block);
        }
        if !stderr.is_empty() {
            whole.print(TapeStream::Err, &stderr);
        }
        let expected = whole.all(format);
        let mut pieces = Tape::new();
        stdout.chunks(7).for_each(|piece| pieces.print(TapeStream::Out, piece));
        stderr.chunks(5).for_each(|piece| pieces.print(TapeStream::Err, piece));
        assert_eq!(texts(&pieces.all(format)), texts(&expected), "{name}");
        let mut read = VecDeque::new();
        let mut last = 0;
        loop {
            let page = whole.page(format, &after(last, 1));
            page.entries.into_iter().for_each(|entry| add(&mut read, entry));
            assert!(page.next > last || !page.more, "{name} does not go on after {last}");
            last = page.next;
            if !page.more {
                break;
            }
        }
        assert_eq!(Vec::from(read), expected, "{name}");
    }
}

#[test]
fn every_recorded_conversation_is_the_same_at_once_and_in_pieces() {
    let mut count = 0;
    for entry in std::fs::read_dir(fixtures().join("channels")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let kind = match name.as_str() {
            name if name.starts_with("claude-stdio") => "claude-stdio",
            name if name.starts_with("codex") => "codex-app-server",
            name if name.contains("acp") => "acp",
            _ => continue,
        };
        let (mut whole, mut pieces) = (Tape::channel(kind), Tape::channel(kind));
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let message = format!("{}\n", record["msg"]);
            match record["dir"].as_str() {
                Some("<<") => {
                    whole.print(TapeStream::Out, message.as_bytes());
                    message.as_bytes().chunks(1000).for_each(|piece| {
                        pieces.print(TapeStream::Out, piece);
                    });
                }
                Some(">>") => {
                    whole.write(&record["msg"]);
                    pieces.write(&record["msg"]);
                }
                _ => {}
            }
        }
        let (expected, cut) =
            (whole.all(TranscriptFormat::Text), pieces.all(TranscriptFormat::Text));
        assert_eq!(texts(&cut), texts(&expected), "{name}");
        let ids = |list: &[TranscriptEntry]| list.iter().map(|entry| entry.id).collect::<Vec<_>>();
        assert_eq!(ids(&cut), ids(&expected), "{name}");
        let asks = expected.iter().any(|one| matches!(one.part, TranscriptPart::Question { .. }));
        let has_asked = name.contains("allow") || name.contains("accept") || name.contains("deny");
        assert!(asks || !has_asked, "{name}: {}", texts(&expected));
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

fn tool_line(number: usize, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": [
        {"type": "text", "text": format!("message {number}")},
        {"type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": {"command": text}},
    ]}})
}

#[test]
fn entries_of_a_long_tape_are_the_same_from_any_place_on() {
    let mut tape = Tape::new();
    for number in 0..400 {
        tape.line(&tool_line(number, &"x".repeat(900)));
    }
    assert!(tape.writer.end() > 5 * BLOCK_BYTES);
    let format = TranscriptFormat::ClaudeStreamJson;
    let all = tape.all(format);
    assert_eq!(all.len(), 800);
    assert!(all.windows(2).all(|two| two[0].id < two[1].id));
    for (place, entry) in all.iter().enumerate().step_by(7) {
        let page = tape.page(format, &after(entry.id, 3));
        let end = (place + 4).min(all.len());
        assert_eq!(page.entries, all[place + 1..end], "after {place}");
        assert_eq!(page.more, end < all.len(), "after {place}");
    }
    for tail in [1, 10, 300, 800] {
        let query = TranscriptQuery { tail: Some(tail), ..TranscriptQuery::default() };
        let page = tape.page(format, &query);
        let expected = &all[all.len() - page.entries.len()..];
        assert_eq!(page.entries, expected, "the last {tail}");
        // Beyond the last blocks it is not read for the sake of a tail.
        assert!(page.entries.len() as u64 == tail.min(300) || tail > 100, "{tail}");
    }
    let beyond = tape.page(format, &after(u64::MAX >> 8, 3));
    assert_eq!((beyond.entries, beyond.more), (Vec::new(), false));
}

#[test]
fn a_long_turn_is_known_to_end_though_its_beginning_is_not_read() {
    let mut tape = Tape::channel("acp");
    tape.write(&json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt",
        "params": {"sessionId": "S", "prompt": [{"type": "text", "text": "go"}]}}));
    let piece = |text: &str| {
        json!({"jsonrpc": "2.0", "method": "session/update", "params":
        {"sessionId": "S", "update": {"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": text}}}})
    };
    while tape.writer.end() < 4 * BLOCK_BYTES {
        tape.line(&piece(&"word ".repeat(100)));
    }
    tape.line(&json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    let query = TranscriptQuery { tail: Some(1), ..TranscriptQuery::default() };
    let last = tape.page(TranscriptFormat::Text, &query).entries.pop().unwrap();
    assert!(matches!(last.part, TranscriptPart::Final { ok: true, .. }), "{:?}", last.part);
}

#[test]
fn a_secret_is_in_no_part_of_an_entry_also_where_it_comes_in_pieces() {
    let secret = "caller-s3cret-0001";
    let mut tape = Tape::channel("acp");
    HiddenTexts::of([secret]).save(&tape.folder).unwrap();
    let update = |update: Value| {
        json!({"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": "S", "update": update}})
    };
    tape.write(&json!({"jsonrpc": "2.0", "id": 3, "method": "session/prompt",
        "params": {"sessionId": "S", "prompt": [{"type": "text", "text": secret}]}}));
    for piece in ["it is caller-s3", "cret-0001", " so"] {
        let content = json!({"type": "text", "text": piece});
        tape.line(&update(json!({"sessionUpdate": "agent_message_chunk", "content": content})));
    }
    tape.line(&update(json!({"sessionUpdate": "plan", "entries": [{"content": secret}]})));
    tape.line(&update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit",
        "status": "in_progress", "rawInput": {"note": [secret], "path": secret},
        "content": [{"type": "diff", "path": secret, "oldText": "a", "newText": secret}]})));
    tape.line(&update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": secret}}]})));
    tape.print(TapeStream::Err, format!("{secret}\n").as_bytes());
    tape.line(&json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    let entries = tape.all(TranscriptFormat::Text);
    let told = texts(&entries);
    assert!(!told.contains("s3cret"), "{told}");
    assert!(entries.iter().any(|entry| entry.text == "it is [redacted] so"), "{told}");
    for kind in ["prompt", "plan", "tool", "diff", "result", "system", "final"] {
        assert!(told.contains(&format!("\"kind\": \"{kind}\"")), "no {kind}: {told}");
    }
    // Without knowing what to hide, nothing is shown.
    std::fs::write(tape.folder.join("hidden.json"), "{").unwrap();
    let refused = page(&tape.source(TranscriptFormat::Text), false, &TranscriptQuery::default());
    assert!(refused.is_err());
}

#[test]
fn escape_sequences_reach_no_entry() {
    let evil = "a\u{1b}]0;t\u{7}\u{1b}[31mb";
    let mut tape = Tape::new();
    tape.line(&tool_line(1, evil));
    tape.line(&json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": evil, "is_error": true}]}}));
    let told = texts(&tape.all(TranscriptFormat::ClaudeStreamJson));
    assert!(!told.contains("\\u001b") && told.contains("\"ab\""), "{told}");
}

#[test]
fn a_long_result_is_cut_with_its_true_size_and_given_whole_on_request() {
    let mut tape = Tape::new();
    let long = "r".repeat(40_000);
    tape.line(&json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c", "content": long}]}}));
    let format = TranscriptFormat::ClaudeStreamJson;
    let short = tape.all(format).remove(0);
    assert_eq!(short.text.len() as u64 + short.omitted, 40_000);
    assert!(short.text.len() < 20_000);
    let query = TranscriptQuery { whole: Some(true), ..after(short.id - 1, 1) };
    let whole = tape.page(format, &query).entries.remove(0);
    assert_eq!((whole.id, whole.text.len(), whole.omitted), (short.id, 40_000, 0));
}

#[test]
fn a_message_of_very_many_parts_is_cut_and_nothing_after_it_is_lost() {
    let mut tape = Tape::new();
    let parts: Vec<Value> =
        (0..3000).map(|number| json!({"type": "text", "text": number.to_string()})).collect();
    tape.line(&json!({"type": "assistant", "message": {"content": parts}}));
    tape.line(&tool_line(1, "ls"));
    let all = tape.all(TranscriptFormat::ClaudeStreamJson);
    assert_eq!(all.len(), 1024 + 2);
    assert_eq!(all[1023].text, "more of this message is left out");
    assert!(all.windows(2).all(|two| two[0].id < two[1].id));
}

#[test]
fn a_request_for_nothing_or_too_much_says_what_is_allowed() {
    for query in [
        TranscriptQuery { limit: Some(0), ..TranscriptQuery::default() },
        TranscriptQuery { tail: Some(10_001), ..TranscriptQuery::default() },
    ] {
        let error = check(&query).unwrap_err().to_string();
        assert!(error.contains("is 1 to 10000"), "{error}");
    }
}
