//! A call of git as a value: what is run, with which environment and where. The caller can run it
//! in a sandbox of its own instead of letting this crate run it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program with everything it gets. The environment is complete: nothing is inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
}

impl CommandLine {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable, instead of a value that it has already.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(other, _)| other != name);
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Without what is for our own calls, and would change what hooks and filters do.
    pub(crate) fn for_programs_of_the_user(mut self) -> Self {
        let ours =
            ["LC_ALL", "GIT_LITERAL_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OPTIONAL_LOCKS"];
        self.env.retain(|(name, _)| !ours.iter().any(|ours| name == ours));
        // Messages are read by us, and the encoding of text is the user's.
        self.env("LC_MESSAGES", "C").env("LANGUAGE", "C")
    }

    pub(crate) fn cwd(mut self, cwd: &Path) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    /// Configuration for this call alone, over that of every file. It goes through the environment,
    /// because the processes that git starts in turn must have it too.
    pub(crate) fn config<K: AsRef<str>, V: AsRef<str>>(
        mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let counted = self.env.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
        let counted = counted.and_then(|(_, value)| value.to_str()?.parse::<usize>().ok());
        let mut count = counted.unwrap_or(0);
        for (key, value) in entries {
            self.env.push((format!("GIT_CONFIG_KEY_{count}").into(), key.as_ref().into()));
            self.env.push((format!("GIT_CONFIG_VALUE_{count}").into(), value.as_ref().into()));
            count += 1;
        }
        self.env("GIT_CONFIG_COUNT", count.to_string())
    }

    /// The command of git, for messages.
    pub(crate) fn verb(&self) -> String {
        // Behind a wrapper, git is one of the arguments.
        let git = self.args.iter().position(|arg| Path::new(arg).ends_with("git"));
        let mut args = self.args.iter().skip(git.map_or(0, |at| at + 1));
        while let Some(arg) = args.next() {
            let text = arg.to_string_lossy();
            if text == "-c" || text == "-C" {
                args.next();
            } else if !text.starts_with('-') && !text.starts_with('/') {
                return text.into_owned();
            }
        }
        "git".to_owned()
    }
}
