//! What a policy would have done with what was asked before: the logic of `coven policy test`.

use std::collections::HashSet;

use coven_model::{
    AwaitingKind, Intervention, InterventionChoice, InterventionKind, is_generic_rule,
};

use crate::{AgentQuestion, EffectivePolicies, PolicyDecision, PolicyLayer, RuleName};

const GENERIC_QUESTION: &str =
    "no rule of its adapter knows this question, and such a one is always for a person";
const SECRET_QUESTION: &str = "a secret is always for a person";

/// Something that was asked before, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct PastQuestion<'a> {
    pub intervention: &'a Intervention,
    /// The type of the agent that asked.
    pub adapter: &'a str,
    /// The dialog, when it was one that the adapter knows.
    pub dialog: Option<&'a str>,
    /// What was decided, if it was.
    pub decided: Option<InterventionChoice>,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct TrialRow<'a> {
    pub past: PastQuestion<'a>,
    /// What the policy says; `None` when a policy has no say in this kind of intervention.
    pub decision: Option<PolicyDecision>,
    /// Whether that is what was decided then; `None` when either of the two is open.
    pub agrees: Option<bool>,
}

#[derive(Debug, Clone)]
pub struct PolicyTrial<'a> {
    /// One row for each intervention, in the order given.
    pub rows: Vec<TrialRow<'a>>,
    /// Rules that decided nothing.
    pub unused: Vec<(PolicyLayer, RuleName)>,
}

/// Holds policies against what was asked before. Nothing is carried out.
pub fn test<'a>(
    policies: &EffectivePolicies,
    past: impl IntoIterator<Item = PastQuestion<'a>>,
) -> PolicyTrial<'a> {
    let mut used: HashSet<(PolicyLayer, RuleName)> = HashSet::new();
    let mut rows = Vec::new();
    for past in past {
        let decision = awaiting(past.intervention.kind).map(|kind| {
            let excerpt: Vec<String> =
                past.intervention.excerpt.lines().map(str::to_owned).collect();
            let asked = past.intervention;
            let rule = asked.rule.as_deref().unwrap_or_default();
            // No rule is asked about these.
            if is_generic_rule(rule) {
                return PolicyDecision::for_person(GENERIC_QUESTION);
            }
            if asked.secret {
                return PolicyDecision::for_person(SECRET_QUESTION);
            }
            policies.decide(&AgentQuestion {
                adapter: past.adapter,
                kind,
                rule,
                dialog: past.dialog,
                action: &asked.action(),
                excerpt: &excerpt,
                digest: asked.digest.as_ref(),
            })
        });
        if let Some(PolicyDecision { rule, layer, parts, .. }) = &decision {
            let parts = parts.iter().map(|part| (part.layer, part.rule.as_ref()));
            let named = [(*layer, rule.as_ref())].into_iter().chain(parts);
            used.extend(named.filter_map(|(layer, rule)| Some((layer?, rule?.clone()))));
        }
        let said = decision.as_ref().and_then(|decision| decision.ruling.choice());
        let agrees = said.zip(past.decided).map(|(said, decided)| said == decided);
        rows.push(TrialRow { past, decision, agrees });
    }
    let all = policies.rules().map(|(layer, name)| (layer, name.clone()));
    let unused = all.filter(|rule| !used.contains(rule)).collect();
    PolicyTrial { rows, unused }
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
