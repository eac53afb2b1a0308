//! A commit of what an agent left uncommitted. The user's hooks and filters belong to it, and they
//! read what the agent wrote; so it is a job like the agent's own, under a holder, confined as the
//! agent was, and with a tape.

use coven_git::{CommandLine, CommitRequest, message_text};
use coven_model::{AttemptId, JobId, JobSpec, JobWork, SandboxMode, ShellWork, TaskId, TreeId};
use coven_workflow::SessionInput;
use coven_workflow::state::WorkflowRun;
use tokio::sync::mpsc;

use super::{TreeError, TreeJob, TreePlace};
use crate::engine::executor::{JobFolders, JobRoom};
use crate::state::blocking::blocking;

/// How long the hooks of a commit may take.
const COMMIT_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(10);

/// How many reports of such a job may wait; there are a few.
const MAX_REPORTS: usize = 16;

/// How many lines of what a hook printed are told.
const MAX_HOOK_LINES: usize = 12;

pub(super) struct CommitJob<'a> {
    pub(super) job: &'a TreeJob,
    pub(super) place: &'a TreePlace,
    pub(super) message: String,
}

impl CommitJob<'_> {
    pub(super) async fn run(self) -> Result<(), TreeError> {
        let place = self.place.clone();
        if blocking(move || place.uncommitted()).await?.is_empty() {
            return Ok(());
        }
        let Some(run) = self.job.state.run() else { return Ok(()) };
        let (task, number) = self.job_name(run)?;
        let attempt = AttemptId { task, attempt: number };
        let (files, state, job) = (self.job.files.clone(), self.job.state.clone(), attempt.clone());
        let made = blocking(move || JobFolders::make(&files.lock(), &state, &job, JobRoom::Needed));
        let (room, folders) = made.await;
        room.map_err(|error| TreeError(error.to_string()))?;
        let folder = folders.path().map_err(TreeError)?;
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
        let text = format!("{} && {}", line(&commands.add), line(&commands.commit));
        let spec = self.spec(run, &attempt, text);
        let (reports, mut reported) = mpsc::channel(MAX_REPORTS);
        let live = self.job.live.clone();
        let handle = self.job.executor.start(&self.job.state, folders, spec, reports, live);
        let outcome = loop {
            match reported.recv().await {
                Some(SessionInput::Ended { outcome, .. }) => break Some(outcome),
                Some(SessionInput::Lost(_)) | None => break None,
                Some(_) => {}
            }
        };
        drop(handle);
        match outcome {
            Some(outcome) if outcome.ok => Ok(()),
            Some(outcome) => {
                let printed = [outcome.output, outcome.stderr].into_iter().flatten();
                let printed: Vec<String> = printed
                    .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
                    .collect();
                let end = printed.len().saturating_sub(MAX_HOOK_LINES);
                Err(TreeError(format!("{}\n{}", outcome.reason, printed[end..].join("\n"))))
            }
            None => Err(TreeError("the commit was interrupted".to_owned())),
        }
    }

    /// The job is named after the task that worked in the tree. Each try has a folder of its own.
    fn job_name(&self, run: &WorkflowRun) -> Result<(TaskId, u32), TreeError> {
        let name = match &self.place.tree.tree {
            TreeId::Run => "run.commit".to_owned(),
            TreeId::Task(task) => format!("{task}.commit"),
        };
        let task = TaskId::new(name).map_err(|error| TreeError(error.to_string()))?;
        let files = self.job.files.lock();
        let free = (1..u32::MAX).find(|attempt| {
            let attempt = AttemptId { task: task.clone(), attempt: *attempt };
            files.attempt(&attempt).is_none()
        });
        let number =
            free.ok_or_else(|| TreeError(format!("{} was tried too often", run.session())))?;
        Ok((task, number))
    }

    /// By these, a line that was landed is traced to the task that wrote it.
    fn trailers(&self, run: &WorkflowRun) -> Vec<(&'static str, String)> {
        let session = format!("{} ({})", run.identity.name, run.session());
        let task = self.place.tree.tree.task().map(|task| ("Coven-Task", task.to_string()));
        std::iter::once(("Coven-Session", session)).chain(task).collect()
    }

    fn spec(&self, run: &WorkflowRun, attempt: &AttemptId, text: String) -> JobSpec {
        let step = run.current().map(|(_, step, _)| step.name.clone()).unwrap_or_default();
        JobSpec {
            job: JobId { session: run.session().clone(), attempt: attempt.clone() },
            step,
            name: attempt.task.to_string(),
            work: JobWork::Shell(ShellWork {
                text,
                shell: None,
                variables: Vec::new(),
                files: Vec::new(),
            }),
            tree: run.job_tree(&self.place.tree.tree).map(Box::new),
            cwd: None,
            env: std::collections::BTreeMap::new(),
            timeout: Some(COMMIT_TIMEOUT),
            ok_exit_codes: coven_model::ExitCodes::default(),
            sandbox: SandboxMode::Off,
            confine: None,
            approved_by: None,
            domain: None,
            size: None,
        }
    }
}

/// A call for a shell, with its environment and nothing else.
fn line(line: &CommandLine) -> String {
    let mut words = vec!["env".to_owned(), "-i".to_owned()];
    let entry = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
        quoted(&format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
    };
    words.extend(line.env.iter().map(entry));
    words.push(quoted(&line.program.display().to_string()));
    words.extend(line.args.iter().map(|arg| quoted(&arg.to_string_lossy())));
    words.join(" ")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn whatever_is_in_a_word_it_stays_one_word_for_a_shell() {
        assert_eq!(super::quoted("a'b $(c)"), r"'a'\''b $(c)'");
    }
}
