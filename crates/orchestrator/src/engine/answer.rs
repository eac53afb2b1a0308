//! From a question of an agent to a decision, and from a decision to keys.

use coven_adapters::AgentAdapter;
use coven_adapters::config::Config;
use coven_model::event::InterventionDecision;
use coven_model::{HandlerName, InterventionChoice};
use coven_policy::{AgentAutomation, AgentQuestion, EffectivePolicies};
use coven_runner::AnswerAction;
use coven_terminal::keys::KeyPress;
use coven_workflow::input::QuestionRuling;

/// How an answer reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerWay {
    /// By keys on its terminal.
    Pressed,
    /// In its own protocol.
    Spoken,
}

/// What the policies say about a question.
pub(super) fn decide(
    policies: &EffectivePolicies,
    adapter: &dyn AgentAdapter,
    automation: Option<&AgentAutomation>,
    (question, way): (&coven_runner::ScreenQuestion, AnswerWay),
) -> QuestionRuling {
    // What is known of no program, only of all of them, is for a person, and so is a secret: an
    // Enter there would submit an empty one.
    if policies.unreadable || question.is_generic() || question.action.secret {
        return QuestionRuling::AskPerson;
    }
    match decision(policies, adapter, automation, (question, way)) {
        Some(decision) => QuestionRuling::Decided(Box::new(decision)),
        None => QuestionRuling::Undecided,
    }
}

fn decision(
    policies: &EffectivePolicies,
    adapter: &dyn AgentAdapter,
    automation: Option<&AgentAutomation>,
    (question, way): (&coven_runner::ScreenQuestion, AnswerWay),
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
    if way == AnswerWay::Spoken {
        return automation.decide_in_words(&asked, |typed| is_approval(adapter.config(), typed));
    }
    let decision = automation.resolve(&asked).to_decision()?;
    answers_dialog(adapter.config(), &question.rule, &decision).then_some(decision)
}

/// Whether this is what approves on the agent's terminal, but for Enter behind it.
fn is_approval(config: &Config, typed: &str) -> bool {
    let keys = config.keys.approve.iter().map(String::as_str);
    let keys: String = keys.filter(|key| *key != "Enter").collect();
    !typed.is_empty() && keys == typed
}

/// Whether a handler presses what the adapter says about a dialog, where it does. The same key that
/// approves a command may mean more there, or end the program; and a dialog that a person is told
/// what to do about, such as a login, is for a person.
fn answers_dialog(config: &Config, rule: &str, decision: &InterventionDecision) -> bool {
    let Some(dialog) = config.dialog(rule) else { return true };
    if dialog.help.is_some() {
        return false;
    }
    let (AnswerAction::Keys(pressed) | AnswerAction::Exact(pressed)) = recorded_action(decision)
    else {
        return true;
    };
    let names = match decision.choice {
        InterventionChoice::Deny => ["deny", "decline"],
        _ => ["approve", "accept"],
    };
    let mut answers = names.iter().filter_map(|name| dialog.answers.get(*name));
    dialog.answers.is_empty() || answers.any(|keys| coven_adapters::adapter::keys(keys) == pressed)
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

/// How a decision is carried out in an agent's own protocol, where there are no keys to press. A
/// denial with a text, and a text for a question that only wants leave, are the same.
pub(super) fn spoken_action(
    decision: &InterventionDecision,
    secret: Option<String>,
) -> Option<AnswerAction> {
    if decision.secret {
        return secret.map(AnswerAction::Secret);
    }
    Some(match (decision.choice, &decision.entry, &decision.text) {
        (_, Some(id), text) => AnswerAction::Entry { id: id.clone(), text: text.clone() },
        // A key that a handler was to press, decided before it was known that there are none.
        (InterventionChoice::Answer, None, _) if decision.handler.is_some() => {
            recorded_action(decision)
        }
        (InterventionChoice::Answer | InterventionChoice::Deny, None, Some(text))
            if !text.is_empty() =>
        {
            AnswerAction::Text(text.clone())
        }
        (choice, None, _) => AnswerAction::Choose(choice),
    })
}

fn recorded_action(decision: &InterventionDecision) -> AnswerAction {
    let keys = |names: &[&str]| {
        AnswerAction::Keys(names.iter().filter_map(|name| name.parse::<KeyPress>().ok()).collect())
    };
    if let Some(handler) = &decision.handler {
        return match handler {
            HandlerName::PressEnter => keys(&["Enter"]),
            HandlerName::ConfirmYes => keys(&["y", "Enter"]),
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
        (InterventionChoice::Answer, Some(text)) if text.is_empty() => keys(&["Enter"]),
        (InterventionChoice::Answer, Some(text)) => AnswerAction::Text(text.clone()),
        (choice, _) => AnswerAction::Choose(choice),
    }
}

#[cfg(test)]
mod tests {
    use coven_adapters::{Options, default_registry};
    use coven_model::{AskedAction, AwaitingKind, ContentDigest};
    use coven_runner::ScreenQuestion;

    use super::*;

    /// What the handlers of a built-in adapter do about a question on a terminal.
    fn ruling(kind: &str, rule: &str, change: impl FnOnce(&mut ScreenQuestion)) -> QuestionRuling {
        ruling_by(AnswerWay::Pressed, kind, rule, change)
    }

    fn ruling_by(
        way: AnswerWay,
        kind: &str,
        rule: &str,
        change: impl FnOnce(&mut ScreenQuestion),
    ) -> QuestionRuling {
        let adapter = default_registry().create(kind, Options::default()).unwrap();
        let mut question = ScreenQuestion {
            kind: AwaitingKind::Approval,
            rule: rule.to_owned(),
            dialog: None,
            help: None,
            repeated: false,
            title: None,
            excerpt: vec!["Run it? (y/n)".to_owned()],
            action: AskedAction::default(),
            digest: ContentDigest::of_bytes(b"Run it?"),
        };
        change(&mut question);
        let automation = AgentAutomation::new(adapter.auto_policy().unwrap());
        decide(&EffectivePolicies::default(), &*adapter, Some(&automation), (&question, way))
    }

    /// Spec: C0.14.1, C0.14.2
    #[test]
    fn handlers_answer_nothing_that_is_cut_off_generic_or_secret() {
        for kind in ["aider", "claude", "codex", "copilot", "demo", "gemini", "opencode", "qwen"] {
            let is_decided = |ruling| matches!(ruling, QuestionRuling::Decided(_));
            assert!(is_decided(ruling(kind, "interaction_approval", |_| {})), "{kind}");
            let cut = ruling(kind, "interaction_approval", |asked| asked.action.truncated = true);
            assert!(!is_decided(cut), "{kind} answers what it cannot see");
            assert!(!is_decided(ruling(kind, "generic:menu", |_| {})), "{kind} answers any menu");
            let secret = ruling(kind, "dialog:api-key", |asked| {
                asked.kind = AwaitingKind::Dialog;
                asked.dialog = Some("api-key".to_owned());
                asked.action.secret = true;
            });
            assert!(!is_decided(secret), "{kind} presses keys where a secret is typed");
        }
    }

    /// Claude's first entry of a plan would also switch to auto mode, and that of its warning before
    /// everything is allowed ends the program.
    ///
    /// Spec: C0.14.2
    #[test]
    fn handlers_press_in_a_dialog_only_what_its_adapter_says() {
        let dialog = |kind: &str, name: &str, question: AwaitingKind| {
            ruling(kind, &format!("dialog:{name}"), |asked| {
                asked.kind = question;
                asked.dialog = Some(name.to_owned());
            })
        };
        let plan = dialog("claude", "plan", AwaitingKind::Approval);
        assert_eq!(plan, QuestionRuling::Undecided);
        let bypass = dialog("claude", "bypass-permissions", AwaitingKind::Dialog);
        assert_eq!(bypass, QuestionRuling::Undecided);
        let trust = dialog("gemini", "trust", AwaitingKind::Dialog);
        assert!(matches!(trust, QuestionRuling::Decided(_)), "{trust:?}");
        let login = dialog("gemini", "auth-method", AwaitingKind::Dialog);
        assert_eq!(login, QuestionRuling::Undecided);
    }

    /// There, the key that approves on a terminal would be words, and words deny.
    #[test]
    fn handlers_approve_in_a_protocol_what_is_shown_whole_and_never_deny_it() {
        for kind in ["claude", "codex", "copilot", "demo", "gemini", "opencode", "qwen"] {
            let spoken = |change: fn(&mut ScreenQuestion)| {
                ruling_by(AnswerWay::Spoken, kind, "can_use_tool", change)
            };
            let QuestionRuling::Decided(decision) = spoken(|_| {}) else {
                panic!("{kind} asks a person")
            };
            assert_eq!(decision.choice, InterventionChoice::Approve, "{kind}");
            assert!(decision.by.starts_with("handler:") && decision.handler.is_some(), "{kind}");
            let said = spoken_action(&decision, None);
            assert_eq!(said, Some(AnswerAction::Choose(InterventionChoice::Approve)), "{kind}");
            let is_left = |ruling| ruling == QuestionRuling::Undecided;
            assert!(is_left(spoken(|asked| asked.action.truncated = true)), "{kind}");
            assert!(is_left(spoken(|asked| asked.kind = AwaitingKind::Question)), "{kind}");
        }
    }

    #[test]
    fn a_key_that_approves_nothing_is_not_said_and_escape_denies() {
        let adapter = default_registry().create("codex", Options::default()).unwrap();
        let approves = |typed: &str| is_approval(adapter.config(), typed);
        assert!(approves("y") && !approves("1") && !approves(""));
        let decision = |text: &str| InterventionDecision {
            text: Some(text.to_owned()),
            handler: Some(HandlerName::Type(text.to_owned())),
            ..InterventionDecision::new(InterventionChoice::Answer, "handler:type(1)")
        };
        // One that an older version recorded is refused by the agent's side, and asked again.
        let said = spoken_action(&decision("1"), None);
        assert!(matches!(said, Some(AnswerAction::Exact(_))), "{said:?}");
    }
}
