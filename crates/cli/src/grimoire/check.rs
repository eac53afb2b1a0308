//! `coven grimoire check`.

use std::path::Path;

use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check;

use crate::abilities;
use crate::failure::Result;
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
    let known = super::known();
    let is_path = path.exists() || what.contains('/') || path.extension().is_some();
    if is_path {
        let problems = |source: &SourceFile| {
            let checked = check(source, &known);
            let unable =
                checked.plan.as_ref().map(|plan| abilities::problems(plan, source, &known));
            [checked.problems, unable.unwrap_or_default()].concat()
        };
        return Ok(vec![report(read(path)?, problems)]);
    }
    let catalogue = super::catalogue();
    let named: Vec<ProblemReport> = catalogue
        .entries()
        .filter(|entry| entry.name == what)
        .map(|entry| {
            let mut report = entry.report();
            let plan = entry.plan.as_ref();
            let unable = plan.map(|plan| abilities::problems(plan, &report.source, &known));
            report.problems.extend(unable.unwrap_or_default());
            report
        })
        .collect();
    match catalogue.plan(what) {
        Err(error) if named.is_empty() => Err(super::not_usable(error)),
        _ => Ok(named),
    }
}
