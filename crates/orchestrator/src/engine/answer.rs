//! From a question of an agent to a decision, and from a decision to keys.

use coven_adapters::AgentAdapter;
use coven_model::event::InterventionDecision;
use coven_model::{HandlerName, InterventionChoice};
use coven_policy::{AgentAutomation, AgentQuestion, EffectivePolicies};
use coven_runner::AnswerAction;
use coven_terminal::keys::KeyPress;
use coven_workflow::input::QuestionRuling;

/// What the policies say about a question.
pub(super) fn decide(
    policies: &EffectivePolicies,
    adapter: &dyn AgentAdapter,
    automation: Option<&AgentAutomation>,
    question: &coven_runner::ScreenQuestion,
) -> QuestionRuling {
    // What is known of no program, only of all of them, is for a person.
    if policies.unreadable || question.is_generic() {
        return QuestionRuling::AskPerson;
    }
    match decision(policies, adapter, automation, question) {
        Some(decision) => QuestionRuling::Decided(Box::new(decision)),
        None => QuestionRuling::Undecided,
    }
}

fn decision(
    policies: &EffectivePolicies,
    adapter: &dyn AgentAdapter,
    automation: Option<&AgentAutomation>,
    question: &coven_runner::ScreenQuestion,
) -> Option<InterventionDecision> {
    let asked = AgentQuestion {
        adapter: adapter.kind(),
        kind: question.kind,
        rule: &question.rule,
        dialog: question.dialog.as_deref(),
        action: &question.action,
        excerpt: &question.excerpt,
        digest: Some(&question.digest),
    };
    let ruled = policies.decide(&asked);
    if ruled.rule.is_some() {
        return ruled.to_decision();
    }
    // What is not on the screen was not seen, and handlers press keys for what is.
    let automation = automation.filter(|_| !question.action.truncated)?;
    automation.resolve(&asked).to_decision()
}

/// How a decision is carried out on a terminal.
///
/// A secret is handed over beside the decision; nothing if it should be there and is not.
pub(super) fn action(
    decision: &InterventionDecision,
    secret: Option<String>,
) -> Option<AnswerAction> {
    if decision.secret {
        return secret.map(AnswerAction::Secret);
    }
    Some(recorded_action(decision))
}

fn recorded_action(decision: &InterventionDecision) -> AnswerAction {
    let keys = |names: &[&str]| {
        AnswerAction::Keys(names.iter().filter_map(|name| name.parse::<KeyPress>().ok()).collect())
    };
    if let Some(handler) = &decision.handler {
        return match handler {
            HandlerName::PressEnter => keys(&["Enter"]),
            HandlerName::ConfirmYes => AnswerAction::exact("y\n"),
            HandlerName::Escape => keys(&["Esc"]),
            HandlerName::Choose(number) => keys(&[&number.to_string()]),
            HandlerName::Type(text) => AnswerAction::exact(text),
        };
    }
    // The agent's own way not to ask again goes by rules of the agent. What a person approves for
    // the session is remembered by the session, and the agent is told a plain yes.
    if decision.rule.is_some() {
        return AnswerAction::Choose(InterventionChoice::Approve);
    }
    if let Some(id) = &decision.entry {
        return AnswerAction::Entry { id: id.clone(), text: decision.text.clone() };
    }
    match (decision.choice, &decision.text) {
        (InterventionChoice::Answer, Some(text)) => AnswerAction::Text(text.clone()),
        (choice, _) => AnswerAction::Choose(choice),
    }
}
