//! The one parser of terminal output. Everything in this crate that reads bytes reads them
//! through here, so all of it is right at the same time when a sequence or a character arrives
//! in pieces.
//!
//! The parser holds back an unfinished sequence as raw bytes ([`SequenceParser::pending`]) and
//! hands over only whole ones. What it holds is bounded: a sequence longer than its limit is
//! skipped to its end and never reported.

mod csi;

pub use csi::{ControlSequence, SequenceParams};

/// Longest body of a control sequence (`CSI …`) that is still understood. The longest honest ones
/// are SGR lists of about a hundred bytes.
pub(crate) const MAX_CSI: usize = 256;

/// Longest payload of an operating system command (`OSC …`). Window titles, links and
/// notifications are far below; clipboard and image transfers are skipped.
pub(crate) const MAX_OSC: usize = 16 * 1024;

/// Longest payload of a device control string (`DCS …`). Only short queries matter here; images
/// are skipped.
pub(crate) const MAX_DCS: usize = 4 * 1024;

/// Intermediate bytes kept of an escape sequence; no sequence in use has more than two.
const MAX_ESCAPE: usize = 8;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const DEL: u8 = 0x7f;

/// What ended a string sequence. A reply to a query uses the same ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringTerminator {
    /// The single byte BEL.
    Bell,
    /// The two bytes `ESC \`.
    Terminator,
}

impl StringTerminator {
    /// The bytes of this ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bell => "\x07",
            Self::Terminator => "\x1b\\",
        }
    }
}

/// Receives what the parser found, in order. Every method but `text` and `control` may be left
/// out by readers that do not care.
pub trait ParserSink {
    /// A run of printable characters. Bytes that are not UTF-8 arrive as U+FFFD; control
    /// characters (C0, DEL, C1) never do.
    fn text(&mut self, text: &str);

    /// A C0 control such as line feed, also when it stands inside a sequence.
    fn control(&mut self, byte: u8);

    /// An escape sequence: `ESC`, intermediates, last byte.
    fn escape(&mut self, _intermediates: &[u8], _last: u8) {}

    fn csi(&mut self, _csi: &ControlSequence<'_>) {}

    /// An operating system command, without introducer and ending.
    fn osc(&mut self, _payload: &[u8], _end: StringTerminator) {}

    /// A device control string, without introducer and ending.
    fn dcs(&mut self, _payload: &[u8]) {}
}

/// Where the parser stands between two bytes. `held` has the raw bytes of what is unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In text; up to three bytes of an unfinished character are held.
    #[default]
    Ground,
    /// After `ESC` and perhaps intermediates, all held.
    Escape,
    /// After `ESC [`, held with the body so far.
    Csi,
    /// In a control sequence over its limit.
    CsiSkip,
    /// In a string that is kept (`]` or `P`), held with its introducer.
    Keep(u8),
    /// After an `ESC` in such a string.
    KeepEscape(u8),
    /// In a string that is not kept: over its limit, or of a kind no sink takes.
    Skip(u8),
    /// After an `ESC` in such a string.
    SkipEscape(u8),
}

/// A streaming parser. Feed it chunks of any size.
#[derive(Clone, Debug, Default)]
pub struct SequenceParser {
    state: State,
    held: Vec<u8>,
}

impl SequenceParser {
    /// A parser at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the stream stands between two whole sequences.
    pub fn is_idle(&self) -> bool {
        self.state == State::Ground && self.held.is_empty()
    }

    /// Bytes that bring a new parser to where this one stands. Empty between sequences. A sequence
    /// that is being skipped is stood for by the beginning of one that every reader ignores.
    pub fn pending(&self) -> Vec<u8> {
        let mut bytes = self.held.clone();
        match self.state {
            State::Ground | State::Escape | State::Csi | State::Keep(_) => {}
            State::KeepEscape(_) => bytes.push(ESC),
            // A digit before a private marker is malformed, so the sequence is dropped.
            State::CsiSkip => bytes.extend_from_slice(b"\x1b[0?"),
            State::Skip(kind) => bytes.extend_from_slice(skipped(kind)),
            State::SkipEscape(kind) => {
                bytes.extend_from_slice(skipped(kind));
                bytes.push(ESC);
            }
        }
        bytes
    }

    /// Reads the next bytes of the stream.
    pub fn feed<S: ParserSink + ?Sized>(&mut self, bytes: &[u8], sink: &mut S) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.state {
                State::Ground => self.ground(rest, sink),
                State::Escape => self.in_escape(rest, sink),
                State::Csi | State::CsiSkip => self.in_csi(rest, sink),
                State::Keep(kind) => self.in_kept(kind, rest, sink),
                State::Skip(kind) => self.in_skipped(kind, rest),
                State::KeepEscape(kind) => self.after_escape(kind, true, rest, sink),
                State::SkipEscape(kind) => self.after_escape(kind, false, rest, sink),
            };
        }
    }

    /// Ends the stream: an unfinished character becomes U+FFFD, an unfinished sequence is dropped.
    pub fn finish<S: ParserSink + ?Sized>(&mut self, sink: &mut S) {
        if self.state == State::Ground && !self.held.is_empty() {
            sink.text("\u{fffd}");
        }
        *self = Self::default();
    }

    fn ground<'a, S: ParserSink + ?Sized>(&mut self, bytes: &'a [u8], sink: &mut S) -> &'a [u8] {
        let mut rest = self.complete_character(bytes, sink);
        while let Some((run, high)) = printable(rest) {
            let (text, after) = rest.split_at(run);
            if !text.is_empty() {
                self.text(text, high, after.is_empty(), sink);
            }
            rest = match after {
                [] => return after,
                [ESC, sequence @ ..] => {
                    if let Some(after) = whole_sequence(sequence, sink) {
                        after
                    } else {
                        self.begin(State::Escape, &[ESC]);
                        return sequence;
                    }
                }
                [DEL, after @ ..] => after,
                [control, after @ ..] => {
                    sink.control(*control);
                    after
                }
            };
        }
        rest
    }

    /// Reports text. The last character may be cut off by the end of the chunk; it is held then.
    fn text<S: ParserSink + ?Sized>(
        &mut self,
        bytes: &[u8],
        high: bool,
        at_end: bool,
        sink: &mut S,
    ) {
        let mut rest = bytes;
        loop {
            match str::from_utf8(rest) {
                Ok(text) => return clean_text(text, high, sink),
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    if let Ok(text) = str::from_utf8(valid) {
                        clean_text(text, high, sink);
                    }
                    match error.error_len() {
                        None if at_end => return self.held.extend_from_slice(bad),
                        None => return sink.text("\u{fffd}"),
                        Some(length) => {
                            sink.text("\u{fffd}");
                            rest = &bad[length..];
                        }
                    }
                }
            }
        }
    }

    /// Adds bytes to a held character until it is whole or turns out to be wrong.
    fn complete_character<'a, S: ParserSink + ?Sized>(
        &mut self,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> &'a [u8] {
        let mut rest = bytes;
        while let ([next, after @ ..], false) = (rest, self.held.is_empty()) {
            self.held.push(*next);
            match str::from_utf8(&self.held) {
                Ok(text) => {
                    clean_text(text, true, sink);
                    self.held.clear();
                    return after;
                }
                Err(error) if error.error_len().is_none() => rest = after,
                Err(_) => {
                    // The held bytes were a good beginning, so it is `next` that does not fit:
                    // it is read again on its own.
                    sink.text("\u{fffd}");
                    self.held.clear();
                    return rest;
                }
            }
        }
        rest
    }

    fn in_escape<'a, S: ParserSink + ?Sized>(&mut self, bytes: &'a [u8], sink: &mut S) -> &'a [u8] {
        let Some((&byte, rest)) = bytes.split_first() else { return bytes };
        let plain = self.held.len() == 1;
        match byte {
            ESC => self.begin(State::Escape, &[ESC]),
            CAN | SUB => self.abort(byte, sink),
            0x00..=0x1f => sink.control(byte),
            0x20..=0x2f => {
                if self.held.len() <= MAX_ESCAPE {
                    self.held.push(byte);
                }
            }
            b'[' if plain => self.begin(State::Csi, b"\x1b["),
            b']' | b'P' if plain => self.begin(State::Keep(byte), &[ESC, byte]),
            b'X' | b'^' | b'_' if plain => self.begin(State::Skip(byte), &[]),
            0x30..=0x7e => {
                sink.escape(&self.held[1..], byte);
                self.end();
            }
            DEL => {}
            // An escape before text that cannot belong to it stands alone.
            0x80.. => {
                self.end();
                return bytes;
            }
        }
        rest
    }

    fn in_csi<'a, S: ParserSink + ?Sized>(&mut self, bytes: &'a [u8], sink: &mut S) -> &'a [u8] {
        let Some((&byte, rest)) = bytes.split_first() else { return bytes };
        match byte {
            ESC => self.begin(State::Escape, &[ESC]),
            CAN | SUB => self.abort(byte, sink),
            0x00..=0x1f => sink.control(byte),
            0x20..=0x3f if self.state == State::CsiSkip => {}
            0x20..=0x3f if self.held.len() < MAX_CSI + 2 => self.held.push(byte),
            0x20..=0x3f => self.begin(State::CsiSkip, &[]),
            0x40..=0x7e => {
                if self.state == State::Csi
                    && let Some(csi) = ControlSequence::parse(&self.held[2..], byte)
                {
                    sink.csi(&csi);
                }
                self.end();
            }
            DEL => {}
            0x80.. => {
                self.end();
                return bytes;
            }
        }
        rest
    }

    fn in_kept<'a, S: ParserSink + ?Sized>(
        &mut self,
        kind: u8,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> &'a [u8] {
        let length = string_length(kind, bytes);
        let (payload, rest) = bytes.split_at(length);
        if self.held.len() - 2 + payload.len() > limit(kind) {
            self.begin(State::Skip(kind), &[]);
            return &bytes[length..];
        }
        self.held.extend_from_slice(payload);
        let Some((&byte, after)) = rest.split_first() else { return rest };
        match byte {
            ESC => self.state = State::KeepEscape(kind),
            BEL => {
                report_string(kind, &self.held[2..], StringTerminator::Bell, sink);
                self.end();
            }
            _ => self.abort(byte, sink),
        }
        after
    }

    fn in_skipped<'a>(&mut self, kind: u8, bytes: &'a [u8]) -> &'a [u8] {
        let rest = &bytes[string_length(kind, bytes)..];
        let Some((&byte, after)) = rest.split_first() else { return rest };
        match byte {
            ESC => self.state = State::SkipEscape(kind),
            _ => self.end(),
        }
        after
    }

    /// The byte after an `ESC` in a string: a backslash ends the string, anything else begins
    /// another sequence and the string is dropped.
    fn after_escape<'a, S: ParserSink + ?Sized>(
        &mut self,
        kind: u8,
        kept: bool,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> &'a [u8] {
        if let [b'\\', rest @ ..] = bytes {
            if kept {
                report_string(kind, &self.held[2..], StringTerminator::Terminator, sink);
            }
            self.end();
            return rest;
        }
        self.begin(State::Escape, &[ESC]);
        bytes
    }

    fn begin(&mut self, state: State, held: &[u8]) {
        self.state = state;
        self.held.clear();
        self.held.extend_from_slice(held);
    }

    fn abort<S: ParserSink + ?Sized>(&mut self, byte: u8, sink: &mut S) {
        self.end();
        sink.control(byte);
    }

    fn end(&mut self) {
        self.state = State::Ground;
        self.held.clear();
        // A long string is rare; its buffer is not kept for the life of the stream.
        self.held.shrink_to(MAX_CSI);
    }
}

/// The usual case: a whole sequence lies in this chunk and is reported without a copy. Gives the
/// bytes after it, or nothing if the slow path must look. Limits are those of the slow path.
fn whole_sequence<'a, S: ParserSink + ?Sized>(
    after_esc: &'a [u8],
    sink: &mut S,
) -> Option<&'a [u8]> {
    let (&kind, body) = after_esc.split_first()?;
    match kind {
        b'[' => {
            let length = body.iter().position(|byte| !(0x20..=0x3f).contains(byte))?;
            let last = body[length];
            if length > MAX_CSI || !(0x40..=0x7e).contains(&last) {
                return None;
            }
            if let Some(csi) = ControlSequence::parse(&body[..length], last) {
                sink.csi(&csi);
            }
            Some(&body[length + 1..])
        }
        b']' => {
            let length = string_length(kind, body);
            let payload = &body[..length];
            if length > MAX_OSC {
                return None;
            }
            match &body[length..] {
                [BEL, rest @ ..] => {
                    sink.osc(payload, StringTerminator::Bell);
                    Some(rest)
                }
                [ESC, b'\\', rest @ ..] => {
                    sink.osc(payload, StringTerminator::Terminator);
                    Some(rest)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn report_string<S: ParserSink + ?Sized>(
    kind: u8,
    payload: &[u8],
    end: StringTerminator,
    sink: &mut S,
) {
    match kind {
        b']' => sink.osc(payload, end),
        _ => sink.dcs(payload),
    }
}

fn limit(kind: u8) -> usize {
    if kind == b']' { MAX_OSC } else { MAX_DCS }
}

/// The beginning of a string that ends as this kind does and that every reader ignores: an OSC
/// without a number, or a start-of-string.
fn skipped(kind: u8) -> &'static [u8] {
    if kind == b']' { b"\x1b];" } else { b"\x1bX" }
}

/// Bytes up to what may end a string of this kind. BEL ends an OSC only.
fn string_length(kind: u8, bytes: &[u8]) -> usize {
    let end = |byte: &u8| matches!(*byte, ESC | CAN | SUB) || (*byte == BEL && kind == b']');
    bytes.iter().position(end).unwrap_or(bytes.len())
}

/// Reports text without C1 control characters (U+0080 to U+009F, always `C2 80` to `C2 9F`).
fn clean_text<S: ParserSink + ?Sized>(text: &str, high: bool, sink: &mut S) {
    let mut rest = text;
    let mut from = 0;
    while high && let Some(found) = memchr::memchr(0xc2, &rest.as_bytes()[from..]) {
        let at = from + found;
        if rest.as_bytes()[at + 1] < 0xa0 {
            if at > 0 {
                sink.text(&rest[..at]);
            }
            rest = &rest[at + 2..];
            from = 0;
        } else {
            from = at + 2;
        }
    }
    if !rest.is_empty() {
        sink.text(rest);
    }
}

/// Length of the leading run without control bytes, and whether it has bytes above ASCII.
/// `None` for no bytes at all.
fn printable(bytes: &[u8]) -> Option<(usize, bool)> {
    if bytes.is_empty() {
        return None;
    }
    let mut length = 0;
    let mut high = 0;
    // Whole blocks in a form the compiler turns into vector instructions.
    let (blocks, _) = bytes.as_chunks::<32>();
    for block in blocks {
        let mut control = false;
        let mut all = 0;
        for &byte in block {
            control |= byte < 0x20 || byte == DEL;
            all |= byte;
        }
        if control {
            break;
        }
        high |= all;
        length += block.len();
    }
    for &byte in &bytes[length..] {
        if byte < 0x20 || byte == DEL {
            break;
        }
        high |= byte;
        length += 1;
    }
    Some((length, high >= 0x80))
}

#[cfg(test)]
mod tests;
