//! Transcripts from outside: every sample of every agent, cut in every way, and agents that lie.

mod causes;
mod large;
mod lies;
mod mutations;
mod rules;
mod samples;

use std::path::{Path, PathBuf};

use coven_adapters::transcript::{
    BUFFER_LIMIT, RunConclusion, ToolDenial, TranscriptDecoder, TranscriptFormat, TranscriptItem,
};
use coven_model::{ProcessEnding, TokenUsage};

/// A run: what it printed, and what was made of it.
struct Read {
    entries: Vec<TranscriptItem>,
    conclusion: RunConclusion,
}

fn exit(code: i32) -> ProcessEnding {
    ProcessEnding::Exited { code }
}

/// Feeds the pieces one after the other.
fn read(mut decoder: TranscriptDecoder, pieces: &[(&[u8], &[u8])], ending: &ProcessEnding) -> Read {
    let mut entries = Vec::new();
    let mut keep = |entry| entries.push(entry);
    for (stdout, stderr) in pieces {
        decoder.feed_stdout(stdout, &mut keep);
        decoder.feed_stderr(stderr, &mut keep);
        assert!(decoder.buffered() <= BUFFER_LIMIT);
    }
    let conclusion = decoder.finish(ending, &mut keep);
    let read = Read { entries, conclusion };
    read.check();
    read
}

/// What one run with exit code 0 printed on standard output.
fn printed(format: TranscriptFormat, stdout: &str) -> Read {
    read(TranscriptDecoder::new(format), &[(stdout.as_bytes(), b"")], &exit(0))
}

impl Read {
    /// What holds for every run: the conclusion is what the entries add up to.
    fn check(&self) {
        let (mut usage, mut denials, mut session) =
            (TokenUsage::default(), Vec::<&ToolDenial>::new(), None);
        for entry in &self.entries {
            match entry {
                TranscriptItem::Usage { usage: all, cumulative: true } => usage = *all,
                TranscriptItem::Usage { usage: more, cumulative: false } => {
                    usage = usage.plus(*more);
                }
                TranscriptItem::Denial(denial) => denials.push(denial),
                TranscriptItem::Session { id, .. } => session = Some(id),
                _ => {}
            }
        }
        let conclusion = &self.conclusion;
        assert_eq!(usage, conclusion.usage);
        assert_eq!(denials, conclusion.denials.iter().collect::<Vec<_>>());
        assert_eq!(session, conclusion.session.as_ref());
        assert!(!conclusion.reason.is_empty() && !conclusion.reason.contains(char::is_control));
        assert!(!(conclusion.ok && self.results().last() == Some(&false)));
    }

    /// What the results say, in order.
    fn results(&self) -> Vec<bool> {
        let ok = |entry: &TranscriptItem| match entry {
            TranscriptItem::Result { ok, .. } => Some(*ok),
            _ => None,
        };
        self.entries.iter().filter_map(ok).collect()
    }

    fn answer(&self) -> Option<&str> {
        self.conclusion.answer.as_ref().map(|answer| answer.text.as_str())
    }

    fn unknown(&self) -> Vec<&str> {
        let line = |entry: &'_ TranscriptItem| matches!(entry, TranscriptItem::Unknown { .. });
        self.entries
            .iter()
            .filter(|entry| line(entry))
            .map(|entry| match entry {
                TranscriptItem::Unknown { line } => line.text.as_str(),
                _ => "",
            })
            .collect()
    }
}

struct Sample {
    name: String,
    format: TranscriptFormat,
    code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    previous: TokenUsage,
}

impl Sample {
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/headless");
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .flat_map(|agent| std::fs::read_dir(agent.unwrap().path()).unwrap())
            .map(|file| file.unwrap().path())
            .filter(|file| file.to_string_lossy().ends_with(".meta.json"))
            .collect();
        files.sort();
        files.iter().map(|file| Self::load(file)).collect()
    }

    fn find(name: &str) -> Self {
        Self::all().into_iter().find(|sample| sample.name == name).unwrap()
    }

    fn load(meta: &Path) -> Self {
        let path = meta.to_string_lossy();
        let stem = path.strip_suffix(".meta.json").unwrap();
        let mut parts: Vec<&str> = stem.rsplit('/').take(2).collect();
        parts.reverse();
        let format = match parts[..] {
            // Printed without a format.
            ["aider", _] | ["gemini", "yolo-positional"] => TranscriptFormat::Text,
            ["claude", _] => TranscriptFormat::ClaudeStreamJson,
            ["codex", _] => TranscriptFormat::CodexJson,
            ["gemini", _] => TranscriptFormat::GeminiStreamJson,
            ["copilot", _] => TranscriptFormat::CopilotJson,
            ["opencode", _] => TranscriptFormat::OpencodeJson,
            ["qwen", _] => TranscriptFormat::QwenStreamJson,
            _ => panic!("an agent without a format: {parts:?}"),
        };
        let about: serde_json::Value =
            serde_json::from_slice(&std::fs::read(meta).unwrap()).unwrap();
        Self {
            name: parts.join("-"),
            format,
            code: about["rc"].as_i64().unwrap() as i32,
            stdout: std::fs::read(format!("{stem}.out")).unwrap(),
            stderr: std::fs::read(format!("{stem}.err")).unwrap(),
            previous: previous(&parts.join("-")),
        }
    }

    fn decoder(&self) -> TranscriptDecoder {
        TranscriptDecoder::new(self.format).resumed_from(self.previous)
    }

    fn read(&self) -> Read {
        self.read_with(&exit(self.code))
    }

    fn read_with(&self, ending: &ProcessEnding) -> Read {
        read(self.decoder(), &[(&self.stdout, &self.stderr)], ending)
    }
}

/// What the conversations that were resumed had used before: the same turn once.
fn previous(sample: &str) -> TokenUsage {
    let usage = match sample {
        "claude-resume" => {
            r#"{"inputTokens":2234,"cachedTokens":1000,"outputTokens":56,"costUsd":0.006256}"#
        }
        "codex-resume" => {
            r#"{"inputTokens":1234,"cachedTokens":1000,"outputTokens":56,"reasoningTokens":10}"#
        }
        _ => "{}",
    };
    serde_json::from_str(usage).unwrap()
}
