//! A message on its way to an agent, verified at every step.
//!
//! It is typed, it must show up on the screen, it is submitted, it must leave the prompt, and the
//! agent must begin to work. What cannot be verified within its time is an error that names the
//! step; what was typed by then is deleted from the prompt again. Nothing is ever typed twice, and
//! an agent that asks something is not typed at.

mod draft;
mod message;
mod question;
mod queue;
mod record;

use std::time::Duration;

use coven_model::{AgentState, ContentDigest};
use coven_terminal::snapshot::is_frame;

use crate::actor::READER_LOOK_TIME;
use crate::answer::{STOPPED_LOOK_TIME, STOPPED_PATIENCE};

pub(crate) use draft::draft;
pub(crate) use message::line_too_long;
pub use message::{DeliveryError, DeliveryProof, DeliveryStage, Message};
pub(crate) use question::{counts_down, goes_on};
pub(crate) use queue::{
    AgentPrompt, DeliveryEffect, DeliveryQueue, InputReader, OutputSinceTyped, StateStability,
};
pub use record::{DeliveryProgress, InputName, TypedInputs};
pub(crate) use record::{answers, is_answer_key, is_submit, is_typing};

/// How long a message waits for the agent to be ready for it. Some CLIs take half a minute to
/// start on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_mins(2);

/// How long a message waits for an agent whose screen nobody knows: somebody has to look soon.
const UNKNOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the agent may take to read what was typed: longer than any hiccup, shorter than a
/// person waits.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long what was typed may take to show up on the screen.
const ECHO_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the message may take to leave the prompt once it is submitted.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the agent may take to begin to work. Some look things up first.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a program that reads lines must show its next prompt before the one before counts as
/// taken without work that was seen.
const LINE_TURN_TIME: Duration = Duration::from_secs(1);

/// How long after a command of the program, or what was sent unseen, the agent may take to show what
/// it does about that: the prompt that is seen before then may be the one from before.
const UNSEEN_TURN_TIME: Duration = Duration::from_secs(1);

/// How long what was typed must rest on the screen before it is submitted: programs that tell
/// pasted text by its speed take a submit that comes too soon for a line end.
const ECHO_SETTLE_TIME: Duration = Duration::from_millis(200);

/// How long a program that has just started must show its prompt before the first message is
/// typed: some show it for a quarter of a second before their first dialog takes its place.
const PROMPT_SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long a message that the program put back into its prompt may take to be deleted there.
const CLEAR_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a message waits for a person who types into the prompt.
const DRAFT_PATIENCE: Duration = Duration::from_secs(10);

/// How long what a person types may take to show up in the prompt.
const ECHO_PATIENCE: Duration = Duration::from_secs(1);

/// The same for a text that was not submitted: on a busy machine programs paint late, and the
/// message would be sent along with it.
const DRAFT_ECHO_PATIENCE: Duration = Duration::from_secs(6);

/// How programs begin what they show in the place of a long paste: `[Pasted text #1]`, `[Paste #1 -
/// 65 lines]`.
const PASTE_MARK: &str = "[paste";

/// How much of the end of a message is looked for on the screen.
const NEEDLE_LENGTH: usize = 24;

/// What keeps a message from being typed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptObstacle {
    None,
    /// The message before this one is back in the prompt: some put it there when they are
    /// interrupted.
    Leftover,
    /// Another message was typed in the turn that is under way.
    OtherMessage,
    /// The agent works and reads no text while it does, as programs without bracketed paste do:
    /// what is typed now is read by whatever it asks next.
    NotReading,
    /// The message before this one was a command of the program or was sent unseen. What came of it is
    /// seen when the agent rests, not before this time.
    AfterUnseen(Duration),
    /// The screen shows something else than the prompt that counts as there, and has not for long
    /// enough to count: a question perhaps.
    Changing,
    /// The process that should read it is stopped.
    Stopped(i32),
    /// A person has typed something and not submitted it.
    Draft,
    /// A person has just typed something, which may not be on the screen before then.
    Keys(Duration),
}

/// What can be seen of an agent's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkSigns {
    /// Its adapter has rules for it.
    Rules,
    /// None, as with a shell: there is a prompt or there is none.
    PromptOnly,
}

/// What one delivery needs to know about the agent.
#[derive(Clone, Copy, Debug)]
struct PromptView<'a> {
    state: AgentState,
    /// Since when it has shown its prompt, where it has done nothing else yet.
    shown_since: Option<Duration>,
    obstacle: PromptObstacle,
    /// What a person has typed into the prompt.
    draft: Option<&'a str>,
    /// The whole screen without spaces and frames.
    screen: &'a str,
    /// The lines around the cursor, the same way.
    prompt: &'a str,
    /// The line of the cursor, where the program reads plain lines or edits a single one.
    line: Option<&'a str>,
    /// The row in which the line of the cursor begins, counted from the first that was ever shown.
    row: u64,
    /// What stands before the cursor in its row, as it is.
    before_cursor: &'a str,
    /// Whether the screen says something else than the state, which has not lasted long enough.
    stability: StateStability,
    /// What is asked at this moment where nothing but a line asks it, in words that stay.
    asked_words: Option<&'a [String]>,
    /// What the program has printed since something was last typed.
    printed: OutputSinceTyped,
    work: WorkSigns,
    /// Whether it has worked since the last look.
    worked: bool,
    /// Whether everything that was to be written was.
    written: bool,
    /// What it asks.
    asked: Option<&'a ContentDigest>,
    /// Whether the terminal is known to collect lines.
    collects_lines: bool,
    /// Whether the program may read now what is typed.
    reader: InputReader,
}

impl PromptView<'_> {
    /// What stands where the agent reads its input. What was typed into a plain line stands right
    /// above the next one.
    fn input_text(&self) -> &str {
        self.line.unwrap_or(self.prompt)
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DeliveryStep {
    /// Wait, at most until then.
    Wait(Duration),
    /// Delete the message before it from the prompt.
    Clear,
    Type,
    /// Press the keys that submit it.
    Submit,
    Done,
    Failed(DeliveryError),
}

/// One message on its way.
#[derive(Debug)]
struct Delivery {
    id: u64,
    message: Message,
    needle: String,
    stage: DeliveryStage,
    since: Duration,
    /// How often needle and placeholder were on the screen before.
    before: (usize, usize),
    /// What the prompt showed before.
    prompt_before: String,
    /// The message was typed while the agent worked, so its turn comes later.
    queued: bool,
    /// It answers a question.
    answers: bool,
    /// What was asked when the answer was submitted.
    asked: Option<ContentDigest>,
    /// When a leftover was deleted.
    cleared: Option<Duration>,
    /// Since when it waits for a draft to go.
    behind_draft: Option<Duration>,
    /// Since when it waits for a process to be continued.
    stopped: Option<Duration>,
    submission: Submission,
    /// Whether the terminal collected lines when it was typed.
    typed_as_line: bool,
    /// The line that an answer was typed into as it was before that, and its row.
    asked_in: Option<(u64, String)>,
    /// What was asked then, in words.
    asked_words: Option<Vec<String>>,
    /// Since when that line is another one.
    gone_since: Option<Duration>,
}

/// Whether a message was submitted, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Submission {
    /// It rests on the screen since then.
    Due(Duration),
    /// It was typed, and then the agent asked something.
    BehindQuestion,
    /// The keys were pressed.
    Pressed,
    /// The agent has worked since.
    Worked,
}

impl Delivery {
    fn new(id: u64, message: Message, now: Duration) -> Self {
        Self {
            id,
            needle: needle(&message.text),
            message,
            stage: DeliveryStage::Accepted,
            since: now,
            before: (0, 0),
            prompt_before: String::new(),
            queued: false,
            answers: false,
            asked: None,
            cleared: None,
            behind_draft: None,
            stopped: None,
            submission: Submission::Due(now),
            typed_as_line: false,
            asked_in: None,
            asked_words: None,
            gone_since: None,
        }
    }

    /// A text that answers a question: the agent waits for it, and need not work afterwards.
    fn answer(id: u64, answer: Message, now: Duration) -> Self {
        let message = Message { proof: DeliveryProof::Submission, ..answer };
        let mut delivery = Self::new(id, message, now);
        delivery.answers = true;
        delivery
    }

    fn stage(&self) -> DeliveryStage {
        self.stage
    }

    fn is_submitted(&self) -> bool {
        matches!(self.submission, Submission::Pressed | Submission::Worked)
    }

    /// What must be seen of it. Only programs with an editor of their own have commands that start no
    /// turn; to one that reads lines every line is one.
    fn proof(&self, reads_lines: bool) -> DeliveryProof {
        match self.message.proof {
            DeliveryProof::Submission if reads_lines && !self.answers => DeliveryProof::Turn,
            proof => proof,
        }
    }

    fn has_worked(&self) -> bool {
        self.submission == Submission::Worked
    }

    fn reach(&mut self, stage: DeliveryStage, now: Duration) {
        self.stage = stage;
        self.since = now;
    }

    fn count(&self, screen: &str) -> (usize, usize) {
        let lower = screen.to_lowercase();
        (screen.matches(&self.needle).count(), lower.matches(PASTE_MARK).count())
    }

    /// Looks at the agent and says what to do. To be called until it says to wait.
    fn step(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if view.state == AgentState::Exited {
            // A message such as /quit ends the program, and that is what it was for.
            let ended = self.is_submitted() && self.message.proof != DeliveryProof::Turn;
            return match self.at_end(view.written) {
                Err(error) if !ended => DeliveryStep::Failed(error),
                _ => DeliveryStep::Done,
            };
        }
        if view.worked && self.is_submitted() {
            self.submission = Submission::Worked;
        }
        // A program that reads single keys sets its terminal back once it has its answer. Enter would
        // answer what it asks next.
        if self.answers
            && !self.typed_as_line
            && view.collects_lines
            && self.is_about_to_be_submitted()
        {
            return DeliveryStep::Done;
        }
        match self.stage {
            DeliveryStage::Accepted => self.accepted(view, now),
            DeliveryStage::Typed => self.typed(view, now),
            DeliveryStage::Echoed => self.echoed(view, now),
            DeliveryStage::Submitted => self.submitted(view, now),
            DeliveryStage::TurnStarted => DeliveryStep::Done,
        }
    }

    fn accepted(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if let PromptObstacle::Stopped(process) = view.obstacle {
            let until = *self.stopped.get_or_insert(now) + STOPPED_PATIENCE;
            if until <= now {
                return DeliveryStep::Failed(DeliveryError::Stopped(process));
            }
            self.since = now;
            return DeliveryStep::Wait(until.min(now + STOPPED_LOOK_TIME));
        }
        self.stopped = None;
        if let PromptObstacle::Keys(due) = view.obstacle
            && !self.answers
            && !self.message.typed
        {
            return DeliveryStep::Wait(due);
        }
        match view.state {
            AgentState::Awaiting if !self.answers && self.message.waits => {
                self.since = now;
                DeliveryStep::Wait(now + READY_TIMEOUT)
            }
            AgentState::Awaiting if !self.answers => DeliveryStep::Failed(DeliveryError::Awaiting),
            // Programs make one message of those that they are given while they work.
            AgentState::Working
                if matches!(
                    view.obstacle,
                    PromptObstacle::OtherMessage | PromptObstacle::NotReading
                ) && !self.answers =>
            {
                self.since = now;
                DeliveryStep::Wait(now + READY_TIMEOUT)
            }
            AgentState::Idle | AgentState::Error | AgentState::Working
                if matches!(
                    view.obstacle,
                    PromptObstacle::AfterUnseen(_) | PromptObstacle::Changing
                ) && !self.answers
                    && !self.message.typed =>
            {
                self.unsettled(view, now)
            }
            // Whatever it does: what stands in its prompt can be seen there.
            _ if self.message.typed => {
                self.typed_as_line = view.collects_lines;
                self.reach(DeliveryStage::Typed, now);
                self.typed(view, now)
            }
            AgentState::Idle | AgentState::Error | AgentState::Working | AgentState::Unknown
                if view.obstacle == PromptObstacle::Draft
                    && !self.answers
                    && !self.message.over_draft =>
            {
                let due = *self.behind_draft.get_or_insert(now) + DRAFT_PATIENCE;
                if now < due {
                    return DeliveryStep::Wait(due);
                }
                DeliveryStep::Failed(DeliveryError::Draft(view.draft.unwrap_or("").to_owned()))
            }
            AgentState::Idle
                if view.shown_since.is_some_and(|since| now < since + PROMPT_SETTLE_TIME) =>
            {
                DeliveryStep::Wait(view.shown_since.unwrap_or(now) + PROMPT_SETTLE_TIME)
            }
            AgentState::Idle | AgentState::Error if view.obstacle == PromptObstacle::Leftover => {
                match self.cleared {
                    None => {
                        self.cleared = Some(now);
                        DeliveryStep::Clear
                    }
                    Some(at) if now < at + CLEAR_TIMEOUT => DeliveryStep::Wait(at + CLEAR_TIMEOUT),
                    Some(_) => DeliveryStep::Failed(DeliveryError::Occupied),
                }
            }
            AgentState::Awaiting | AgentState::Idle | AgentState::Error | AgentState::Working => {
                self.before = self.count(view.screen);
                view.input_text().clone_into(&mut self.prompt_before);
                let asked_in = view.line.filter(|_| self.answers);
                self.asked_in = asked_in.map(|line| (view.row, line.to_owned()));
                self.asked_words = view.asked_words.map(<[String]>::to_vec);
                self.typed_as_line = view.collects_lines;
                self.reach(DeliveryStage::Typed, now);
                DeliveryStep::Type
            }
            // Whoever sends it anyway has seen what nobody knows.
            AgentState::Unknown if self.message.proof == DeliveryProof::None => {
                self.before = self.count(view.screen);
                self.typed_as_line = view.collects_lines;
                self.reach(DeliveryStage::Typed, now);
                DeliveryStep::Type
            }
            state => {
                let patience =
                    if state == AgentState::Unknown { UNKNOWN_TIMEOUT } else { READY_TIMEOUT };
                let due = self.since + patience;
                if due <= now {
                    DeliveryStep::Failed(DeliveryError::NotReady { state })
                } else {
                    DeliveryStep::Wait(due)
                }
            }
        }
    }

    /// The agent has to be seen at rest first. One that works, or shows nothing but something that
    /// changes, is waited for.
    fn unsettled(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if view.state == AgentState::Working {
            self.since = now;
        }
        let due = self.since + READY_TIMEOUT;
        match view.obstacle {
            _ if due <= now => DeliveryStep::Failed(DeliveryError::NotReady { state: view.state }),
            PromptObstacle::AfterUnseen(at) if now < at => DeliveryStep::Wait(at.min(due)),
            _ => DeliveryStep::Wait(due),
        }
    }

    fn typed(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if !view.written {
            return self.wait_for(DeliveryStage::Typed, WRITE_TIMEOUT, now);
        }
        if let Some(step) = self.behind_question(view, now) {
            return step;
        }
        if let Some(step) = self.swallowed_before(view, now) {
            return step;
        }
        if let Some(step) = self.question_gone(view, now) {
            return step;
        }
        if self.is_shown(view) {
            self.submission = Submission::Due(now);
            self.reach(DeliveryStage::Echoed, now);
            return DeliveryStep::Wait(now + ECHO_SETTLE_TIME);
        }
        self.wait_for(DeliveryStage::Echoed, ECHO_TIMEOUT, now)
    }

    /// Whether it is on the screen; what is sent anyway need not be.
    fn is_shown(&self, view: &PromptView<'_>) -> bool {
        self.message.proof == DeliveryProof::None || self.stands(view)
    }

    /// Whether it stands anywhere on the screen.
    fn stands(&self, view: &PromptView<'_>) -> bool {
        let (needles, placeholders) = self.count(view.screen);
        needles > self.before.0 || placeholders > self.before.1
    }

    /// It stands in the prompt, and is submitted once it has for a while.
    fn resting(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if let Some(step) = self.behind_question(view, now) {
            return step;
        }
        // What was typed into a line stands there, also where the program paints over it.
        let stands = self.is_shown(view) || (self.typed_as_line && view.collects_lines);
        let since = match self.submission {
            Submission::Due(since) if stands => since,
            _ => now,
        };
        self.submission = Submission::Due(since);
        if let Some(step) = self.question_gone(view, now) {
            return step;
        }
        if !stands {
            return self.wait_for(DeliveryStage::Submitted, SUBMIT_TIMEOUT, now);
        }
        let due = since + ECHO_SETTLE_TIME;
        if now < due {
            return DeliveryStep::Wait(due);
        }
        if let Some(step) = self.taken_unseen(view, now) {
            return step;
        }
        // What is submitted while it does something else is read by what it asks next.
        if self.answers {
            match view.reader {
                InputReader::MayRead => {}
                InputReader::Busy => return DeliveryStep::Wait(now + READER_LOOK_TIME),
                InputReader::Nobody if self.typed_as_line => {
                    return DeliveryStep::Failed(DeliveryError::NotRead);
                }
                InputReader::Nobody => return DeliveryStep::Failed(DeliveryError::MovedOn),
            }
        }
        self.submission = Submission::Pressed;
        self.since = now;
        self.asked = view.asked.cloned();
        // Some programs seem to work for a moment while they start.
        self.queued = view.state == AgentState::Working;
        DeliveryStep::Submit
    }

    fn echoed(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        if !self.is_submitted() {
            return self.resting(view, now);
        }
        if self.message.proof == DeliveryProof::None {
            return DeliveryStep::Done;
        }
        if !view.written {
            return self.wait_for(DeliveryStage::Submitted, SUBMIT_TIMEOUT, now);
        }
        let prompt = view.input_text();
        // A prompt of its own may have the same words.
        let left_prompt = prompt == self.prompt_before
            || !prompt.contains(&self.needle) && !prompt.to_lowercase().contains(PASTE_MARK);
        let asks = if self.answers {
            // The next question may stand right below the answer.
            self.asked.is_some() && view.asked != self.asked.as_ref()
        } else {
            view.state == AgentState::Awaiting
        };
        if self.has_worked() || left_prompt || asks {
            self.reach(DeliveryStage::Submitted, now);
            return self.submitted(view, now);
        }
        self.wait_for(DeliveryStage::Submitted, SUBMIT_TIMEOUT, now)
    }

    fn submitted(&mut self, view: &PromptView<'_>, now: Duration) -> DeliveryStep {
        let started = self.has_worked() || view.state == AgentState::Awaiting;
        if started || self.queued || self.proof(view.line.is_some()) != DeliveryProof::Turn {
            if started || self.queued {
                self.reach(DeliveryStage::TurnStarted, now);
            }
            return DeliveryStep::Done;
        }
        // A program that reads lines and shows its next prompt has taken the one before, and may be
        // done with it before anybody saw it work. Where nothing but the prompt can be seen, it
        // works while there is none.
        let works = view.state == AgentState::Unknown && view.work == WorkSigns::PromptOnly;
        let rests = view.state == AgentState::Idle && view.stability == StateStability::Settled;
        if view.line.is_some() && (rests || works) {
            let due = self.since + LINE_TURN_TIME;
            if now < due {
                return DeliveryStep::Wait(due);
            }
            self.reach(DeliveryStage::TurnStarted, now);
            return DeliveryStep::Done;
        }
        self.wait_for(DeliveryStage::TurnStarted, TURN_TIMEOUT, now)
    }

    /// When what was just done must have shown an effect.
    fn effect_due(&self, limit: Duration) -> Duration {
        self.since + limit
    }

    fn wait_for(&self, missing: DeliveryStage, limit: Duration, now: Duration) -> DeliveryStep {
        let due = self.effect_due(limit);
        if due <= now {
            DeliveryStep::Failed(DeliveryError::Unverified {
                reached: self.reached(missing),
                missing,
            })
        } else {
            DeliveryStep::Wait(due)
        }
    }
}

impl Delivery {
    /// Whether it stands in the prompt, not submitted.
    fn is_typed_only(&self) -> bool {
        matches!(self.stage, DeliveryStage::Typed | DeliveryStage::Echoed)
    }

    /// Whether it was typed and its submit is still to come.
    fn is_about_to_be_submitted(&self) -> bool {
        self.is_typed_only() && matches!(self.submission, Submission::Due(_))
    }

    /// How far it came, where the step to a stage failed. A message that was never written in
    /// full was only accepted.
    fn reached(&self, missing: DeliveryStage) -> DeliveryStage {
        if missing == DeliveryStage::Typed { DeliveryStage::Accepted } else { self.stage }
    }
}

/// The end of a message, as it is looked for on the screen.
fn needle(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let squeezed = squeeze(last.unwrap_or_default());
    let skip = squeezed.chars().count().saturating_sub(NEEDLE_LENGTH);
    squeezed.chars().skip(skip).collect()
}

/// A text without anything that wrapping or a frame around it changes.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace() && !is_frame(*char)).collect()
}

#[cfg(test)]
mod tests;
