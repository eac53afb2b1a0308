//! A review as the one message that an agent gets: each remark below the lines it is about, as they
//! were shown.

use std::fmt::Write as _;
use std::path::Path;

use coven_git::mirror::LineKind;

use super::look::ComparedWith;
use super::{TreeError, TreePlace};
use crate::trees::{
    Review, ReviewComment, ReviewSide, TreeLine, TreeRequestError, is_bidirectional,
};

/// How many lines are quoted before those that a remark is about.
const LINES_BEFORE: usize = 2;

/// How many lines of a remark are quoted.
const MAX_QUOTED_LINES: usize = 60;

/// A review that can be sent.
pub(crate) struct ReviewText {
    pub(crate) message: String,
    /// The places of remarks whose lines are not in the files any more.
    pub(crate) outdated: Vec<usize>,
}

impl TreePlace {
    /// The message of a review. Waits on the disk.
    pub(crate) fn review(
        &self,
        review: &Review,
        target: Option<&str>,
    ) -> Result<ReviewText, TreeRequestError> {
        let now = self.compared(review.against, target)?;
        let present = now.to.clone();
        let shown = match &review.head {
            Some(head) => now.at(head)?,
            None => now,
        };
        let mut message = String::from("This is a review of your changes. ");
        message.push_str("Please address every comment.\n");
        if let Some(summary) = review.summary.as_deref().filter(|text| !text.trim().is_empty()) {
            let _ = write!(message, "\n{}\n", safe(summary.trim()));
        }
        let mut outdated = Vec::new();
        for (place, comment) in review.comments.iter().enumerate() {
            let quoted = shown.quote(self, comment)?;
            let last = comment.end_line.filter(|end| *end > comment.line);
            let lines = last.map_or(String::new(), |end| format!("-{end}"));
            let path = safe(&comment.path.display().to_string()).replace('\n', "\u{fffd}");
            let old = if comment.side == ReviewSide::Old { " (as it was before)" } else { "" };
            let _ = write!(message, "\n{path}:{}{lines}{old}\n", comment.line);
            for (sign, text) in &quoted {
                let _ = writeln!(message, "> {sign}{}", safe(text));
            }
            let _ = write!(message, "\n{}\n", safe(comment.text.trim()));
            let about = shown.lines_of(comment)?;
            if comment.side == ReviewSide::New
                && !shown.is_still(&present, &comment.path, &about)?
            {
                outdated.push(place);
            }
        }
        Ok(ReviewText { message, outdated })
    }
}

impl ComparedWith {
    /// The lines that a remark is about with those before it, as the difference shows them; as the file
    /// has them where it does not differ.
    fn quote(
        &self,
        place: &TreePlace,
        comment: &ReviewComment,
    ) -> Result<Vec<(char, String)>, TreeRequestError> {
        let (first, last) = range(comment);
        let number = |line: &TreeLine| match comment.side {
            ReviewSide::Old => line.old,
            ReviewSide::New => line.new,
        };
        let differs = match self.file_changes(place, &comment.path) {
            Ok(file) => file.hunks,
            Err(TreeRequestError::NotChanged(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        for hunk in &differs {
            let at = |wanted: u32| hunk.lines.iter().position(|line| number(line) == Some(wanted));
            let (Some(begin), Some(end)) = (at(first), at(last)) else { continue };
            let begin = begin.saturating_sub(LINES_BEFORE);
            let lines = hunk.lines.get(begin..=end).unwrap_or_default().iter();
            let signed = lines.map(|line| (sign(line.kind), line.text.clone()));
            return Ok(signed.take(MAX_QUOTED_LINES).collect());
        }
        let lines = self.lines_of(comment)?.into_iter().take(MAX_QUOTED_LINES);
        Ok(lines.map(|text| (' ', text)).collect())
    }

    /// The lines that a remark is about.
    fn lines_of(&self, comment: &ReviewComment) -> Result<Vec<String>, TreeError> {
        let commit = match comment.side {
            ReviewSide::Old => &self.from,
            ReviewSide::New => &self.to,
        };
        let (first, last) = range(comment);
        let count = (last - first + 1) as usize;
        let lines = self.file_lines(commit, &comment.path)?;
        Ok(lines.into_iter().skip(first as usize - 1).take(count).collect())
    }

    fn file_lines(
        &self,
        commit: &coven_git::Commit,
        path: &Path,
    ) -> Result<Vec<String>, TreeError> {
        let bytes = self.mirror.file(commit, path)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }

    /// Whether a file still has these lines one after the other, wherever.
    fn is_still(
        &self,
        present: &coven_git::Commit,
        path: &Path,
        lines: &[String],
    ) -> Result<bool, TreeError> {
        if self.to == *present || lines.is_empty() {
            return Ok(self.to == *present);
        }
        Ok(self.file_lines(present, path)?.windows(lines.len()).any(|some| some == lines))
    }
}

/// The first and the last line of a remark.
fn range(comment: &ReviewComment) -> (u32, u32) {
    let first = comment.line.max(1);
    (first, comment.end_line.unwrap_or(first).max(first))
}

fn sign(kind: LineKind) -> char {
    match kind {
        LineKind::Context => ' ',
        LineKind::Added => '+',
        LineKind::Removed => '-',
    }
}

/// Text that does nothing to a terminal and reads as it is. What agents write is quoted to agents.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            _ if is_bidirectional(character) => {
                let _ = write!(safe, "<U+{:04X}>", character as u32);
            }
            _ if character.is_control() => safe.push('\u{fffd}'),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    #[test]
    fn quoted_text_holds_no_keys_and_no_turned_letters() {
        assert_eq!(super::safe("a\u{1b}[2Jb\u{202e}c\td\n"), "a\u{fffd}[2Jb<U+202E>c\td\n");
    }
}
