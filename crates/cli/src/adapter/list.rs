//! `coven adapter ls`.

use coven_adapters::AdapterConfigLoader;
use coven_adapters::loader::{LoadedAdapter, OriginStatus};
use coven_adapters::registry::AdapterMetadata;
use coven_model::AgentMode;
use coven_notation::ProblemReport;
use serde_json::json;

use crate::failure::Result;
use crate::{folders, output};

pub(super) fn run(as_json: bool) -> Result {
    let catalogue = AdapterConfigLoader::new(folders::adapters()).load_all();
    if as_json {
        let entries: Vec<_> = catalogue
            .iter()
            .map(|(kind, loaded)| match loaded {
                Ok(loaded) => entry(kind, loaded),
                Err(error) => json!({"type": kind, "error": error.to_string()}),
            })
            .collect();
        return output::json(&json!(entries));
    }
    let mut rows = vec![["TYPE", "NAME", "MODES", "TESTED", "FROM"].map(str::to_owned).to_vec()];
    let mut notes = Vec::new();
    for (kind, loaded) in &catalogue {
        match loaded {
            Ok(loaded) => {
                let metadata = AdapterMetadata::new(kind, &loaded.config);
                let modes: Vec<&str> = metadata.modes.keys().map(|mode| mode.as_str()).collect();
                rows.push(vec![
                    kind.clone(),
                    metadata.display_name,
                    modes.join(", "),
                    metadata.tested_version.unwrap_or_else(|| "-".to_owned()),
                    from(loaded),
                ]);
            }
            Err(error) => notes.push(format!("{kind}: {error}")),
        }
    }
    output::write(&output::table(&rows, output::columns()))?;
    for report in catalogue.values().filter_map(|loaded| loaded.as_ref().ok()).flat_map(reports) {
        output::say!("");
        output::report(report);
    }
    for note in notes {
        output::say!("\n{note}");
    }
    Ok(())
}

fn reports(loaded: &LoadedAdapter) -> &[ProblemReport] {
    &loaded.reports
}

fn entry(kind: &str, loaded: &LoadedAdapter) -> serde_json::Value {
    let metadata = AdapterMetadata::new(kind, &loaded.config);
    let modes: Vec<&str> = metadata.modes.keys().copied().map(AgentMode::as_str).collect();
    let problems: Vec<_> = loaded.reports.iter().map(ProblemReport::to_json).collect();
    json!({
        "type": kind,
        "displayName": metadata.display_name,
        "icon": metadata.icon,
        "modes": modes,
        "testedVersion": metadata.tested_version,
        "layers": layers(loaded),
        "problems": problems,
    })
}

pub(super) fn layers(loaded: &LoadedAdapter) -> serde_json::Value {
    let layers = loaded.origins.iter().map(|origin| {
        json!({
            "layer": origin.layer.to_string(),
            "path": origin.path,
            "standing": match origin.standing {
                OriginStatus::Used => "used",
                OriginStatus::LastGood => "last good content",
                OriginStatus::Broken => "broken",
                OriginStatus::Untrusted => "not trusted",
            },
        })
    });
    layers.collect()
}

fn from(loaded: &LoadedAdapter) -> String {
    let layers = loaded.origins.iter().map(|origin| match origin.standing {
        OriginStatus::Used => origin.layer.to_string(),
        OriginStatus::LastGood => format!("{} (last good)", origin.layer),
        OriginStatus::Broken => format!("{} (broken)", origin.layer),
        OriginStatus::Untrusted => format!("{} (not trusted)", origin.layer),
    });
    layers.collect::<Vec<_>>().join(" < ")
}
