//! Stripping, whole and split anywhere.

use super::*;

#[track_caller]
fn check(input: &[u8], expected: &str) {
    assert_eq!(strip(input), expected, "whole");
    assert_eq!(strip(expected.as_bytes()), expected, "again");
    for at in 0..=input.len() {
        let mut stripper = SequenceStripper::new();
        let mut text = String::new();
        stripper.feed(&input[..at], |run| text.push_str(run));
        stripper.feed(&input[at..], |run| text.push_str(run));
        stripper.finish(|run| text.push_str(run));
        assert_eq!(text, expected, "split at {at}");
    }
}

#[track_caller]
fn check_lines(input: &[u8], expected: &str) {
    for at in 0..=input.len() {
        let mut liner = LineStripper::new();
        let mut text = String::new();
        liner.feed(&input[..at], |run| text.push_str(run));
        liner.feed(&input[at..], |run| text.push_str(run));
        liner.finish(|run| text.push_str(run));
        assert_eq!(text, expected, "split at {at}");
    }
}

/// Spec: C0.3.1, C1.4.1
#[test]
fn colours_and_cursor_codes_are_removed_and_the_text_stays() {
    check(b"\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mrgb\x1b[m", "red and rgb");
    check(b"\x1b[2J\x1b[1;1Htop\x1b[10;5Hlow\x1b[K", "toplow");
    check(b"\x1b[?25l\x1b[?1049hTUI\x1b[?1049l\x1b[?25h", "TUI");
}

/// Spec: C0.3.1, C1.4.1
#[test]
fn every_kind_of_sequence_is_removed() {
    check(b"a\x1b[38:2::1:2:3mb\x1b[>4;2mc\x1b[?2026hd\x1b[2 qe", "abcde");
    check(b"a\x1b[>4;?mb", "ab");
    check(b"a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\x1b]8;;\x1b\\d", "abcd");
    check(b"a\x1bP+q544e\x1b\\b\x1b_Ga=q\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde");
    check(b"a\x1b(0b\x1b)Bc\x0ed\x0fe\x1b7f\x1b8g\x1b=h", "abcdefgh");
    check(b"lone \x1b", "lone ");
    check("lone \x1bé".as_bytes(), "lone é");
}

#[test]
fn whitespace_stays_and_other_controls_go() {
    check(b"a\tb\r\nc\0\x07\x08\x7fd\x0be\x0cf", "a\tb\r\ncd\ne\nf");
    check("a\u{9b}b\u{85}c·".as_bytes(), "abc·");
}

#[test]
fn bytes_that_are_not_text_become_replacements() {
    check(b"a\xff\xfeb", "a\u{fffd}\u{fffd}b");
    check(b"cut \xf0\x9f\x91", "cut \u{fffd}");
    check("漢字 👍🏽 e\u{301}".as_bytes(), "漢字 👍🏽 e\u{301}");
}

#[test]
fn plain_text_is_not_copied() {
    let text =
        "plain text, 漢字 too, over several\nlines\tand more than one block of bytes. ".repeat(4);
    assert!(matches!(strip(text.as_bytes()), Cow::Borrowed(_)));

    let mut stripper = SequenceStripper::new();
    let mut runs = Vec::new();
    stripper.feed(text.as_bytes(), |run| runs.push(run.as_ptr()));
    assert_eq!(runs, [text.as_ptr()], "one run, where it lies");
}

#[test]
fn a_progress_bar_leaves_its_last_state() {
    check_lines(b"10%\r50%\r100%\ndone\n", "100%\ndone\n");
    check_lines(b"downloading\r\x1b[Kok\r\n", "ok\n");
    check_lines(b"abc\x08\x08X\n", "aXc\n");
    check_lines(b"abcdef\r12\x1b[K!\n", "12!\n");
    check_lines(b"abcdef\x08\x08\x1b[1K\n", "     f\n");
    check_lines(b"abc\x1b[2Kd\n", "   d\n");
    check_lines(b"abc\x1b[2K\r\nx", "\nx");
    check_lines(b"abc\x1b[1K\n", "\n");
    check_lines("\x1b[32m漢\x1b[0m字\r文\n".as_bytes(), "文字\n");
    check_lines(b"\x08\x08a", "a");
}

#[test]
fn line_mode_of_clean_lines_changes_nothing() {
    check_lines("one\ntwo\tthree\n\nfour".as_bytes(), "one\ntwo\tthree\n\nfour");
}

#[test]
fn a_line_without_end_is_handed_over_in_parts() {
    let mut liner = LineStripper::new();
    let mut text = String::new();
    for _ in 0..40 {
        liner.feed(&[b'x'; 10_000], |run| text.push_str(run));
        assert!(liner.line.chars.capacity() <= 4 * 64 * 1024);
    }
    liner.finish(|run| text.push_str(run));
    assert_eq!(text.len(), 400_000);
}
