//! What a policy would have done with what was asked before: the logic of `coven policy test`.

use std::collections::HashSet;

use coven_model::{AwaitingKind, Choice, Intervention, InterventionKind};

use crate::{Decision, Layer, Policies, Question, RuleName};

/// Something that was asked before, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    pub intervention: &'a Intervention,
    /// The type of the agent that asked.
    pub adapter: &'a str,
    /// The dialog, when it was one that the adapter knows.
    pub dialog: Option<&'a str>,
    /// The tool it was about, when the adapter could tell.
    pub tool: Option<&'a str>,
    /// What was decided, if it was.
    pub decided: Option<Choice>,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub past: Past<'a>,
    /// What the policy says; `None` when a policy has no say in this kind of intervention.
    pub decision: Option<Decision>,
    /// Whether that is what was decided then; `None` when either of the two is open.
    pub agrees: Option<bool>,
}

#[derive(Debug, Clone)]
pub struct Trial<'a> {
    /// One row for each intervention, in the order given.
    pub rows: Vec<Row<'a>>,
    /// Rules that decided nothing.
    pub unused: Vec<(Layer, RuleName)>,
}

/// Holds policies against what was asked before. Nothing is carried out.
pub fn test<'a>(policies: &Policies, past: impl IntoIterator<Item = Past<'a>>) -> Trial<'a> {
    let mut used: HashSet<(Layer, RuleName)> = HashSet::new();
    let mut rows = Vec::new();
    for past in past {
        let decision = awaiting(past.intervention.kind).map(|kind| {
            let excerpt: Vec<String> =
                past.intervention.excerpt.lines().map(str::to_owned).collect();
            policies.decide(&Question {
                adapter: past.adapter,
                kind,
                rule: "",
                dialog: past.dialog,
                tool: past.tool,
                excerpt: &excerpt,
                digest: past.intervention.digest.as_ref(),
            })
        });
        if let Some(Decision { rule: Some(rule), layer: Some(layer), .. }) = &decision {
            used.insert((*layer, rule.clone()));
        }
        let said = decision.as_ref().and_then(|decision| decision.ruling.choice());
        let agrees = said.zip(past.decided).map(|(said, decided)| said == decided);
        rows.push(Row { past, decision, agrees });
    }
    let all = policies.rules().map(|(layer, name)| (layer, name.clone()));
    let unused = all.filter(|rule| !used.contains(rule)).collect();
    Trial { rows, unused }
}

/// The kinds of intervention that are questions of an agent.
fn awaiting(kind: InterventionKind) -> Option<AwaitingKind> {
    match kind {
        InterventionKind::Approval => Some(AwaitingKind::Approval),
        InterventionKind::Question => Some(AwaitingKind::Question),
        InterventionKind::Choice => Some(AwaitingKind::Choice),
        InterventionKind::Dialog => Some(AwaitingKind::Dialog),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
