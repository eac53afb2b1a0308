//! The change of one file as a unified diff.

use super::entry::{TOOL_LIMIT, TextExcerpt, TranscriptItem, name};

/// How many changes of one call are told.
pub(crate) const MAX_DIFFS: usize = 100;

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// What happens to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileDiff {
    path: Option<String>,
    diff: TextExcerpt,
    added: u64,
    removed: u64,
}

impl FileDiff {
    /// The change from one text to another: what is different between the first and the last
    /// line that differ. It takes time in the length of the texts, whatever they are.
    pub(crate) fn between(path: Option<&str>, before: &str, after: &str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        let same = |(one, other): &(&&str, &&str)| one == other;
        let head = old.iter().zip(&new).take_while(same).count();
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
        let (gone, come) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
        let around = &old[head.saturating_sub(CONTEXT_LINES)..head];
        let behind = &old[old.len() - tail..][..tail.min(CONTEXT_LINES)];
        let marked = [(" ", around), ("-", gone), ("+", come), (" ", behind)];
        let mut diff = TextExcerpt::default();
        for (mark, lines) in marked {
            for line in lines {
                push(&mut diff, mark, line);
            }
        }
        Self { path: path.map(name), diff, added: come.len() as u64, removed: gone.len() as u64 }
    }

    /// A diff that the agent tells as such.
    pub(crate) fn of_unified(path: Option<&str>, diff: &str) -> Self {
        let count = |mark: char, header: &str| {
            diff.lines().filter(|line| line.starts_with(mark) && !line.starts_with(header)).count()
        };
        let (added, removed) = (count('+', "+++ ") as u64, count('-', "--- ") as u64);
        let diff = TextExcerpt::of(diff, TOOL_LIMIT);
        Self { path: path.map(name), diff, added, removed }
    }

    pub(crate) fn item(self, call: Option<&str>) -> TranscriptItem {
        let Self { path, diff, added, removed } = self;
        TranscriptItem::Diff { call: call.map(name), path, diff, added, removed }
    }
}

fn push(diff: &mut TextExcerpt, mark: &str, line: &str) {
    let length = mark.len() + line.len() + 1;
    if diff.is_whole() && diff.text.len() + length <= TOOL_LIMIT {
        diff.text.push_str(mark);
        diff.text.push_str(line);
        diff.text.push('\n');
    } else {
        diff.omitted += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stands_between_a_few_lines_that_stay() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nF\ng\nh\n";
        let diff = FileDiff::between(Some("x"), before, after);
        assert_eq!(diff.diff.text, " b\n c\n d\n-e\n-f\n+E\n+F\n g\n h\n");
        assert_eq!((diff.added, diff.removed), (2, 2));
        let same = FileDiff::between(None, before, before);
        assert_eq!((same.added, same.removed), (0, 0));
        let gone = FileDiff::between(None, "a\na\n", "a\n");
        assert_eq!((gone.diff.text.as_str(), gone.added, gone.removed), (" a\n-a\n", 0, 1));
    }

    #[test]
    fn a_large_change_is_cut_and_says_by_how_much() {
        let line = "x".repeat(99);
        let after = format!("{line}\n").repeat(10_000);
        let diff = FileDiff::between(None, "", &after);
        assert_eq!(diff.added, 10_000);
        assert!(diff.diff.text.len() <= TOOL_LIMIT);
        assert_eq!(diff.diff.length(), 10_000 * 101);
        let told = FileDiff::of_unified(None, "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n+z\n");
        assert_eq!((told.added, told.removed), (2, 1));
    }
}
