//! Input whose end is near: whether the agent has read it. What it has not read is thrown away if
//! it had no effect: read later, it would come a second time behind whatever was done about it
//! meanwhile. And what a terminal shows of a line by itself proves nothing before the line is read.

use std::time::Duration;

use coven_model::AgentState;
use coven_runtime::domain::InputMode;

use super::RunnerActor;
use super::attention::LATE_READ_TIMEOUT;
use super::handle::AnswerReply;
use super::reader::{AgentReader, MessageSource};
use crate::answer::{AnswerError, StrayKeys};
use crate::delivery::DeliveryError;

/// How long the pane may take to say whether the agent has read its input.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an agent may take to read a line that it was seen to be given.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// How often it is asked whether it has.
const READ_INTERVAL: Duration = Duration::from_millis(200);

/// How long the terminal may take to show the end of a line that the agent has read. Until then the
/// question with the answer behind it looks like a question of its own.
const LINE_END_TIMEOUT: Duration = Duration::from_secs(2);

/// More than can be unread: nothing is thrown away.
const NOTHING: u32 = u32::MAX;

/// The byte that deletes a line in a terminal that collects lines.
pub(crate) const DELETE_LINE: u8 = 0x15;

/// An answer or a message, and what was seen of it.
#[derive(Debug)]
pub(super) enum TypedInput {
    Answer(AnswerReply, Result<(), AnswerError>),
    Message { id: u64, source: MessageSource, result: Result<(), DeliveryError> },
}

/// An answer or a message of which it is found out whether the agent has read it.
#[derive(Debug)]
pub(super) struct UnverifiedInput {
    input: TypedInput,
    /// When the pane must have answered.
    due: Duration,
    /// When the agent must have read what it was seen to be given.
    give_up: Option<Duration>,
    /// When the pane is asked again.
    ask_at: Option<Duration>,
    /// When the end of the line must be on the screen, once it was read.
    line_end_due: Option<Duration>,
    /// Why it is taken back, if it was not read.
    unread: UnreadCause,
}

/// Why something is taken back that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnreadCause {
    /// The agent took too long.
    Late,
    /// The agent went on without it.
    LeftBehind,
    /// The agent, which reads keys as they come, went on and left this much unread.
    Rest,
}

impl TypedInput {
    fn is_seen(&self) -> bool {
        match self {
            Self::Answer(_, result) => result.is_ok(),
            Self::Message { result, .. } => result.is_ok(),
        }
    }

    /// Whether something of it was typed that may not have been read.
    fn may_be_unread(&self) -> bool {
        match self {
            Self::Answer(_, Err(error)) => error.was_pressed(),
            Self::Message { result: Err(error), .. } => error.was_typed(),
            Self::Answer(_, Ok(())) | Self::Message { result: Ok(()), .. } => true,
        }
    }

    fn is_still_asked(&self) -> bool {
        matches!(self, Self::Answer(_, Err(AnswerError::StillAsked | AnswerError::AskedAnew)))
    }

    fn is_answer(&self) -> bool {
        match self {
            Self::Answer(..) => true,
            Self::Message { source, .. } => matches!(source, MessageSource::Answer(_)),
        }
    }

    /// It was taken back, after so many pieces of it were typed.
    fn set_unread(&mut self, cause: UnreadCause, pieces: u32) {
        match self {
            // What was read before the last of its keys has ended the question.
            Self::Answer(_, Ok(())) if cause == UnreadCause::Rest && pieces > 1 => {}
            Self::Answer(_, result) => *result = Err(cause.of_answer()),
            Self::Message { result, .. } if cause == UnreadCause::Rest && pieces > 1 => {
                *result = Err(DeliveryError::MovedOn);
            }
            Self::Message { result, .. } => *result = Err(cause.of_text()),
        }
    }
}

impl UnreadCause {
    fn of_text(self) -> DeliveryError {
        match self {
            Self::Late => DeliveryError::NotRead,
            Self::Rest | Self::LeftBehind => DeliveryError::TakenBack,
        }
    }

    fn of_answer(self) -> AnswerError {
        match self {
            Self::Late => AnswerError::NotRead,
            Self::Rest | Self::LeftBehind => DeliveryError::TakenBack.into(),
        }
    }
}

impl UnverifiedInput {
    pub(super) fn is_answer(&self) -> bool {
        self.input.is_answer()
    }

    pub(super) fn into_input(self) -> TypedInput {
        self.input
    }
}

impl RunnerActor {
    /// Whether the terminal is known to collect lines.
    pub(super) fn collects_lines(&self) -> bool {
        self.pane.input_mode().is_some_and(|mode| mode.collects_lines)
    }

    /// Whether it is known to collect a line that it does not show.
    pub(super) fn hides_line(&self) -> bool {
        self.pane.input_mode().is_some_and(InputMode::hides_line)
    }

    /// Deletes what a runner typed into a line and did not submit before it ended.
    pub(super) fn delete_leftover(&mut self) {
        let collects_lines = self.collects_lines();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        if collects_lines && terminal.keyboard.line.leftover().is_some() {
            terminal.keyboard.line.clear();
            self.write(&[DELETE_LINE]);
            // Before the note about what is typed next, which is about the next input on the tape.
            self.flush();
        }
    }

    /// Whether the line that an answer was typed into has no end on the screen yet: what the terminal
    /// shows may come later than the word that the line was read.
    fn lacks_line_end(&mut self) -> bool {
        let echoes = self.pane.input_mode().is_some_and(|mode| mode.collects_lines && mode.echoes);
        let AgentReader::Terminal(terminal) = &mut self.reader else { return false };
        let sight = terminal.answered_at.as_ref().filter(|_| echoes);
        sight.is_some_and(|sight| sight.has_cursor(&terminal.screen.snapshot()))
    }

    /// Whether the agent went on from where it was given an input.
    fn is_left_behind(&mut self, input_is_answer: bool) -> bool {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return false };
        match &terminal.answered_at {
            Some(sight) if input_is_answer => sight.is_left(&terminal.screen.snapshot()),
            _ => !input_is_answer && terminal.sniffer.verdict().state == AgentState::Awaiting,
        }
    }

    /// An input is at its end. One that was seen to arrive must be read too; of one that was not,
    /// what the agent has not read is thrown away. So is what it left behind unread.
    pub(super) fn input_ended(&mut self, mut input: TypedInput) {
        // The last key may end an answer in the look in which it is pressed, and what has not left
        // this process cannot be counted in the terminal.
        self.flush();
        let (now, collects_lines) = (self.now(), self.collects_lines());
        let is_left_behind = collects_lines && self.is_left_behind(input.is_answer());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let is_seen = input.is_seen();
        let is_open = matches!(input, TypedInput::Answer(..)) && terminal.has_open_line;
        if is_open && !is_left_behind {
            if let TypedInput::Answer(_, result) = &mut input {
                *result = Err(AnswerError::NotSubmitted);
            }
            self.write(&[DELETE_LINE]);
            return self.end_input(input);
        }
        let (at_least, unread) = if is_open {
            (0, UnreadCause::LeftBehind)
        } else if is_seen && collects_lines {
            let at_least = if is_left_behind { 1 } else { NOTHING };
            (at_least, UnreadCause::LeftBehind)
        } else {
            (terminal.typed_bytes, if is_seen { UnreadCause::Rest } else { UnreadCause::Late })
        };
        let is_written = self.input.is_written();
        let is_asked = (collects_lines || !is_seen || input.is_answer())
            && input.may_be_unread()
            && (is_seen || is_written)
            && (!is_written || self.pane.discard_unread(at_least).is_ok());
        if !is_asked {
            return self.end_input(input);
        }
        let due = now + DISCARD_TIMEOUT;
        let in_vain = terminal.reader_watch.was_in_vain();
        let patience = if in_vain { LATE_READ_TIMEOUT } else { READ_TIMEOUT };
        let give_up = (is_seen && collects_lines).then_some(now + patience);
        // What the terminal has no room for was not read, and is counted once it has.
        let ask_at = (!is_written).then_some(now + READ_INTERVAL);
        terminal.unverified =
            Some(UnverifiedInput { input, due, give_up, ask_at, line_end_due: None, unread });
        terminal.wake_at(ask_at.unwrap_or(due));
        self.settle_unverified();
    }

    /// Ends an input once it is known whether the agent has read it.
    pub(super) fn settle_unverified(&mut self) {
        let (now, collects_lines) = (self.now(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &self.reader else { return };
        let Some(unverified) = &terminal.unverified else { return };
        let is_answer = unverified.is_answer();
        let is_left_behind = unverified.ask_at.is_some() && self.is_left_behind(is_answer);
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let Some(unverified) = &mut terminal.unverified else { return };
        if let Some(at) = unverified.ask_at {
            if now < at && !is_left_behind {
                return;
            }
            let is_late = unverified.give_up.is_some_and(|give_up| give_up <= now);
            let cause = if is_left_behind { UnreadCause::LeftBehind } else { UnreadCause::Late };
            (unverified.ask_at, unverified.due) = (None, now + DISCARD_TIMEOUT);
            unverified.unread = cause;
            let due = unverified.due;
            let is_over = is_late || is_left_behind;
            let asked = self.pane.discard_unread(if is_over { 1 } else { NOTHING });
            terminal.wake_at(if asked.is_ok() { due } else { now });
        }
        let Some(unverified) = &mut terminal.unverified else { return };
        let result = self.pane.discard_result();
        if result.is_none() && now < unverified.due {
            return;
        }
        let is_unread = result.is_some_and(|result| result.unread > 0 && !result.discarded);
        // One that was only looked at is looked at once more, and taken back when it is late.
        let has_time = |give_up: Duration| now < give_up + DISCARD_TIMEOUT;
        if unverified.give_up.is_some_and(has_time) && is_unread {
            unverified.ask_at = Some(now + READ_INTERVAL);
            terminal.wake_at(now + READ_INTERVAL);
            return;
        }
        let is_read = is_answer && result.is_some_and(|result| result.unread == 0);
        if is_read && self.lacks_line_end() {
            let AgentReader::Terminal(terminal) = &mut self.reader else { return };
            let Some(unverified) = &mut terminal.unverified else { return };
            if now < *unverified.line_end_due.get_or_insert(now + LINE_END_TIMEOUT) {
                unverified.ask_at = Some(now + READ_INTERVAL);
                terminal.wake_at(now + READ_INTERVAL);
                return;
            }
        }
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let Some(UnverifiedInput { mut input, unread, .. }) = terminal.unverified.take() else {
            return;
        };
        if result.is_some_and(|result| result.discarded) {
            terminal.erase.clear();
            self.input.clear();
            input.set_unread(unread, terminal.typed_pieces);
        } else if result.is_some_and(|result| result.unread == 0)
            && collects_lines
            && input.is_still_asked()
            && let TypedInput::Answer(_, answered) = &mut input
        {
            // A line that was read is an answer, whatever still stands on the screen.
            *answered = Ok(());
            terminal.sniffer.was_answered(now);
        }
        self.end_input(input);
    }

    fn end_input(&mut self, input: TypedInput) {
        // Nothing to write is nothing that was typed.
        if let AgentReader::Terminal(terminal) = &mut self.reader
            && !terminal.erase.is_empty()
        {
            let erase = std::mem::take(&mut terminal.erase);
            self.write(&erase);
        }
        match input {
            TypedInput::Answer(reply, result) => {
                let now = self.now();
                if let AgentReader::Terminal(terminal) = &mut self.reader
                    && let Err(error) = &result
                {
                    if error.was_pressed() {
                        let asked = terminal.sniffer.asked_words();
                        terminal.stray = Some(StrayKeys::new(asked, terminal.pressed_at, now));
                    }
                    if matches!(error, AnswerError::Text(error) if error.is_left_behind()) {
                        terminal.question_was_left(now);
                    }
                    terminal.sniffer.answer_refused(error.was_pressed());
                }
                self.forget_answered();
                reply.end(result);
            }
            TypedInput::Message { id, source, result } => self.delivered(id, source, result),
        }
    }
}
