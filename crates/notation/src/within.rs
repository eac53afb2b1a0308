//! The exact place of a piece of a string value.
//!
//! Between a string's value and what stands in the file lie escapes, folded lines and
//! indentation. The text of the node is decoded once more, this time noting for every byte where
//! it came from; only when that gives exactly the node's value is the answer trusted.

use std::ops::Range;

use crate::{SourceFile, SourceNode, SourceSpan};

/// A longer string is not taken apart; its pieces are the whole node.
const MAX_TRACED_BYTES: usize = 1024 * 1024;

/// Where the bytes `piece` of a string's value stand in the file.
///
/// Exact for plain, quoted and block scalars; what cannot be placed exactly (an aliased value, a
/// value that is no string) is the whole node.
pub fn within(source: &SourceFile, node: &SourceNode, piece: Range<usize>) -> SourceSpan {
    let whole = node.span;
    let text = source.slice(whole);
    let Some(value) = node.as_str().filter(|_| text.len() <= MAX_TRACED_BYTES) else {
        return whole;
    };
    let Some(trace) = TracedText::of(text, value) else { return whole };
    let Some(first) = trace.places.get(piece.start).or(trace.places.last()) else { return whole };
    let last = piece.end.checked_sub(1).filter(|last| *last >= piece.start);
    let end = match last {
        Some(last) => trace.places.get(last).or(trace.places.last()).map_or(first.1, |p| p.1),
        None => first.0,
    };
    SourceSpan::new(whole.start + first.0, whole.start + end)
}

/// A decoded text that remembers for each of its bytes which bytes of the file it came from.
#[derive(Default)]
struct TracedText {
    text: String,
    places: Vec<(usize, usize)>,
}

impl TracedText {
    /// The trace of a scalar as it stands in the file, when it gives `value`.
    fn of(text: &str, value: &str) -> Option<Self> {
        let is_same = |trace: &Self| trace.text == value;
        match text.as_bytes().first()? {
            b'"' | b'\'' => Some(Self::quoted(text)).filter(is_same),
            b'|' | b'>' => Self::block(text, value),
            _ => {
                let mut trace = Self::default();
                trace.folded(text, 0);
                Some(trace).filter(is_same)
            }
        }
    }

    fn push(&mut self, character: char, from: usize, to: usize) {
        self.text.push(character);
        self.places.resize(self.text.len(), (from, to));
    }

    fn quoted(text: &str) -> Self {
        let mut trace = Self::default();
        let double = text.starts_with('"');
        let body = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let mut characters = body.char_indices().map(|(at, c)| (at + 1, c)).peekable();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' if double => {
                    let length = trace.escape(&text[at..], at);
                    while characters.next_if(|(next, _)| *next < at + length).is_some() {}
                }
                '\'' if !double => {
                    characters.next_if(|(_, c)| *c == '\'');
                    trace.push('\'', at, at + 2);
                }
                '\r' | '\n' => {
                    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
                    let length = text[at..].len() - text[at..].trim_start_matches(space).len();
                    trace.line_breaks(&text[at..at + length], at);
                    while characters.next_if(|(next, _)| *next < at + length).is_some() {}
                }
                _ => trace.push(character, at, at + character.len_utf8()),
            }
        }
        trace
    }

    /// Takes an escape sequence of double quotes and says how long it is.
    fn escape(&mut self, text: &str, at: usize) -> usize {
        let Some(escaped) = text[1..].chars().next() else { return 1 };
        let simple = match escaped {
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            'x' | 'u' | 'U' => return self.code_point(text, at),
            '\r' | '\n' => {
                // The line goes on in the next one.
                let rest = text[1..].trim_start_matches(['\r', '\n', ' ', '\t']);
                return text.len() - rest.len();
            }
            other => other,
        };
        let length = 1 + escaped.len_utf8();
        self.push(simple, at, at + length);
        length
    }

    fn code_point(&mut self, text: &str, at: usize) -> usize {
        let digits = match text.as_bytes()[1] {
            b'x' => 2,
            b'u' => 4,
            _ => 8,
        };
        let number = |from: usize| {
            text.get(from..from + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok())
        };
        let mut length = 2 + digits;
        let mut code = number(2).unwrap_or_default();
        if (0xd800..0xdc00).contains(&code) {
            let low = number(length + 2).unwrap_or_default().wrapping_sub(0xdc00);
            code = 0x1_0000 + ((code - 0xd800) << 10) + (low & 0x3ff);
            length *= 2;
        }
        self.push(char::from_u32(code).unwrap_or('\u{fffd}'), at, at + length);
        length
    }

    /// Lines of flow text: one break is a space, more are one less than there are.
    fn line_breaks(&mut self, breaks: &str, at: usize) {
        while self.text.ends_with([' ', '\t']) {
            self.text.pop();
            self.places.truncate(self.text.len());
        }
        let count = breaks.matches('\n').count();
        let folded = if count <= 1 { " ".to_owned() } else { "\n".repeat(count - 1) };
        for character in folded.chars() {
            self.push(character, at, at + breaks.len());
        }
    }

    /// Plain text, which may go over several lines.
    fn folded(&mut self, text: &str, base: usize) {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = rest.find(['\r', '\n']).unwrap_or(rest.len());
            for (offset, character) in rest[..length].char_indices() {
                let from = base + at + offset;
                self.push(character, from, from + character.len_utf8());
            }
            let tail = &rest[length..];
            let breaks = tail.len() - tail.trim_start_matches(['\r', '\n', ' ', '\t']).len();
            if breaks > 0 {
                self.line_breaks(&tail[..breaks], base + at + length);
            }
            at += length + breaks;
        }
    }

    /// A block scalar, from its `|` or `>`.
    fn block(text: &str, value: &str) -> Option<Self> {
        let header = text.find('\n')? + 1;
        let literal = text.starts_with('|');
        let lines: Vec<(usize, &str)> = lines_of(text, header).collect();
        let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = lines.iter().find(|(_, line)| !line.trim_matches(' ').is_empty());
        let auto = first.map(|(_, line)| indentation(line))?;
        // With an indentation indicator, text may begin with spaces of its own.
        let explicit = text[..header].contains(|c: char| c.is_ascii_digit());
        let candidates = if explicit { 1..=auto } else { auto..=auto };
        candidates.into_iter().find_map(|indent| {
            let trace = Self::block_lines(&lines, indent, literal);
            let (ours, theirs) = (trace.text.trim_end_matches('\n'), value.trim_end_matches('\n'));
            (ours == theirs).then_some(trace)
        })
    }

    fn block_lines(lines: &[(usize, &str)], indent: usize, literal: bool) -> Self {
        let mut trace = Self::default();
        // The last line that had text: where it ended, and whether it may be folded.
        let mut last: Option<(usize, bool)> = None;
        let mut blank = 0;
        for (at, line) in lines {
            let content = line.get(indent..).unwrap_or_default();
            if content.is_empty() {
                blank += 1;
                continue;
            }
            let start = at + indent;
            let folds = !literal && !content.starts_with([' ', '\t']);
            let (from, breaks) = match last {
                None => (start, "\n".repeat(blank)),
                Some((end, true)) if folds && blank == 0 => (end, " ".to_owned()),
                Some((end, true)) if folds => (end, "\n".repeat(blank)),
                Some((end, _)) => (end, "\n".repeat(blank + 1)),
            };
            for character in breaks.chars() {
                trace.push(character, from, start);
            }
            for (offset, character) in content.char_indices() {
                trace.push(character, start + offset, start + offset + character.len_utf8());
            }
            (last, blank) = (Some((at + line.len(), folds)), 0);
        }
        trace
    }
}

/// The lines from `start`, without their breaks, each with its place.
fn lines_of(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = start;
    text[start..].split('\n').map(move |line| {
        let place = at;
        at += line.len() + 1;
        (place, line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests;
