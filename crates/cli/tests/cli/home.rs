//! A home and a project of its own for every test, with a daemon of its own that goes with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::panicking;
use std::time::Instant;

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

use crate::STEP_TIMEOUT;
use crate::terminal::Terminal;

/// The size of a terminal that tests run in.
pub(crate) const SIZE: (u16, u16) = (100, 40);

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Self { code, out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }

    /// It ended with this code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// Each line as JSON.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { dir: tempfile::Builder::new().prefix("cv").tempdir().unwrap() };
        for folder in ["home", "project", "tmp"] {
            fs::create_dir(home.path(folder)).unwrap();
        }
        home
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("project").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program that shells of this home find first.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A command in the project, with an environment of which every variable is known.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
        command.args(args).current_dir(self.path("project")).stdin(Stdio::null()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path("home"));
        command.env("XDG_STATE_HOME", self.path("state")).env("TMPDIR", self.path("tmp"));
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("TZ", "UTC");
        command
    }

    /// A shell in the project that finds `coven`, and before it what is in the home's `bin`.
    pub(crate) fn shell(&self, shell: &str, args: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_coven")).parent().unwrap();
        let path = format!(
            "{}:{}:/usr/local/bin:/usr/bin:/bin",
            self.path("bin").display(),
            program.display()
        );
        let mut shell = Command::new(shell);
        shell.args(args).current_dir(self.path("project")).stdin(Stdio::null()).env_clear();
        for (name, value) in self.command(&[]).env("PATH", path).get_envs() {
            shell.env(name, value.unwrap());
        }
        shell
    }

    pub(crate) fn coven(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().unwrap())
    }

    /// The same on a terminal.
    pub(crate) fn terminal(&self, args: &[&str]) -> Terminal {
        Terminal::start(self.command(args), SIZE)
    }

    /// Everything a command said, with what differs from run to run replaced.
    pub(crate) fn said(&self, args: &[&str]) -> String {
        let said = self.coven(args);
        let gap = if said.out.is_empty() || said.out.ends_with('\n') { "" } else { "\n" };
        self.tidy(&format!("{}{gap}--- exit {}\n{}", said.out, said.code, said.err))
    }

    /// A text with what differs from run to run replaced.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let mut text = text.replace(self.root().to_str().unwrap(), "~");
        for (pattern, name) in [
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
            (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "DATE"),
            (r"\b\d\d:\d\d:\d\d\b", "TIME"),
            (r"\b\d+\.\ds\b|\b\d+s\b", "AGE"),
            (r"process \d+", "process PID"),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
        }
        for name in self.names() {
            text = text.replace(&name, "NAME");
        }
        // Columns are as wide as what differs.
        Regex::new(r"(\S) {3,}").unwrap().replace_all(&text, "$1  ").into_owned()
    }

    /// The names of the sessions on disk.
    pub(crate) fn names(&self) -> Vec<String> {
        let sessions = fs::read_dir(self.path("project/.coven/sessions"));
        let views =
            sessions.into_iter().flatten().flatten().map(|entry| entry.path().join("session.json"));
        let name = |path: PathBuf| {
            let view: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            Some(view["name"].as_str()?.to_owned())
        };
        views.filter_map(name).collect()
    }

    /// Starts a demo agent on a terminal in the background; its session's name.
    pub(crate) fn agent(&self, prompt: &str) -> String {
        self.coven(&["new", "demo", prompt, "--detach"]).ok().out.trim().to_owned()
    }

    /// The same, until it asks something.
    pub(crate) fn asking(&self, prompt: &str) -> String {
        let name = self.agent(prompt);
        self.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
        name
    }

    /// Writes a grimoire as a file and runs it to its end or its first question.
    pub(crate) fn run(&self, steps: &str, more: &[&str]) -> Said {
        let text = format!(
            "name: test\ndescription: A test.\ndefaults: {{adapter: demo}}\nsteps:\n{steps}"
        );
        self.write("test.yaml", &text);
        let mut args = vec!["run", "./test.yaml"];
        args.extend(more);
        self.coven(&args)
    }

    /// The name of the only session.
    pub(crate) fn only(&self) -> String {
        let names = self.names();
        assert_eq!(names.len(), 1, "{names:?}");
        names[0].clone()
    }

    /// Kills the daemon as a power cut would, and waits until it is gone.
    pub(crate) fn kill_daemon(&self) {
        let status = self.coven(&["daemon", "status", "--json"]).ok().json();
        let number = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(number).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let end = Instant::now() + STEP_TIMEOUT;
        let runs = || {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
        };
        while runs() {
            assert!(Instant::now() < end, "the daemon does not end");
            std::thread::yield_now();
        }
    }

    /// Processes whose environment speaks of this home.
    fn left(&self) -> Vec<String> {
        let root = self.root().to_str().unwrap().as_bytes().to_vec();
        let ours = std::process::id().to_string();
        let mut left = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_string_lossy().into_owned();
            let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
            if pid != ours && environ.windows(root.len()).any(|part| part == root) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                left.push(format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        left
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let stopped = self.coven(&["daemon", "stop", "--agents"]);
        if panicking() {
            return;
        }
        assert_eq!(stopped.code, 0, "{}{}", stopped.out, stopped.err);
        let end = Instant::now() + STEP_TIMEOUT;
        let mut left = self.left();
        while !left.is_empty() {
            assert!(Instant::now() < end, "these were left: {left:#?}");
            std::thread::yield_now();
            left = self.left();
        }
    }
}
