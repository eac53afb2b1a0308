//! Paths and lines of a tree as text that is safe to show: agents choose them.
//!
//! A path that is not one line of plain text stands in quotation marks with octal escapes, as git
//! writes it, and is read back from that. A line has what would act on a terminal, turn the direction
//! of text or not show at all as its name.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coven_notation::is_unprintable;

use crate::error::ServiceError;
use crate::text::excerpt;

/// A path as answers name it.
pub(super) fn path_words(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with('"') && !text.contains(is_unprintable) => text.to_owned(),
        _ => quoted(bytes),
    }
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = "\"".to_owned();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => text.extend(['\\', character]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                plain if !is_unprintable(plain) => text.push(plain),
                hidden => octal(&mut text, hidden.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        octal(&mut text, chunk.invalid());
    }
    text.push('"');
    text
}

fn octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        write!(text, "\\{byte:03o}").ok();
    }
}

/// The path that a request names, in the words of an answer.
pub(super) fn path_of_words(text: &str) -> Result<PathBuf, ServiceError> {
    let wrong = || ServiceError::BadInput(format!("`{}` names no file", excerpt(text, 100)));
    let path = match text.strip_prefix('"') {
        Some(rest) => {
            let inner = rest.strip_suffix('"').ok_or_else(wrong)?;
            PathBuf::from(OsString::from_vec(unquoted(inner.as_bytes()).ok_or_else(wrong)?))
        }
        None => PathBuf::from(text),
    };
    let plain = |part| matches!(part, std::path::Component::Normal(_));
    if path.as_os_str().is_empty() || !path.components().all(plain) || text.contains('\0') {
        return Err(wrong());
    }
    Ok(path)
}

fn unquoted(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (kind, after) = rest.split_first()?;
        rest = after;
        match kind {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'"' | b'\\' => bytes.push(*kind),
            b'0'..=b'3' => {
                let (more, after) = rest.split_at_checked(2)?;
                let digits = [*kind, more[0], more[1]];
                let octal = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(octal, 8).ok()?);
                rest = after;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

/// A line of a file, and whether something in it was replaced by its name.
pub(super) fn line_words(line: &str) -> (Cow<'_, str>, bool) {
    let mut before = '\0';
    let acts = |character: char, before: char| {
        let joins = matches!(character, '\u{200c}' | '\u{200d}') && before >= '\u{600}';
        character != '\t' && is_unprintable(character) && !joins
    };
    let hidden = line.chars().any(|character| {
        let acts = acts(character, before);
        before = character;
        acts
    });
    if !hidden {
        return (Cow::Borrowed(line), false);
    }
    let mut text = String::with_capacity(line.len() + 16);
    before = '\0';
    for character in line.chars() {
        if acts(character, before) {
            // Writing to a string does not fail.
            write!(text, "⟨U+{:04X}⟩", u32::from(character)).ok();
        } else {
            text.push(character);
        }
        before = character;
    }
    (Cow::Owned(text), true)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_path_comes_back_from_its_words_whatever_bytes_it_has() {
        let paths: [&[u8]; 7] = [
            b"src/a.rs",
            "größe/日本".as_bytes(),
            b"with space",
            b"\"quoted\\",
            b"caf\xe9",
            b"two\nlines\t\x1b[2J",
            "a\u{202e}txt.exe".as_bytes(),
        ];
        for bytes in paths {
            let path = Path::new(OsStr::from_bytes(bytes));
            let words = path_words(path);
            assert!(!words.contains(is_unprintable), "{words:?}");
            assert_eq!(path_of_words(&words).unwrap(), path, "{words}");
        }
        assert_eq!(path_words(Path::new("a\u{202e}b")), r#""a\342\200\256b""#);
        for wrong in ["", "/etc/passwd", "../x", "a/../b", "\"open", "\"\\q\"", "\"\\9\"", "\"\\37"]
        {
            assert!(path_of_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_turns_text_around_stands_as_its_name_and_emoji_stay() {
        assert_eq!(line_words("let x\t= 1;"), (Cow::Borrowed("let x\t= 1;"), false));
        let (text, marked) = line_words("if a {\u{202e} } //\u{1b}[0m");
        assert_eq!((text.as_ref(), marked), ("if a {⟨U+202E⟩ } //⟨U+001B⟩[0m", true));
        assert!(!line_words("👩\u{200d}💻").1);
        assert!(line_words("admin\u{200d}").1);
    }
}
