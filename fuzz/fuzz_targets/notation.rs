//! Any text as a file that somebody wrote: parsed, checked and reported without a panic, JSON as
//! `serde_json` reads it, places inside the text, nothing of it raw in a report.
#![no_main]

#[path = "../../crates/notation/tests/any_text/exercise.rs"]
mod exercise;

use coven_notation::SourceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match SourceFile::from_bytes("file", bytes.to_vec()) {
    Ok(source) => exercise::any_text(source.text()),
    Err(report) => assert!(report.has_errors() && !report.render(false).is_empty()),
});
