//! `coven policy test`.

use std::path::{Path, PathBuf};

use coven_api::ApiClient;
use coven_api::intervention::{InterventionItem, InterventionQuery, InterventionState};
use coven_api::workflow::ListQuery;
use coven_notation::SourceFile;
use coven_policy::{EffectivePolicies, PastQuestion, Policy, RuleEffect, TrialRow, test};
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::{find, folders, output, question, written};

pub(super) fn run(file: Option<&Path>, session: Option<&str>, limit: u32, as_json: bool) -> Result {
    let policies = policies(file)?;
    let past = block_on(async {
        let client = connect::daemon().await?;
        past(&client, session, limit).await
    })?;
    let trial = test(&policies, past.iter().map(asked));
    if as_json {
        let rows: Vec<_> = trial.rows.iter().map(row_json).collect();
        let unused: Vec<String> = trial.unused.iter().map(|(_, rule)| rule.name.clone()).collect();
        return output::json(&json!({"rows": rows, "unused": unused}));
    }
    if trial.rows.is_empty() {
        eprintln!("Nothing was asked yet that a policy could be held against.");
    } else {
        let mut rows =
            vec![["SESSION", "THEN", "NOW", "WHAT WAS ASKED"].map(str::to_owned).to_vec()];
        rows.extend(trial.rows.iter().zip(&past).map(|(row, item)| row_cells(row, item)));
        output::write(&output::table(&rows, output::columns()))?;
    }
    for (_, rule) in &trial.unused {
        eprintln!("note: `{}` (line {}) decided nothing", rule.name, rule.line);
    }
    let differ = trial.rows.iter().filter(|row| row.agrees == Some(false)).count();
    if differ > 0 {
        eprintln!("{differ} would be decided otherwise than they were.");
    }
    Ok(())
}

/// The policies in use, or the one in a file.
fn policies(file: Option<&Path>) -> Result<EffectivePolicies> {
    let read = |path: &Path| -> Result<Policy> {
        let (name, bytes) = written::read(path)?;
        let tell = |report: coven_notation::ProblemReport| {
            eprint!("{}", report.render(output::colour_on_stderr()));
            CommandFailure::told()
        };
        let source = SourceFile::from_bytes(name, bytes).map_err(tell)?;
        Policy::read(&source).map_err(tell)
    };
    if let Some(path) = file {
        return Ok(EffectivePolicies { user: Some(read(path)?), ..EffectivePolicies::default() });
    }
    let in_use = |path: Option<PathBuf>| match path {
        Some(path) => coven_daemon::read_policy(&path).map_err(CommandFailure::failed),
        None => Ok(None),
    };
    let user = in_use(folders::config().map(|config| config.join("policy.yaml")))?;
    let project = in_use(folders::trusted_project().map(|base| base.join(".coven/policy.yaml")))?;
    if user.is_none() && project.is_none() {
        return Err(CommandFailure::failed("there is no policy, so every question is asked")
            .hint("write one, then: coven policy test FILE   (its form: coven schema policy)"));
    }
    Ok(EffectivePolicies { user, project })
}

/// What was asked before: of one session, or of the newest.
async fn past(
    client: &ApiClient,
    session: Option<&str>,
    limit: u32,
) -> Result<Vec<InterventionItem>> {
    let ids = if let Some(name) = session {
        vec![find::workflow(client, name).await?.item.id]
    } else {
        let query = ListQuery { limit: Some(limit.clamp(1, 1000)), ..ListQuery::default() };
        client.workflows(&query).await?.workflows.into_iter().map(|item| item.id).collect()
    };
    let mut past = Vec::new();
    for id in ids {
        for state in [InterventionState::Decided, InterventionState::Open] {
            let query = InterventionQuery { state: Some(state), workflow: Some(id.to_string()) };
            past.extend(client.interventions(&query).await?.interventions);
        }
    }
    Ok(past)
}

fn asked(item: &InterventionItem) -> PastQuestion<'_> {
    PastQuestion {
        intervention: &item.intervention,
        adapter: item.adapter.as_deref().unwrap_or_default(),
        dialog: None,
        tool: None,
        decided: item.decision.as_ref().map(|decision| decision.choice),
    }
}

fn ruling(row: &TrialRow<'_>) -> String {
    match &row.decision {
        None => "-".to_owned(),
        Some(decision) => match &decision.ruling {
            RuleEffect::Ask => "ask".to_owned(),
            ruling => ruling.choice().map_or_else(|| "ask".to_owned(), |choice| choice.to_string()),
        },
    }
}

fn row_cells(row: &TrialRow<'_>, item: &InterventionItem) -> Vec<String> {
    let then = row.past.decided.map_or_else(|| "open".to_owned(), |choice| choice.to_string());
    let mark = if row.agrees == Some(false) { " !" } else { "" };
    vec![
        item.workflow_name.clone(),
        then,
        format!("{}{mark}", ruling(row)),
        question::asked(row.past.intervention),
    ]
}

fn row_json(row: &TrialRow<'_>) -> serde_json::Value {
    let rule = row.decision.as_ref().and_then(|decision| decision.rule.as_ref());
    json!({
        "id": row.past.intervention.id,
        "kind": row.past.intervention.kind,
        "adapter": row.past.adapter,
        "then": row.past.decided,
        "now": ruling(row),
        "rule": rule.map(|rule| &rule.name),
        "agrees": row.agrees,
    })
}
