//! Starts jobs: what every session of an orchestrator has in common.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use coven_adapters::AdapterRegistry;
use coven_model::{AttemptId, JobSpec, Work};
use coven_policy::Policies;
use coven_runtime::domain::Domain;
use coven_runtime::hold::HolderDomain;
use coven_workflow::state::Run;
use tokio::sync::{Semaphore, mpsc};

use super::job::{Job, JobHandle, Report};
use crate::options::Options;
use crate::state::WorkflowSession;

/// Starts jobs under holders, as many at once as there are slots.
#[derive(Clone)]
pub struct WorkflowExecutor {
    pub(super) shared: Arc<Shared>,
    /// The environment of the session's caller.
    pub(super) env: Arc<BTreeMap<OsString, OsString>>,
}

/// What all sessions share: nothing that belongs to one of them.
pub(super) struct Shared {
    pub(super) registry: AdapterRegistry,
    pub(super) policies: Policies,
    pub(super) domain: Arc<dyn Domain>,
    pub(super) program: PathBuf,
    pub(super) base_dir: PathBuf,
    pub(super) slots: Arc<Semaphore>,
}

impl std::fmt::Debug for WorkflowExecutor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WorkflowExecutor").finish_non_exhaustive()
    }
}

impl WorkflowExecutor {
    pub(crate) fn new(options: &Options) -> Self {
        let shared = Shared {
            registry: AdapterRegistry::new(options.adapter_folders()),
            policies: options.policies.clone(),
            domain: Arc::new(HolderDomain::new(options.program.clone())),
            program: options.program.clone(),
            base_dir: options.base_dir.clone(),
            slots: Arc::new(Semaphore::new(options.max_agents.max(1))),
        };
        Self { shared: Arc::new(shared), env: Arc::default() }
    }

    /// The same for a session whose caller had this environment.
    pub(crate) fn for_caller(&self, env: BTreeMap<OsString, OsString>) -> Self {
        Self { shared: self.shared.clone(), env: Arc::new(env) }
    }

    /// The types of agents there are.
    pub(crate) fn adapters(&self) -> Vec<String> {
        self.shared.registry.registered_types().into_iter().collect()
    }

    /// Starts a job, or takes it up where it stands.
    pub(crate) fn start(
        &self,
        session: &WorkflowSession,
        spec: JobSpec,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let attempt = session.make_attempt(&spec.job.attempt);
        // Only a command finds them in a file; an agent is told what it needs.
        let run = session.state().run().filter(|_| matches!(spec.work, Work::Shell(_)));
        let variables = run.map(Run::variables).unwrap_or_default();
        Job::spawn(self.clone(), attempt, spec, variables, reports)
    }

    /// Makes sure that a job which nobody follows does not run and never will.
    pub(crate) fn stop(
        session: &WorkflowSession,
        job: AttemptId,
        reports: mpsc::Sender<Report>,
    ) -> JobHandle {
        let attempt = session.make_attempt(&job);
        Job::end(attempt, job, reports)
    }
}
