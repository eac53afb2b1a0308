//! One task of a step: its attempts, and what its live job is in the middle of.

use std::sync::Arc;

use coven_model::event::{AttemptPlace, InterventionDecision, StopCause, TaskRole};
use coven_model::{
    AttemptId, ContentDigest, Intervention, InterventionChoice, JobSpec, JobWork, TaskId,
    TaskStatus, Timestamp, TokenUsage,
};
use serde::Serialize;
use serde_json::Value;

use super::shared;

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
    pub phase: TaskPhase,
    /// Why the last attempt that failed did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The end of what that attempt printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// What the attempts that ended have used up.
    pub usage: TokenUsage,
    /// When the newest attempt was asked for.
    pub started_at: Timestamp,
    /// When the newest attempt ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
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
    /// What it is told when it is idle, because it was not allowed something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// The intervention that says its turn is over.
    pub turn: Option<u64>,
    /// What it asked, the newest last.
    pub asked: Vec<AskedQuestion>,
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
}

/// A text on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct PendingText {
    /// Which text of the job, from 1.
    pub number: u32,
    pub text: String,
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
}

/// What tells a question from others, however often it is asked.
pub(crate) fn question_words(intervention: &Intervention) -> ContentDigest {
    ContentDigest::of_question(intervention.kind.as_str(), [intervention.excerpt.as_str()], 0)
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

/// How many questions of a job are counted whose answers it did not take.
const MAX_REFUSED_QUESTIONS: usize = 32;

/// How many old questions of a job are remembered, to know a late repetition.
const MAX_REMEMBERED_QUESTIONS: usize = 32;

impl LiveJob {
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
            say: None,
            turn: None,
            asked: Vec::new(),
            refused: Vec::new(),
            seen: 0,
            usage: TokenUsage::default(),
            exposed: false,
            confined: false,
        }
    }

    /// Whether it waits for a person.
    pub(crate) fn waits_for_person(&self) -> bool {
        self.turn.is_some() || self.asked.iter().any(|asked| asked.answer == AnswerPhase::Open)
    }

    /// The numbers of the interventions that wait for a person.
    pub fn open(&self) -> impl Iterator<Item = u64> {
        let asked = self.asked.iter().filter(|asked| asked.answer == AnswerPhase::Open);
        asked.map(|asked| asked.number).chain(self.turn)
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
    pub(crate) fn refuse_answer(&mut self, number: u64) {
        let Some(words) = self.question(number).map(|asked| asked.words.clone()) else { return };
        if let Some(known) = self.refused.iter_mut().find(|known| known.words == words) {
            known.answers = known.answers.saturating_add(1);
            return;
        }
        if self.refused.len() >= MAX_REFUSED_QUESTIONS {
            self.refused.remove(0);
        }
        self.refused.push(RefusedQuestion { words, answers: 1 });
    }

    /// How many answers to the same question the agent did not take, since it last took something.
    pub fn refused_answers(&self, intervention: &Intervention) -> u32 {
        let words = question_words(intervention);
        let known = self.refused.iter().find(|known| known.words == words);
        known.map_or(0, |known| known.answers)
    }

    /// Whether the agent stays when its task is done.
    pub(crate) fn stays_alive(&self) -> bool {
        matches!(&self.spec.work, JobWork::Agent(agent) if agent.keep_alive)
    }

    /// Remembers that a question was decided. A denial may carry a text, which the agent's dialog
    /// does not take: it goes out as a message once the agent is idle.
    pub(crate) fn remember(&mut self, decision: &InterventionDecision) {
        let text = decision.text.as_deref().filter(|text| !text.trim().is_empty());
        if let (InterventionChoice::Deny, Some(text)) = (decision.choice, text) {
            self.say = Some(match self.say.take() {
                Some(earlier) => format!("{earlier}\n{text}"),
                None => text.to_owned(),
            });
        }
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
