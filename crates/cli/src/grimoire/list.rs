//! `coven grimoire ls`.

use coven_workflow::catalogue::{CatalogueEntry, EntryStatus};
use serde_json::json;

use crate::failure::Result;
use crate::output;

pub(super) fn run(as_json: bool) -> Result {
    let catalogue = super::catalogue();
    if as_json {
        let entries: Vec<_> = catalogue
            .entries()
            .map(|entry| {
                json!({
                    "name": entry.name,
                    "description": entry.description(),
                    "layer": entry.layer.as_str(),
                    "path": entry.path,
                    "standing": standing(entry),
                    "usable": entry.is_usable(),
                    "problems": entry.report().to_json(),
                })
            })
            .collect();
        return output::json(&json!(entries));
    }
    let mut rows = vec![["NAME", "FROM", "DESCRIPTION"].map(str::to_owned).to_vec()];
    let mut broken = Vec::new();
    for entry in catalogue.entries() {
        let from = match standing(entry).as_str() {
            "" => entry.layer.as_str().to_owned(),
            standing => format!("{} ({standing})", entry.layer.as_str()),
        };
        rows.push(vec![entry.name.clone(), from, entry.description().to_owned()]);
        if entry.report().has_errors() {
            broken.push(entry.name.clone());
        }
    }
    output::write(&output::table(&rows, output::columns()))?;
    for name in broken {
        output::say!("\n{name} has errors: coven grimoire check {name}");
    }
    Ok(())
}

/// What keeps an entry from being what its name means; nothing if nothing does.
fn standing(entry: &CatalogueEntry) -> String {
    match &entry.standing {
        EntryStatus::Inert => "not trusted".to_owned(),
        EntryStatus::Overridden(by) => format!("overridden by {}", by.as_str()),
        EntryStatus::Current if entry.plan.is_none() => "has errors".to_owned(),
        EntryStatus::Current => String::new(),
    }
}
