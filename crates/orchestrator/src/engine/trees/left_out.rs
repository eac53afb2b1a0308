//! What checkpoints leave out, when a tree is to be removed: ignored files, submodules, repositories
//! inside it. What is small goes into a checkpoint of its own, what was built goes, and a tree with
//! anything else stays until a person says otherwise.

use std::path::PathBuf;

use coven_git::mirror::{LeftOut, MAX_LEFT_OUT_BYTES, MAX_LEFT_OUT_FILES};

use super::checkpoint::Held;
use super::{TreeError, TreePlace};

/// How many files or folders are named in a sentence.
const MAX_NAMED: usize = 5;

impl TreePlace {
    /// Writes down what is in a new tree that checkpoints leave out. Without that, all of it counts as
    /// made by agents.
    pub(super) fn remember_left_out(&self) {
        let remember = || -> Result<(), TreeError> {
            let git_dir = self.checkout()?.git_dir;
            Ok(self.mirror_of_files()?.remember_left_out(&self.path(), &git_dir)?)
        };
        if let Err(error) = remember() {
            tracing::warn!(tree = %self.tree.path, error = error.0, "what is ignored in a new tree is not known");
        }
    }

    /// What of the tree is in none of its checkpoints.
    pub(super) fn left_out(&self) -> Result<LeftOut, TreeError> {
        let mirror = self.mirror_of_files()?;
        let tip = self.taken_in_tip(&mirror)?;
        // Without a registration there are no submodules that git would find.
        let git_dir =
            self.checkout().map_or_else(|_| self.path().join(".git"), |tree| tree.git_dir);
        Ok(mirror.left_out(&self.path(), &git_dir, Some(&tip))?)
    }

    /// Keeps what was left out beside a checkpoint that was just made. Gives what is in neither.
    pub(super) fn hold_left_out(
        &self,
        left_out: &mut LeftOut,
        held: &Held,
    ) -> Result<Option<String>, TreeError> {
        let reference = self.left_out_reference(&self.tree.tree, held.number);
        let failed = self.mirror()?.hold_left_out(&self.path(), left_out, &reference)?;
        let mut paths = held.lost.clone();
        paths.extend(failed.into_iter().map(|file| file.path));
        Ok((!paths.is_empty()).then(|| format!("{} cannot be kept in a checkpoint", named(&paths))))
    }

    pub(super) fn left_out_reference(&self, tree: &coven_model::TreeId, number: u32) -> String {
        format!("{}-left-out", self.reference_of(tree, number))
    }

    /// Moves the repositories inside the tree to where they stay, and says where that is.
    pub(super) fn keep_repositories(
        &self,
        left_out: &LeftOut,
        number: u32,
    ) -> Result<Vec<String>, TreeError> {
        let mut notes = Vec::new();
        for (place, inner) in left_out.repositories.iter().enumerate() {
            let to = self.repositories_folder(&self.tree.tree, number).join(format!("{place}.git"));
            inner.move_to(&self.git, &to)?;
            let (path, to) = (inner.path.display(), to.display());
            notes.push(format!("the git repository of {path} is kept in {to}"));
        }
        Ok(notes)
    }

    /// Where the repositories are that were in a tree at a checkpoint.
    pub(super) fn repositories_folder(&self, tree: &coven_model::TreeId, number: u32) -> PathBuf {
        let name = self.name_in_references(tree);
        let session = self.session_references.rsplit('/').next().unwrap_or_default();
        let beside = self.mirror.with_file_name("repositories");
        beside.join(session).join(name).join(number.to_string())
    }

    /// What would go with the tree, if it went now.
    pub(super) fn would_go(&self, force: bool) -> Result<Vec<String>, TreeError> {
        if !self.path().is_dir() {
            return Ok(Vec::new());
        }
        Ok(notes_of(&self.left_out()?, force))
    }
}

/// Why a tree stays because of what is left out in it.
pub(super) fn why_left_out(left_out: &LeftOut) -> Option<String> {
    let LeftOut { too_large, submodules, repositories, unreadable, .. } = left_out;
    let mut why = Vec::new();
    if !too_large.is_empty() {
        why.push(format!(
            "git ignores {}, and that is too much for a checkpoint ({})",
            named(too_large),
            limits()
        ));
    }
    if !submodules.is_empty() {
        why.push(format!("files were changed in the submodule {}", named(submodules)));
    }
    if !repositories.is_empty() {
        let paths: Vec<PathBuf> = repositories.iter().map(|inner| inner.path.clone()).collect();
        why.push(format!("something was committed or staged in the repository {}", named(&paths)));
    }
    if !unreadable.is_empty() {
        why.push(format!("git ignores {}, which cannot be read", named(unreadable)));
    }
    (!why.is_empty()).then(|| why.join("; "))
}

/// What goes with a tree and is in no checkpoint.
pub(super) fn notes_of(left_out: &LeftOut, force: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |paths: &[PathBuf], why: &str| {
        if !paths.is_empty() {
            notes.push(format!("not kept: {} ({why})", named(paths)));
        }
    };
    note(&left_out.build_output, "can be made again");
    if force {
        note(&left_out.too_large, &format!("ignored, and more than {}", limits()));
        note(&left_out.unreadable, "cannot be read");
    }
    notes
}

fn limits() -> String {
    format!("{MAX_LEFT_OUT_FILES} files or {} MiB", MAX_LEFT_OUT_BYTES >> 20)
}

/// Whether git refuses to remove a tree for a reason that was looked into.
pub(super) fn is_answered(error: &coven_git::Error) -> bool {
    error.is_about_changes() || error.is_about_submodules()
}

fn named(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(MAX_NAMED).map(|path| path.display().to_string());
    let shown = shown.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
