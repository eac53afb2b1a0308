//! From a task and its adapter to a process.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use coven_adapters::AgentAdapter;
use coven_adapters::config::Stdin;
use coven_adapters::launch::{Conversation, Launch, LaunchError, Request};
use coven_runtime::domain::{Connection, SpawnConfig, SpawnError};

use crate::task::{Place, Task};

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The adapter cannot launch what was asked for.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The file with a long prompt could not be written.
    #[error("the prompt could not be written to {path}: {source}")]
    Prompt {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The task is for the other kind of runner.
    #[error("this runner is for {wanted} tasks")]
    Mode {
        /// The mode it is for.
        wanted: coven_model::Mode,
    },
    /// The reactor could not watch the process.
    #[error("the process cannot be watched: {0}")]
    Watch(#[source] io::Error),
}

/// What the adapter says about the start of a task.
pub(crate) fn plan(
    adapter: &dyn AgentAdapter,
    task: &Task,
    place: &Place,
) -> Result<Launch, StartError> {
    let conversation = match (&task.resume, &task.new_session) {
        (Some(id), _) => Conversation::Resume(id),
        (None, Some(id)) => Conversation::NewWithId(id),
        (None, None) => Conversation::New,
    };
    let folder = place.folder.as_deref().and_then(|folder| folder.to_str());
    Ok(adapter.launch(&Request {
        mode: task.mode,
        prompt: task.prompt.as_deref(),
        extra_args: &task.extra_args,
        permission: task.permission,
        model: task.model.as_deref(),
        auto_approve: task.auto_approve,
        conversation,
        prompt_folder: folder,
    })?)
}

/// Makes the process's configuration, and writes what must be there before it starts.
pub(crate) fn prepare(
    launch: &Launch,
    task: &Task,
    place: &Place,
) -> Result<SpawnConfig, StartError> {
    if let (Some((name, text)), Some(folder)) = (&launch.prompt_file, &place.folder) {
        let path = folder.join(name);
        let failed = |source| StartError::Prompt { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        fs::write(&path, text).map_err(failed)?;
    }
    let program = place.programs.get(&launch.command);
    let program = program.map_or_else(|| launch.command.clone().into(), |path| path.clone().into());
    let mut argv: Vec<OsString> = vec![program];
    argv.extend(launch.args.iter().map(OsString::from));
    let mut env = place.env.clone();
    for name in &launch.unset {
        env.remove(&OsString::from(name));
    }
    if launch.terminal {
        env.insert("TERM".into(), "xterm-256color".into());
        env.insert("COLORTERM".into(), "truecolor".into());
        // The size is the terminal's; these would say otherwise.
        env.remove(&OsString::from("COLUMNS"));
        env.remove(&OsString::from("LINES"));
    }
    env.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
    let connection =
        if launch.terminal { Connection::Terminal(task.size) } else { Connection::Pipes };
    Ok(SpawnConfig {
        argv,
        cwd: place.cwd.clone(),
        env,
        connection,
        sandbox: place.sandbox.clone(),
        folder: place.folder.clone(),
        keep: None,
        job: task.job.clone(),
    })
}

/// Whether the input is at its end from the start.
pub(crate) fn closes_input(launch: &Launch) -> bool {
    !launch.terminal && launch.stdin == Stdin::Null
}
