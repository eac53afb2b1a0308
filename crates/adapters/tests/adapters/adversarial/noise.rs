//! Half-painted frames, narrow windows, floods and what has scrolled away.

use std::fmt::Write as _;

use super::super::casts::Cast;
use super::screens::{
    claude_approval, claude_idle, claude_working, codex_approval, gemini, gemini_approval,
};

#[test]
fn a_frame_in_two_halves_is_no_state_of_its_own_where_the_first_half_would_be() {
    let screen = claude_working("● Reading…").replace('\n', "\r\n");
    let cut = screen.find("❯ \r\n").unwrap();
    let (first, second) = screen.split_at(cut);
    let history = Cast::new("claude", 80, 24)
        .paints(0.2, &claude_working("● Reading…"))
        .prints(1.000, format!("\x1b[H\x1b[2J{first}"))
        .prints(1.030, second)
        .read();
    assert_eq!(history.words(), ["starting", "working"]);
}

#[test]
fn a_prompt_without_its_spinner_for_one_frame_is_still_working_where_it_would_be_idle() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.2, &claude_working("● Reading…"))
        .paints(1.0, &claude_idle("● Reading…", ""))
        .paints(1.06, &claude_working("● Read."))
        .read();
    assert_eq!(history.words(), ["starting", "working"]);
}

#[test]
fn a_screen_held_back_by_synchronized_output_is_not_looked_at_where_a_timer_would_look() {
    let history = Cast::new("claude", 80, 24)
        .paints(0.2, &claude_idle("● Done.", ""))
        .prints(1.0, "\x1b[?2026h")
        .paints(1.01, &claude_approval(80, "touch a", 1))
        .paints(1.10, &claude_idle("● Done.", ""))
        .prints(1.12, "\x1b[?2026l")
        .read();
    assert_eq!(history.words(), ["starting", "idle"]);
}

#[test]
fn a_dialog_that_the_terminal_wrapped_is_read_whole_where_rows_would_cut_its_words() {
    let screen = codex_approval("touch a").replace(
        "  Press enter to confirm or esc to cancel",
        "  Press enter to confirm or esc to cancel                        ",
    );
    let history = Cast::new("codex", 30, 30).paints(0.5, &screen).read();
    assert_eq!(history.end().evidence.rule, "interaction_approval");
    assert_eq!(history.words(), ["starting", "awaiting:approval"]);
}

#[test]
fn a_line_that_qwen_wrapped_itself_is_still_its_spinner_where_a_line_would_be_cut() {
    let rule = "─".repeat(60);
    let screen = format!(
        "  > do it\n\n  ⠇Buffering... because even AIs need a moment (0s · esc to\n                        \
         cancel)\n{rule}\n>   Type your message\n{rule}\n  ➜ demo"
    );
    let history = Cast::new("qwen", 60, 20).paints(0.5, &screen).read();
    assert_eq!(history.words(), ["starting", "working"]);
}

#[test]
fn a_dialog_that_scrolled_up_into_the_history_is_over_where_its_words_are_still_on_the_screen() {
    let dialog = gemini_approval(80, "touch a");
    let after = gemini("All done.", "");
    let history = Cast::new("gemini", 80, 40)
        .paints(0.5, &dialog)
        .typed(1.0, "1")
        .paints(1.1, &format!("{dialog}\n{after}"))
        .mark(3.0, "")
        .read();
    assert_eq!(history.at_marks(), ["idle"]);
}

#[test]
fn a_dialog_that_scrolled_out_is_over_where_the_stream_would_still_have_it() {
    let flood = "one more line\r\n".repeat(200);
    let history = Cast::new("claude", 80, 24)
        .paints(0.5, &claude_approval(80, "touch a", 1))
        .typed(1.0, "1")
        .prints(1.1, flood)
        .paints(1.2, &claude_idle("● Done.", ""))
        .read();
    assert_eq!(history.words(), ["starting", "awaiting:approval", "idle"]);
}

#[test]
fn a_dialog_in_the_middle_of_a_flood_is_seen_where_waiting_for_silence_would_miss_it() {
    let mut cast = Cast::new("claude", 80, 24);
    for chunk in 0..100_u32 {
        cast = cast.prints(0.5 + f64::from(chunk) * 0.005, format!("line {chunk}\r\n").repeat(20));
    }
    // The dialog itself is repainted without a pause, as some programs do.
    for frame in 0..100_u32 {
        cast = cast.paints(1.0 + f64::from(frame) * 0.005, &claude_approval(80, "touch a", 1));
    }
    let history = cast.read();
    assert_eq!(history.words(), ["starting", "awaiting:approval"]);
    let (seen, _) = history.verdicts[1];
    assert!(seen.as_secs_f64() < 1.1, "seen at {seen:?}");
}

#[test]
fn words_painted_one_by_one_by_cursor_moves_are_read_where_the_stream_has_no_spaces() {
    let screen = claude_approval(80, "touch a", 1);
    let mut stream = "\x1b[H\x1b[2J".to_owned();
    for (row, line) in screen.lines().enumerate() {
        let mut column = 1;
        for word in line.split_inclusive(' ') {
            let text = word.trim_end();
            write!(stream, "\x1b[{};{column}H{text}", row + 1).ok();
            column += word.chars().count();
        }
    }
    assert!(!stream.contains("Esc to cancel"));
    let history = Cast::new("claude", 80, 24).prints(0.5, stream).read();
    assert_eq!(history.words(), ["starting", "awaiting:approval"]);
}

#[test]
fn a_tall_screen_with_the_dialog_in_its_middle_is_read_where_the_last_rows_are_empty() {
    let history =
        Cast::new("claude", 80, 100).paints(0.5, &claude_approval(80, "touch a", 1)).read();
    assert_eq!(history.words(), ["starting", "awaiting:approval"]);
}

#[test]
fn a_window_of_one_cell_is_unknown_where_an_index_would_be_out_of_bounds() {
    for kind in coven_adapters::builtin::types() {
        let history = Cast::new(kind, 1, 1).paints(0.5, &claude_approval(80, "touch a", 1)).read();
        assert!(!history.words().contains(&"awaiting:approval".to_owned()), "{kind}");
    }
}
