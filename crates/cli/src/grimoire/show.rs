//! `coven grimoire show`.

use coven_api::ProblemCode;
use coven_workflow::catalogue::UnusableGrimoire;
use coven_workflow::view::dry_run;
use serde_json::json;

use crate::failure::{CommandFailure, Result};
use crate::output;

pub(super) fn run(name: &str, plan: bool, as_json: bool) -> Result {
    let catalogue = super::catalogue();
    let Some(entry) = catalogue.get(name) else {
        if let Err(error) = catalogue.plan(name) {
            return Err(super::not_usable(error));
        }
        let message = format!("there is no grimoire `{name}`");
        return Err(CommandFailure::not_found(ProblemCode::GrimoireNotFound, message));
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
    crate::run::show_plan(&view)
}
