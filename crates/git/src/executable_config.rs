//! Which programs a repository makes git run. The list is taken when nothing hostile has been near
//! the repository, and held against what is there before each call in which programs may run: what
//! is new or has changed since is replaced by something that does nothing.
//!
//! The configuration is read just before the call. Whoever can write it between the two can bring in
//! a filter; so calls that run the user's programs belong in the sandbox of whoever can write.

mod hooks;
mod programs;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CommandLine, Error, Git, Repository, fields};

/// Every setting of a repository that names a program, and every hook. The default has none, and
/// so allows none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutableConfig {
    /// Values by key, in git's order, wherever they were configured.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Digests of the hooks that exist, by name.
    pub hooks: BTreeMap<String, String>,
}

/// What was kept from running in a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neutralised {
    /// Keys that are new or have changed.
    pub keys: Vec<String>,
    /// Hooks that are new or have changed; if there is one, no hook runs.
    pub hooks: Vec<String>,
}

impl Neutralised {
    /// Whether everything ran as the user configured it.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.hooks.is_empty()
    }
}

/// Whether the user's hooks belong to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hooks {
    Off,
    AsAllowed,
}

impl Git {
    /// What a repository makes git run at this moment.
    pub fn executable_config(&self, repository: &Repository) -> Result<ExecutableConfig, Error> {
        Ok(ExecutableConfig {
            keys: self.program_keys(repository)?,
            hooks: self.hooks(repository)?,
        })
    }

    /// A call in a repository in which only those programs run that are in `allowed`.
    pub(crate) fn guarded(
        &self,
        repository: &Repository,
        allowed: &ExecutableConfig,
        wanted: Hooks,
    ) -> Result<(CommandLine, Neutralised), Error> {
        let mut neutralised = Neutralised::default();
        let mut overrides = vec![("core.fsmonitor".to_owned(), "false".to_owned())];
        for (key, values) in self.program_keys(repository)? {
            if allowed.keys.get(&key) != Some(&values) {
                overrides.extend(programs::harmless(&key));
                neutralised.keys.push(key);
            }
        }
        let hooks_allowed = match wanted {
            Hooks::Off => false,
            Hooks::AsAllowed => {
                let current = self.hooks(repository)?;
                let new = current.iter().filter(|(name, digest)| {
                    digest.starts_with(hooks::NOT_READ) || allowed.hooks.get(*name) != Some(digest)
                });
                neutralised.hooks = new.map(|(name, _)| name.clone()).collect();
                neutralised.hooks.is_empty()
            }
        };
        if !hooks_allowed {
            overrides.push(("core.hooksPath".to_owned(), "/dev/null".to_owned()));
        }
        let line = self.located(repository).config(overrides);
        let line = if wanted == Hooks::Off { line } else { line.for_programs_of_the_user() };
        Ok((line, neutralised))
    }

    /// A call in a repository in which no program runs that somebody configured.
    pub(crate) fn without_programs(&self, repository: &Repository) -> Result<CommandLine, Error> {
        let (line, _) = self.guarded(repository, &ExecutableConfig::default(), Hooks::Off)?;
        Ok(line)
    }

    pub(crate) fn program_keys(
        &self,
        repository: &Repository,
    ) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let list = self.located(repository).args(["config", "--list", "--includes", "-z"]);
        let output = self.read(list)?;
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in fields(&output) {
            let mut parts = entry.splitn(2, |byte| *byte == b'\n');
            let key = text(parts.next().unwrap_or_default());
            if programs::names_program(&key) {
                keys.entry(key).or_default().push(text(parts.next().unwrap_or_default()));
            }
        }
        Ok(keys)
    }
}

/// Text as it is, and bytes that are no text so that two different ones stay different.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("bytes:{}", bytes.escape_ascii()),
    }
}
