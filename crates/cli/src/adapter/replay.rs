//! `coven adapter replay`.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;
use std::time::Duration;

use coven_adapters::AdapterConfigLoader;
use coven_adapters::replay::{ReplayEvent, replay};
use coven_model::AgentVerdict;
use serde_json::json;

use crate::failure::{CommandFailure, Result};
use crate::{folders, output};

/// How wide the lines for people are. All of the evidence is in the JSON.
const LINE_COLUMNS: usize = 79;

pub(super) fn run(kind: &str, file: &Path, as_json: bool, config: Option<&Path>) -> Result {
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let loaded = adapters.load(kind, config).map_err(super::not_usable)?;
    for report in &loaded.reports {
        output::report(report);
    }
    let mut written = Ok(());
    let told = |told| {
        if written.is_ok() {
            written = tell(&told, as_json);
        }
    };
    replay(loaded.rules, open(file)?, told).map_err(|error| {
        CommandFailure::failed(format!("{} cannot be replayed: {error}", file.display()))
            .hint("a recording is an asciicast v2 file, as `asciinema rec` or `coven play --export` make it")
    })?;
    written
}

fn open(file: &Path) -> Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(stdin())));
    }
    let open = File::open(file).map_err(|error| CommandFailure::unreadable(file, &error))?;
    Ok(Box::new(BufReader::new(open)))
}

fn tell(told: &ReplayEvent, as_json: bool) -> Result {
    match told {
        ReplayEvent::Verdict(time, verdict) if as_json => output::json_line(&line(*time, verdict)),
        ReplayEvent::Verdict(time, verdict) => {
            let state = match verdict.kind {
                Some(kind) => format!("{} ({kind})", verdict.state),
                None => verdict.state.to_string(),
            };
            let evidence = &verdict.evidence;
            let words: Vec<&str> = evidence.text.split_whitespace().collect();
            let line = format!(
                "{:>9.3}  {state:<19}  {}: {}",
                time.as_secs_f64(),
                evidence.rule,
                coven_notation::printable(&words.join(" ")),
            );
            output::line(output::shortened(&line, LINE_COLUMNS).trim_end_matches([' ', ':']))
        }
        ReplayEvent::Painted(..) => Ok(()),
        ReplayEvent::Mark(..) if as_json => Ok(()),
        ReplayEvent::Mark(time, label) => output::line(&format!(
            "{:>9.3}  # {}",
            time.as_secs_f64(),
            coven_notation::printable(label)
        )),
    }
}

fn line(time: Duration, verdict: &AgentVerdict) -> serde_json::Value {
    // Milliseconds are as exact as the screen is looked at.
    let seconds = (time.as_secs_f64() * 1000.0).round() / 1000.0;
    let mut line = json!({"t": seconds, "state": verdict.state, "kind": verdict.kind, "evidence": verdict.evidence});
    if let (Some(digest), Some(object)) = (&verdict.digest, line.as_object_mut()) {
        object.insert("digest".to_owned(), json!(digest));
    }
    line
}
