//! Turns what an agent shows into what it is doing, with the evidence.
//!
//! A [`ScreenSniffer`] is told everything that can be observed (screens, titles and signals, what
//! was typed, time passing) and says what the agent is doing. It is usable alone: with snapshots of
//! a terminal, or with nothing but text.
//!
//! Sources count in this order: the program's own status (OSC 7501), what it reported by itself
//! ([`crate::hook`]), its window title, the rules that read the screen, silence, and the end of the
//! process. No source hides a question at the cursor, and a title that says idle, or a report, none at all: some programs call themselves ready behind a
//! dialog, and everything that an agent starts can send a signal or a report, and end.
//!
//! Three things keep it from being fooled. A weak reading has to last before it counts, so a frame
//! that was half painted changes nothing. A question is seen once, and again only after something
//! was typed and it came back, so that a second one with the same words is a second question. And
//! what nothing explains is `unknown`, not a guess.

mod errors;
mod pacer;
mod question;
mod reading;
mod stillness;

use std::sync::Arc;
use std::time::Duration;

use coven_model::{AgentState, AgentVerdict, AskedAction, EvidenceSource, VerdictEvidence};
use coven_terminal::signals::{ProgramState, ProgramStatus, TerminalSignal};
use coven_terminal::snapshot::ScreenSnapshot;

use crate::config::MatchKind;
use crate::hook::HookEvent;
use crate::rules::{LineView, ScreenMenu, ScreenRules, TypedText, YES_OR_NO_RULE, hides_lines};
use errors::ErrorTracker;
pub(crate) use question::AskedLine;
use question::QuestionTracker;
use reading::{SpokenSources, StateReading, TimedSignal};
use stillness::ScreenStillness;

pub use pacer::ReadPacer;

/// How long an agent that does something nobody knows must be quiet before a person is told: print
/// nothing, or only what is painted all the time, such as a clock.
pub const UNEXPLAINED_AFTER: Duration = Duration::from_secs(20);

/// How long an agent may take to start before a person is told, where its adapter does not say.
pub const START_LIMIT: Duration = Duration::from_mins(1);

/// How long an agent that reported its work may print nothing and still count as working: programs
/// that work turn a spinner. The report of the end may be lost, because no daemon ran.
const REPORTED_WORK_SILENCE: Duration = Duration::from_secs(10);

/// How long after a resize the screen may be in disorder, because the program repaints it.
const RESIZE_REPAINT_TIME: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct ScreenSniffer {
    rules: Arc<ScreenRules>,
    status: Option<TimedSignal<ProgramStatus>>,
    hook: Option<TimedSignal<HookEvent>>,
    title: Option<TimedSignal<(MatchKind, String)>>,
    questions: QuestionTracker,
    errors: ErrorTracker,
    stillness: ScreenStillness,
    verdict: AgentVerdict,
    /// When the verdict was last seen to hold.
    held: Option<Duration>,
    /// A reading that has not lasted long enough, and when it will have.
    candidate: Option<(StateReading, Duration)>,
    last: Option<StateReading>,
    /// What the screen asks in no program's own words while a rule says that the agent works.
    behind_work: Option<StateReading>,
    /// What the other sources said at the last look, where a report counted.
    unreported: Option<StateReading>,
    resized: Option<Duration>,
    printed: Duration,
    /// When something was last typed.
    typed: Duration,
    /// Whether the silence since then was already taken for something.
    silent: bool,
    exited: bool,
    worked: bool,
    /// When it was told that nobody knows what the agent does.
    told_unexplained: Option<Duration>,
    typed_text: TypedText,
    /// The line of a question in no program's own words that was answered and still stands there.
    answered_generic: Option<String>,
    /// What the screen asks while the program says that it works, and when that counts.
    denied: Option<(StateReading, Duration)>,
    /// What was asked when something was last typed, as long as that still stands there and the
    /// program says that it works.
    answered: Option<(Vec<String>, Option<u64>)>,
}

impl ScreenSniffer {
    /// A sniffer for an agent that has just been started.
    pub fn new(rules: Arc<ScreenRules>) -> Self {
        Self {
            rules,
            status: None,
            hook: None,
            title: None,
            questions: QuestionTracker::default(),
            errors: ErrorTracker::default(),
            stillness: ScreenStillness::default(),
            verdict: AgentVerdict {
                state: AgentState::Starting,
                kind: None,
                evidence: VerdictEvidence {
                    source: EvidenceSource::Process,
                    rule: "started".to_owned(),
                    region: "process".to_owned(),
                    text: String::new(),
                    since: 0,
                    conflicts: Vec::new(),
                },
                digest: None,
                retry: None,
            },
            held: None,
            candidate: None,
            last: None,
            behind_work: None,
            unreported: None,
            resized: None,
            printed: Duration::ZERO,
            typed: Duration::ZERO,
            silent: false,
            exited: false,
            worked: false,
            told_unexplained: None,
            typed_text: TypedText::Shown,
            answered_generic: None,
            denied: None,
            answered: None,
        }
    }

    /// The same for an agent that was followed before, by another process or run: with what it
    /// signalled and reported last, which it does not say again before something changes, and how many
    /// questions it has asked, so that the one it may be showing now keeps its digest.
    pub fn resumed(
        rules: Arc<ScreenRules>,
        said: &[TerminalSignal],
        reported: Option<HookEvent>,
        asked: u64,
    ) -> Self {
        let mut sniffer = Self::new(rules);
        for signal in said {
            sniffer.signal(signal, Duration::ZERO);
        }
        if let Some(event) = reported {
            sniffer.report(event, Duration::ZERO);
        }
        // That it has worked, and what it has asked, was noticed before.
        Self {
            questions: QuestionTracker::resumed(asked.saturating_sub(1)),
            worked: false,
            ..sniffer
        }
    }

    /// What the agent is doing, as far as is known.
    pub fn verdict(&self) -> &AgentVerdict {
        &self.verdict
    }

    /// Whether the screen says something else than the verdict at this moment, which has not lasted
    /// long enough to count.
    pub fn is_changing(&self) -> bool {
        self.denied.is_some()
            || self
                .candidate
                .as_ref()
                .is_some_and(|(reading, _)| reading.state != self.verdict.state)
    }

    /// How many questions the agent has asked.
    pub fn questions_asked(&self) -> u64 {
        self.questions.asked()
    }

    /// Whether the agent has worked since this was last asked, however briefly: a signal counts
    /// even if the next one came before this call.
    pub fn take_worked(&mut self) -> bool {
        std::mem::take(&mut self.worked)
    }

    /// The question as a person should see it, while the agent waits.
    pub fn excerpt(&self) -> &[String] {
        self.questions.excerpt()
    }

    /// The line of the question by which people know it, where more than its excerpt tells it.
    pub fn asked_title(&self) -> Option<&str> {
        self.questions.title()
    }

    /// The menu of the question, while the agent waits.
    pub fn menu(&self) -> Option<&ScreenMenu> {
        let is_asked =
            |reading: &&StateReading| reading.asks() && reading.rule == self.verdict.evidence.rule;
        self.last.as_ref().filter(is_asked)?.menu.as_ref()
    }

    /// Takes what the screen asks at this moment for what is asked, though it has not lasted. Who
    /// is about to press a key has looked at it.
    pub fn settle_question(&mut self, now: Duration) {
        if let Some((reading, _)) = self.candidate.take_if(|(reading, _)| reading.asks()) {
            self.adopt(reading, now);
        } else if let Some((_, due)) = &mut self.denied {
            *due = now;
            self.ask_denied(now);
        }
    }

    /// What the screen asks at this moment, in words that stay the same until it reacts.
    pub fn asked_words(&self) -> Option<Vec<String>> {
        let reading = self.last.as_ref().filter(|reading| reading.asks())?;
        let mut words = question::essence(&self.rules, reading);
        words.extend(reading.above_line.iter().flatten().cloned());
        Some(words)
    }

    /// In which row that stands, counted from the first that was ever shown, where a line asks.
    pub fn asked_row(&self) -> Option<u64> {
        let reading = self.last.as_ref().filter(|reading| reading.asks())?;
        reading.line.as_ref().map(|(_, place)| place.row)
    }

    /// Whether the question stands there since before the last answer: either that was not taken, or
    /// the same is asked again.
    pub fn question_is_repeated(&self) -> bool {
        self.questions.is_repeated()
    }

    /// Whether a part of the question is not on the screen.
    pub fn question_is_cut(&self) -> bool {
        self.questions.action().truncated
    }

    /// What the agent asks for, while it waits for that: as it stands in the excerpt. What the screen
    /// shows at this moment may be something else.
    pub fn asked_action(&self) -> AskedAction {
        self.questions.action()
    }

    /// The agent signalled something. Whether that changes the verdict shows at the next look.
    pub fn signal(&mut self, signal: &TerminalSignal, now: Duration) {
        match signal {
            TerminalSignal::Title(title) => self.title_changed(title, now),
            TerminalSignal::Status(status) if self.rules.program_status => {
                // A question that is over may stand on the screen for a moment, and is no other.
                if status.state == ProgramState::Blocked {
                    self.questions.announced();
                }
                self.worked |= status.state == ProgramState::Working;
                self.status = match status.state {
                    ProgramState::Clear => None,
                    _ => Some(TimedSignal::new(status.clone(), now, self.status.as_ref())),
                };
            }
            _ => {}
        }
    }

    /// The agent reported something by itself. Whether that changes the verdict shows at the next
    /// look.
    pub fn report(&mut self, event: HookEvent, now: Duration) {
        let earlier = self.hook.take();
        let counts = event.after(earlier.as_ref().map(|earlier| earlier.value));
        self.hook = counts.map(|value| {
            let since = earlier
                .filter(|earlier| earlier.value.state() == value.state())
                .map_or(now, |earlier| earlier.since);
            TimedSignal { value, since }
        });
    }

    /// What the agent reported last, as far as it still counts.
    pub fn reported(&self) -> Option<HookEvent> {
        self.hook.as_ref().map(|hook| hook.value)
    }

    fn title_changed(&mut self, title: &str, now: Duration) {
        let told = self.rules.title(title).map(|(kind, _)| (kind, title.trim().to_owned()));
        let kind = told.as_ref().map(|(kind, _)| *kind);
        let before = self.title.as_ref().map(|told| told.value.0);
        self.worked |= kind == Some(MatchKind::Working);
        if kind != before && kind.is_some_and(MatchKind::awaits) {
            self.questions.announced();
        }
        self.title = told.map(|value| {
            let since = match &self.title {
                Some(earlier) if earlier.value.0 == value.0 => earlier.since,
                _ => now,
            };
            TimedSignal { value, since }
        });
    }

    /// A part of the output is lost: what the agent signalled last may be, too.
    pub fn forget_signals(&mut self) {
        self.status = None;
        self.title = None;
    }

    /// The agent printed something.
    pub fn printed(&mut self, now: Duration) {
        self.printed = now;
        self.silent = false;
        self.answered_generic = None;
    }

    /// The program has read the answer to what it asks, and has said nothing since. Where nothing
    /// but the screen says that it asks, it does not any more until it says something.
    pub fn was_answered(&mut self, now: Duration) {
        if self.verdict.evidence.source == EvidenceSource::Generic {
            self.answered_generic = Some(self.verdict.evidence.text.clone());
            self.questions.question_gone();
            self.adopt(StateReading { since: now, ..StateReading::unknown() }, now);
        }
    }

    /// The program has left the question behind, whatever still stands on the screen. If that is asked,
    /// it is seen to be asked anew.
    pub fn question_was_left(&mut self, now: Duration) {
        if self.verdict.evidence.source == EvidenceSource::Generic {
            self.questions.question_gone();
            self.adopt(StateReading { since: now, ..StateReading::unknown() }, now);
        }
    }

    /// An answer was refused. The question that stands there is the one that it was for, with the
    /// same number, however long it stays, unless something of the answer `was_pressed` and it is
    /// seen to be asked anew.
    pub fn answer_refused(&mut self, was_pressed: bool) {
        self.questions.answer_refused(was_pressed);
    }

    /// Whether the screen shows at this moment what counts as asked. What it shows instead may not
    /// have lasted long enough to count.
    pub fn shows_question(&self) -> bool {
        self.last
            .as_ref()
            .is_some_and(|last| last.asks() && self.questions.is_shown(&self.rules, last))
    }

    /// Something was typed into the agent, by whomever.
    pub fn typed(&mut self, now: Duration) {
        self.questions.typed(now);
        self.answered = self.last.as_ref().and_then(|last| self.words_of(last));
        let shown = self.last.iter().filter(|reading| reading.asks());
        let mut shown = self.behind_work.iter().chain(shown);
        if let Some(line) = shown.find_map(|reading| reading.line.as_ref()) {
            self.questions.typed_at(line);
        }
        self.errors.typed();
        // Whoever looked has done something about it. If it is quiet again, they are told again.
        self.told_unexplained = None;
        self.typed = now;
        // An interrupt ends a turn, and no program reports that.
        self.hook = None;
    }

    pub fn typed_text(&self) -> TypedText {
        self.typed_text
    }

    /// The terminal does this with what is typed from now on. Whether that changes the verdict
    /// shows at the next look.
    pub fn set_typed_text(&mut self, typed: TypedText) {
        self.typed_text = typed;
    }

    pub fn resized(&mut self, now: Duration) {
        self.resized = Some(now + RESIZE_REPAINT_TIME);
    }

    /// Looks at the screen. Says whether the verdict changed.
    pub fn read_screen(&mut self, snapshot: &ScreenSnapshot, now: Duration) -> bool {
        self.look_at(LineView::of_screen(snapshot), now)
    }

    /// Looks at a text as if it were the screen. Says whether the verdict changed.
    pub fn look_at_text(&mut self, text: &str, now: Duration) -> bool {
        self.look_at(LineView::of_text(text), now)
    }

    fn look_at(&mut self, view: LineView<'_>, now: Duration) -> bool {
        if self.exited {
            return false;
        }
        self.stillness.look(&view, now);
        let left = self.questions.left_line(&view);
        let view = view.answered(self.questions.answered_line()).left(left);
        let view = view.with_typed(self.typed_text);
        self.errors.set_lines(self.rules.lines_of(&view, MatchKind::Error));
        let sources = SpokenSources {
            status: self.status.as_ref(),
            hook: self.hook.as_ref(),
            title: self.title.as_ref(),
            believed: false,
        };
        let take = |sources| StateReading::take(&self.rules, &view, sources, &self.errors);
        let mut reading = take(sources);
        let believed = reading.denied.then(|| take(SpokenSources { believed: true, ..sources }));
        self.unreported = (reading.source == EvidenceSource::Channel)
            .then(|| take(SpokenSources { hook: None, ..sources }));
        let shown = self.words_of(&reading);
        self.answered.take_if(|answered| shown.as_ref() != Some(answered));
        match believed {
            Some(believed) if !self.is_asked_though_denied(&reading, now) => reading = believed,
            _ => self.denied = None,
        }
        let mut reading = self.question_behind_work(reading, &view);
        reading.blank = view.is_blank();
        self.apply_look(reading, now)
    }

    /// Whether what the screen asks counts though the program says that it works: it is asked already,
    /// or has stood there for long enough. Where it was just answered, the program works on the
    /// answer and has not painted over it.
    fn is_asked_though_denied(&mut self, reading: &StateReading, now: Duration) -> bool {
        if self.answered.is_some() {
            self.denied = None;
            return false;
        }
        if self.questions.is_open() && self.questions.is_shown(&self.rules, reading) {
            return true;
        }
        let due = match &self.denied {
            Some((before, due)) if before.same_as(reading) => *due,
            _ => StateReading::denied_until(self.questions.was_answered(), now),
        };
        self.denied = (due > now).then(|| (reading.clone(), due));
        due <= now
    }

    /// Asks what the program has denied for long enough.
    fn ask_denied(&mut self, now: Duration) -> bool {
        let Some((mut asked, due)) = self.denied.take_if(|(_, due)| *due <= now) else {
            return false;
        };
        asked.action.truncated |= hides_lines(&asked.excerpt);
        asked.since = due;
        self.candidate = None;
        self.last = Some(asked.clone());
        self.adopt(asked, now)
    }

    /// What a reading asks, and where.
    fn words_of(&self, reading: &StateReading) -> Option<(Vec<String>, Option<u64>)> {
        let row = reading.line.as_ref().map(|(_, place)| place.row);
        reading.asks().then(|| (question::essence(&self.rules, reading), row))
    }

    /// What a rule calls work may be a question that no rule knows. It counts once the screen has been
    /// quiet for as long as a person waits for what nobody knows, and then for as long as it stands.
    fn question_behind_work(&mut self, reading: StateReading, view: &LineView<'_>) -> StateReading {
        self.behind_work = None;
        let Some(asked) = reading.asked_behind_work(&self.rules, view) else { return reading };
        let evidence = &self.verdict.evidence;
        if self.verdict.state == AgentState::Awaiting
            && (evidence.source, &evidence.rule, &evidence.text)
                == (EvidenceSource::Generic, &asked.rule, &asked.text)
        {
            return asked;
        }
        self.behind_work = Some(asked);
        reading
    }

    /// When the question behind what a rule calls work counts. At a question for yes or no the cursor
    /// stands; an agent that works may show all others while something turns.
    fn behind_work_at(&self) -> Option<Duration> {
        let asked = self.behind_work.as_ref()?;
        let quiet = if asked.rule == YES_OR_NO_RULE {
            self.stillness.since(self.printed)
        } else {
            self.printed
        };
        Some(quiet.max(self.typed) + UNEXPLAINED_AFTER)
    }

    fn ask_behind_work(&mut self, now: Duration) -> bool {
        if self.behind_work_at().is_none_or(|due| due > now) {
            return false;
        }
        let Some(mut asked) = self.behind_work.take() else { return false };
        asked.action.truncated |= hides_lines(&asked.excerpt);
        asked.since = now;
        self.candidate = None;
        self.last = Some(asked.clone());
        self.adopt(asked, now)
    }

    fn apply_look(&mut self, mut reading: StateReading, now: Duration) -> bool {
        if reading.source == EvidenceSource::Generic
            && self.answered_generic.as_ref() == Some(&reading.text)
        {
            reading = StateReading::unknown();
        }
        reading.action.truncated |= hides_lines(&reading.excerpt);
        reading.since = match &self.last {
            Some(last) if last.same_as(&reading) => last.since,
            _ => reading.told_at.unwrap_or(now),
        };
        self.last = Some(reading.clone());
        self.apply_reading(reading, now)
    }

    /// When the work that the agent reported does not count any more, if it prints nothing before.
    fn reported_work_until(&self) -> Option<Duration> {
        let hook = self.hook.as_ref().filter(|hook| hook.value.says_working())?;
        Some(self.printed.max(hook.since) + REPORTED_WORK_SILENCE)
    }

    /// Stops believing that the agent works because it reported so, once it is silent. What the
    /// other sources say counts from then on.
    fn forget_silent_work(&mut self, now: Duration) -> bool {
        if self.reported_work_until().is_none_or(|until| until > now) {
            return false;
        }
        self.hook = None;
        match self.unreported.take() {
            Some(reading) => self.apply_look(reading, now),
            None => false,
        }
    }

    /// Time has passed. Says whether the verdict changed.
    pub fn tick(&mut self, now: Duration) -> bool {
        if self.exited {
            return false;
        }
        if self.forget_silent_work(now) || self.ask_behind_work(now) || self.ask_denied(now) {
            return true;
        }
        if let Some((reading, due)) = self.candidate.take() {
            if due <= now {
                return self.adopt(reading, now);
            }
            self.candidate = Some((reading, due));
        }
        if self.questions.asks_again(now) {
            // A question that is still there some time after an answer is asked again.
            match self.last.clone().filter(|reading| reading.asks() && !reading.unpainted) {
                Some(reading) => return self.adopt(reading, now),
                None => self.questions.question_gone(),
            }
        }
        self.quiet(now)
    }

    /// Whether a person has to look, because nobody knows what the agent does: it has shown
    /// something unknown and been quiet, or it does not get done with starting. True once for each
    /// time.
    pub fn take_unexplained(&mut self, now: Duration) -> bool {
        let due = self.unexplained_at().is_some_and(|due| due <= now);
        if due {
            self.told_unexplained = Some(now);
        }
        due
    }

    fn unexplained_at(&self) -> Option<Duration> {
        let since = Duration::from_millis(self.verdict.evidence.since);
        match self.verdict.state {
            _ if self.told_unexplained.is_some() || self.exited => None,
            AgentState::Unknown => {
                let still = self.stillness.since(self.printed);
                Some(still.max(since).max(self.typed) + UNEXPLAINED_AFTER)
            }
            AgentState::Starting => {
                Some(since.saturating_add(self.rules.start_bound.unwrap_or(START_LIMIT)))
            }
            // Who works prints. A child of the agent may have said that it does.
            AgentState::Working if self.hides_question() => {
                Some(self.printed.max(since).max(self.typed) + UNEXPLAINED_AFTER)
            }
            _ => None,
        }
    }

    /// Whether the screen shows a question while something else says that the agent works.
    fn hides_question(&self) -> bool {
        let conflicts = self.last.iter().flat_map(|reading| &reading.conflicts);
        conflicts.into_iter().any(|conflict| conflict.state == AgentState::Awaiting)
    }

    /// When to call [`tick`](Self::tick) next, if nothing happens before.
    pub fn deadline(&self) -> Option<Duration> {
        if self.exited {
            return None;
        }
        let candidate = self.candidate.as_ref().map(|(_, due)| *due);
        let again = self.questions.asked_again_at();
        let quiet = self.quiet_at();
        let silent = self.reported_work_until();
        let behind_work = self.behind_work_at();
        let denied = self.denied.as_ref().map(|(_, due)| *due);
        let signs = [candidate, again, quiet, self.unexplained_at(), silent, behind_work, denied];
        signs.into_iter().flatten().min()
    }

    fn quiet_at(&self) -> Option<Duration> {
        let (after, _) = self.rules.quiet?;
        let open = matches!(self.verdict.state, AgentState::Starting | AgentState::Unknown)
            && !self.silent;
        let silent = self.status.is_none() && self.hook.is_none() && self.title.is_none();
        (open && silent).then(|| self.printed + after)
    }

    fn quiet(&mut self, now: Duration) -> bool {
        let Some((after, kind)) = self.rules.quiet else { return false };
        if self.quiet_at().is_none_or(|due| due > now) {
            return false;
        }
        self.silent = true;
        // Silence began when something was printed last, whatever was thought of that.
        self.held = None;
        let reading = StateReading::of_silence(kind, after, self.printed);
        self.adopt(reading, now)
    }

    pub fn exited(&mut self, how: &str, now: Duration) -> bool {
        self.exited = true;
        (self.candidate, self.denied) = (None, None);
        self.questions.question_gone();
        let evidence = VerdictEvidence {
            source: EvidenceSource::Process,
            rule: "exited".to_owned(),
            region: "process".to_owned(),
            text: how.to_owned(),
            since: millis(now),
            conflicts: Vec::new(),
        };
        let verdict = AgentVerdict {
            state: AgentState::Exited,
            kind: None,
            evidence,
            digest: None,
            retry: None,
        };
        self.publish(verdict, now)
    }

    fn apply_reading(&mut self, reading: StateReading, now: Duration) -> bool {
        if reading.is_still_starting(self.verdict.state) {
            self.candidate = None;
            return false;
        }
        let mut wait = reading.settles_in(self.verdict.state, self.questions.was_answered());
        if let Some(quiet_at) = self.resized
            && reading.weak
        {
            wait = wait.max(quiet_at.saturating_sub(now));
        }
        if wait.is_zero() {
            self.candidate = None;
            return self.adopt(reading, now);
        }
        let due = match &self.candidate {
            Some((candidate, due)) if candidate.same_as(&reading) => *due,
            _ if self.verdict.state == reading.state && !reading.asks() => now,
            _ => now + wait,
        };
        if due <= now {
            self.candidate = None;
            return self.adopt(reading, now);
        }
        let announced = (reading.unpainted && reading.asks()).then(|| reading.clone());
        self.candidate = Some((reading, due));
        announced.is_some_and(|reading| self.announce(reading, now))
    }

    /// The agent says that it asks, and does not show what yet: it waits, but there is nothing
    /// that an answer could be bound to. A question that was shown already may be missing while
    /// it is painted anew.
    fn announce(&mut self, reading: StateReading, now: Duration) -> bool {
        if self.questions.is_open() {
            return false;
        }
        self.questions.question_gone();
        self.publish(reading.into_verdict(None), now)
    }

    fn adopt(&mut self, reading: StateReading, now: Duration) -> bool {
        let digest = if reading.asks() {
            Some(self.questions.ask(&self.rules, &reading, now))
        } else {
            self.questions.question_gone();
            None
        };
        if reading.state == AgentState::Working {
            self.worked = true;
            // Only when work begins: who interrupts it has seen what stands there.
            if self.verdict.state != AgentState::Working {
                self.errors.forget_known();
            }
        }
        self.publish(reading.into_verdict(digest), now)
    }

    /// Takes a verdict over. The text of the evidence may change while the verdict stays.
    fn publish(&mut self, mut verdict: AgentVerdict, now: Duration) -> bool {
        let changed = (verdict.state, verdict.kind, &verdict.digest)
            != (self.verdict.state, self.verdict.kind, &self.verdict.digest);
        let held = self.held.replace(now);
        if changed {
            self.told_unexplained = None;
            // An agent may say all the time that it works, and ask something meanwhile. What it
            // does again it does since it does it again.
            if held.is_some_and(|held| verdict.evidence.since <= millis(held)) {
                verdict.evidence.since = millis(now);
            }
            self.verdict = verdict;
        } else {
            let since = self.verdict.evidence.since;
            self.verdict.evidence = VerdictEvidence { since, ..verdict.evidence };
        }
        changed
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
