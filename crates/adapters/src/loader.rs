//! Finds the files about an adapter and lays them over each other. The only part that reads disk.
//!
//! Later layers win: built in, then the user's, then the project's (only if its owner trusts it),
//! then a file named explicitly. Files are read again for every start, so an edit counts for the
//! next agent. An edit that broke a file is reported, and the last state of it that was right
//! stays in use.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use coven_notation::{Problem, Report, Source, near};
use serde_json::Value;

use crate::builtin;
use crate::config::{Config, merge};
use crate::rules::{RuleError, Rules};

/// The file in an adapter's folder.
pub const FILE: &str = "config.json";

/// No adapter file is larger.
const LARGEST: u64 = 4 << 20;

/// Where what is known about an adapter comes from, from weakest to strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// It is part of Coven.
    BuiltIn,
    /// The user's configuration.
    User,
    /// The project.
    Project,
    /// A file the caller named.
    Explicit,
}

impl fmt::Display for Layer {
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
pub struct Origin {
    /// Its layer.
    pub layer: Layer,
    /// Where it is; nothing for what is built in.
    pub path: Option<PathBuf>,
    /// Whether it counts as it is on disk now.
    pub standing: Standing,
}

/// Whether a file counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts.
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
pub struct Loaded {
    /// What counts.
    pub config: Arc<Config>,
    /// Its rules.
    pub rules: Arc<Rules>,
    /// The files it was made from, from weakest to strongest.
    pub origins: Vec<Origin>,
    /// What is wrong with files that do not count as they are, and warnings about those that do.
    pub reports: Vec<Report>,
}

/// An adapter that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing is known about it.
    #[error("{}", unknown(kind, near))]
    Unknown {
        /// The type.
        kind: String,
        /// Types with a similar name.
        near: Vec<String>,
    },
    /// The name cannot be an adapter's.
    #[error("{0:?} cannot be the type of an adapter: use lower-case letters, digits, `-` and `_`")]
    Name(String),
    /// The only file about it is broken.
    #[error("the adapter `{kind}` cannot be used:\n{}", .report.render(false))]
    Broken {
        /// The type.
        kind: String,
        /// What is wrong.
        report: Box<Report>,
    },
    /// A file cannot be read.
    #[error("the adapter file {} cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The files are right one by one, but not together.
    #[error("the adapter `{kind}` cannot be used: {error}")]
    Together {
        /// The type.
        kind: String,
        /// What is wrong.
        error: String,
    },
}

fn unknown(kind: &str, near: &[String]) -> String {
    let mut text = format!("there is no adapter `{kind}`");
    if near.is_empty() {
        text.push_str("; `coven adapter ls` shows what there is");
    } else {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        text.push_str("; did you mean ");
        text.push_str(&near.join(" or "));
        text.push('?');
    }
    text
}

impl From<RuleError> for String {
    fn from(error: RuleError) -> Self {
        error.to_string()
    }
}

/// Where adapter files are looked for.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// The user's, such as `~/.config/coven/adapters`.
    pub user: Option<PathBuf>,
    /// The project's, such as `<baseDir>/.coven/adapters`.
    pub project: Option<PathBuf>,
    /// Whether the project's files may be used; if not they are only listed.
    pub project_trusted: bool,
}

/// Loads adapters.
#[derive(Debug, Default)]
pub struct AdapterConfigLoader {
    folders: Folders,
    last_good: Mutex<HashMap<PathBuf, Value>>,
}

impl AdapterConfigLoader {
    /// A loader that looks in these folders.
    pub fn new(folders: Folders) -> Self {
        Self { folders, last_good: Mutex::default() }
    }

    /// The types there are: built in, and one for each folder with a file.
    pub fn types(&self) -> BTreeSet<String> {
        let mut types: BTreeSet<String> = builtin::types().map(str::to_owned).collect();
        for (_, folder, trusted) in self.layers() {
            if trusted {
                types.extend(types_in(folder));
            }
        }
        types
    }

    fn layers(&self) -> impl Iterator<Item = (Layer, &Path, bool)> {
        let user = self.folders.user.as_deref().map(|path| (Layer::User, path, true));
        let trusted = self.folders.project_trusted;
        let project = self.folders.project.as_deref().map(|path| (Layer::Project, path, trusted));
        user.into_iter().chain(project)
    }

    /// Everything known about a type, read from disk now.
    pub fn load(&self, kind: &str, explicit: Option<&Path>) -> Result<Loaded, LoadError> {
        if !is_type(kind) {
            return Err(LoadError::Name(kind.to_owned()));
        }
        let mut pile = Pile { loader: self, value: None, origins: Vec::new(), reports: Vec::new() };
        if let Some(text) = builtin::source(kind) {
            pile.built_in(kind, text)?;
        }
        for (layer, folder, trusted) in self.layers() {
            pile.file(layer, folder.join(kind).join(FILE), trusted)?;
        }
        if let Some(path) = explicit {
            pile.explicit(kind, path)?;
        }
        pile.finish(kind)
    }

    fn unknown(&self, kind: &str) -> LoadError {
        let types = self.types();
        let near = near(kind, types.iter().map(String::as_str));
        let near = near.into_iter().map(str::to_owned).collect();
        LoadError::Unknown { kind: kind.to_owned(), near }
    }

    fn remember(&self, path: &Path, value: &Value) {
        let mut last_good = self.last_good.lock().unwrap_or_else(PoisonError::into_inner);
        last_good.insert(path.to_owned(), value.clone());
    }

    fn last_good(&self, path: &Path) -> Option<Value> {
        let last_good = self.last_good.lock().unwrap_or_else(PoisonError::into_inner);
        last_good.get(path).cloned()
    }
}

/// Layers on their way to becoming one.
struct Pile<'a> {
    loader: &'a AdapterConfigLoader,
    value: Option<Value>,
    origins: Vec<Origin>,
    reports: Vec<Report>,
}

impl Pile<'_> {
    fn built_in(&mut self, kind: &str, text: &str) -> Result<(), LoadError> {
        let source = Source::new(format!("built-in {kind}"), text);
        let read = Config::read(&source);
        match read.node.filter(|_| read.value.is_some()) {
            Some(node) => self.lay(Layer::BuiltIn, None, Standing::Used, Some(node.to_json())),
            None => {
                let report = Box::new(Report::new(source, read.problems));
                return Err(LoadError::Broken { kind: kind.to_owned(), report });
            }
        }
        Ok(())
    }

    fn file(&mut self, layer: Layer, path: PathBuf, trusted: bool) -> Result<(), LoadError> {
        let Some(bytes) = read_file(&path)? else {
            return Ok(());
        };
        if !trusted {
            self.lay(layer, Some(path), Standing::Untrusted, None);
            return Ok(());
        }
        match parse(&path, bytes) {
            Ok((value, report)) => {
                self.loader.remember(&path, &value);
                self.reports.extend(report);
                self.lay(layer, Some(path), Standing::Used, Some(value));
            }
            Err(report) => {
                self.reports.push(report);
                let last_good = self.loader.last_good(&path);
                let standing =
                    if last_good.is_some() { Standing::LastGood } else { Standing::Broken };
                self.lay(layer, Some(path), standing, last_good);
            }
        }
        Ok(())
    }

    /// A file that the caller named must be there and must be right.
    fn explicit(&mut self, kind: &str, path: &Path) -> Result<(), LoadError> {
        self.file(Layer::Explicit, path.to_owned(), true)?;
        match self.origins.last() {
            Some(Origin { layer: Layer::Explicit, standing: Standing::Broken, .. }) => {
                let report = self.reports.pop().map_or_else(
                    || {
                        Box::new(Report::new(
                            Source::new(path.display().to_string(), ""),
                            Vec::new(),
                        ))
                    },
                    Box::new,
                );
                Err(LoadError::Broken { kind: kind.to_owned(), report })
            }
            Some(Origin { layer: Layer::Explicit, .. }) => Ok(()),
            _ => Err(LoadError::Read {
                path: path.to_owned(),
                error: io::ErrorKind::NotFound.into(),
            }),
        }
    }

    fn lay(
        &mut self,
        layer: Layer,
        path: Option<PathBuf>,
        standing: Standing,
        value: Option<Value>,
    ) {
        self.origins.push(Origin { layer, path, standing });
        if let Some(over) = value {
            self.value = Some(match self.value.take() {
                Some(under) => merge(under, over),
                None => over,
            });
        }
    }

    fn finish(mut self, kind: &str) -> Result<Loaded, LoadError> {
        let Some(value) = self.value else {
            let broken = self.origins.iter().any(|origin| origin.standing == Standing::Broken);
            return Err(match self.reports.pop() {
                Some(report) if broken => {
                    LoadError::Broken { kind: kind.to_owned(), report: Box::new(report) }
                }
                _ => self.loader.unknown(kind),
            });
        };
        let together = |error: String| LoadError::Together { kind: kind.to_owned(), error };
        let config: Config =
            serde_json::from_value(value).map_err(|error| together(error.to_string()))?;
        let rules = Rules::new(&config).map_err(|error| together(error.into()))?;
        Ok(Loaded {
            config: Arc::new(config),
            rules: Arc::new(rules),
            origins: self.origins,
            reports: self.reports,
        })
    }
}

/// A file's tree, with a report if there are warnings; or the report of its errors.
fn parse(path: &Path, bytes: Vec<u8>) -> Result<(Value, Option<Report>), Report> {
    let source = Source::from_bytes(path.display().to_string(), bytes)?;
    let read = Config::read(&source);
    let problems = read.problems;
    match read.node {
        Some(node) if !problems.iter().any(Problem::is_error) => {
            let report = (!problems.is_empty()).then(|| Report::new(source, problems));
            Ok((node.to_json(), report))
        }
        _ => Err(Report::new(source, problems)),
    }
}

/// The bytes of a file, or nothing if there is none.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, LoadError> {
    let failed = |error| LoadError::Read { path: path.to_owned(), error };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    // A pipe would wait for ever, a device never end.
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is no regular file")));
    }
    if metadata.len() > LARGEST {
        return Err(failed(io::Error::other(format!(
            "it has {} bytes; {LARGEST} is the limit",
            metadata.len()
        ))));
    }
    fs::read(path).map(Some).map_err(failed)
}

fn types_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_type(name) && folder.join(name).join(FILE).is_file())
        .collect()
}

/// Whether a text can be the type of an adapter; it becomes the name of a folder.
pub fn is_type(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        && !text.starts_with(['-', '_'])
}

/// What is known about every type: for listings, where one that is broken must not hide others.
pub type Catalogue = BTreeMap<String, Result<Loaded, LoadError>>;

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
