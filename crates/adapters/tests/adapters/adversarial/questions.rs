//! Which question is asked, whether it is a new one, and what an answer is bound to.

use super::super::casts::{Cast, changed_rules};
use super::screens::{
    OPENCODE_APPROVAL, OPENCODE_IDLE, claude_approval, claude_idle, claude_working, codex,
    codex_approval, gemini_approval, opencode,
};

const APPROVAL: &str = "awaiting:approval";

#[test]
fn a_second_identical_approval_after_work_is_a_second_question_where_words_would_see_one() {
    let dialog = claude_approval(80, "touch a", 1);
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &dialog)
        .typed(1.5, "1")
        .paints(1.6, &claude_working("● Running…"))
        .paints(2.5, &dialog)
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL, "working", APPROVAL]);
    let questions = history.questions();
    assert_ne!(questions[0], questions[1]);
}

#[test]
fn a_second_identical_approval_in_the_same_place_is_a_second_question_where_nothing_changed() {
    let dialog = claude_approval(80, "touch a", 1);
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &dialog)
        .typed(1.5, "1")
        .paints(1.6, &dialog)
        .mark(4.0, "")
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL, APPROVAL], "no frame between them");
    assert_eq!(history.questions().len(), 2);
}

#[test]
fn a_second_approval_that_is_announced_is_asked_at_once_where_the_same_screen_would_say_nothing() {
    let dialog = codex_approval("touch a");
    let history = Cast::new("codex", 80, 24)
        .status(0.4, "state=blocked:app=codex:kind=permission")
        .paints(0.5, &dialog)
        .typed(1.5, "y")
        .status(1.52, "state=working:app=codex")
        .status(1.53, "state=blocked:app=codex:kind=permission")
        .paints(1.54, &dialog)
        .mark(1.7, "")
        .read();
    assert_eq!(history.at_marks(), [APPROVAL]);
    let mut questions = history.questions();
    questions.dedup();
    assert_eq!(questions.len(), 2, "{:?}", history.words());
}

#[test]
fn an_approval_that_nobody_answered_stays_one_question_however_long_it_blinks() {
    let mut cast = Cast::new("claude", 80, 24);
    for blink in 0..20_u8 {
        let mark = if blink % 2 == 0 { "●" } else { " " };
        let dialog = claude_approval(80, "touch a", 1).replace('●', mark);
        cast = cast.paints(0.5 + 0.6 * f64::from(blink), &dialog);
    }
    let history = cast.read();
    assert_eq!(history.words(), ["starting", APPROVAL]);
    assert_eq!(history.questions().len(), 1);
}

#[test]
fn seconds_that_count_up_in_a_dialog_leave_it_one_question_where_its_text_changes() {
    let mut cast = Cast::new("codex", 80, 24);
    for second in 0..8_u8 {
        let dialog =
            codex_approval("touch a").replace("  $ ", &format!("  waiting {second}s\n  $ "));
        cast = cast.paints(0.5 + f64::from(second), &dialog);
    }
    assert_eq!(cast.read().questions().len(), 1);
}

#[test]
fn another_dialog_in_the_same_place_has_another_digest_where_the_words_of_the_rule_are_the_same() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .paints(1.5, &claude_approval(80, "rm -rf /", 1))
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL, APPROVAL]);
    let questions = history.questions();
    assert_ne!(questions[0], questions[1]);
}

#[test]
fn a_moved_selection_changes_the_digest_where_enter_would_now_mean_no() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .paints(1.5, &claude_approval(80, "touch a", 3))
        .read();
    let questions = history.questions();
    assert_eq!(questions.len(), 2);
    assert_ne!(questions[0], questions[1]);
}

#[test]
fn a_resize_leaves_an_open_question_the_same_where_its_lines_are_other_lines() {
    let history = Cast::new("claude", 100, 30)
        .paints(0.5, &claude_approval(100, "touch a", 1))
        .resized(1.5, 60, 20)
        .paints(1.55, &claude_approval(60, "touch a", 1))
        .resized(3.0, 120, 40)
        .paints(3.1, &claude_approval(120, "touch a", 1))
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL]);
}

#[test]
fn a_resize_in_the_middle_of_a_repaint_is_no_other_state_where_half_a_screen_would_be() {
    let dialog = gemini_approval(80, "touch a");
    let half = &dialog[..dialog.len() / 2];
    let half = &half[..half.rfind('\n').unwrap()];
    let history = Cast::new("gemini", 80, 24)
        .paints(0.5, &dialog)
        .resized(1.5, 60, 20)
        .paints(1.52, half)
        .paints(1.65, &gemini_approval(60, "touch a"))
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL]);
}

#[test]
fn a_dialog_that_is_gone_for_one_frame_is_the_same_question_where_an_edge_would_be_seen() {
    let dialog = claude_approval(80, "touch a", 1);
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &dialog)
        .prints(1.5, "\x1b[H\x1b[2J")
        .paints(1.55, &dialog)
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL]);
}

#[test]
fn a_dialog_that_comes_back_after_it_was_cancelled_is_a_new_question_where_its_words_are_known() {
    let dialog = claude_approval(80, "touch a", 1);
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &dialog)
        .typed(1.0, "\x1b")
        .paints(1.1, &claude_idle("  ⎿  Interrupted", ""))
        .paints(5.0, &dialog)
        .read();
    assert_eq!(history.words(), ["starting", APPROVAL, "idle", APPROVAL]);
    assert_ne!(history.questions()[0], history.questions()[1]);
}

#[test]
fn an_answer_that_was_not_taken_is_asked_again_where_an_answered_question_would_be_forgotten() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .typed(1.0, "x")
        .mark(5.0, "")
        .read();
    assert_eq!(history.at_marks(), [APPROVAL]);
    assert_eq!(history.questions().len(), 2, "a new digest, so that it is shown again");
}

#[test]
fn replies_of_the_terminal_are_no_answer_where_any_input_would_be_one() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .typed(1.0, "\x1b[?62;22c")
        .typed(1.1, "\x1b[I")
        .typed(1.2, "\x1b]11;rgb:1010/1010/1010\x1b\\")
        .typed(1.3, "\x1b[<35;10;5M")
        .mark(5.0, "")
        .read();
    assert_eq!(history.questions().len(), 1);
}

#[test]
fn a_question_announced_before_it_is_painted_is_one_question_where_each_frame_would_be_one() {
    let history = Cast::new("codex", 80, 24)
        .paints(0.2, &codex("• One moment.", "Ask Codex to do anything"))
        .status(0.5, "state=working:app=codex")
        .status(1.0, "state=blocked:app=codex:kind=permission")
        .mark(1.2, "")
        .paints(1.9, "› do it\n\n  Would you like to run the following command?")
        .paints(2.0, &codex_approval("touch a"))
        .mark(3.0, "")
        .read();
    assert_eq!(history.words(), ["starting", "idle", "working", APPROVAL]);
    assert_eq!(history.at_marks(), [APPROVAL, APPROVAL]);
    assert_eq!(history.marks[0].2.digest, None, "nothing yet that an answer could be bound to");
    assert_eq!(history.marks[1].2.evidence.rule, "interaction_approval");
}

#[test]
fn an_announced_question_that_no_rule_knows_is_asked_as_it_stands_where_a_rule_would_wait_for_ever()
{
    let history = Cast::new("codex", 80, 24)
        .status(0.4, "state=blocked:app=codex:kind=question")
        .paints(0.5, "  A new kind of dialog\n\n  [ fine ]   [ not fine ]")
        .mark(4.0, "")
        .read();
    assert_eq!(history.words(), ["starting", "awaiting:question"]);
    assert!(history.marks[0].2.digest.is_some());
}

#[test]
fn a_dialog_nobody_knows_is_unknown_where_a_guess_would_press_enter() {
    for kind in ["claude", "codex", "gemini", "opencode", "qwen", "copilot"] {
        let history = Cast::new(kind, 80, 24)
            .prints(0.1, "\x1b[?25l")
            .paints(
                0.5,
                "  Something new\n\n  [x] accept the terms\n  [ ] do not\n\n  space toggles",
            )
            .mark(15.0, "")
            .read();
        assert_eq!(history.at_marks(), ["unknown"], "{kind}");
    }
}

#[test]
fn an_unnumbered_dialog_names_its_own_keys_where_the_usual_key_would_do_nothing() {
    let screen = "─".repeat(80)
        + "\n Bash command\n touch a\n Do you want to proceed?\n ❯ No\n   Yes\n\n Esc to cancel · Tab to amend";
    let history = Cast::new("claude", 80, 24).paints(0.5, &screen).read();
    assert_eq!(history.end().evidence.rule, "dialog:approval-unnumbered");
}

#[test]
fn opencodes_dialog_is_read_without_any_signal_where_its_title_says_nothing() {
    let history = Cast::new("opencode", 80, 24)
        .title(0.1, "OC | Stub title")
        .paints(0.5, &opencode("     ok", OPENCODE_IDLE))
        .paints(1.5, OPENCODE_APPROVAL)
        .read();
    assert_eq!(history.words(), ["starting", "idle", APPROVAL]);
    let excerpt = history.end();
    assert_eq!(excerpt.evidence.rule, "interaction_approval");
}

#[test]
fn the_second_approval_is_seen_without_osc_7501_too_where_only_the_signal_would_tell() {
    let rules = changed_rules("codex", r#"{"signals": {"osc7501": false}}"#);
    let dialog = codex_approval("touch a");
    let history = Cast::new("codex", 80, 24)
        .title(0.4, "[ . ] Action Required | demo")
        .paints(0.5, &dialog)
        .title(0.9, "[ ! ] Action Required | demo")
        .typed(1.5, "y")
        .title(1.6, "⠋ demo")
        .paints(1.65, &codex("• Running", "Ask Codex to do anything"))
        .title(2.5, "[ . ] Action Required | demo")
        .paints(2.55, &dialog)
        .read_by(&rules);
    assert_eq!(history.words(), ["starting", APPROVAL, "working", APPROVAL]);
}
