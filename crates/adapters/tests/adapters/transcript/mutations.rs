//! Samples with one value changed into something else, and bytes of any kind.

use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Sample, exit, read};

/// What may stand where something else was expected. Nothing here says success by itself.
fn junk() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0.5),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("\u{1b}[31m\u{0}é"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([[1], "a", null]),
        json!({}),
        json!({"type": "result"}),
    ]
}

/// Every place in a value, from the root.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                places(field, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// The events of a sample: one per line, or one for all of it.
fn events(sample: &Sample) -> Vec<Value> {
    let text = String::from_utf8_lossy(&sample.stdout);
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    lines.unwrap_or_else(|_| vec![serde_json::from_str(&text).unwrap()])
}

fn decode(sample: &Sample, events: &[Value]) -> super::Read {
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    read(sample.decoder(), &[(text.as_bytes(), &sample.stderr)], &exit(sample.code))
}

#[test]
fn a_wrong_type_in_any_field_never_turns_a_failure_into_a_success() {
    for sample in Sample::all().iter().filter(|sample| sample.format.has_result()) {
        let events = events(sample);
        let good = decode(sample, &events);
        assert_eq!(good.conclusion, sample.read().conclusion, "{}", sample.name);
        for line in 0..events.len() {
            let mut found = Vec::new();
            places(&events[line], "", &mut found);
            for place in found {
                for value in junk() {
                    let mut changed = events.clone();
                    *changed[line].pointer_mut(&place).unwrap() = value.clone();
                    let bad = decode(sample, &changed).conclusion;
                    let what = format!("{} line {line} {place} = {value:.40}", sample.name);
                    assert!(good.conclusion.ok || !bad.ok, "{what}: {}", bad.reason);
                }
            }
        }
    }
}

#[test]
fn a_result_with_a_wrong_type_where_it_says_success_is_none() {
    for (sample, places) in [
        ("claude-yolo", &["/type", "/subtype", "/is_error", "/result"][..]),
        ("qwen-positional-yolo", &["/type", "/subtype", "/is_error", "/result"]),
        ("codex-json", &["/type"]),
        ("gemini-stream-json-yolo", &["/type", "/status"]),
        ("gemini-resume", &["/response"]),
        ("opencode-json-auto", &["/type", "/part", "/part/reason"]),
    ] {
        let sample = Sample::find(sample);
        for place in places {
            for value in junk() {
                if *place == "/result" && value.is_string()
                    || *place == "/response" && value.is_string()
                {
                    continue;
                }
                let mut changed = events(&sample);
                *changed.last_mut().unwrap().pointer_mut(place).unwrap() = value.clone();
                let bad = decode(&sample, &changed).conclusion;
                assert!(!bad.ok, "{} {place} = {value:.40}: {}", sample.name, bad.reason);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_pieces_are_read_the_same(
        format in 0..TranscriptFormat::ALL.len(),
        bytes in prop::collection::vec(prop_oneof![
            4 => Just(b"{\"type\":\"result\",\"text\":\"".to_vec()),
            2 => Just(b"\r\n".to_vec()),
            2 => Just(b"\n".to_vec()),
            1 => Just(b"{\n  \"error\": {\n  }\n}\n".to_vec()),
            1 => Just(b"\x1b[31m".to_vec()),
            1 => Just("é漢\u{9b}".as_bytes().to_vec()),
            3 => prop::collection::vec(any::<u8>(), 0..8),
            3 => Just(b"\"}\n".to_vec()),
        ], 0..30),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let format = TranscriptFormat::ALL[format];
        let bytes = bytes.concat();
        let whole = read(TranscriptDecoder::new(format), &[(&bytes, b""), (b"", &bytes)], &exit(0));
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut start = 0;
        for end in ends {
            pieces.push(&bytes[start..end]);
            start = end;
        }
        let mut both: Vec<(&[u8], &[u8])> = pieces.iter().map(|piece| (*piece, &b""[..])).collect();
        both.extend(pieces.iter().map(|piece| (&b""[..], *piece)));
        let cut = read(TranscriptDecoder::new(format), &both, &exit(0));
        prop_assert_eq!(cut.entries, whole.entries);
        prop_assert_eq!(cut.conclusion, whole.conclusion);
    }

    #[test]
    fn a_sample_with_flipped_bytes_is_read_without_panic(
        sample in 0..17_usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut sample = Sample::all().swap_remove(sample);
        for (at, byte) in flips {
            if !sample.stdout.is_empty() {
                let at = at.index(sample.stdout.len());
                sample.stdout[at] = byte;
            }
        }
        sample.read();
    }
}
