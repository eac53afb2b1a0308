//! No text, however broken, breaks us.
#![allow(clippy::unwrap_used, reason = "tests say what they expect by failing")]

#[path = "any_text/exercise.rs"]
mod exercise;

use coven_notation::{FileSyntax, SourceFile, read};
use exercise::{File, any_text};
use proptest::prelude::*;

const YAML: &str = "name: a-file # comment\nsteps:\n  - &s {type: agent, prompt: \"do \\u00e9 ${x}\"}\n  \
                    - type: gate\n    command: |\n      one\n        two\n\n      three ${x}\n  - *s\n  \
                    - {type: agent, prompt: 'it''s', codes: [1, 2]}\ntimeout: 1h30m\ninner:\n  name: >-\n    \
                    folded\n    text\n  timeout: ~\n";
const JSON: &str = "{\n\t\"name\": \"a-file\",\n\t\"steps\": [\n\t\t{\"type\": \"agent\", \"prompt\": \
                    \"\\ud83e\\udd80 \\\\ ${x}\", \"codes\": 3},\r\n\t\t{\"type\": \"gate\", \"command\": null}],\n\
                    \t\"inner\": {\"name\": \"x\", \"timeout\": \"-5e3\"}\n}\n";

/// Pieces that mean something in one syntax or the other.
const PIECES: &[&str] = &[
    "\t",
    "\n",
    "\r\n",
    "- ",
    ": ",
    ":",
    "?",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "|",
    ">",
    "|2-\n",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "#",
    "//",
    "/*",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "\\",
    "\\u12",
    "\u{feff}",
    "\0",
    "\u{1b}[31m",
    "\u{85}",
    "\u{2028}",
    "🦀",
    "0x",
    "-",
    "1e999",
    ".inf",
    "true",
    "<<: *a\n",
    "name",
    "type: agent",
    "  ",
];

#[test]
fn the_examples_are_read_and_mean_what_they_say() {
    for (text, syntax) in [(YAML, FileSyntax::Yaml), (JSON, FileSyntax::Json)] {
        any_text(text);
        let read = read::<File>(&SourceFile::new("file", text), syntax);
        assert!(read.node.is_some(), "{:?}", read.problems);
    }
    let read = read::<File>(
        &SourceFile::new("file", &YAML.replace("folded\n    text", "folded")[..]),
        FileSyntax::Yaml,
    );
    assert_eq!(read.problems, []);
    assert_eq!(read.value.unwrap().steps.len(), 4);
}

#[test]
fn every_beginning_and_every_end_of_a_file_is_survived() {
    for text in [YAML, JSON] {
        for (at, _) in text.char_indices() {
            any_text(&text[..at]);
            any_text(&text[at..]);
        }
    }
}

fn mutated() -> impl Strategy<Value = String> {
    let changes = prop::collection::vec(
        (any::<prop::sample::Index>(), 0_usize..4, prop::sample::select(PIECES)),
        1..6,
    );
    (prop::sample::select(&[YAML, JSON][..]), changes).prop_map(|(text, changes)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (place, removed, piece) in changes {
            let at = place.index(characters.len() + 1);
            let end = (at + removed).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        any_text(&text);
    }

    #[test]
    fn any_pieces_of_syntax_are_survived(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        any_text(&pieces.concat());
    }

    #[test]
    fn mutated_files_are_survived(text in mutated()) {
        any_text(&text);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match SourceFile::from_bytes("file", bytes) {
            Ok(source) => any_text(source.text()),
            Err(report) => prop_assert!(report.render(false).contains("not-utf8")),
        }
    }

    #[test]
    fn any_json_reads_as_serde_reads_it(text in json_text()) {
        any_text(&text);
    }
}

/// JSON values written with odd white space and escapes.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<u64>().prop_map(|value| value.to_string()),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("{value:e}")),
        any::<String>().prop_map(|value| serde_json::to_string(&value).unwrap()),
        any::<char>().prop_map(|value| {
            let mut units = [0; 2];
            let escapes =
                value.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", escapes.collect::<String>())
        }),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = any::<String>().prop_map(|key| serde_json::to_string(&key).unwrap());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[\t{}\r\n]", items.join(" ,\n"))),
            prop::collection::vec((key, inner), 0..6).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}\n :\t{value}")).collect();
                format!("{{ {} }}", entries.join(","))
            }),
        ]
    })
}
