//! What a program printed, on its way to somebody else's terminal: written anew from what the
//! parser understood, without the sequences that reach beyond the screen. A program that a person
//! looks at must not fill their clipboard, read their files or print.

use crate::parser::{ControlSequence, ParserSink, SequenceParser, StringTerminator};

/// Whether a program may write the clipboard of the terminal that shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClipboardAccess {
    /// Sequences for the clipboard are left out.
    #[default]
    Off,
    /// What writes it goes through; what asks for its contents does not.
    Write,
}

/// Passes a stream on. Feed it chunks of any size.
#[derive(Clone, Debug, Default)]
pub struct PassThrough {
    parser: SequenceParser,
    clipboard: ClipboardAccess,
}

impl PassThrough {
    /// A stream at its beginning.
    pub fn new(clipboard: ClipboardAccess) -> Self {
        Self { parser: SequenceParser::new(), clipboard }
    }

    /// Reads the next bytes; what of them goes on. An unfinished sequence waits for its end.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let passed = Vec::with_capacity(bytes.len());
        let mut sink = PassedBytes { passed, clipboard: self.clipboard };
        self.parser.feed(bytes, &mut sink);
        sink.passed
    }
}

struct PassedBytes {
    passed: Vec<u8>,
    clipboard: ClipboardAccess,
}

impl PassedBytes {
    fn push(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.passed.extend_from_slice(part);
        }
    }
}

impl ParserSink for PassedBytes {
    fn text(&mut self, text: &str) {
        self.push(&[text.as_bytes()]);
    }

    fn control(&mut self, byte: u8) {
        self.passed.push(byte);
    }

    fn escape(&mut self, intermediates: &[u8], last: u8) {
        self.push(&[b"\x1b", intermediates, &[last]]);
    }

    fn csi(&mut self, csi: &ControlSequence<'_>) {
        if !leaves_the_screen(csi) {
            self.push(&[b"\x1b[", csi.body().as_bytes(), csi.intermediates, &[csi.last]]);
        }
    }

    fn osc(&mut self, payload: &[u8], end: StringTerminator) {
        if may_pass(payload, self.clipboard) {
            self.push(&[b"\x1b]", payload, end.as_str().as_bytes()]);
        }
    }

    fn dcs(&mut self, payload: &[u8]) {
        // Queries of a setting and of a capability. Others define keys or fonts, or carry whole
        // sequences past a multiplexer.
        if payload.starts_with(b"$q") || payload.starts_with(b"+q") {
            self.push(&[b"\x1bP", payload, b"\x1b\\"]);
        }
    }
}

/// Whether a control sequence prints on paper, moves or resizes the window, or lets the terminal
/// type its title.
fn leaves_the_screen(csi: &ControlSequence<'_>) -> bool {
    let plain = csi.marker == 0 && csi.intermediates.is_empty();
    match csi.last {
        b'i' => true,
        b't' => plain && matches!(csi.params.get(0), 1..=10 | 20 | 21 | 24..),
        _ => false,
    }
}

/// Whether an operating system command is one of those that agents use and that change nothing
/// but how a terminal looks.
fn may_pass(payload: &[u8], clipboard: ClipboardAccess) -> bool {
    let mut parts = payload.splitn(3, |byte| *byte == b';');
    let number = parts.next().and_then(|number| str::from_utf8(number).ok());
    match number.and_then(|number| number.parse::<u16>().ok()) {
        // Titles, colours, folder, links, pointer, prompts and notifications.
        Some(
            0..=2 | 4 | 5 | 7 | 8 | 10..=19 | 21 | 22 | 99 | 104 | 105 | 110..=119 | 133 | 777,
        ) => true,
        // A notification, or progress; with other numbers it is a command to the terminal.
        Some(9) => {
            let first = parts.next().unwrap_or_default();
            first == b"4" || parts.next().is_none() || !first.iter().all(u8::is_ascii_digit)
        }
        Some(52) => {
            let contents = parts.nth(1).unwrap_or_default();
            clipboard == ClipboardAccess::Write && contents != b"?"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str) -> String {
        through(text, ClipboardAccess::Off)
    }

    fn through(text: &str, clipboard: ClipboardAccess) -> String {
        String::from_utf8(PassThrough::new(clipboard).feed(text.as_bytes())).unwrap()
    }

    #[test]
    fn what_agents_print_goes_through_as_it_is() {
        for text in [
            "plain 日本語 👩\u{200d}💻\r\n\t\x07\x08",
            "\x1b[1;38;2;1;2;3mred\x1b[m\x1b[4:3m\x1b[?2026h\x1b[>4;1m\x1b[=1;1u\x1b[2 q\x1b[!p",
            "\x1b]0;title\x07\x1b]8;id=1;https://example.org\x1b\\link\x1b]8;;\x1b\\\x1b]9;4;1;50\x07",
            "\x1b(B\x1b7\x1b8\x1b=\x1bM\x1b[18t\x1b[22;2t\x1b]9;done\x07\x1b]777;notify;a;b\x07",
        ] {
            assert_eq!(passed(text), text);
        }
    }

    #[test]
    fn what_reaches_beyond_the_screen_is_left_out() {
        for text in [
            "\x1b]52;c;aGVsbG8=\x07",
            "\x1b]52;c;?\x1b\\",
            "\x1b]052;c;aGVsbG8=\x07",
            "\u{9d}52;c;aGVsbG8=\x07",
            "\x1bPtmux;\x1b\x1b]52;c;aGVsbG8=\x07\x1b\\",
            "\x1bP\x1b]52;c;aGVsbG8=\x07\x1b\\",
            "\x1b]1337;Copy=:aGVsbG8=\x07",
            "\x1b]1337;File=name=a:aGVsbG8=\x07",
            "\x1b]5522;type=write\x1b\\",
            "\x1b]5113;ac=send\x1b\\",
            "\x1b]50;font\x07\x1b]51;Ewrite\x07\x1b]3;prop=1\x07\x1b]46;log\x07\x1b]9;6;\"macro\"\x07",
            "\x1b[5i\x1b[?4i\x1b[21t\x1b[8;1;1t\x1b[3;0;0t",
            "\x1bP1;1|17/aa\x1b\\\x1b_any\x1b\\\x1b^any\x1b\\\x1bXany\x1b\\",
        ] {
            // What has lost its introducer is plain text, and an ending without a beginning is
            // nothing.
            let passed = passed(text).replace("\x1b\\", "");
            assert!(!passed.contains(['\x1b', '\u{9d}']), "{text:?}: {passed:?}");
        }
    }

    #[test]
    fn the_clipboard_is_written_where_that_is_wanted_and_never_read() {
        let write = "\x1b]52;c;aGVsbG8=\x07";
        assert_eq!(through(write, ClipboardAccess::Write), write);
        assert_eq!(through("\x1b]52;c;?\x07\x1b]52;;?\x07", ClipboardAccess::Write), "");
    }

    #[test]
    fn a_sequence_in_pieces_is_the_same_sequence() {
        let text = "a\x1b]52;c;aGVsbG8=\x07日\x1b[1;31mb\x1b]0;t\x1b\\";
        let whole = passed(text);
        for cut in 0..=text.len() {
            let mut pieces = PassThrough::default();
            let (first, second) = text.as_bytes().split_at(cut);
            let joined = [pieces.feed(first), pieces.feed(second)].concat();
            assert_eq!(String::from_utf8(joined).unwrap(), whole, "cut at {cut}");
        }
    }
}
