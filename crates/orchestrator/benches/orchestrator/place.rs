//! Where things are measured: a base directory of its own, and what the system says.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use coven_orchestrator::{NewSession, Options, Orchestrator};
use coven_store::{AuthorityPlaces, SessionAuthority};
use coven_testkit::programs::TestProgram;
use tempfile::TempDir;

/// A base directory of its own.
pub(crate) struct Place {
    folder: TempDir,
    base: PathBuf,
}

impl Place {
    pub(crate) fn new() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let base = folder.path().join("base");
        fs::create_dir(&base)?;
        Ok(Self { folder, base })
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.base
    }

    /// The state folder beside it.
    pub(crate) fn authority(&self) -> Result<SessionAuthority, Box<dyn Error>> {
        Ok(SessionAuthority::open(&AuthorityPlaces::in_state(&self.state()))?)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) async fn open(&self) -> Result<Orchestrator, Box<dyn Error>> {
        let program = TestProgram::Agent.path();
        Ok(Orchestrator::open(Options::new(self.path(), self.state(), program)).await?)
    }

    /// A session of a definition, with an environment in which commands are found and no more.
    pub(crate) fn session(definition: &str) -> NewSession {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = BTreeMap::from([("PATH".into(), path)]);
        NewSession { env, ..NewSession::of_definition("bench.yaml", definition) }
    }
}

/// So many scripts in a row that do nothing, and then perhaps a question to a person.
pub(crate) fn scripts(steps: usize, asks: bool) -> String {
    let mut text = "name: bench\ndescription: Scripts in a row.\nsteps:\n".to_owned();
    for step in 0..steps {
        writeln!(text, "  - {{name: step-{step}, type: script, command: \"true\"}}").ok();
    }
    if asks {
        text.push_str("  - {name: ask, type: gate, message: Go on?}\n");
    }
    text
}

/// So many questions to a person in a row.
pub(crate) fn gates(steps: usize) -> String {
    let mut text = "name: bench\ndescription: Gates in a row.\nsteps:\n".to_owned();
    for step in 0..steps {
        writeln!(text, "  - {{name: step-{step}, type: gate, message: Go on?}}").ok();
    }
    text
}

/// How busy the machine is, by itself: the load of the last minute.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

/// How much memory this process has, in KiB.
pub(crate) fn memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
