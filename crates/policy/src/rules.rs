//! Rules and layers: what a policy says about a question.

use std::fmt;

use coven_model::{AwaitingKind, InterventionChoice};
use regex::Regex;
use serde::Serialize;

use crate::pattern::WholePattern;
use crate::shell::{CommandPart, PartKind};
use crate::{AgentQuestion, Policy};

/// The tool whose approvals are about commands.
pub(crate) const SHELL_TOOL: &str = "shell";

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RuleEffect {
    Allow,
    /// Yes, and the agent need not ask again.
    AllowAlways,
    Deny,
    Ask,
    Answer(String),
}

/// Whose policy a rule is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyLayer {
    User,
    /// That of a project the user has trusted.
    Project,
}

/// Which rule it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct RuleName {
    /// Its name, or `rule 3` for the third of its file.
    pub name: String,
    /// The line in its file.
    pub line: usize,
}

/// What is to happen with a question, because of which rule, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What is to happen.
    pub ruling: RuleEffect,
    /// The rule that decided; none when no rule matched.
    pub rule: Option<RuleName>,
    /// Whose rule it is.
    pub layer: Option<PolicyLayer>,
    /// Why, in words: the rule's own reason, and what became of it.
    pub reason: String,
    /// What each part of the command is, and what was decided about it; empty where the question
    /// has no command.
    pub parts: Vec<PartRuling>,
}

impl PolicyDecision {
    /// A person is asked, whatever the rules say.
    pub(crate) fn for_person(reason: &str) -> Self {
        let (ruling, reason) = (RuleEffect::Ask, reason.to_owned());
        Self { ruling, rule: None, layer: None, reason, parts: Vec::new() }
    }
}

/// What was decided about a part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartRuling {
    /// The part as it was written.
    pub text: String,
    pub ruling: RuleEffect,
    /// The rule that decided; none when no rule matched.
    pub rule: Option<RuleName>,
    pub layer: Option<PolicyLayer>,
    pub reason: String,
}

impl PartRuling {
    pub(crate) fn new(part: &CommandPart, decision: Option<PolicyDecision>) -> Self {
        let why = match part.kind {
            PartKind::Special(why) => {
                format!("{why}; only a rule with the whole command allows it")
            }
            _ if part.only_exactly => {
                "only a rule that spells it out, without a pattern, allows it".to_owned()
            }
            _ => "no rule is about this part".to_owned(),
        };
        Self::decided(part.text.clone(), why, decision)
    }

    pub(crate) fn unread(text: &str, why: &str, decision: Option<PolicyDecision>) -> Self {
        Self::decided(text.to_owned(), format!("it was not taken apart: {why}"), decision)
    }

    fn decided(text: String, why: String, decision: Option<PolicyDecision>) -> Self {
        match decision {
            Some(PolicyDecision { ruling, rule, layer, reason, .. }) => {
                Self { text, ruling, rule, layer, reason }
            }
            None => Self { text, ruling: RuleEffect::Ask, rule: None, layer: None, reason: why },
        }
    }
}

/// One rule, ready to be held against questions.
#[derive(Debug, Clone)]
pub(crate) struct PolicyRule {
    pub(crate) name: RuleName,
    pub(crate) adapters: Option<Vec<String>>,
    pub(crate) kinds: Option<Vec<AwaitingKind>>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) dialogs: Option<Vec<String>>,
    pub(crate) matches: Option<Regex>,
    pub(crate) command: Option<WholePattern>,
    pub(crate) redirect: Option<WholePattern>,
    pub(crate) ruling: RuleEffect,
    pub(crate) reason: Option<String>,
}

/// The policies that apply, each of which may be missing.
#[derive(Debug, Clone, Default)]
pub struct EffectivePolicies {
    pub user: Option<Policy>,
    /// The project's, when the project is trusted.
    pub project: Option<Policy>,
    /// Whether one of them cannot be read. A rule that denies may be in it, so a person is asked
    /// about everything, also what a rule of the session or of an adapter would answer.
    pub unreadable: bool,
}

impl EffectivePolicies {
    /// The policies where one of them cannot be read.
    pub fn unreadable() -> Self {
        Self { unreadable: true, ..Self::default() }
    }

    /// Every rule of both policies, the user's first.
    pub fn rules(&self) -> impl Iterator<Item = (PolicyLayer, &RuleName)> {
        let layers = [(PolicyLayer::User, &self.user), (PolicyLayer::Project, &self.project)];
        layers.into_iter().flat_map(|(layer, policy)| {
            policy
                .iter()
                .flat_map(move |policy| policy.rules.iter().map(move |rule| (layer, &rule.name)))
        })
    }
}

impl PolicyRule {
    /// Whether it speaks about every question there is.
    pub(crate) fn is_about_everything(&self) -> bool {
        let lists = [&self.adapters, &self.tools, &self.dialogs];
        lists.iter().all(|list| list.is_none())
            && self.kinds.is_none()
            && self.matches.is_none()
            && !self.is_about_commands()
    }

    pub(crate) fn is_about_commands(&self) -> bool {
        self.command.is_some() || self.redirect.is_some()
    }

    /// Whether it goes by what is found somewhere in what an agent shows, and by nothing else.
    pub(crate) fn finds_on_screen(&self) -> bool {
        self.matches.is_some() && !self.is_about_commands()
    }

    /// Whether it allows approvals without a word about commands. Those whose command is not known
    /// are asked instead.
    pub(crate) fn allows_unread_approvals(&self) -> bool {
        let approvals =
            self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&AwaitingKind::Approval));
        let shell =
            self.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == SHELL_TOOL));
        self.ruling.answers_yes()
            && approvals
            && shell
            && self.dialogs.is_none()
            && self.matches.is_none()
            && !self.is_about_commands()
    }

    /// Whether it says that an approval it finds on the screen is allowed.
    pub(crate) fn allows_by_matches(&self) -> bool {
        let allows = matches!(self.ruling, RuleEffect::Allow | RuleEffect::AllowAlways);
        let approvals =
            self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&AwaitingKind::Approval));
        allows && approvals && self.dialogs.is_none() && self.finds_on_screen()
    }
}

impl RuleEffect {
    /// The choice of a person that means the same; asking is none.
    pub fn choice(&self) -> Option<InterventionChoice> {
        match self {
            Self::Allow => Some(InterventionChoice::Approve),
            Self::AllowAlways => Some(InterventionChoice::ApproveAlways),
            Self::Deny => Some(InterventionChoice::Deny),
            Self::Answer(_) => Some(InterventionChoice::Answer),
            Self::Ask => None,
        }
    }

    /// Whether it lets the agent do something, or answers it.
    pub(crate) fn answers_yes(&self) -> bool {
        matches!(self, Self::Allow | Self::AllowAlways | Self::Answer(_))
    }

    pub(crate) fn is_stricter_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Deny, other) => *other != Self::Deny,
            (Self::Ask, other) => !matches!(other, Self::Ask | Self::Deny),
            (Self::Allow, other) => *other == Self::AllowAlways,
            (Self::AllowAlways | Self::Answer(_), _) => false,
        }
    }
}

impl PolicyDecision {
    pub(crate) fn ask_a_person() -> Self {
        let reason = "no rule is about this question".to_owned();
        Self { ruling: RuleEffect::Ask, rule: None, layer: None, reason, parts: Vec::new() }
    }

    /// The decision about a command: denied if a part is, allowed if all are.
    pub(crate) fn of_parts(parts: Vec<PartRuling>) -> Option<Self> {
        if parts.iter().all(|part| part.rule.is_none() && part.ruling == RuleEffect::Ask) {
            let reason = match parts.as_slice() {
                [part] => part.reason.clone(),
                _ => "no rule is about this command".to_owned(),
            };
            return Some(Self { reason, parts, ..Self::ask_a_person() });
        }
        let first = |wanted: fn(&PartRuling) -> bool| parts.iter().find(|part| wanted(part));
        let denied = first(|part| part.ruling == RuleEffect::Deny);
        // A rule that asks comes before a part that no rule is about.
        let asked = || {
            first(|part| part.ruling == RuleEffect::Ask && part.rule.is_some())
                .or_else(|| first(|part| part.ruling == RuleEffect::Ask))
        };
        let once = || first(|part| part.ruling == RuleEffect::Allow);
        let decisive = denied.or_else(asked).or_else(once).or_else(|| parts.first())?.clone();
        let mixed = matches!(decisive.ruling, RuleEffect::Answer(_))
            && parts.iter().any(|part| part.ruling != decisive.ruling);
        let reason = match &decisive {
            _ if mixed => "its parts have different answers".to_owned(),
            PartRuling { ruling: RuleEffect::Ask, rule: None, text, reason, .. } => {
                format!("`{text}`: {reason}")
            }
            decisive => decisive.reason.clone(),
        };
        let ruling = if mixed { RuleEffect::Ask } else { decisive.ruling };
        Some(Self { ruling, rule: decisive.rule, layer: decisive.layer, reason, parts })
    }

    /// The same with the whole command as its only part.
    pub(crate) fn with_whole(self, command: &str) -> Self {
        let part = PartRuling::decided(command.to_owned(), String::new(), Some(self.clone()));
        Self { parts: vec![part], ..self }
    }

    /// The same, or asking, when the question does not permit it.
    pub(crate) fn permitted_for(self, question: &AgentQuestion<'_>) -> Self {
        let answers = self.ruling.answers_yes();
        let reason = if question.action.truncated && self.ruling != RuleEffect::Ask {
            format!("the rule says {}, and a part of what is asked is not shown", self.ruling)
        } else if answers && let Some(why) = &question.action.no_approval {
            format!("the rule says {}, and {why}", self.ruling)
        } else if answers && !question.action.extras.is_empty() {
            format!(
                "the rule says {}, and the agent asks for more than the command: {}",
                self.ruling,
                question.action.extras.join(", ")
            )
        } else if question.is_unknown_dialog() && answers {
            format!(
                "the rule says {}, and a dialog that is not known is never answered",
                self.ruling
            )
        } else if self.ruling.choice().is_some_and(|choice| !offers(question.kind, choice)) {
            format!("the rule says {}, which a {} does not offer", self.ruling, question.kind)
        } else {
            return self;
        };
        Self { ruling: RuleEffect::Ask, reason, ..self }
    }

    /// The decision as a fact; `None` when a person is asked.
    pub fn to_decision(&self) -> Option<coven_model::InterventionDecision> {
        let choice = self.ruling.choice()?;
        let text = match &self.ruling {
            RuleEffect::Answer(text) => Some(text.clone()),
            RuleEffect::Deny => Some(self.reason.clone()).filter(|reason| !reason.is_empty()),
            _ => None,
        };
        let why = self.reason.clone();
        Some(coven_model::InterventionDecision {
            text,
            why,
            ..coven_model::InterventionDecision::new(choice, self.decided_by())
        })
    }

    /// Who decided, for the record: `policy:user:no-force-push`.
    pub fn decided_by(&self) -> String {
        match (&self.rule, self.layer) {
            (Some(rule), Some(layer)) => format!("policy:{layer}:{}", rule.name),
            _ => "policy".to_owned(),
        }
    }
}

/// Whether a question of this kind can be decided so.
pub(crate) fn offers(kind: AwaitingKind, choice: InterventionChoice) -> bool {
    use coven_model::InterventionKind as Kind;
    let kind = match kind {
        AwaitingKind::Approval => Kind::Approval,
        AwaitingKind::Question => Kind::Question,
        AwaitingKind::Choice => Kind::Choice,
        AwaitingKind::Dialog => Kind::Dialog,
    };
    kind.options().contains(&choice)
}

impl fmt::Display for RuleEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::AllowAlways => "allow-always",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Answer(_) => "answer",
        })
    }
}

impl fmt::Display for PolicyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Project => "project",
        })
    }
}

#[cfg(test)]
mod tests;
