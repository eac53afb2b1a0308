//! The files about one adapter, read and laid over each other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coven_model::AdapterFault;
use coven_notation::{FileProblem, ProblemReport, SourceFile, TrustedFiles};
use serde_json::Value;

use super::{
    AdapterConfigLoader, AdapterLayer, ConfigOrigin, LAUNCH_KEYS, LayerAccess, LoadError,
    LoadedAdapter, OriginStatus,
};
use crate::config::layering::headless_fault;
use crate::config::{Config, merge};

/// No adapter file is larger.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Layers on their way to becoming one.
pub(super) struct LayerStack<'a> {
    loader: &'a AdapterConfigLoader,
    built_in: Option<Value>,
    value: Option<Value>,
    headless_fault: Option<AdapterFault>,
    origins: Vec<ConfigOrigin>,
    reports: Vec<ProblemReport>,
}

impl<'a> LayerStack<'a> {
    pub(super) fn new(loader: &'a AdapterConfigLoader) -> Self {
        Self {
            loader,
            built_in: None,
            value: None,
            headless_fault: None,
            origins: Vec::new(),
            reports: Vec::new(),
        }
    }

    pub(super) fn built_in(&mut self, kind: &str, text: &str) -> Result<(), LoadError> {
        let source = SourceFile::new(format!("built-in {kind}"), text);
        let read = Config::read(&source);
        if let Some(node) = read.node.filter(|_| read.value.is_some()) {
            self.built_in = Some(node.to_json());
            self.add_layer(AdapterLayer::BuiltIn, None, OriginStatus::Used, self.built_in.clone());
            return Ok(());
        }
        let report = Box::new(ProblemReport::new(source, read.problems));
        Err(LoadError::Broken { kind: kind.to_owned(), report })
    }

    pub(super) fn file(
        &mut self,
        layer: AdapterLayer,
        path: PathBuf,
        access: LayerAccess<'_>,
    ) -> Result<(), LoadError> {
        let bytes = match access {
            LayerAccess::Disk => read_file(&path)?,
            LayerAccess::Copy(files) => files.content(&path).map(<[u8]>::to_owned),
            LayerAccess::Listed => None,
        };
        let Some(bytes) = bytes else {
            if !matches!(access, LayerAccess::Disk) && path.is_file() {
                self.add_layer(layer, Some(path), OriginStatus::Untrusted, None);
            }
            return Ok(());
        };
        match parse(&path, bytes) {
            Ok((mut value, report)) => {
                if let LayerAccess::Copy(files) = access {
                    run_from_copy(&mut value, files);
                }
                self.loader.remember(&path, &value);
                self.reports.extend(report);
                self.add_layer(layer, Some(path), OriginStatus::Used, Some(value));
            }
            Err(report) => {
                self.reports.push(report);
                let last_good = self.loader.last_good(&path);
                let standing =
                    if last_good.is_some() { OriginStatus::LastGood } else { OriginStatus::Broken };
                self.add_layer(layer, Some(path), standing, last_good);
            }
        }
        Ok(())
    }

    /// A file that the caller named must be there and must be right.
    pub(super) fn add_explicit_file(&mut self, kind: &str, path: &Path) -> Result<(), LoadError> {
        self.file(AdapterLayer::Explicit, path.to_owned(), LayerAccess::Disk)?;
        match self.origins.last() {
            Some(ConfigOrigin {
                layer: AdapterLayer::Explicit,
                standing: OriginStatus::Broken,
                ..
            }) => {
                let report = self.reports.pop().map_or_else(
                    || {
                        Box::new(ProblemReport::new(
                            SourceFile::new(path.display().to_string(), ""),
                            Vec::new(),
                        ))
                    },
                    Box::new,
                );
                Err(LoadError::Broken { kind: kind.to_owned(), report })
            }
            Some(ConfigOrigin { layer: AdapterLayer::Explicit, .. }) => Ok(()),
            _ => Err(LoadError::Read {
                path: path.to_owned(),
                error: io::ErrorKind::NotFound.into(),
            }),
        }
    }

    fn add_layer(
        &mut self,
        layer: AdapterLayer,
        path: Option<PathBuf>,
        standing: OriginStatus,
        value: Option<Value>,
    ) {
        self.origins.push(ConfigOrigin { layer, path, standing });
        if let Some(over) = value {
            if layer != AdapterLayer::BuiltIn
                && let Some(built_in) = &self.built_in
            {
                let below = self.headless_fault.take();
                self.headless_fault = headless_fault(&over, built_in, below);
            }
            self.value = Some(match self.value.take() {
                Some(under) => merge(under, over),
                None => over,
            });
        }
    }

    pub(super) fn finish(mut self, kind: &str) -> Result<LoadedAdapter, LoadError> {
        let Some(value) = self.value else {
            let broken = self.origins.iter().any(|origin| origin.standing == OriginStatus::Broken);
            return Err(match self.reports.pop() {
                Some(report) if broken => {
                    LoadError::Broken { kind: kind.to_owned(), report: Box::new(report) }
                }
                _ => self.loader.unknown(kind),
            });
        };
        let (config, rules) = self.loader.compiled(kind, value)?;
        let (origins, reports) = (self.origins, self.reports);
        Ok(LoadedAdapter { config, rules, origins, reports, headless_fault: self.headless_fault })
    }
}

/// Makes a command, arguments and variables that name trusted files of the project name their
/// copies, so that a job that may edit the project cannot exchange what runs.
fn run_from_copy(config: &mut Value, files: &TrustedFiles) {
    for key in LAUNCH_KEYS {
        if let Some(value) = config.get_mut(key) {
            name_copies(value, files);
        }
    }
}

fn name_copies(value: &mut Value, files: &TrustedFiles) {
    match value {
        Value::String(text) => {
            if let Some(copy) = files.naming_copy(text) {
                *text = copy;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| name_copies(value, files)),
        Value::Object(map) => map.values_mut().for_each(|value| name_copies(value, files)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A file's tree, with a report if there are warnings; or the report of its errors.
fn parse(path: &Path, bytes: Vec<u8>) -> Result<(Value, Option<ProblemReport>), ProblemReport> {
    let source = SourceFile::from_bytes(path.display().to_string(), bytes)?;
    let read = Config::read(&source);
    let problems = read.problems;
    match read.node {
        Some(node) if !problems.iter().any(FileProblem::is_error) => {
            let report = (!problems.is_empty()).then(|| ProblemReport::new(source, problems));
            Ok((node.to_json(), report))
        }
        _ => Err(ProblemReport::new(source, problems)),
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
    if metadata.len() > MAX_FILE_BYTES {
        return Err(failed(io::Error::other(format!(
            "it has {} bytes; {MAX_FILE_BYTES} is the limit",
            metadata.len()
        ))));
    }
    fs::read(path).map(Some).map_err(failed)
}
