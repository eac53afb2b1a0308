//! `coven adapter test`.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_adapters::replay::{ReplayEvent, expected, matches_mark, replay};
use coven_adapters::{AdapterConfigLoader, ScreenRules};
use coven_api::ProblemCode;
use coven_model::AgentVerdict;
use serde_json::json;

use crate::failure::{CommandFailure, Result};
use crate::{folders, output};

/// What the replay of one recording gave.
struct RecordingOutcome {
    kind: String,
    file: PathBuf,
    marks: usize,
    wrong: Vec<String>,
}

pub(super) fn run(kinds: &[String], recordings: Option<&Path>, as_json: bool) -> Result {
    let adapters = AdapterConfigLoader::new(folders::adapters());
    let mut outcomes = Vec::new();
    if let Some(path) = recordings {
        let [kind] = kinds else {
            return Err(CommandFailure::usage("--recordings needs exactly one type")
                .hint("coven adapter test claude --recordings FOLDER"));
        };
        fs::metadata(path).map_err(|error| CommandFailure::unreadable(path, &error))?;
        let rules = adapters.load(kind, None).map_err(super::not_usable)?.rules;
        for file in casts(path) {
            outcomes.push(test(kind, &rules, file)?);
        }
    } else {
        let all: Vec<String> =
            if kinds.is_empty() { adapters.types().into_iter().collect() } else { kinds.to_vec() };
        for kind in &all {
            let loaded = adapters.load(kind, None).map_err(super::not_usable)?;
            let beside =
                loaded.origins.iter().filter_map(|origin| origin.path.as_deref()?.parent());
            for file in beside.flat_map(casts) {
                outcomes.push(test(kind, &loaded.rules, file)?);
            }
        }
    }
    if outcomes.is_empty() {
        let hint =
            "put asciicast files with marks such as `idle:start` beside an adapter's config.json";
        let message = "there are no recordings";
        return Err(CommandFailure::not_found(ProblemCode::NotFound, message).hint(hint));
    }
    tell(&outcomes, as_json)?;
    if outcomes.iter().all(|outcome| outcome.wrong.is_empty()) {
        Ok(())
    } else {
        Err(CommandFailure::told())
    }
}

/// The recordings at a path: itself, or those in the folder and the folders below it.
fn casts(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return if path.extension().is_some_and(|end| end == "cast") {
            vec![path.to_owned()]
        } else {
            Vec::new()
        };
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().filter(|path| !path.is_symlink()).flat_map(|path| casts(path)).collect()
}

fn test(kind: &str, rules: &Arc<ScreenRules>, file: PathBuf) -> Result<RecordingOutcome> {
    let failed = |error: String| CommandFailure::failed(format!("{}: {error}", file.display()));
    let open = File::open(&file).map_err(|error| failed(error.to_string()))?;
    let mut now: Option<AgentVerdict> = None;
    let mut marks = 0;
    let mut wrong = Vec::new();
    let told = |told| match told {
        ReplayEvent::Verdict(_, verdict) | ReplayEvent::Painted(_, verdict) => now = Some(verdict),
        ReplayEvent::Mark(time, mark) => {
            let Some(wanted) = expected(&mark) else { return };
            marks += 1;
            if let Some(verdict) = now.as_ref().filter(|verdict| !matches_mark(verdict, wanted)) {
                let kind = verdict.kind.map_or_else(String::new, |kind| format!(" ({kind})"));
                wrong.push(format!(
                    "{:.2} s: marked `{}`, read as {}{kind} by {}: {}",
                    time.as_secs_f64(),
                    coven_notation::printable(&mark),
                    verdict.state,
                    verdict.evidence.rule,
                    coven_notation::printable(&verdict.evidence.text),
                ));
            }
        }
    };
    replay(rules.clone(), BufReader::new(open), told).map_err(|error| failed(error.to_string()))?;
    Ok(RecordingOutcome { kind: kind.to_owned(), file, marks, wrong })
}

fn tell(outcomes: &[RecordingOutcome], as_json: bool) -> Result {
    if as_json {
        let entries: Vec<_> = outcomes
            .iter()
            .map(|outcome| json!({"type": outcome.kind, "file": outcome.file, "marks": outcome.marks, "wrong": outcome.wrong}))
            .collect();
        return output::json(&json!(entries));
    }
    for outcome in outcomes {
        let right = outcome.marks - outcome.wrong.len();
        output::line(&format!(
            "{}  {right}/{}  {}",
            outcome.kind,
            outcome.marks,
            outcome.file.display()
        ))?;
        for wrong in &outcome.wrong {
            output::line(&format!("    {wrong}"))?;
        }
    }
    let marks: usize = outcomes.iter().map(|outcome| outcome.marks).sum();
    let wrong: usize = outcomes.iter().map(|outcome| outcome.wrong.len()).sum();
    let recordings = match outcomes.len() {
        1 => "1 recording".to_owned(),
        many => format!("{many} recordings"),
    };
    output::line(&format!("{} of {marks} marks right in {recordings}", marks - wrong))
}
