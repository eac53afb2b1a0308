//! The git program. This crate is the only place that spells its arguments, and it is written
//! against a work tree whose files somebody hostile can write: the `.git` file, `.gitattributes`,
//! and what the repository's own folder has in `config`, `hooks` and `worktrees`.
//!
//! - A [`Repository`] is found once ([`Git::discover`]) and then passed: git dir, common dir and
//!   work tree are given to every call, and nothing in a work tree decides them.
//! - What only reads the files of a tree goes through a [`Mirror`], a bare repository that belongs
//!   to the caller. Files are read by this crate, without following links, and given to git as
//!   bytes: there is no filter, driver or hook that could run.
//! - Calls in the repository itself have hooks off, and every configuration that names a program is
//!   replaced by one that does nothing ([`executable_config`]). A program of the user, be it only a
//!   filter, may run what is in the tree.
//! - Where the user's own hooks and filters belong, in a commit and in a checkout, there is a
//!   [`CommandLine`] that the caller runs in a sandbox. What runs in it is what an
//!   [`ExecutableConfig`] from before says that the user had.
//!
//! Every call has a deadline, a clean environment, and fails with git's own words.

mod branch;
mod branch_use;
mod checkout;
mod command_line;
mod commit;
mod discover;
mod error;
pub mod executable_config;
mod filters;
mod head;
mod history;
mod included;
mod landing;
mod object_id;
mod output;
mod quarantine;
mod replay;
mod run;
mod stash;
mod submodules;
mod tree_files;
mod unfinished;
mod worktree;

pub mod mirror;
pub mod push;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::branch_use::BranchUse;
pub use self::command_line::CommandLine;
pub use self::commit::{CommitCommands, CommitRequest, message_text};
pub use self::discover::{Found, Repository};
pub use self::error::Error;
pub use self::executable_config::{ExecutableConfig, Neutralised};
pub use self::filters::CheckoutHook;
pub use self::head::Head;
pub use self::history::BranchHistory;
pub use self::included::{Included, SkippedFile};
pub use self::landing::{CherryCommit, Identity, Merged};
pub use self::mirror::Mirror;
pub use self::object_id::{Commit, ObjectId};
pub use self::quarantine::{KeptPack, Quarantine};
pub use self::replay::Replayed;
pub use self::unfinished::Unfinished;
pub use self::worktree::{AddedWorktree, Worktree};

use self::output::{fields, object_id, path_line, path_of};
use self::run::{Finished, Input};

/// How long a call may take unless the caller says otherwise: a checkout of a large repository on
/// a slow disk takes a minute.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(5);

/// How long to wait before a lock is tried again that another git holds.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long a registration of a work tree may be half written. One that stays so was damaged, and
/// must not keep every call until its deadline.
const HALF_WRITTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// What git and the user's hooks need from our environment. Everything else stays behind, above all
/// the `GIT_*` variables, which would lead git elsewhere.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "LANG",
    "TZ",
];

/// The git program, and how it is called. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    wrapper: Vec<OsString>,
    deadline: Duration,
    lock_timeout: Option<Duration>,
    environment: Vec<(OsString, OsString)>,
}

impl Default for Git {
    fn default() -> Self {
        Self::new()
    }
}

impl Git {
    /// The git of the `PATH`, with what it needs of our environment.
    pub fn new() -> Self {
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut environment: Vec<(OsString, OsString)> =
            inherited.map(|(name, value)| (name.into(), value)).collect();
        let mut program = PathBuf::from("git");
        for (_, path) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
            *path = absolute_path(path);
            let mut found = std::env::split_paths(path).map(|folder| folder.join("git"));
            program = found.find(|file| file.is_file()).unwrap_or(program);
        }
        Self {
            program,
            wrapper: Vec::new(),
            deadline: DEFAULT_DEADLINE,
            lock_timeout: None,
            environment,
        }
    }

    /// The same, with another deadline for each call.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The same, with an end to how long a lock of another git is waited for, which is otherwise the
    /// deadline of the call: one that a killed git left stays until somebody removes it.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = Some(timeout);
        self
    }

    /// The same, with a variable of the environment set.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The same, started by another program: `wrapper` stands before `git` in every call, such as a
    /// sandbox with its arguments.
    #[must_use]
    pub fn wrapped_by<A: AsRef<OsStr>>(mut self, wrapper: impl IntoIterator<Item = A>) -> Self {
        self.wrapper = wrapper.into_iter().map(|part| part.as_ref().to_owned()).collect();
        self
    }

    /// The version of the program; an error if it is older than 2.38, which has no `merge-tree
    /// --write-tree`.
    pub fn version(&self) -> Result<(u32, u32, u32), Error> {
        let output = self.read(self.isolated(Path::new("/")).arg("version"))?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let number = text.trim().strip_prefix("git version ").unwrap_or_default();
        let number = number.split_whitespace().next().unwrap_or_default();
        let mut parts = number.split('.').map_while(|part| part.parse::<u32>().ok());
        let (Some(major), Some(minor)) = (parts.next(), parts.next()) else {
            return Err(Error::unexpected("version", text));
        };
        let found = (major, minor, parts.next().unwrap_or(0));
        if found < (2, 38, 0) { Err(Error::TooOld { found }) } else { Ok(found) }
    }

    /// The name that the user goes by in git. What a repository says counts nothing: anybody can write
    /// that. Nothing if there is none, or git cannot be asked.
    pub fn user_name(&self) -> Option<String> {
        let line = self.personal(Path::new("/")).args(["config", "--global", "--get", "user.name"]);
        let name = String::from_utf8(self.read(line).ok()?).ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// Runs a command line of this crate here, without a sandbox, and gives what it printed.
    pub fn run(&self, line: &CommandLine) -> Result<Vec<u8>, Error> {
        self.read(line.clone())
    }

    /// A call that has nothing of the user in it: no configuration, no home, no network.
    fn isolated(&self, cwd: &Path) -> CommandLine {
        let kept = |name: &OsStr| name == "PATH" || name == "TMPDIR";
        let env = self.environment.iter().filter(|(name, _)| kept(name)).cloned().collect();
        self.line(env, cwd)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .config([("core.attributesFile", "/dev/null"), ("core.hooksPath", "/dev/null")])
            .config([("core.fsmonitor", "false"), ("core.pager", "cat")])
    }

    /// A call that has the user's own configuration.
    fn personal(&self, cwd: &Path) -> CommandLine {
        self.line(self.environment.clone(), cwd)
            // A configuration could allow `ext::`, which runs a command.
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
    }

    fn line(&self, env: Vec<(OsString, OsString)>, cwd: &Path) -> CommandLine {
        let mut words = self.wrapper.iter().cloned().chain([self.program.clone().into()]);
        let program = words.next().unwrap_or_default().into();
        CommandLine { program, args: words.collect(), env, cwd: cwd.to_owned() }
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "false")
            .env("GIT_PAGER", "cat")
            // A path is a path, whatever characters are in it.
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
    }

    /// Runs a call that must succeed, and gives what it printed.
    fn read(&self, line: CommandLine) -> Result<Vec<u8>, Error> {
        self.read_with(line, Input::Nothing)
    }

    #[expect(clippy::needless_pass_by_value, reason = "calls are built where they are made")]
    fn read_with(&self, line: CommandLine, input: Input) -> Result<Vec<u8>, Error> {
        let finished = self.finish(&line, input, None)?;
        Self::succeeded(&line, finished).map(|finished| finished.stdout)
    }

    fn finish(
        &self,
        line: &CommandLine,
        input: Input,
        output: Option<File>,
    ) -> Result<Finished, Error> {
        run::run(line, input, output, self.deadline)
    }

    /// Runs a call whose exit code 1 is an answer: `None`, where success is what it printed.
    #[expect(clippy::needless_pass_by_value, reason = "calls are built where they are made")]
    fn answer(&self, line: CommandLine) -> Result<Option<Vec<u8>>, Error> {
        let finished = self.finish(&line, Input::Nothing, None)?;
        if finished.code == Some(1) {
            return Ok(None);
        }
        Self::succeeded(&line, finished).map(|finished| Some(finished.stdout))
    }

    fn succeeded(line: &CommandLine, finished: Finished) -> Result<Finished, Error> {
        let verb = line.verb();
        if finished.code != Some(0) {
            let ended = || match (finished.code, finished.signal) {
                (_, Some(signal)) => format!("ended by signal {signal}"),
                (code, _) => format!("exit code {}", code.unwrap_or_default()),
            };
            let said = finished.words.clone();
            let words = if said.is_empty() { ended() } else { said };
            return Err(Error::Failed { verb, code: finished.code, words });
        }
        if let Some(error) = finished.input_error {
            return Err(Error::io("write the input of git", line.program.clone(), error));
        }
        Ok(finished)
    }

    /// Runs a call again and again while another git is in its way, until the deadline; then git's
    /// own words are the error.
    fn with_lock_retries<T>(&self, mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        let start = Instant::now();
        let limit = |error: &Error| {
            if error.is_lock_held() {
                self.lock_timeout.unwrap_or(self.deadline)
            } else if error.is_half_written() {
                HALF_WRITTEN_TIMEOUT.min(self.deadline)
            } else {
                Duration::ZERO
            }
        };
        loop {
            match call() {
                Err(error) if start.elapsed() < limit(&error) => {
                    // The end of a foreign lock file is no event that we could wait for portably.
                    std::thread::park_timeout(LOCK_RETRY_INTERVAL);
                }
                result => return result,
            }
        }
    }
}

/// A `PATH` without relative folders: a call has the folder of a tree as its own, and would run a
/// program that somebody put there.
fn absolute_path(path: &OsStr) -> OsString {
    let absolute = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    std::env::join_paths(absolute).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::absolute_path;

    #[test]
    fn a_relative_folder_of_the_path_is_left_out() {
        assert_eq!(absolute_path("/usr/bin:.::bin:/bin".as_ref()), "/usr/bin:/bin");
    }
}
