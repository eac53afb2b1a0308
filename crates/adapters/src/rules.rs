//! The rules of an adapter, compiled: what on a screen or in a title means what.

mod region;
mod view;

use std::collections::BTreeMap;

use coven_model::{AgentState, AwaitingKind};
use coven_notation::HumanDuration;
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::config::{Config, CursorRule, Kind, StateRule};

pub use region::{Region, RegionError};
pub use view::View;

/// The largest compiled pattern, in bytes. A pattern that needs more is a mistake or an attack.
const LARGEST: usize = 4 << 20;

/// How many lines above a match belong to a question whose beginning no rule names.
const QUESTION_LINES: usize = 15;

/// A pattern that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuleError {
    /// The regular expression is wrong.
    #[error("the pattern of `{rule}` is no regular expression: {error}")]
    Pattern {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        error: Box<regex::Error>,
    },
    /// The region cannot be read.
    #[error("the region of `{rule}`: {error}")]
    Region {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        error: RegionError,
    },
}

/// The rules of one adapter, ready to be applied. The default has none.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    sets: Vec<Set>,
    titles: Vec<Title>,
    pub(crate) program_status: bool,
    pub(crate) quiet: Option<(std::time::Duration, Kind)>,
    volatile: Vec<Regex>,
}

/// The patterns of all rules that look at one region.
#[derive(Debug)]
struct Set {
    region: Region,
    patterns: RegexSet,
    rules: Vec<usize>,
}

/// One compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) despite_signal: bool,
    pub(crate) region_name: String,
    region: Region,
    pattern: Regex,
    not: Option<Regex>,
    begins: Option<Regex>,
    below: Option<Regex>,
    cursor: Option<CursorRule>,
}

#[derive(Debug)]
struct Title {
    pattern: Regex,
    source: String,
    kind: Kind,
}

/// Where a rule matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: usize,
    /// The line that matched.
    pub(crate) line: String,
    /// The whole question, from its beginning to the end of the region.
    pub(crate) excerpt: Vec<String>,
}

impl Rules {
    /// Compiles the rules of an adapter file.
    pub fn new(config: &Config) -> Result<Self, RuleError> {
        let mut rules = Vec::new();
        for dialog in &config.dialogs {
            let rule = StateRule {
                pattern: dialog.pattern.clone(),
                flags: dialog.flags.clone(),
                kind: Some(dialog.kind.unwrap_or(Kind::Dialog)),
                region: dialog.region.clone(),
                not: dialog.not.clone(),
                begins: dialog.begins.clone(),
                ..StateRule::default()
            };
            rules.push(Rule::new(&format!("dialog:{}", dialog.name), &rule)?);
        }
        for (name, rule) in &config.states {
            rules.push(Rule::new(name, rule)?);
        }
        let mut titles = Vec::new();
        for title in &config.signals.title {
            titles.push(Title {
                pattern: compile("signals.title", &title.pattern, &title.flags)?,
                source: title.pattern.clone(),
                kind: title.kind,
            });
        }
        let volatile = config
            .volatile
            .iter()
            .map(|pattern| compile("volatile", pattern, ""))
            .collect::<Result<_, _>>()?;
        let quiet = config.signals.quiet.as_ref();
        Ok(Self {
            sets: sets(&rules, config)?,
            rules,
            titles,
            program_status: config.signals.osc7501,
            quiet: quiet.map(|rule| {
                let HumanDuration(after) = rule.after;
                (after, rule.kind)
            }),
            volatile,
        })
    }

    /// How many patterns are applied to a screen.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether no rule looks at the screen.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(crate) fn get(&self, rule: usize) -> &Rule {
        &self.rules[rule]
    }

    /// What a title means, and the pattern that says so.
    pub(crate) fn title(&self, title: &str) -> Option<(Kind, &str)> {
        let title = self.titles.iter().find(|rule| rule.pattern.is_match(title))?;
        Some((title.kind, &title.source))
    }

    /// The first rule that matches, out of those that are wanted.
    pub(crate) fn first(&self, view: &View<'_>, wanted: impl Fn(&Rule) -> bool) -> Option<Hit> {
        let mut texts: BTreeMap<Region, view::Text> = BTreeMap::new();
        let mut candidates: Vec<(usize, Region)> = Vec::new();
        for set in &self.sets {
            if !set.rules.iter().any(|&rule| wanted(&self.rules[rule])) {
                continue;
            }
            let text = texts.entry(set.region).or_insert_with(|| view.region(set.region));
            let matches = set.patterns.matches(&text.joined);
            candidates.extend(matches.iter().map(|index| (set.rules[index], set.region)));
        }
        candidates.sort_unstable_by_key(|(rule, _)| *rule);
        candidates.into_iter().find_map(|(index, region)| {
            let rule = &self.rules[index];
            wanted(rule).then(|| rule.apply(index, view, texts.get(&region)?)).flatten()
        })
    }

    /// All lines that rules of one kind match, anywhere in their regions.
    pub(crate) fn lines_of(&self, view: &View<'_>, kind: Kind) -> Vec<String> {
        let mut lines = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.kind == kind) {
            let text = view.region(rule.region);
            for found in rule.pattern.find_iter(&text.joined) {
                lines.push(text.lines[text.line_at(found.start())].trim().to_owned());
            }
        }
        lines
    }

    /// A question reduced to what makes it this question: no volatile parts, no frames, and one
    /// space wherever there is any, so that neither a blinking mark nor a resize changes it.
    pub(crate) fn essence(&self, excerpt: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        for line in excerpt {
            let mut line = line.clone();
            for volatile in &self.volatile {
                if let std::borrow::Cow::Owned(changed) = volatile.replace_all(&line, "") {
                    line = changed;
                }
            }
            let plain: String =
                line.chars().map(|char| if is_frame(char) { ' ' } else { char }).collect();
            words.extend(plain.split_whitespace().map(str::to_owned));
        }
        words
    }
}

/// Lines and corners that programs draw around text, and the blocks some use for edges.
fn is_frame(char: char) -> bool {
    matches!(char, '\u{2500}'..='\u{259f}')
}

fn sets(rules: &[Rule], config: &Config) -> Result<Vec<Set>, RuleError> {
    let mut by_region: BTreeMap<Region, Vec<usize>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        by_region.entry(rule.region).or_default().push(index);
    }
    let source = |index: usize| {
        let dialogs = config.dialogs.len();
        let (pattern, flags) = match config.dialogs.get(index) {
            Some(dialog) => (&dialog.pattern, &dialog.flags),
            None => {
                let (_, rule) = &config.states.get_index(index - dialogs).unwrap_or_else(|| {
                    unreachable!("the rules were made from the dialogs and then the states")
                });
                (&rule.pattern, &rule.flags)
            }
        };
        let flags: String = flags.chars().filter(|flag| matches!(flag, 'i' | 's' | 'x')).collect();
        let pattern = ascii_boundaries(pattern);
        if flags.is_empty() { pattern } else { format!("(?{flags}:{pattern})") }
    };
    by_region
        .into_iter()
        .map(|(region, rules)| {
            let patterns = RegexSetBuilder::new(rules.iter().map(|&rule| source(rule)))
                .multi_line(true)
                .size_limit(LARGEST * 4)
                .build()
                .map_err(|error| RuleError::Pattern {
                    rule: "all of one region".to_owned(),
                    error: Box::new(error),
                })?;
            Ok(Set { region, patterns, rules })
        })
        .collect()
}

impl Rule {
    fn new(name: &str, rule: &StateRule) -> Result<Self, RuleError> {
        let region = rule.region.as_deref().unwrap_or("screen");
        let optional = |pattern: &Option<String>| {
            pattern.as_ref().map(|pattern| compile(name, pattern, &rule.flags)).transpose()
        };
        Ok(Self {
            name: name.to_owned(),
            kind: rule.kind.unwrap_or_else(|| kind_by_name(name)),
            despite_signal: rule.despite_signal,
            region_name: region.to_owned(),
            region: region
                .parse()
                .map_err(|error| RuleError::Region { rule: name.to_owned(), error })?,
            pattern: compile(name, &rule.pattern, &rule.flags)?,
            not: optional(&rule.not)?,
            begins: optional(&rule.begins)?,
            below: optional(&rule.below)?,
            cursor: rule.cursor,
        })
    }

    fn apply(&self, index: usize, view: &View<'_>, text: &view::Text) -> Option<Hit> {
        match self.cursor {
            Some(CursorRule::Visible) if !view.cursor_visible() => return None,
            Some(CursorRule::Hidden) if view.cursor_visible() => return None,
            _ => {}
        }
        if self.not.as_ref().is_some_and(|not| not.is_match(&text.joined)) {
            return None;
        }
        let floor = self.below.as_ref().and_then(|below| {
            (0..text.lines.len()).rev().find(|&line| below.is_match(&text.lines[line]))
        });
        let from = floor.map_or(0, |line| text.starts[line]);
        let found = self.pattern.find_at(&text.joined, from)?;
        let line = text.line_at(found.start());
        Some(Hit {
            rule: index,
            line: text.lines[line].trim().to_owned(),
            excerpt: self.question(view, text.first + line, text.first + text.lines.len()),
        })
    }

    /// The lines of a question that was seen at one line of the screen: from its beginning, which
    /// may lie above the region, to the end of the region.
    fn question(&self, view: &View<'_>, seen: usize, end: usize) -> Vec<String> {
        let begin = self
            .begins
            .as_ref()
            .and_then(|begins| (0..=seen).rev().find(|&line| begins.is_match(view.line(line))))
            .unwrap_or_else(|| seen.saturating_sub(QUESTION_LINES));
        (begin..end).map(|line| view.line(line).to_owned()).collect()
    }
}

/// What a rule without a kind means: the plain form has the meaning in the name.
pub(crate) fn kind_by_name(name: &str) -> Kind {
    match name {
        "interaction_idle" => Kind::Idle,
        name if name.contains("interaction") => Kind::Approval,
        _ => Kind::Working,
    }
}

impl Kind {
    /// The state this means, and what is awaited. Nothing for [`Kind::Rest`], which only says
    /// what is not.
    pub fn meaning(self) -> Option<(AgentState, Option<AwaitingKind>)> {
        Some(match self {
            Self::Starting => (AgentState::Starting, None),
            Self::Working => (AgentState::Working, None),
            Self::Idle => (AgentState::Idle, None),
            Self::Error => (AgentState::Error, None),
            Self::Approval => (AgentState::Awaiting, Some(AwaitingKind::Approval)),
            Self::Question => (AgentState::Awaiting, Some(AwaitingKind::Question)),
            Self::Choice => (AgentState::Awaiting, Some(AwaitingKind::Choice)),
            Self::Dialog => (AgentState::Awaiting, Some(AwaitingKind::Dialog)),
            Self::Rest => return None,
        })
    }

    /// Whether the program waits for an answer.
    pub fn awaits(self) -> bool {
        self.meaning().is_some_and(|(state, _)| state == AgentState::Awaiting)
    }
}

fn compile(rule: &str, pattern: &str, flags: &str) -> Result<Regex, RuleError> {
    RegexBuilder::new(&ascii_boundaries(pattern))
        .multi_line(true)
        .case_insensitive(flags.contains('i'))
        .dot_matches_new_line(flags.contains('s'))
        .ignore_whitespace(flags.contains('x'))
        .size_limit(LARGEST)
        .build()
        .map_err(|error| RuleError::Pattern { rule: rule.to_owned(), error: Box::new(error) })
}

/// Makes `\b` and `\B` look at ASCII only: with Unicode they make a set of fifty patterns some
/// two hundred times slower, and the words of these rules are ASCII.
fn ascii_boundaries(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_class = 0_u32;
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(boundary @ ('b' | 'B')) if in_class == 0 => {
                    // `\b{start}` and its kin are already something else.
                    if chars.as_str().starts_with('{') {
                        out.push('\\');
                        out.push(boundary);
                    } else {
                        out.push_str("(?-u:\\");
                        out.push(boundary);
                        out.push(')');
                    }
                }
                Some(escaped) => {
                    out.push('\\');
                    out.push(escaped);
                }
                None => out.push('\\'),
            },
            '[' => {
                in_class += 1;
                out.push(char);
            }
            ']' => {
                in_class = in_class.saturating_sub(1);
                out.push(char);
            }
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests;
