//! `coven adapter check`.

use std::path::{Path, PathBuf};

use coven_adapters::config::layering::check_layer;
use coven_adapters::loader::CONFIG_FILE;
use coven_adapters::{AdapterConfigLoader, Config, builtin, default_registry};
use coven_api::ProblemCode;
use coven_notation::{FileProblem, SourceFile, near};

use crate::failure::{CommandFailure, Result};
use crate::folders;
use crate::written::{read, report, tell};

pub(super) fn run(what: &[String], as_json: bool) -> Result {
    let mut reports = Vec::new();
    for what in what {
        let found = sources(what)?.into_iter();
        reports.extend(found.map(|(kind, file)| {
            report(file, |source| {
                let mut problems = Config::read(source).problems;
                problems.extend(between_layers(kind.as_deref(), source));
                problems
            })
        }));
    }
    tell(&reports, as_json)
}

/// What a file about a built-in type breaks that it does not mention.
fn between_layers(kind: Option<&str>, source: &SourceFile) -> Vec<FileProblem> {
    let below = kind.and_then(|kind| default_registry().loader().load(kind, None).ok());
    below.map(|below| check_layer(source, &below.config)).unwrap_or_default()
}

/// The type that a file is about, if it lies where such a file counts.
fn type_of(path: &Path) -> Option<String> {
    let named = path.file_name().is_some_and(|name| name == CONFIG_FILE);
    let folder = path.canonicalize().ok()?.parent()?.file_name()?.to_str()?.to_owned();
    named.then_some(folder)
}

/// The type that a file changes, and the file: its name and what is in it.
type LayerSource = (Option<String>, (String, Vec<u8>));

/// A file; or, for a name without a folder that is no file, every file about that type. Each with
/// the type that it changes.
fn sources(what: &str) -> Result<Vec<LayerSource>> {
    let path = Path::new(what);
    if path.is_dir() {
        let file = path.join(CONFIG_FILE);
        return Ok(vec![(type_of(&file), read(&file)?)]);
    }
    let is_named_so = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if path.exists() || what.contains('/') || is_named_so {
        return Ok(vec![(type_of(path), read(path)?)]);
    }
    let mut found = Vec::new();
    if let Some(text) = builtin::source(what) {
        found.push((None, (format!("built-in {what}"), text.as_bytes().to_vec())));
    }
    let places = folders::adapters();
    for folder in [places.user, places.project].into_iter().flatten() {
        let file: PathBuf = folder.join(what).join(CONFIG_FILE);
        if file.exists() {
            found.push((Some(what.to_owned()), read(&file)?));
        }
    }
    if found.is_empty() {
        let message = format!("`{what}` is neither a file nor an adapter");
        let failure = CommandFailure::not_found(ProblemCode::BadAdapter, message);
        let types = AdapterConfigLoader::new(folders::adapters()).types();
        return Err(match near(what, types.iter().map(String::as_str)).first() {
            Some(name) => failure.hint(format!("did you mean `{name}`?")),
            None => {
                failure.hint("`coven adapter ls` shows the adapters; a file is named by its path")
            }
        });
    }
    Ok(found)
}
