//! `coven grimoire check`.

use std::path::Path;

use coven_notation::ProblemReport;
use coven_workflow::check;

use crate::failure::{CommandFailure, Result};
use crate::written::{read, report, tell};

pub(super) fn run(what: &[String], as_json: bool) -> Result {
    let mut reports = Vec::new();
    for what in what {
        reports.extend(found(what)?);
    }
    tell(&reports, as_json)
}

/// The problems of a file; or, for a name without a folder that is no file, of every grimoire of
/// that name.
fn found(what: &str) -> Result<Vec<ProblemReport>> {
    let path = Path::new(what);
    let is_path = path.exists() || what.contains('/') || path.extension().is_some();
    if is_path {
        let known = super::known();
        return Ok(vec![report(read(path)?, |source| check(source, &known).problems)]);
    }
    let catalogue = super::catalogue();
    let named: Vec<ProblemReport> = catalogue
        .entries()
        .filter(|entry| entry.name == what)
        .map(coven_workflow::catalogue::CatalogueEntry::report)
        .collect();
    match catalogue.plan(what) {
        Err(error) if named.is_empty() => Err(CommandFailure::failed(error)),
        _ => Ok(named),
    }
}
