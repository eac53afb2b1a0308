//! `coven policy test`.

use std::path::Path;

use coven_api::intervention::{InterventionItem, InterventionQuery, InterventionState};
use coven_api::workflow::ListQuery;
use coven_api::{ApiClient, ProblemCode};
use coven_policy::{EffectivePolicies, PastQuestion, RuleEffect, TrialRow, test};
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::output::PutText;
use crate::{find, folders, output, question};

use super::accept;

pub(super) fn run(file: Option<&Path>, session: Option<&str>, limit: u32, as_json: bool) -> Result {
    let policies = policies(file)?;
    let past = block_on(async {
        let client = connect::daemon().await?;
        past(&client, session, limit).await
    })?;
    let trial = test(&policies, past.iter().map(|past| asked(&past.item)));
    if as_json {
        let rows: Vec<_> =
            trial.rows.iter().zip(&past).map(|(row, past)| row_json(row, past)).collect();
        let unused: Vec<String> = trial.unused.iter().map(|(_, rule)| rule.name.clone()).collect();
        return output::json(&json!({"rows": rows, "unused": unused}));
    }
    if trial.rows.is_empty() {
        output::say!("Nothing was asked yet that a policy could be held against.");
    } else {
        let mut rows =
            vec![["SESSION", "THEN", "NOW", "WHAT WAS ASKED"].map(str::to_owned).to_vec()];
        rows.extend(trial.rows.iter().zip(&past).map(|(row, past)| row_cells(row, past)));
        output::write(&output::table(&rows, output::columns()))?;
        output::write(&commands(&trial.rows, &past))?;
    }
    for (_, rule) in &trial.unused {
        output::say!("note: `{}` (line {}) decided nothing", rule.name, rule.line);
    }
    let differ = trial.rows.iter().filter(|row| row.agrees == Some(false)).count();
    if differ > 0 {
        output::say!("{differ} would be decided otherwise than they were.");
    }
    Ok(())
}

/// The policies in use, or the one in a file. Says what is probably not meant in them.
fn policies(file: Option<&Path>) -> Result<EffectivePolicies> {
    if let Some(path) = file {
        let user = Some(accept::check(path)?);
        return Ok(EffectivePolicies { user, ..EffectivePolicies::default() });
    }
    let places = folders::places()?;
    let user = coven_daemon::read_user_policy(&places).map_err(CommandFailure::failed)?;
    if let Some(policy) = &user {
        accept::check(&places.policy())?;
        if !policy.is_accepted() {
            output::say!(
                "note: your policy was not accepted as it is now, so what it allows is asked: \
                 coven policy accept"
            );
        }
    }
    let project = folders::trusted_policy().map_err(CommandFailure::failed)?;
    if project.is_some()
        && let Some(base) = folders::unchanged_project()
    {
        accept::check(&base.join(".coven/policy.yaml"))?;
    }
    if user.is_none() && project.is_none() {
        let message = "there is no policy, so every question is asked";
        return Err(CommandFailure::not_found(ProblemCode::NotFound, message)
            .hint("write one, then: coven policy test FILE   (its form: coven schema policy)"));
    }
    Ok(EffectivePolicies { user, project, unreadable: false })
}

/// Something that was asked before.
struct PastItem {
    item: InterventionItem,
    /// Whether it still waits for a person. What was not decided and does not is over.
    is_open: bool,
}

impl PastItem {
    /// What came of it, in one word.
    fn then(&self) -> String {
        match &self.item.decision {
            Some(decision) => decision.choice.to_string(),
            None if self.is_open => "open".to_owned(),
            None => "withdrawn".to_owned(),
        }
    }
}

/// What was asked before: of one session, or of the newest.
async fn past(client: &ApiClient, session: Option<&str>, limit: u32) -> Result<Vec<PastItem>> {
    let ids = if let Some(name) = session {
        vec![find::workflow(client, name).await?.item.address()]
    } else {
        let query = ListQuery { limit: Some(limit.clamp(1, 1000)), ..ListQuery::default() };
        client.workflows(&query).await?.workflows.into_iter().map(|item| item.address()).collect()
    };
    let mut past = Vec::new();
    for id in ids {
        for state in [InterventionState::Decided, InterventionState::Open] {
            let query = InterventionQuery { state: Some(state), workflow: Some(id.clone()) };
            let found = client.interventions(&query).await?.interventions;
            let is_open = state == InterventionState::Open;
            past.extend(found.into_iter().map(|item| PastItem { item, is_open }));
        }
    }
    Ok(past)
}

fn asked(item: &InterventionItem) -> PastQuestion<'_> {
    PastQuestion {
        intervention: &item.intervention,
        adapter: item.adapter.as_deref().unwrap_or_default(),
        dialog: None,
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

fn row_cells(row: &TrialRow<'_>, past: &PastItem) -> Vec<String> {
    let mark = if row.agrees == Some(false) { " !" } else { "" };
    vec![
        past.item.workflow_name.clone(),
        past.then(),
        format!("{}{mark}", ruling(row)),
        question::asked(row.past.intervention),
    ]
}

/// The commands that were asked for, with the rule for each part.
fn commands(rows: &[TrialRow<'_>], past: &[PastItem]) -> String {
    let mut text = String::new();
    for (row, PastItem { item, .. }) in rows.iter().zip(past) {
        let asked = row.past.intervention;
        let Some(command) = &asked.command else { continue };
        text.put(format!("\n{}: {}\n", item.workflow_name, shown(command)));
        if asked.truncated {
            text.put("  a part of it was not on the screen, so no rule allows it\n".to_owned());
        }
        let Some(decision) = &row.decision else {
            text.put("  no policy was asked about it\n".to_owned());
            continue;
        };
        let parts = decision.parts.iter().map(|part| {
            let rule = match (&part.rule, part.reason.as_str()) {
                (Some(rule), "") => format!("{} (line {})", rule.name, rule.line),
                (Some(rule), reason) => format!("{} (line {}): {reason}", rule.name, rule.line),
                (None, reason) => reason.to_owned(),
            };
            vec![format!("  {}", part.ruling), shown(&part.text), rule]
        });
        let parts: Vec<Vec<String>> = parts.collect();
        text.put(output::table(&parts, usize::MAX));
    }
    text
}

/// A command on one line, whole.
fn shown(command: &str) -> String {
    output::clean(command).lines().collect::<Vec<_>>().join(" ⏎ ")
}

fn row_json(row: &TrialRow<'_>, past: &PastItem) -> serde_json::Value {
    let rule = row.decision.as_ref().and_then(|decision| decision.rule.as_ref());
    json!({
        "id": row.past.intervention.id,
        "kind": row.past.intervention.kind,
        "adapter": row.past.adapter,
        "then": row.past.decided,
        "open": past.is_open,
        "now": ruling(row),
        "rule": rule.map(|rule| &rule.name),
        "command": row.past.intervention.command,
        "truncated": row.past.intervention.truncated,
        "parts": row.decision.iter().flat_map(|decision| &decision.parts).map(|part| json!({
            "text": part.text,
            "now": part.ruling.to_string(),
            "rule": part.rule.as_ref().map(|rule| &rule.name),
            "reason": part.reason,
        })).collect::<Vec<_>>(),
        "agrees": row.agrees,
    })
}
