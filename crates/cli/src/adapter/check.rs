//! `coven adapter check`.

use std::path::{Path, PathBuf};

use coven_adapters::loader::CONFIG_FILE;
use coven_adapters::{AdapterConfigLoader, Config, builtin};
use coven_notation::near;

use crate::failure::{CommandFailure, Result};
use crate::folders;
use crate::written::{read, report, tell};

pub(super) fn run(what: &[String], as_json: bool) -> Result {
    let mut reports = Vec::new();
    for what in what {
        let found = sources(what)?.into_iter();
        reports.extend(found.map(|file| report(file, |source| Config::read(source).problems)));
    }
    tell(&reports, as_json)
}

/// A file; or, for a name without a folder that is no file, every file about that type.
fn sources(what: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let path = Path::new(what);
    if path.is_dir() {
        return Ok(vec![read(&path.join(CONFIG_FILE))?]);
    }
    let is_named_so = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if path.exists() || what.contains('/') || is_named_so {
        return Ok(vec![read(path)?]);
    }
    let mut found = Vec::new();
    if let Some(text) = builtin::source(what) {
        found.push((format!("built-in {what}"), text.as_bytes().to_vec()));
    }
    let places = folders::adapters();
    for folder in [places.user, places.project].into_iter().flatten() {
        let file: PathBuf = folder.join(what).join(CONFIG_FILE);
        if file.exists() {
            found.push(read(&file)?);
        }
    }
    if found.is_empty() {
        let failure = CommandFailure::failed(format!("`{what}` is neither a file nor an adapter"));
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
