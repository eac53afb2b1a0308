//! The text of one file, and places in it.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::{FileProblem, MAX_BYTES, ProblemReport};

/// The text of one file and the name it has in messages. Cloning is cheap.
#[derive(Clone)]
pub struct SourceFile(Arc<SourceText>);

struct SourceText {
    name: String,
    text: String,
    /// Where each line starts; made when the first position is asked for.
    lines: OnceLock<Vec<usize>>,
}

/// A stretch of a [`SourceFile`], as byte offsets; `end` is the first byte after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SourceSpan {
    pub start: usize,
    /// The first byte after it.
    pub end: usize,
}

/// A place for people: both numbers count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl SourceFile {
    /// A source of text that is already known to be UTF-8. A byte order mark is skipped; offsets
    /// count from behind it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Self(Arc::new(SourceText { name: name.into(), text, lines: OnceLock::new() }))
    }

    /// A source of bytes as they were on disk. What is too large or not UTF-8 is refused with a
    /// report that can be rendered like any other.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, ProblemReport> {
        let name = name.into();
        if bytes.len() > MAX_BYTES {
            let problem = FileProblem::too_large(bytes.len());
            return Err(ProblemReport::new(Self::new(name, ""), vec![problem]));
        }
        let error = match String::from_utf8(bytes) {
            Ok(text) => return Ok(Self::new(name, text)),
            Err(error) => error,
        };
        let bytes = error.as_bytes();
        let valid = error.utf8_error().valid_up_to();
        let mut problem =
            FileProblem::error("not-utf8", SourceSpan::default(), "the file is not UTF-8 text");
        let source = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            problem = problem.help("it looks like UTF-16; save it as UTF-8");
            Self::new(name, "")
        } else {
            let (start, marks) = (valid, '\u{fffd}'.len_utf8());
            // What was skipped at the start is missing in front of the place, too.
            let skipped = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            problem.span = SourceSpan::new(start - skipped, start - skipped + marks);
            problem = problem
                .label(format!("byte 0x{:02x} does not belong here", bytes[valid]))
                .help("save the file as UTF-8");
            Self::new(name, String::from_utf8_lossy(bytes).into_owned())
        };
        Err(ProblemReport::new(source, vec![problem]))
    }

    /// The name for messages, usually a path.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The text of a span. A span that is not of this source gives what lies in both.
    pub fn slice(&self, span: SourceSpan) -> &str {
        let span = self.clamp(span);
        &self.0.text[span.start..span.end]
    }

    /// The line and column of a byte offset; an offset beyond the end is the end.
    pub fn position(&self, offset: usize) -> LineColumn {
        let offset = self.floor(offset);
        let lines = self.lines();
        let line = lines.partition_point(|start| *start <= offset).max(1);
        let column = self.0.text[lines[line - 1]..offset].chars().count() + 1;
        LineColumn { line, column }
    }

    /// The bytes of a line (from 1) without its line break; empty for a line that is not there.
    pub fn line_span(&self, line: usize) -> SourceSpan {
        let lines = self.lines();
        let end = self.0.text.len();
        let Some(start) = line.checked_sub(1).and_then(|index| lines.get(index)).copied() else {
            return SourceSpan::new(end, end);
        };
        let next = lines.get(line).copied().unwrap_or(end);
        let text = self.0.text[start..next].trim_end_matches(['\n', '\r']);
        SourceSpan::new(start, start + text.len())
    }

    /// The same span, inside the text and on character boundaries.
    pub(crate) fn clamp(&self, span: SourceSpan) -> SourceSpan {
        let start = self.floor(span.start);
        let end = self.ceil(span.end).max(start);
        SourceSpan { start, end }
    }

    fn lines(&self) -> &[usize] {
        self.0.lines.get_or_init(|| {
            let breaks = self.0.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect()
        })
    }

    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.0.text.len());
        while !self.0.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    fn ceil(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.0.text.len());
        while !self.0.text.is_char_boundary(offset) {
            offset += 1;
        }
        offset
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.0.name)
            .field("bytes", &self.0.text.len())
            .finish_non_exhaustive()
    }
}

impl SourceSpan {
    /// The span from `start` to `end`; never ends before it starts.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The span as a range, to slice with.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = SourceFile::new("f", "äb\r\n\nx");
        let at = |offset: usize| source.position(offset).to_string();
        assert_eq!(
            [at(0), at(2), at(3), at(5), at(6), at(7), at(99)].join(" "),
            "1:1 1:2 1:3 2:1 3:1 3:2 3:2"
        );
        assert_eq!(at(1), "1:1", "inside a character is at it");
        assert_eq!(SourceFile::new("f", "").position(0).to_string(), "1:1");
    }

    #[test]
    fn lines_come_without_their_breaks() {
        let source = SourceFile::new("f", "one\r\ntwo\n");
        let lines: Vec<&str> = (0..5).map(|line| source.slice(source.line_span(line))).collect();
        assert_eq!(lines, ["", "one", "two", "", ""]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once() {
        assert_eq!(SourceFile::new("f", "\u{feff}a").text(), "a");
        assert_eq!(SourceFile::from_bytes("f", b"\xef\xbb\xbfa".to_vec()).unwrap().text(), "a");
    }
}
