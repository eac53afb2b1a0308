//! What changed in a tree, as files and as lines.

use std::path::Path;

use coven_api::changes::{
    ChangeHunk, ChangeLine, ChangeLineKind, ChangesQuery, CheckpointItem, FileChange,
    FileChangeStatus, FileChanges, FileChangesQuery, FileKind, ModeChange, TreeChanges,
};
use coven_model::TreeId;
use coven_orchestrator as engine;
use coven_orchestrator::{ChangesAgainst, SessionTrees};

use super::words::{line_words, path_of_words, path_words};
use super::{tree_id, tree_name};
use crate::error::ServiceError;
use crate::find::FoundSession;
use crate::service::Service;
use crate::text::excerpt;

/// The largest answer about changes, in bytes of what is in it.
const MAX_ANSWER_BYTES: usize = 5 << 20;

/// What a file of a list takes beside its paths.
const FILE_BYTES: usize = 160;

/// What a line takes beside its text.
const LINE_BYTES: usize = 48;

/// What is compared with, as a request says it.
pub(super) fn against(text: Option<&str>) -> Result<ChangesAgainst, ServiceError> {
    let number = |text: &str| text.strip_prefix("checkpoint:")?.parse().ok();
    match text {
        None | Some("base") => Ok(ChangesAgainst::Base),
        Some("target") => Ok(ChangesAgainst::Target),
        Some(text) => number(text).map(ChangesAgainst::Checkpoint).ok_or_else(|| {
            let text = excerpt(text, 80);
            ServiceError::BadInput(format!(
                "nothing can be compared with `{text}`: there are base, target and checkpoint:N"
            ))
        }),
    }
}

fn against_words(against: ChangesAgainst) -> String {
    match against {
        ChangesAgainst::Base => "base".to_owned(),
        ChangesAgainst::Target => "target".to_owned(),
        ChangesAgainst::Checkpoint(number) => format!("checkpoint:{number}"),
    }
}

/// A tree whose files are looked at.
struct LookedAt {
    trees: SessionTrees,
    tree: TreeId,
    against: ChangesAgainst,
}

impl Service {
    async fn looked_at(
        &self,
        id: &str,
        task: &str,
        against: Option<&str>,
    ) -> Result<LookedAt, ServiceError> {
        let against = self::against(against)?;
        let FoundSession { sessions, id: session, .. } = self.find(id).await?;
        let tree = tree_id(&sessions, &session, task).await?;
        let trees = sessions.session_trees(&session).await?;
        Ok(LookedAt { trees, tree, against })
    }

    /// The files that differ in the tree of a task.
    pub async fn changes(
        &self,
        id: &str,
        task: &str,
        query: &ChangesQuery,
    ) -> Result<TreeChanges, ServiceError> {
        let at = self.looked_at(id, task, query.against.as_deref()).await?;
        let changes = at.trees.changes(&at.tree, at.against).await?;
        let checkpoints = at.trees.checkpoints(&at.tree).await?;
        let (files, cut) = listed(&changes.files);
        Ok(TreeChanges {
            tree: tree_name(&changes.tree),
            branch: changes.branch,
            against: against_words(at.against),
            target: changes.target,
            base: changes.from,
            head: changes.to,
            present: changes.present,
            files,
            omitted: (changes.omitted + cut) as u64,
            checkpoints: checkpoints
                .into_iter()
                .filter(|checkpoint| checkpoint.number > 0)
                .map(|checkpoint| CheckpointItem {
                    number: checkpoint.number,
                    attempt: checkpoint.job,
                    files: checkpoint.files,
                    at: checkpoint.at,
                })
                .collect(),
        })
    }

    /// The lines of one file that differ.
    pub async fn file_changes(
        &self,
        id: &str,
        task: &str,
        query: &FileChangesQuery,
    ) -> Result<FileChanges, ServiceError> {
        let path = path_of_words(&query.path)?;
        let at = self.looked_at(id, task, query.against.as_deref()).await?;
        let changes = at.trees.file_changes(&at.tree, at.against, &path).await?;
        let (hunks, marked, cut) = shown(changes.hunks);
        Ok(FileChanges {
            tree: tree_name(&changes.tree),
            base: changes.from,
            head: changes.to,
            file: file(&changes.file),
            hunks,
            cut: changes.cut || cut,
            marked,
        })
    }

    /// Everything that differs, as a patch that git takes.
    pub async fn patch(
        &self,
        id: &str,
        task: &str,
        query: &ChangesQuery,
    ) -> Result<Vec<u8>, ServiceError> {
        let at = self.looked_at(id, task, query.against.as_deref()).await?;
        Ok(at.trees.patch(&at.tree, at.against).await?)
    }
}

/// The files that an answer can hold, and how many it cannot.
fn listed(files: &[engine::TreeFile]) -> (Vec<FileChange>, usize) {
    let mut room = MAX_ANSWER_BYTES;
    let mut listed = Vec::new();
    for one in files {
        let one = file(one);
        let size = FILE_BYTES + one.path.len() + one.old.as_ref().map_or(0, String::len);
        if size > room {
            break;
        }
        room -= size;
        listed.push(one);
    }
    let cut = files.len() - listed.len();
    (listed, cut)
}

fn file(file: &engine::TreeFile) -> FileChange {
    FileChange {
        path: path_words(&file.path),
        old: file.old_path.as_deref().map(|path: &Path| path_words(path)),
        status: match file.status {
            engine::ChangeStatus::Added => FileChangeStatus::Added,
            engine::ChangeStatus::Modified => FileChangeStatus::Modified,
            engine::ChangeStatus::Deleted => FileChangeStatus::Deleted,
            engine::ChangeStatus::Renamed => FileChangeStatus::Renamed,
            engine::ChangeStatus::TypeChanged => FileChangeStatus::TypeChanged,
        },
        kind: match file.kind {
            engine::TreeFileKind::File => FileKind::File,
            engine::TreeFileKind::Symlink => FileKind::Symlink,
            engine::TreeFileKind::Submodule => FileKind::Submodule,
        },
        added: file.added,
        removed: file.removed,
        binary: file.binary,
        too_large: file.too_large,
        mode: file.mode.clone().map(|(old, new)| ModeChange { old, new }),
    }
}

/// The hunks that an answer can hold, whether something in them was marked, and whether some are
/// missing.
fn shown(hunks: Vec<engine::TreeHunk>) -> (Vec<ChangeHunk>, bool, bool) {
    let mut room = MAX_ANSWER_BYTES;
    let (mut shown, mut any_marked) = (Vec::new(), false);
    for hunk in hunks {
        let mut lines = Vec::with_capacity(hunk.lines.len());
        let (old_start, new_start) = (hunk.old_start, hunk.new_start);
        let mut cut = false;
        for line in hunk.lines {
            let (line, marked) = self::line(&line);
            let size = LINE_BYTES + line.t.len();
            if size > room {
                cut = true;
                break;
            }
            room -= size;
            any_marked |= marked;
            lines.push(line);
        }
        shown.push(ChangeHunk { old_start, new_start, lines });
        if cut {
            return (shown, any_marked, true);
        }
    }
    (shown, any_marked, false)
}

fn line(line: &engine::TreeLine) -> (ChangeLine, bool) {
    let (text, cr) = match line.text.strip_suffix('\r') {
        Some(text) => (text, true),
        None => (line.text.as_str(), false),
    };
    let (text, marked) = line_words(text);
    let line = ChangeLine {
        k: match line.kind {
            engine::LineKind::Context => ChangeLineKind::Context,
            engine::LineKind::Added => ChangeLineKind::Added,
            engine::LineKind::Removed => ChangeLineKind::Removed,
        },
        o: line.old,
        n: line.new,
        t: text.into_owned(),
        cr,
        end: line.no_line_feed,
    };
    (line, marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_line(text: &str) -> engine::TreeLine {
        engine::TreeLine {
            kind: engine::LineKind::Added,
            old: None,
            new: Some(1),
            text: text.to_owned(),
            bidirectional: false,
            no_line_feed: false,
        }
    }

    #[test]
    fn what_can_be_compared_with_is_said_in_three_ways() {
        assert_eq!(against(None).unwrap(), ChangesAgainst::Base);
        assert_eq!(against(Some("target")).unwrap(), ChangesAgainst::Target);
        assert_eq!(against(Some("checkpoint:7")).unwrap(), ChangesAgainst::Checkpoint(7));
        for wrong in ["", "main", "checkpoint:", "checkpoint:-1", "checkpoint:99999999999"] {
            assert!(against(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_has_no_more_than_it_can_hold_and_says_so() {
        let long = one_line(&"x".repeat(1 << 20));
        let hunk = engine::TreeHunk { old_start: 0, new_start: 1, lines: vec![long; 6] };
        let (hunks, marked, cut) = shown(vec![hunk.clone(), hunk]);
        assert_eq!((hunks.len(), hunks[0].lines.len(), marked, cut), (1, 4, false, true));
        let hunk =
            engine::TreeHunk { old_start: 0, new_start: 1, lines: vec![one_line("a\u{202e}\r")] };
        let (hunks, marked, cut) = shown(vec![hunk]);
        let line = &hunks[0].lines[0];
        assert_eq!((line.t.as_str(), line.cr, marked, cut), ("a⟨U+202E⟩", true, true, false));
    }
}
