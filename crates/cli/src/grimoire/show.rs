//! `coven grimoire show`.

use coven_workflow::catalogue::UnusableGrimoire;
use coven_workflow::view::dry_run;
use serde_json::json;

use crate::failure::{CommandFailure, Result};
use crate::output;

pub(super) fn run(name: &str, plan: bool, as_json: bool) -> Result {
    let catalogue = super::catalogue();
    let Some(entry) = catalogue.get(name) else {
        return Err(match catalogue.plan(name) {
            Err(error) => CommandFailure::failed(error),
            Ok(_) => CommandFailure::failed(format!("there is no grimoire `{name}`")),
        });
    };
    let from = entry.path.as_ref().map_or_else(String::new, |path| format!(": {}", path.display()));
    output::say!("from {}{from}", entry.layer.as_str());
    if !plan {
        if as_json {
            let definition = entry.plan.as_ref().map(|plan| &plan.definition);
            return output::json(
                &json!({"name": entry.name, "layer": entry.layer.as_str(), "path": entry.path, "text": entry.source.text(), "definition": definition}),
            );
        }
        return output::file(entry.source.text());
    }
    let view = dry_run(entry.plan.as_ref().ok_or_else(|| {
        CommandFailure::failed(UnusableGrimoire::Broken { name: name.to_owned() })
    })?);
    if as_json {
        return output::json(&serde_json::to_value(&view).map_err(CommandFailure::failed)?);
    }
    let mut rows = vec![["STEP", "TYPE", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for row in &view.rows {
        rows.push(vec![row.step.clone(), row.kind.clone(), row.note.clone()]);
        // A step with one task of its own name says nothing more by listing it.
        for lane in row.lanes.iter().filter(|lane| lane.task.as_str() != row.step) {
            rows.push(vec![format!("  {}", lane.task), String::new(), String::new()]);
        }
    }
    output::write(&output::table(&rows, output::columns()))
}
