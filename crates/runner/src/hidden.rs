//! Which texts were secret when an attempt ran, without keeping them.
//!
//! The environment of a session is forgotten when it is over, and its tapes stay. So that the
//! secrets stay hidden in what is read from a tape later, the folder of an attempt keeps for each
//! of them its length, a rolling hash to find it by and a salted digest to be sure.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::ops::Range;
use std::path::Path;

use coven_folder::{Durability, OpenFolder, read_plain_file};
use coven_model::ContentDigest;
use serde::{Deserialize, Serialize};

use crate::redact::{MASK, MIN_SECRET_BYTES, written_forms};

const HIDDEN_FILE: &str = "hidden.json";
const HIDDEN_VERSION: u32 = 1;
const MAX_FILE_BYTES: u64 = 1 << 20;
const PRIVATE_MODE: u32 = 0o700;

/// Takes texts that it does not know out of a stream of text, also where one comes in pieces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HiddenTexts {
    /// The version of the file; what a newer version wrote is not guessed at.
    version: u32,
    /// Makes the digests of one attempt useless for any other.
    salt: u64,
    marks: Vec<HiddenMark>,
    /// The end of what came, which may be the beginning of a secret.
    #[serde(skip)]
    held: String,
}

/// What is kept of one secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HiddenMark {
    bytes: usize,
    rolling: u64,
    digest: String,
    /// It has blanks, so a blank is not the end of it.
    #[serde(default)]
    spaced: bool,
}

impl HiddenTexts {
    /// Marks of these secrets. Texts of fewer than four bytes are left alone.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let salt = RandomState::new().hash_one(HIDDEN_FILE);
        let mark = |secret: &str| HiddenMark {
            bytes: secret.len(),
            rolling: rolling(secret.as_bytes(), base(salt)),
            digest: digest(salt, secret.as_bytes()),
            spaced: secret.contains(char::is_whitespace),
        };
        let long = secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES);
        let forms: Vec<String> = long.flat_map(written_forms).collect();
        let marks = forms.iter().map(|secret| mark(secret)).collect();
        Self { version: HIDDEN_VERSION, salt, marks, held: String::new() }
    }

    /// Leaves them in the folder of an attempt for everybody who reads its tape.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        if self.marks.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let folder = OpenFolder::make_without_links(folder, PRIVATE_MODE)?;
        folder.replace(HIDDEN_FILE, &text, Durability::Cache).map_err(io::Error::from)
    }

    /// Those of an attempt; none if it had no secrets.
    pub fn load(folder: &Path) -> io::Result<Self> {
        match read_plain_file(&folder.join(HIDDEN_FILE), MAX_FILE_BYTES) {
            Ok(text) => {
                let hidden: Self = serde_json::from_slice(&text).map_err(io::Error::other)?;
                if hidden.version > HIDDEN_VERSION {
                    let what = format!("{HIDDEN_FILE} was written by a newer version of Coven");
                    return Err(io::Error::other(what));
                }
                Ok(hidden)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The next piece without secrets. What may be the beginning of one comes later.
    pub fn feed(&mut self, text: &str) -> String {
        if self.marks.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        self.held = self.clean(&self.held);
        let kept = self.held.split_off(self.safe_length());
        std::mem::replace(&mut self.held, kept)
    }

    /// What was held back, when the text is over.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.clean(&held)
    }

    /// A whole text without secrets.
    pub fn clean(&self, text: &str) -> String {
        let mut found: Vec<Range<usize>> =
            self.marks.iter().flat_map(|mark| self.find(mark, text)).collect();
        if found.is_empty() {
            return text.to_owned();
        }
        found.sort_by_key(|range| range.start);
        let (mut clean, mut at) = (String::with_capacity(text.len()), 0);
        for range in found {
            if range.start >= at {
                clean.push_str(&text[at..range.start]);
                clean.push_str(MASK);
            }
            at = at.max(range.end);
        }
        clean.push_str(&text[at..]);
        clean
    }

    /// Where a secret stands. A text that is valid has it between characters only.
    fn find(&self, mark: &HiddenMark, text: &str) -> Vec<Range<usize>> {
        let (bytes, length) = (text.as_bytes(), mark.bytes);
        if length == 0 || bytes.len() < length {
            return Vec::new();
        }
        let base = base(self.salt);
        let leading = (1..length).fold(1u64, |power, _| power.wrapping_mul(base));
        let mut hash = rolling(&bytes[..length], base);
        let mut found = Vec::new();
        for start in 0..=bytes.len() - length {
            if start > 0 {
                let gone = u64::from(bytes[start - 1]).wrapping_mul(leading);
                let come = u64::from(bytes[start + length - 1]);
                hash = hash.wrapping_sub(gone).wrapping_mul(base).wrapping_add(come);
            }
            let range = start..start + length;
            let is_it = hash == mark.rolling
                && text.get(range.clone()).is_some()
                && digest(self.salt, &bytes[range.clone()]) == mark.digest;
            if is_it {
                found.push(range);
            }
        }
        found
    }

    /// How much of what is held cannot be the beginning of a secret. A secret without blanks does
    /// not begin before the last blank and go on after it.
    fn safe_length(&self) -> usize {
        let longest = self.marks.iter().map(|mark| mark.bytes).max().unwrap_or(1);
        let by_length = self.held.floor_char_boundary(self.held.len().saturating_sub(longest - 1));
        if self.marks.iter().any(|mark| mark.spaced) {
            return by_length;
        }
        let last_blank = self.held.char_indices().rev().find(|(_, c)| c.is_whitespace());
        by_length.max(last_blank.map_or(0, |(at, blank)| at + blank.len_utf8()))
    }
}

/// The base of the rolling hash: odd, so that no byte is lost.
const fn base(salt: u64) -> u64 {
    salt | 1
}

fn rolling(bytes: &[u8], base: u64) -> u64 {
    bytes.iter().fold(0, |hash: u64, byte| hash.wrapping_mul(base).wrapping_add(u64::from(*byte)))
}

fn digest(salt: u64, secret: &[u8]) -> String {
    ContentDigest::of_bytes(&[&salt.to_le_bytes(), secret].concat()).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_is_found_wherever_it_is_cut() {
        let text = "key=sk-abc123, ägain sk-abc123 and sk-abc12 not";
        for secrets in [&["sk-abc123", "abc123"][..], &["sk-abc123", "pass phrase"]] {
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let mut hidden = HiddenTexts::of(secrets.iter().copied());
                let mut out = hidden.feed(&text[..cut]);
                out.push_str(&hidden.feed(&text[cut..]));
                out.push_str(&hidden.finish());
                let expected = "key=[redacted], ägain [redacted] and sk-abc12 not";
                assert_eq!(out, expected, "cut at {cut}");
            }
        }
    }

    #[test]
    fn the_marks_are_kept_and_the_secrets_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = std::fs::canonicalize(folder.path()).unwrap();
        HiddenTexts::of(["a-secret-value", "x", "a \"quoted\" one"]).save(&path).unwrap();
        let kept = std::fs::read_to_string(path.join(HIDDEN_FILE)).unwrap();
        assert!(!kept.contains("secret"), "{kept}");
        let hidden = HiddenTexts::load(&path).unwrap();
        assert_eq!(hidden.clean("x=a-secret-value;"), "x=[redacted];");
        assert_eq!(hidden.clean(r#"{"x":"a \"quoted\" one"}"#), r#"{"x":"[redacted]"}"#);
        assert_eq!(HiddenTexts::load(&path.join("none")).unwrap().clean("x"), "x");
        std::fs::write(path.join(HIDDEN_FILE), "{").unwrap();
        assert!(HiddenTexts::load(&path).is_err(), "what is to be hidden must be known");
    }

    #[test]
    fn words_without_a_secret_are_held_back_no_longer_than_a_word() {
        let mut hidden = HiddenTexts::of(["a-very-long-secret-without-blanks"]);
        assert_eq!(hidden.feed("some words and"), "some words ");
        assert_eq!(hidden.feed(" more\n"), "and more\n");
        let mut nothing = HiddenTexts::default();
        assert_eq!(nothing.feed("word"), "word");
    }
}
