//! A git repository to work on, a home for one CLI, and the model server it talks to.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use coven_orchestrator::{NewSession, Options, Orchestrator};
use coven_testkit::model::{ModelScene, ModelServer};
use serde_json::Value;
use tempfile::TempDir;

use coven_testkit::real_cli::{Cli, Home};

/// What the agents are told to do: the tag makes the model use its tool once.
pub(crate) const TASK: &str = "the greeting play:shell";

const BEAD: &str = ".coven/beads/greet.md";

pub(crate) struct Project {
    pub(crate) cli: Cli,
    /// Another CLI that works in it too.
    partner: Option<Cli>,
    pub(crate) server: ModelServer,
    folder: TempDir,
    installed: PathBuf,
    holder: PathBuf,
}

impl Project {
    pub(crate) fn new(cli: Cli, installed: &Path, holder: &Path) -> io::Result<Self> {
        debug_assert!(TASK.ends_with(&ModelScene::Shell.to_string()));
        let (installed, holder) = (installed.to_owned(), holder.to_owned());
        let (server, folder) = (ModelServer::start()?, tempfile::tempdir()?);
        let project = Self { cli, partner: None, server, folder, installed, holder };
        fs::create_dir(project.home())?;
        fs::create_dir(project.path())?;
        cli.prepare(&project.home(), &project.path(), &project.server.url(), Home::Settled)?;
        project.git(&["init", "-q", "-b", "main"])?;
        // Agents commit as well.
        project.git(&["config", "user.name", "Test"])?;
        project.git(&["config", "user.email", "test@example.invalid"])?;
        fs::write(project.path().join("README.md"), "Hello.\n")?;
        project.git(&["add", "README.md"])?;
        project.git(&["commit", "-q", "-m", "Greet"])?;
        Ok(project)
    }

    /// Lets another CLI work in it too.
    pub(crate) fn with_partner(self, partner: Cli) -> io::Result<Self> {
        partner.prepare(&self.home(), &self.path(), &self.server.url(), Home::Settled)?;
        Ok(Self { partner: Some(partner), ..self })
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/coven")
    }

    pub(crate) fn holder(&self) -> &Path {
        &self.holder
    }

    /// Keeps what a failed row left: why, what reached the model, the journal and the bytes.
    pub(crate) fn keep(&self, evidence: &Path, row: &str, error: &str) {
        let text = format!("{error}\n\n{:#?}", self.server.exchanges());
        let folder = evidence.join(row.replace(' ', "-"));
        let kept = fs::remove_dir_all(&folder)
            .or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
            .and_then(|()| fs::create_dir_all(&folder))
            .and_then(|()| fs::write(folder.join("why.txt"), text))
            .and_then(|()| {
                let copied = Command::new("cp")
                    .args(["-r", "--"])
                    .arg(self.state().join("jobs"))
                    .arg(self.path().join(".coven/sessions"))
                    .arg(&folder)
                    .status()?;
                if copied.success() { Ok(()) } else { Err(io::Error::other("cp failed")) }
            });
        if let Err(error) = kept {
            eprintln!("the evidence could not be kept: {error}");
        }
    }

    pub(crate) fn git(&self, line: &[&str]) -> io::Result<String> {
        let output = Command::new("git")
            .args(line)
            .current_dir(self.path())
            .env("HOME", self.home())
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    pub(crate) fn head(&self) -> io::Result<String> {
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn file(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path().join(name))
    }

    /// A branch with a change to review.
    pub(crate) fn change(&self) -> io::Result<()> {
        self.git(&["checkout", "-q", "-b", "louder"])?;
        fs::write(self.path().join("README.md"), "Hello!\n")?;
        self.git(&["commit", "-q", "-a", "-m", "Louder"]).map(drop)
    }

    /// A bead to implement.
    pub(crate) fn bead(&self) -> io::Result<()> {
        fs::create_dir_all(self.path().join(".coven/beads"))?;
        fs::write(self.path().join(BEAD), format!("# Greet\n\nstatus: open\n\nMend {TASK}\n"))
    }

    pub(crate) fn bead_status(&self) -> io::Result<String> {
        let text = fs::read_to_string(self.path().join(BEAD))?;
        let status = text.lines().find_map(|line| line.strip_prefix("status: "));
        Ok(status.unwrap_or("without a status").to_owned())
    }

    /// How many times a tool call changed the project: each leaves a file.
    pub(crate) fn ran(&self) -> io::Result<usize> {
        let mut count = 0;
        for entry in fs::read_dir(self.path())? {
            let name = entry?.file_name();
            count += usize::from(name.to_string_lossy().starts_with("ran-"));
        }
        Ok(count)
    }

    /// How many tool calls of arbiters came back with a result.
    pub(crate) fn refused(&self) -> usize {
        let exchanges = self.server.exchanges();
        let judged = exchanges.iter().filter(|each| each.scene == Some(ModelScene::Verdict));
        judged.map(|each| each.results.len()).sum()
    }

    pub(crate) async fn open(&self) -> Result<Orchestrator, Box<dyn Error>> {
        let mut options = Options::new(self.path(), self.state(), &self.holder);
        options.default_adapter = Some(self.cli.name().to_owned());
        Ok(Orchestrator::open(options).await?)
    }

    pub(crate) fn session(&self, grimoire: &str, input: &Value) -> NewSession {
        let input = input.as_object().cloned().unwrap_or_default();
        NewSession { env: self.env(), input, ..NewSession::of_grimoire(grimoire) }
    }

    pub(crate) fn definition(&self, text: &str) -> NewSession {
        NewSession { env: self.env(), ..NewSession::of_definition("row.yaml", text) }
    }

    fn clis(&self) -> impl Iterator<Item = Cli> {
        std::iter::once(self.cli).chain(self.partner)
    }

    pub(crate) fn env(&self) -> BTreeMap<OsString, OsString> {
        let mut path = OsString::new();
        for cli in self.clis() {
            path.push(self.installed.join(cli.name()).join("node_modules/.bin"));
            path.push(":");
        }
        let node = self.installed.join("node/node_modules/node/bin");
        if node.exists() {
            path.push(node);
            path.push(":");
        }
        path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::from([
            ("HOME".into(), self.home().into()),
            ("PATH".into(), path),
            ("LANG".into(), "C.UTF-8".into()),
            ("SHELL".into(), "/bin/sh".into()),
        ]);
        for cli in self.clis() {
            for (name, value) in cli.env(&self.server.url(), Home::Settled) {
                env.insert(name.into(), value.into());
            }
        }
        env
    }
}
