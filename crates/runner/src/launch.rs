//! From a task and its adapter to a process.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_adapters::config::StdinSource;
use coven_adapters::hook::HookTarget;
use coven_adapters::launch::{LaunchConversation, LaunchError, LaunchRequest, LaunchSpec};
use coven_adapters::{AgentAdapter, ProgramVersion};
use coven_folder::{Durability, OpenFolder, OpenObstacle};
use coven_runtime::domain::{Connection, SpawnConfig, SpawnError};
use coven_runtime::installed;

use crate::task::{AgentTask, TaskPlace};

/// The mode of the folder of an attempt: for its owner alone.
const PRIVATE_MODE: u32 = 0o700;

/// How long a program may take to say its version before it is started as the newest one would be.
/// The slowest needs six seconds on a machine that does nothing else.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// The file of an attempt that is the input of its program.
const INPUT_FILE: &str = "input";

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
    Prompt { path: PathBuf, source: io::Error },
    /// What the protocol of the agent needs could not be written.
    #[error("the conversation could not be written down: {0}")]
    Channel(#[source] io::Error),
    /// The token of what the agent reports could not be written.
    #[error("the token of its reports could not be written down: {0}")]
    Hooks(#[source] io::Error),
    /// The task has more to say than a prompt, and the program takes no more.
    #[error("there are inputs for it after its prompt, which it cannot be told: {reason}")]
    NeedsChannel {
        /// Why its protocol is not spoken.
        reason: String,
    },
    /// The task is for the other kind of runner.
    #[error("this runner is for {wanted} tasks")]
    Mode {
        /// The mode it is for.
        wanted: coven_model::AgentMode,
    },
    /// The reactor could not watch the process.
    #[error("the process cannot be watched: {0}")]
    Watch(#[source] io::Error),
}

impl StartError {
    /// Whether the disk has no room for what is kept of the agent. Nothing was started then, and the
    /// same can be tried again.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Spawn(error) => matches!(error, SpawnError::Full { .. }),
            Self::Prompt { source, .. } | Self::Channel(source) | Self::Hooks(source) => {
                OpenObstacle::of(source) == OpenObstacle::Full
            }
            Self::Launch(_) | Self::NeedsChannel { .. } | Self::Mode { .. } | Self::Watch(_) => {
                false
            }
        }
    }
}

/// What the adapter says about the start of a task.
pub(crate) fn plan(
    adapter: &dyn AgentAdapter,
    task: &AgentTask,
    place: &TaskPlace,
) -> Result<LaunchSpec, StartError> {
    let conversation = match (&task.resume, &task.new_session) {
        (Some(id), _) => LaunchConversation::Resume(id),
        (None, Some(id)) => LaunchConversation::NewWithId(id),
        (None, None) => LaunchConversation::New,
    };
    let folder = place.inputs().and_then(|folder| folder.to_str());
    let version = installed_version(adapter, task, place);
    // Without a folder the token would be forgotten with this process.
    let hooks = task.hooks.as_ref().filter(|_| place.folder.is_some());
    Ok(adapter.launch(&LaunchRequest {
        mode: task.mode,
        prompt: task.prompt.as_deref(),
        extra_args: &task.extra_args,
        permission: task.permission,
        model: task.model.as_deref(),
        version: version.as_ref(),
        auto_approve: task.auto_approve,
        conversation,
        prompt_folder: folder,
        channel: task.channel.is_wanted(),
        channel_refused: task.channel_refused.as_deref(),
        hooks: hooks.map(|hooks| HookTarget { url: &hooks.url, token: hooks.token.reveal() }),
    })?)
}

/// The version of the program that will be started, where its adapter knows of differences. Waits
/// for the program the first time; nothing where it does not say.
fn installed_version(
    adapter: &dyn AgentAdapter,
    task: &AgentTask,
    place: &TaskPlace,
) -> Option<ProgramVersion> {
    let config = adapter.config();
    let since = config.channel.as_ref().and_then(|channel| channel.since.as_ref());
    let reports = config.hooks.as_ref().filter(|_| task.hooks.is_some());
    let differs = !config.versions.is_empty()
        || (task.channel.is_wanted() && since.is_some())
        || reports.is_some_and(|hooks| hooks.since.is_some());
    if !differs || config.version_args.is_empty() {
        return None;
    }
    let command = config.command.as_deref().unwrap_or_else(|| adapter.kind());
    let path = match place.programs.get(command) {
        Some(path) => path.clone(),
        None => {
            installed::find(command, place.env.get(OsStr::new("PATH")).map(OsString::as_os_str))?
        }
    };
    let printed =
        installed::printed_by(&path, &config.version_args, Some(&place.env), VERSION_TIMEOUT)
            .ok()?;
    ProgramVersion::find(&printed)
}

/// Makes the process's configuration, and writes what must be there before it starts.
pub(crate) fn prepare(
    launch: &LaunchSpec,
    task: &AgentTask,
    place: &TaskPlace,
) -> Result<SpawnConfig, StartError> {
    if let (Some((name, text)), Some(folder)) = (&launch.prompt_file, place.inputs()) {
        write_prompt(folder, name, text)?;
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
    let input = input(launch, place)?;
    let connection =
        if launch.terminal { Connection::Terminal(task.size) } else { Connection::Pipes };
    Ok(SpawnConfig {
        argv,
        cwd: place.cwd.clone(),
        env,
        connection,
        input,
        sandbox: place.sandbox.clone(),
        folder: place.folder.clone(),
        keep: None,
        job: task.job.clone(),
    })
}

/// The file that is the input of a program without a terminal; nothing for a pipe that stays open.
fn input(launch: &LaunchSpec, place: &TaskPlace) -> Result<Option<PathBuf>, StartError> {
    if launch.terminal {
        return Ok(None);
    }
    // Not where agents may read: the open file is all that the program needs.
    let folder = place.folder.as_deref().or_else(|| place.inputs());
    match (&launch.input, folder) {
        (Some(text), Some(folder)) => write_prompt(folder, INPUT_FILE, text).map(Some),
        _ => Ok((launch.stdin == StdinSource::Null).then(|| "/dev/null".into())),
    }
}

fn write_prompt(folder: &Path, name: &str, text: &str) -> Result<PathBuf, StartError> {
    // An agent that ran before may have put a link there, which must not be written through.
    let written = OpenFolder::make_without_links(folder, PRIVATE_MODE)
        .and_then(|folder| folder.replace(name, text.as_bytes(), Durability::Cache));
    let path = folder.join(name);
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(StartError::Prompt { path, source: error.into() }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::sync::Arc;

    use coven_adapters::{Options, default_registry};
    use coven_runtime::LocalDomain;

    use super::*;

    /// Prepares a start with a prompt in a file.
    fn prepare_in(folder: &Path) -> Result<SpawnConfig, StartError> {
        let adapter = default_registry().create("demo", Options::default()).unwrap();
        let place = TaskPlace {
            domain: Arc::new(LocalDomain::new()),
            cwd: "/".into(),
            env: BTreeMap::new(),
            folder: Some(folder.to_owned()),
            inputs: None,
            sandbox: None,
            programs: BTreeMap::new(),
        };
        let task = AgentTask::interactive("job", Some("short"));
        let mut launch = plan(&*adapter, &task, &place).unwrap();
        launch.prompt_file = Some(("prompt.md".to_owned(), "do it".to_owned()));
        prepare(&launch, &task, &place)
    }

    #[test]
    fn a_prompt_is_written_through_no_link() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let (folder, victim) = (root.join("task/1"), root.join("victim"));
        let mut damage = Vec::new();
        for is_symbolic in [true, false] {
            for name in ["prompt.md", "prompt.md.new"] {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&victim, "not yours").unwrap();
                fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
                if is_symbolic {
                    symlink(&victim, folder.join(name)).unwrap();
                } else {
                    fs::hard_link(&victim, folder.join(name)).unwrap();
                }
                prepare_in(&folder).unwrap();
                assert_eq!(fs::read_to_string(folder.join("prompt.md")).unwrap(), "do it");
                let mode = fs::metadata(&victim).unwrap().permissions().mode() & 0o777;
                if fs::read_to_string(&victim).unwrap() != "not yours" || mode != 0o644 {
                    damage.push((name, is_symbolic));
                }
                fs::remove_dir_all(root.join("task")).unwrap();
            }
        }
        assert_eq!(damage, []);
        // A task's folder that is a link is not entered.
        fs::create_dir(root.join("elsewhere")).unwrap();
        symlink(root.join("elsewhere"), root.join("task")).unwrap();
        assert!(matches!(prepare_in(&folder), Err(StartError::Prompt { .. })));
        assert_eq!(fs::read_dir(root.join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn a_prompt_makes_the_folder_it_is_written_to() {
        let root = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(root.path()).unwrap().join("task/1");
        prepare_in(&folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join("prompt.md")).unwrap(), "do it");
    }
}
