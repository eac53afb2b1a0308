//! One look at an agent: what all sources together say at this moment.

use std::time::Duration;

use coven_model::{
    AgentState, AgentVerdict, AskedAction, AwaitingKind, ContentDigest, EvidenceConflict,
    EvidenceSource, REPORT_PREFIX, VerdictEvidence,
};
use coven_terminal::signals::{ProgramState, ProgramStatus};

use super::errors::ErrorTracker;
use super::question::AskedLine;
use crate::config::MatchKind;
use crate::hook::HookEvent;
use crate::rules::{
    CompiledRule, GenericHit, LinePlace, LineView, RuleHit, ScreenMenu, ScreenRules, hidden_line,
};

/// How much of the screen belongs to a question that no rule knows.
const UNKNOWN_QUESTION_LINES: u16 = 15;

/// The name in the place of a rule for a question that was announced and is not on the screen in any
/// form that is known.
const ANNOUNCED_RULE: &str = "generic:announced";

/// How much of a line or title is kept as evidence.
const MAX_EVIDENCE_CHARS: usize = 200;

/// How long an agent that shows something, and nothing we know, counts as starting.
const STARTING_FOR: Duration = Duration::from_secs(10);

/// How long an agent must show nothing we know before it is unknown: longer than a repaint.
const UNKNOWN_AFTER: Duration = Duration::from_millis(600);

/// How long an announced question may take to be painted, on a machine that is busy. After that
/// what is on the screen is the question.
const ANNOUNCED_PAINT_TIME: Duration = Duration::from_secs(2);

/// How long a screen that no rule knows must show a question before it counts: longer than a program
/// takes to paint what a rule does know.
const GENERIC_AFTER: Duration = Duration::from_secs(1);

/// The same after an answer: a menu may stay while the program acts on what was chosen.
const GENERIC_AGAIN_AFTER: Duration = Duration::from_secs(4);

/// How long the screen must say idle, where the screen is all there is, before work counts as
/// done: between two steps programs show an empty prompt for a moment.
const SCREEN_IDLE_AFTER: Duration = Duration::from_millis(250);

/// How long the screen must say idle where the title says only that the agent rests: it rests as
/// well before a question, which may take its time to be painted.
const RESTING_IDLE_AFTER: Duration = Duration::from_millis(600);

/// How long a title must say idle: some change it twice in a millisecond.
const TITLE_IDLE_AFTER: Duration = Duration::from_millis(50);

/// How long a question may be missing from the screen and still count as asked, when no
/// answer was typed: a program that repaints takes it away for a moment.
const QUESTION_REPAINT_TIME: Duration = Duration::from_millis(120);

/// What an agent told, and since when.
#[derive(Clone, Debug)]
pub(super) struct TimedSignal<T> {
    pub(super) value: T,
    pub(super) since: Duration,
}

impl TimedSignal<ProgramStatus> {
    pub(super) fn new(value: ProgramStatus, now: Duration, earlier: Option<&Self>) -> Self {
        let since = match earlier {
            Some(earlier) if earlier.value.state == value.state => earlier.since,
            _ => now,
        };
        Self { value, since }
    }
}

/// What a program says beside its screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpokenSources<'a> {
    pub(super) status: Option<&'a TimedSignal<ProgramStatus>>,
    pub(super) hook: Option<&'a TimedSignal<HookEvent>>,
    pub(super) title: Option<&'a TimedSignal<(MatchKind, String)>>,
    /// Whether they are believed that the agent works or rests while its screen asks something.
    pub(super) believed: bool,
}

/// What all sources say at one moment.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the sources")]
pub(super) struct StateReading {
    pub(super) state: AgentState,
    pub(super) kind: Option<AwaitingKind>,
    pub(super) source: EvidenceSource,
    pub(super) rule: String,
    pub(super) region: String,
    pub(super) text: String,
    /// The line by which people know the question, where more than its excerpt tells it.
    pub(super) title: Option<String>,
    /// The question, where there is one.
    pub(super) excerpt: Vec<String>,
    /// What an approval asks leave for.
    pub(super) action: AskedAction,
    /// Where the question is a line: which one, and where it stands.
    pub(super) line: Option<(AskedLine, LinePlace)>,
    /// What stands above that line and belongs to the question, as far as it is known and stays.
    pub(super) above_line: Option<Vec<String>>,
    /// The menu of the question.
    pub(super) menu: Option<ScreenMenu>,
    /// When the source said so, where it says by itself when.
    pub(super) told_at: Option<Duration>,
    pub(super) since: Duration,
    /// Whether it rests on the screen alone.
    pub(super) weak: bool,
    /// Whether the title says that the agent rests, and the screen chooses how.
    pub(super) resting: bool,
    /// Whether it was announced and no rule finds it on the screen: a question, or the prompt.
    pub(super) unpainted: bool,
    /// Whether there is nothing on the screen at all.
    pub(super) blank: bool,
    /// Whether the screen asks while the program says by itself that it works.
    pub(super) denied: bool,
    /// What other sources say instead.
    pub(super) conflicts: Vec<EvidenceConflict>,
}

impl StateReading {
    pub(super) fn take(
        rules: &ScreenRules,
        view: &LineView<'_>,
        sources: SpokenSources<'_>,
        errors: &ErrorTracker,
    ) -> Self {
        let news = |rule: &CompiledRule| rule.kind != MatchKind::Error;
        let shown = rules.first(view, news);
        let is_known = shown.as_ref().is_some_and(|hit| rules.get(hit.rule).kind.awaits());
        if let Some(hit) = hidden_line(view).filter(|_| !is_known) {
            return Self::of_generic(hit);
        }
        let title = || sources.title.map(|title| Self::of_title(rules, view, title, errors));
        if let Some(status) = sources.status {
            let told = Self::of_status(rules, view, status);
            let screen = shown.map(|hit| Self::screen(rules, hit));
            let reported = sources.hook.and_then(|hook| Self::of_hook(rules, view, hook));
            let asked = told.denied_question(view, screen.as_ref());
            if let Some(asked) = asked.filter(|_| !sources.believed) {
                return asked.against(Some(told)).against(reported);
            }
            if !told.ends_turn() {
                return told.against(screen).against(reported);
            }
            return told.against(reported).unless_busy(screen, title());
        }
        if let Some(hook) = sources.hook
            && let Some(told) = Self::of_hook(rules, view, hook)
        {
            let screen = shown.map(|hit| Self::screen(rules, hit));
            // Any child of the agent can report. Without a screen or a title that is known nothing
            // speaks for it, and a person has to hear of what nobody knows.
            if screen.is_none() && title().is_none() {
                return Self::unexplained(rules, view).against(Some(told));
            }
            if told.ends_turn() {
                return told.unless_busy(screen, title());
            }
            let asked = match screen {
                None => rules.generic(view).map(Self::of_generic),
                screen => screen.filter(Self::asks),
            };
            return match asked {
                Some(asked) => asked.against(Some(told)),
                None => told.against(title()),
            };
        }
        if let Some(told) = title() {
            let screen = shown.map(|hit| Self::screen(rules, hit));
            let asked = told.denied_question(view, screen.as_ref());
            if let Some(asked) = asked.filter(|_| !sources.believed) {
                return asked.against(Some(told));
            }
            return match screen {
                Some(busy) if told.ends_turn() && busy.is_busy() => busy.against(Some(told)),
                screen => told.against(screen),
            };
        }
        match shown {
            Some(hit) => Self::of_hit(rules, view, hit, errors),
            None => Self::unexplained(rules, view),
        }
    }

    /// What the screen asks where this says that the agent works or rests. A child of the agent may have
    /// said so, and may have ended since then.
    fn denied_question(&self, view: &LineView<'_>, screen: Option<&Self>) -> Option<Self> {
        let works = self.state == AgentState::Working;
        if !works && !self.ends_turn() {
            return None;
        }
        // A program quotes dialogs and draws lists while it works; the cursor stands where it asks.
        let asked = match screen {
            None => ScreenRules::yes_or_no(view).map(Self::of_generic),
            Some(screen) if screen.state == AgentState::Idle => {
                ScreenRules::yes_or_no(view).map(Self::of_generic)
            }
            Some(screen) => Some(screen.clone()).filter(Self::asks),
        }?;
        let has_cursor = asked.line.as_ref().is_some_and(|(_, place)| place.has_cursor);
        if !has_cursor {
            return None;
        }
        Some(Self { denied: works, ..asked })
    }

    /// What was told that ends a turn, unless another source says that the agent is busy.
    fn unless_busy(self, screen: Option<Self>, title: Option<Self>) -> Self {
        // A child of the agent can say that it is idle. What the screen shows the agent itself has
        // painted last.
        if let Some(busy) = screen.filter(Self::is_busy) {
            return busy.against(Some(self));
        }
        // What a screen looks like in any program is less than what the program says twice.
        match title {
            Some(title) if title.source == EvidenceSource::Generic => self.against(Some(title)),
            Some(title) if title.is_busy() => title.against(Some(self)),
            _ => self,
        }
    }

    /// No rule of the adapter knows what the screen shows.
    fn unexplained(rules: &ScreenRules, view: &LineView<'_>) -> Self {
        rules.generic(view).map_or_else(Self::unknown, Self::of_generic)
    }

    /// Whether it says that the agent has done what it was told.
    fn ends_turn(&self) -> bool {
        matches!(self.state, AgentState::Idle | AgentState::Error)
    }

    /// Whether it says that the agent has not.
    fn is_busy(&self) -> bool {
        matches!(self.state, AgentState::Working | AgentState::Awaiting)
    }

    /// The same, with another reading that says something else.
    #[must_use]
    fn against(mut self, other: Option<Self>) -> Self {
        if let Some(other) = other
            && other.state != self.state
            && (other.is_busy() || other.ends_turn())
        {
            let (source, state, text) = (other.source, other.state, other.text);
            self.conflicts.push(EvidenceConflict { source, state, text });
        }
        self
    }

    /// The program says itself what it does; the screen says what it asks.
    fn of_status(
        rules: &ScreenRules,
        view: &LineView<'_>,
        status: &TimedSignal<ProgramStatus>,
    ) -> Self {
        let (state, kind) = match status.value.state {
            ProgramState::Working => (AgentState::Working, None),
            ProgramState::Error => (AgentState::Error, None),
            ProgramState::Blocked => {
                let kind = match status.value.kind.as_deref() {
                    Some("permission") | None => AwaitingKind::Approval,
                    Some("choice") => AwaitingKind::Choice,
                    Some(_) => AwaitingKind::Question,
                };
                (AgentState::Awaiting, Some(kind))
            }
            ProgramState::Idle | ProgramState::Done | ProgramState::Clear => {
                if let Some(hit) = rules.first(view, |rule| rule.despite_signal) {
                    return Self::screen(rules, hit);
                }
                (AgentState::Idle, None)
            }
        };
        let mut reading = Self {
            state,
            kind,
            source: EvidenceSource::Signal,
            rule: "osc7501".to_owned(),
            region: "signal".to_owned(),
            text: status_text(&status.value),
            told_at: Some(status.since),
            weak: false,
            ..Self::unknown()
        };
        match state {
            AgentState::Awaiting => reading.find_question(rules, view),
            AgentState::Idle => reading.unpainted = rules.hides_prompt(view),
            _ => {}
        }
        reading
    }

    /// What the program reported by itself; nothing if only the screen can tell.
    fn of_hook(
        rules: &ScreenRules,
        view: &LineView<'_>,
        hook: &TimedSignal<HookEvent>,
    ) -> Option<Self> {
        let (event, state) = (hook.value, hook.value.state()?);
        if state != AgentState::Working
            && let Some(hit) = rules.first(view, |rule| rule.despite_signal)
        {
            return Some(Self::screen(rules, hit));
        }
        Some(Self {
            state,
            source: EvidenceSource::Channel,
            rule: format!("{REPORT_PREFIX}{}", event.as_str()),
            region: "hook".to_owned(),
            text: event.as_str().to_owned(),
            told_at: Some(hook.since),
            weak: false,
            unpainted: state == AgentState::Idle && rules.hides_prompt(view),
            ..Self::unknown()
        })
    }

    fn of_title(
        rules: &ScreenRules,
        view: &LineView<'_>,
        title: &TimedSignal<(MatchKind, String)>,
        errors: &ErrorTracker,
    ) -> Self {
        let (kind, text) = &title.value;
        let mut reading = Self {
            source: EvidenceSource::Title,
            rule: "title".to_owned(),
            region: "title".to_owned(),
            text: shortened(text),
            told_at: Some(title.since),
            weak: false,
            ..Self::unknown()
        };
        match kind.agent_state() {
            Some((AgentState::Idle, _)) => {
                let asks = |rule: &CompiledRule| rule.kind.awaits();
                if let Some(hit) = rules.first(view, asks) {
                    return Self::screen(rules, hit);
                }
                reading.state = AgentState::Idle;
                reading.unpainted = rules.hides_prompt(view);
                if reading.unpainted
                    && let Some(hit) = rules.generic(view)
                {
                    return Self::of_generic(hit).against(Some(reading));
                }
                reading.find_error(rules, view, errors);
            }
            Some((state, kind)) => {
                reading.state = state;
                reading.kind = kind;
                if state == AgentState::Awaiting {
                    reading.find_question(rules, view);
                }
            }
            // It rests; whether it asks or is idle, the screen says.
            None => {
                let rests =
                    |rule: &CompiledRule| rule.kind.awaits() || rule.kind == MatchKind::Idle;
                return match rules.first(view, rests) {
                    Some(hit) => Self { resting: true, ..Self::of_hit(rules, view, hit, errors) },
                    None => Self::unexplained(rules, view),
                };
            }
        }
        reading
    }

    fn of_hit(
        rules: &ScreenRules,
        view: &LineView<'_>,
        hit: RuleHit,
        errors: &ErrorTracker,
    ) -> Self {
        let mut reading = Self::screen(rules, hit);
        if reading.state == AgentState::Idle {
            // The end of a plain prompt looks like that of a question for yes or no.
            if let Some(asked) = ScreenRules::yes_or_no(view) {
                return Self::of_generic(asked).against(Some(reading));
            }
            reading.find_error(rules, view, errors);
        }
        reading
    }

    fn screen(rules: &ScreenRules, hit: RuleHit) -> Self {
        let rule = rules.get(hit.rule);
        let (state, kind) = rule.kind.agent_state().unwrap_or((AgentState::Unknown, None));
        let above_line = hit.above_line().map(|lines| rules.still_words(&lines.join("\n")));
        Self {
            state,
            kind,
            source: EvidenceSource::Screen,
            rule: rule.name.clone(),
            region: rule.region_name.clone(),
            text: shortened(&hit.line),
            excerpt: if state == AgentState::Awaiting { hit.excerpt } else { Vec::new() },
            action: hit.action,
            line: hit.asked_line,
            above_line,
            menu: hit.menu,
            ..Self::unknown()
        }
    }

    /// What the screen asks in a way that means the same in any program, where a rule of the adapter
    /// says that the program works.
    pub(super) fn asked_behind_work(
        &self,
        rules: &ScreenRules,
        view: &LineView<'_>,
    ) -> Option<Self> {
        let is_work = self.state == AgentState::Working && self.source == EvidenceSource::Screen;
        let asked = rules.generic(view).filter(|_| is_work).map(Self::of_generic)?;
        Some(asked.against(Some(self.clone())))
    }

    /// What the screen asks in a way that means the same in any program. Nothing else is known of
    /// it.
    fn of_generic(hit: GenericHit) -> Self {
        Self {
            state: AgentState::Awaiting,
            kind: Some(AwaitingKind::Choice),
            source: EvidenceSource::Generic,
            rule: hit.rule.to_owned(),
            text: shortened(&hit.line),
            title: hit.title,
            excerpt: hit.excerpt,
            action: AskedAction { truncated: hit.is_cut, ..AskedAction::default() },
            line: Some(hit.asked_line),
            menu: hit.menu,
            ..Self::unknown()
        }
    }

    /// An idle agent whose last turn ended with an error that was not there at the last input.
    fn find_error(&mut self, rules: &ScreenRules, view: &LineView<'_>, errors: &ErrorTracker) {
        if let Some(hit) = rules.first(view, |rule| rule.kind == MatchKind::Error)
            && errors.is_new(&hit.line)
        {
            let told_at = self.told_at;
            *self = Self { told_at, ..Self::screen(rules, hit) };
        }
    }

    /// The question of an agent that says it asks one. If no rule of the adapter knows how it looks,
    /// nobody knows what the adapter's keys would do there, and it is for a person.
    fn find_question(&mut self, rules: &ScreenRules, view: &LineView<'_>) {
        if let Some(hit) = rules.first(view, |rule| rule.kind.awaits()) {
            let rule = rules.get(hit.rule);
            self.kind = rule.kind.agent_state().and_then(|(_, kind)| kind);
            self.rule.clone_from(&rule.name);
            self.region.clone_from(&rule.region_name);
            self.text = shortened(&format!("{}; {}", hit.line, self.text));
            self.above_line = hit.above_line().map(|lines| rules.still_words(&lines.join("\n")));
            self.excerpt = hit.excerpt;
            self.action = hit.action;
            self.line = hit.asked_line;
            self.menu = hit.menu;
        }
        if self.excerpt.is_empty() {
            self.unpainted = true;
            let rule = if let Some(hit) = rules.generic(view) {
                (self.title, self.excerpt, self.menu) = (hit.title, hit.excerpt, hit.menu);
                self.action.truncated = hit.is_cut;
                self.line = Some(hit.asked_line);
                hit.rule
            } else {
                self.excerpt = view.tail(UNKNOWN_QUESTION_LINES);
                ANNOUNCED_RULE
            };
            rule.clone_into(&mut self.rule);
        }
    }

    pub(super) fn unknown() -> Self {
        Self {
            state: AgentState::Unknown,
            kind: None,
            source: EvidenceSource::Screen,
            rule: "none".to_owned(),
            region: "screen".to_owned(),
            text: String::new(),
            title: None,
            excerpt: Vec::new(),
            action: AskedAction::default(),
            line: None,
            above_line: None,
            menu: None,
            told_at: None,
            since: Duration::ZERO,
            weak: true,
            resting: false,
            unpainted: false,
            blank: false,
            denied: false,
            conflicts: Vec::new(),
        }
    }

    pub(super) fn of_silence(kind: MatchKind, after: Duration, since: Duration) -> Self {
        let (state, kind) = kind.agent_state().unwrap_or((AgentState::Unknown, None));
        Self {
            state,
            kind,
            source: EvidenceSource::Quiet,
            rule: "quiet".to_owned(),
            region: "output".to_owned(),
            text: format!("nothing printed for {} ms", after.as_millis()),
            told_at: Some(since),
            since,
            ..Self::unknown()
        }
    }

    /// How long a question must stand there that the program denies. What was answered may stay while
    /// the program works on it.
    pub(super) fn denied_until(answered: bool, now: Duration) -> Duration {
        now + if answered { GENERIC_AGAIN_AFTER } else { GENERIC_AFTER }
    }

    /// The verdict this reading amounts to.
    pub(super) fn into_verdict(self, digest: Option<ContentDigest>) -> AgentVerdict {
        AgentVerdict {
            state: self.state,
            kind: self.kind,
            evidence: VerdictEvidence {
                source: self.source,
                rule: self.rule,
                region: self.region,
                text: self.text,
                since: super::millis(self.since),
                conflicts: self.conflicts,
            },
            digest,
            retry: None,
        }
    }

    pub(super) fn asks(&self) -> bool {
        self.state == AgentState::Awaiting
    }

    /// Whether an agent that was starting still is: on a busy machine programs paint nothing for
    /// long, and nothing but the time says that something is wrong.
    pub(super) fn is_still_starting(&self, before: AgentState) -> bool {
        before == AgentState::Starting && self.state == AgentState::Unknown && self.blank
    }

    /// Whether this says the same as another reading.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        (self.state, self.kind, &self.rule, self.unpainted)
            == (other.state, other.kind, &other.rule, other.unpainted)
    }

    /// How long it must last before it counts, after what was known before.
    pub(super) fn settles_in(&self, before: AgentState, answered: bool) -> Duration {
        let waits = before == AgentState::Awaiting && !answered && self.weak;
        let had_prompt =
            matches!(before, AgentState::Working | AgentState::Idle | AgentState::Error);
        match self.state {
            AgentState::Awaiting if self.unpainted => ANNOUNCED_PAINT_TIME,
            // That was waited for.
            AgentState::Awaiting if self.denied => Duration::ZERO,
            AgentState::Awaiting if self.source == EvidenceSource::Generic && answered => {
                GENERIC_AGAIN_AFTER
            }
            AgentState::Awaiting if self.source == EvidenceSource::Generic => GENERIC_AFTER,
            AgentState::Awaiting => Duration::ZERO,
            // Some say that they are ready before there is a prompt to type into.
            AgentState::Idle if self.unpainted && !had_prompt => STARTING_FOR,
            AgentState::Unknown if before == AgentState::Starting => STARTING_FOR,
            AgentState::Unknown => UNKNOWN_AFTER,
            _ if waits => QUESTION_REPAINT_TIME,
            AgentState::Idle | AgentState::Error if self.source == EvidenceSource::Title => {
                TITLE_IDLE_AFTER
            }
            // A report comes before what the screen shows of it.
            AgentState::Idle | AgentState::Error if self.source == EvidenceSource::Channel => {
                SCREEN_IDLE_AFTER
            }
            AgentState::Idle | AgentState::Error if self.weak && before == AgentState::Working => {
                if self.resting {
                    RESTING_IDLE_AFTER
                } else {
                    SCREEN_IDLE_AFTER
                }
            }
            _ => Duration::ZERO,
        }
    }
}

fn status_text(status: &ProgramStatus) -> String {
    let mut text = format!("{:?}", status.state).to_lowercase();
    if let Some(message) = &status.message {
        text.push_str(": ");
        text.push_str(message);
    }
    shortened(&text)
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MAX_EVIDENCE_CHARS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}
