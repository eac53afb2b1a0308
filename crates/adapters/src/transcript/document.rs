//! Puts a JSON document together that is printed over many lines, as `json` formats do.

use super::entry::{LINE_EXCERPT, TextExcerpt};
use super::limits::LINE_LIMIT;
use super::lines::append;

/// What a line means to a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DocumentLine {
    /// It is a part of the document.
    Part,
    /// It is the last line, and this is the document.
    Whole(Vec<u8>),
    /// It is the last line of a document that was too long to be kept.
    TooLong(TextExcerpt),
    /// It is no part of any document. What was there before it was none either, and is given
    /// back.
    Foreign(Option<TextExcerpt>),
}

/// The document that is being printed. It begins with a bracket alone on its line and ends with
/// the closing one; in between every line is indented. Anything else is no document, so a stray
/// bracket swallows nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct PrintedDocument {
    open: Option<DocumentBuffer>,
}

#[derive(Clone, Debug)]
struct DocumentBuffer {
    closing: &'static [u8],
    bytes: Vec<u8>,
    /// Bytes that were not kept, because the document is over the limit of a line.
    omitted: u64,
}

impl PrintedDocument {
    pub(super) fn line(&mut self, line: &[u8]) -> DocumentLine {
        let trimmed = line.trim_ascii_end();
        let Some(open) = &mut self.open else {
            let closing: &[u8] = match trimmed {
                b"{" => b"}",
                b"[" => b"]",
                _ => return DocumentLine::Foreign(None),
            };
            self.open = Some(DocumentBuffer { closing, bytes: trimmed.to_vec(), omitted: 0 });
            return DocumentLine::Part;
        };
        let last = trimmed == open.closing;
        if !last && !trimmed.is_empty() && !line.starts_with(b" ") && !line.starts_with(b"\t") {
            return DocumentLine::Foreign(self.abandon());
        }
        if open.omitted == 0 && open.bytes.len() + 1 + trimmed.len() <= LINE_LIMIT {
            append(&mut open.bytes, b"\n");
            append(&mut open.bytes, trimmed);
        } else {
            // Only the beginning will be shown.
            open.omitted += 1 + trimmed.len() as u64;
            if open.bytes.len() > LINE_EXCERPT {
                open.omitted += (open.bytes.len() - LINE_EXCERPT) as u64;
                open.bytes.truncate(LINE_EXCERPT);
                open.bytes.shrink_to_fit();
            }
        }
        match self.open.take_if(|_| last) {
            None => DocumentLine::Part,
            Some(open) if open.omitted == 0 => DocumentLine::Whole(open.bytes),
            Some(open) => DocumentLine::TooLong(excerpt(&open)),
        }
    }

    /// There is no more of it: what was there so far.
    pub(super) fn abandon(&mut self) -> Option<TextExcerpt> {
        self.open.take().map(|open| excerpt(&open))
    }

    pub(super) fn buffered(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.bytes.capacity())
    }
}

fn excerpt(open: &DocumentBuffer) -> TextExcerpt {
    TextExcerpt::of_bytes(&open.bytes, open.omitted, LINE_EXCERPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_whole_with_its_closing_bracket() {
        let mut document = PrintedDocument::default();
        assert_eq!(document.line(b"{\r"), DocumentLine::Part);
        assert_eq!(document.line(b"  \"a\": {"), DocumentLine::Part);
        assert_eq!(document.line(b"  }"), DocumentLine::Part);
        assert_eq!(document.line(b""), DocumentLine::Part);
        assert_eq!(document.line(b"}"), DocumentLine::Whole(b"{\n  \"a\": {\n  }\n\n}".to_vec()));
        assert_eq!(document.buffered(), 0);
    }

    #[test]
    fn a_stray_bracket_swallows_nothing() {
        let mut document = PrintedDocument::default();
        assert_eq!(document.line(b"plain"), DocumentLine::Foreign(None));
        assert_eq!(document.line(b"["), DocumentLine::Part);
        assert_eq!(document.line(b"  1,"), DocumentLine::Part);
        let before = TextExcerpt::of("[\n  1,", 100);
        assert_eq!(document.line(b"{\"type\":\"result\"}"), DocumentLine::Foreign(Some(before)));
        assert_eq!(document.line(b"]"), DocumentLine::Foreign(None));
    }

    #[test]
    fn a_document_without_end_is_kept_by_its_beginning() {
        let mut document = PrintedDocument::default();
        document.line(b"{");
        let mut line = vec![b' '];
        line.extend([b'x'].repeat(1 << 20));
        for _ in 0..40 {
            document.line(&line);
            assert!(document.buffered() <= LINE_LIMIT);
        }
        let DocumentLine::TooLong(excerpt) = document.line(b"}") else { panic!("not too long") };
        assert_eq!(excerpt.length(), 1 + 40 * ((1 << 20) + 2) + 2);
    }
}
