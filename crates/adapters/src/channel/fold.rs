//! What every protocol keeps of the messages in both directions. It changes only when a message is
//! folded into it.

use coven_model::ContentDigest;
use serde::{Deserialize, Serialize};

use super::answer::WrittenAnswer;
use super::event::{
    ChannelDirection, ChannelEvent, ChannelPhase, ChannelState, ResolvedBy, TurnEnding,
    TurnOutcome, UntakenPrompt, UsageLimit,
};
use super::order::ChannelRefusal;
use super::question::{ChannelQuestion, RequestId};
use crate::transcript::TranscriptItem;
use crate::transcript::entry::{LINE_EXCERPT, TEXT_LIMIT, TextExcerpt, one_line, visible_line};
use crate::transcript::json::JsonNode;
use crate::transcript::limits::LINE_LIMIT;
use crate::transcript::run::{EntrySink, LastAnswer, RunProgress};

/// Most bytes of all questions that are open at one time; two lines of the greatest length fit. A
/// question beyond that is refused, as one that is not known.
pub(super) const OPEN_BYTES_LIMIT: usize = 2 * LINE_LIMIT;

/// Most bytes of the ids of requests that wait for their refusal; one of the greatest length fits.
pub(super) const REFUSED_BYTES_LIMIT: usize = LINE_LIMIT;

/// A message with more than this is for a person, wherever in it the bytes are: as much is shown of a
/// request.
const SHOWN_BYTES_LIMIT: usize = 128 * 1024;

/// Most questions that are open at one time. Agents ask one after the other, or as many as they
/// run tools side by side.
const MAX_OPEN_QUESTIONS: usize = 256;

/// Most requests that wait for their refusal, and most of ours that wait for an answer.
const MAX_PENDING_REQUESTS: usize = 256;

/// How far a step of the handshake is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StepProgress {
    #[default]
    Unsaid,
    /// It was written to the agent, which has not answered.
    Said,
    Done,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChannelFold {
    state: ChannelState,
    pub(super) run: RunProgress,
    open: Vec<OpenQuestion>,
    /// How many questions there were until now.
    #[serde(default)]
    asked: u64,
    refused: Vec<RefusedRequest>,
    /// Our requests that have no answer yet.
    sent: Vec<SentRequest>,
    /// How far our numbers for requests have come.
    last_number: u64,
    /// The prompts that were written, by the beginning of their digests.
    prompts: Vec<String>,
    /// The last of them. One line.
    #[serde(default)]
    prompt: String,
    pub(super) hello: StepProgress,
    pub(super) session: StepProgress,
    pub(super) mode: StepProgress,
    /// The mode that the agent says it is in.
    pub(super) mode_name: Option<String>,
    /// The mode that it was told to be in, until it answers.
    pub(super) mode_asked: Option<String>,
    /// What is told comes from before this process.
    pub(super) replaying: bool,
    /// What was said in the history since the last thing that the agent was asked in it.
    pub(super) history: RunProgress,
    /// The last turn failed.
    pub(super) failed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OpenQuestion {
    question: ChannelQuestion,
    /// How long its line was.
    bytes: usize,
}

/// A request that gets an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefusedRequest {
    pub(super) id: RequestId,
    /// Its method or subtype.
    pub(super) message: String,
    /// Why, where it is not that it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl RefusedRequest {
    /// What the agent is told.
    pub(super) fn words(&self) -> String {
        match &self.why {
            Some(why) => format!("{} could not be read: {why}", self.message),
            None => format!("{} is not supported", self.message),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SentRequest {
    id: RequestId,
    message: String,
}

impl Default for ChannelFold {
    fn default() -> Self {
        Self {
            state: ChannelState {
                phase: ChannelPhase::Starting,
                message: String::new(),
                request: None,
            },
            run: RunProgress::default(),
            open: Vec::new(),
            asked: 0,
            refused: Vec::new(),
            sent: Vec::new(),
            last_number: 0,
            prompts: Vec::new(),
            prompt: String::new(),
            hello: StepProgress::default(),
            session: StepProgress::default(),
            mode: StepProgress::default(),
            mode_name: None,
            mode_asked: None,
            replaying: false,
            history: RunProgress::default(),
            failed: false,
        }
    }
}

impl ChannelFold {
    /// The phase without regard to open questions.
    pub(super) const fn phase(&self) -> ChannelPhase {
        self.state.phase
    }

    pub(super) fn state(&self) -> ChannelState {
        match self.open.first() {
            Some(open) => ChannelState {
                phase: ChannelPhase::Awaiting,
                message: open.question.message.clone(),
                request: Some(open.question.request.clone()),
            },
            None => self.state.clone(),
        }
    }

    pub(super) fn open(&self) -> impl Iterator<Item = &ChannelQuestion> {
        self.open.iter().map(|open| &open.question)
    }

    pub(super) fn question(&self, request: &RequestId) -> Result<&ChannelQuestion, ChannelRefusal> {
        self.open()
            .find(|question| question.request == *request)
            .ok_or_else(|| ChannelRefusal::NotOpen { request: request.clone() })
    }

    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn refused(&self) -> Option<&RefusedRequest> {
        self.refused.first()
    }

    /// The number of our next request.
    pub(super) const fn next_number(&self) -> u64 {
        self.last_number + 1
    }

    pub(super) fn ready_for_prompt(&self) -> Result<(), ChannelRefusal> {
        match self.phase() {
            ChannelPhase::Idle if self.open.is_empty() => Ok(()),
            ChannelPhase::Starting | ChannelPhase::Failed => Err(ChannelRefusal::NotReady),
            _ => Err(ChannelRefusal::NotIdle),
        }
    }

    pub(super) fn has_prompt(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// The first of these prompts that was not written yet. Prompts that were written besides do
    /// not count as one of them.
    pub(super) fn next_prompt<'a>(&self, prompts: &'a [String]) -> Option<&'a str> {
        let mut rest = prompts.iter();
        let mut next = rest.next();
        for written in &self.prompts {
            if next.is_some_and(|next| prompt_key(next) == *written) {
                next = rest.next();
            }
        }
        next.map(String::as_str)
    }

    fn refused_bytes(&self) -> usize {
        self.refused.iter().map(|refused| refused.id.bytes()).sum()
    }

    pub(super) fn buffered(&self) -> usize {
        let questions: usize = self.open.iter().map(|open| open.bytes).sum();
        questions + self.refused_bytes() + self.run.buffered() + self.history.buffered()
    }
}

fn prompt_key(prompt: &str) -> String {
    ContentDigest::of_bytes(prompt.as_bytes()).as_str()[..16].to_owned()
}

/// Where a protocol writes what it found in a message.
pub(super) struct ChannelSink<'a> {
    pub(super) fold: &'a mut ChannelFold,
    emit: &'a mut dyn FnMut(ChannelEvent),
    /// A name that is there twice in an object of the message that is read: another reader of it may
    /// take the first.
    pub(super) repeated: Option<String>,
}

impl<'a> ChannelSink<'a> {
    pub(super) fn new(fold: &'a mut ChannelFold, emit: &'a mut dyn FnMut(ChannelEvent)) -> Self {
        Self { fold, emit, repeated: None }
    }

    pub(super) fn unknown(&mut self, direction: ChannelDirection, bytes: &[u8], omitted: u64) {
        let line = TextExcerpt::of_bytes(bytes, omitted, LINE_EXCERPT);
        (self.emit)(ChannelEvent::Unknown { direction, line });
    }

    /// Something could not be read that the agent may wait for.
    pub(super) fn unread(&mut self, problem: String) {
        (self.emit)(ChannelEvent::Unread { problem });
    }

    /// Tells what belongs to the transcript.
    pub(super) fn items<T>(&mut self, tell: impl FnOnce(&mut EntrySink<'_>) -> T) -> T {
        let Self { fold, emit, .. } = self;
        if fold.replaying {
            let mut replay = |item| emit(ChannelEvent::Replayed { item });
            return tell(&mut EntrySink::new(&mut fold.history, &mut replay));
        }
        let mut forward = |item| match item {
            TranscriptItem::Session { id, model } => emit(ChannelEvent::Session { id, model }),
            TranscriptItem::Usage { usage, cumulative } => {
                emit(ChannelEvent::Usage { usage, cumulative });
            }
            // The end of a turn is told as such.
            TranscriptItem::Result { .. } => {}
            item => emit(ChannelEvent::Item { item }),
        };
        tell(&mut EntrySink::new(&mut fold.run, &mut forward))
    }

    /// The agent agreed to a conversation and waits for a prompt.
    pub(super) fn ready(&mut self, message: &str) {
        if self.fold.phase() == ChannelPhase::Starting {
            self.set_phase(ChannelPhase::Idle, message, None);
        }
    }

    pub(super) fn working(&mut self, message: &str) {
        if matches!(self.fold.phase(), ChannelPhase::Working | ChannelPhase::Failed) {
            return;
        }
        self.set_phase(ChannelPhase::Working, message, None);
        self.fold.run.answer = LastAnswer::default();
        self.fold.run.error = None;
        (self.emit)(ChannelEvent::Working);
    }

    /// The turn is over, and so is every question in it.
    pub(super) fn idle(&mut self, message: &str, ending: TurnEnding) {
        self.resolve_where(|_| true);
        if self.fold.phase() != ChannelPhase::Working {
            return;
        }
        self.set_phase(ChannelPhase::Idle, message, None);
        self.fold.failed = matches!(ending, TurnEnding::Failed { .. });
        let output = self.fold.run.answer.text.clone();
        (self.emit)(ChannelEvent::Idle(TurnOutcome { ending, output }));
    }

    pub(super) fn ask(&mut self, mut question: ChannelQuestion, bytes: usize) {
        if bytes > SHOWN_BYTES_LIMIT {
            question.doubts.push(format!("size: {bytes} bytes"));
        }
        if let Some(name) = self.repeated.take() {
            question.doubts.push(format!("{name}: it is there twice, and the last is shown"));
        }
        if question.request.is_too_long() {
            return self.refuse(question.request, &question.message);
        }
        match self.fold.question(&question.request) {
            // Codex asks again when a client joins a thread.
            Ok(known) if question.repeats(known) => return,
            // An id stands for the last that was asked under it: an answer would be one to that.
            Ok(_) => self.resolve_where(|known| known.request == question.request),
            Err(_) => {}
        }
        let fold = &mut *self.fold;
        let held: usize = fold.open.iter().map(|open| open.bytes).sum();
        if fold.open.len() >= MAX_OPEN_QUESTIONS || held + bytes > OPEN_BYTES_LIMIT {
            self.refuse(question.request, &question.message);
            return;
        }
        // Nobody has told it to do anything at the moment, so no rule was meant for this.
        if fold.phase() != ChannelPhase::Working {
            question.doubts.push("turn: none runs".to_owned());
        }
        question.place = fold.asked;
        fold.asked += 1;
        fold.open.push(OpenQuestion { question: question.clone(), bytes });
        (self.emit)(ChannelEvent::Asks(Box::new(question)));
    }

    /// An answer to this request was written.
    pub(super) fn answered(&mut self, request: &RequestId, answer: &WrittenAnswer<'_>) -> bool {
        let fold = &mut *self.fold;
        // An agent may use one id for two requests; one answer is all that the id gets.
        let pending = fold.refused.len();
        fold.refused.retain(|refused| refused.id != *request);
        let refused = fold.refused.len() < pending;
        let Some(at) = fold.open.iter().position(|open| open.question.request == *request) else {
            return refused;
        };
        let question = fold.open.remove(at).question;
        let answer = Some(TextExcerpt::of(&answer.words(&question), TEXT_LIMIT));
        let (request, by) = (request.clone(), ResolvedBy::Answer);
        (self.emit)(ChannelEvent::Resolved { request, by, answer });
        true
    }

    /// The agent took back the questions that match, or needs no answer to them.
    pub(super) fn resolve_where(&mut self, matching: impl Fn(&ChannelQuestion) -> bool) {
        if self.fold.open.is_empty() {
            return;
        }
        let (over, open): (Vec<_>, Vec<_>) =
            self.fold.open.drain(..).partition(|open| matching(&open.question));
        self.fold.open = open;
        for open in over {
            let (request, by) = (open.question.request, ResolvedBy::Agent);
            (self.emit)(ChannelEvent::Resolved { request, by, answer: None });
        }
    }

    /// The request gets an error at once: an agent that waits for an answer would wait for ever.
    pub(super) fn refuse(&mut self, id: RequestId, message: &str) {
        self.refuse_for(id, message, None);
    }

    pub(super) fn refuse_for(&mut self, id: RequestId, message: &str, why: Option<String>) {
        let refused = RefusedRequest { id, message: one_line(message), why };
        let held = self.fold.refused_bytes() + refused.id.bytes();
        let list = &mut self.fold.refused;
        let has_room = list.len() < MAX_PENDING_REQUESTS && held <= REFUSED_BYTES_LIMIT;
        if has_room && !list.contains(&refused) {
            list.push(refused);
        }
    }

    /// The agent answered this message of ours with an error.
    pub(super) fn failed(&mut self, message: &str, error: &str) {
        let (message, error) = (one_line(message), one_line(error));
        (self.emit)(ChannelEvent::Failed { message, error });
    }

    /// The agent does not know the message that a prompt was said with, and has begun nothing. What
    /// it did before is not lost: it is as it was before the prompt, unless that was the first.
    pub(super) fn not_taken(&mut self, message: &str, error: &str) {
        let is_first = self.fold.prompts.len() <= 1;
        if is_first {
            self.give_up(message);
        } else {
            self.resolve_where(|_| true);
            self.set_phase(ChannelPhase::Idle, message, None);
        }
        let (message, error) = (one_line(message), one_line(error));
        let text = self.fold.prompt.clone();
        (self.emit)(ChannelEvent::NotTaken(UntakenPrompt { message, error, text, is_first }));
    }

    /// What was said within the turn came after its end.
    pub(super) fn unheard(&mut self, text: String) {
        (self.emit)(ChannelEvent::Unheard { text });
    }

    /// The agent refused to begin.
    pub(super) fn give_up(&mut self, message: &str) {
        self.resolve_where(|_| true);
        self.set_phase(ChannelPhase::Failed, message, None);
    }

    pub(super) fn limit(&mut self, limit: UsageLimit) {
        (self.emit)(ChannelEvent::Limit(limit));
    }

    pub(super) fn mode(&mut self, mode: &str) {
        if self.fold.mode_name.as_deref() != Some(mode) {
            let mode = one_line(mode);
            self.fold.mode_name = Some(mode.clone());
            (self.emit)(ChannelEvent::Mode { mode });
        }
    }

    /// A mode was asked for.
    pub(super) fn asked_for_mode(&mut self, mode: Option<&str>) {
        self.fold.mode = StepProgress::Said;
        self.fold.mode_asked = mode.map(one_line);
    }

    /// The agent answered that it is in the mode that was asked for, or that it is not. An agent
    /// that is not might do what it was meant to ask about, so it is not begun with.
    pub(super) fn mode_answered(&mut self, ok: bool, message: &str) {
        self.fold.mode = StepProgress::Done;
        match self.fold.mode_asked.take() {
            Some(mode) if ok => self.mode(&mode),
            _ if !ok && !self.fold.has_prompt() => self.give_up(message),
            _ => {}
        }
    }

    /// A request of ours was written.
    pub(super) fn sent(&mut self, id: RequestId, message: &str) {
        let fold = &mut *self.fold;
        fold.last_number = match id {
            RequestId::Number(number) => fold.last_number.max(u64::try_from(number).unwrap_or(0)),
            RequestId::Text(_) | RequestId::Other { .. } => fold.last_number + 1,
        };
        if fold.sent.len() >= MAX_PENDING_REQUESTS {
            fold.sent.remove(0);
        }
        fold.sent.push(SentRequest { id, message: one_line(message) });
    }

    /// A request of ours was answered: what it was.
    pub(super) fn take_sent(&mut self, id: &RequestId) -> Option<String> {
        let at = self.fold.sent.iter().position(|sent| sent.id == *id)?;
        Some(self.fold.sent.remove(at).message)
    }

    /// A prompt was written.
    pub(super) fn prompted(&mut self, text: &str, message: &str) {
        self.fold.prompts.push(prompt_key(text));
        self.fold.prompt = visible_line(text);
        let item = TranscriptItem::Prompt { text: TextExcerpt::of(text, TEXT_LIMIT) };
        (self.emit)(ChannelEvent::Item { item });
        // Whatever of the handshake was not written is not written any more.
        self.fold.hello = StepProgress::Done;
        self.fold.session = StepProgress::Done;
        self.working(message);
    }

    /// Something was said to the agent within its turn.
    pub(super) fn steered(&mut self, text: &str) {
        let item = TranscriptItem::Prompt { text: TextExcerpt::of(text, TEXT_LIMIT) };
        (self.emit)(ChannelEvent::Item { item });
    }

    fn set_phase(&mut self, phase: ChannelPhase, message: &str, request: Option<RequestId>) {
        self.fold.state = ChannelState { phase, message: one_line(message), request };
    }
}

/// The words of a JSON-RPC error.
pub(super) fn error_text(error: JsonNode<'_>) -> String {
    let text = error.get("message").str().map_or_else(|| error.readable_text(), str::to_owned);
    one_line(&crate::transcript::json::message(&text))
}
