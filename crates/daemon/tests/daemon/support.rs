//! What the tests of this crate share: a home of their own, the daemon as a process in it, and
//! waiting for conditions.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use coven_api::device::{AddDevice, DeviceRole, MakeSignInCode, SignInCode};
use coven_api::intervention::{InterventionItem, InterventionQuery};
use coven_api::problem::MEDIA_TYPE;
use coven_api::workflow::{StartWorkflow, StartedSession, WorkflowDefinition, WorkflowDetails};
use coven_api::{ApiClient, ApiProblem, ClientError, DaemonAddress, ProblemCode};
use coven_model::WorkflowStatus;
use coven_runtime::processes;
use coven_testkit::programs::TestProgram;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Request, Response, Server};

/// Longer than anything here takes on a loaded machine; only a failure waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// How often a condition without an event of its own is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The program that holds jobs and is the demo agent.
pub(crate) fn agent_program() -> PathBuf {
    TestProgram::Agent.path()
}

/// Waits until something is so.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    let found = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(DEADLINE, found).await;
    found.unwrap_or_else(|_| panic!("never: {what}"))
}

/// A user's home, with folders for everything, and a base directory.
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("coven-").tempdir().unwrap();
        for folder in ["config/coven", "state", "base"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join(".gitconfig"), "[user]\n\tname = tester\n").unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path().join("config/coven")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state/coven")
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.path().join("base").canonicalize().unwrap()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.state().join("run/coven.sock")
    }

    /// A small environment, with everything the agents keep in the home.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let home = self.path().display();
        BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), home.to_string()),
            ("TMPDIR".to_owned(), home.to_string()),
            ("XDG_CONFIG_HOME".to_owned(), format!("{home}/config")),
            ("XDG_STATE_HOME".to_owned(), format!("{home}/state")),
            ("COVEN_DEMO_HOME".to_owned(), format!("{home}/demo-state")),
        ])
    }

    /// The daemon's command line in this home, not yet run.
    pub(crate) fn command(&self) -> Command {
        self.command_of(&TestProgram::Daemon.path())
    }

    /// As [`Self::command`], with a copy of the program.
    pub(crate) fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .arg(agent_program())
            .env_clear()
            .envs(self.env())
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(File::create(self.path().join("stdout")).unwrap())
            .stderr(File::create(self.path().join("stderr")).unwrap());
        command
    }

    pub(crate) fn stderr(&self) -> String {
        std::fs::read_to_string(self.path().join("stderr")).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.state().join("daemon.log")).unwrap_or_default()
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) async fn daemon(&self) -> Daemon<'_> {
        self.daemon_as(self.command()).await
    }

    pub(crate) async fn daemon_as(&self, command: Command) -> Daemon<'_> {
        let daemon = self.daemon_unless_refused(command).await;
        daemon.unwrap_or_else(|| panic!("it ended: {}", self.stderr()))
    }

    /// As [`Self::daemon_as`], where a command may have started one meanwhile.
    pub(crate) async fn daemon_unless_refused(&self, mut command: Command) -> Option<Daemon<'_>> {
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let client = self.client();
        let answers = until("the daemon answers", || {
            let has_ended = child.try_wait().unwrap().is_some();
            let client = client.clone();
            async move {
                let answers = client.version().await.is_ok_and(|version| version.pid == pid);
                (answers || has_ended).then_some(answers)
            }
        });
        answers.await.then_some(Daemon { home: self, child: Some(child), client })
    }

    /// Runs the daemon where it is expected to refuse, and gives what it says.
    pub(crate) fn refused(&self, mut command: Command) -> (ExitStatus, String) {
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            if let Some(status) = child.try_wait().unwrap() {
                return (status, self.stderr());
            }
            std::thread::yield_now();
        }
        child.kill().ok();
        child.wait().ok();
        panic!("the daemon did not refuse");
    }

    pub(crate) fn client(&self) -> ApiClient {
        ApiClient::new(DaemonAddress::Socket(self.socket())).unwrap()
    }

    /// What was written down of every job that was ever started in this home: its `spawn.json`.
    pub(crate) fn spawned(&self) -> Vec<(PathBuf, Value)> {
        let mut spawned = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if path.ends_with("spawn.json") {
                    let text = std::fs::read(&path).unwrap_or_default();
                    spawned.push((path, serde_json::from_slice(&text).unwrap_or_default()));
                }
            }
        }
        spawned
    }

    /// Every job that was ever started in this home.
    fn jobs(&self) -> Vec<String> {
        let job = |(_, record): (_, Value)| record["job"].as_str().map(str::to_owned);
        self.spawned().into_iter().filter_map(job).collect()
    }

    /// What still runs of any job of this home.
    pub(crate) fn running(&self) -> Vec<processes::Identity> {
        self.jobs().iter().flat_map(|job| processes::of_job(job)).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for job in self.jobs() {
            processes::end_all(|| processes::of_job(&job), Duration::from_secs(10));
        }
    }
}

/// The daemon as a process.
pub(crate) struct Daemon<'a> {
    pub(crate) home: &'a Home,
    child: Option<Child>,
    pub(crate) client: ApiClient,
}

impl Daemon<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Ends it without a chance to say anything.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Tells it to go away, and waits until it has.
    pub(crate) async fn stop(mut self) -> ExitStatus {
        let child = self.child.take().unwrap();
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        gone(child).await
    }

    /// Waits until it has gone by itself.
    pub(crate) async fn gone(mut self) -> ExitStatus {
        gone(self.child.take().unwrap()).await
    }

    /// The address on loopback.
    pub(crate) async fn address(&self) -> std::net::SocketAddr {
        self.client.status().await.unwrap().address.unwrap().parse().unwrap()
    }

    pub(crate) async fn tcp(&self) -> ApiClient {
        self.tcp_with(self.token(DeviceRole::Full).await).await
    }

    /// A client over TCP that shows this token.
    pub(crate) async fn tcp_with(&self, token: String) -> ApiClient {
        let address = self.address().await;
        ApiClient::new(DaemonAddress::Tcp { address, token }).unwrap()
    }

    /// The token of a new program, whose name is its role and a number.
    pub(crate) async fn token(&self, role: DeviceRole) -> String {
        let devices = self.client.devices().await.unwrap().devices.len();
        let name = format!("{}-{devices}", role.as_str());
        self.client.add_device(&AddDevice { name, role }).await.unwrap().token
    }

    /// A code for a browser.
    pub(crate) async fn code(&self) -> SignInCode {
        self.client.sign_in_code(&MakeSignInCode::default()).await.unwrap()
    }

    /// A request over the socket, without anything added to it.
    pub(crate) fn raw(&self, method: &str, path: &str) -> Request {
        Request::new(Server::Socket(self.home.socket()), method, path)
    }

    /// What a definition needs to be started here.
    pub(crate) fn definition(&self, text: &str) -> StartWorkflow {
        StartWorkflow {
            definition: Some(WorkflowDefinition { name: "test".to_owned(), text: text.to_owned() }),
            ..self.anything()
        }
    }

    pub(crate) fn grimoire(&self, name: &str) -> StartWorkflow {
        StartWorkflow { grimoire: Some(name.to_owned()), ..self.anything() }
    }

    pub(crate) fn anything(&self) -> StartWorkflow {
        StartWorkflow {
            base_dir: Some(self.home.base().display().to_string()),
            env: Some(self.home.env()),
            ..StartWorkflow::default()
        }
    }

    pub(crate) async fn start(&self, start: &StartWorkflow) -> StartedSession {
        self.client.start(start, None).await.unwrap()
    }

    /// Starts one stage of demo agents.
    pub(crate) async fn stage(&self, tasks: &[Value]) -> StartedSession {
        let text = json!({"id": "staged", "stages": [{"id": "s", "tasks": tasks}]}).to_string();
        self.start(&self.definition(&text)).await
    }

    /// Waits until a session looks as wanted.
    pub(crate) async fn see(
        &self,
        id: &str,
        wanted: impl Fn(&WorkflowDetails) -> bool,
    ) -> WorkflowDetails {
        until("the session looks so", || async {
            let workflow = self.client.workflow(id).await.unwrap();
            wanted(&workflow).then_some(workflow)
        })
        .await
    }

    pub(crate) async fn ends(&self, id: &str, status: WorkflowStatus) -> WorkflowDetails {
        let workflow = self.see(id, |workflow| workflow.item.status.is_final()).await;
        assert_eq!(workflow.item.status, status, "{:#?}", workflow.session.errors);
        workflow
    }

    /// Waits until something of a session waits for a person.
    pub(crate) async fn asked(&self, id: &str) -> InterventionItem {
        let query = InterventionQuery { workflow: Some(id.to_owned()), state: None };
        until("somebody is asked", || async {
            let open = self.client.interventions(&query).await.unwrap();
            open.interventions.into_iter().next()
        })
        .await
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            if std::thread::panicking() {
                eprintln!("the daemon's log:\n{}", self.home.log());
            }
            child.kill().ok();
            child.wait().ok();
        }
    }
}

async fn gone(mut child: Child) -> ExitStatus {
    until("the daemon goes away", || std::future::ready(child.try_wait().unwrap())).await
}

/// The problem that an answer is.
pub(crate) async fn problem(response: Response) -> ApiProblem {
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let id = response.headers().get("x-request-id").cloned();
    let body = response.text().await.unwrap();
    assert_eq!(kind.unwrap(), MEDIA_TYPE, "{status}: {body}");
    let problem: ApiProblem = serde_json::from_str(&body).unwrap();
    assert_eq!(problem.status, status);
    assert_eq!(problem.code.status(), status);
    assert_eq!(problem.request_id.as_deref(), id.unwrap().to_str().ok());
    problem
}

/// The code of the problem that came of a call.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> ProblemCode {
    match result {
        Err(ClientError::Problem(problem)) => problem.code,
        other => panic!("no problem: {other:?}"),
    }
}
