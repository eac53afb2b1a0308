//! The policy file.
//!
//! ```yaml
//! version: 2
//! rules:
//!   - name: no-force-push
//!     matches: git push .*--force
//!     decision: deny
//!     reason: History of this repository is not rewritten.
//!   - adapter: [claude, gemini]
//!     command: cargo (check|test|clippy)( .*)?
//!     decision: allow
//!   - kind: choice
//!     matches: Which package manager
//!     decision: {answer: pnpm}
//! ```

mod warnings;

use coven_model::AwaitingKind;
use coven_notation::{
    FileProblem, FileSyntax, ProblemReport, SourceFile, SourceNode, parse, pattern, read, schema_of,
};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::pattern::WholePattern;
use crate::rules::{PolicyRule, RuleEffect, RuleName, offers};

/// The newest version of the file that is understood.
const POLICY_VERSION: u64 = 2;

/// Rules that may answer what agents ask, without a person.
///
/// The first rule that matches a question decides. What no rule matches is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Coven policy")]
struct PolicyFile {
    /// The version of this format: 2. In version 1 there is no `command`, and what its rules
    /// allow by `matches` is asked.
    #[schemars(range(min = 1, max = 2))]
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
    /// A regular expression for a whole command that an agent wants to run. The command is taken
    /// apart as a shell does, and an `allow` counts only if every part is allowed.
    #[expect(dead_code, reason = "compiled from the tree, which knows its place")]
    command: Option<String>,
    /// A regular expression for a whole redirection of such a command to or from a file, such as
    /// `> target/.*`.
    #[expect(dead_code, reason = "compiled from the tree, which knows its place")]
    redirect: Option<String>,
    /// A regular expression that finds something in what the agent shows; `^` and `$` are the
    /// ends of a line. It can deny or ask; it allows no approval, because it finds its words
    /// anywhere in what is shown.
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
    version: u32,
    pub(crate) rules: Vec<PolicyRule>,
    warnings: Vec<FileProblem>,
    accepted: bool,
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
        let patterns: Vec<RulePatterns> =
            items.iter().map(|item| RulePatterns::read(source, item, &mut problems)).collect();
        names(items, &mut problems);
        let Some(file) = read.value.filter(|_| !problems.iter().any(FileProblem::is_error)) else {
            return Err(ProblemReport::new(source.clone(), problems));
        };
        let version = file.version;
        let parts = file.rules.into_iter().zip(items).zip(patterns).enumerate();
        let rules: Vec<PolicyRule> = parts
            .map(|(index, ((raw, node), patterns))| {
                let line = source.position(node.span.start).line;
                let name = raw.name.clone().unwrap_or_else(|| format!("rule {}", index + 1));
                raw.into_rule(RuleName { name, line }, patterns)
            })
            .collect();
        warn_about_unreachable_rules(items, &rules, &mut problems);
        warnings::check(version, items, &rules, &mut problems);
        if problems.iter().any(FileProblem::is_error) {
            return Err(ProblemReport::new(source.clone(), problems));
        }
        Ok(Self { version, rules, warnings: problems, accepted: true })
    }

    /// The version of the format that the file is written in.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The same rules while the user has not agreed to them: what they deny and ask counts, what
    /// they allow or answer is asked.
    #[must_use]
    pub fn not_accepted(self) -> Self {
        Self { accepted: false, ..self }
    }

    /// Whether the user has agreed to these rules.
    pub fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// The names of the rules that would allow an approval by what is found on the screen. They
    /// ask instead.
    pub fn allows_by_matches(&self) -> impl Iterator<Item = &RuleName> {
        let asks = |rule: &&PolicyRule| rule.allows_by_matches();
        self.rules.iter().filter(asks).map(|rule| &rule.name)
    }

    /// What is probably not meant in a file that can be used.
    pub fn warnings(&self) -> &[FileProblem] {
        &self.warnings
    }
}

impl RuleEntry {
    fn into_rule(self, name: RuleName, patterns: RulePatterns) -> PolicyRule {
        PolicyRule {
            name,
            adapters: self.adapter.map(OneOrMore::into_list),
            kinds: self.kind.map(OneOrMore::into_list),
            tools: self.tool.map(OneOrMore::into_list),
            dialogs: self.dialog.map(OneOrMore::into_list),
            matches: patterns.matches,
            command: patterns.command,
            redirect: patterns.redirect,
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

/// The regular expressions of one rule.
struct RulePatterns {
    matches: Option<Regex>,
    command: Option<WholePattern>,
    redirect: Option<WholePattern>,
}

impl RulePatterns {
    fn read(source: &SourceFile, rule: &SourceNode, problems: &mut Vec<FileProblem>) -> Self {
        let mut compiled = |key: &str, flags: &str| {
            let node = rule.get(key).filter(|node| node.as_str().is_some())?;
            match pattern::compile(source, node, flags) {
                Ok(regex) => Some(regex),
                Err(problem) => {
                    problems.push(*problem);
                    None
                }
            }
        };
        let matches = compiled("matches", "m");
        let (command, redirect) = (compiled("command", ""), compiled("redirect", ""));
        let mut whole = |key: &str, regex: Option<Regex>| match WholePattern::new(&regex?) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let span = rule.get(key).map_or(rule.span, |node| node.span);
                let message = format!("not a regular expression for a whole text: {error}");
                problems.push(FileProblem::error("bad-pattern", span, message));
                None
            }
        };
        Self { matches, command: whole("command", command), redirect: whole("redirect", redirect) }
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
