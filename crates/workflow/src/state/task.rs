//! One task of a step: its attempts, and what its live job is in the middle of.

use std::sync::Arc;

use coven_model::event::{AttemptPlace, InterventionDecision, StopCause, TaskRole};
use coven_model::{
    AgentState, AttemptId, ContentDigest, Intervention, InterventionChoice, InterventionKind,
    JobOutcome, JobSpec, JobWork, RoundContext, TaskId, TaskStatus, Timestamp, TokenUsage,
};
use serde::Serialize;
use serde_json::Value;

use super::shared;
use crate::decide::question_line;

/// A task that was started at least once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRun {
    pub id: TaskId,
    /// What people call it.
    pub name: String,
    /// What it is in its step.
    pub role: TaskRole,
    /// The newest attempt, from 1.
    pub attempt: u32,
    /// Where the folder of that attempt lies.
    #[serde(skip_serializing_if = "AttemptPlace::is_session")]
    pub place: AttemptPlace,
    /// The last attempt that is made without asking a person.
    pub limit: u32,
    /// Why its attempts are started without the protocol of its agent from now on: the program has
    /// refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_channel: Option<String>,
    /// The adapter of its newest attempt, which its step may take from an element. It follows from
    /// the start, and states of before do not have it.
    #[serde(skip)]
    pub adapter: Option<String>,
    /// The conversation of the last attempt that ended, if it named one. It follows from the
    /// outcome, and states of before do not have it.
    #[serde(skip)]
    pub conversation: Option<AgentConversation>,
    /// The review that its next attempt begins with, until one is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<TaskReview>,
    pub phase: TaskPhase,
    /// Why the last attempt that failed did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The end of what that attempt printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// What its last command printed, if it is one. It follows from the outcome, and states of before
    /// do not have it.
    #[serde(skip)]
    pub printed: Option<Arc<PrintedOutput>>,
    /// How many bytes of the output of its last attempt are missing in its value: they are on its
    /// tape alone, or a full disk took none.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// How many of those the disk had no room for, so that they are nowhere. It follows from the
    /// outcome, and states of before do not have it.
    #[serde(skip)]
    pub lost: u64,
    /// What the attempts that ended have used up.
    pub usage: TokenUsage,
    /// When the newest attempt was asked for.
    pub started_at: Timestamp,
    /// When the newest attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// What a person has to say about what a task did, when no agent was there to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TaskReview {
    pub prompt: String,
    /// Whether an attempt has begun with it.
    pub begun: bool,
    /// Whether the conversation before is gone on with: that of an attempt that was done.
    pub continues: bool,
}

impl TaskRun {
    /// Whether it is to begin again with a review.
    pub(crate) fn waits_with_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.begun) && self.live().is_none()
    }
}

/// A conversation of an agent, by the agent's own id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentConversation {
    pub id: String,
    /// What was used up in it.
    pub used: TokenUsage,
}

/// What a command printed, without the line ends at its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrintedOutput {
    /// What it printed to its standard output, unless its value is exactly that.
    pub stdout: Option<String>,
    /// What it printed to its standard error.
    pub stderr: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "phase")]
pub enum TaskPhase {
    /// It is to be started again.
    Ready {
        /// Whether a person wants it, who does not have to wait for the pause between attempts.
        at_once: bool,
    },
    /// It is to be started again at this time.
    Delayed { due: Timestamp },
    /// Its job was asked for and has not ended.
    Live(Box<LiveJob>),
    Done {
        #[serde(serialize_with = "shared")]
        value: Arc<Value>,
        /// The exit code, if there was an exit.
        exit_code: Option<i32>,
        /// Whether its agent was left alive on purpose.
        kept: bool,
    },
    Failed {
        /// The exit code, if there was an exit.
        exit_code: Option<i32>,
        /// Whether the process is gone without a recorded exit status.
        lost: bool,
    },
    /// It was stopped with the run.
    Cancelled,
}

/// A job that was asked for and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveJob {
    #[serde(serialize_with = "shared")]
    pub spec: Arc<JobSpec>,
    /// When its time is up, once it is known.
    pub deadline: Option<Timestamp>,
    /// Why it is being stopped, and by whom.
    pub stop: Option<(StopCause, String)>,
    /// What the agent had answered when that was decided.
    pub output: Option<String>,
    /// What is typed one after another when it is idle.
    #[serde(serialize_with = "shared")]
    pub inputs: Arc<Vec<String>>,
    /// How many of those were taken up.
    pub taken: u32,
    /// How many texts were given to it, by the plan or by people.
    pub sent: u32,
    /// The text that is being typed.
    pub typing: Option<PendingText>,
    /// The texts behind it, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<PendingText>,
    /// What it is told when it is idle, because it was not allowed something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// The intervention that says its turn is over.
    pub turn: Option<u64>,
    /// What it asked, the newest last.
    pub asked: Vec<AskedQuestion>,
    /// Questions that rules have denied, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<DeniedQuestion>,
    /// Questions whose answers it did not take, since it last took something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedQuestion>,
    /// The newest observation that something followed from.
    pub seen: u64,
    /// What it has used up so far.
    pub usage: TokenUsage,
    /// Whether it was told that something of its confinement is not enforced.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exposed: bool,
    /// Whether it was told what stays open to it in its confinement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The protocol that its agent is spoken to in, where it has no terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// A text on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct PendingText {
    /// Which text of the job, from 1.
    pub number: u32,
    pub text: String,
    /// Which try to deliver it this is, from 1.
    pub attempt: u32,
    /// Whether nobody looks whether it arrives, because a person wants it so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
    /// The intervention that says that it did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// Whether it was queued in the middle of a turn: that is over when it has arrived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_turn: bool,
}

impl PendingText {
    pub(crate) fn new(number: u32, text: String) -> Self {
        Self { number, text, attempt: 1, unverified: false, held: None, ends_turn: false }
    }
}

/// Something an agent asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AskedQuestion {
    pub number: u64,
    /// What was on the screen.
    pub digest: ContentDigest,
    /// What it asked, in which words: the same when it is asked again.
    pub words: ContentDigest,
    /// What became of it.
    pub answer: AnswerPhase,
}

/// A question of which answers were not taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RefusedQuestion {
    /// The words of the question.
    pub words: ContentDigest,
    /// How many answers to it were not taken.
    pub answers: u32,
    /// Why the last one was not.
    pub reason: String,
    /// Whether something of one of them was typed.
    pub pressed: bool,
}

/// A question that rules have denied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeniedQuestion {
    /// The words of the question.
    pub words: ContentDigest,
    /// How often it was.
    pub times: u32,
}

/// What tells a question from others, however often it is asked and whichever entry of its menu has
/// the mark.
pub(crate) fn question_words(intervention: &Intervention) -> ContentDigest {
    let is_mark = |char: char| !char.is_alphanumeric();
    let lines = intervention.excerpt.lines().map(|line| match line.trim_matches(is_mark) {
        "" => line.trim(),
        words => words,
    });
    ContentDigest::of_question(intervention.kind.as_str(), lines, 0)
}

/// What tells an action that an agent asks for from others: its command where the adapter reads it,
/// else the line that asks. The lines above it are the conversation, which goes on between two
/// questions.
pub(crate) fn asked_words(intervention: &Intervention) -> ContentDigest {
    let line = question_line(&intervention.excerpt);
    let asked = match &intervention.command {
        Some(command) => command.as_str(),
        None if line.is_empty() => intervention.excerpt.as_str(),
        None => line.as_str(),
    };
    let rule = intervention.rule.as_deref().unwrap_or_default();
    ContentDigest::of_question(intervention.kind.as_str(), [rule, asked], 0)
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerPhase {
    /// A person has to decide.
    Open,
    /// It was decided, and the answer is on its way.
    Decided(Box<InterventionDecision>),
    /// The answer was given.
    Given,
    /// It is not asked any more, or the answer came too late.
    Void,
}

/// How many questions of a job are counted that it did not take an answer to, or that were denied.
const MAX_COUNTED_QUESTIONS: usize = 32;

/// Adds a question that is counted from now on. The oldest goes where there are enough.
fn push_bounded<T>(counted: &mut Vec<T>, question: T) {
    if counted.len() >= MAX_COUNTED_QUESTIONS {
        counted.remove(0);
    }
    counted.push(question);
}

/// How many old questions of a job are remembered, to know a late repetition.
const MAX_REMEMBERED_QUESTIONS: usize = 32;

impl LiveJob {
    /// Whether its agent can ask and takes messages: on a terminal, or in its own protocol.
    pub fn converses(&self) -> bool {
        self.spec.work.is_interactive() || self.channel.is_some()
    }

    /// A job that was just asked for.
    pub fn new(spec: JobSpec, inputs: Vec<String>) -> Self {
        Self {
            spec: Arc::new(spec),
            deadline: None,
            stop: None,
            output: None,
            inputs: Arc::new(inputs),
            taken: 0,
            sent: 0,
            typing: None,
            waiting: Vec::new(),
            say: None,
            turn: None,
            asked: Vec::new(),
            denied: Vec::new(),
            refused: Vec::new(),
            seen: 0,
            usage: TokenUsage::default(),
            exposed: false,
            confined: false,
            channel: None,
        }
    }

    /// Whether it is the job of this attempt.
    pub(crate) fn is_attempt(&self, job: &AttemptId) -> bool {
        self.spec.job.attempt == *job
    }

    /// The same agent when its task is done and it was left alive: nothing of the plan is typed to
    /// it any more, and its time is not limited. What is on its way to it arrives.
    pub(crate) fn left_alive(&self) -> Self {
        let mut kept = self.clone();
        kept.inputs = Arc::new(Vec::new());
        (kept.taken, kept.turn, kept.output) = (0, None, None);
        (kept.deadline, kept.stop) = (None, None);
        for asked in &mut kept.asked {
            if asked.answer == AnswerPhase::Open {
                asked.answer = AnswerPhase::Void;
            }
        }
        if kept.typing.as_ref().is_some_and(|typing| typing.held.is_some()) {
            kept.next_text();
        }
        kept
    }

    /// Whether it waits for a person.
    pub(crate) fn waits_for_person(&self) -> bool {
        self.open().next().is_some()
    }

    /// Whether it was given something to do, and the end of its turn was not seen.
    pub fn has_open_turn(&self) -> bool {
        self.typing.is_some() || (self.was_given_something() && self.turn.is_none())
    }

    /// Whether it was given a prompt or a message. An empty prompt is none.
    pub(crate) fn was_given_something(&self) -> bool {
        let JobWork::Agent(agent) = &self.spec.work else { return false };
        self.sent > 0 || agent.prompt.as_deref().is_some_and(|prompt| !prompt.trim().is_empty())
    }

    /// The numbers of the interventions that wait for a person.
    pub fn open(&self) -> impl Iterator<Item = u64> {
        self.open_questions().chain(self.typing.as_ref().and_then(|typing| typing.held))
    }

    /// Those of them that are about what the agent shows.
    pub(crate) fn open_questions(&self) -> impl Iterator<Item = u64> {
        self.asked_now().into_iter().chain(self.turn)
    }

    /// What the agent asks and nobody has answered.
    pub(crate) fn asked_now(&self) -> Vec<u64> {
        let asked = self.asked.iter().filter(|asked| asked.answer == AnswerPhase::Open);
        asked.map(|asked| asked.number).collect()
    }

    /// Whether an answer is on its way to it.
    pub(crate) fn is_being_answered(&self) -> bool {
        self.asked.iter().any(|asked| matches!(asked.answer, AnswerPhase::Decided(_)))
    }

    /// Whether an agent in this state, which waits for somebody, has somebody to wait for: a person
    /// who was asked, an answer on its way, or its end.
    pub(crate) fn is_attended(&self, state: AgentState) -> bool {
        let is_under_way = |asked: &AskedQuestion| {
            matches!(asked.answer, AnswerPhase::Open | AnswerPhase::Decided(_))
        };
        let is_asked = self.asked.iter().any(is_under_way);
        // The end of a turn is no answer to a question, and no message is.
        let is_told = self.typing.is_some() || self.open().next().is_some();
        self.stop.is_some() || is_asked || (state != AgentState::Awaiting && is_told)
    }

    /// Puts a text behind all that are on their way.
    pub(crate) fn queue_text(&mut self, text: PendingText) {
        if self.typing.is_none() {
            self.typing = Some(text);
        } else {
            self.waiting.push(text);
        }
    }

    /// A text did not arrive: it waits for the decision about an intervention. One that is not under
    /// way is the prompt, which goes before all others.
    pub(crate) fn hold_text(&mut self, text: &str, intervention: u64) {
        if self.typing.as_ref().is_none_or(|typing| typing.text != text) {
            self.sent = self.sent.saturating_add(1);
            let prompt = PendingText::new(self.sent, text.to_owned());
            if let Some(later) = self.typing.replace(prompt) {
                self.waiting.insert(0, later);
            }
        }
        if let Some(typing) = &mut self.typing {
            typing.held = Some(intervention);
        }
    }

    /// The text under way arrived or was given up: the next one is typed.
    pub(crate) fn next_text(&mut self) {
        self.typing = (!self.waiting.is_empty()).then(|| self.waiting.remove(0));
    }

    /// Whether a text of this number is on its way, and why it is held if it is.
    pub fn pending_text(&self, number: u32) -> Option<&PendingText> {
        self.typing.iter().chain(&self.waiting).find(|text| text.number == number)
    }

    /// The question with this number.
    pub fn question(&self, number: u64) -> Option<&AskedQuestion> {
        self.asked.iter().find(|asked| asked.number == number)
    }

    /// Adds a question and forgets the oldest that nothing can follow from.
    pub(crate) fn ask(&mut self, question: AskedQuestion) {
        let over =
            |asked: &AskedQuestion| matches!(asked.answer, AnswerPhase::Given | AnswerPhase::Void);
        if self.asked.len() >= MAX_REMEMBERED_QUESTIONS
            && let Some(oldest) = self.asked.iter().position(over)
        {
            self.asked.remove(oldest);
        }
        self.asked.push(question);
    }

    pub(crate) fn set_answer(&mut self, number: u64, answer: AnswerPhase) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.number == number) {
            asked.answer = answer;
        }
    }

    /// Counts an answer that the agent did not take. A question that is asked again has another
    /// digest if a key was pressed, so its words count.
    pub(crate) fn refuse_answer(&mut self, number: u64, reason: &str, pressed: bool) {
        let Some(words) = self.question(number).map(|asked| asked.words.clone()) else { return };
        if let Some(known) = self.refused.iter_mut().find(|known| known.words == words) {
            known.answers = known.answers.saturating_add(1);
            reason.clone_into(&mut known.reason);
            known.pressed |= pressed;
            return;
        }
        let reason = reason.to_owned();
        push_bounded(&mut self.refused, RefusedQuestion { words, answers: 1, reason, pressed });
    }

    /// Counts that a rule denied a question.
    pub(crate) fn count_denial(&mut self, words: &ContentDigest) {
        if let Some(known) = self.denied.iter_mut().find(|known| known.words == *words) {
            known.times = known.times.saturating_add(1);
            return;
        }
        push_bounded(&mut self.denied, DeniedQuestion { words: words.clone(), times: 1 });
    }

    /// How often rules have denied a question.
    pub(crate) fn denials(&self, intervention: &Intervention) -> u32 {
        let words = asked_words(intervention);
        let known = self.denied.iter().find(|known| known.words == words);
        known.map_or(0, |known| known.times)
    }

    /// The answers to the same question that the agent did not take, since it last took something.
    pub fn refused(&self, intervention: &Intervention) -> Option<&RefusedQuestion> {
        let words = question_words(intervention);
        self.refused.iter().find(|known| known.words == words)
    }

    /// Whether the agent stays when its task is done.
    pub(crate) fn stays_alive(&self) -> bool {
        matches!(&self.spec.work, JobWork::Agent(agent) if agent.keep_alive)
    }

    /// Remembers that a question was decided. A denial may carry a text, which the agent's dialog
    /// does not take: it goes out as a message once the agent is idle. Over a channel a text for
    /// what only wants leave is a denial too.
    pub(crate) fn remember(
        &mut self,
        intervention: &Intervention,
        decision: &InterventionDecision,
    ) {
        if self.hears_denials() {
            return;
        }
        let text = decision.text.as_deref().filter(|text| !text.trim().is_empty());
        let denies = match decision.choice {
            InterventionChoice::Deny => true,
            InterventionChoice::Answer => {
                self.channel.is_some() && intervention.kind == InterventionKind::Approval
            }
            _ => false,
        };
        if let Some(text) = text.filter(|_| denies && decision.entry.is_none()) {
            self.say = Some(match self.say.take() {
                // A rule gives the same reason as often as it denies.
                Some(earlier) if earlier.contains(text) => earlier,
                // Programs that read plain lines take one line.
                Some(earlier) => format!("{earlier} {text}"),
                None => text.to_owned(),
            });
        }
    }

    /// Whether the words of a denial are a part of the answer in its protocol. ACP has none for them.
    fn hears_denials(&self) -> bool {
        matches!(self.channel.as_deref(), Some("claude-stdio" | "codex-app-server"))
    }

    /// Whether this is what it is to be told. Reasons were joined by line breaks before.
    pub(crate) fn says(&self, text: &str) -> bool {
        let words = str::split_whitespace;
        self.say.as_deref().is_some_and(|say| words(say).eq(words(text)))
    }

    /// The next text of the queue.
    pub fn next_input(&self) -> Option<&String> {
        self.inputs.get(self.taken as usize)
    }
}

impl TaskRun {
    pub fn job(&self) -> AttemptId {
        AttemptId { task: self.id.clone(), attempt: self.attempt }
    }

    /// Its live job, if it has one.
    pub fn live(&self) -> Option<&LiveJob> {
        match &self.phase {
            TaskPhase::Live(live) => Some(live),
            _ => None,
        }
    }

    /// Why the next attempt is to be started without the protocol of its agent, if the live job
    /// ended because its program refused that. It happens once in a task, and not where there is
    /// more to say to the agent than its prompt.
    pub(crate) fn refusal<'a>(&self, outcome: &'a JobOutcome) -> Option<&'a str> {
        let live = self.live().filter(|live| live.inputs.is_empty() && live.stop.is_none())?;
        let is_first = self.without_channel.is_none() && !live.spec.work.is_interactive();
        outcome.channel_refused.as_deref().filter(|_| is_first && !outcome.ok)
    }

    /// Whether the live job ended because its agent did not go on with the conversation in which the
    /// attempt before died. The next one begins afresh, which it may do once for each that died.
    pub(crate) fn begins_afresh(&self, outcome: &JobOutcome) -> bool {
        let Some(live) = self.live().filter(|live| live.stop.is_none()) else { return false };
        let JobWork::Agent(agent) = &live.spec.work else { return false };
        let is_wanted = matches!(agent.context, Some(RoundContext::Continue { .. }));
        outcome.resume_refused && !outcome.ok && !is_wanted && agent.review.is_none()
    }

    /// The conversation that the live job has named at its end, with what was used up in it before.
    pub(crate) fn conversation_of(
        &self,
        outcome: &JobOutcome,
        used: TokenUsage,
    ) -> Option<AgentConversation> {
        let id = outcome.agent_session.clone()?;
        let earlier = self.conversation.as_ref().filter(|earlier| earlier.id == id);
        let given = self.live().and_then(|live| match &live.spec.work {
            JobWork::Agent(agent) => agent.context.as_ref(),
            JobWork::Shell(_) => None,
        });
        let before = match (earlier, given) {
            (Some(earlier), _) => earlier.used,
            (None, Some(RoundContext::Continue { conversation, used })) if *conversation == id => {
                *used
            }
            _ => TokenUsage::default(),
        };
        Some(AgentConversation { id, used: before.plus(used) })
    }

    pub fn status(&self) -> TaskStatus {
        match &self.phase {
            TaskPhase::Ready { .. } | TaskPhase::Delayed { .. } => TaskStatus::Pending,
            TaskPhase::Live(live) if live.waits_for_person() => TaskStatus::WaitingForUser,
            TaskPhase::Live(_) => TaskStatus::Running,
            TaskPhase::Done { .. } => TaskStatus::Done,
            TaskPhase::Failed { .. } => TaskStatus::Error,
            TaskPhase::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// What it has used up, the live job included.
    pub fn usage(&self) -> TokenUsage {
        self.live().map_or(self.usage, |live| self.usage.plus(live.usage))
    }
}
