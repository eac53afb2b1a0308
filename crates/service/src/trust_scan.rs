//! Paths of a project anywhere within a text.
//!
//! A program can take a path in forms that only it knows: behind option letters (`-Itools`), a sign
//! (`+tools/x`) or a scheme (`file:///project/tools/x`), or in a command for a shell. So a path is
//! sought from every place of a text on, and what exists in the project is found.

use std::path::{Component, Path, PathBuf};

use coven_notation::path_within;

/// What may end a path within a text, beside white space.
const SEPARATORS: &[char] = &[
    '"', '\'', '`', ';', '|', '&', '<', '>', '(', ')', '{', '}', '$', '=', ',', ':', '@', '*', '?',
    '[', ']', '\\', '#', '%', '!',
];

/// How long a text may be in which a path is sought from every place on. In longer ones, and when
/// the texts of a project together exceed `MAX_SCANNED_BYTES`, a path is what stands between two
/// separators, so that looking takes no longer than reading.
const MAX_TEXT_BYTES: usize = 4 << 10;
const MAX_SCANNED_BYTES: usize = 64 << 10;

/// The longest path that an operating system takes.
const MAX_PATH_BYTES: usize = 4096;

fn is_separator(character: char) -> bool {
    SEPARATORS.contains(&character)
}

fn is_boundary(character: char) -> bool {
    is_separator(character) || character.is_whitespace()
}

/// The parts of a text between separators and white space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_boundary).filter(|word| !word.is_empty())
}

/// Looks for paths of one project.
#[derive(Debug)]
pub(crate) struct PathScan {
    base_dir: PathBuf,
    /// How many more bytes are looked at from every place on.
    bytes_left: usize,
}

impl PathScan {
    pub(crate) fn new(base_dir: &Path) -> Self {
        // A path that leads back into the project is compared with the real one.
        let base_dir = base_dir.canonicalize().unwrap_or_else(|_| base_dir.to_owned());
        Self { base_dir, bytes_left: MAX_SCANNED_BYTES }
    }

    pub(crate) fn base_dir(&self) -> &Path {
        &self.base_dir
    }

    /// Finds the files and folders of the project that a text names, the project itself excepted.
    pub(crate) fn find(&mut self, text: &str, found: &mut impl FnMut(PathBuf)) {
        let everywhere = text.len() <= MAX_TEXT_BYTES.min(self.bytes_left);
        if everywhere {
            self.bytes_left -= text.len();
        }
        if !everywhere {
            for word in words(text).filter(|word| !is_option_name(word)) {
                self.existing(word).into_iter().for_each(&mut *found);
            }
            return;
        }
        let mut word_start = 0;
        for (start, character) in text.char_indices() {
            self.find_at(text, word_start, start, found);
            if is_boundary(character) {
                word_start = start + character.len_utf8();
            }
        }
    }

    /// Finds what begins at one place, up to whatever may end it.
    fn find_at(
        &self,
        text: &str,
        word_start: usize,
        start: usize,
        found: &mut impl FnMut(PathBuf),
    ) {
        let first = text[start..].chars().next().map_or(0, char::len_utf8);
        let behind = &text[start + first..];
        let end = |at: Option<usize>| at.map_or(text.len(), |at| start + first + at);
        let word_end = end(behind.find(is_boundary));
        let (separator, space) = (behind.find(is_separator), behind.find(char::is_whitespace));
        let mut ends = vec![word_end, end(separator), end(space), text.len()];
        ends.sort_unstable();
        ends.dedup();
        if is_option_name(&text[word_start..word_end]) {
            ends.retain(|end| *end != word_end);
        }
        for end in ends {
            self.existing(&text[start..end]).into_iter().for_each(&mut *found);
        }
    }

    /// The path within the project of something that is there.
    fn existing(&self, text: &str) -> Option<PathBuf> {
        if text.len() > MAX_PATH_BYTES {
            return None;
        }
        let on_disk = self.base_dir.join(text);
        on_disk.symlink_metadata().ok()?;
        let path = path_within(&self.base_dir, text).or_else(|| name(text));
        let leads_up = Path::new(text).components().any(|part| part == Component::ParentDir);
        if path.is_some() && !leads_up {
            return path;
        }
        // What a link leads to has another parent than the link.
        let Ok(real) = on_disk.canonicalize() else { return path };
        let within = real.strip_prefix(&self.base_dir).ok()?;
        (!within.as_os_str().is_empty()).then(|| within.to_owned())
    }
}

/// A text that is the name of a file or folder.
fn name(text: &str) -> Option<PathBuf> {
    let mut parts = Path::new(text).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_name.then(|| PathBuf::from(text))
}

/// Whether a word is an option without anything attached to it, such as `-c` or `--config`.
fn is_option_name(word: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphanumeric();
    match word.strip_prefix("--") {
        Some(name) => name.chars().all(|c| is_letter(c) || matches!(c, '-' | '_')),
        None => word
            .strip_prefix('-')
            .is_some_and(|name| name.len() == 1 && name.chars().all(is_letter)),
    }
}
