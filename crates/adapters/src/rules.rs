//! The rules of an adapter, compiled: what on a screen or in a title means what.

mod approval;
mod compile;
mod generic;
mod hidden_line;
mod menu;
mod own_lines;
mod region;
mod rule;
mod title;
mod view;

use std::collections::BTreeMap;

use coven_model::{AgentState, AwaitingKind};
use coven_notation::HumanDuration;
use coven_terminal::signals::{ProgramState, TerminalSignal};
use coven_terminal::snapshot::is_frame;
use regex::{Regex, RegexSet};

use crate::config::{Config, MatchKind, StateRule};
pub(crate) use approval::hides_lines;
use approval::{CompiledApproval, QuestionLines};
use compile::{compile, sets};
use own_lines::OwnLines;

pub use compile::RuleError;
pub(crate) use generic::{GenericHit, YES_OR_NO_RULE, is_prompt, without_times};
pub(crate) use hidden_line::{hidden_line, is_hidden_line};
pub use menu::{MenuLayout, ScreenMenu};
pub(crate) use own_lines::without_motion;
pub use region::{RegionError, ScreenRegion};
pub(crate) use rule::{CompiledRule, LinePlace, RuleHit};
pub use view::{LineView, TypedText};

/// The rules of one adapter, ready to be applied. The default has none.
#[derive(Debug, Default)]
pub struct ScreenRules {
    ranked: Vec<CompiledRule>,
    sets: Vec<RegionPatterns>,
    titles: Vec<CompiledTitle>,
    pub(crate) program_status: bool,
    pub(crate) quiet: Option<(std::time::Duration, MatchKind)>,
    volatile: Vec<Regex>,
    /// How long the program may take to start, where its file says so.
    pub(crate) start_bound: Option<std::time::Duration>,
    approvals: Vec<CompiledApproval>,
    entries: CompiledEntries,
}

/// How the menus of a program are used, beyond what holds for all.
#[derive(Debug, Default)]
struct CompiledEntries {
    row: Option<Regex>,
    text: Option<Regex>,
}

/// The patterns of all rules that look at one region.
#[derive(Debug)]
struct RegionPatterns {
    region: ScreenRegion,
    patterns: RegexSet,
    rules: Vec<usize>,
}

#[derive(Debug)]
struct CompiledTitle {
    pattern: Regex,
    source: String,
    kind: MatchKind,
}

impl ScreenRules {
    /// Compiles the rules of an adapter file.
    pub fn new(config: &Config) -> Result<Self, RuleError> {
        let mut rules = Vec::new();
        for dialog in &config.dialogs {
            let rule = StateRule {
                pattern: dialog.pattern.clone(),
                flags: dialog.flags.clone(),
                kind: Some(dialog.kind.unwrap_or(MatchKind::Dialog)),
                region: dialog.region.clone(),
                not: dialog.not.clone(),
                begins: dialog.begins.clone(),
                ..StateRule::default()
            };
            rules.push(CompiledRule::new(&format!("dialog:{}", dialog.name), &rule)?);
        }
        for (name, rule) in &config.states {
            rules.push(CompiledRule::new(name, rule)?);
        }
        let mut titles = Vec::new();
        for title in &config.signals.title {
            titles.push(CompiledTitle {
                pattern: compile("signals.title", &title.pattern, &title.flags)?,
                source: title.pattern.clone(),
                kind: title.kind,
            });
        }
        let compiled = |pattern: &String| compile("entries", pattern, "");
        let volatile = config
            .volatile
            .iter()
            .map(|pattern| compile("volatile", pattern, ""))
            .collect::<Result<_, _>>()?;
        let entries = config.entries.as_ref();
        let entries = CompiledEntries {
            row: entries.and_then(|entries| entries.row.as_ref()).map(compiled).transpose()?,
            text: entries.and_then(|entries| entries.text.as_ref()).map(compiled).transpose()?,
        };
        let quiet = config.signals.quiet.as_ref();
        Ok(Self {
            sets: sets(&rules)?,
            ranked: rules,
            titles,
            program_status: config.signals.osc7501,
            quiet: quiet.map(|rule| {
                let HumanDuration(after) = rule.after;
                (after, rule.kind)
            }),
            volatile,
            start_bound: config.start_bound.as_ref().map(|bound| bound.0),
            approvals: config
                .approvals
                .iter()
                .map(CompiledApproval::new)
                .collect::<Result<_, _>>()?,
            entries,
        })
    }

    /// How many patterns are applied to a screen.
    pub fn len(&self) -> usize {
        self.ranked.len()
    }

    /// Whether no rule looks at the screen.
    pub fn is_empty(&self) -> bool {
        self.ranked.is_empty()
    }

    pub(crate) fn get(&self, rule: usize) -> &CompiledRule {
        &self.ranked[rule]
    }

    /// What a title means, and the pattern that says so.
    pub(crate) fn title(&self, title: &str) -> Option<(MatchKind, &str)> {
        let title = self.titles.iter().find(|rule| rule.pattern.is_match(title))?;
        Some((title.kind, &title.source))
    }

    /// Whether any rule can tell that the program works. Programs may say so by OSC 7501 besides.
    pub fn show_work(&self) -> bool {
        self.ranked.iter().any(|rule| rule.kind == MatchKind::Working)
            || self.titles.iter().any(|title| title.kind == MatchKind::Working)
    }

    /// Whether a signal alone says that the program works.
    pub fn says_working(&self, signal: &TerminalSignal) -> bool {
        match signal {
            TerminalSignal::Status(status) => {
                self.program_status && status.state == ProgramState::Working
            }
            TerminalSignal::Title(title) => {
                self.title(title).is_some_and(|(kind, _)| kind == MatchKind::Working)
            }
            _ => false,
        }
    }

    /// The first rule that matches, out of those that are wanted.
    pub(crate) fn first(
        &self,
        view: &LineView<'_>,
        wanted: impl Fn(&CompiledRule) -> bool,
    ) -> Option<RuleHit> {
        let mut texts: BTreeMap<ScreenRegion, view::RegionText> = BTreeMap::new();
        let mut candidates: Vec<(usize, ScreenRegion)> = Vec::new();
        for set in &self.sets {
            if !set.rules.iter().any(|&rule| wanted(&self.ranked[rule])) {
                continue;
            }
            let text = texts.entry(set.region).or_insert_with(|| view.region(set.region));
            let matches = set.patterns.matches(&text.joined);
            candidates.extend(matches.iter().map(|index| (set.rules[index], set.region)));
        }
        candidates.sort_unstable_by_key(|(rule, _)| *rule);
        let mut hit = candidates.into_iter().find_map(|(index, region)| {
            let rule = &self.ranked[index];
            wanted(rule).then(|| rule.apply(index, view, texts.get(&region)?)).flatten()
        })?;
        if self.ranked[hit.rule].kind == MatchKind::Approval {
            let known = hit.known.start.saturating_sub(hit.lines.start + hit.older);
            let question = QuestionLines {
                lines: &hit.excerpt[hit.older..],
                known: known..known + hit.known.len(),
                begins: hit.begins,
            };
            let found = self.approvals.iter().find_map(|about| about.read(view, &question));
            hit.action = found.unwrap_or_default();
        }
        hit.action.truncated |= hit.begins_above;
        // Where the terminal collects a line no key moves a mark.
        if self.ranked[hit.rule].kind.awaits() && !view.collects_line() {
            hit.menu = self.menu(view, &hit);
        }
        Some(hit)
    }

    /// The menu of a question.
    fn menu(&self, view: &LineView<'_>, hit: &RuleHit) -> Option<ScreenMenu> {
        let menu = ScreenMenu::read(view, hit.lines.clone(), self.entries.row.as_ref())?;
        // Where it is not known how the question begins, the lines above it are others' perhaps.
        let above = if hit.begins > 0 {
            let above = hit.lines.start..menu.lines.start;
            above.map(|line| view.line(line)).collect::<Vec<_>>().join("\n")
        } else {
            OwnLines::words_above(view, &menu.lines)
        };
        let question = self.still_words(&above);
        Some(menu.with_text_entry(self.entries.text.as_ref()).with_question(question))
    }

    /// The words of a text that stay while it is shown.
    pub(crate) fn still_words(&self, text: &str) -> Vec<String> {
        let still = text.lines().map(|line| without_motion(line).into_owned());
        let words = self.essence(&still.collect::<Vec<_>>()).join(" ");
        without_times(&words).split_whitespace().map(str::to_owned).collect()
    }

    /// What the screen asks in a way that means the same in any program.
    pub(crate) fn generic(&self, view: &LineView<'_>) -> Option<GenericHit> {
        let mut hit = GenericHit::find(view)?;
        hit.menu = hit.menu.map(|menu| {
            let question = self.still_words(&OwnLines::words_above(view, &menu.lines));
            menu.with_text_entry(self.entries.text.as_ref()).with_question(question)
        });
        Some(hit)
    }

    /// A question for yes or no at the cursor. A plain prompt looks the same at its end.
    pub(crate) fn yes_or_no(view: &LineView<'_>) -> Option<GenericHit> {
        generic::yes_or_no(view)
    }

    /// Whether there is a rule for the prompt and the prompt is not to be seen.
    pub(crate) fn hides_prompt(&self, view: &LineView<'_>) -> bool {
        let prompt = |rule: &CompiledRule| rule.kind == MatchKind::Idle;
        self.ranked.iter().any(prompt) && self.first(view, prompt).is_none()
    }

    /// All lines that rules of one kind match, anywhere in their regions.
    pub(crate) fn lines_of(&self, view: &LineView<'_>, kind: MatchKind) -> Vec<String> {
        let mut lines = Vec::new();
        for rule in self.ranked.iter().filter(|rule| rule.kind == kind) {
            let text = view.region(rule.region);
            for found in rule.pattern.find_iter(&text.joined) {
                lines.push(text.lines[text.most_telling_line(found.range())].trim().to_owned());
            }
        }
        lines
    }

    /// A question reduced to what makes it this question: no volatile parts, no frames, and one
    /// space wherever there is any, so that neither a blinking mark nor a resize changes it. The mark
    /// of what is selected stays, because Enter means something else where it stands elsewhere.
    pub(crate) fn essence(&self, excerpt: &[String]) -> Vec<String> {
        let mut text = excerpt.join("\n");
        for volatile in &self.volatile {
            if let std::borrow::Cow::Owned(changed) = volatile.replace_all(&text, "") {
                text = changed;
            }
        }
        let plain: String =
            text.chars().map(|char| if is_frame(char) { ' ' } else { char }).collect();
        plain.split_whitespace().map(str::to_owned).collect()
    }
}

/// What a rule without a kind means: the plain form has the meaning in the name.
pub(crate) fn kind_by_name(name: &str) -> MatchKind {
    match name {
        "interaction_idle" => MatchKind::Idle,
        name if name.contains("interaction") => MatchKind::Approval,
        _ => MatchKind::Working,
    }
}

impl MatchKind {
    /// The state this means, and what is awaited. Nothing for [`MatchKind::Rest`], which only says
    /// what is not.
    pub(crate) fn agent_state(self) -> Option<(AgentState, Option<AwaitingKind>)> {
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
        self.agent_state().is_some_and(|(state, _)| state == AgentState::Awaiting)
    }
}

#[cfg(test)]
mod tests;
