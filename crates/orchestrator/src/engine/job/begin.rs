//! How a job begins: from its description to a process, or to one that was started before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use coven_adapters::{AgentAdapter, Options as AdapterOptions};
use coven_folder::{Durability, OpenFolder};
use coven_model::event::{AttemptPlace, JobConfinement};
use coven_model::{
    AgentMode, ExitCodes, FileVariable, JobOutcome, JobTree, JobWork, ProcessEnding, TerminalSize,
};
use coven_runner::{
    AgentRunner, AgentTask, ChannelUse, FoundAgent, FoundChannel, HeadlessRunner, HiddenTexts,
    OkCodes, StartError, TaskPlace, finished, past, start_headless,
};
use coven_runtime::hold::{Adopted, HolderFolder, adopt, rebuild, take_back};
use coven_terminal::screen::{GridSize, Options as ScreenOptions};

use super::{JobDetails, PRIVATE_MODE, Runner, failed, file_name};
use crate::engine::shell::{Shell, file_variable};
use crate::state::StorageProblem;

/// The file with the variables of the run, for scripts.
const VARIABLES_FILE: &str = "variables.json";

/// The folder of what jobs are given to read, in that of their session.
const INPUTS_FOLDER: &str = "inputs";

/// The terminal of an agent unless its step says another: small ones cut what it asks.
const AGENT_SIZE: TerminalSize = TerminalSize { columns: 120, rows: 40 };
/// The terminal of a bare command, which is no agent, unless its step says another.
const COMMAND_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };
/// The adapter that runs any program as it is.
pub(super) const COMMAND_ADAPTER: &str = "shell";

/// What became of a job before it is begun here.
#[derive(Debug)]
pub(super) enum FoundJob {
    New,
    /// A process was started for it, by this process or an earlier one.
    Started,
    /// It was stopped before it began.
    Stopped,
    /// Its outcome is on the disk.
    Ended(Box<JobOutcome>),
    /// It was started elsewhere, or where agents can write: what it left is not believed.
    Lost,
}

/// A job whose process is followed.
pub(super) struct BegunJob {
    pub(super) runner: Runner,
    pub(super) adapter: Arc<dyn AgentAdapter>,
    /// What of its confinement is not enforced.
    pub(super) exposure: Option<String>,
    pub(super) confinement: Option<JobConfinement>,
}

/// Why no process is followed.
pub(super) enum NotBegun {
    /// The process is gone, and how it ended is not known.
    Lost,
    Ended(Box<JobOutcome>),
    /// The disk has no room for what is kept of it. Nothing was started.
    Full(StorageProblem),
}

impl NotBegun {
    fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        StorageProblem::of_full(error).map_or_else(|| Self::not_started(error), Self::Full)
    }

    fn not_started(reason: impl std::fmt::Display) -> Self {
        Self::Ended(Box::new(failed(ProcessEnding::NotStarted, reason.to_string())))
    }
}

impl From<std::io::Error> for NotBegun {
    fn from(error: std::io::Error) -> Self {
        Self::of(&error)
    }
}

impl From<StartError> for NotBegun {
    fn from(error: StartError) -> Self {
        if error.is_full() {
            Self::Full(StorageProblem::full(&error))
        } else {
            Self::not_started(error)
        }
    }
}

/// What the processes of a tree find in their environment.
fn tree_variables(tree: &JobTree) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("COVEN_ROOT", tree.root.clone()),
        ("COVEN_TREE", tree.path.clone()),
        ("COVEN_BRANCH", tree.branch.clone()),
    ];
    if let Some(ports) = tree.ports {
        variables.push(("COVEN_PORT", ports.first.to_string()));
        variables.push(("COVEN_PORTS", ports.count.to_string()));
    }
    variables
}

/// No variable of a shell can hold a NUL, so the command would get another value.
fn check_nul(file: &FileVariable) -> std::io::Result<()> {
    if !file.value.contains('\0') {
        return Ok(());
    }
    Err(std::io::Error::other(format!(
        "`${{{}}}` holds a NUL character, which no command can be given; read it from the JSON file \
         that `$COVEN_VARS` names",
        file.name
    )))
}

impl JobDetails {
    pub(super) fn adapter(&self) -> Result<Arc<dyn AgentAdapter>, String> {
        match &self.spec.work {
            JobWork::Shell(work) => {
                let path = self.executor.env.get(&OsString::from("PATH"));
                Ok(Arc::new(Shell::new(work.clone(), path.map(OsString::as_os_str))))
            }
            JobWork::Agent(agent) => {
                let options = AdapterOptions {
                    cwd: Some(self.cwd()),
                    env: self.spec.env.clone(),
                    name: Some(self.spec.name.clone()),
                    config_path: None,
                };
                let created = self.executor.registry().create(&agent.adapter, options);
                created.map(Arc::from).map_err(|error| error.to_string())
            }
        }
    }

    /// What became of the job before. Waits on the disk.
    pub(super) fn found(&self) -> FoundJob {
        let is_imported = self.attempt.is_imported().unwrap_or(false);
        if is_imported || self.place == AttemptPlace::Session {
            return FoundJob::Lost;
        }
        if let Ok(Some(outcome)) = self.attempt.outcome() {
            return FoundJob::Ended(Box::new(outcome));
        }
        // The process that wanted it started may have died before anything came of it.
        let started = matches!(self.attempt.spawn(), Ok(Some(_)))
            && !take_back(&HolderFolder::new(self.attempt.path())).unwrap_or(false);
        if started {
            FoundJob::Started
        } else if self.attempt.is_killed().unwrap_or(false) {
            FoundJob::Stopped
        } else {
            FoundJob::New
        }
    }

    /// Why the job cannot work in its tree: it never works elsewhere instead.
    fn missing_tree(&self) -> Option<String> {
        let tree = self.spec.tree.as_ref()?;
        let is_there = |path: &str| {
            std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_dir())
        };
        if !is_there(&tree.path) {
            return Some(format!(
                "tree-gone: its tree is gone: {} was removed; what was in it is in its checkpoints",
                tree.path
            ));
        }
        (!is_there(&tree.base_dir))
            .then(|| format!("its folder is not in its tree: there is no {}", tree.base_dir))
    }

    /// The outcome of a job that may have removed the tree it worked in: what was not committed there
    /// is lost, so it has not succeeded.
    pub(super) fn in_its_tree(&self, outcome: JobOutcome) -> JobOutcome {
        let Some(tree) = self.spec.tree.as_ref().filter(|_| outcome.ok) else { return outcome };
        let is_there = std::fs::symlink_metadata(&tree.path).is_ok_and(|found| found.is_dir());
        if !matches!(self.spec.work, JobWork::Agent(_)) || is_there {
            return outcome;
        }
        let reason = format!(
            "tree-gone: there is no folder {} any more; what was committed in it is on its branch, and what \
             was not is in the checkpoints from before",
            tree.path
        );
        JobOutcome { ok: false, reason, ..outcome }
    }

    /// Starts the job's process, or takes it up where it stands. Waits on the disk.
    pub(super) fn begin(&self, started: bool) -> Result<BegunJob, NotBegun> {
        let adapter = self.adapter().map_err(NotBegun::not_started)?;
        let (runner, looked_at) = if started {
            (self.take_up(&adapter)?, self.looked_at_before())
        } else if let Some(missing) = self.missing_tree() {
            return Err(NotBegun::not_started(missing));
        } else {
            let looked_at = self.look_before(&*adapter);
            (self.launch(&adapter)?, looked_at)
        };
        // They would be in memory for as long as it runs.
        self.variables.lock().take();
        let exposure = self.exposure(looked_at);
        Ok(BegunJob { runner, adapter, exposure, confinement: self.confinement(looked_at) })
    }

    pub(super) fn cwd(&self) -> PathBuf {
        let tree = self.spec.tree.as_ref().map(|tree| PathBuf::from(&tree.base_dir));
        let base = tree.unwrap_or_else(|| self.executor.shared.base_dir.clone());
        self.spec.cwd.as_ref().map_or_else(|| base.clone(), |cwd| base.join(cwd))
    }

    pub(super) fn mode(&self) -> AgentMode {
        if self.spec.work.is_interactive() { AgentMode::Interactive } else { AgentMode::Headless }
    }

    pub(super) fn ok_codes(&self) -> OkCodes {
        match &self.spec.ok_exit_codes {
            ExitCodes::Any => OkCodes::Any,
            ExitCodes::Only(codes) => OkCodes::These(codes.iter().copied().collect()),
        }
    }

    /// The size of its terminal, if it gets one.
    fn size(&self) -> TerminalSize {
        self.spec.size.unwrap_or(match &self.spec.work {
            JobWork::Agent(agent) if agent.adapter != COMMAND_ADAPTER => AGENT_SIZE,
            JobWork::Agent(_) | JobWork::Shell(_) => COMMAND_SIZE,
        })
    }

    pub(super) fn task(&self) -> AgentTask {
        let mut task = AgentTask::interactive(self.spec.job.to_string(), None);
        task.mode = self.mode();
        task.ok_codes = self.ok_codes();
        let size = self.size();
        task.size = GridSize::new(size.columns, size.rows);
        task.secrets.clone_from(&self.secrets);
        match &self.spec.work {
            JobWork::Shell(_) => task.prompt = Some("-".to_owned()),
            JobWork::Agent(agent) => {
                task.prompt.clone_from(&agent.prompt);
                task.extra_args.clone_from(&agent.extra_args);
                task.permission = agent.permissions;
                task.model.clone_from(&agent.model);
                task.auto_approve = agent.auto_approve;
            }
        }
        task
    }

    /// Whether its agent is spoken to in its own protocol.
    fn channel_use(&self, adapter: &dyn AgentAdapter) -> ChannelUse {
        let JobWork::Agent(agent) = &self.spec.work else { return ChannelUse::Unwanted };
        if !adapter.config().speaks(agent.mode, agent.permissions, agent.channel) {
            return ChannelUse::Unwanted;
        }
        if self.has_inputs { ChannelUse::Needed } else { ChannelUse::Wanted }
    }

    /// The folder for what the job is given to read: long prompts, the variables of the run. It lies
    /// in the project because agents are to read it; nothing in it is believed.
    fn inputs_folder(&self) -> PathBuf {
        self.session_folder().join(INPUTS_FOLDER).join(file_name(&self.spec.job.attempt))
    }

    fn place(&self, adapter: &dyn AgentAdapter) -> std::io::Result<TaskPlace> {
        let domain = self.executor.domain(self.spec.domain.as_deref());
        let domain = domain.map_err(std::io::Error::other)?;
        let mut env: BTreeMap<OsString, OsString> = (*self.executor.env).clone();
        if let Some(scratch) = self.scratch()? {
            env.insert("TMPDIR".into(), scratch.into());
        }
        if let Some(home) = self.private_home(adapter)? {
            env.retain(|name, _| !home.unset.contains(name));
            env.insert("HOME".into(), home.path.into());
        }
        env.extend(self.spec.env.iter().map(|(name, value)| (name.into(), value.into())));
        for (name, value) in self.spec.tree.iter().flat_map(|tree| tree_variables(tree)) {
            env.insert(name.into(), value.into());
        }
        env.insert("COVEN_SESSION".into(), self.spec.job.session.as_str().into());
        if let JobWork::Shell(work) = &self.spec.work {
            let variables = self.variables.lock();
            let variables = variables.as_ref().map(|source| source.file(&work.text)).transpose();
            let text = variables.map_err(std::io::Error::other)?.unwrap_or_default();
            let inputs = OpenFolder::make_without_links(&self.inputs_folder(), PRIVATE_MODE)?;
            inputs.replace(VARIABLES_FILE, &text, Durability::Cache)?;
            env.insert("COVEN_VARS".into(), inputs.path().join(VARIABLES_FILE).into());
            for file in &work.files {
                check_nul(file)?;
                inputs.replace(&file.variable, file.value.as_bytes(), Durability::Cache)?;
                let path = inputs.path().join(&file.variable);
                env.insert(file_variable(file).into(), path.into());
            }
        }
        Ok(TaskPlace {
            domain,
            cwd: self.cwd(),
            env,
            folder: Some(self.attempt.path().to_owned()),
            inputs: Some(self.inputs_folder()),
            sandbox: self.sandbox(adapter),
            programs: BTreeMap::from([("coven".to_owned(), self.executor.shared.program.clone())]),
        })
    }

    fn launch(&self, adapter: &Arc<dyn AgentAdapter>) -> Result<Runner, NotBegun> {
        let place = self.place(&**adapter)?;
        let hidden = HiddenTexts::of(self.secrets.iter().map(String::as_str));
        hidden.save(self.attempt.path())?;
        let mut task = self.task();
        task.channel = self.channel_use(&**adapter);
        if let JobWork::Agent(agent) = &self.spec.work {
            task.channel_refused.clone_from(&agent.without_channel);
        }
        task.hooks = self.report_to(&place);
        let previous = self.converse(&**adapter, &mut task)?;
        let started = match task.mode {
            AgentMode::Interactive => {
                AgentRunner::start(adapter.clone(), task, &place).map(Runner::Agent)
            }
            AgentMode::Headless => {
                start_headless(adapter.clone(), task, &place, previous).map(Runner::from)
            }
        };
        Ok(started?)
    }

    /// Takes up a job that was started before: alive, ended, or gone.
    fn take_up(&self, adapter: &Arc<dyn AgentAdapter>) -> Result<Runner, NotBegun> {
        let path = self.attempt.path().to_owned();
        let folder = HolderFolder::new(&path);
        let interactive = self.mode() == AgentMode::Interactive;
        let rebuilt =
            if interactive { rebuild(&folder, &ScreenOptions::default()).ok() } else { None };
        let spoken = if interactive { None } else { FoundChannel::find(&path).ok().flatten() };
        let known = rebuilt.as_ref().map(|rebuilt| rebuilt.offset);
        let offset = known.or(spoken.as_ref().map(|spoken| spoken.offset)).unwrap_or(0);
        match adopt(&folder, offset) {
            Ok(Adopted::Alive(pane)) => {
                let (pane, task) = (Box::new(pane), self.task());
                let adopted = match (rebuilt, spoken) {
                    (Some(rebuilt), _) => {
                        let found = FoundAgent {
                            pane,
                            screen: rebuilt.screen,
                            offset: rebuilt.offset,
                            exact: rebuilt.exact,
                            // A tape that cannot be read tells of nothing.
                            past: past(&**adapter, &path, rebuilt.offset).unwrap_or_default(),
                            folder: Some(path),
                        };
                        AgentRunner::adopt(adapter.clone(), task, found).map(Runner::Agent)
                    }
                    (None, Some(spoken)) => AgentRunner::adopt_conversation(
                        adapter.clone(),
                        task,
                        pane,
                        spoken,
                        Some(path),
                    )
                    .map(Runner::Agent),
                    (None, None) => HeadlessRunner::adopt(
                        adapter.clone(),
                        task,
                        pane,
                        self.previous(),
                        Some(path),
                    )
                    .map(Runner::Headless),
                };
                adopted.map_err(|error| {
                    NotBegun::Ended(Box::new(failed(ProcessEnding::Lost, error.to_string())))
                })
            }
            Ok(Adopted::Exited(_)) => Err(NotBegun::Ended(Box::new(self.read_end(&**adapter)))),
            Ok(Adopted::Gone { .. }) | Err(_) => Err(NotBegun::Lost),
        }
    }

    /// How a job ended that no process of ours followed, from what its holder recorded.
    fn read_end(&self, adapter: &dyn AgentAdapter) -> JobOutcome {
        let folder = HolderFolder::new(self.attempt.path());
        let exit = folder.exit().ok().flatten();
        let path = self.attempt.path();
        let spoken = FoundChannel::find(path).ok().flatten();
        if exit.as_ref().is_some_and(|exit| exit.stopped) || folder.is_killed() {
            // One that refused to begin is stopped for that.
            let refused = spoken.and_then(FoundChannel::into_refusal);
            return refused
                .unwrap_or_else(|| failed(ProcessEnding::Stopped, "it was stopped".to_owned()));
        }
        let status = exit.map(|exit| exit.status);
        if let Some(spoken) = spoken {
            return spoken.into_outcome(status, &self.ok_codes());
        }
        let read = finished(adapter, self.mode(), &self.ok_codes(), path, status, self.previous());
        read.unwrap_or_else(|error| failed(ProcessEnding::Lost, error.to_string()))
    }
}
