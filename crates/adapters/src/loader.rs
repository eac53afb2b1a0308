//! Finds the files about an adapter and lays them over each other. The only part that reads disk.
//!
//! Later layers win: built in, then the user's, then the project's (only if its owner trusts it),
//! then a file named explicitly. Files are read again for every start, so an edit counts for the
//! next agent. An edit that broke a file is reported, and the last state of it that was right
//! stays in use.

mod error;
mod layer_stack;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_model::{AdapterAbilities, AdapterFault, AgentMode};
use coven_notation::{ProblemReport, TrustedFiles, near};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::builtin;
use crate::config::Config;
use crate::rules::ScreenRules;
use layer_stack::LayerStack;

pub use error::LoadError;

/// The file in an adapter's folder.
pub const CONFIG_FILE: &str = "config.json";

/// The keys of an adapter file that say how its program is started.
pub const LAUNCH_KEYS: [&str; 9] = [
    "command",
    "versionArgs",
    "env",
    "modes",
    "permissions",
    "model",
    "autoPolicy",
    "resume",
    "versions",
];

/// Where what is known about an adapter comes from, from weakest to strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdapterLayer {
    /// It is part of Coven.
    BuiltIn,
    User,
    Project,
    /// A file the caller named.
    Explicit,
}

impl fmt::Display for AdapterLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::BuiltIn => "built in",
            Self::User => "user",
            Self::Project => "project",
            Self::Explicit => "explicit",
        })
    }
}

/// One file about an adapter.
#[derive(Clone, Debug)]
pub struct ConfigOrigin {
    pub layer: AdapterLayer,
    /// Where it is; nothing for what is built in.
    pub path: Option<PathBuf>,
    /// Whether it counts as it is on disk now.
    pub standing: OriginStatus,
}

/// Whether a file counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginStatus {
    Used,
    /// It is broken; its last good content counts.
    LastGood,
    /// It is broken and does not count.
    Broken,
    /// It would count if its project were trusted.
    Untrusted,
}

/// An adapter's configuration, with everything laid together.
#[derive(Clone, Debug)]
pub struct LoadedAdapter {
    pub config: Arc<Config>,
    pub rules: Arc<ScreenRules>,
    /// The files it was made from, from weakest to strongest.
    pub origins: Vec<ConfigOrigin>,
    /// What is wrong with files that do not count as they are, and warnings about those that do.
    pub reports: Vec<ProblemReport>,
    /// Why no headless run can work, though each file is right by itself.
    pub headless_fault: Option<AdapterFault>,
}

/// Where adapter files are looked for.
#[derive(Clone, Debug, Default)]
pub struct AdapterFolders {
    /// The user's, such as `~/.config/coven/adapters`.
    pub user: Option<PathBuf>,
    /// The project's, such as `<baseDir>/.coven/adapters`.
    pub project: Option<PathBuf>,
    /// What the user agreed to of the project's files. Nothing else of the project is used; the
    /// rest is only listed.
    pub trusted: Option<Arc<TrustedFiles>>,
    /// Files that a program names itself, by type. They count over every layer.
    pub files: BTreeMap<String, PathBuf>,
}

#[derive(Debug, Default)]
pub struct AdapterConfigLoader {
    folders: AdapterFolders,
    last_good: Mutex<HashMap<PathBuf, Value>>,
    compiled: Mutex<HashMap<String, CompiledConfig>>,
}

/// What a type was made of last, and what came of it. Patterns take most of the memory of an agent
/// that does nothing, so all agents of a type have the same.
#[derive(Debug)]
struct CompiledConfig {
    value: Value,
    config: Arc<Config>,
    rules: Arc<ScreenRules>,
}

impl AdapterConfigLoader {
    /// The folders in which it looks.
    pub(crate) fn folders(&self) -> &AdapterFolders {
        &self.folders
    }

    /// A loader that looks in these folders.
    pub fn new(folders: AdapterFolders) -> Self {
        Self { folders, ..Self::default() }
    }

    /// The types there are: built in, and one for each folder with a file.
    pub fn types(&self) -> BTreeSet<String> {
        let mut types: BTreeSet<String> = builtin::types().map(str::to_owned).collect();
        for (_, folder, access) in self.layers() {
            match access {
                LayerAccess::Disk => types.extend(types_in(folder)),
                LayerAccess::Copy(files) => types.extend(types_of(files, folder)),
                LayerAccess::Listed => {}
            }
        }
        types.extend(self.folders.files.keys().cloned());
        types
    }

    fn layers(&self) -> impl Iterator<Item = (AdapterLayer, &Path, LayerAccess<'_>)> {
        let user = self.folders.user.as_deref();
        let user = user.map(|path| (AdapterLayer::User, path, LayerAccess::Disk));
        let access = self.folders.trusted.as_deref().map_or(LayerAccess::Listed, LayerAccess::Copy);
        let project =
            self.folders.project.as_deref().map(|path| (AdapterLayer::Project, path, access));
        user.into_iter().chain(project)
    }

    /// Everything known about a type, read from disk now.
    pub fn load(&self, kind: &str, explicit: Option<&Path>) -> Result<LoadedAdapter, LoadError> {
        require_type(kind)?;
        let mut pile = LayerStack::new(self);
        if let Some(text) = builtin::source(kind) {
            pile.built_in(kind, text)?;
        }
        for (layer, folder, access) in self.layers() {
            pile.file(layer, folder.join(kind).join(CONFIG_FILE), access)?;
        }
        let named = self.folders.files.get(kind).map(PathBuf::as_path);
        if let Some(path) = explicit.or(named) {
            pile.add_explicit_file(kind, path)?;
        }
        pile.finish(kind)
    }

    /// What the program of a type can be asked for, or why its files cannot be used; nothing for a
    /// type there is not.
    pub fn abilities(&self, kind: &str) -> Option<AdapterAbilities> {
        let faults = match self.load(kind, None) {
            Ok(loaded) => {
                let fault = loaded.headless_fault.map(|fault| (AgentMode::Headless, fault));
                let faults = fault.into_iter().collect();
                return Some(AdapterAbilities { faults, ..loaded.config.abilities(kind) });
            }
            Err(LoadError::Unknown { .. } | LoadError::Name(_)) => return None,
            Err(error) => AdapterFault {
                code: "bad-adapter",
                message: error.brief(),
                help: format!("see what is wrong: coven adapter check {kind}"),
            },
        };
        let modes = [AgentMode::Interactive, AgentMode::Headless];
        let faults = modes.into_iter().map(|mode| (mode, faults.clone())).collect();
        Some(AdapterAbilities { command: kind.to_owned(), faults, ..AdapterAbilities::default() })
    }

    fn unknown(&self, kind: &str) -> LoadError {
        let types = self.types();
        let near = near(kind, types.iter().map(String::as_str));
        let near = near.into_iter().map(str::to_owned).collect();
        LoadError::Unknown { kind: kind.to_owned(), near }
    }

    /// The configuration that a tree is, with its rules; the same ones as long as it is the same.
    fn compiled(
        &self,
        kind: &str,
        value: Value,
    ) -> Result<(Arc<Config>, Arc<ScreenRules>), LoadError> {
        let mut compiled = self.compiled.lock();
        if let Some(last) = compiled.get(kind).filter(|last| last.value == value) {
            return Ok((last.config.clone(), last.rules.clone()));
        }
        let together = |error: String| LoadError::Together { kind: kind.to_owned(), error };
        let config = Config::deserialize(&value).map_err(|error| together(error.to_string()))?;
        let rules = ScreenRules::new(&config).map_err(|error| together(error.to_string()))?;
        let (config, rules) = (Arc::new(config), Arc::new(rules));
        let now = CompiledConfig { value, config: config.clone(), rules: rules.clone() };
        compiled.insert(kind.to_owned(), now);
        Ok((config, rules))
    }

    fn remember(&self, path: &Path, value: &Value) {
        let mut last_good = self.last_good.lock();
        last_good.insert(path.to_owned(), value.clone());
    }

    fn last_good(&self, path: &Path) -> Option<Value> {
        let last_good = self.last_good.lock();
        last_good.get(path).cloned()
    }
}

/// How the files of a layer are reached.
#[derive(Clone, Copy)]
enum LayerAccess<'a> {
    /// They are read from the disk.
    Disk,
    /// Only what the user agreed to counts, as it was then.
    Copy(&'a TrustedFiles),
    /// They are listed and not used.
    Listed,
}

fn types_of(files: &TrustedFiles, folder: &Path) -> Vec<String> {
    let kind = |(path, _): (PathBuf, &[u8])| {
        let kind = path.parent()?.file_name()?.to_str()?.to_owned();
        let is_config = path == folder.join(&kind).join(CONFIG_FILE);
        (is_config && is_type(&kind)).then_some(kind)
    };
    files.below(folder).filter_map(kind).collect()
}

fn types_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_type(name) && folder.join(name).join(CONFIG_FILE).is_file())
        .collect()
}

/// Refuses a text that cannot name a type.
pub(crate) fn require_type(kind: &str) -> Result<(), LoadError> {
    if is_type(kind) { Ok(()) } else { Err(LoadError::Name(kind.to_owned())) }
}

/// Whether a text can be the type of an adapter; it becomes the name of a folder.
pub fn is_type(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        && !text.starts_with(['-', '_'])
}

/// What is known about every type: for listings, where one that is broken must not hide others.
pub type Catalogue = BTreeMap<String, Result<LoadedAdapter, LoadError>>;

impl AdapterConfigLoader {
    /// Loads every type there is, also those of an untrusted project, which come out as unknown
    /// unless another layer has them.
    pub fn load_all(&self) -> Catalogue {
        let mut types = self.types();
        for (_, folder, _) in self.layers() {
            types.extend(types_in(folder));
        }
        types.into_iter().map(|kind| (kind.clone(), self.load(&kind, None))).collect()
    }
}

#[cfg(test)]
mod tests;
