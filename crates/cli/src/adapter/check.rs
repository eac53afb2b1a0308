//! `coven adapter check`.

use std::fs;
use std::path::{Path, PathBuf};

use coven_adapters::loader::FILE;
use coven_adapters::{AdapterConfigLoader, Config, builtin};
use coven_notation::{Report, Source, near};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::{folders, output};

pub(super) fn run(what: &[String], as_json: bool) -> Result {
    let mut reports = Vec::new();
    for what in what {
        for (name, bytes) in sources(what)? {
            let report = match Source::from_bytes(name, bytes) {
                Ok(source) => {
                    let problems = Config::read(&source).problems;
                    Report::new(source, problems)
                }
                Err(report) => report,
            };
            reports.push(report);
        }
    }
    if as_json {
        let files: Vec<_> = reports
            .iter()
            .map(|report| json!({"file": report.source.name(), "ok": !report.has_errors(), "problems": report.to_json()}))
            .collect();
        output::json(&json!(files))?;
    } else {
        for report in &reports {
            eprint!("{}", report.render(output::colour_on_stderr()));
            if !report.has_errors() {
                output::line(&format!("{}: ok", report.source.name()))?;
            }
        }
    }
    if reports.iter().any(Report::has_errors) { Err(Failure::told()) } else { Ok(()) }
}

/// A file; or, for a name without a folder that is no file, every file about that type.
fn sources(what: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let path = Path::new(what);
    if path.is_dir() {
        return Ok(vec![read(&path.join(FILE))?]);
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
        let file: PathBuf = folder.join(what).join(FILE);
        if file.exists() {
            found.push(read(&file)?);
        }
    }
    if found.is_empty() {
        let failure = Failure::failed(format!("`{what}` is neither a file nor an adapter"));
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

fn read(path: &Path) -> Result<(String, Vec<u8>)> {
    let failed = |error| Failure::failed(format!("could not read {}: {error}", path.display()));
    Ok((path.display().to_string(), fs::read(path).map_err(failed)?))
}
