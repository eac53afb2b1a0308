//! Words of a dialog, of a spinner or of an error that are only quoted in an answer.

use super::super::casts::Cast;
use super::screens::{
    COPILOT_IDLE, OPENCODE_IDLE, OPENCODE_WORKING, claude_box, claude_idle, claude_working, codex,
    copilot, gemini, opencode, qwen,
};

/// What an agent that explains a coding agent writes.
const CLAUDE_PROSE: &str = "● The dialog looks like this:

  Do you want to proceed?
  ❯ 1. Yes
    2. No

  Esc to cancel · Tab to amend";

fn state_of(kind: &str, screen: &str) -> String {
    let cast = Cast::new(kind, 80, 24).paints(0.5, screen).mark(2.0, "");
    cast.read().at_marks().remove(0)
}

#[test]
fn claude_that_quotes_its_own_dialog_at_rest_is_idle_where_words_would_say_approval() {
    assert_eq!(state_of("claude", &claude_idle(CLAUDE_PROSE, "")), "idle");
}

#[test]
fn claude_that_quotes_its_own_dialog_at_work_is_working_where_words_would_say_approval() {
    assert_eq!(state_of("claude", &claude_working(CLAUDE_PROSE)), "working");
}

#[test]
fn claude_that_shows_a_dialog_in_a_code_block_is_idle_where_words_would_say_dialog() {
    let block = "● Add this test:\n\n  ```\n   Enter to confirm · Esc to cancel\n   ❯ No, exit\n     Yes, \
                 I trust this folder\n   Enter to confirm · Esc to cancel\n  ```";
    assert_eq!(state_of("claude", &claude_idle(block, "")), "idle");
}

#[test]
fn claude_that_shows_a_dialog_in_a_diff_is_working_where_words_would_say_approval() {
    let diff = "● Update(tests/dialog.txt)\n  ⎿  Added 3 lines\n       1 + Do you want to proceed?\n       \
                2 + ❯ 1. Yes\n       3 + Esc to cancel · Tab to amend";
    assert_eq!(state_of("claude", &claude_working(diff)), "working");
}

#[test]
fn claude_that_writes_about_spinners_is_idle_where_words_would_say_working() {
    let prose =
        "● While it works you see\n\n  ✻ Brewing… (4s · esc to interrupt)\n\n  and then nothing.";
    assert_eq!(state_of("claude", &claude_idle(prose, "")), "idle");
}

#[test]
fn claude_that_explains_an_error_is_idle_where_words_would_say_error() {
    let prose = "● The log has `● API Error: 400 bad request` in it:\n\n  ● API Error: 400\n\n  Nothing is \
                 wrong now.";
    assert_eq!(state_of("claude", &claude_idle(prose, "")), "idle");
}

#[test]
fn half_typed_magic_words_leave_claude_idle_where_words_would_say_working_or_approval() {
    for typed in [
        "Do you want to proceed? esc to interrupt",
        "Esc to cancel · Tab to amend",
        "Enter to confirm · Esc to cancel",
        "✻ Brewing… (4s · esc to interrupt)",
        "Enter to select · ↑/↓ to navigate · Esc to cancel",
        "1. Yes",
    ] {
        assert_eq!(state_of("claude", &claude_idle("● Done.", typed)), "idle", "{typed}");
    }
}

#[test]
fn text_typed_over_several_lines_leaves_claude_idle_where_the_last_line_would_say_approval() {
    let typed = "please explain\n  what this means:\n   Do you want to proceed?\n   ❯ 1. Yes\n\n   Esc to \
                 cancel · Tab to amend";
    assert_eq!(state_of("claude", &claude_idle("● Done.", typed)), "idle");
}

#[test]
fn a_narrow_claude_that_quotes_its_dialog_is_idle_where_a_tail_of_lines_would_say_approval() {
    let screen = claude_box(40, "● It ends with\n\n  Esc to cancel · Tab to amend", "", "");
    let cast = Cast::new("claude", 40, 12).paints(0.5, &screen).mark(2.0, "");
    assert_eq!(cast.read().at_marks(), ["idle"]);
}

#[test]
fn codex_that_ends_its_answer_with_the_words_of_its_dialog_is_idle_where_words_would_say_approval()
{
    let prose = "• The last line is\n\n  › 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or \
                 esc to cancel";
    let screen = codex(prose, "Ask Codex to do anything");
    assert_eq!(state_of("codex", &screen), "idle");
    let told = Cast::new("codex", 80, 24).title(0.1, "demo").paints(0.5, &screen).mark(2.0, "");
    assert_eq!(told.read().at_marks(), ["idle"], "with its title");
}

#[test]
fn codex_that_quotes_its_dialog_while_it_works_is_working_where_words_would_say_approval() {
    let prose = "  Press enter to confirm or esc to cancel\n\n◦ Working (3s • esc to interrupt)";
    assert_eq!(state_of("codex", &codex(prose, "Ask Codex to do anything")), "working");
}

#[test]
fn codex_that_streams_is_working_by_its_title_where_its_prompt_would_say_idle() {
    let screen = codex("• word0 word1", "Ask Codex to do anything");
    let cast = Cast::new("codex", 80, 24).title(0.4, "⠋ demo").paints(0.5, &screen).mark(2.0, "");
    assert_eq!(cast.read().at_marks(), ["working"]);
}

#[test]
fn the_word_working_in_the_prompt_of_a_person_leaves_codex_idle_where_words_would_say_working() {
    let screen = codex("• Done.", "Working (3s • esc to interrupt)");
    assert_eq!(state_of("codex", &screen), "idle");
}

#[test]
fn an_interrupted_codex_is_idle_where_its_square_mark_would_say_error() {
    let screen =
        codex("■ Conversation interrupted - tell the model what to do", "Ask Codex to do anything");
    assert_eq!(state_of("codex", &screen), "idle");
}

#[test]
fn an_entry_typed_into_codex_leaves_it_idle_where_its_mark_would_say_dialog() {
    let screen = codex("• Done.", "1. Yes, proceed (y)");
    assert_eq!(state_of("codex", &screen), "idle");
}

#[test]
fn gemini_that_quotes_its_dialog_is_idle_where_words_would_say_approval() {
    let prose = "The dialog:\n\n   │ Allow execution of [Shell]?\n   │ ● 1. Allow once\n   │   3. No, suggest \
                 changes (esc)\n\n  While it works you see (esc to cancel, 4s).";
    let screen = gemini(prose, "");
    assert_eq!(state_of("gemini", &screen), "idle");
    let told = Cast::new("gemini", 80, 24)
        .title(0.1, "◇  Ready (demo)")
        .paints(0.5, &screen)
        .mark(2.0, "");
    assert_eq!(told.read().at_marks(), ["idle"], "with its title");
}

#[test]
fn remains_of_an_old_dialog_above_geminis_prompt_are_idle_where_words_would_say_approval() {
    let remains = "\n│ Allow execution of [Shell]?\n│ ● 1. Allow once\n│   2. Allow for this session\n│   3. \
                   No, suggest changes (esc)";
    assert_eq!(state_of("gemini", &gemini(remains, "half a sentence")), "idle");
}

#[test]
fn gemini_that_quotes_its_dialog_while_it_works_is_working_where_words_would_say_approval() {
    let prose = "│ Apply this change?\n│   4. No, suggest changes (esc)\n\n ⠋ Thinking... (esc to cancel, 4s)";
    assert_eq!(state_of("gemini", &gemini(prose, "")), "working");
}

#[test]
fn opencode_that_quotes_its_dialog_is_idle_where_words_would_say_approval() {
    let prose = "     △ Permission required\n       # Shell command\n     Allow once   Allow always   Reject";
    assert_eq!(state_of("opencode", &opencode(prose, OPENCODE_IDLE)), "idle");
    assert_eq!(state_of("opencode", &opencode(prose, OPENCODE_WORKING)), "working");
}

#[test]
fn a_person_who_sent_opencode_its_own_dialog_finds_it_idle_where_its_frame_would_say_approval() {
    let message = "  ┃\n  ┃  △ Permission required\n  ┃\n\n     That is our dialog.";
    assert_eq!(state_of("opencode", &opencode(message, OPENCODE_IDLE)), "idle");
}

#[test]
fn qwen_that_quotes_its_last_line_is_idle_where_words_would_say_approval() {
    let prose =
        "It says\n\n  ⠏ Waiting for user confirmation...\n\n    4. No, suggest changes (esc)";
    assert_eq!(state_of("qwen", &qwen(prose)), "idle");
}

#[test]
fn qwen_that_writes_about_its_spinner_is_idle_where_words_would_say_working() {
    let prose = "It shows (4s · esc to cancel) while it works.";
    assert_eq!(state_of("qwen", &qwen(prose)), "idle");
}

#[test]
fn copilot_that_quotes_its_dialog_is_idle_where_words_would_say_approval() {
    let prose = "Look:\n   Do you want to run this command?\n   ❯ 1. Yes\n   ↑/↓ to navigate · enter to \
                 select · esc to cancel\n   ● Working esc esc interrupt";
    assert_eq!(state_of("copilot", &copilot(prose, COPILOT_IDLE)), "idle");
    let footer = "● Working · 137 B esc esc interrupt                  gpt-4.1";
    assert_eq!(state_of("copilot", &copilot(prose, footer)), "working");
}

#[test]
fn aider_that_prints_a_question_in_its_answer_is_idle_where_words_would_say_approval() {
    let screen =
        "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: y\nThat was the question.\n\n> ";
    assert_eq!(state_of("aider", screen), "idle");
}
