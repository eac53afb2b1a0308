//! A home of its own for the daemon, and the daemon as a process in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coven_api::workflow::{StartWorkflow, StartedSession, WorkflowDefinition};
use coven_api::{ApiClient, DaemonAddress};
use coven_runtime::processes;
use coven_testkit::bench::asking::CONFIG;
use coven_testkit::programs::TestProgram;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take on a busy machine; only what is stuck takes longer.
pub(crate) const DEADLINE: Duration = Duration::from_mins(10);

/// How often a condition without an event of its own is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// A home below a folder, or below the usual one for what goes again.
    pub(crate) fn new(below: Option<&Path>, config: &str) -> io::Result<Self> {
        let folder = match below {
            Some(below) => tempfile::tempdir_in(below)?,
            None => tempfile::tempdir()?,
        };
        let config_dir = folder.path().join("config/coven");
        fs::create_dir_all(config_dir.join("adapters/painter"))?;
        fs::create_dir_all(folder.path().join("state"))?;
        fs::create_dir_all(folder.path().join("base"))?;
        fs::write(config_dir.join("config.yaml"), config)?;
        fs::write(config_dir.join("adapters/painter/config.json"), CONFIG)?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.path().join("base")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("state/coven/run/coven.sock")
    }

    fn env(&self) -> BTreeMap<String, String> {
        let home = self.path().display();
        BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("HOME".to_owned(), home.to_string()),
            ("XDG_CONFIG_HOME".to_owned(), format!("{home}/config")),
            ("XDG_STATE_HOME".to_owned(), format!("{home}/state")),
            ("LC_ALL".to_owned(), "C".to_owned()),
        ])
    }

    /// Starts the daemon, and says how long it took until it answered.
    pub(crate) async fn daemon(&self) -> io::Result<(Daemon<'_>, Duration)> {
        let errors = File::create(self.path().join("errors"))?;
        let (program, holder) = (TestProgram::Daemon.path(), TestProgram::Agent.path());
        let begun = Instant::now();
        let child = Command::new(program)
            .arg(holder)
            .env_clear()
            .envs(self.env())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()?;
        let client =
            ApiClient::new(DaemonAddress::Socket(self.socket())).map_err(io::Error::other)?;
        let daemon = Daemon { home: self, child, client };
        until("the daemon answers", async || daemon.client.version().await.is_ok().then_some(()))
            .await?;
        Ok((daemon, begun.elapsed()))
    }
}

/// Waits until something is so.
pub(crate) async fn until<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> io::Result<T> {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    let looked = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let never = |_| io::Error::other(format!("never: {what}"));
    tokio::time::timeout(DEADLINE, looked).await.map_err(never)
}

/// The daemon. Ends with this value, and so do its agents.
pub(crate) struct Daemon<'a> {
    pub(crate) home: &'a Home,
    child: Child,
    pub(crate) client: ApiClient,
}

impl Daemon<'_> {
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// CPU time of all its threads, also of those that ended; in steps of 10 ms.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        // The second field, a name in parentheses, may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
    }

    /// Starts a definition, with more variables for its jobs.
    pub(crate) async fn start(
        &self,
        text: &str,
        variables: &[(&str, String)],
    ) -> io::Result<StartedSession> {
        let mut env = self.home.env();
        env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let start = StartWorkflow {
            definition: Some(WorkflowDefinition {
                name: "bench".to_owned(),
                text: text.to_owned(),
            }),
            base_dir: Some(self.home.base().display().to_string()),
            env: Some(env),
            ..StartWorkflow::default()
        };
        self.client.start(&start, None).await.map_err(io::Error::other)
    }

    /// Starts painters, all at once.
    pub(crate) async fn paint(
        &self,
        agents: usize,
        script: &str,
        variables: &[(&str, String)],
    ) -> io::Result<StartedSession> {
        let painter =
            |number| json!({"id": format!("p{number}"), "adapter": "painter", "prompt": script});
        let tasks: Vec<Value> = (0..agents).map(painter).collect();
        let text = json!({"id": "paint", "stages": [{"id": "s", "tasks": tasks}]}).to_string();
        self.start(&text, variables).await
    }

    /// Waits for the end of a session.
    pub(crate) async fn ends(&self, started: &StartedSession) -> io::Result<()> {
        until("the session ends", async || {
            let workflow = self.client.workflow(started.id.as_str()).await.ok()?;
            workflow.item.status.is_final().then_some(())
        })
        .await
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        let mut folders = vec![self.home.base().join(".coven/sessions")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|at| at.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("spawn.json") {
                    let record: Value = serde_json::from_slice(&fs::read(path).unwrap_or_default())
                        .unwrap_or_default();
                    let job = record["job"].as_str().unwrap_or_default();
                    processes::end_all(|| processes::of_job(job), Duration::from_secs(5));
                }
            }
        }
    }
}
