//! Messages on their way to an agent, and the inputs of a task.

use std::time::Duration;

use coven_adapters::adapter::keys;
use coven_model::AgentState;
use coven_terminal::keys::{KeyCode, KeyModifiers, KeyPress};
use coven_terminal::snapshot::ScreenSnapshot;

use super::RunnerActor;
use super::reader::{AgentReader, MessageSource, PendingTurn, TaskInputs};
use super::unread::TypedInput;
use crate::answer::AnswerError;
use crate::delivery::{
    AgentPrompt, DeliveryEffect, DeliveryError, DeliveryStage, InputReader, Message,
    OutputSinceTyped, StateStability, WorkSigns, draft, squeeze,
};
use crate::event::RunnerEvent;
use crate::outcome;

/// How long an idle agent that was given a prompt at its start may show no work before its inputs
/// go on all the same: some lose a prompt behind a dialog.
const LOST_PROMPT_TIMEOUT: Duration = Duration::from_secs(15);

impl RunnerActor {
    pub(super) fn deliver(&mut self, message: Message, source: MessageSource) {
        let now = self.now();
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.deliveries.push(message, source, now);
        }
    }

    /// Takes the messages on their way a step further.
    pub(super) fn advance_deliveries(&mut self, snapshot: &ScreenSnapshot) {
        let (now, written) = (self.now(), self.input.is_written());
        let collects_lines = self.collects_lines();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        if terminal.answer.is_pressing() || terminal.unverified.is_some() {
            return;
        }
        let stopped = self.pane.stopped_reader();
        let printed = self.output.offset();
        let reader = if terminal.deliveries.needs_reader() {
            self.input_reader(now)
        } else {
            InputReader::MayRead
        };
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let submit = submit_keys(&self.adapter.config().keys.submit);
        let CursorLine { row, line, prompt } = CursorLine::of(snapshot);
        let draft = terminal.keyboard.was_used.then(|| draft(snapshot)).flatten();
        let draft = draft.or_else(|| terminal.typed_at_plain_prompt(snapshot));
        let verdict = terminal.sniffer.verdict().clone();
        let is_line = terminal.sniffer.menu().is_none();
        let asked_words = is_line.then(|| terminal.sniffer.asked_words()).flatten();
        let agent = AgentPrompt {
            state: verdict.state,
            stability: if terminal.sniffer.is_changing() {
                StateStability::Changing
            } else {
                StateStability::Settled
            },
            asked: verdict.digest.as_ref(),
            shown_since: terminal.prompt.shown_since(),
            draft: draft.as_deref(),
            person_typed: terminal.keyboard.last,
            person_wrote: terminal.keyboard.has_unsubmitted,
            screen: &squeeze(&snapshot.text()),
            line: &line,
            row,
            before_cursor: &snapshot.before_cursor(),
            asked_words: asked_words.as_deref(),
            printed: match printed > terminal.typed_at {
                true if terminal.is_repainted => OutputSinceTyped::Question,
                true => OutputSinceTyped::Something,
                false => OutputSinceTyped::Nothing,
            },
            prompt: &prompt,
            written,
            collects_lines,
            reader,
            work: if self.adapter.rules().show_work() {
                WorkSigns::Rules
            } else {
                WorkSigns::PromptOnly
            },
            stopped,
            modes: terminal.screen.key_modes(),
            submit: &submit,
        };
        for effect in terminal.deliveries.feed(&agent, now) {
            self.apply_delivery(effect, now);
        }
    }

    fn apply_delivery(&mut self, effect: DeliveryEffect<MessageSource>, now: Duration) {
        match effect {
            DeliveryEffect::Reached(id, stage) => {
                if stage == DeliveryStage::TurnStarted
                    && let AgentReader::Terminal(terminal) = &mut self.reader
                    && matches!(terminal.turn, PendingTurn::Given(_))
                {
                    terminal.turn = PendingTurn::Working;
                    terminal.wake_at(now);
                }
                self.tell(RunnerEvent::Delivery { id, stage });
            }
            // Without the note, a process that takes over may type the message once more, which is
            // better than not at all.
            DeliveryEffect::Note(note) => drop(self.pane.mark(&note)),
            DeliveryEffect::BeginLine => {
                self.delete_leftover();
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    terminal.submitted_to.clone_from(&terminal.sniffer.verdict().digest);
                }
            }
            // Whether it could be thrown away shows by what the program reads next.
            DeliveryEffect::Discard => drop(self.pane.discard_unread(0)),
            DeliveryEffect::Write(bytes) => {
                let printed = self.output.offset();
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    (terminal.typed_at, terminal.is_repainted) = (printed, false);
                }
                self.write_input(&bytes, bytes.len());
            }
            DeliveryEffect::Submitted(proof) => {
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    terminal.keyboard.line.forget_leftover();
                    terminal.submitted(proof, now);
                    terminal.submitted_to.clone_from(&terminal.sniffer.verdict().digest);
                }
            }
            DeliveryEffect::Wake(due) => self.wake_at(due),
            DeliveryEffect::Erase(bytes) => {
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    terminal.erase = bytes;
                }
            }
            DeliveryEffect::Ended { id, source, result } => {
                self.input_ended(TypedInput::Message { id, source, result });
            }
        }
    }

    pub(super) fn delivered(
        &mut self,
        id: u64,
        source: MessageSource,
        result: Result<(), DeliveryError>,
    ) {
        let now = self.now();
        match (source, result) {
            (MessageSource::Caller(reply), result) => reply.end(result),
            (MessageSource::Answer(reply), result) => {
                // A question that was answered and that the program has not taken down yet is no
                // new one.
                if result.is_err() || !self.shows_submitted() {
                    self.forget_answered();
                }
                if let AgentReader::Terminal(terminal) = &mut self.reader
                    && let Err(error) = &result
                {
                    if error.is_left_behind() {
                        terminal.question_was_left(now);
                    }
                    terminal.sniffer.answer_refused(error.was_typed());
                }
                reply.end(result.map_err(AnswerError::from));
            }
            (MessageSource::Prompt | MessageSource::Inputs, Ok(())) => {}
            // The agent is left as it is, and what was to follow is not sent.
            (MessageSource::Prompt | MessageSource::Inputs, Err(error)) => {
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    terminal.inputs = TaskInputs::None;
                }
                self.tell(RunnerEvent::DeliveryFailed { id, error });
            }
        }
    }

    /// Whether the agent still shows what was asked when the last text was submitted.
    fn shows_submitted(&self) -> bool {
        let AgentReader::Terminal(terminal) = &self.reader else { return false };
        let asked = terminal.sniffer.verdict().digest.as_ref();
        asked.is_some() && asked == terminal.submitted_to.as_ref()
    }

    /// Sends the next input of the task, or finds that all are done.
    pub(super) fn next_input(&mut self) {
        let (now, is_running) = (self.now(), self.lifecycle.is_running());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let is_settled = terminal.is_settled();
        let TaskInputs::Queued(inputs) = &mut terminal.inputs else { return };
        let state = terminal.sniffer.verdict().state;
        let is_idle = matches!(state, AgentState::Idle | AgentState::Error)
            && is_settled
            && terminal.deliveries.is_empty()
            && !terminal.answer.is_pressing();
        if !is_running || !is_idle {
            return;
        }
        match terminal.turn {
            PendingTurn::Working | PendingTurn::Command(_) => return,
            PendingTurn::Given(since) => {
                // The agent was given something and has not been seen to work on it.
                let idle_since = Duration::from_millis(terminal.sniffer.verdict().evidence.since);
                let due = since.max(idle_since) + LOST_PROMPT_TIMEOUT;
                if now < due {
                    terminal.wake_at(due);
                    return;
                }
                terminal.turn = PendingTurn::None;
            }
            PendingTurn::NothingGiven | PendingTurn::None => {}
        }
        if let Some(input) = inputs.pop_front() {
            terminal.deliveries.push(Message::new(input), MessageSource::Inputs, now);
            terminal.wake_at(now);
        } else {
            terminal.inputs = TaskInputs::None;
            let outcome = outcome::completed(self.task.keep_alive, self.session.clone());
            self.finish_task(outcome);
        }
    }
}

/// The keys that submit a message. Enter, where the adapter does not say.
pub(super) fn submit_keys(names: &[String]) -> Vec<KeyPress> {
    let bound = keys(names);
    if bound.is_empty() {
        KeyPress::new(KeyCode::Enter, KeyModifiers::NONE).into_iter().collect()
    } else {
        bound
    }
}

/// What stands where the cursor is.
pub(super) struct CursorLine {
    /// The row in which its line begins, counted from the first that was ever shown.
    pub(super) row: u64,
    pub(super) line: String,
    /// The line together with the one above it.
    prompt: String,
}

impl CursorLine {
    pub(super) fn of(snapshot: &ScreenSnapshot) -> Self {
        let row = usize::from(snapshot.cursor().row);
        let lines: Vec<_> = snapshot.lines().collect();
        let at = lines.iter().position(|line| line.rows.contains(&row)).unwrap_or(0);
        let near = &lines[at.saturating_sub(1)..(at + 1).min(lines.len())];
        let begin = near.last().map_or(row, |line| line.rows.start);
        Self {
            row: snapshot.scrolled() + begin as u64,
            line: near.last().map(|line| squeeze(&line.text)).unwrap_or_default(),
            prompt: near.iter().map(|line| squeeze(&line.text)).collect(),
        }
    }
}
