//! The comments of agents, brought to where their lines are now. What an agent saw is the checkpoint
//! that was made after it; its lines are followed through what has changed since, and looked for by
//! their text where that leads nowhere.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use coven_git::mirror::{ChangeStatus, FileDiff, Hunk, LineKind};
use coven_git::{Commit, Mirror};
use coven_model::event::TreeCheckpoint;
use coven_model::{TreeId, WrittenReview};
use coven_workflow::state::TaskComments;

use super::{TreeError, TreePlace};
use crate::trees::{
    AgentComment, AgentComments, ChangesAgainst, ReviewComment, ReviewSide, TreeRequestError,
};

/// How many of its lines are given with a comment.
const MAX_LINES: u32 = 60;

/// The reviews that are brought to the files of a tree.
pub(crate) struct WantedComments {
    pub(crate) reviews: Vec<TaskComments>,
    /// The checkpoints that were told, of all trees, in their order.
    pub(crate) told: Vec<TreeCheckpoint>,
    /// Whether they were asked for by name. Otherwise one from another tree is left out if its lines
    /// are not there.
    pub(crate) by_name: bool,
}

/// Reviews where no tree is: nothing is known of what their lines were.
pub(crate) fn as_written(reviews: Vec<TaskComments>) -> AgentComments {
    let mut found = AgentComments::default();
    for review in reviews {
        let TaskComments { job, review: WrittenReview { summary, comments }, .. } = review;
        found.summaries.extend(summary.map(|summary| (job.clone(), summary)));
        found.comments.extend(comments.into_iter().enumerate().map(|(place, comment)| {
            let (lines, outdated) = (Vec::new(), false);
            AgentComment { job: job.clone(), place, comment: own(comment), lines, outdated }
        }));
    }
    found
}

fn own(comment: coven_model::ReviewComment) -> ReviewComment {
    ReviewComment {
        path: PathBuf::from(comment.path),
        side: comment.side,
        line: comment.line,
        end_line: comment.end_line,
        text: comment.text,
    }
}

impl TreePlace {
    /// The comments of agents, as they stand in the files of this tree. Waits on the disk.
    pub(crate) fn agent_comments(
        &self,
        wanted: WantedComments,
    ) -> Result<AgentComments, TreeRequestError> {
        let now = self.compared(ChangesAgainst::Base, None)?;
        let WantedComments { reviews, told, by_name } = wanted;
        let is_elsewhere = |review: &TaskComments| review.tree.as_ref() != Some(&self.tree().tree);
        let changed: HashSet<PathBuf> = if reviews.iter().any(is_elsewhere) {
            let changes = now.mirror.changes(&now.from, &now.to)?.into_iter();
            changes.map(|change| change.path).collect()
        } else {
            HashSet::new()
        };
        let mut follow = LineFollower { mirror: &now.mirror, pairs: BTreeMap::new() };
        let mut found = AgentComments {
            tree: Some(self.tree().tree.clone()),
            head: Some(now.to.to_string()),
            ..AgentComments::default()
        };
        for review in reviews {
            let is_elsewhere = is_elsewhere(&review);
            let seen = seen_by(&review, &told)?;
            let first = match &review.tree {
                Some(tree) => now.mirror.commit_of(&self.reference_of(tree, 0))?,
                None => None,
            };
            let mut written = as_written(vec![review]);
            for comment in &mut written.comments {
                let (seen, now) = match comment.comment.side {
                    ReviewSide::New => (&seen, &now.to),
                    ReviewSide::Old => (&first, &now.from),
                };
                match seen {
                    Some(seen) => follow.place(comment, seen, now)?,
                    None => comment.outdated = true,
                }
            }
            // What is about the work of others is not theirs to mend.
            if is_elsewhere {
                let had_some = !written.comments.is_empty();
                written.comments.retain(|comment| {
                    changed.contains(&comment.comment.path) && (by_name || !comment.outdated)
                });
                if written.comments.is_empty() && (had_some || !by_name) {
                    continue;
                }
            }
            found.summaries.append(&mut written.summaries);
            found.comments.append(&mut written.comments);
        }
        Ok(found)
    }
}

/// The files that an agent had before it when it ended. If several worked in its tree at the same time,
/// one checkpoint may be for all of them.
fn seen_by(review: &TaskComments, told: &[TreeCheckpoint]) -> Result<Option<Commit>, TreeError> {
    let of_tree = |checkpoint: &&TreeCheckpoint| Some(&checkpoint.tree) == review.tree.as_ref();
    let own = told.iter().filter(of_tree).find(|one| one.job.as_ref() == Some(&review.job));
    let next = || {
        let ended = review.ended_at?;
        told.iter().filter(of_tree).find(|one| one.at >= ended)
    };
    Ok(own.or_else(next).map(|checkpoint| checkpoint.commit.parse()).transpose()?)
}

/// Follows lines from one commit of the mirror to another. Each file is looked at once.
struct LineFollower<'a> {
    mirror: &'a Mirror,
    pairs: BTreeMap<(String, String, PathBuf), FilePair>,
}

/// A file as it was seen, and as it is.
struct FilePair {
    seen: Vec<String>,
    now: Vec<String>,
    /// How it is called now.
    path: PathBuf,
    /// What differs; nothing if that cannot be told line by line.
    hunks: Option<Vec<Hunk>>,
}

impl LineFollower<'_> {
    fn place(
        &mut self,
        comment: &mut AgentComment,
        seen: &Commit,
        now: &Commit,
    ) -> Result<(), TreeRequestError> {
        let key = (seen.to_string(), now.to_string(), comment.comment.path.clone());
        if !self.pairs.contains_key(&key) {
            let pair = self.pair(seen, now, &comment.comment.path)?;
            self.pairs.insert(key.clone(), pair);
        }
        let Some(pair) = self.pairs.get(&key) else { return Ok(()) };
        let wanted = &mut comment.comment;
        let count = pair.seen.len() as u32;
        let last = wanted.end_line.unwrap_or(wanted.line).min(count.max(wanted.line));
        comment.lines =
            pair.lines(wanted.line, last.min(wanted.line.saturating_add(MAX_LINES - 1)));
        match pair.follow(wanted.line, last) {
            Some(line) => {
                wanted.end_line = (last > wanted.line).then(|| line + (last - wanted.line));
                wanted.line = line;
                wanted.path.clone_from(&pair.path);
            }
            None => comment.outdated = true,
        }
        Ok(())
    }

    fn pair(&self, seen: &Commit, now: &Commit, path: &Path) -> Result<FilePair, TreeRequestError> {
        let lines = |bytes: Vec<u8>| -> Vec<String> {
            String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
        };
        let before = lines(self.mirror.file(seen, path)?.unwrap_or_default());
        let (mut place, mut there) = (path.to_owned(), self.mirror.file(now, path)?);
        if there.is_none() {
            let mut changes = self.mirror.changes(seen, now)?.into_iter();
            let renamed = changes.find(|change| {
                change.status == ChangeStatus::Renamed && change.old_path.as_deref() == Some(path)
            });
            if let Some(renamed) = renamed {
                there = self.mirror.file(now, &renamed.path)?;
                place = renamed.path;
            }
        }
        let after = lines(there.unwrap_or_default());
        let hunks = if before == after {
            Some(Vec::new())
        } else if before.is_empty() || after.is_empty() {
            None
        } else {
            let old = (place != path).then_some(path);
            match self.mirror.file_diff(seen, now, &place, old)? {
                FileDiff::Lines(hunks) => Some(hunks),
                FileDiff::Binary | FileDiff::TooLarge => None,
            }
        };
        Ok(FilePair { seen: before, now: after, path: place, hunks })
    }
}

impl FilePair {
    fn lines(&self, first: u32, last: u32) -> Vec<String> {
        let range = (first as usize).saturating_sub(1)..(last as usize).min(self.seen.len());
        self.seen.get(range).unwrap_or_default().to_vec()
    }

    /// Where lines that were seen begin now; nothing if they are not there any more.
    fn follow(&self, first: u32, last: u32) -> Option<u32> {
        let lines = self.lines(first, last);
        if lines.is_empty() {
            return None;
        }
        let is_there = |at: u32| {
            let begin = (at as usize).checked_sub(1)?;
            (self.now.get(begin..begin + lines.len())? == lines.as_slice()).then_some(at)
        };
        let moved = self.hunks.as_ref().and_then(|hunks| moved(hunks, first));
        moved.and_then(is_there).or_else(|| {
            let mut places = (1..=self.now.len() as u32).filter_map(is_there);
            // Which of several it is cannot be known.
            places.next().filter(|_| places.next().is_none())
        })
    }
}

/// The number that a line has after a change; nothing if it was removed.
fn moved(hunks: &[Hunk], line: u32) -> Option<u32> {
    let mut shift = 0_i64;
    'hunks: for hunk in hunks {
        for one in &hunk.lines {
            if one.old.is_some_and(|old| old > line) {
                break 'hunks;
            }
            match one.kind {
                LineKind::Context if one.old == Some(line) => return one.new,
                LineKind::Removed if one.old == Some(line) => return None,
                LineKind::Context => {}
                LineKind::Removed => shift -= 1,
                LineKind::Added => shift += 1,
            }
        }
    }
    u32::try_from(i64::from(line) + shift).ok()
}

/// The reviews of the agents that worked in a tree, and of those that worked in the tree of the run
/// once this one was landed there.
pub(crate) fn about(reviews: &mut Vec<TaskComments>, tree: Option<&TreeId>, is_landed: bool) {
    reviews.retain(|review| {
        review.tree.as_ref() == tree || (is_landed && review.tree == Some(TreeId::Run))
    });
}

#[cfg(test)]
mod tests {
    use coven_git::mirror::HunkLine;

    use super::*;

    fn pair(seen: &[&str], now: &[&str], hunks: Option<Vec<Hunk>>) -> FilePair {
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        FilePair { seen: own(seen), now: own(now), path: "a".into(), hunks }
    }

    fn hunk(lines: &[(LineKind, u32, u32)]) -> Hunk {
        let line = |(kind, old, new): &(LineKind, u32, u32)| HunkLine {
            kind: *kind,
            old: (*kind != LineKind::Added).then_some(*old),
            new: (*kind != LineKind::Removed).then_some(*new),
            text: String::new(),
            no_line_feed: false,
        };
        Hunk { old_start: 1, new_start: 1, lines: lines.iter().map(line).collect() }
    }

    #[test]
    fn a_line_among_equal_ones_is_followed_through_what_was_added_above_it() {
        let added = hunk(&[
            (LineKind::Added, 0, 1),
            (LineKind::Added, 0, 2),
            (LineKind::Context, 1, 3),
            (LineKind::Context, 2, 4),
        ]);
        let pair = pair(&["}", "x", "}"], &["}", "}", "}", "x", "}"], Some(vec![added]));
        assert_eq!((pair.follow(1, 1), pair.follow(3, 3)), (Some(3), Some(5)));
        assert_eq!(pair.follow(2, 3), Some(4));
        assert_eq!((pair.follow(4, 4), pair.follow(0, 0)), (None, None), "there are no such lines");
    }

    #[test]
    fn a_line_that_was_taken_out_and_put_elsewhere_is_found_by_its_text_if_it_stands_there_once() {
        let moved =
            hunk(&[(LineKind::Removed, 1, 0), (LineKind::Context, 2, 1), (LineKind::Added, 0, 2)]);
        let once = pair(&["one", "two"], &["two", "one"], Some(vec![moved.clone()]));
        assert_eq!((once.follow(1, 1), once.follow(2, 2)), (Some(2), Some(1)));
        let twice = pair(&["one", "two"], &["two", "one", "one"], Some(vec![moved]));
        assert_eq!(twice.follow(1, 1), None);
        assert_eq!(pair(&["one"], &["two", "one"], None).follow(1, 1), Some(2));
        assert_eq!(pair(&["one"], &[], None).follow(1, 1), None);
    }
}
