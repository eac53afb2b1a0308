//! Files that a filter of the user changes when they are checked out, such as those of large-file
//! storage: their bytes are in no commit. Whether they are what git would check out is asked of git,
//! in a job that is confined like the agent that wrote them, because their filters read them.

use coven_git::Commit;
use coven_git::mirror::FilteredFile;
use coven_workflow::state::WorkflowRun;

use super::commit::{line, quoted};
use super::turn::RepositoryTurn;
use super::{TreeError, TreeJob, TreePlace};
use crate::state::blocking::blocking;

/// How long the filters of a tree may take.
const COMPARE_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(10);

/// The files that are compared, one in a line.
const PATHS_FILE: &str = "paths";

/// What git has of them, in the same order.
const IDS_FILE: &str = "ids";

/// What is to be compared, and the files of the tree as they were.
struct Comparison {
    files: Vec<FilteredFile>,
    before: Commit,
}

impl TreeJob {
    /// Records of a tree whose files are in no commit by their bytes that they are what git makes of
    /// the last commit, if that is so. Otherwise nothing is recorded, and the tree stays.
    pub(super) async fn recognise_filtered(
        &self,
        run: &WorkflowRun,
        place: &TreePlace,
        turn: &RepositoryTurn,
    ) -> Result<(), TreeError> {
        let asked = place.clone();
        let Some(comparison) = turn.run(move || asked.filtered()).await? else { return Ok(()) };
        let Some(tree) = run.job_tree(&place.tree.tree) else { return Ok(()) };
        let command = self.command(run, tree, "compare").await?.confined(Vec::new());
        let (folder, asked) = (command.folder()?, place.clone());
        let Comparison { files, before } = comparison;
        let text = blocking(move || {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let ids: Vec<&str> = files.iter().map(|file| file.blob.as_str()).collect();
            for (name, lines) in [(PATHS_FILE, paths), (IDS_FILE, ids)] {
                let path = folder.join(name);
                std::fs::write(&path, lines.join("\n") + "\n")
                    .map_err(|error| TreeError(format!("{}: {error}", path.display())))?;
            }
            let checkout = asked.checkout()?;
            let clean = line(&asked.git.clean_ids_command(&checkout, &asked.allowed)?);
            let top = quoted(&checkout.root.display().to_string());
            let file = |name: &str| quoted(&folder.join(name).display().to_string());
            let (paths, ids) = (file(PATHS_FILE), file(IDS_FILE));
            Ok::<_, TreeError>(format!(
                "cd {top} && ids=\"$({clean} < {paths})\" && test \"$ids\" = \"$(cat {ids})\""
            ))
        });
        if command.run(text.await?, COMPARE_TIMEOUT).await.is_err() {
            return Ok(());
        }
        let place = place.clone();
        turn.run(move || place.keep_as_committed(&before)).await
    }
}

impl TreePlace {
    /// What is to be asked of git about the files that are in no commit by their bytes. Nothing if
    /// there are none, or some that no filter explains.
    fn filtered(&self) -> Result<Option<Comparison>, TreeError> {
        if !self.path().is_dir() {
            return Ok(None);
        }
        let uncommitted = self.uncommitted()?;
        if uncommitted.is_empty() {
            return Ok(None);
        }
        let before = self.present()?;
        let files = self.mirror()?.maybe_filtered(&before, &self.tip()?, &uncommitted)?;
        Ok(files.map(|files| Comparison { files, before }))
    }

    /// Keeps the tree as what its last commit was made of, if nothing has changed in it since.
    fn keep_as_committed(&self, before: &Commit) -> Result<(), TreeError> {
        if self.mirror()?.has_same_files(before, &self.present()?)? {
            self.hold(self.tree.checkpoints.saturating_add(1), true)?;
        }
        Ok(())
    }
}
