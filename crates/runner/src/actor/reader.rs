//! How an agent is read: by its screen, or by its structured output.

use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::time::Duration;

use coven_adapters::sniffer::{ReadPacer, ScreenSniffer};
use coven_adapters::transcript::{TranscriptDecoder, TranscriptItem};
use coven_adapters::{AgentAdapter, retry_notice};
use coven_model::{
    AgentState, AgentVerdict, ContentDigest, EvidenceSource, ModelRetry, StateMark, Timestamp,
    VerdictEvidence,
};
use coven_runtime::domain::PaneStream;
use coven_terminal::screen::{GridSize, Screen, ScreenDamage};
use coven_terminal::snapshot::ScreenSnapshot;

use super::attention::ReaderWatch;
use super::channel::ChannelReader;
use super::handle::{AnswerReply, DeliveryReply};
use super::interrupting::WaitingInterrupts;
use super::keyboard::PersonKeyboard;
use super::line_sight::LineSight;
use super::question::ReportedQuestion;
use super::screen::SuspendableScreen;
use super::unread::{TypedInput, UnverifiedInput};
use crate::answer::{AnswerError, PendingAnswer, StrayKeys};
use crate::delivery::{DeliveryError, DeliveryProof, DeliveryQueue, Message, draft, squeeze};
use crate::finished::PastActivity;
use crate::mark;

/// How long an agent must rest after a command of its program for that to be all.
const COMMAND_TURN_TIME: Duration = Duration::from_secs(2);

/// How long the screen of an agent that was taken over may show a question that is not known yet:
/// what no rule of its adapter knows counts only when it has stood for some time.
const TAKEN_OVER_TIME: Duration = Duration::from_secs(5);

/// How long an agent that was told something before it was found, and rests, may take to begin.
const UNSEEN_BEGIN_TIME: Duration = Duration::from_secs(8);

/// What makes sense of an agent's output.
pub(crate) enum AgentReader {
    Terminal(Box<TerminalReader>),
    Transcript(Box<TranscriptDecoder>),
    Channel(Box<ChannelReader>),
}

/// An agent's terminal, and what is under way on it.
pub(crate) struct TerminalReader {
    pub(super) screen: SuspendableScreen,
    pub(super) sniffer: ScreenSniffer,
    pub(super) pace: ReadPacer,
    /// The question that was reported last.
    pub(super) question: Option<ReportedQuestion>,
    pub(super) deliveries: DeliveryQueue<MessageSource>,
    pub(super) answer: PendingAnswer<AnswerReply>,
    /// What was asked when a text was last submitted.
    pub(super) submitted_to: Option<ContentDigest>,
    /// Up to where the agent had printed when the last key of an answer was pressed.
    pub(super) pressed_at: u64,
    /// Up to where it had printed when a text was last typed.
    pub(super) typed_at: u64,
    /// Whether the line that asks was painted once more since one of both.
    pub(super) is_repainted: bool,
    /// Whether the program was seen to read what is typed.
    pub(super) reader_watch: ReaderWatch,
    /// Until when a question may be on the screen of an agent that was taken over without being
    /// known.
    pub(super) unknown_until: Duration,
    /// What was on the screen when the answer that is under way was begun.
    pub(super) answered_at: Option<LineSight>,
    /// Interrupts that wait for the agent to start.
    pub(super) interrupts: WaitingInterrupts,
    /// Keys of an answer that may still act.
    pub(super) stray: Option<StrayKeys>,
    pub(super) inputs: TaskInputs,
    pub(super) turn: PendingTurn,
    pub(super) prompt: PromptAge,
    pub(super) keyboard: PersonKeyboard,
    /// A runner that ended has typed a secret that was not submitted, where keys are read as they come.
    pub(super) has_secret_leftover: bool,
    /// How many bytes were last written together for an answer or a message.
    pub(super) typed_bytes: u32,
    /// How many pieces of an answer were typed.
    pub(super) typed_pieces: u32,
    /// Whether the last of them stands in a line of the terminal that has no end yet.
    pub(super) has_open_line: bool,
    /// What deletes a message that is not delivered.
    pub(super) erase: Vec<u8>,
    /// An answer or a message that nothing was seen of.
    pub(super) unverified: Option<UnverifiedInput>,
    /// When to look at the screen again for a delivery or an answer.
    wakes: BTreeSet<Duration>,
    pub(super) unsaved: UnsavedOutput,
    /// How many times the terminal was resized.
    pub(super) resizes: u64,
    /// The size to go back to, and when, after another one made the agent paint its screen anew.
    pub(super) repaint: Option<(GridSize, Duration)>,
    /// The attempt to reach its model that its screen tells of.
    pub(super) retry: Option<ModelRetry>,
    pub(super) history: AgentHistory,
}

/// The inputs of a task, which are sent one by one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TaskInputs {
    /// The task has none, or is over.
    None,
    /// These are still to be sent. When the last one's turn is over, so is the task.
    Queued(VecDeque<String>),
}

/// Whether an agent has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingTurn {
    /// Nobody has given it anything yet. What it does while it starts is no turn.
    NothingGiven,
    None,
    /// It was given a message then, and has not been seen to work on it.
    Given(Duration),
    /// It was given a command of its program then, which may start no turn.
    Command(Duration),
    /// It has worked, and the end of its turn was not told yet.
    Working,
}

/// How long the prompt has been there. One that has only just appeared may give way to a dialog, or
/// get back the message that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptAge {
    /// The agent has started and not shown a prompt yet.
    Starting,
    /// The agent was interrupted and has not come to rest.
    Interrupted,
    /// It has shown its prompt since then and done nothing else.
    ShownSince(Duration),
    /// It has worked, or was given a message.
    Used,
}

/// Output since the screen was last saved.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnsavedOutput {
    pub(super) bytes: u64,
    /// When the last of it came.
    pub(super) last: Duration,
}

/// Where a message comes from, which is where its end is told.
#[derive(Debug)]
pub(super) enum MessageSource {
    /// A caller that waits for it.
    Caller(DeliveryReply),
    /// A caller that answers a question with it.
    Answer(AnswerReply),
    /// The task's prompt, for an agent that takes none at its start.
    Prompt,
    Inputs,
}

/// When an agent was started, and what it was doing when it was found.
#[derive(Debug)]
pub(super) struct AgentHistory {
    pub(super) born: Timestamp,
    before: Option<StateMark>,
    /// Whether what it does was noted on its tape by this process.
    pub(super) is_noted: bool,
}

impl AgentHistory {
    fn new(before: Option<StateMark>) -> Self {
        let born = before.as_ref().and_then(|before| before.started);
        Self { born: born.unwrap_or_else(mark::now), before, is_noted: false }
    }

    /// Since when the agent does what it does now. One that was found goes on with what it did.
    pub(super) fn since(&mut self, verdict: &AgentVerdict, now: Duration) -> Timestamp {
        let known = verdict.state != AgentState::Unknown;
        let before = self.before.take_if(|_| known).filter(|before| before.is_of(verdict));
        before.and_then(|before| before.since).unwrap_or_else(|| {
            let age = u64::try_from(verdict.evidence.age(now).as_millis()).unwrap_or(0);
            Timestamp::from_millis(mark::now().as_millis().saturating_sub(age))
        })
    }

    /// How old the agent was then, in milliseconds.
    pub(super) fn age_at(&self, time: Timestamp) -> u64 {
        u64::try_from(time.since(self.born).as_millis()).unwrap_or(u64::MAX)
    }
}

impl AgentReader {
    /// A reader for an agent that was just started. A `typed_prompt` is its first message, for an
    /// agent that takes none at its start.
    pub(crate) fn terminal(
        adapter: &dyn AgentAdapter,
        screen: Screen,
        prompt: Option<&str>,
        typed_prompt: Option<String>,
        inputs: Vec<String>,
    ) -> Self {
        let deliveries = DeliveryQueue::new(prompt.unwrap_or_default());
        let sniffer = ScreenSniffer::new(adapter.rules());
        let mut terminal =
            TerminalReader::new(screen, sniffer, deliveries, AgentHistory::new(None));
        terminal.turn = match prompt {
            Some(_) => PendingTurn::Given(Duration::ZERO),
            None => PendingTurn::NothingGiven,
        };
        if let Some(prompt) = typed_prompt {
            let message = Message::new(prompt);
            terminal.deliveries.push(message, MessageSource::Prompt, Duration::ZERO);
        }
        terminal.take_inputs(inputs);
        Self::Terminal(Box::new(terminal))
    }

    /// A reader for an agent that was started before and did this.
    pub(crate) fn adopted(
        adapter: &dyn AgentAdapter,
        screen: Screen,
        past: PastActivity,
        inputs: Vec<String>,
    ) -> Self {
        let sniffer =
            ScreenSniffer::resumed(adapter.rules(), &past.said, past.reported, past.questions);
        let history = AgentHistory::new(past.last);
        let mut terminal = TerminalReader::new(screen, sniffer, DeliveryQueue::new(""), history);
        terminal.prompt = PromptAge::Used;
        terminal.keyboard.was_used = true;
        terminal.has_secret_leftover = past.line.holds_secret();
        terminal.keyboard.line = past.line;
        terminal.unknown_until = TAKEN_OVER_TIME;
        terminal.stray = past.stray.map(StrayKeys::found);
        // What it was doing is noted already; this process has not looked yet.
        terminal.history.is_noted = true;
        if past.worked {
            terminal.turn = PendingTurn::Working;
        } else if past.submitted {
            // It may have worked on that while nobody looked, or be about to.
            let begins =
                if adapter.rules().show_work() { UNSEEN_BEGIN_TIME } else { Duration::ZERO };
            terminal.turn = PendingTurn::Command(begins);
            terminal.wake_at(begins + COMMAND_TURN_TIME);
        }
        terminal.pace.changed(Duration::ZERO);
        terminal.take_inputs(inputs);
        Self::Terminal(Box::new(terminal))
    }

    pub(crate) fn transcript(decoder: TranscriptDecoder) -> Self {
        Self::Transcript(Box::new(decoder))
    }

    pub(super) fn verdict(&self) -> AgentVerdict {
        match self {
            Self::Terminal(terminal) => terminal.sniffer.verdict().clone(),
            Self::Transcript(_) => Self::headless_verdict(),
            Self::Channel(channel) => channel.verdict(),
        }
    }

    /// What an agent without a terminal is doing, from its start to its end.
    pub(super) fn headless_verdict() -> AgentVerdict {
        AgentVerdict {
            state: AgentState::Working,
            kind: None,
            evidence: VerdictEvidence {
                source: EvidenceSource::Process,
                rule: "started".to_owned(),
                region: "process".to_owned(),
                text: "a headless run works until it ends".to_owned(),
                since: 0,
                conflicts: Vec::new(),
            },
            digest: None,
            retry: None,
        }
    }
}

impl TerminalReader {
    fn new(
        screen: Screen,
        sniffer: ScreenSniffer,
        deliveries: DeliveryQueue<MessageSource>,
        history: AgentHistory,
    ) -> Self {
        Self {
            screen: SuspendableScreen::new(screen),
            sniffer,
            pace: ReadPacer::default(),
            question: None,
            deliveries,
            submitted_to: None,
            pressed_at: 0,
            typed_at: 0,
            is_repainted: false,
            reader_watch: ReaderWatch::default(),
            unknown_until: Duration::ZERO,
            answered_at: None,
            interrupts: WaitingInterrupts::default(),
            stray: None,
            answer: PendingAnswer::None,
            inputs: TaskInputs::None,
            turn: PendingTurn::None,
            prompt: PromptAge::Starting,
            keyboard: PersonKeyboard::default(),
            has_secret_leftover: false,
            typed_bytes: 0,
            typed_pieces: 0,
            has_open_line: false,
            erase: Vec::new(),
            unverified: None,
            wakes: BTreeSet::new(),
            unsaved: UnsavedOutput { bytes: 0, last: Duration::ZERO },
            resizes: 0,
            repaint: None,
            retry: None,
            history,
        }
    }

    /// The agent went on from what it asked, which may still be on the screen.
    pub(super) fn question_was_left(&mut self, now: Duration) {
        self.sniffer.question_was_left(now);
        self.pace.changed(now);
    }

    /// Takes note of what is on the screen when an answer begins, or goes on to wait.
    pub(super) fn begin_answer(&mut self) {
        self.answered_at = Some(LineSight::of(&self.screen.snapshot()));
        (self.typed_pieces, self.has_open_line) = (0, false);
    }

    fn take_inputs(&mut self, inputs: Vec<String>) {
        if !inputs.is_empty() {
            self.inputs = TaskInputs::Queued(inputs.into());
        }
    }

    /// Takes output in, and gives what the terminal answers to it.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<u8> {
        self.screen.feed(bytes);
        self.sniffer.printed(now);
        for signal in self.screen.take_signals() {
            self.sniffer.signal(&signal, now);
            self.pace.changed(now);
        }
        let damage = self.screen.take_damage();
        if damage != ScreenDamage::None {
            self.pace.changed(now);
        }
        if !self.is_repainted && (self.answer.is_pressed() || self.deliveries.is_typing()) {
            self.is_repainted = self.paints_question(&damage);
        }
        self.unsaved = UnsavedOutput { bytes: self.unsaved.bytes + bytes.len() as u64, last: now };
        self.screen.take_replies()
    }

    /// Whether the line that asks is among what was painted.
    fn paints_question(&mut self, damage: &ScreenDamage) -> bool {
        let rows = match damage {
            ScreenDamage::None | ScreenDamage::State => return false,
            ScreenDamage::Full => return true,
            ScreenDamage::Rows(rows) => rows,
        };
        let asked = squeeze(&self.sniffer.verdict().evidence.text);
        let snapshot = self.screen.snapshot();
        let mut painted = rows.iter().filter_map(|row| snapshot.rows().get(usize::from(*row)));
        !asked.is_empty() && painted.any(|row| squeeze(row.text()).contains(&asked))
    }

    pub(super) fn resize(&mut self, size: GridSize, now: Duration) {
        self.screen.resize(size);
        self.sniffer.resized(now);
        self.pace.changed(now);
        self.resizes += 1;
    }

    /// Makes sure that the screen is looked at again at a time.
    pub(super) fn wake_at(&mut self, due: Duration) {
        self.wakes.insert(due);
    }

    /// Whether it is a time at which the screen was to be looked at. Those that are still to come
    /// stay: each was asked for by something that would wait for ever without it.
    pub(super) fn take_wakes(&mut self, now: Duration) -> bool {
        let mut is_woken = false;
        while self.wakes.first().is_some_and(|wake| *wake <= now) {
            self.wakes.pop_first();
            is_woken = true;
        }
        is_woken
    }

    /// When the screen has to be looked at again.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let look = self.pace.next_read(self.screen.modes().synchronized);
        let repaint = self.repaint.map(|(_, due)| due);
        [look, self.sniffer.deadline(), self.wakes.first().copied(), repaint]
            .into_iter()
            .flatten()
            .min()
    }

    /// Looks at the screen. Only then does it count that the agent has worked: a signal may have
    /// come before the screen that belongs to it.
    pub(super) fn look(&mut self, now: Duration) -> ScreenSnapshot {
        self.pace.screen_was_read();
        let snapshot = self.screen.snapshot();
        let typed = self.typed_at_plain_prompt(&snapshot);
        let without = typed.and_then(|typed| snapshot.before_typed(&typed));
        self.sniffer.read_screen(without.as_ref().unwrap_or(&snapshot), now);
        let is_working = self.sniffer.verdict().state == AgentState::Working;
        self.retry = is_working.then(|| retry_notice::on_screen(&snapshot)).flatten();
        if self.sniffer.take_worked() {
            if self.turn != PendingTurn::NothingGiven || self.keyboard.was_used {
                self.turn = PendingTurn::Working;
            }
            self.deliveries.note_work();
        }
        snapshot
    }

    /// What a person has typed and not submitted at a prompt that is not known as one by its mark. A
    /// question is still asked while somebody types at it.
    pub(super) fn typed_at_plain_prompt(&self, snapshot: &ScreenSnapshot) -> Option<String> {
        let line = self.keyboard.line.draft().map(str::to_owned);
        line.or_else(|| {
            let typed = self.keyboard.typed_on(snapshot)?;
            draft(snapshot).is_none().then_some(typed)
        })
    }

    /// The agent rests. Says whether that ends a turn.
    pub(super) fn end_turn(&mut self, now: Duration) -> bool {
        let ended = match self.turn {
            PendingTurn::Working => true,
            PendingTurn::Command(since) => since + COMMAND_TURN_TIME <= now,
            PendingTurn::NothingGiven | PendingTurn::None | PendingTurn::Given(_) => false,
        };
        if ended {
            self.turn = PendingTurn::None;
        }
        ended
    }

    /// A message was submitted.
    pub(super) fn submitted(&mut self, proof: DeliveryProof, now: Duration) {
        self.prompt = PromptAge::Used;
        // One that was queued behind a turn under way begins when that is over.
        if self.turn == PendingTurn::Working {
            return;
        }
        if proof == DeliveryProof::Turn {
            self.turn = PendingTurn::Given(now);
        } else {
            self.turn = PendingTurn::Command(now);
            self.wake_at(now + COMMAND_TURN_TIME);
        }
    }

    /// Whether what the agent was last seen to do is what its screen shows now, as far as that is
    /// known: nothing was printed since, and nothing is shown that has only not lasted.
    pub(super) fn is_settled(&self) -> bool {
        self.pace.next_read(false).is_none() && !self.sniffer.is_changing()
    }

    /// Whether nothing is under way that will look at the screen soon.
    pub(super) fn is_at_rest(&self) -> bool {
        self.deliveries.is_empty() && self.answer.is_none() && self.unverified.is_none()
    }

    /// Whether an answer changes what is shown.
    pub(super) fn is_answering(&self) -> bool {
        let is_typed = matches!(self.deliveries.first(), Some(MessageSource::Answer(_)));
        let is_unverified = self.unverified.as_ref().is_some_and(UnverifiedInput::is_answer);
        self.answer.is_pressing() || is_typed || is_unverified
    }

    /// The agent has ended: tells the callers whose messages and answers were under way.
    pub(super) fn fail_pending(&mut self, is_written: bool) {
        let result = if self.answer.is_pressed() { Ok(()) } else { Err(AnswerError::Ended) };
        if let Some(reply) = self.answer.abandon() {
            reply.end(result);
        }
        match self.unverified.take().map(UnverifiedInput::into_input) {
            Some(TypedInput::Answer(reply, result)) => reply.end(result),
            Some(TypedInput::Message { source, result, .. }) => source.end(result),
            None => {}
        }
        self.interrupts.fail(&DeliveryError::Ended);
        for (source, result) in self.deliveries.fail_all(is_written) {
            source.end(result);
        }
    }
}

impl MessageSource {
    /// Tells its caller, where there is one.
    fn end(self, result: Result<(), DeliveryError>) {
        match self {
            Self::Caller(reply) => reply.end(result),
            Self::Answer(reply) => reply.end(result.map_err(AnswerError::from)),
            Self::Prompt | Self::Inputs => {}
        }
    }
}

impl PromptAge {
    /// The age after the agent was seen in a state.
    pub(super) fn after(self, state: AgentState, now: Duration) -> Self {
        match (self, state) {
            (Self::Used, _) | (Self::Starting | Self::ShownSince(_), AgentState::Working) => {
                Self::Used
            }
            (Self::ShownSince(since), AgentState::Idle) => Self::ShownSince(since),
            (_, AgentState::Idle) => Self::ShownSince(now),
            (Self::Interrupted, _) => Self::Interrupted,
            (Self::Starting | Self::ShownSince(_), _) => Self::Starting,
        }
    }

    /// Since when the prompt has been there, where the agent has done nothing else yet.
    pub(super) fn shown_since(self) -> Option<Duration> {
        match self {
            Self::ShownSince(since) => Some(since),
            Self::Starting | Self::Interrupted | Self::Used => None,
        }
    }
}

/// Takes structured output apart.
pub(super) fn decode(
    decoder: &mut TranscriptDecoder,
    stream: PaneStream,
    bytes: &[u8],
) -> Vec<TranscriptItem> {
    let mut entries = Vec::new();
    match stream {
        PaneStream::Output => decoder.feed_stdout(bytes, &mut |entry| entries.push(entry)),
        PaneStream::Error => decoder.feed_stderr(bytes, &mut |entry| entries.push(entry)),
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn terminal(prompt: Option<&str>) -> TerminalReader {
        let adapter = coven_adapters::default_registry()
            .create("demo", coven_adapters::Options::default())
            .unwrap();
        let screen = Screen::new(GridSize::new(80, 24));
        match AgentReader::terminal(&*adapter, screen, prompt, None, Vec::new()) {
            AgentReader::Terminal(terminal) => *terminal,
            AgentReader::Transcript(_) | AgentReader::Channel(_) => panic!("it has a terminal"),
        }
    }

    #[test]
    fn a_turn_ends_once_and_only_after_work() {
        let mut terminal = terminal(Some("prompt"));
        assert_eq!(terminal.turn, PendingTurn::Given(s(0)));
        assert!(!terminal.end_turn(s(9)), "it has not worked yet");
        assert_eq!(terminal.turn, PendingTurn::Given(s(0)));
        terminal.turn = PendingTurn::Working;
        terminal.submitted(DeliveryProof::Turn, s(3));
        assert_eq!(
            terminal.turn,
            PendingTurn::Working,
            "a queued message waits for the turn under way"
        );
        assert!(terminal.end_turn(s(4)));
        assert!(!terminal.end_turn(s(4)));
        terminal.submitted(DeliveryProof::Turn, s(5));
        assert_eq!(terminal.turn, PendingTurn::Given(s(5)));
        // A command may have been all, if nothing comes of it.
        terminal.submitted(DeliveryProof::Submission, s(6));
        assert!(!terminal.end_turn(s(7)));
        assert!(terminal.end_turn(s(8)));
        assert!(!terminal.end_turn(s(9)));
    }

    #[test]
    fn a_prompt_is_new_after_a_start_and_after_an_interrupt() {
        use AgentState::{Awaiting, Idle, Starting, Working};
        let after = |age: PromptAge, states: &[AgentState]| {
            (1..).zip(states).fold(age, |age, (now, state)| age.after(*state, s(now)))
        };
        assert_eq!(
            after(PromptAge::Starting, &[Starting, Idle, Idle]),
            PromptAge::ShownSince(s(2))
        );
        // A dialog in between means that it is still starting.
        let asked = after(PromptAge::Starting, &[Idle, Awaiting, Idle]);
        assert_eq!(asked, PromptAge::ShownSince(s(3)));
        assert_eq!(after(PromptAge::Starting, &[Idle, Working, Idle]), PromptAge::Used);
        let interrupted = after(PromptAge::Interrupted, &[Working, Working, Idle]);
        assert_eq!(interrupted, PromptAge::ShownSince(s(3)));
    }

    #[test]
    fn every_wake_comes() {
        let mut terminal = terminal(None);
        terminal.wake_at(s(5));
        terminal.wake_at(s(9));
        terminal.wake_at(s(3));
        assert!(!terminal.take_wakes(s(2)));
        assert!(terminal.take_wakes(s(3)));
        assert!(terminal.take_wakes(s(6)), "one that is earlier takes none of the others away");
        assert!(!terminal.take_wakes(s(6)));
        assert!(terminal.take_wakes(s(9)));
    }
}
