//! Where one CLI is driven: its home, its project, the model server, and the folder for evidence.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coven_adapters::{AgentAdapter, Options, default_registry};
use coven_runner::TaskPlace;
use coven_runtime::hold::HolderDomain;
use coven_testkit::model::{ModelExchange, ModelServer};
use tempfile::TempDir;

use crate::agent::STEP_TIMEOUT;
use coven_testkit::real_cli::{Cli, Home};

/// Where one CLI is driven.
pub(crate) struct Stage {
    pub(crate) cli: Cli,
    pub(crate) server: ModelServer,
    installed: PathBuf,
    holder: PathBuf,
    evidence: PathBuf,
    folder: TempDir,
    runs: AtomicU32,
}

/// One run's own part of it.
pub(crate) struct Scenery {
    pub(crate) adapter: Arc<dyn AgentAdapter>,
    pub(crate) place: TaskPlace,
    pub(crate) job: String,
}

impl Stage {
    pub(crate) fn new(
        cli: Cli,
        installed: &Path,
        holder: &Path,
        evidence: &Path,
    ) -> io::Result<Self> {
        let evidence = evidence.join(cli.name());
        if evidence.exists() {
            fs::remove_dir_all(&evidence)?;
        }
        Ok(Self {
            cli,
            server: ModelServer::start()?,
            installed: installed.to_owned(),
            holder: holder.to_owned(),
            evidence,
            folder: coven_testkit::folders::temporary()?,
            runs: AtomicU32::new(0),
        })
    }

    /// What a run needs. Runs with the same home share its folder and the project in it.
    pub(crate) fn scenery(&self, home: Home) -> io::Result<Scenery> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let root = self.folder.path().join(match home {
            Home::Settled => "settled",
            Home::Fresh => "fresh",
        });
        let (own, cwd) = (root.join("home"), root.join("project"));
        let url = self.server.url();
        if !own.exists() {
            fs::create_dir_all(&own)?;
            fs::create_dir_all(&cwd)?;
            self.cli.prepare(&own, &cwd, &url, home)?;
        }
        let name = self.cli.name();
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
        env.insert("HOME".into(), own.into());
        env.insert("PATH".into(), self.path());
        env.insert("LANG".into(), "C.UTF-8".into());
        env.insert("SHELL".into(), "/bin/sh".into());
        for (key, value) in self.cli.env(&url, home) {
            env.insert(key.into(), value.into());
        }
        let folder = root.join(format!("attempt-{run}"));
        fs::create_dir_all(&folder)?;
        let program = self.installed.join(name).join("node_modules/.bin").join(name);
        Ok(Scenery {
            adapter: self.adapter(home)?,
            place: TaskPlace {
                domain: Arc::new(HolderDomain::new(&self.holder)),
                cwd,
                env,
                folder: Some(folder),
                inputs: None,
                sandbox: None,
                programs: BTreeMap::from([(name.to_owned(), program)]),
            },
            job: format!("real-{name}-{}-{run}", std::process::id()),
        })
    }

    /// The built-in adapter; at the first start with the changes that bring out what it avoids.
    fn adapter(&self, home: Home) -> io::Result<Arc<dyn AgentAdapter>> {
        let mut options = Options::default();
        if home == Home::Fresh {
            let path = self.folder.path().join("adapter.json");
            fs::write(&path, self.cli.first_run().to_string())?;
            options.config_path = Some(path);
        }
        let adapter = default_registry().create(self.cli.name(), options);
        Ok(adapter.map_err(io::Error::other)?.into())
    }

    /// The node that was installed with the CLIs comes first, if there is one.
    fn path(&self) -> OsString {
        let mut path = OsString::new();
        let node = self.installed.join("node/node_modules/node/bin");
        if node.exists() {
            path.push(node);
            path.push(":");
        }
        path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        path
    }

    /// How many times the tool ran in a run's project.
    pub(crate) fn ran(place: &TaskPlace) -> usize {
        let Ok(entries) = fs::read_dir(&place.cwd) else { return 0 };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with("ran-")).count()
    }

    /// The requests that were turns of the agent, from one on.
    pub(crate) fn turns(&self, from: usize) -> Vec<ModelExchange> {
        let turns = self.server.exchanges().into_iter().filter(|each| each.scene.is_some());
        turns.skip(from).collect()
    }

    /// Waits until the turns of the agent are as wanted. Says whether they are.
    pub(crate) fn wait(&self, wanted: impl FnMut(&[&ModelExchange]) -> bool) -> bool {
        self.wait_within(STEP_TIMEOUT, wanted)
    }

    /// The same, for no longer than this.
    pub(crate) fn wait_within(
        &self,
        timeout: Duration,
        mut wanted: impl FnMut(&[&ModelExchange]) -> bool,
    ) -> bool {
        tokio::task::block_in_place(|| {
            self.server.wait(timeout, |all| {
                let turns: Vec<&ModelExchange> =
                    all.iter().filter(|each| each.scene.is_some()).collect();
                wanted(&turns)
            })
        })
    }

    /// Keeps what a failed row looked like.
    pub(crate) fn keep(&self, row: &str, text: &str) {
        let name: String = row.chars().map(|char| if char == ' ' { '-' } else { char }).collect();
        let kept = fs::create_dir_all(&self.evidence)
            .and_then(|()| fs::write(self.evidence.join(format!("{name}.txt")), text));
        if let Err(error) = kept {
            eprintln!("the evidence for `{row}` could not be kept: {error}");
        }
    }
}
