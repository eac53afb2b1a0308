//! The parser against a written-out list of what it must report, whole and split anywhere.

use super::*;

/// Writes down what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl ParserSink for Log {
    fn text(&mut self, text: &str) {
        // Runs may be cut where chunks end; only the text itself is promised.
        match self.0.last_mut() {
            Some(last) if last.starts_with("text ") => last.push_str(text),
            _ => self.0.push(format!("text {text}")),
        }
    }

    fn control(&mut self, byte: u8) {
        self.0.push(format!("control {byte:02x}"));
    }

    fn escape(&mut self, intermediates: &[u8], last: u8) {
        self.0.push(format!("escape {}{}", intermediates.escape_ascii(), char::from(last)));
    }

    fn csi(&mut self, csi: &ControlSequence<'_>) {
        let groups: Vec<_> = csi.params.groups().map(|group| format!("{group:?}")).collect();
        let marker = if csi.marker == 0 { ' ' } else { char::from(csi.marker) };
        self.0.push(format!(
            "csi {marker}{}{}{}",
            groups.join(""),
            csi.intermediates.escape_ascii(),
            char::from(csi.last)
        ));
    }

    fn osc(&mut self, payload: &[u8], end: StringTerminator) {
        self.0.push(format!("osc {} {end:?}", payload.escape_ascii()));
    }

    fn dcs(&mut self, payload: &[u8]) {
        self.0.push(format!("dcs {}", payload.escape_ascii()));
    }
}

fn parse(chunks: &[&[u8]]) -> Vec<String> {
    let mut parser = SequenceParser::new();
    let mut log = Log::default();
    for chunk in chunks {
        parser.feed(chunk, &mut log);
    }
    log.0
}

#[track_caller]
fn check(input: &[u8], expected: &[&str]) {
    assert_eq!(parse(&[input]), expected, "whole");
    for at in 0..=input.len() {
        assert_eq!(parse(&[&input[..at], &input[at..]]), expected, "split at {at}");
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(parse(&bytes), expected, "byte by byte");

    // What is pending at any point brings a new parser to the same place.
    for at in 0..=input.len() {
        let mut first = SequenceParser::new();
        let mut log = Log::default();
        first.feed(&input[..at], &mut log);
        let mut second = SequenceParser::new();
        second.feed(&first.pending(), &mut Log::default());
        second.feed(&input[at..], &mut log);
        assert_eq!(log.0, expected, "resumed at {at}");
    }
}

#[test]
fn text_and_controls_are_told_apart() {
    check(b"ab\r\ncd\x7f\x07", &["text ab", "control 0d", "control 0a", "text cd", "control 07"]);
}

#[test]
fn control_sequences_of_every_form_are_taken_apart() {
    check(b"\x1b[m", &["csi  m"]);
    check(b"\x1b[1;31m", &["csi  [1][31]m"]);
    check(b"\x1b[38:2::10:20:30;4:3m", &["csi  [38, 2, 0, 10, 20, 30][4, 3]m"]);
    check(b"\x1b[?2026$p", &["csi ?[2026]$p"]);
    check(b"\x1b[>4;2m", &["csi >[4][2]m"]);
    check(b"\x1b[;5H", &["csi  [0][5]H"]);
    check(b"\x1b[99999999b", &["csi  [65535]b"]);
    check(b"\x1b[2 q", &["csi  [2] q"]);
}

#[test]
fn malformed_control_sequences_are_dropped_whole() {
    check(b"\x1b[>4;?mx", &["text x"]);
    check(b"\x1b[1$2mx", &["text x"]);
}

#[test]
fn controls_inside_a_sequence_act_at_once() {
    check(b"\x1b[3\n1mx", &["control 0a", "csi  [31]m", "text x"]);
    check(b"\x1b\r[mx", &["control 0d", "csi  m", "text x"]);
}

#[test]
fn cancel_and_escape_end_any_sequence() {
    check(b"\x1b[31\x18x", &["control 18", "text x"]);
    check(b"\x1b]0;t\x1ax", &["control 1a", "text x"]);
    check(b"\x1b[31\x1b[0mx", &["csi  [0]m", "text x"]);
    check(b"\x1b]0;t\x1b[0mx", &["csi  [0]m", "text x"]);
    check(b"\x1bPq\x1bDx", &["escape D", "text x"]);
}

#[test]
fn strings_end_at_bell_or_terminator() {
    check(b"\x1b]0;a\x07b", &["osc 0;a Bell", "text b"]);
    check("\x1b]2;é\x1b\\b".as_bytes(), &["osc 2;\\xc3\\xa9 Terminator", "text b"]);
    check(b"\x1bP$qm\x1b\\b", &["dcs $qm", "text b"]);
    // BEL is part of every other string.
    check(b"\x1bP+q\x07\x1b\\b", &["dcs +q\\x07", "text b"]);
    check(b"\x1b_Ga=q\x07;AAAA\x1b\\b\x1b^x\x1b\\c\x1bXy\x1b\\d", &["text bcd"]);
}

#[test]
fn escape_sequences_keep_their_intermediates() {
    check(
        b"\x1b(0q\x1b)B\x1b7\x1b#8",
        &["escape (0", "text q", "escape )B", "escape 7", "escape #8"],
    );
}

#[test]
fn an_escape_before_other_text_stands_alone() {
    check("\x1bé".as_bytes(), &["text é"]);
    check("\x1b[1é".as_bytes(), &["text é"]);
    check(b"\x1b\x1b[m", &["csi  m"]);
}

#[test]
fn characters_survive_any_split_and_bad_bytes_become_replacements() {
    check("aé漢👍🏽b".as_bytes(), &["text aé漢👍🏽b"]);
    check(b"a\xffb", &["text a\u{fffd}b"]);
    check(b"a\xf0\x9fb", &["text a\u{fffd}b"]);
    check(b"a\xe6\xbc\x1b[mb", &["text a\u{fffd}", "csi  m", "text b"]);
    check(b"a\xe6\xbc\nb", &["text a\u{fffd}", "control 0a", "text b"]);
    check(b"\x9b31m", &["text \u{fffd}31m"]);
}

#[test]
fn c1_characters_are_no_text() {
    check("a\u{9b}31mb·c\u{85}".as_bytes(), &["text a31mb·c"]);
}

#[test]
fn what_is_too_long_is_skipped_to_its_end_and_nothing_is_kept() {
    for (intro, end) in
        [("\x1b]0;", "\x07"), ("\x1bP", "\x1b\\"), ("\x1b_", "\x1b\\"), ("\x1b[", "m")]
    {
        let body = "1".repeat(MAX_OSC + 10);
        let input = format!("{intro}{body}{end}x");
        assert_eq!(parse(&[input.as_bytes()]), ["text x"], "{intro:?} whole");
        let chunks: Vec<&[u8]> = input.as_bytes().chunks(7).collect();
        assert_eq!(parse(&chunks), ["text x"], "{intro:?} in pieces");

        let mut parser = SequenceParser::new();
        parser.feed(&input.as_bytes()[..input.len() - 3], &mut Log::default());
        assert!(parser.held.len() <= MAX_OSC);
        assert!(parser.pending().len() < 8, "{:?}", parser.pending());
    }
}

#[test]
fn the_limits_are_the_same_whole_and_split() {
    for extra in 0..3 {
        let input = format!("\x1b]0;{}\x07x", "1".repeat(MAX_OSC - 3 + extra));
        let whole = parse(&[input.as_bytes()]);
        let split: Vec<&[u8]> = input.as_bytes().chunks(1000).collect();
        assert_eq!(whole, parse(&split), "{extra} over");
        assert_eq!(whole.len(), if extra <= 1 { 2 } else { 1 });

        let input = format!("\x1b[{}mx", "1".repeat(MAX_CSI - 1 + extra));
        let split: Vec<&[u8]> = input.as_bytes().chunks(10).collect();
        assert_eq!(parse(&[input.as_bytes()]), parse(&split), "{extra} over");
    }
}

#[test]
fn the_end_of_a_stream_shows_an_unfinished_character() {
    let mut parser = SequenceParser::new();
    let mut log = Log::default();
    parser.feed(b"a\xf0\x9f", &mut log);
    parser.finish(&mut log);
    assert_eq!(log.0, ["text a\u{fffd}"]);
    parser.feed(b"\x1b[3", &mut log);
    parser.finish(&mut log);
    parser.feed(b"1", &mut log);
    assert_eq!(log.0, ["text a\u{fffd}1"]);
}
