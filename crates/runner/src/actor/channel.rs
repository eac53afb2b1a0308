//! An agent that is spoken to in its own protocol: what it says is told, what it is owed is written.

use std::collections::VecDeque;
use std::time::Duration;

use coven_adapters::channel::{
    ChannelCodec, ChannelDirection, ChannelEvent, ChannelKind, ChannelOrder, ChannelPhase,
    ChannelPlan, ChannelQuestion, RequestId, ResolvedBy, TurnEnding, TurnOutcome,
};
use coven_adapters::transcript::TranscriptItem;
use coven_model::{
    AgentState, AgentVerdict, ContentDigest, EvidenceSource, JobOutcome, ProcessEnding, TokenUsage,
    VerdictEvidence,
};
use coven_runtime::domain::PaneStream;
use coven_runtime::hold::SNAP_EVERY;
use serde::{Deserialize, Serialize};

use super::handle::{AnswerReply, DeliveryReply};
use super::reader::{AgentReader, UnsavedOutput};
use super::terminal::SNAP_AFTER_REST;
use super::{OutputReading, RunnerActor};
use crate::answer::{AnswerAction, AnswerError, GivenAnswer};
use crate::channel::{asked, decision};
use crate::delivery::{DeliveryError, Message, answers};
use crate::event::{RunnerEvent, ShownState};
use crate::mark;
use crate::outcome::OutcomeCause;
use crate::saved_channel::{SavedChannel, SavedSlot};
use crate::task::OkCodes;

/// How long an agent may take to agree to a conversation before a person hears of it.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a process may live on that has closed its output.
const CLOSED_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of what was printed on standard error is kept for the reason of a failure.
const MAX_COMPLAINT_BYTES: usize = 2048;

/// An agent's protocol, and what is under way in it.
pub(crate) struct ChannelReader {
    codec: ChannelCodec,
    plan: ChannelPlan,
    /// Messages that wait until the agent is idle.
    waiting: VecDeque<(Message, DeliveryReply)>,
    /// The request that was told of, and the digest of what it asks.
    told: Option<(RequestId, ContentDigest)>,
    /// How its last turn ended.
    last: Option<TurnOutcome>,
    /// Why it cannot go on.
    failure: Option<ChannelFailure>,
    /// Whether the program has done more than to print what says nothing.
    has_acted: bool,
    /// Whether it goes on with a conversation. Its program has spoken the protocol before.
    resumes: bool,
    /// The end of what it printed on standard error.
    complaint: String,
    /// Since when it has closed its output without ending.
    closed: Option<Duration>,
    is_late: bool,
    /// How many bytes of the conversation nobody read before the tape dropped them.
    missed: u64,
    /// What was said since its state was last saved, and where it is saved next.
    unsaved: UnsavedOutput,
    slot: SavedSlot,
}

/// What is folded of a conversation, and all of it that is on the disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelProgress {
    codec: ChannelCodec,
    last: Option<TurnOutcome>,
    failure: Option<ChannelFailure>,
    has_acted: bool,
}

/// Why an agent cannot go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelFailure {
    reason: String,
    /// Whether its program refused the protocol.
    is_refusal: bool,
    /// Whether it did not go on with its conversation.
    #[serde(default)]
    is_unresumed: bool,
}

impl ChannelFailure {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_refusal: false, is_unresumed: false }
    }
}

impl ChannelProgress {
    pub(crate) fn kind(&self) -> ChannelKind {
        self.codec.kind()
    }
}

impl ChannelReader {
    pub(crate) fn new(codec: ChannelCodec, plan: ChannelPlan, resumes: bool) -> Self {
        Self {
            codec,
            plan,
            waiting: VecDeque::new(),
            told: None,
            last: None,
            failure: None,
            has_acted: false,
            resumes,
            complaint: String::new(),
            closed: None,
            is_late: false,
            missed: 0,
            unsaved: UnsavedOutput { bytes: 0, last: Duration::ZERO },
            slot: SavedSlot::default(),
        }
    }

    pub(crate) fn progress(&self) -> ChannelProgress {
        ChannelProgress {
            codec: self.codec.clone(),
            last: self.last.clone(),
            failure: self.failure.clone(),
            has_acted: self.has_acted,
        }
    }

    /// Goes on from what was folded before.
    pub(crate) fn restore(&mut self, progress: ChannelProgress, slot: SavedSlot) {
        let ChannelProgress { codec, last, failure, has_acted } = progress;
        (self.codec, self.last, self.failure) = (codec, last, failure);
        (self.has_acted, self.slot) = (has_acted, slot.other());
    }

    /// Notes that the tape no longer has these bytes, which nobody read. What is known from before
    /// them stays; without it, nothing can be said to the agent.
    pub(crate) fn misses(&mut self, bytes: u64, has_state: bool) {
        if bytes == 0 {
            return;
        }
        self.codec.skip();
        self.missed = bytes;
        if !has_state {
            let reason =
                "the beginning of its conversation was not saved and is no longer on its tape";
            self.failure = Some(ChannelFailure::new(reason));
        }
    }

    #[cfg(test)]
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// Takes in what was said before this process followed the agent. Nothing of it is told.
    pub(crate) fn replay(&mut self, direction: ChannelDirection, bytes: &[u8]) {
        for event in self.feed(direction, bytes) {
            match event {
                ChannelEvent::Working => self.last = None,
                ChannelEvent::Idle(outcome) => self.ended_turn(outcome),
                ChannelEvent::Failed { message, error } => self.refused(&message, &error),
                ChannelEvent::Unheard { text } => self.says_next(text),
                // It was said again then.
                ChannelEvent::Item { item: TranscriptItem::Prompt { text } } => {
                    self.waiting.pop_front_if(|(next, _)| next.text == text.text);
                }
                _ => {}
            }
        }
    }

    /// Words that came too late for a turn begin the next.
    fn says_next(&mut self, text: String) {
        self.waiting.push_front((Message::new(text), DeliveryReply::to_nobody()));
    }

    fn feed(&mut self, direction: ChannelDirection, bytes: &[u8]) -> Vec<ChannelEvent> {
        let mut events = Vec::new();
        self.codec.feed(direction, bytes, &mut |event| events.push(event));
        self.has_acted |= events.iter().any(is_act);
        events
    }

    /// A message of ours was answered with an error. That ends the agent only if it refused to
    /// begin; the end of a turn is told as such, and anything else leaves the agent as it was.
    fn refused(&mut self, message: &str, error: &str) {
        if !self.codec.is_refused(message) {
            return;
        }
        let kind = self.codec.kind();
        let is_refusal = self.codec.is_refusal_of_protocol(message) && self.may_be_refused();
        let is_unresumed = self.resumes && !self.has_acted;
        let reason = if is_unresumed {
            format!("it did not go on with its conversation (its answer to {message}: {error})")
        } else {
            format!(
                "it refused to be spoken to by {kind} (its answer to {message}: {error}); a version \
                 that changed the protocol needs an adapter that says so"
            )
        };
        self.failure = Some(ChannelFailure { reason, is_refusal, is_unresumed });
    }

    /// Whether nothing is lost when the program is started in another way: it has done nothing, and
    /// no conversation is to be gone on with.
    fn may_be_refused(&self) -> bool {
        !self.resumes && !self.has_acted
    }

    /// Why a program that has ended by itself never agreed to be spoken to, if that is so: it does
    /// not know the arguments of its protocol, or the conversation that it was to go on with.
    fn left_at_start(&self, ending: &ProcessEnding) -> Option<ChannelFailure> {
        let is_exit = matches!(ending, ProcessEnding::Exited { .. });
        let is_starting = self.codec.state().phase == ChannelPhase::Starting;
        if !is_exit || !is_starting || self.failure.is_some() || self.has_acted {
            return None;
        }
        let words = last_line(&self.complaint).map(|line| format!(": {line}")).unwrap_or_default();
        let (is_refusal, is_unresumed) = (!self.resumes, self.resumes);
        let reason = if is_unresumed {
            format!("{ending} before it went on with its conversation{words}")
        } else {
            format!("{ending} before it agreed to be spoken to by {}{words}", self.codec.kind())
        };
        Some(ChannelFailure { reason, is_refusal, is_unresumed })
    }

    /// The outcome of an agent that cannot go on, whose process is ended for that.
    pub(crate) fn failed(&self) -> Option<JobOutcome> {
        let failure = self.failure.clone()?;
        Some(JobOutcome {
            agent_session: self.codec.session().map(str::to_owned),
            output: self.answer(),
            usage: self.codec.usage(),
            channel_refused: failure.is_refusal.then(|| failure.reason.clone()),
            resume_refused: failure.is_unresumed,
            ..JobOutcome::new(false, ProcessEnding::Stopped, failure.reason)
        })
    }

    fn ended_turn(&mut self, outcome: TurnOutcome) {
        if let TurnEnding::Failed { error } = &outcome.ending {
            self.failure = Some(ChannelFailure::new(error));
        }
        self.last = Some(outcome);
    }

    /// How the end of the last turn is told. A turn that failed ends the agent.
    fn end_of_turn(&self) -> Option<RunnerEvent> {
        match self.last.as_ref()?.ending {
            TurnEnding::Completed => Some(RunnerEvent::TurnEnded { error: false }),
            TurnEnding::Interrupted => Some(RunnerEvent::TurnInterrupted),
            TurnEnding::Failed { .. } => None,
        }
    }

    /// Whether something is still to come that it can only say on its output. One whose turn is
    /// over may take its time to end.
    fn is_unheard(&self) -> bool {
        self.failure.is_none() && self.codec.state().phase != ChannelPhase::Idle
    }

    /// The conversation that the agent named, and what this process used up in it.
    pub(crate) fn conversation(&self) -> Option<(String, TokenUsage)> {
        Some((self.codec.session()?.to_owned(), self.codec.usage()))
    }

    /// What the agent said at the end of its last turn.
    fn answer(&self) -> Option<String> {
        Some(self.last.as_ref()?.output.as_ref()?.text.clone())
    }

    pub(super) fn verdict(&self) -> AgentVerdict {
        let state = self.codec.state();
        let open = self.codec.open().next();
        let kind = open.map(|question| question.kind);
        let text = open.map_or_else(String::new, |question| question.text.clone());
        AgentVerdict {
            state: match state.phase {
                ChannelPhase::Starting => AgentState::Starting,
                ChannelPhase::Working => AgentState::Working,
                ChannelPhase::Awaiting => AgentState::Awaiting,
                ChannelPhase::Idle => AgentState::Idle,
                ChannelPhase::Failed => AgentState::Error,
            },
            kind,
            evidence: VerdictEvidence {
                source: EvidenceSource::Channel,
                rule: state.message,
                region: state.request.map_or_else(String::new, |request| request.to_string()),
                text,
                since: 0,
                conflicts: Vec::new(),
            },
            digest: open.map(ChannelQuestion::digest),
            retry: None,
        }
    }

    fn complain(&mut self, bytes: &[u8]) {
        self.complaint.push_str(&String::from_utf8_lossy(bytes));
        let surplus = self.complaint.len().saturating_sub(MAX_COMPLAINT_BYTES);
        let cut = (surplus..=self.complaint.len()).find(|at| self.complaint.is_char_boundary(*at));
        self.complaint.drain(..cut.unwrap_or(0));
    }

    /// The outcome of a process that has ended.
    pub(crate) fn into_outcome(mut self, ending: ProcessEnding, ok: &OkCodes) -> JobOutcome {
        self.codec.finish(&mut |_| {});
        let output = self.answer();
        let session = self.codec.session().map(str::to_owned);
        let accepted = matches!(&ending, ProcessEnding::Exited { code } if ok.contains(*code));
        let completed = self.last.as_ref().is_some_and(|last| last.ending == TurnEnding::Completed);
        let good = accepted && completed && self.failure.is_none();
        if let Some(failure) = self.left_at_start(&ending) {
            self.failure = Some(failure);
        }
        let refusal = self.failure.as_ref().filter(|failure| failure.is_refusal);
        let channel_refused = refusal.map(|refusal| refusal.reason.clone());
        let resume_refused = self.failure.as_ref().is_some_and(|failure| failure.is_unresumed);
        let reason = match (self.failure, last_line(&self.complaint)) {
            (Some(failure), _) => failure.reason,
            (None, _) if good => ending.to_string(),
            (None, Some(line)) => format!("{ending} before its turn was over: {line}"),
            (None, None) => format!("{ending} before its turn was over"),
        };
        let usage = self.codec.usage();
        JobOutcome {
            output,
            agent_session: session,
            usage,
            channel_refused,
            resume_refused,
            ..JobOutcome::new(good, ending, reason)
        }
    }
}

/// Whether an event shows that an agent works.
fn is_act(event: &ChannelEvent) -> bool {
    match event {
        ChannelEvent::Working | ChannelEvent::Asks(_) => true,
        ChannelEvent::Item { item } => {
            matches!(item, TranscriptItem::ToolCall { .. } | TranscriptItem::Diff { .. })
        }
        _ => false,
    }
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

impl RunnerActor {
    /// Takes output of an agent with a protocol in.
    pub(super) fn hear(&mut self, stream: PaneStream, bytes: &[u8]) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if stream == PaneStream::Error {
            return channel.complain(bytes);
        }
        let events = channel.feed(ChannelDirection::Out, bytes);
        self.note_unsaved(bytes.len());
        self.heard(events);
        self.speak();
    }

    fn note_unsaved(&mut self, bytes: usize) {
        let now = self.now();
        if let AgentReader::Channel(channel) = &mut self.reader {
            channel.unsaved.bytes += bytes as u64;
            channel.unsaved.last = now;
        }
    }

    /// Saves what is folded of the conversation, at rest or every few megabytes: long before a part
    /// of the tape that has it is dropped.
    pub(super) fn save_channel(&mut self) {
        let (now, offset) = (self.now(), self.output.offset());
        let (Some(folder), AgentReader::Channel(channel)) = (&self.folder, &mut self.reader) else {
            return;
        };
        let UnsavedOutput { bytes, last } = channel.unsaved;
        let is_due = bytes >= SNAP_EVERY || (bytes > 0 && now >= last + SNAP_AFTER_REST);
        // The mark has to be behind all input that the state knows of.
        if !is_due || !self.input.is_written() {
            return;
        }
        channel.unsaved = UnsavedOutput { bytes: 0, last: now };
        // What could not be saved is folded from the tape instead.
        if let Ok(saved) = SavedChannel::of(&channel.progress(), offset)
            && self.pane.mark(saved.mark()).is_ok()
            && saved.save(folder, channel.slot).is_ok()
        {
            channel.slot = channel.slot.other();
        }
    }

    /// Tells what was said, in either direction.
    fn heard(&mut self, events: Vec<ChannelEvent>) {
        for event in events {
            let AgentReader::Channel(channel) = &mut self.reader else { return };
            match event {
                ChannelEvent::Session { id, model } => {
                    self.session = Some(id.clone());
                    self.told_item(TranscriptItem::Session { id, model });
                }
                ChannelEvent::Working => {
                    channel.last = None;
                    self.report_channel();
                }
                ChannelEvent::Idle(outcome) => {
                    // What is to be said next goes on with the work.
                    let is_over = channel.waiting.is_empty();
                    channel.ended_turn(outcome);
                    let ended = channel.end_of_turn().filter(|_| is_over);
                    self.report_channel();
                    if let Some(ended) = ended {
                        self.tell(ended);
                    }
                }
                ChannelEvent::Asks(_) => {
                    self.report_channel();
                    self.tell_request();
                }
                ChannelEvent::Resolved { request, by, .. } => {
                    let told = channel.told.take_if(|(told, _)| *told == request);
                    self.report_channel();
                    if let Some((_, digest)) = told {
                        self.tell(RunnerEvent::NoLongerAwaiting(digest));
                    }
                    // After an answer of ours the next follows when the answer is confirmed.
                    if by == ResolvedBy::Agent {
                        self.tell_request();
                    }
                }
                ChannelEvent::Usage { usage, cumulative } => {
                    self.told_item(TranscriptItem::Usage { usage, cumulative });
                }
                ChannelEvent::Limit(limit) => {
                    self.told_item(TranscriptItem::Warning { message: limit.text });
                }
                ChannelEvent::Unheard { text } => channel.says_next(text),
                ChannelEvent::Failed { message, error } => {
                    channel.refused(&message, &error);
                    self.told_item(TranscriptItem::Error { message: error, fatal: true });
                }
                ChannelEvent::Item { item } => self.told_item(item),
                ChannelEvent::Unknown { line, .. } => {
                    self.told_item(TranscriptItem::Unknown { line });
                }
                ChannelEvent::Mode { .. } | ChannelEvent::Replayed { .. } => {}
            }
        }
    }

    /// Begins a conversation, or goes on with one that was found.
    pub(super) fn begin_channel(&mut self) {
        if matches!(self.reader, AgentReader::Channel(_)) {
            self.tell_found();
            self.speak();
        }
    }

    /// Tells how an agent was found that went on while nothing followed it: it may have asked or
    /// ended its turn meanwhile, and will not say so again.
    fn tell_found(&mut self) {
        self.report_channel();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let is_idle = channel.codec.state().phase == ChannelPhase::Idle;
        let ended = channel.end_of_turn().filter(|_| is_idle);
        let missed = channel.missed;
        self.tell_request();
        if let Some(ended) = ended {
            self.tell(ended);
        } else if missed > 0 {
            let line = format!(
                "{missed} bytes of what the agent said while nothing followed it are no longer \
                 kept; if it asked something there, nobody knows of it"
            );
            self.tell(RunnerEvent::Unexplained(vec![line]));
        }
    }

    /// Tells the question that is open the longest, if none was told. An agent that runs tools side
    /// by side asks about several at a time; the others follow when that one is answered.
    fn tell_request(&mut self) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if channel.told.is_some() {
            return;
        }
        let Some(question) = channel.codec.open().next() else { return };
        let told = asked(question, channel.plan.cwd.as_deref(), &self.redactor);
        channel.told = Some((question.request.clone(), told.digest.clone()));
        self.tell(RunnerEvent::Awaiting(told));
    }

    fn told_item(&self, item: TranscriptItem) {
        // The id of the conversation is known from the event itself.
        drop(self.published.tell_entries(vec![item]));
    }

    /// Publishes what the agent does, if that changed.
    fn report_channel(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        let mut verdict = channel.verdict();
        verdict.evidence.text = self.redactor.clean(&verdict.evidence.text);
        let known = self.published.verdict.borrow().clone();
        if (known.state, known.kind, &known.digest)
            != (verdict.state, verdict.kind, &verdict.digest)
        {
            self.published.set_verdict(verdict, Some(mark::now()));
        }
    }

    /// Writes what is due, and the messages that the agent can take.
    fn speak(&mut self) {
        loop {
            let AgentReader::Channel(channel) = &mut self.reader else { return };
            if let Some(bytes) = channel.codec.due(&channel.plan) {
                self.say(&bytes);
                continue;
            }
            let Some((message, _)) = channel.waiting.front() else { break };
            let order = ChannelOrder::Prompt { text: message.text.clone() };
            let Ok(said) = channel.codec.say(&order) else { break };
            let Some((message, reply)) = channel.waiting.pop_front() else { break };
            if let Some(name) = &message.name {
                drop(self.pane.mark(&name.submits()));
            }
            self.say(&said.bytes);
            reply.end(Ok(()));
        }
        self.end_failed();
    }

    /// Writes a message of the protocol, which counts from then on.
    fn say(&mut self, bytes: &[u8]) {
        self.write(bytes);
        self.took(bytes);
    }

    /// A message was written.
    fn took(&mut self, bytes: &[u8]) {
        self.flush();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let events = channel.feed(ChannelDirection::In, bytes);
        self.note_unsaved(bytes.len());
        self.heard(events);
    }

    /// Ends an agent that cannot go on: its turn failed, or it refused the conversation.
    fn end_failed(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        let Some(outcome) = channel.failed() else { return };
        let session = outcome.agent_session.or_else(|| self.session.clone());
        let outcome = JobOutcome { agent_session: session, ..outcome };
        self.stop(OutcomeCause::Completed(Box::new(outcome)));
    }

    /// Queues a message until the agent is idle.
    pub(super) fn tell_agent(&mut self, message: Message, reply: DeliveryReply) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if channel.failure.is_some() {
            return reply.end(Err(DeliveryError::Ended));
        }
        channel.waiting.push_back((message, reply));
        self.speak();
    }

    /// Gives an answer to the question that it is for.
    pub(super) fn reply_to_agent(&mut self, answer: &GivenAnswer, reply: AnswerReply) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let open = channel.codec.open().find(|question| question.digest() == answer.digest);
        let Some(question) = open else {
            // An answer that another process wrote before it died was given.
            let given = answer.typed > 0;
            return reply.end(if given { Ok(()) } else { Err(AnswerError::Stale) });
        };
        let said = decision(question, &answer.action).and_then(|decision| {
            let order = ChannelOrder::Answer { request: question.request.clone(), decision };
            channel.codec.say(&order).map_err(|refusal| AnswerError::Refused(refusal.to_string()))
        });
        let said = match said {
            Ok(said) => said,
            Err(error) => return reply.end(Err(error)),
        };
        if let Some(name) = &answer.name {
            drop(self.pane.mark(&answers(name)));
        }
        // Words that the protocol has no place for are the next message of the session.
        if let AnswerAction::Secret(text) = &answer.action {
            self.redactor.add(text.clone());
            // The tape keeps its length alone; that the request is over shows by what the agent says.
            self.write_secret(&said.bytes);
            self.took(&said.bytes);
        } else {
            self.say(&said.bytes);
        }
        reply.end(Ok(()));
        self.tell_request();
        self.speak();
    }

    /// Ends the turn that runs.
    pub(super) fn interrupt_agent(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        // An agent without a turn has nothing to be interrupted in.
        if let Ok(said) = channel.codec.say(&ChannelOrder::Interrupt) {
            self.say(&said.bytes);
            self.speak();
        }
    }

    /// What the agent does, for somebody who has to be told again.
    pub(super) fn shown_by_channel(&self) -> Option<ShownState> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        if let Some(question) = channel.codec.open().next() {
            let folder = channel.plan.cwd.as_deref();
            return Some(ShownState::Asks(Box::new(asked(question, folder, &self.redactor))));
        }
        let is_idle = channel.codec.state().phase == ChannelPhase::Idle;
        let last = channel.last.as_ref().map(|last| &last.ending);
        Some(match last {
            _ if !is_idle => ShownState::Other,
            Some(TurnEnding::Interrupted) => ShownState::Interrupted,
            last => ShownState::Rests { worked: last == Some(&TurnEnding::Completed) },
        })
    }

    pub(super) fn channel_answer(&self) -> Option<String> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        channel.answer()
    }

    /// Does what is due by the clock: a person hears of an agent that does not begin, and one that
    /// has closed its output is ended.
    pub(super) fn watch_channel(&mut self) {
        let now = self.now();
        let is_silent = self.reading == OutputReading::Ended || self.pane.output_is_closed();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let is_starting = channel.codec.state().phase == ChannelPhase::Starting;
        if is_starting && !channel.is_late && now >= START_TIMEOUT {
            channel.is_late = true;
            let state = channel.codec.state();
            let line = format!("the agent has not agreed to a conversation ({})", state.message);
            let complaint = last_line(&channel.complaint).map(str::to_owned);
            self.tell(RunnerEvent::Unexplained(
                [Some(line), complaint].into_iter().flatten().collect(),
            ));
        } else if is_silent && self.pane.is_alive() {
            let since = *channel.closed.get_or_insert(now);
            if now >= since + CLOSED_TIMEOUT && channel.is_unheard() {
                let reason = "the agent closed its output and did not end";
                channel.failure = Some(ChannelFailure::new(reason));
                self.end_failed();
            }
        }
    }

    pub(super) fn channel_deadline(&self) -> Option<Duration> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        let is_starting = channel.codec.state().phase == ChannelPhase::Starting;
        let start = (is_starting && !channel.is_late).then_some(START_TIMEOUT);
        let closed = channel.closed.map(|since| since + CLOSED_TIMEOUT);
        let closed = closed.filter(|_| channel.is_unheard());
        let can_save = self.folder.is_some() && self.input.is_written();
        let save =
            (can_save && channel.unsaved.bytes > 0).then(|| channel.unsaved.last + SNAP_AFTER_REST);
        [start, closed, save].into_iter().flatten().min()
    }
}
