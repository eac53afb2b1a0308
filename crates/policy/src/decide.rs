//! From rules to a decision: which rule speaks first, for a question or for each part of the
//! command that an agent wants to run.

use coven_model::AwaitingKind;

use crate::rules::{
    EffectivePolicies, PartRuling, PolicyDecision, PolicyLayer, PolicyRule, RuleEffect, SHELL_TOOL,
};
use crate::shell::{CommandPart, PartKind, parts};
use crate::{AgentQuestion, Policy};

/// A question with the ways in which it says what it says.
struct ReadQuestion<'a> {
    question: &'a AgentQuestion<'a>,
    texts: Vec<String>,
}

/// What a rule is held against.
#[derive(Debug, Clone, Copy)]
enum DecisionUnit<'a> {
    /// The question, which is about no command.
    Question,
    /// All of a command, for rules that spell it out.
    Whole(&'a str),
    Part(&'a CommandPart),
    /// A command that is not known.
    Unread,
}

/// Whether a rule is about a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleMatch {
    Yes,
    No,
    /// The rule names a tool or a command, and the adapter cannot tell it.
    Unknown(&'static str),
}

const UNKNOWN_TOOL: &str = "the rule is about a tool, and the tool of this question is not known";
const UNKNOWN_COMMAND: &str =
    "the rule is about a command, and the command of this question is not known";

const UNREAD_COMMAND: &str =
    "the rule allows it, and what cannot be read as a command from the agent's screen is asked";

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
    /// A command that an agent wants to run is taken apart, and this is done for each part: one
    /// that is denied denies the command, and the command is allowed only if every part is. A rule
    /// that spells out the whole command decides about it as a whole.
    ///
    /// When no rule matches, a person is asked. These are always asked, whatever the rules say: an
    /// approval of which a part is not on the screen, and one that a rule would allow by what
    /// `matches` finds somewhere; an approval whose command cannot be read or taken apart; a dialog
    /// that the adapter does not know, because allowing it would press Enter blindly; and a decision
    /// that the question does not offer.
    ///
    /// A rule that denies or asks for a `tool` or a `command` also applies when that cannot be
    /// told: then it asks.
    pub fn decide(&self, question: &AgentQuestion<'_>) -> PolicyDecision {
        let asked = ReadQuestion { question, texts: question.texts() };
        let command = question.action.command.as_deref();
        let decision = match command {
            Some(command) if question.kind == AwaitingKind::Approval => {
                self.decide_command(&asked, command)
            }
            _ if question.kind == AwaitingKind::Approval && !is_another_tool(question) => {
                self.speak(&asked, DecisionUnit::Unread)
            }
            _ => self.speak(&asked, DecisionUnit::Question),
        };
        decision.unwrap_or_else(PolicyDecision::ask_a_person).permitted_for(question)
    }

    /// What both policies say about one unit.
    fn speak(&self, asked: &ReadQuestion<'_>, unit: DecisionUnit<'_>) -> Option<PolicyDecision> {
        let speak = |policy: &Option<Policy>, layer| {
            policy.as_ref().and_then(|policy| policy.first(asked, unit, layer))
        };
        let user = speak(&self.user, PolicyLayer::User);
        let project = speak(&self.project, PolicyLayer::Project);
        match (user, project) {
            (Some(user), Some(project)) if project.ruling.is_stricter_than(&user.ruling) => {
                Some(project)
            }
            (Some(user), _) => Some(user),
            (None, project) => project,
        }
    }

    fn decide_command(&self, asked: &ReadQuestion<'_>, command: &str) -> Option<PolicyDecision> {
        // Where a line break may be the program's own, every way to read the command counts.
        let readings = if asked.question.action.wrapped {
            vec![command.to_owned(), command.replace('\n', " "), command.replace('\n', "")]
        } else {
            vec![command.to_owned()]
        };
        let mut rulings = Vec::new();
        for reading in &readings {
            match parts(reading) {
                Ok(parts) => {
                    for part in &parts {
                        let decision = self.speak(asked, DecisionUnit::Part(part));
                        rulings.push(PartRuling::new(part, decision));
                    }
                }
                Err(why) => {
                    let decision = self.speak(asked, DecisionUnit::Unread);
                    rulings.push(PartRuling::unread(reading, why.0, decision));
                }
            }
        }
        rulings.dedup();
        // A rule that spells out all of it stands in for the parts that no rule is about.
        let open = |part: &PartRuling| part.rule.is_none() || part.ruling.answers_yes();
        if let [whole] = readings.as_slice()
            && rulings.iter().all(open)
            && let Some(decision) = self.speak(asked, DecisionUnit::Whole(whole))
        {
            return Some(decision.with_whole(whole));
        }
        PolicyDecision::of_parts(rulings)
    }
}

/// Whether an approval is known to be about something other than a command.
fn is_another_tool(question: &AgentQuestion<'_>) -> bool {
    question.tool().is_some_and(|tool| tool != SHELL_TOOL)
}

impl Policy {
    /// The first rule that speaks about a unit, as a decision.
    fn first(
        &self,
        asked: &ReadQuestion<'_>,
        unit: DecisionUnit<'_>,
        layer: PolicyLayer,
    ) -> Option<PolicyDecision> {
        let approval = asked.question.kind == AwaitingKind::Approval;
        self.rules.iter().find_map(|rule| {
            let decide = |ruling: RuleEffect, reason: Option<&str>| {
                Some(PolicyDecision {
                    ruling,
                    rule: Some(rule.name.clone()),
                    layer: Some(layer),
                    reason: reason.unwrap_or_default().to_owned(),
                    parts: Vec::new(),
                })
            };
            match (rule.fit(asked, unit), &rule.ruling) {
                (RuleMatch::Yes, ruling) if ruling.answers_yes() && !self.is_accepted() => {
                    let reason = "your policy has changed, and what it allows counts after \
                                  `coven policy accept`";
                    decide(RuleEffect::Ask, Some(reason))
                }
                (RuleMatch::Yes, ruling)
                    if ruling.answers_yes() && approval && rule.finds_on_screen() =>
                {
                    let reason = "the rule allows by `matches`, which finds its words anywhere; \
                                  write `command`";
                    decide(RuleEffect::Ask, Some(reason))
                }
                (RuleMatch::Yes, ruling)
                    if ruling.answers_yes() && matches!(unit, DecisionUnit::Unread) =>
                {
                    decide(RuleEffect::Ask, Some(UNREAD_COMMAND))
                }
                (RuleMatch::Yes, ruling) => decide(ruling.clone(), rule.reason.as_deref()),
                (RuleMatch::Unknown(why), RuleEffect::Deny | RuleEffect::Ask) => {
                    decide(RuleEffect::Ask, Some(why))
                }
                (RuleMatch::Unknown(_) | RuleMatch::No, _) => None,
            }
        })
    }
}

impl PolicyRule {
    /// Whether it is about a unit of a question.
    fn fit(&self, asked: &ReadQuestion<'_>, unit: DecisionUnit<'_>) -> RuleMatch {
        let ReadQuestion { question, texts } = asked;
        let texts = if self.ruling.answers_yes() { &texts[..1] } else { texts };
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
            && self
                .matches
                .as_ref()
                .is_none_or(|regex| texts.iter().any(|text| regex.is_match(text)));
        if !fits {
            return RuleMatch::No;
        }
        let command = self.fit_command(unit);
        match (&self.tools, question.tool()) {
            (Some(_), None) if command != RuleMatch::No => RuleMatch::Unknown(UNKNOWN_TOOL),
            (tools, tool) if among(tools, tool.unwrap_or_default()) => command,
            _ => RuleMatch::No,
        }
    }

    /// Whether what it says about commands holds for a unit.
    fn fit_command(&self, unit: DecisionUnit<'_>) -> RuleMatch {
        let yes = |holds: bool| if holds { RuleMatch::Yes } else { RuleMatch::No };
        let allows = self.ruling.answers_yes();
        if !self.is_about_commands() {
            return yes(!matches!(unit, DecisionUnit::Whole(_)));
        }
        match unit {
            DecisionUnit::Question => RuleMatch::No,
            DecisionUnit::Unread => RuleMatch::Unknown(UNKNOWN_COMMAND),
            DecisionUnit::Whole(text) => yes(self
                .command
                .as_ref()
                .is_some_and(|pattern| allows && pattern.exact && pattern.matches(text))),
            DecisionUnit::Part(part) => {
                let pattern = match part.kind {
                    PartKind::Command => &self.command,
                    PartKind::Redirect => &self.redirect,
                    PartKind::Special(_) => &None,
                };
                yes(pattern.as_ref().is_some_and(|pattern| {
                    let plain = part.plain.as_deref();
                    match part.kind {
                        _ if !allows => {
                            pattern.matches(&part.text) || plain.is_some_and(|p| pattern.matches(p))
                        }
                        _ if part.only_exactly => pattern.exact && pattern.matches(&part.text),
                        PartKind::Redirect => pattern.matches(plain.unwrap_or(&part.text)),
                        _ => pattern.matches(&part.text),
                    }
                }))
            }
        }
    }
}
