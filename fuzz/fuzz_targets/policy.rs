//! Any text as the policies of a user and a project, and as what an agent shows. Whatever the two
//! say, the project makes nothing laxer, and no dialog that is not known gets an answer.
#![no_main]

use coven_model::{AskedAction, AutoPolicy, AwaitingKind, HandlerName};
use coven_notation::SourceFile;
use coven_policy::{AgentAutomation, AgentQuestion, EffectivePolicies, Policy, RuleEffect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // The parts of the input lie between form feeds, which no YAML contains.
    let mut parts = text.split('\u{c}');
    let mut policy = || parts.next().and_then(|text| read(text));
    let (user, project) = (policy(), policy());
    let excerpt: Vec<String> = parts.next().unwrap_or(text).lines().map(str::to_owned).collect();
    let alone = EffectivePolicies { user: user.clone(), ..EffectivePolicies::default() };
    let both = EffectivePolicies { user, project, unreadable: false };
    for kind in
        [AwaitingKind::Approval, AwaitingKind::Question, AwaitingKind::Choice, AwaitingKind::Dialog]
    {
        for dialog in [None, Some("trust")] {
            let action = AskedAction {
                tool: dialog.map(str::to_owned),
                command: dialog.map(|_| excerpt.join("\n")),
                ..AskedAction::default()
            };
            let question = AgentQuestion {
                adapter: "demo",
                kind,
                rule: "rule",
                dialog,
                action: &action,
                excerpt: &excerpt,
                digest: None,
            };
            decisions(&alone, &both, &question);
            handlers(&question, text);
        }
    }
});

fn read(text: &str) -> Option<Policy> {
    match Policy::read(&SourceFile::new("policy.yaml", text)) {
        Ok(policy) => Some(policy),
        Err(report) => {
            assert!(report.has_errors());
            assert!(!report.render(false).contains('\u{1b}'));
            None
        }
    }
}

fn decisions(alone: &EffectivePolicies, both: &EffectivePolicies, question: &AgentQuestion<'_>) {
    let (user, decided) = (alone.decide(question), both.decide(question));
    if user.rule.is_some() {
        match user.ruling {
            RuleEffect::Deny => assert_eq!(decided.ruling, RuleEffect::Deny),
            RuleEffect::Ask => {
                assert!(matches!(decided.ruling, RuleEffect::Ask | RuleEffect::Deny))
            }
            RuleEffect::Allow => {
                assert!(!matches!(decided.ruling, RuleEffect::AllowAlways | RuleEffect::Answer(_)))
            }
            RuleEffect::AllowAlways | RuleEffect::Answer(_) => {}
        }
        if let RuleEffect::Answer(text) = &decided.ruling {
            assert_eq!(user.ruling, RuleEffect::Answer(text.clone()), "the text is the user's");
        }
    }
    if question.is_unknown_dialog() {
        assert!(matches!(decided.ruling, RuleEffect::Ask | RuleEffect::Deny));
    }
    assert_eq!(decided.to_decision().is_none(), decided.ruling == RuleEffect::Ask);
}

fn handlers(question: &AgentQuestion<'_>, text: &str) {
    let handlers = vec![
        HandlerName::ConfirmYes,
        HandlerName::Type(text.to_owned()),
        HandlerName::PressEnter,
        HandlerName::Escape,
    ];
    let automatic = AgentAutomation::new(&AutoPolicy { inject_args: Vec::new(), handlers });
    let resolution = automatic.resolve(question);
    assert!(resolution.skipped.is_empty());
    let action = resolution.action.expect("one of them always answers");
    let enters = action.input.matches(['\r', '\n']).count();
    assert!(enters <= usize::from(!question.is_unknown_dialog()));
}
