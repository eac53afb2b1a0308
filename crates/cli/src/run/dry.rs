//! What a run would do, without doing it and without the daemon.

use coven_adapters::AdapterConfigLoader;
use coven_model::PlanView;
use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::catalogue::GrimoireCatalogue;
use coven_workflow::view::dry_run;
use coven_workflow::{CheckEnvironment, check};

use super::RunTarget;
use crate::failure::{CommandFailure, Result};
use crate::{abilities, folders, output};

pub(super) fn run(what: &RunTarget, as_json: bool) -> Result {
    let known = CheckEnvironment::new(AdapterConfigLoader::new(folders::adapters()).types());
    let mut unable = Vec::new();
    let view = match what {
        RunTarget::Grimoire(name) => {
            let catalogue = GrimoireCatalogue::load(&folders::grimoires(), &known);
            let plan = catalogue.plan(name).map_err(CommandFailure::failed)?;
            unable.extend(abilities::unable(plan));
            dry_run(plan)
        }
        RunTarget::Definition(definition) => {
            let source = SourceFile::new(definition.name.as_str(), definition.text.as_str());
            let checked = check(&source, &known);
            let Some(plan) = checked.plan else {
                let report = ProblemReport::new(source, checked.problems);
                output::report(&report);
                return Err(CommandFailure::told());
            };
            unable.extend(abilities::unable(&plan));
            dry_run(&plan)
        }
    };
    if as_json { output::as_json(&view) } else { show(&view) }?;
    for problem in &unable {
        let severity = if problem.fatal { "error" } else { "warning" };
        output::say!("{severity}: {}", output::one_line(&problem.message));
        output::say!("hint: {}", output::one_line(&problem.help));
    }
    if unable.iter().any(|problem| problem.fatal) { Err(CommandFailure::told()) } else { Ok(()) }
}

/// A plan as a table.
pub(crate) fn show(view: &PlanView) -> Result {
    let mut rows = vec![["STEP", "TYPE", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for row in &view.rows {
        let cells = [&row.step, &row.kind, &row.note].map(|text| output::one_line(text));
        rows.push(cells.to_vec());
        // A step with one task of its own name says nothing more by listing it.
        for lane in row.lanes.iter().filter(|lane| lane.task.as_str() != row.step) {
            rows.push(vec![format!("  {}", lane.task), String::new(), String::new()]);
        }
    }
    output::write(&output::table(&rows, output::columns()))
}
