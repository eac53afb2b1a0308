//! The policy file.
//!
//! ```yaml
//! version: 1
//! rules:
//!   - name: no-force-push
//!     matches: git push .*--force
//!     decision: deny
//!     reason: History of this repository is not rewritten.
//!   - adapter: [claude, gemini]
//!     kind: approval
//!     matches: ^cargo (check|test|clippy)\b
//!     decision: allow
//!   - kind: choice
//!     matches: Which package manager
//!     decision: {answer: pnpm}
//! ```

use coven_model::AwaitingKind;
use coven_notation::{
    FileProblem, FileSyntax, ProblemReport, SourceFile, SourceNode, parse, pattern, read, schema_of,
};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rules::{PolicyRule, RuleEffect, RuleName, offers};

/// The newest version of the file that is understood.
const POLICY_VERSION: u64 = 1;

/// Rules that may answer what agents ask, without a person.
///
/// The first rule that matches a question decides. What no rule matches is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Coven policy")]
struct PolicyFile {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    #[expect(dead_code, reason = "looked at in the tree, before anything else")]
    version: u32,
    /// The rules, the most important first.
    rules: Vec<RuleEntry>,
}

/// One rule: which questions it is about, and what happens with them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    /// A name for decisions and messages; without one it is `rule 3`.
    #[schemars(length(min = 1, max = 80))]
    name: Option<String>,
    /// The agents it is about, by the type of their adapter.
    adapter: Option<OneOrMore<String>>,
    /// The kinds of question it is about.
    kind: Option<OneOrMore<AwaitingKind>>,
    /// The tools it is about, where the adapter can tell which one an agent wants to use.
    tool: Option<OneOrMore<String>>,
    /// The dialogs it is about, by the name they have in the adapter file.
    dialog: Option<OneOrMore<String>>,
    /// A regular expression that finds something in what the agent shows; `^` and `$` are the
    /// ends of a line.
    #[expect(dead_code, reason = "compiled from the tree, which knows its place")]
    matches: Option<String>,
    /// What happens with a question that the rule matches.
    decision: RuleDecision,
    /// The reason, shown beside the decision; a denied agent is told.
    reason: Option<String>,
}

/// One value, or a list of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore<T> {
    /// A single value, without a list.
    One(T),
    /// Several; one of them must fit.
    More(#[schemars(length(min = 1))] Vec<T>),
}

/// What happens with a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RuleDecision {
    /// The agent may do it, this once.
    Allow,
    /// The agent may do it, and need not ask again.
    AllowAlways,
    /// The agent may not do it.
    Deny,
    /// A person is asked to decide.
    Ask,
    /// The agent is answered with this text.
    Answer(String),
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) rules: Vec<PolicyRule>,
    warnings: Vec<FileProblem>,
}

/// The JSON schema of the file.
pub fn schema() -> serde_json::Value {
    schema_of::<PolicyFile>()
}

impl Policy {
    /// Reads a policy file; refuses one with any error, and reports all of them.
    pub fn read(source: &SourceFile) -> Result<Self, ProblemReport> {
        if let Some(problem) = newer_version_problem(source) {
            return Err(ProblemReport::new(source.clone(), vec![problem]));
        }
        let read = read::<PolicyFile>(source, FileSyntax::Yaml);
        let mut problems = read.problems;
        // Patterns are checked even if something else is wrong: every problem at once.
        let items = read
            .node
            .as_ref()
            .and_then(|node| node.get("rules"))
            .map_or(&[][..], SourceNode::items);
        let patterns: Vec<Option<Regex>> =
            items.iter().map(|item| compiled(source, item, &mut problems)).collect();
        names(items, &mut problems);
        let Some(file) = read.value.filter(|_| !problems.iter().any(FileProblem::is_error)) else {
            return Err(ProblemReport::new(source.clone(), problems));
        };
        let parts = file.rules.into_iter().zip(items).zip(patterns).enumerate();
        let rules: Vec<PolicyRule> = parts
            .map(|(index, ((raw, node), regex))| {
                let line = source.position(node.span.start).line;
                let name = raw.name.clone().unwrap_or_else(|| format!("rule {}", index + 1));
                raw.into_rule(RuleName { name, line }, regex)
            })
            .collect();
        warn_about_unreachable_rules(items, &rules, &mut problems);
        Ok(Self { rules, warnings: problems })
    }

    /// What is probably not meant in a file that can be used.
    pub fn warnings(&self) -> &[FileProblem] {
        &self.warnings
    }
}

impl RuleEntry {
    fn into_rule(self, name: RuleName, matches: Option<Regex>) -> PolicyRule {
        PolicyRule {
            name,
            adapters: self.adapter.map(OneOrMore::into_list),
            kinds: self.kind.map(OneOrMore::into_list),
            tools: self.tool.map(OneOrMore::into_list),
            dialogs: self.dialog.map(OneOrMore::into_list),
            matches,
            ruling: match self.decision {
                RuleDecision::Allow => RuleEffect::Allow,
                RuleDecision::AllowAlways => RuleEffect::AllowAlways,
                RuleDecision::Deny => RuleEffect::Deny,
                RuleDecision::Ask => RuleEffect::Ask,
                RuleDecision::Answer(text) => RuleEffect::Answer(text),
            },
            reason: self.reason,
        }
    }
}

impl<T> OneOrMore<T> {
    fn into_list(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::More(more) => more,
        }
    }
}

/// A file of a newer version is not judged by the rules of this one.
fn newer_version_problem(source: &SourceFile) -> Option<FileProblem> {
    let node = parse(source, FileSyntax::Yaml).ok()?;
    let version = node.get("version")?;
    let number = version.to_json().as_u64().filter(|number| *number > POLICY_VERSION)?;
    let message =
        format!("this policy has version {number}; this Coven knows version {POLICY_VERSION}");
    Some(
        FileProblem::error("newer-version", version.span, message)
            .help("update Coven; until then the policy is not used, and everything is asked"),
    )
}

fn compiled(
    source: &SourceFile,
    rule: &SourceNode,
    problems: &mut Vec<FileProblem>,
) -> Option<Regex> {
    let node = rule.get("matches").filter(|node| node.as_str().is_some())?;
    match pattern::compile(source, node, "m") {
        Ok(regex) => Some(regex),
        Err(problem) => {
            problems.push(*problem);
            None
        }
    }
}

/// Two rules with one name could not be told apart in a decision.
fn names(rules: &[SourceNode], problems: &mut Vec<FileProblem>) {
    let named = rules.iter().filter_map(|rule| rule.get("name"));
    let named: Vec<&SourceNode> = named.filter(|name| name.as_str().is_some()).collect();
    for (index, name) in named.iter().enumerate() {
        if let Some(first) = named[..index].iter().find(|first| first.value == name.value) {
            let text = name.as_str().unwrap_or_default();
            let message = format!("two rules are named `{text}`");
            let problem = FileProblem::error("duplicate-name", name.span, message);
            problems.push(problem.with_related(first.span, "the first one is here"));
        }
    }
}

/// Rules that can never decide anything.
fn warn_about_unreachable_rules(
    items: &[SourceNode],
    rules: &[PolicyRule],
    problems: &mut Vec<FileProblem>,
) {
    let all = rules.iter().position(PolicyRule::is_about_everything);
    if let Some(all) = all.filter(|all| all + 1 < rules.len()) {
        let place = |index: usize| {
            let node: &SourceNode = &items[index];
            node.entries().first().map_or(node.span, |entry| entry.key_span)
        };
        let message = "this rule and those after it are never reached";
        problems.push(
            FileProblem::warning("unreachable-rule", place(all + 1), message)
                .with_related(place(all), "this rule is about every question")
                .help("put rules that are about less before it"),
        );
    }
    for (node, rule) in items.iter().zip(rules) {
        let Some((kinds, choice)) = rule.kinds.as_ref().zip(rule.ruling.choice()) else { continue };
        if !kinds.iter().any(|kind| offers(*kind, choice)) {
            let span = node.get("decision").map_or(node.span, |decision| decision.span);
            let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            let message = format!("a {} does not offer to {}", names.join(" or a "), rule.ruling);
            problems.push(
                FileProblem::warning("impossible-decision", span, message).help(
                    "such a question is asked; give a text with {answer: …}, deny it, or ask",
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests;
