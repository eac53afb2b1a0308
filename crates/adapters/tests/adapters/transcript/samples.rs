//! Every recorded run: what it is read as, and that cutting it changes nothing.

use std::fmt::Write as _;

use coven_adapters::transcript::TranscriptFormat;

use super::{Read, Sample, exit, read};

/// As lines of JSON, with what came of it at the end.
fn show(read: &Read) -> String {
    let mut text = String::new();
    for entry in &read.entries {
        writeln!(text, "{}", serde_json::to_string(entry).unwrap()).unwrap();
    }
    let conclusion = &read.conclusion;
    writeln!(text, "ok: {}, complete: {}", conclusion.ok, conclusion.complete).unwrap();
    writeln!(text, "reason: {}", conclusion.reason).unwrap();
    writeln!(text, "answer: {:?}", read.answer()).unwrap();
    writeln!(text, "usage: {}", serde_json::to_string(&conclusion.usage).unwrap()).unwrap();
    let denials: Vec<String> = conclusion.denials.iter().map(ToString::to_string).collect();
    writeln!(text, "denials: {denials:?}").unwrap();
    write!(text, "session: {:?}", conclusion.session).unwrap();
    text
}

#[test]
fn every_sample_is_read_as_what_happened() {
    let samples = Sample::all();
    assert_eq!(samples.len(), 29);
    for sample in samples {
        insta::assert_snapshot!(sample.name.as_str(), show(&sample.read()));
    }
}

#[test]
fn every_sample_is_the_same_cut_in_two_at_every_byte() {
    for sample in Sample::all() {
        let whole = sample.read();
        for at in 0..=sample.stdout.len() {
            let (first, second) = sample.stdout.split_at(at);
            let pieces: [(&[u8], &[u8]); 3] = [(first, b""), (second, b""), (b"", &sample.stderr)];
            let cut = read(sample.decoder(), &pieces, &exit(sample.code));
            assert_eq!(cut.entries, whole.entries, "{} at {at}", sample.name);
            assert_eq!(cut.conclusion, whole.conclusion, "{} at {at}", sample.name);
        }
        for at in 0..=sample.stderr.len() {
            let (first, second) = sample.stderr.split_at(at);
            let pieces: [(&[u8], &[u8]); 3] = [(&sample.stdout, b""), (b"", first), (b"", second)];
            let cut = read(sample.decoder(), &pieces, &exit(sample.code));
            assert_eq!(cut.entries, whole.entries, "{} on stderr at {at}", sample.name);
            assert_eq!(cut.conclusion, whole.conclusion, "{} on stderr at {at}", sample.name);
        }
    }
}

#[test]
fn every_sample_is_the_same_in_pieces_of_any_size() {
    for sample in Sample::all() {
        let whole = sample.read();
        for size in [1, 2, 3, 7, 64, 1000] {
            let mut pieces: Vec<(&[u8], &[u8])> =
                sample.stdout.chunks(size).map(|piece| (piece, &b""[..])).collect();
            pieces.extend(sample.stderr.chunks(size).map(|piece| (&b""[..], piece)));
            let cut = read(sample.decoder(), &pieces, &exit(sample.code));
            assert_eq!(cut.entries, whole.entries, "{} in {size}s", sample.name);
            assert_eq!(cut.conclusion, whole.conclusion, "{} in {size}s", sample.name);
        }
    }
}

#[test]
fn a_sample_that_breaks_off_is_no_success_even_with_exit_code_0() {
    for sample in Sample::all().iter().filter(|sample| sample.format != TranscriptFormat::Text) {
        for at in 0..sample.stdout.len() {
            let (printed, lost) = sample.stdout.split_at(at);
            let cut = read(sample.decoder(), &[(printed, &sample.stderr)], &exit(0));
            if lost.trim_ascii().is_empty() {
                continue;
            }
            let conclusion = &cut.conclusion;
            assert!(!conclusion.ok, "{} at {at}: {}", sample.name, conclusion.reason);
            assert!(!conclusion.complete, "{} at {at}: {}", sample.name, conclusion.reason);
        }
    }
}

#[test]
fn a_terminal_changes_nothing_but_the_ends_of_lines() {
    for sample in Sample::all().iter().filter(|sample| sample.format != TranscriptFormat::Text) {
        let whole = sample.read();
        let text = String::from_utf8(sample.stdout.clone()).unwrap();
        let single = |line: &str| line.starts_with('{') && line.ends_with('}') && line.len() > 2;
        let lines = text.lines().map(|line| {
            if single(line) {
                format!("\u{1b}[?25l\u{1b}]0;title\u{7}working\r\u{1b}[2K{line}\u{1b}[0m\0\r\n")
            } else {
                format!("{line}\r\n")
            }
        });
        let dressed: String = lines.collect();
        let pieces: [(&[u8], &[u8]); 1] = [(dressed.as_bytes(), &sample.stderr)];
        let on_terminal = read(sample.decoder(), &pieces, &exit(sample.code));
        assert_eq!(on_terminal.conclusion, whole.conclusion, "{}", sample.name);
        assert_eq!(on_terminal.entries.len(), whole.entries.len(), "{}", sample.name);
    }
}
