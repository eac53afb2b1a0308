//! Answers to what a program asks its terminal. They are ready as soon as the question is read,
//! because a late answer is typed into the program's prompt.
//!
//! Some questions are never answered: the clipboard and the title are not the program's to read.

use crate::keys::KittyFlags;
use crate::parser::StringTerminator;
use crate::screen::{GridSize, Rgb};

/// Answers kept until they are taken. A program that asks more without reading gets no more.
const MAX_BYTES: usize = 16 * 1024;

/// A cell's width and height in pixels, for programs that ask for the window's size in pixels.
const CELL_PIXELS: (u32, u32) = (10, 20);

#[derive(Clone, Debug)]
pub(crate) struct ReplyBuffer {
    enabled: bool,
    bytes: Vec<u8>,
}

impl ReplyBuffer {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, bytes: Vec::new() }
    }

    pub(crate) fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    fn push(&mut self, reply: &str) {
        if self.enabled && self.bytes.len() + reply.len() <= MAX_BYTES {
            self.bytes.extend_from_slice(reply.as_bytes());
        }
    }

    /// DA1: a VT220 with colour.
    pub(crate) fn device_attributes(&mut self) {
        self.push("\x1b[?62;22c");
    }

    pub(crate) fn secondary_attributes(&mut self) {
        self.push("\x1b[>0;100;0c");
    }

    /// DA3: no unit has a number.
    pub(crate) fn tertiary_attributes(&mut self) {
        self.push("\x1bP!|00000000\x1b\\");
    }

    pub(crate) fn version(&mut self) {
        self.push(concat!("\x1bP>|coven(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
    }

    /// DSR 5: all well.
    pub(crate) fn operating(&mut self) {
        self.push("\x1b[0n");
    }

    /// DSR 6: where the cursor is, from 0 here.
    pub(crate) fn cursor(&mut self, row: usize, column: usize, private: bool) {
        let marker = if private { "?" } else { "" };
        self.push(&format!("\x1b[{marker}{};{}R", row + 1, column + 1));
    }

    pub(crate) fn color_scheme(&mut self, dark: bool) {
        self.push(if dark { "\x1b[?997;1n" } else { "\x1b[?997;2n" });
    }

    pub(crate) fn mode(&mut self, marker: &str, mode: u16, state: Option<bool>) {
        let state = match state {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        self.push(&format!("\x1b[{marker}{mode};{state}$y"));
    }

    /// The kitty keyboard query.
    pub(crate) fn kitty(&mut self, flags: KittyFlags) {
        self.push(&format!("\x1b[?{}u", flags.bits()));
    }

    /// OSC 4, 10, 11, 12.
    pub(crate) fn color(&mut self, name: &str, color: Rgb, end: StringTerminator) {
        self.push(&format!("\x1b]{name};{}{}", color.spec(), end.as_str()));
    }

    pub(crate) fn window_pixels(&mut self, size: GridSize) {
        let (width, height) =
            (u32::from(size.columns) * CELL_PIXELS.0, u32::from(size.rows) * CELL_PIXELS.1);
        self.push(&format!("\x1b[4;{height};{width}t"));
    }

    pub(crate) fn cell_pixels(&mut self) {
        self.push(&format!("\x1b[6;{};{}t", CELL_PIXELS.1, CELL_PIXELS.0));
    }

    pub(crate) fn window_cells(&mut self, size: GridSize) {
        self.push(&format!("\x1b[8;{};{}t", size.rows, size.columns));
    }

    /// `OSC 7501 ; ?`: status is understood.
    pub(crate) fn program_status(&mut self) {
        self.push("\x1b]7501;?\x1b\\");
    }

    /// DECRQSS: a setting and its value, or that it is not known.
    pub(crate) fn setting(&mut self, value: Option<&str>, name: &[u8]) {
        match (value, str::from_utf8(name)) {
            (Some(value), Ok(name)) => self.push(&format!("\x1bP1$r{value}{name}\x1b\\")),
            _ => self.push("\x1bP0$r\x1b\\"),
        }
    }

    /// XTGETTCAP, one name in hex.
    pub(crate) fn capability(&mut self, name: &[u8]) {
        let Ok(name) = str::from_utf8(name) else { return };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return;
        }
        // Values in hex too: xterm-256color, 256 and 8/8/8.
        let value = match name.to_ascii_lowercase().as_str() {
            "544e" => Some("787465726D2D323536636F6C6F72"),
            "436f" => Some("323536"),
            "524742" => Some("382F382F38"),
            _ => None,
        };
        match value {
            Some(value) => self.push(&format!("\x1bP1+r{name}={value}\x1b\\")),
            None => self.push(&format!("\x1bP0+r{name}\x1b\\")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{GridSize, Screen};

    #[track_caller]
    fn check(question: &str, answer: &str) {
        let mut screen = Screen::new(GridSize::new(80, 24));
        screen.feed(question.as_bytes());
        let reply = screen.take_replies();
        assert_eq!(str::from_utf8(&reply).unwrap(), answer, "{question:?}");
        assert!(screen.take_replies().is_empty(), "answered once");
    }

    #[test]
    fn every_question_of_the_real_programs_has_its_answer() {
        check("\x1b[c", "\x1b[?62;22c");
        check("\x1b[0c", "\x1b[?62;22c");
        check("\x1b[>c", "\x1b[>0;100;0c");
        check("\x1b[=c", "\x1bP!|00000000\x1b\\");
        check("\x1b[5n", "\x1b[0n");
        check("ab\r\nc\x1b[6n", "\x1b[2;2R");
        check("\x1b[?6n", "\x1b[?1;1R");
        check("\x1b[?996n", "\x1b[?997;1n");
        check("\x1b[>0q", concat!("\x1bP>|coven(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
        check("\x1b[14t", "\x1b[4;480;800t");
        check("\x1b[16t", "\x1b[6;20;10t");
        check("\x1b[18t", "\x1b[8;24;80t");
        check("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\");
        check("\x1b[>7u\x1b[?u", "\x1b[?7u");
        check("\x1b[?u", "\x1b[?0u");
    }

    #[test]
    fn modes_are_told_as_set_reset_or_unknown() {
        check("\x1b[?2026$p", "\x1b[?2026;2$y");
        check("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y");
        check("\x1b[?1003h\x1b[?1000$p\x1b[?1003$p", "\x1b[?1000;2$y\x1b[?1003;1$y");
        check("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y");
        check("\x1b[?1016$p", "\x1b[?1016;0$y");
        check("\x1b[4h\x1b[4$p\x1b[99$p", "\x1b[4;1$y\x1b[99;0$y");
    }

    #[test]
    fn colours_are_told_with_the_ending_of_the_question() {
        check("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07");
        check("\x1b]10;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\");
        check("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07");
        check("\x1b]4;1;#102030;1;?\x07", "\x1b]4;1;rgb:1010/2020/3030\x07");
        check("\x1b]10;?;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x07");
        check("\x1b]11;#ffffff\x07\x1b]10;#000\x07\x1b[?996n", "\x1b[?997;2n");
    }

    #[test]
    fn settings_and_capabilities() {
        check("\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0;1;31m\x1b\\");
        check("\x1b[2;5r\x1bP$qr\x1b\\", "\x1bP1$r2;5r\x1b\\");
        check("\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\");
        check("\x1bP$qx\x1b\\", "\x1bP0$r\x1b\\");
        check("\x1bP+q436f;4142\x1b\\", "\x1bP1+r436f=323536\x1b\\\x1bP0+r4142\x1b\\");
        check("\x1bP+qzz\x1b\\", "");
    }

    #[test]
    fn some_questions_are_not_answered() {
        check("\x1b[>4;?m", "");
        check("\x1b]52;c;?\x07", "");
        check("\x1b]0;t\x07\x1b[21t", "");
        check("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", "");
    }

    #[test]
    fn answers_are_bounded_and_can_be_switched_off() {
        let mut screen = Screen::new(GridSize::new(80, 24));
        screen.feed("\x1b[c".repeat(100_000).as_bytes());
        assert!(screen.take_replies().len() <= super::MAX_BYTES);
        screen.set_replies(false);
        screen.feed(b"\x1b[c\x1b[6n");
        assert!(screen.take_replies().is_empty());
    }

    #[test]
    fn the_cursor_is_told_from_the_margin_in_origin_mode() {
        check("\x1b[5;10r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R");
    }
}
