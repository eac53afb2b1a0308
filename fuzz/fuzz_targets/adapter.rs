//! Any text as an adapter file, and any text on the screens it reads. The input is cut at a NUL:
//! the file before it, the screens behind it.
#![no_main]

use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{Config, ScreenRules, ScreenSniffer};
use coven_notation::{ProblemReport, SourceFile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (file, screens) = bytes.split_at(cut);
    let source = match SourceFile::from_bytes("config.json", file.to_vec()) {
        Ok(source) => source,
        Err(report) => return drop(report.render(false)),
    };
    let read = Config::read(&source);
    ProblemReport::new(source, read.problems).render(false);
    let Some(config) = read.value else { return };
    // What was found right can be used, and written and read again.
    let rules =
        Arc::new(ScreenRules::new(&config).expect("a file without errors has usable rules"));
    let written = serde_json::to_string(&config).expect("a configuration can be written");
    let again = Config::read(&SourceFile::new("again", written));
    assert_eq!(again.value.as_ref(), Some(&config));
    let mut sniffer = ScreenSniffer::new(rules);
    let screens = String::from_utf8_lossy(screens);
    for (step, screen) in screens.split('\0').enumerate() {
        let now = Duration::from_millis(step as u64 * 400);
        sniffer.look_at_text(screen, now);
        if step % 3 == 1 {
            sniffer.typed(now);
        }
        sniffer.tick(now + Duration::from_millis(200));
        let verdict = sniffer.verdict();
        assert!(verdict.evidence.text.chars().count() <= 201);
        assert!(verdict.digest.is_none() || verdict.kind.is_some());
    }
});
