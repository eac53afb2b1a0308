//! What the tests of this crate share: a place of their own, and waiting for events.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{AgentAdapter, Options, default_registry};
use coven_model::AgentState;
use coven_runner::{
    AgentRunner, RunnerEvent, RunnerSubscription, RunnerUpdate, ScreenQuestion, TaskPlace,
};
use coven_runtime::LocalDomain;
use coven_runtime::domain::Domain;
use coven_runtime::hold::HolderDomain;
use coven_testkit::programs::TestProgram;
use tempfile::TempDir;

/// Longer than anything here takes on a loaded machine; only a failure waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// The program that is the demo agent and the holder.
pub(crate) fn program() -> PathBuf {
    TestProgram::Agent.path()
}

/// An agent that is this script for bash, with these keys of an adapter file.
pub(crate) fn scripted(home: &Home, rules: &str, script: &str) -> Arc<dyn AgentAdapter> {
    let path = home.path().join("scripted.json");
    let script = serde_json::Value::from(script);
    let file = format!(
        r#"{{ "command": "bash", "modes": {{ "interactive": {{ "baseArgs": ["-c", {script}] }} }}, {rules} }}"#
    );
    std::fs::write(&path, file).unwrap();
    let options = Options { config_path: Some(path), ..Options::default() };
    default_registry().create("scripted", options).unwrap().into()
}

/// A folder of its own, and everything in it that a test needs.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: coven_testkit::folders::temporary().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A place where processes are children of the test.
    pub(crate) fn local(&self) -> TaskPlace {
        self.place(Arc::new(LocalDomain::new()), None)
    }

    /// A place where processes are under holders.
    pub(crate) fn held(&self) -> TaskPlace {
        let folder = self.path().join("attempt");
        std::fs::create_dir_all(&folder).unwrap();
        self.place(Arc::new(HolderDomain::new(program())), Some(folder))
    }

    fn place(&self, domain: Arc<dyn Domain>, folder: Option<PathBuf>) -> TaskPlace {
        let set = |name: &str, value: OsString| (OsString::from(name), value);
        let env = BTreeMap::from([
            set("PATH", std::env::var_os("PATH").unwrap_or_default()),
            set("HOME", self.path().into()),
            set("COVEN_DEMO_HOME", self.path().join("demo").into()),
        ]);
        TaskPlace {
            domain,
            cwd: self.path().to_owned(),
            env,
            folder,
            inputs: None,
            sandbox: None,
            programs: BTreeMap::from([("coven".to_owned(), program())]),
        }
    }
}

/// The built-in demo adapter, fresh.
pub(crate) fn demo() -> Arc<dyn AgentAdapter> {
    default_registry().create("demo", Options::default()).unwrap().into()
}

/// The next event that is wanted, within the deadline.
pub(crate) async fn wait<T>(
    events: &mut RunnerSubscription,
    what: &str,
    mut wanted: impl FnMut(RunnerEvent) -> Option<T>,
) -> T {
    let search = async {
        loop {
            match events.next().await {
                Some(RunnerUpdate::Event(event)) => {
                    if let Some(found) = wanted(event) {
                        return found;
                    }
                }
                Some(RunnerUpdate::Lagged(_)) => {}
                None => panic!("the runner ended before: {what}"),
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.unwrap_or_else(|_| panic!("never came: {what}"))
}

/// Waits until a text is printed.
pub(crate) async fn printed(events: &mut RunnerSubscription, text: &str) {
    let mut all = String::new();
    wait(events, text, |event| match event {
        RunnerEvent::Output { clean, .. } => {
            all.push_str(&clean);
            all.contains(text).then_some(())
        }
        _ => None,
    })
    .await;
}

pub(crate) async fn question(events: &mut RunnerSubscription) -> ScreenQuestion {
    wait(events, "a question", |event| match event {
        RunnerEvent::Awaiting(question) => Some(question),
        _ => None,
    })
    .await
}

/// Waits until the agent is in a state.
pub(crate) async fn state(runner: &AgentRunner, state: AgentState) {
    let mut verdict = runner.watch();
    let waited = tokio::time::timeout(DEADLINE, verdict.wait_for(|now| now.state == state)).await;
    assert!(matches!(waited, Ok(Ok(_))), "never {state}: {:?}", runner.verdict());
}

/// Waits until something is so.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap();
}
