//! Files that were right once: whatever a slip of the hand makes of a built-in file, reading it
//! ends with a report or with rules that can be used.

use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{Config, ScreenRules, ScreenSniffer, builtin};
use coven_notation::{ProblemReport, SourceFile};
use coven_testkit::random::Random;

/// What stands in for a piece of a file.
const PIECES: [&str; 12] =
    ["", "\"", "{", "}", "[", "null", "\\\\", "(", "99999999999", "é", "\u{0}", "\"x\": 1,"];

fn mutated(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let from = random.below(chars.len());
        let to = (from + random.below(12)).min(chars.len());
        let piece = PIECES[random.below(PIECES.len())];
        chars.splice(from..to, piece.chars());
    }
    chars.into_iter().collect()
}

#[test]
fn a_changed_file_is_reported_or_can_be_used() {
    let kinds: Vec<&str> = builtin::types().collect();
    let mut usable = 0;
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let text = mutated(builtin::source(kinds[random.below(kinds.len())]).unwrap(), &mut random);
        let source = SourceFile::new("config.json", text.as_str());
        let read = Config::read(&source);
        ProblemReport::new(source, read.problems).render(false);
        let Some(config) = read.value else { continue };
        usable += 1;
        let written = serde_json::to_string(&config).unwrap();
        let again = Config::read(&SourceFile::new("again", written));
        assert_eq!(again.value.as_ref(), Some(&config), "seed {seed}");
        let mut sniffer = ScreenSniffer::new(Arc::new(ScreenRules::new(&config).unwrap()));
        sniffer.look_at_text(&text, Duration::from_secs(1));
    }
    assert!(usable > 50, "only {usable} of the changed files could be used");
}
