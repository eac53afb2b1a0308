//! The parser's complaints about YAML, in words for readers who do not know its grammar.

use granit_parser::{ErrorKind, ScanError};

use super::too_deep;
use crate::{FileProblem, SourceSpan};

/// Says what is wrong, where it can be seen, and what is usually meant.
pub(super) fn explain(text: &str, error: &ScanError) -> FileProblem {
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let here = |start: usize| one_character(text, start);
    let problem =
        |start: usize, message: &str| FileProblem::error("syntax", here(start), message.to_owned());
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(here(at)),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let before = text[line..at].find('\t').map(|tab| line + tab);
            let tab = before.or_else(|| text[at..].find('\t').map(|tab| at + tab)).unwrap_or(at);
            problem(tab, "a tab stands where YAML allows only spaces")
                .label("this is a tab")
                .help("indent with spaces")
        }
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
            let code = *character as u32;
            let place = text[at..].find(*character).map_or(at, |found| at + found);
            problem(
                place,
                &format!("the control character U+{code:04X} cannot be written as it is"),
            )
            .help("write it as an escape in double quotes, like \"\\x1b\"")
        }
        ErrorKind::UnexpectedCharacter { character } => {
            problem(at, &format!("text cannot start with `{character}`"))
                .help("put the text in quotes")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            let (place, escape) = bad_escape(text, at);
            let message = format!("`{escape}` is not an escape that double quotes know");
            FileProblem::error("syntax", place, message)
                .help("in single quotes a backslash is just a backslash")
        }
        ErrorKind::MappingValueNotAllowed => problem(at, "a value cannot start here")
            .label("because of this colon")
            .help("quote the text if the colon belongs to it; otherwise look at the indentation"),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            problem(at, "a list cannot start here").help("begin the list on a line of its own")
        }
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => problem(at, "text in quotes is not closed")
            .help("close the quote that was opened before"),
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            problem(at, "there is text behind the closing quote")
                .help("inside single quotes an apostrophe is written twice: 'it''s'")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            problem(at, "there is text behind the closing quote")
                .help("inside double quotes a quote is written as \\\"")
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            problem(at, "a comma or the closing bracket is missing")
                .help("inside [] and {} put text with ${…}, commas or brackets in quotes")
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            problem(at, &format!("the `{open}` is never closed"))
        }
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::UnexpectedEofFlowSequence => {
            problem(at, "the file ends before all brackets are closed")
        }
        ErrorKind::InvalidColonPlacement => problem(at, "a colon stands where it cannot be")
            .help("a bracket before it may not be closed"),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            problem(at, &format!("`{open}` is closed with `{close}`"))
        }
        ErrorKind::ExpectedBlockMappingKey => problem(at, "a key was expected here")
            .help("entries of one map start in the same column"),
        ErrorKind::InvalidIndentation => problem(at, "this line is indented wrongly")
            .help("entries of one list or map start in the same column"),
        ErrorKind::SimpleKeyExpected => problem(at, "a key without a `:`")
            .help("write `key: value`, with a space behind the colon"),
        _ => problem(at, &error.info()),
    }
}

fn one_character(text: &str, start: usize) -> SourceSpan {
    let length = text[start..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
    SourceSpan::new(start, start + length)
}

/// The first escape in the double-quoted text at `at` that YAML does not have.
fn bad_escape(text: &str, at: usize) -> (SourceSpan, String) {
    let mut characters = text[at..].char_indices();
    while let Some((offset, c)) = characters.next() {
        if c != '\\' {
            continue;
        }
        let Some((_, escaped)) = characters.next() else { break };
        if !"0abtnvfre \"/\\N_LPxuU\t\n\r".contains(escaped) {
            let span = SourceSpan::new(at + offset, at + offset + 1 + escaped.len_utf8());
            return (span, text[span.range()].to_owned());
        }
    }
    (one_character(text, at), "\\".to_owned())
}
