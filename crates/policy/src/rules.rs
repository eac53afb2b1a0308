//! Rules and layers: what a policy says about a question.

use std::fmt;

use coven_model::{AwaitingKind, InterventionChoice};
use regex::Regex;
use serde::Serialize;

use crate::{AgentQuestion, Policy};

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
    pub(crate) ruling: RuleEffect,
    pub(crate) reason: Option<String>,
}

/// Whether a rule is about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleMatch {
    Yes,
    No,
    /// The rule names a tool, and the adapter cannot tell which tool the agent wants to use.
    Unknown,
}

/// The policies that apply, each of which may be missing.
#[derive(Debug, Clone, Default)]
pub struct EffectivePolicies {
    pub user: Option<Policy>,
    /// The project's, when the project is trusted.
    pub project: Option<Policy>,
}

impl EffectivePolicies {
    /// Decides a question.
    ///
    /// In each policy the first rule that matches speaks. When only one policy has such a rule,
    /// it decides. When both have one, the project's counts only where it is **stricter**:
    ///
    /// - deny is stricter than anything else,
    /// - ask is stricter than allowing and answering,
    /// - allow, once, is stricter than allow-always;
    ///
    /// otherwise the user's stands. So a project can forbid what its user allows, and can decide
    /// what the user has said nothing about, and can never allow or answer what the user denies
    /// or wants to be asked. A text of the user is never replaced by one of the project, since an
    /// answer may be a refusal in words.
    ///
    /// When no rule matches, a person is asked. Two more things are always asked, whatever the
    /// rules say: a dialog that the adapter does not know is not allowed or answered, because
    /// that would press Enter blindly; and a decision that the question does not offer (to allow
    /// where a text is wanted) is no decision.
    ///
    /// A rule that denies or asks for a `tool` also applies when the tool cannot be told: then it
    /// asks.
    pub fn decide(&self, question: &AgentQuestion<'_>) -> PolicyDecision {
        let speak = |policy: &Option<Policy>, layer| {
            policy.as_ref().and_then(|policy| policy.first(question, layer))
        };
        let user = speak(&self.user, PolicyLayer::User);
        let project = speak(&self.project, PolicyLayer::Project);
        let decision = match (user, project) {
            (Some(user), Some(project)) if project.ruling.is_stricter_than(&user.ruling) => project,
            (Some(user), _) => user,
            (None, Some(project)) => project,
            (None, None) => return PolicyDecision::ask_a_person(),
        };
        decision.permitted_for(question)
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

impl Policy {
    /// The first rule that speaks about a question, as a decision.
    fn first(&self, question: &AgentQuestion<'_>, layer: PolicyLayer) -> Option<PolicyDecision> {
        let text = question.text();
        self.rules.iter().find_map(|rule| {
            let decide = |ruling: RuleEffect, reason: Option<String>| {
                let rule = Some(rule.name.clone());
                Some(PolicyDecision {
                    ruling,
                    rule,
                    layer: Some(layer),
                    reason: reason.unwrap_or_default(),
                })
            };
            match (rule.fit(question, &text), &rule.ruling) {
                (RuleMatch::Yes, ruling) => decide(ruling.clone(), rule.reason.clone()),
                (RuleMatch::Unknown, RuleEffect::Deny | RuleEffect::Ask) => {
                    let reason =
                        "the rule is about a tool, and the tool of this question is not known";
                    decide(RuleEffect::Ask, Some(reason.to_owned()))
                }
                (RuleMatch::Unknown | RuleMatch::No, _) => None,
            }
        })
    }
}

impl PolicyRule {
    fn fit(&self, question: &AgentQuestion<'_>, text: &str) -> RuleMatch {
        let among = |wanted: &Option<Vec<String>>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted == value))
        };
        let dialog = match (&self.dialogs, question.dialog) {
            (None, _) => true,
            (Some(_), None) => false,
            (wanted, Some(dialog)) => among(wanted, dialog),
        };
        let fits = among(&self.adapters, question.adapter)
            && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&question.kind))
            && dialog
            && self.matches.as_ref().is_none_or(|regex| regex.is_match(text));
        if !fits {
            return RuleMatch::No;
        }
        match (&self.tools, question.tool) {
            (Some(_), None) => RuleMatch::Unknown,
            (tools, tool) if among(tools, tool.unwrap_or_default()) => RuleMatch::Yes,
            _ => RuleMatch::No,
        }
    }

    /// Whether it speaks about every question there is.
    pub(crate) fn is_about_everything(&self) -> bool {
        let lists = [&self.adapters, &self.tools, &self.dialogs];
        lists.iter().all(|list| list.is_none()) && self.kinds.is_none() && self.matches.is_none()
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

    fn is_stricter_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Deny, other) => *other != Self::Deny,
            (Self::Ask, other) => !matches!(other, Self::Ask | Self::Deny),
            (Self::Allow, other) => *other == Self::AllowAlways,
            (Self::AllowAlways | Self::Answer(_), _) => false,
        }
    }
}

impl PolicyDecision {
    fn ask_a_person() -> Self {
        let reason = "no rule is about this question".to_owned();
        Self { ruling: RuleEffect::Ask, rule: None, layer: None, reason }
    }

    /// The same, or asking, when the question does not permit it.
    fn permitted_for(self, question: &AgentQuestion<'_>) -> Self {
        let answers = matches!(
            self.ruling,
            RuleEffect::Allow | RuleEffect::AllowAlways | RuleEffect::Answer(_)
        );
        let reason = if question.is_unknown_dialog() && answers {
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
