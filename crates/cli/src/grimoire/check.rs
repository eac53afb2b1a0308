//! `coven grimoire check`.

use std::fs;
use std::path::Path;

use coven_notation::{Report, Source};
use coven_workflow::check;
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::output;

pub(super) fn run(what: &[String], as_json: bool) -> Result {
    let mut reports = Vec::new();
    for what in what {
        reports.extend(report(what)?);
    }
    if as_json {
        let files: Vec<_> = reports
            .iter()
            .map(|report| {
                json!({
                    "file": report.source.name(),
                    "ok": !report.has_errors(),
                    "problems": report.to_json(),
                })
            })
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

/// The problems of a file; or, for a name without a folder that is no file, of every grimoire of
/// that name.
fn report(what: &str) -> Result<Vec<Report>> {
    let path = Path::new(what);
    let is_path = path.exists() || what.contains('/') || path.extension().is_some();
    if is_path {
        let failed = |error| Failure::failed(format!("could not read {}: {error}", path.display()));
        let bytes = fs::read(path).map_err(failed)?;
        return Ok(vec![match Source::from_bytes(path.display().to_string(), bytes) {
            Ok(source) => {
                let problems = check(&source, &super::known()).problems;
                Report::new(source, problems)
            }
            Err(report) => report,
        }]);
    }
    let catalogue = super::catalogue();
    let named: Vec<Report> = catalogue
        .entries()
        .filter(|entry| entry.name == what)
        .map(coven_workflow::catalogue::Entry::report)
        .collect();
    match catalogue.plan(what) {
        Err(error) if named.is_empty() => Err(Failure::failed(error)),
        _ => Ok(named),
    }
}
