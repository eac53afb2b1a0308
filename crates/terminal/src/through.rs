//! What a program printed, on its way to somebody else's terminal: written anew from what the
//! parser understood, without the sequences that reach beyond the screen. A program that a person
//! looks at must not fill their clipboard, read their files, print, or ask their terminal anything:
//! the answer would be typed into whatever reads its keys. The runner that has the program answers.

use std::borrow::Cow;

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
    keyboard: KeyboardModes,
    lasting_change: bool,
}

/// Whether a program may say what the terminal sends for keys, mouse, pastes and focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KeyboardModes {
    #[default]
    Pass,
    LeaveOut,
}

impl PassThrough {
    /// A stream at its beginning, for a terminal whose keys go to the program or to a viewer that
    /// sets the terminal back when it ends.
    pub fn new(clipboard: ClipboardAccess) -> Self {
        Self { clipboard, ..Self::default() }
    }

    /// The same for a terminal that is only printed on: its keys and its mouse stay as they are,
    /// because the shell has them next. See [`Self::has_lasting_change`].
    pub fn to_print(clipboard: ClipboardAccess) -> Self {
        Self { clipboard, keyboard: KeyboardModes::LeaveOut, ..Self::default() }
    }

    /// Reads the next bytes; what of them goes on. An unfinished sequence waits for its end.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let passed = Vec::with_capacity(bytes.len());
        let (clipboard, keyboard) = (self.clipboard, self.keyboard);
        let mut sink = PassedBytes { passed, clipboard, keyboard, lasting_change: false };
        self.parser.feed(bytes, &mut sink);
        self.lasting_change |= sink.lasting_change;
        sink.passed
    }

    /// Whether anything went on that changes how a terminal shows what others print later: a mode,
    /// a character set, margins, tab stops, the colours behind the numbers. Attributes of text and
    /// an open link do not count; they end with `CSI m` and an empty link.
    pub fn has_lasting_change(&self) -> bool {
        self.lasting_change
    }
}

struct PassedBytes {
    passed: Vec<u8>,
    clipboard: ClipboardAccess,
    keyboard: KeyboardModes,
    lasting_change: bool,
}

impl PassedBytes {
    fn push(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.passed.extend_from_slice(part);
        }
    }

    /// Sets, resets, saves or restores the modes of a sequence that may be.
    fn private_modes(&mut self, csi: &ControlSequence<'_>) {
        let passes = self.keyboard == KeyboardModes::Pass;
        let may_be =
            |mode: &&u16| PASSED_MODES.contains(mode) && (passes || !KEYBOARD_MODES.contains(mode));
        let modes: Vec<String> =
            csi.params.all().iter().filter(may_be).map(u16::to_string).collect();
        if !modes.is_empty() {
            self.lasting_change = true;
            self.push(&[b"\x1b[?", modes.join(";").as_bytes(), &[csi.last]]);
        }
    }
}

impl ParserSink for PassedBytes {
    fn text(&mut self, text: &str) {
        self.push(&[without_direction_marks(text).as_bytes()]);
    }

    fn control(&mut self, byte: u8) {
        // Bell, backspace, tab, line ends, and the two shifts between character sets. Of the others
        // only ENQ does anything, and what it does is ask.
        if (0x07..=0x0f).contains(&byte) {
            self.lasting_change |= byte == SHIFT_OUT;
            self.passed.push(byte);
        }
    }

    fn escape(&mut self, intermediates: &[u8], last: u8) {
        let keypad = intermediates.is_empty() && matches!(last, b'=' | b'>');
        if keypad && self.keyboard == KeyboardModes::LeaveOut {
            return;
        }
        if escape_may_pass(intermediates, last) {
            self.lasting_change |= !intermediates.is_empty() || !b"78DEM\\".contains(&last);
            self.push(&[b"\x1b", intermediates, &[last]]);
        }
    }

    fn csi(&mut self, csi: &ControlSequence<'_>) {
        let keyboard = csi.marker != 0 && matches!(csi.last, b'm' | b'n' | b'u');
        if !csi_may_pass(csi) || (keyboard && self.keyboard == KeyboardModes::LeaveOut) {
            return;
        }
        if csi.marker == b'?' && matches!(csi.last, b'h' | b'l' | b'r' | b's') {
            return self.private_modes(csi);
        }
        let passes_by = csi.marker == 0 && csi.intermediates.is_empty();
        self.lasting_change |= !passes_by || !DRAWING.contains(&csi.last);
        self.push(&[b"\x1b[", csi.body().as_bytes(), csi.intermediates, &[csi.last]]);
    }

    fn osc(&mut self, payload: &[u8], end: StringTerminator) {
        // A control character in a string ends it for some terminals, and what follows acts.
        let Ok(payload) = str::from_utf8(payload) else { return };
        if payload.chars().any(char::is_control) || !osc_may_pass(payload, self.clipboard) {
            return;
        }
        self.lasting_change |= is_colour(osc_number(payload));
        let payload = without_direction_marks(payload);
        self.push(&[b"\x1b]", payload.as_bytes(), end.as_str().as_bytes()]);
    }

    // Device control strings are queries, define keys or fonts, or carry whole sequences past a
    // multiplexer: none goes on.
}

/// The text without the characters that turn the direction of text around. They have no width, so
/// the columns of the screen stay what they are.
fn without_direction_marks(text: &str) -> Cow<'_, str> {
    if text.contains(is_direction_mark) {
        Cow::Owned(text.replace(is_direction_mark, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a character changes the order in which those around it are shown.
pub fn is_direction_mark(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Whether an escape sequence is one of those that draw. Left out are the question who the terminal
/// is (`ESC Z`), and other encodings (`ESC %`), in which the bytes of a letter would be controls.
fn escape_may_pass(intermediates: &[u8], last: u8) -> bool {
    match intermediates {
        [] => b"6789=>DEHMNOc\\no|}~".contains(&last),
        [b'#' | b'(' | b')' | b'*' | b'+'] => true,
        _ => false,
    }
}

/// Whether a control sequence draws, or sets how the keyboard and the mouse are reported. All
/// others are left out: they make the terminal answer, which would be typed into the program that
/// reads its keys, or print on paper, or move the window.
fn csi_may_pass(csi: &ControlSequence<'_>) -> bool {
    match (csi.marker, csi.intermediates) {
        (0, []) => match csi.last {
            // The stack of titles; all else about the window stays out.
            b't' => matches!(csi.params.get(0), 22 | 23),
            // Insertion and line ends; others lock the keyboard.
            b'h' | b'l' => matches!(csi.params.all(), [4 | 20]),
            // With more numbers it follows the mouse.
            b'T' => csi.params.all().len() <= 1,
            last => b"@ABCDEFGHIJKLMPSXZ`abdefgmrsu".contains(&last),
        },
        (b'?', []) => b"JKWhlrs".contains(&csi.last),
        (b'>', []) => b"mnu".contains(&csi.last),
        (b'<' | b'=', []) => csi.last == b'u',
        (0, b" ") => b"@Aq".contains(&csi.last),
        (0, b"!") => csi.last == b'p',
        (0, b"\"") => csi.last == b'q',
        (0, b"#") => b"PQpq{}".contains(&csi.last),
        (0, b"$") => b"rtvxz{".contains(&csi.last),
        (0, b"'") => b"}~".contains(&csi.last),
        (0, b"*") => csi.last == b'x',
        _ => false,
    }
}

/// Shifts to another character set.
const SHIFT_OUT: u8 = 0x0e;

/// The last bytes of control sequences that draw, and after which nothing is different.
const DRAWING: &[u8] = b"@ABCDEFGHIJKLMPSTXZ`abdefmstu";

/// The private modes that go on: those that change how the screen is drawn, or what the terminal
/// sends for keys, mouse, pastes and focus, and that a viewer can set back when it ends. All others
/// are left out: they speak another language (2, 38), change character sets, print, resize the
/// window or report something at once. So is 1007 (the wheel as arrow keys), which is on from the
/// start in some terminals and off in others, so that nothing can set it back.
pub const PASSED_MODES: [u16; 25] = [
    1, 5, 6, 7, 9, 12, 25, 45, 47, 66, 69, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047,
    1048, 1049, 2004, 2026, 2027,
];

/// Those of them that change what the terminal sends.
const KEYBOARD_MODES: [u16; 12] = [1, 9, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004];

fn osc_number(payload: &str) -> Option<u16> {
    payload.split(';').next()?.parse().ok()
}

/// Whether an operating system command sets colours or the pointer.
fn is_colour(number: Option<u16>) -> bool {
    matches!(number, Some(4 | 5 | 10..=19 | 21 | 22 | 104 | 105 | 110..=119))
}

/// Whether an operating system command is one of those that agents use and that change nothing
/// but how a terminal looks.
fn osc_may_pass(payload: &str, clipboard: ClipboardAccess) -> bool {
    let number = osc_number(payload);
    let mut parts = payload.splitn(3, ';').skip(1);
    match number {
        // Titles, links and notifications.
        Some(0..=2 | 8 | 777) => true,
        // No value of theirs has the sign that asks for it.
        _ if is_colour(number) => !payload.contains('?'),
        // A notification, or progress; with other numbers it is a command to the terminal.
        Some(9) => {
            let first = parts.next().unwrap_or_default();
            first == "4" || parts.next().is_none() || !first.bytes().all(|b| b.is_ascii_digit())
        }
        Some(52) => {
            let contents = parts.nth(1).unwrap_or_default();
            clipboard == ClipboardAccess::Write && contents != "?"
        }
        Some(99) => parts.next().is_some_and(|keys| keys.split(':').all(is_plain_notification)),
        _ => false,
    }
}

/// Whether a key of a notification (`key=value`) only says what it shows. Others ask what the
/// terminal can do or which notifications are open, or have it report a click or the closing.
fn is_plain_notification(key: &str) -> bool {
    match key.split_once('=') {
        None => key.is_empty(),
        Some(("p", what)) => matches!(what, "title" | "body"),
        Some((name, _)) => matches!(name, "d" | "e" | "i" | "o" | "u"),
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{GridSize, Screen};

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
            "\x1b(B\x1b7\x1b8\x1b=\x1bM\x1b[22;2t\x1b]9;done\x07\x1b]777;notify;a;b\x07",
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
            "\x1b]7;file://host/folder\x07\x1b]133;A\x07\x1b]133;C;cmdline=x\x1b\\",
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
    fn no_terminal_is_asked_anything() {
        for query in [
            "\x05",
            "\x1bZ",
            "\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1b[?1c",
            "\x1b[5n\x1b[6n\x1b[?6n\x1b[?996n\x1b[?15n",
            "\x1b[?2026$p\x1b[4$p\x1b[+p",
            "\x1b[>q\x1b[>0q",
            "\x1b[?u\x1b[1$u\x1b[&u\x1b[1$w\x1b[\"v",
            "\x1b[x\x1b[1x\x1b[1;1;1;1;1;1*y\x1b[#y",
            "\x1b[11t\x1b[13t\x1b[14t\x1b[15t\x1b[16t\x1b[18t\x1b[19t\x1b[20t\x1b[21t",
            "\x1b[?1;1;0S\x1b[?4m\x1b[#|\x1b[#R\x1b['|\x1b[1'z",
            "\x1b[?2048h\x1b[?1001h\x1b[1;1;1;1;1T",
            "\x1b]4;1;?\x07\x1b]5;0;?\x07\x1b]10;?\x07\x1b]11;?\x1b\\\x1b]12;?\x07\x1b]10;#fff;?\x07",
            "\x1b]21;foreground=?\x07\x1b]22;?current\x07\x1b]7501;?\x07",
            "\x1b]99;i=1:p=?;\x07\x1b]99;i=1:p=alive;\x07\x1b]99;i=1:a=report;t\x07\x1b]99;c=1;t\x07",
            "\x1bP$qm\x1b\\\x1bP+q436f\x1b\\",
            "\x1b_Gi=31,a=q;AAAA\x1b\\",
            // What ends a string for some terminals, and goes on behind it.
            "\x1b]0;a\u{9c}\u{9b}6n\x07\x1b]2;a\x05\x07",
        ] {
            assert_eq!(passed(query), "", "{query:?}");
        }
        assert_eq!(passed("\x1b[?25;2048;1049h"), "\x1b[?25;1049h");
        // In another encoding, the second byte of this letter would begin a sequence.
        assert_eq!(passed("\x1b%@\u{6db}6n"), "\u{6db}6n");
    }

    #[test]
    fn only_modes_that_can_be_set_back_go_through() {
        for mode in 0..=u16::MAX {
            for action in ['h', 'l', 'r', 's'] {
                let text = format!("\x1b[?{mode}{action}");
                let expected = if PASSED_MODES.contains(&mode) { text.as_str() } else { "" };
                assert_eq!(passed(&text), expected);
            }
        }
        // VT52, other character sets, reports of sizes and colours, and numbers out of range.
        for mode in ["2", "3", "18", "38", "46", "1007", "1041", "2031", "2048", "5522", "70000"] {
            assert_eq!(passed(&format!("\x1b[?{mode}h\x1b[?{mode}l\x1b[?{mode}r")), "", "{mode}");
        }
        assert_eq!(passed("\x1b[?r\x1b[?s\x1b[?h\x1b[2h\x1b[12l\x1b[99999h\x1b[4;2h"), "");
        assert_eq!(passed("\x1b[4h\x1b[20l"), "\x1b[4h\x1b[20l");
    }

    #[test]
    fn what_stays_behind_a_stream_is_known() {
        for (text, stays) in [
            ("plain \x1b[1;31mred\x1b[m\r\n\x1b[2K\x1b[3A\x1b[H\x1b[2J\x1b]0;t\x07", false),
            ("\x1b]8;;https://a.b\x07link\x1b]8;;\x07\x1b[?2048h\x1b[?1003h\x1b7\x1b8", false),
            ("\x1b[?1049h", true),
            ("\x1b[?25l", true),
            ("\x1b(0", true),
            ("\x0e", true),
            ("\x1b[2;5r", true),
            ("\x1b[4h", true),
            ("\x1b[3g", true),
            ("\x1b[3 q", true),
            ("\x1b]11;#102030\x07", true),
        ] {
            let mut printed = PassThrough::to_print(ClipboardAccess::Off);
            printed.feed(text.as_bytes());
            assert_eq!(printed.has_lasting_change(), stays, "{text:?}");
        }
    }

    #[test]
    fn a_terminal_that_is_only_printed_on_keeps_its_keys_and_its_mouse() {
        let modes = "\x1b[?1003;1006h\x1b[?2004h\x1b[>4;2m\x1b[>1u\x1b[=1u\x1b=";
        assert_eq!(passed(modes), modes);
        let mut printed = PassThrough::to_print(ClipboardAccess::Off);
        assert_eq!(printed.feed(modes.as_bytes()), b"");
        assert_eq!(printed.feed(b"\x1b[?1003;25h\x1b[1m\x1b[u"), b"\x1b[?25h\x1b[1m\x1b[u");
    }

    #[test]
    fn what_turns_text_around_is_left_out() {
        let marks = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}";
        assert_eq!(passed(&format!("a{marks}b\x1b]2;c{marks}d\x07")), "ab\x1b]2;cd\x07");
    }

    #[test]
    fn the_picture_of_a_screen_goes_through_as_it_is() {
        let mut screen = Screen::new(GridSize::new(20, 6));
        screen.feed(
            "main \x1b[1;4:3;58;5;3;31mred\x1b]8;;https://a.b\x07link\x1b]8;;\x07".as_bytes(),
        );
        screen.feed(
            b"\x1b[?1049h\x1b]4;1;#102030\x07\x1b]2;t\x07\x1b[22t\x1b)0\x0elq\x1b[>4;2m\x1b[>5u",
        );
        screen.feed(
            "\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[2;5r\x1b[?6h\x1b[4h\x1b[20h日本".as_bytes(),
        );
        screen.feed(b"\x1b[3g\x1b[4G\x1bH\x1b[3 q\x1b7\x1b[2;20Hxx\x1b[1\"qy");
        let dump = screen.dump();
        let went = PassThrough::default().feed(&dump);
        // Two modes of our own terminals are not set back on one of a person, for want of being on.
        let dump = String::from_utf8(dump).unwrap();
        let dump = dump.replace("\x1b[?1007l", "").replace("\x1b[?2031l", "");
        assert_eq!(String::from_utf8(went).unwrap(), dump);
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
