//! Jobs whose own code fails: a panic anywhere is told as the job's outcome.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use coven_model::event::AttemptPlace;
use coven_model::{JobId, JobWork, SessionId, ShellWork, TaskId};
use coven_runtime::domain::{
    Domain, DomainId, ExitStatus, Pane, ReadOutcome, SpawnConfig, SpawnError, StopMode,
};
use coven_runtime::{LocalDomain, processes};
use coven_terminal::screen::GridSize;
use tokio::sync::{broadcast, watch};

use super::*;
use crate::feed::Feed;
use crate::options::Options;
use crate::state::Clock;

/// Longer than anything here takes on a loaded machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// Where the mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// In what starts the process, which the job's own task calls.
    Starting,
    /// In what reads the process, which the runner's task calls.
    Reading,
}

/// A domain with a mistake.
struct PanickingDomain(Mistake);

impl Domain for PanickingDomain {
    fn id(&self) -> DomainId {
        DomainId("panicking".to_owned())
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        assert!(self.0 != Mistake::Starting, "a mistake in starting");
        Ok(Box::new(PanickingPane(LocalDomain::new().spawn(config)?)))
    }
}

/// A process that cannot be read without a panic.
struct PanickingPane(Box<dyn Pane>);

impl Pane for PanickingPane {
    fn read(&mut self, _: &mut [u8]) -> io::Result<ReadOutcome> {
        panic!("a mistake in reading")
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn close_input(&mut self) -> io::Result<()> {
        self.0.close_input()
    }

    fn resize(&mut self, size: GridSize) -> io::Result<()> {
        self.0.resize(size)
    }

    fn stop(&mut self, stop: StopMode) -> io::Result<()> {
        self.0.stop(stop)
    }

    fn is_alive(&mut self) -> bool {
        self.0.is_alive()
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.0.exit_status()
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        self.0.readiness()
    }
}

fn executor(base: &Path, mistake: Mistake) -> WorkflowExecutor {
    let options = Options::new(base, base.join("state"), "/nonexistent");
    let mut executor = WorkflowExecutor::new(&options);
    let shared = Arc::get_mut(&mut executor.shared).unwrap();
    shared.domains.set_default(Arc::new(PanickingDomain(mistake)));
    executor
}

fn spec(mistake: Mistake) -> JobSpec {
    let session = SessionId::new("0198b5a0-0000-7000-8000-000000000001").unwrap();
    // Processes are found by the job they carry, and tests run side by side.
    let task = TaskId::new(format!("{mistake:?}-{}", std::process::id()).to_lowercase()).unwrap();
    let text = "sleep 1000".to_owned();
    JobSpec {
        tree: None,
        job: JobId { session, attempt: AttemptId { task, attempt: 1 } },
        step: "step".to_owned(),
        name: "name".to_owned(),
        work: JobWork::Shell(ShellWork {
            text,
            shell: None,
            variables: Vec::new(),
            files: Vec::new(),
        }),
        cwd: None,
        env: std::collections::BTreeMap::new(),
        timeout: None,
        ok_exit_codes: coven_model::ExitCodes::default(),
        sandbox: coven_model::SandboxMode::Off,
        confine: None,
        approved_by: None,
        domain: None,
        size: None,
    }
}

/// The outcome that a job with this mistake tells, and what is written down.
async fn outcome_with(mistake: Mistake) -> JobOutcome {
    let base = coven_testkit::folders::temporary().unwrap();
    let base = std::fs::canonicalize(base.path()).unwrap();
    let folder =
        coven_folder::OpenFolder::make_without_links(&base.join("attempt"), 0o700).unwrap();
    let attempt = Attempt::new(folder.clone());
    let spec = spec(mistake);
    let job = spec.job.to_string();
    let (reports, mut reported) = mpsc::channel(16);
    let executor = executor(&base, mistake);
    let events = broadcast::Sender::new(16);
    let live = LivePublisher {
        session: spec.job.session.clone(),
        feed: Feed::in_memory(),
        events: events.downgrade(),
        clock: Clock::system(),
        storage_problem: watch::Sender::new(crate::state::StorageProblems::default()),
    };
    let folders = JobFolders {
        attempt: Ok(attempt.clone()),
        is_new: false,
        place: AttemptPlace::Jobs,
        earlier: None,
        has_inputs: false,
        also_writes: Vec::new(),
        values: coven_store::Values::new(&folder),
    };
    let handle = RunningJob::spawn(executor, folders, spec, None, reports, live);
    let told = async {
        loop {
            let input = reported.recv().await.expect("the job tells its end");
            if let SessionInput::Ended { outcome, .. } = input {
                return *outcome;
            }
        }
    };
    let outcome = tokio::time::timeout(DEADLINE, told).await.expect("the job hangs");
    assert_eq!(attempt.outcome().unwrap().as_ref(), Some(&outcome), "it is written down");
    assert_eq!(processes::of_job(&job), [], "nothing runs without an owner");
    tokio::time::timeout(DEADLINE, handle.close()).await.expect("the task ends");
    outcome
}

#[tokio::test]
async fn a_panic_of_the_job_is_its_outcome() {
    let outcome = outcome_with(Mistake::Starting).await;
    assert!(!outcome.ok && outcome.reason.contains("a mistake in starting"), "{outcome:?}");
}

#[tokio::test]
async fn a_panic_of_the_runner_is_the_outcome_of_its_job() {
    let outcome = outcome_with(Mistake::Reading).await;
    assert!(!outcome.ok && outcome.reason.contains("a mistake in reading"), "{outcome:?}");
}

#[tokio::test]
async fn a_panic_of_a_task_that_a_job_has_started_is_the_jobs_own() {
    let caught = catch_panic(async {
        let mut tasks = JoinSet::new();
        tasks.spawn(async { panic!("in a task") });
        while let Some(done) = tasks.join_next().await {
            pass_panic_on::<()>(done);
        }
    });
    assert_eq!(caught.await, Err("in a task".to_owned()));
}
