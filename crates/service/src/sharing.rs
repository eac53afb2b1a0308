//! Agents that may write to one folder at the same time, because they have no trees of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coven_api::workflow::{FolderAgent, SharedFolder};
use coven_model::{AgentWork, JobSpec, JobWork, PermissionLevel, SessionId, TaskStatus};
use coven_orchestrator::SessionSnapshot;
use coven_store::SessionEntry;

use crate::sessions::Sessions;

/// The adapter that runs a command and no agent.
const SHELL_ADAPTER: &str = "shell";

/// The folders of a base directory's sessions in which several agents that may write run now, by
/// session. Sessions that are not in memory have none.
pub(crate) fn shared_folders(sessions: &Sessions) -> BTreeMap<SessionId, SharedFolder> {
    let mut folders: BTreeMap<PathBuf, Vec<FolderAgent>> = BTreeMap::new();
    let runs = |entry: &SessionEntry| !entry.foreign && !entry.status.is_final();
    for entry in sessions.list().into_iter().filter(runs) {
        let Some(controller) = sessions.controller(&entry.id) else { continue };
        for (folder, agent) in writers(&entry, &controller.snapshot()) {
            folders.entry(folder).or_default().push(agent);
        }
    }
    let mut shared = BTreeMap::new();
    for (folder, agents) in folders.into_iter().filter(|(_, agents)| agents.len() > 1) {
        for agent in &agents {
            let folder = folder.display().to_string();
            let agents = agents.clone();
            shared.insert(agent.workflow.clone(), SharedFolder { folder, agents });
        }
    }
    shared
}

/// The agents of a session that run and may write, with their folders.
fn writers(entry: &SessionEntry, snapshot: &SessionSnapshot) -> Vec<(PathBuf, FolderAgent)> {
    let jobs =
        snapshot.state().run().into_iter().flat_map(coven_workflow::state::WorkflowRun::live_jobs);
    let writers = jobs.filter_map(|(task, live)| {
        let runs = matches!(task.status(), TaskStatus::Running | TaskStatus::WaitingForUser);
        let agent = writing_agent(&live.spec).filter(|_| runs && !snapshot.is_queued(&task.id))?;
        let agent = FolderAgent {
            workflow: entry.id.clone(),
            workflow_name: entry.name.clone(),
            task: task.id.clone(),
            adapter: agent.adapter.clone(),
        };
        Some((folder_of(&entry.base_dir, &live.spec), agent))
    });
    writers.collect()
}

fn writing_agent(job: &JobSpec) -> Option<&AgentWork> {
    let JobWork::Agent(agent) = &job.work else { return None };
    let writes = agent.permissions != Some(PermissionLevel::ReadOnly);
    (writes && agent.adapter != SHELL_ADAPTER).then_some(agent)
}

/// The folder that a job works in.
fn folder_of(base_dir: &Path, job: &JobSpec) -> PathBuf {
    let base = job.tree.as_ref().map_or(base_dir, |tree| Path::new(&tree.base_dir));
    match &job.cwd {
        Some(cwd) => base.join(cwd),
        None => base.to_owned(),
    }
}
