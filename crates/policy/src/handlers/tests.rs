//! What handlers answer, which handler decides, and that none presses Enter blindly.

use coven_model::{AutoPolicy, AwaitingKind, ContentDigest, HandlerName, InterventionChoice};
use proptest::prelude::*;

use super::{AgentAutomation, FunctionHandler, HandlerError, QuestionHandler, TerminalInput};
use crate::AgentQuestion;

/// Asks with an excerpt of these lines.
fn ask<T>(kind: AwaitingKind, lines: &[&str], then: impl FnOnce(&AgentQuestion<'_>) -> T) -> T {
    let excerpt: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let digest = ContentDigest::of_question("interaction_handler", lines.iter().copied(), 1);
    then(&AgentQuestion {
        adapter: "gemini",
        kind,
        rule: "interaction_handler",
        dialog: None,
        action: &coven_model::AskedAction::default(),
        excerpt: &excerpt,
        digest: Some(&digest),
    })
}

fn approval<T>(then: impl FnOnce(&AgentQuestion<'_>) -> T) -> T {
    ask(AwaitingKind::Approval, &["Allow execution of [rm]?"], then)
}

fn answer(handler: &HandlerName, kind: AwaitingKind, lines: &[&str]) -> Option<String> {
    ask(kind, lines, |question| handler.answer(question).unwrap().map(|action| action.input))
}

fn policy(handlers: &[&str]) -> AgentAutomation {
    let handlers = handlers.iter().map(|name| HandlerName::try_from((*name).to_owned()).unwrap());
    AgentAutomation::new(&AutoPolicy { inject_args: Vec::new(), handlers: handlers.collect() })
}

fn typed(text: &'static str) -> impl QuestionHandler {
    FunctionHandler::new(text, move |_: &AgentQuestion<'_>| Ok(Some(TerminalInput::new(text))))
}

fn declines() -> impl QuestionHandler {
    FunctionHandler::new("declines", |_: &AgentQuestion<'_>| Ok(None))
}

/// Spec: C0.12.1
#[test]
fn arguments_and_handlers_are_each_optional_and_handlers_keep_their_order() {
    let both: AutoPolicy =
        serde_json::from_str(r#"{"injectArgs": ["--yolo"], "handlers": ["confirmYes", "escape"]}"#)
            .unwrap();
    let both = AgentAutomation::new(&both);
    assert_eq!(both.inject_args(), ["--yolo"]);
    // The first declines, because the question is not about yes or no; then the second is tried.
    assert_eq!(approval(|question| both.resolve(question)).by.as_deref(), Some("escape"));

    let arguments = AutoPolicy { inject_args: vec!["-y".to_owned()], handlers: Vec::new() };
    let arguments = AgentAutomation::new(&arguments);
    assert_eq!(arguments.inject_args(), ["-y"]);
    assert_eq!(approval(|question| arguments.resolve(question)).action, None);

    let handlers = policy(&["pressEnter"]);
    assert!(handlers.inject_args().is_empty());
    assert!(approval(|question| handlers.resolve(question)).action.is_some());

    let nothing = AgentAutomation::new(&AutoPolicy::default());
    assert!(nothing.inject_args().is_empty());
    assert_eq!(approval(|question| nothing.resolve(question)).action, None);
}

/// Spec: C0.13.1
#[test]
fn press_enter_answers_with_a_carriage_return() {
    let input = answer(&HandlerName::PressEnter, AwaitingKind::Approval, &["Allow?"]);
    assert_eq!(input.as_deref(), Some("\r"));
}

/// Spec: C0.14.1
#[test]
fn the_first_handler_that_returns_an_action_decides_and_the_others_are_not_asked() {
    let never =
        FunctionHandler::new("never", |_: &AgentQuestion<'_>| panic!("it must not be asked"));
    let automatic = policy(&[]).with(declines()).with(typed("1")).with(never);
    let resolution = approval(|question| automatic.resolve(question));
    assert_eq!(resolution.action, Some(TerminalInput::new("1")));
    assert_eq!(resolution.by.as_deref(), Some("1"));
    assert!(resolution.skipped.is_empty());
    assert!(resolution.to_decision().is_some(), "it is a decision, so no person is called");
}

/// Spec: C0.14.2
#[test]
fn when_every_handler_declines_a_person_is_asked() {
    let automatic = policy(&["confirmYes"]).with(declines());
    let resolution = approval(|question| automatic.resolve(question));
    assert_eq!(resolution.action, None);
    assert_eq!(resolution.by, None);
    assert_eq!(resolution.to_decision(), None);
    assert!(resolution.skipped.is_empty(), "to decline is not to fail");
}

#[test]
fn a_handler_that_fails_or_panics_is_skipped_and_reported() {
    let fails =
        FunctionHandler::new("fails", |_: &AgentQuestion<'_>| Err(HandlerError::failed("no idea")));
    let panics = FunctionHandler::new("panics", |question: &AgentQuestion<'_>| {
        panic!("cannot stand {}", question.adapter)
    });
    let automatic = policy(&[]).with(fails).with(panics).with(typed("y"));
    let resolution = approval(|question| automatic.resolve(question));
    assert_eq!(resolution.by.as_deref(), Some("y"));
    let skipped: Vec<String> = resolution
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.name, skipped.error))
        .collect();
    assert_eq!(
        skipped,
        ["fails: the handler failed: no idea", "panics: the handler panicked: cannot stand gemini",]
    );
}

#[test]
fn a_handler_sees_what_is_asked_and_can_decide_by_it() {
    let handler = FunctionHandler::new("by-text", |question: &AgentQuestion<'_>| {
        assert_eq!(question.rule, "interaction_handler");
        assert!(question.digest.is_some());
        let is_harmless = question.excerpt.iter().any(|line| line.contains("ls"));
        Ok(is_harmless.then(|| TerminalInput::new("\r")))
    });
    let automatic = policy(&[]).with(handler);
    let resolve =
        |line: &str| ask(AwaitingKind::Approval, &[line], |q| automatic.resolve(q)).action;
    assert_eq!(resolve("Allow [ls]?"), Some(TerminalInput::new("\r")));
    assert_eq!(resolve("Allow [rm]?"), None);
}

#[test]
fn each_standard_handler_types_what_its_name_says() {
    let type_ = |name: &str| {
        let name = HandlerName::try_from(name.to_owned()).unwrap();
        answer(&name, AwaitingKind::Approval, &["Proceed? [y/N]"]).unwrap()
    };
    assert_eq!(type_("pressEnter"), "\r");
    assert_eq!(type_("confirmYes"), "y\r");
    assert_eq!(type_("escape"), "\u{1b}");
    assert_eq!(type_("choose(2)"), "2");
    assert_eq!(type_("type(go on)"), "go on\r");
}

#[test]
fn a_typed_text_is_one_line_and_no_key() {
    let text = HandlerName::Type("one\ntwo\u{1b}[A\u{3}\tthree".to_owned());
    let input = answer(&text, AwaitingKind::Question, &["What?"]);
    assert_eq!(input.as_deref(), Some("one two[A three\r"));
}

#[test]
fn confirm_yes_answers_only_an_open_question_for_yes_or_no() {
    let confirms =
        |lines: &[&str]| answer(&HandlerName::ConfirmYes, AwaitingKind::Question, lines).is_some();
    for line in [
        "Continue? [y/N]",
        "Overwrite file? (yes/no):",
        "Proceed (Y/n)?",
        "Add to chat? (Y)es/(N)o/(D)on't ask again [Yes]:",
        "Delete y/n?",
        "Answer yes or no >",
        "Run it? [Y/n/always]",
    ] {
        assert!(confirms(&[line]), "{line}");
        assert!(confirms(&["before", line, "", "  "]), "{line}");
    }
    for lines in [
        &["Allow execution of [rm]?"][..],
        &["Continue? [y/N] y"],
        &["Overwrite? (yes/no): no"],
        &["Install yarn/npm"],
        &["Continue? [y/N]", "one", "two", "three"],
        &["● 1. Yes", "  2. No"],
        &[],
    ] {
        assert!(!confirms(lines), "{lines:?}");
    }
}

#[test]
fn enter_is_never_sent_to_a_dialog_that_nobody_knows() {
    let lines = ["A new dialog", "Delete everything? [y/N]"];
    let all = policy(&["pressEnter", "confirmYes", "choose(1)", "type(yes)"]);
    let resolution = ask(AwaitingKind::Dialog, &lines, |question| all.resolve(question));
    assert_eq!(resolution.action, None);
    assert!(resolution.skipped.is_empty());

    // A handler from outside this crate is held to the same, and a plain Escape is not Enter.
    let others = policy(&[]).with(typed("y\r")).with(typed("a\nb")).with(typed("\u{1b}"));
    let resolution = ask(AwaitingKind::Dialog, &lines, |question| others.resolve(question));
    assert_eq!(resolution.action, Some(TerminalInput::new("\u{1b}")));
    assert!(matches!(resolution.skipped[0].error, HandlerError::Blind));
    assert_eq!(resolution.skipped.len(), 2);
}

#[test]
fn a_dialog_that_the_adapter_knows_may_be_answered() {
    let input = ask(AwaitingKind::Dialog, &["Do you trust the files?"], |question| {
        let question = AgentQuestion { dialog: Some("trust"), ..*question };
        policy(&["pressEnter"]).resolve(&question).action
    });
    assert_eq!(input, Some(TerminalInput::new("\r")));
}

#[test]
fn a_decision_names_its_handler() {
    let decided =
        |automatic: AgentAutomation| approval(|q| automatic.resolve(q)).to_decision().unwrap();
    let enter = decided(policy(&["pressEnter"]));
    assert_eq!(
        (enter.choice, enter.by.as_str()),
        (InterventionChoice::Approve, "handler:pressEnter")
    );
    assert_eq!(enter.handler, Some(HandlerName::PressEnter));
    assert_eq!(decided(policy(&["escape"])).choice, InterventionChoice::Deny);
    let text = decided(policy(&["type(go on)"]));
    assert_eq!((text.choice, text.text.as_deref()), (InterventionChoice::Answer, Some("go on")));
    let custom = decided(policy(&[]).with(typed("2")));
    assert_eq!((custom.choice, custom.text.as_deref()), (InterventionChoice::Answer, Some("2")));
    assert_eq!(custom.handler, Some(HandlerName::Type("2".to_owned())), "exactly that is typed");
}

proptest! {
    #[test]
    fn no_order_of_standard_handlers_presses_enter_in_an_unknown_dialog(
        names in prop::collection::vec(
            prop::sample::select(&["pressEnter", "confirmYes", "choose(3)", "type(y)", "escape"][..]), 0..8),
        lines in prop::collection::vec(".{0,40}", 0..6),
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let action = ask(AwaitingKind::Dialog, &lines, |q| policy(&names).resolve(q).action);
        prop_assert!(action.is_none_or(|action| !action.input.contains(['\r', '\n'])));
    }
}

#[test]
fn in_a_protocol_a_handler_approves_by_what_it_means_or_leaves_it_to_a_person() {
    let decide_as = |kind, handlers: &[&str]| {
        ask(kind, &["Bash: ls"], |question| {
            let decision = policy(handlers).decide_in_words(question, |typed| typed == "1");
            decision.map(|decision| (decision.choice, decision.by))
        })
    };
    let decide = |handlers: &[&str]| decide_as(AwaitingKind::Approval, handlers);
    for name in ["pressEnter", "confirmYes", "choose(1)", "type(1)"] {
        let approves = Some((InterventionChoice::Approve, format!("handler:{name}")));
        assert_eq!(decide(&[name]), approves);
        assert_eq!(decide_as(AwaitingKind::Question, &[name]), None, "words are for a person");
        assert_eq!(
            decide(&["choose(2)", name]),
            approves,
            "a key that means nothing is passed over"
        );
    }
    assert_eq!(decide(&["choose(2)", "type(y)"]), None);
    let denies = Some((InterventionChoice::Deny, "handler:escape".to_owned()));
    assert_eq!(decide(&["escape"]), denies);
}
