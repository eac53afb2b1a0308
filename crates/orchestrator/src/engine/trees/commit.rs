//! A commit of what an agent left uncommitted. The user's hooks and filters belong to it, and they
//! read what the agent wrote; so it is a job under a holder, with a tape.

use coven_git::{CommandLine, CommitRequest, message_text};
use coven_workflow::state::WorkflowRun;

use super::{TreeError, TreeJob, TreePlace};
use crate::state::blocking::blocking;

/// How long the hooks of a commit may take.
const COMMIT_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(10);

pub(super) struct CommitJob<'a> {
    pub(super) job: &'a TreeJob,
    pub(super) place: &'a TreePlace,
    pub(super) message: String,
}

impl CommitJob<'_> {
    pub(super) async fn run(self) -> Result<(), TreeError> {
        let place = self.place.clone();
        let is_committed = blocking(move || {
            let is_committed = place.uncommitted()?.is_empty();
            if !is_committed {
                // A hook may change the files.
                place.keep_before()?;
            }
            Ok::<_, TreeError>(is_committed)
        });
        if is_committed.await? {
            return Ok(());
        }
        let Some(run) = self.job.state.run() else { return Ok(()) };
        let tree = run.job_tree(&self.place.tree.tree);
        let tree = tree.ok_or_else(|| TreeError("it is not known any more".to_owned()))?;
        let writes = self.place.clone();
        let writes = blocking(move || writes.written_by_commits()).await?;
        let command = self.job.command(run, tree, "commit").await?.confined(writes);
        let folder = command.folder()?;
        let (place, message) = (self.place.clone(), self.message.clone());
        let trailers = self.trailers(run);
        let lines = blocking(move || {
            let trailers: Vec<(&str, &str)> =
                trailers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let file = folder.join("message");
            std::fs::write(&file, message_text(&message, &trailers))
                .map_err(|error| TreeError(format!("{}: {error}", file.display())))?;
            let request = CommitRequest {
                tree: &place.checkout()?,
                message_file: &file,
                author: None,
                unsigned: false,
            };
            Ok::<_, TreeError>(place.git.commit_commands(&request, &place.allowed)?)
        });
        let commands = lines.await?;
        let (add, is_same) = (line(&commands.add), line(&commands.is_same));
        let submodules = commands.add_submodules.as_ref();
        let submodules =
            submodules.map(|command| format!(" && {}", line(command))).unwrap_or_default();
        let text = format!("{add}{submodules} && {{ {is_same} || {}; }}", line(&commands.commit));
        command.run(text, COMMIT_TIMEOUT).await
    }

    /// By these, a line that was landed is traced to the task that wrote it.
    fn trailers(&self, run: &WorkflowRun) -> Vec<(&'static str, String)> {
        let session = format!("{} ({})", run.identity.name, run.session());
        let task = self.place.tree.tree.task().map(|task| ("Coven-Task", task.to_string()));
        std::iter::once(("Coven-Session", session)).chain(task).collect()
    }
}

/// A call for a shell, with its environment and nothing else.
pub(super) fn line(line: &CommandLine) -> String {
    // A confined job has a folder of its own for what is temporary.
    let temporary = r#""TMPDIR=${TMPDIR:-/tmp}""#.to_owned();
    let mut words = vec!["env".to_owned(), "-i".to_owned(), temporary];
    let entry = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
        quoted(&format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
    };
    words.extend(line.env.iter().map(entry));
    words.push(quoted(&line.program.display().to_string()));
    words.extend(line.args.iter().map(|arg| quoted(&arg.to_string_lossy())));
    words.join(" ")
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn whatever_is_in_a_word_it_stays_one_word_for_a_shell() {
        assert_eq!(super::quoted("a'b $(c)"), r"'a'\''b $(c)'");
    }
}
