//! What a word says once its quotes are gone, where nothing in it is expanded.

use brush_parser::ast::Word;
use brush_parser::word::{WordPiece, WordPieceWithSource};

use super::options;

/// Characters that a shell expands where they are not quoted.
const EXPANDED: [char; 7] = ['$', '`', '*', '?', '[', '{', '~'];

/// The text of a word without its quotes; nothing if a shell expands something in it.
pub(super) fn literal(word: &Word) -> Option<String> {
    let pieces = brush_parser::word::parse(&word.value, &options()).ok()?;
    let mut text = String::new();
    append(&pieces, false, &mut text).then_some(text)
}

fn append(pieces: &[WordPieceWithSource], quoted: bool, text: &mut String) -> bool {
    pieces.iter().all(|piece| match &piece.piece {
        WordPiece::Text(part) => {
            text.push_str(part);
            let expanded = if quoted { &EXPANDED[..2] } else { &EXPANDED[..] };
            !part.contains(expanded)
        }
        WordPiece::SingleQuotedText(part) => {
            text.push_str(part);
            true
        }
        WordPiece::EscapeSequence(part) => {
            text.push_str(part.strip_prefix('\\').unwrap_or(part));
            true
        }
        WordPiece::DoubleQuotedSequence(inner) => append(inner, true, text),
        _ => false,
    })
}

/// A path without empty and `.` components, in which `..` takes back the component before it; and
/// whether there was a `..`, which leads elsewhere behind a link.
pub(super) fn normal_path(path: &str) -> (String, bool) {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match names.last() {
            Some(last) if name == ".." && *last != ".." => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    let climbs = path.split('/').any(|name| name == "..");
    (format!("{root}{}", names.join("/")), climbs)
}
