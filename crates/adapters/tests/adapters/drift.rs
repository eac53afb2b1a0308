//! The screens of published versions, as `cargo xtask drift` kept them, are read right: those of a
//! year ago like those of today.

use coven_adapters::replay::expected;
use coven_model::{AgentState, AwaitingKind};

use super::casts::{self, word};

#[test]
fn every_screen_of_every_published_version_is_read_right() {
    let (mut marks, mut versions, mut wrong) = (0, 0, Vec::new());
    for cast in casts::drift() {
        versions += 1;
        for (time, mark, verdict) in cast.read().marks {
            let Some((state, kind)) = expected(&mark) else { continue };
            marks += 1;
            // What no rule of its adapter knows may be noticed as some choice, which is a person's.
            let is_choice = verdict.kind == Some(AwaitingKind::Choice);
            let right = verdict.state == state
                && (kind.is_none()
                    || kind == verdict.kind
                    || (state == AgentState::Awaiting && is_choice));
            if !right {
                let (kind, name) = (&cast.kind, &cast.name);
                let (read, rule) = (word(&verdict), &verdict.evidence.rule);
                wrong.push(format!(
                    "{kind:<9} {name:<14} {:>4} {mark:<24} {read} ({rule})",
                    time.as_secs()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {marks} marks wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(versions >= 24 && marks > 200, "only {marks} marks of {versions} versions");
}
