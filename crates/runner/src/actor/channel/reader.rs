//! What is known of a conversation in an agent's own protocol. It knows no process: bytes of both
//! directions are its input, and time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

use coven_adapters::channel::{
    ChannelCodec, ChannelDirection, ChannelEvent, ChannelKind, ChannelPhase, ChannelPlan,
    ChannelQuestion, RequestId, TurnEnding, TurnOutcome, UntakenPrompt,
};
use coven_adapters::transcript::TranscriptItem;
use coven_model::{
    AgentState, AgentVerdict, ContentDigest, EvidenceSource, JobOutcome, ProcessEnding, TokenUsage,
    VerdictEvidence,
};
use serde::{Deserialize, Serialize};

use crate::actor::handle::DeliveryReply;
use crate::actor::reader::UnsavedOutput;
use crate::delivery::Message;
use crate::event::RunnerEvent;
use crate::saved_channel::SavedSlot;
use crate::task::OkCodes;

/// How much of what was printed on standard error is kept for the reason of a failure.
const MAX_COMPLAINT_BYTES: usize = 2048;

/// How long a message that has not ended may be for the state to be saved with it.
const MAX_SAVED_LINE_BYTES: usize = 64 << 10;

/// An agent's protocol, and what is under way in it.
pub(crate) struct ChannelReader {
    pub(super) codec: ChannelCodec,
    pub(super) plan: ChannelPlan,
    /// Messages that wait until the agent is idle.
    pub(super) waiting: VecDeque<(Message, DeliveryReply)>,
    /// The request that was told of, and the digest of what it asks.
    pub(super) told: Option<(RequestId, ContentDigest)>,
    /// How its last turn ended.
    pub(super) last: Option<TurnOutcome>,
    /// How the turn before the one that runs ended.
    before: Option<TurnOutcome>,
    /// A prompt that it did not know as one, until another is said. A person decides.
    pub(super) untaken: Option<UntakenPrompt>,
    /// Why it cannot go on.
    pub(super) failure: Option<ChannelFailure>,
    /// Whether the program has done more than to print what says nothing.
    has_acted: bool,
    /// Whether it goes on with a conversation. Its program has spoken the protocol before.
    resumes: bool,
    /// The end of what it printed on standard error.
    pub(super) complaint: String,
    /// Since when it has closed its output without ending.
    pub(super) closed: Option<Duration>,
    pub(super) is_late: bool,
    /// How many bytes of the conversation nobody read before the tape dropped them.
    pub(super) missed: u64,
    /// What was said since its state was last saved, and where it is saved next.
    pub(super) unsaved: UnsavedOutput,
    pub(super) slot: SavedSlot,
}

/// What is folded of a conversation, and all of it that is on the disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelProgress {
    codec: ChannelCodec,
    last: Option<TurnOutcome>,
    #[serde(default)]
    before: Option<TurnOutcome>,
    #[serde(default)]
    untaken: Option<UntakenPrompt>,
    failure: Option<ChannelFailure>,
    has_acted: bool,
}

/// Why an agent cannot go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelFailure {
    reason: String,
    /// Whether its program refused the protocol.
    is_refusal: bool,
    /// Whether it did not go on with its conversation.
    #[serde(default)]
    is_unresumed: bool,
}

impl ChannelFailure {
    pub(super) fn new(reason: impl Into<String>) -> Self {
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
            before: None,
            untaken: None,
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

    /// Whether its state is worth saving now. A long message that is under way would be written with
    /// every state until it ends, again and again; it is on the tape, and ends or is too long before
    /// the tape drops its beginning.
    pub(super) fn may_be_saved(&self) -> bool {
        self.codec.unfinished() <= MAX_SAVED_LINE_BYTES
    }

    pub(crate) fn progress(&self) -> ChannelProgress {
        ChannelProgress {
            codec: self.codec.clone(),
            last: self.last.clone(),
            before: self.before.clone(),
            untaken: self.untaken.clone(),
            failure: self.failure.clone(),
            has_acted: self.has_acted,
        }
    }

    /// Goes on from what was folded before.
    pub(crate) fn restore(&mut self, progress: ChannelProgress, slot: SavedSlot) {
        let ChannelProgress { codec, last, before, untaken, failure, has_acted } = progress;
        (self.codec, self.last, self.failure) = (codec, last, failure);
        (self.before, self.untaken) = (before, untaken);
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
                ChannelEvent::Working => self.began_turn(),
                ChannelEvent::Idle(outcome) => self.ended_turn(outcome),
                ChannelEvent::NotTaken(prompt) => self.did_not_take(prompt),
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
    pub(super) fn says_next(&mut self, text: String) {
        self.waiting.push_front((Message::new(text), DeliveryReply::to_nobody()));
    }

    pub(super) fn feed(&mut self, direction: ChannelDirection, bytes: &[u8]) -> Vec<ChannelEvent> {
        let mut events = Vec::new();
        self.codec.feed(direction, bytes, &mut |event| events.push(event));
        self.has_acted |= events.iter().any(is_act);
        events
    }

    /// A message of ours was answered with an error. That ends the agent only if it refused to
    /// begin; the end of a turn is told as such, and anything else leaves the agent as it was.
    pub(super) fn refused(&mut self, message: &str, error: &str) {
        if !self.codec.is_refused(message) {
            return;
        }
        let is_refusal = self.codec.is_refusal_of_protocol(message) && self.may_be_refused();
        let is_unresumed = self.resumes && !self.has_acted;
        self.fail_to_begin(message, error, is_refusal, is_unresumed);
    }

    fn fail_to_begin(&mut self, message: &str, error: &str, is_refusal: bool, is_unresumed: bool) {
        let kind = self.codec.kind();
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
    pub(super) fn may_be_refused(&self) -> bool {
        !self.resumes && !self.has_acted
    }

    /// Why a program that has ended by itself never agreed to be spoken to, if that is so: it does
    /// not know the arguments of its protocol, or the conversation that it was to go on with.
    pub(super) fn left_at_start(&self, ending: &ProcessEnding) -> Option<ChannelFailure> {
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

    /// A prompt is not known as one. Before anything was done the program is begun with in another
    /// way; later that would lose its work, so a person decides.
    pub(super) fn did_not_take(&mut self, prompt: UntakenPrompt) {
        if prompt.is_first {
            let (is_refusal, is_unresumed) = (!self.resumes, self.resumes);
            self.fail_to_begin(&prompt.message, &prompt.error, is_refusal, is_unresumed);
        } else {
            self.last = self.before.take();
            self.untaken = Some(prompt);
        }
    }

    /// What a person hears of a prompt that was not taken.
    pub(super) fn untaken(&self) -> Option<Vec<String>> {
        let UntakenPrompt { message, error, text, .. } = self.untaken.as_ref()?;
        Some(vec![
            format!(
                "the agent did not take this message: its version does not know {message} as Coven \
                 says it ({error})"
            ),
            format!("  {text}"),
            "What it did before is kept. `complete` ends the task with that.".to_owned(),
        ])
    }

    /// A turn begins, with a prompt where one was said.
    pub(super) fn began_turn(&mut self) {
        self.before = self.last.take();
        self.untaken = None;
    }

    pub(super) fn ended_turn(&mut self, outcome: TurnOutcome) {
        if let TurnEnding::Failed { error } = &outcome.ending {
            self.failure = Some(ChannelFailure::new(error));
        }
        self.last = Some(outcome);
    }

    /// How the end of the last turn is told. A turn that failed ends the agent.
    pub(super) fn end_of_turn(&self) -> Option<RunnerEvent> {
        match self.last.as_ref()?.ending {
            TurnEnding::Completed => Some(RunnerEvent::TurnEnded { error: false }),
            TurnEnding::Interrupted => Some(RunnerEvent::TurnInterrupted),
            TurnEnding::Failed { .. } => None,
        }
    }

    /// Whether something is still to come that it can only say on its output. One whose turn is
    /// over may take its time to end.
    pub(super) fn is_unheard(&self) -> bool {
        self.failure.is_none() && self.codec.state().phase != ChannelPhase::Idle
    }

    /// The conversation that the agent named, and what this process used up in it.
    pub(crate) fn conversation(&self) -> Option<(String, TokenUsage)> {
        Some((self.codec.session()?.to_owned(), self.codec.usage()))
    }

    /// What the agent said at the end of its last turn.
    pub(super) fn answer(&self) -> Option<String> {
        Some(self.last.as_ref()?.output.as_ref()?.text.clone())
    }

    pub(in crate::actor) fn verdict(&self) -> AgentVerdict {
        let state = self.codec.state();
        let open = self.codec.open().next();
        let kind = open.map(|question| question.kind);
        let text = open.map_or_else(String::new, |question| question.text.clone());
        AgentVerdict {
            state: match state.phase {
                ChannelPhase::Starting => AgentState::Starting,
                ChannelPhase::Working => AgentState::Working,
                ChannelPhase::Awaiting => AgentState::Awaiting,
                // It rests, but not because its work is done.
                ChannelPhase::Idle if self.untaken.is_some() => AgentState::Unknown,
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

    pub(super) fn complain(&mut self, bytes: &[u8]) {
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
            matches!(
                item,
                TranscriptItem::ToolCall { .. }
                    | TranscriptItem::Diff { .. }
                    | TranscriptItem::Subagent { .. }
            )
        }
        _ => false,
    }
}

pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}
