//! What a verdict is worth.

use coven_model::{AgentState, AgentVerdict, AwaitingKind};

fn source(verdict: &AgentVerdict) -> String {
    format!("{:?}", verdict.evidence.source).to_lowercase()
}

pub(super) fn is_generic(verdict: &AgentVerdict) -> bool {
    source(verdict) == "generic" || verdict.kind == Some(AwaitingKind::Choice)
}

pub(super) fn said(verdict: &AgentVerdict) -> String {
    format!("{} by {} ({})", verdict.state, source(verdict), verdict.evidence.rule)
}

/// What a verdict is worth where this state is true. That nothing is known misleads nobody.
pub(super) fn mark_of(verdict: &AgentVerdict, truth: AgentState) -> &'static str {
    match verdict.state {
        state if state == truth => "right",
        AgentState::Unknown | AgentState::Starting => "unknown",
        _ => "wrong",
    }
}
