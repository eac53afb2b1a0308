//! Titles and status signals that say too much, too little or something false.

use super::super::casts::Cast;
use super::screens::{
    claude_approval, claude_idle, claude_working, codex, gemini, gemini_approval,
};

#[test]
fn a_title_that_says_ready_does_not_hide_geminis_trust_dialog_where_the_title_would_win() {
    let dialog = "\
 ╭──────────────────────────────────────────╮
 │ Do you trust the files in this folder?   │
 │                                          │
 │ ● 1. Trust folder (demo)                 │
 │   2. Trust parent folder (tmp)           │
 │   3. Don't trust                         │
 ╰──────────────────────────────────────────╯";
    let history = Cast::new("gemini", 80, 24)
        .title(0.1, "◇  Ready (demo)                                    ")
        .paints(0.5, dialog)
        .read();
    assert_eq!(history.end().evidence.rule, "dialog:trust");
}

#[test]
fn a_very_long_title_is_cut_where_it_would_fill_the_evidence() {
    let title = format!("⠋ {}", "very ".repeat(400));
    let history =
        Cast::new("codex", 80, 24).title(0.5, &title).paints(0.6, "x").mark(2.0, "").read();
    let verdict = &history.marks[0].2;
    assert_eq!(verdict.state.as_str(), "working");
    assert!(verdict.evidence.text.chars().count() <= 201, "{}", verdict.evidence.text);
}

#[test]
fn a_title_with_control_characters_is_no_escape_sequence_in_the_evidence() {
    let history = Cast::new("codex", 80, 24)
        .prints(0.5, "\x1b]0;⠋ demo\x1b[31m\u{9b}2J\x08\x08 idle\x07")
        .prints(0.6, "x")
        .mark(2.0, "")
        .read();
    let text = &history.marks[0].2.evidence.text;
    assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
}

#[test]
fn a_title_in_the_middle_of_a_spoof_is_only_its_beginning_where_any_part_would_match() {
    // The title has the name of the folder in it, and a folder can have any name.
    let screen = gemini("Done.", "");
    let history = Cast::new("gemini", 80, 24)
        .title(0.1, "◇  Ready (✋ Action Required ✦ Working)")
        .paints(0.5, &screen)
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["idle"]);
}

#[test]
fn a_folder_called_action_required_leaves_codex_idle_where_its_title_would_say_approval() {
    let history = Cast::new("codex", 80, 24)
        .title(0.1, "Action Required")
        .paints(0.5, &codex("• Done.", "Ask Codex to do anything"))
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["idle"]);
}

#[test]
fn a_program_inside_the_agent_that_sets_the_title_does_not_make_it_idle_behind_a_dialog() {
    let history = Cast::new("gemini", 80, 24)
        .paints(0.4, &gemini_approval(80, "touch a"))
        .title(0.5, "◇ nothing to see here")
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["awaiting:approval"]);
}

#[test]
fn a_status_that_says_working_counts_over_a_quoted_dialog_where_the_screen_would_ask() {
    let history = Cast::new("claude", 80, 24)
        .status(0.1, "state=working:app=claude-code")
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["working"]);
}

#[test]
fn a_status_nobody_knows_is_no_status_where_the_last_one_would_be_lost() {
    let history = Cast::new("claude", 80, 24)
        .status(0.1, "state=working:app=claude-code")
        .status(0.2, "state=dancing:app=claude-code")
        .status(0.3, "nonsense")
        .paints(0.5, &claude_idle("● Done.", ""))
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["working"]);
}

#[test]
fn a_status_that_was_taken_back_leaves_the_screen_to_speak_where_it_would_stay() {
    let history = Cast::new("claude", 80, 24)
        .status(0.1, "state=working:app=claude-code")
        .paints(0.5, &claude_idle("● Done.", ""))
        .status(1.0, "state=clear:app=claude-code")
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["idle"]);
}

#[test]
fn claudes_resting_title_leaves_the_choice_to_the_screen_where_a_title_would_say_idle() {
    let history = Cast::new("claude", 80, 24)
        .title(0.1, "✳ Claude Code")
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .mark(1.0, "")
        .paints(1.5, &claude_idle("● Done.", ""))
        .typed(1.4, "1")
        .mark(3.0, "")
        .read();
    assert_eq!(history.at_marks(), ["awaiting:approval", "idle"]);
}

#[test]
fn an_error_that_was_seen_is_over_where_its_line_stays_on_the_screen() {
    let failed = claude_idle("● API Error: 400 bad request", "");
    let history = Cast::new("claude", 80, 24)
        .paints(0.2, &claude_working(""))
        .paints(1.0, &failed)
        .mark(2.0, "")
        .typed(2.1, "n")
        .paints(2.2, &claude_idle("● API Error: 400 bad request", "n"))
        .mark(3.0, "")
        .read();
    assert_eq!(history.at_marks(), ["error", "idle"]);
}

#[test]
fn an_error_of_an_earlier_turn_is_over_where_its_line_stays_above_the_new_message() {
    let above = "● API Error: 400 bad request\n\n❯ try again\n\n● Done.";
    let history = Cast::new("claude", 80, 24)
        .paints(0.2, &claude_working(""))
        .paints(1.0, &claude_idle(above, ""))
        .mark(2.0, "")
        .read();
    assert_eq!(history.at_marks(), ["idle"]);
}

#[test]
fn a_draft_in_the_prompt_leaves_the_demo_agent_idle_where_the_lines_around_it_would_be_a_menu() {
    let rule = "─".repeat(80);
    for (draft, rows) in [("> say pasted draft", 24), ("> two\n  lines", 24), ("> small", 8)] {
        let hint = if rows < 10 { "" } else { "\n  /help · /exit · $0.02" };
        let rule = if rows < 10 { "" } else { &*rule };
        let screen = format!(
            "✻ Demo agent 0.1.0\n  demo-1 · permissions: ask\n  /home/ada\n\n{rule}\n{draft}{hint}"
        );
        for signals in [true, false] {
            let mut cast = Cast::new("demo", 80, rows);
            if signals {
                cast = cast.title(0.1, "demo: idle").status(0.2, "state=idle:app=demo");
            }
            let history = cast.paints(0.5, &screen).mark(15.0, "").read();
            let verdict = &history.marks[0].2;
            if rows > 9 || signals {
                assert_eq!(history.at_marks(), ["idle"], "{draft} {signals} {verdict:#?}");
            }
            assert_ne!(verdict.state.as_str(), "awaiting", "{draft}");
        }
    }
}

/// Two statements of the program itself are worth more than what a screen looks like.
#[test]
fn what_looks_like_a_menu_is_none_where_signal_and_title_both_say_idle() {
    let screen = "Pick one:\n  Apples\n❯ Pears\n  Plums\n";
    let cast = || Cast::new("demo", 80, 24).title(0.1, "demo: idle");
    let both = cast().status(0.2, "state=idle:app=demo").paints(0.5, screen).mark(15.0, "").read();
    assert_eq!(both.at_marks(), ["idle"]);
    let title = cast().paints(0.5, screen).mark(15.0, "").read();
    assert_eq!(title.at_marks(), ["awaiting:choice"]);
}
