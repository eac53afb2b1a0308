//! `coven adapter show`.

use coven_adapters::{AdapterConfigLoader, builtin};
use coven_api::ProblemCode;
use serde_json::json;

use super::list::layers;
use crate::failure::{CommandFailure, Result};
use crate::{folders, output};

pub(super) fn run(kind: &str, as_json: bool, source: bool) -> Result {
    if source {
        let text = builtin::source(kind).ok_or_else(|| {
            let types: Vec<&str> = builtin::types().collect();
            let message = format!("`{kind}` is not built in");
            CommandFailure::not_found(ProblemCode::BadAdapter, message)
                .hint(format!("these are: {}", types.join(", ")))
        })?;
        return output::file(text);
    }
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let loaded = adapters.load(kind, None).map_err(super::not_usable)?;
    for report in &loaded.reports {
        output::report(report);
    }
    let config = serde_json::to_value(&*loaded.config).map_err(CommandFailure::failed)?;
    if as_json {
        return output::json(&json!({"type": kind, "layers": layers(&loaded), "config": config}));
    }
    for origin in &loaded.origins {
        let place =
            origin.path.as_ref().map_or_else(String::new, |path| format!(": {}", path.display()));
        output::say!("from {}{place}", origin.layer);
    }
    output::json(&config)
}
