//! `coven adapter show`.

use coven_adapters::config::Config;
use coven_adapters::{AdapterConfigLoader, ProgramVersion, builtin};
use coven_api::ProblemCode;
use coven_runtime::installed;
use serde_json::json;

use super::list::layers;
use crate::doctor;
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
    if let Some(words) = channel(kind, &loaded.config) {
        output::say!("{words}");
    }
    output::json(&config)
}

/// Which protocol headless steps are spoken to in, and whether the installed program speaks it.
fn channel(kind: &str, config: &Config) -> Option<String> {
    let channel = config.channel.as_ref()?;
    let since = channel.since.as_ref().map(|since| format!(" from {since} on"));
    let spoken = format!("channel {}{}", channel.kind, since.unwrap_or_default());
    let program = config.command.as_deref().unwrap_or(kind);
    let Some(path) = doctor::find(program) else {
        return Some(format!("{spoken}: `{program}` is not installed"));
    };
    let printed = installed::printed_by(&path, &config.version_args, None, doctor::VERSION_TIMEOUT);
    let version = printed.ok().and_then(|printed| ProgramVersion::find(&printed));
    Some(match (&version, channel.too_old(program, config, version.as_ref())) {
        (_, Some(reason)) => {
            format!("{spoken}: not used, its steps get one prompt and ask nobody; {reason}")
        }
        (Some(version), None) => {
            format!("{spoken}: used by headless steps that ask or have inputs ({version})")
        }
        (None, None) => {
            format!("{spoken}: used, though {} does not say its version", path.display())
        }
    })
}
