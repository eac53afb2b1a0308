//! The screens of published versions, as `cargo xtask drift` kept them, are read right: those of a
//! year ago like those of today.

use coven_adapters::replay::expected;
use coven_model::{AgentState, AwaitingKind};

use super::casts::{self, Cast, word};

/// A screen that cannot be told from another: in opencode's mini mode an error stands where a draft
/// would, so it is read as idle.
const NOT_READABLE: (&str, &str) = ("1.18.33-mini.cast", "error:400");

#[test]
fn every_screen_of_every_published_version_is_read_right() {
    let (mut marks, mut versions, mut wrong) = (0, 0, Vec::new());
    for cast in casts::drift() {
        versions += 1;
        for (time, mark, verdict) in cast.read().marks {
            let Some((state, kind)) = expected(&mark) else { continue };
            if (&*cast.name, &*mark) == NOT_READABLE {
                continue;
            }
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

/// What is read from one screen of a program that says nothing beside it.
fn read(kind: &str, screen: &str) -> Vec<String> {
    let cast = Cast::new(kind, 120, 40).paints(0.5, screen).mark(4.0, "now");
    cast.read().at_marks()
}

/// A status of Codex, a draft of so many lines in its prompt, and its footer.
fn codex_with_draft(lines: usize) -> String {
    let draft: String = (1..=lines).map(|line| format!("  line {line} of a draft\n")).collect();
    format!(
        "› do it\n\n• Working (12s • esc to interrupt)\n\n› a draft\n{draft}\n  ? for shortcuts"
    )
}

#[test]
fn codex_works_however_long_the_draft_below_its_status_is() {
    for lines in [0, 3, 15, 30] {
        assert_eq!(read("codex", &codex_with_draft(lines)), ["working"], "{lines} lines");
    }
}

#[test]
fn a_stale_status_above_a_finished_turn_is_no_work() {
    let codex =
        "› do it\n\n• Working (12s • esc to interrupt)\n\n• All done.\n\n› \n\n  ? for shortcuts";
    assert_eq!(read("codex", codex), ["idle"]);
    let line = "─".repeat(120);
    let claude = format!(
        "❯ do it\n\n✻ Brewing… (12s)\n\n● All done.\n\n{line}\n❯ \n{line}\n  ? for shortcuts"
    );
    assert_eq!(read("claude", &claude), ["idle"]);
}

#[test]
fn claude_with_reduced_motion_works_while_its_status_stands_above_the_prompt() {
    let line = "─".repeat(120);
    let box_of =
        |status: &str| format!("❯ do it\n\n{status}\n\n{line}\n❯ a draft\n{line}\n  a status line");
    for status in ["● Cogitating…", "● Inferring… (3s · ↓ 2 tokens)\n  ⎿  Tip: wait"] {
        assert_eq!(read("claude", &box_of(status)), ["working"], "{status}");
    }
    for answer in ["● Let me know…", "● Done.", "● Cogitating… is what I did."] {
        assert_eq!(read("claude", &box_of(answer)), ["idle"], "{answer}");
    }
}
