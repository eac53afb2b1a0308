//! Starts jobs: what every session of an orchestrator has in common.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_adapters::{AdapterFolders, AdapterRegistry, AgentAdapter};
use coven_model::event::AttemptPlace;
use coven_model::{AttemptId, JobSpec, JobWork};
use coven_policy::{AgentAutomation, EffectivePolicies};
use coven_runtime::domain::{Domain, DomainId, DomainRegistry, SpawnError};
use coven_runtime::hold::{HolderDomain, HolderRegistry};
use coven_store::{Attempt, FileError, Values};
use coven_workflow::view::SessionViewBuilder;
use coven_workflow::{SessionInput, State};
use parking_lot::RwLock;
use tokio::sync::mpsc;

use super::admission::{AdmissionQueue, QueueMember};
use super::job::{EarlierAttempt, JobHandle, LivePublisher, RunningJob, VariableSource};
use super::secret_answers::SecretAnswers;
use crate::blocking;
use crate::options::{Options, PolicyRefresh};
use crate::state::SessionFiles;

/// The domain in which jobs are started: a holder has each process, and outlives us.
pub(super) const HOLDER: &str = "holder";

/// Starts jobs under holders, as many at once as there are slots.
#[derive(Clone)]
pub struct WorkflowExecutor {
    pub(super) shared: Arc<ExecutorContext>,
    /// The environment of the session's caller.
    pub(super) env: Arc<BTreeMap<OsString, OsString>>,
}

/// What all sessions share: nothing that belongs to one of them.
pub(super) struct ExecutorContext {
    /// What agents there are, and who answers them: both may change while sessions run.
    registry: RwLock<Arc<AdapterRegistry>>,
    policies: RwLock<Arc<EffectivePolicies>>,
    policy_refresh: Option<PolicyRefresh>,
    automation: AgentAutomation,
    /// Where processes are started. The default is the holder's.
    pub(super) domains: DomainRegistry,
    pub(super) program: PathBuf,
    pub(super) base_dir: PathBuf,
    pub(super) state_dir: PathBuf,
    /// Where the jobs lie, which the user may have put outside of the state folder.
    pub(super) jobs: Option<PathBuf>,
    /// Where agents report to by themselves.
    pub(super) report_address: Option<SocketAddr>,
    pub(super) admission: QueueMember,
    pub(super) secrets: SecretAnswers,
}

impl std::fmt::Debug for WorkflowExecutor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WorkflowExecutor").finish_non_exhaustive()
    }
}

impl WorkflowExecutor {
    pub(crate) fn new(options: &Options) -> Self {
        let mut domains = DomainRegistry::new();
        let registry = HolderRegistry::new(&options.state_dir);
        let holders = HolderDomain::new(options.program.clone()).with_registry(registry);
        domains.register(Arc::new(holders));
        let shared = ExecutorContext {
            registry: RwLock::new(Arc::new(
                options.adapters.with_folders(options.adapter_folders()),
            )),
            policies: RwLock::new(Arc::new(options.policies.clone())),
            policy_refresh: options.policy_refresh.clone(),
            automation: options.automation.clone(),
            domains,
            program: options.program.clone(),
            base_dir: options.base_dir.clone(),
            state_dir: options.state_dir.clone(),
            jobs: options.authority.as_ref().map(|authority| authority.jobs().to_owned()),
            report_address: options.report_address,
            admission: options.admission.join(),
            secrets: SecretAnswers::default(),
        };
        Self { shared: Arc::new(shared), env: Arc::default() }
    }

    /// Secrets on their way to agents.
    pub(crate) fn secrets(&self) -> &SecretAnswers {
        &self.shared.secrets
    }

    /// The same for a session whose caller had this environment.
    pub(crate) fn for_caller(&self, env: BTreeMap<OsString, OsString>) -> Self {
        Self { shared: self.shared.clone(), env: Arc::new(env) }
    }

    /// The domain that a job names, or the default. An error says that there is none of the name.
    pub(super) fn domain(&self, named: Option<&str>) -> Result<Arc<dyn Domain>, SpawnError> {
        let id = named.map(|name| DomainId(name.to_owned()));
        self.shared.domains.get(id.as_ref()).cloned().ok_or_else(|| {
            let named = named.unwrap_or_default();
            SpawnError::Refused(format!("there is no domain `{named}`; there is `{HOLDER}`"))
        })
    }

    /// The types of agents there are.
    pub(crate) fn adapters(&self) -> Vec<String> {
        self.registry().registered_types().into_iter().collect()
    }

    /// The adapters, as they are now.
    pub(crate) fn registry(&self) -> Arc<AdapterRegistry> {
        self.shared.registry.read().clone()
    }

    /// The folder with the copies of what the project's user agreed to, if they did.
    pub(super) fn trusted_copy(&self) -> Option<PathBuf> {
        self.registry().trusted_copy().map(Path::to_owned)
    }

    /// Who answers without a person, as it is now: the files are looked at again.
    pub(super) async fn current_policies(&self) -> Arc<EffectivePolicies> {
        if let Some(refresh) = self.shared.policy_refresh.clone() {
            let executor = self.clone();
            blocking(move || refresh.run(&|policies| executor.set_policies(policies))).await;
        }
        self.shared.policies.read().clone()
    }

    /// What answers a task of this agent that answers for itself.
    pub(super) fn automation(&self, adapter: &dyn AgentAdapter) -> AgentAutomation {
        let own = self.shared.automation.clone();
        match adapter.auto_policy() {
            Some(policy) => own.then(policy),
            None => own,
        }
    }

    /// Other folders of adapters, from the next start of a job on.
    pub(crate) fn set_adapters(&self, folders: AdapterFolders) {
        let mut registry = self.shared.registry.write();
        *registry = Arc::new(registry.with_folders(folders));
    }

    /// Other policies, from the next question of an agent on.
    pub(crate) fn set_policies(&self, policies: EffectivePolicies) {
        let policies = Arc::new(policies);
        *self.shared.policies.write() = policies;
    }

    /// The queue that gives slots to jobs.
    pub(crate) fn admission(&self) -> &AdmissionQueue {
        self.shared.admission.queue()
    }

    /// Starts nothing any more. What runs goes on.
    pub(crate) fn close(&self) {
        self.shared.admission.close();
    }

    /// Starts a job, or takes it up where it stands. Its place in the queue for a slot is taken
    /// here, so that jobs begin in the order in which they were asked for.
    pub(crate) fn start(
        &self,
        (state, viewer): (&State, SessionViewBuilder),
        folders: JobFolders,
        spec: JobSpec,
        reports: mpsc::Sender<SessionInput>,
        live: LivePublisher,
    ) -> JobHandle {
        // Only a command finds them in a file; an agent is told what it needs.
        let is_command = matches!(spec.work, JobWork::Shell(_));
        let variables = is_command.then(|| VariableSource {
            state: state.clone(),
            task: spec.job.attempt.task.clone(),
            viewer,
            values: folders.values.clone(),
        });
        RunningJob::spawn(self.clone(), folders, spec, variables, reports, live)
    }

    /// Makes sure that a job which no actor follows does not run and never will.
    pub(crate) fn stop(
        attempt: Result<Attempt, FileError>,
        job: AttemptId,
        reports: mpsc::Sender<SessionInput>,
        live: LivePublisher,
    ) -> JobHandle {
        RunningJob::end(attempt, job, reports, live)
    }
}

/// What a job needs of the disk before it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobRoom {
    /// Room to write in its folder.
    Needed,
    /// Its folder alone: the job runs already and has what it needs.
    NotNeeded,
}

/// The folders of a job.
#[derive(Debug)]
pub(crate) struct JobFolders {
    pub(super) attempt: Result<Attempt, FileError>,
    /// Nothing has been in it yet: no process was started for this job.
    pub(super) is_new: bool,
    /// Where the fact of the start says that it lies.
    pub(super) place: AttemptPlace,
    /// The attempt before, if there was one.
    pub(super) earlier: Option<EarlierAttempt>,
    /// Whether there is more to say to the job than its prompt.
    pub(super) has_inputs: bool,
    /// What the job may write besides its own where its files are confined.
    pub(super) also_writes: Vec<PathBuf>,
    /// Where the large values of its session lie.
    pub(super) values: Values,
}

impl JobFolders {
    /// Makes the folder of a job. Says also whether there is room for it. Waits on the disk.
    pub(crate) fn make(
        files: &SessionFiles,
        state: &State,
        job: &AttemptId,
        room: JobRoom,
    ) -> (Result<(), FileError>, Self) {
        let (has_room, attempt, is_new) = match room {
            JobRoom::Needed => match files.make_room(job) {
                Ok((attempt, is_new)) => (Ok(()), Ok(attempt), is_new),
                Err(error) => (Err(error), files.make_attempt(job), false),
            },
            JobRoom::NotNeeded => (Ok(()), files.make_attempt(job), false),
        };
        let task = state.run().and_then(|run| run.task(&job.task));
        let place = task.map_or(AttemptPlace::Jobs, |task| task.place);
        let is_new = is_new && place == AttemptPlace::Jobs;
        let earlier = earlier(files, state, job);
        let has_inputs = has_inputs(state, job);
        let (also_writes, values) = (Vec::new(), files.values());
        (has_room, Self { attempt, is_new, place, earlier, has_inputs, also_writes, values })
    }
}

impl JobFolders {
    /// Lets the job write there too where its files are confined.
    pub(super) fn may_write(&mut self, paths: Vec<PathBuf>) {
        self.also_writes.extend(paths);
    }

    /// Where the folder of the attempt is.
    pub(super) fn path(&self) -> Result<PathBuf, String> {
        match &self.attempt {
            Ok(attempt) => Ok(attempt.path().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The attempt before, if there was one.
fn earlier(files: &SessionFiles, state: &State, job: &AttemptId) -> Option<EarlierAttempt> {
    let before = job.attempt.checked_sub(1).filter(|before| *before > 0)?;
    let before = AttemptId { task: job.task.clone(), attempt: before };
    Some(EarlierAttempt { attempt: files.attempt(&before)?, queued: has_inputs(state, job) })
}

fn has_inputs(state: &State, job: &AttemptId) -> bool {
    let live = state.run().and_then(|run| run.live(job));
    live.is_some_and(|live| !live.inputs.is_empty())
}
