//! Answers on their way to an agent: bound to what it shows, one key at a time.

use std::time::Duration;

use coven_model::{AgentState, AgentVerdict, ContentDigest};
use coven_terminal::keys::paste;
use coven_terminal::snapshot::ScreenSnapshot;

use super::attention::ReaderWatch;
use super::handle::AnswerReply;
use super::reader::{AgentReader, MessageSource};
use super::sending::{CursorLine, submit_keys};
use super::unread::{DELETE_LINE, TypedInput};
use super::{OutputReading, READER_LOOK_TIME, RunnerActor};
use crate::answer::{
    self, AnswerAction, AnswerEffect, AnswerError, EntrySelection, GivenAnswer, HeldAnswer,
    KeySequence, PendingAnswer, QuestionSight, Release, ShownQuestion, bare_words,
};
use crate::delivery::{DeliveryError, InputName, InputReader, Message, answers, line_too_long};

/// How many turns of reading empty a pane before an answer. A flood is not waited for.
const MAX_DRAIN_TURNS: usize = 64;

/// How long after a secret was typed it is submitted: programs that take keys in pieces take an
/// Enter in the same piece for a part of the text.
const SECRET_SUBMIT_DELAY: Duration = Duration::from_millis(300);

/// What stands on the tape in the place of the name of a secret.
const SECRET_NAME: &str = "secret";

/// What a text as an answer is typed in: the text, and what submits it.
const TEXT_PIECES: usize = 2;

/// Why a terminal that collects lines cannot be given an answer whole.
fn too_long(action: &AnswerAction) -> Option<AnswerError> {
    let (AnswerAction::Text(text) | AnswerAction::Secret(text)) = action else { return None };
    line_too_long(text).map(|problem| DeliveryError::Untypable(problem).into())
}

/// Whether an answer can be given at once.
enum AnswerDelay {
    None,
    /// It is looked at again then, and does not wait longer than its patience.
    Until {
        due: Duration,
        patience: Option<Duration>,
    },
    Refused(AnswerError),
}

impl RunnerActor {
    /// Reads everything that the agent has printed so far.
    pub(super) fn drain(&mut self) {
        for _ in 0..MAX_DRAIN_TURNS {
            self.read();
            if self.reading != OutputReading::More {
                break;
            }
        }
    }

    /// Answers a question, if exactly that is on the screen at this very moment.
    pub(super) fn answer(&mut self, answer: GivenAnswer, reply: AnswerReply) {
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.reader_watch = ReaderWatch::default();
        }
        self.answer_within(answer, reply, None);
    }

    /// The same; until then the screen may show something else.
    fn answer_within(
        &mut self,
        answer: GivenAnswer,
        reply: AnswerReply,
        patience: Option<Duration>,
    ) {
        self.drain();
        let (now, collects_lines) = (self.now(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(AnswerError::Ended));
        };
        if !terminal.answer.is_none() || terminal.unverified.is_some() {
            return reply.end(Err(AnswerError::Stale));
        }
        terminal.begin_answer();
        if let Some(draft) = terminal.keyboard.line.draft().filter(|_| collects_lines)
            && answer.typed == 0
        {
            return reply.end(Err(AnswerError::Draft(draft.to_owned())));
        }
        let snapshot = terminal.look(now);
        let verdict = terminal.sniffer.verdict().clone();
        if answer.typed > 0 {
            return self.resume_answer(answer, &verdict, reply, &snapshot);
        }
        if let Some(draft) = terminal.typed_at_plain_prompt(&snapshot)
            && coven_model::is_generic_rule(&verdict.evidence.rule)
        {
            self.report();
            return reply.end(Err(AnswerError::Draft(draft)));
        }
        self.report();
        if verdict.digest.as_ref() != Some(&answer.digest) {
            return self.refuse_stale(answer, reply, patience);
        }
        self.tell_question(now);
        if let Some(error) = self.stray_keys(now) {
            return reply.end(Err(error));
        }
        match self.answer_delay(patience, now) {
            AnswerDelay::None => {}
            AnswerDelay::Refused(error) => {
                if let AgentReader::Terminal(terminal) = &mut self.reader
                    && !terminal.sniffer.shows_question()
                {
                    terminal.question_was_left(now);
                }
                return reply.end(Err(error));
            }
            AnswerDelay::Until { due, patience } => {
                return self.hold(HeldAnswer { answer, reply, due, patience, is_early: false });
            }
        }
        if collects_lines && let Some(error) = too_long(&answer.action) {
            return reply.end(Err(error));
        }
        self.delete_leftover();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let GivenAnswer { action, name, .. } = answer;
        match action {
            AnswerAction::Secret(text) => {
                let asked = self.sight(&snapshot, InputReader::MayRead);
                self.type_secret(&text, asked, reply);
            }
            AnswerAction::Text(text) => {
                let name = name.map(InputName::Answer);
                self.type_answer(Message { name, ..Message::new(text) }, reply, now);
            }
            AnswerAction::Entry { id, text } => {
                let config = self.adapter.config();
                let keys = config.entries.as_ref().map_or(&[][..], |entries| &entries.text_keys);
                let keys = coven_adapters::adapter::keys(keys);
                let selection = EntrySelection::new(id, text, keys).named(name);
                terminal.answer = PendingAnswer::Selecting(selection, reply);
                self.press_keys(&snapshot, now);
            }
            action => match self.keys_of(action, &verdict.evidence.rule) {
                Err(error) => reply.end(Err(error)),
                Ok(keys) => self.press(keys.resumed(name, 0), reply, &snapshot),
            },
        }
    }

    fn hold(&mut self, held: HeldAnswer<AnswerReply>) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        terminal.wake_at(held.due);
        terminal.answer = PendingAnswer::Held(held);
    }

    /// Refuses an answer whose question is not the one that counts as asked. An agent that was just
    /// taken over may ask something that is not known yet.
    fn refuse_stale(
        &mut self,
        answer: GivenAnswer,
        reply: AnswerReply,
        patience: Option<Duration>,
    ) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &self.reader else { return };
        let due = terminal.unknown_until;
        if now < due && terminal.sniffer.verdict().digest.is_none() {
            return self.hold(HeldAnswer { answer, reply, due, patience, is_early: true });
        }
        reply.end(Err(AnswerError::Stale));
    }

    /// Why no key may be pressed, because those of an answer before may still act.
    fn stray_keys(&mut self, now: Duration) -> Option<AnswerError> {
        let (printed, collects_lines) = (self.output.offset(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return None };
        // What stands in a line was not read, and is deleted before anything else is typed.
        let is_unread = collects_lines && terminal.keyboard.line.leftover().is_some();
        terminal.stray.take_if(|_| is_unread);
        let asked = terminal.sniffer.asked_words();
        let error = terminal.stray.as_mut()?.forbid(asked.as_deref(), printed, now);
        if error.is_none() {
            terminal.stray = None;
        }
        error
    }

    /// Whether an answer to the question that counts as asked has to wait. With a patience it has
    /// waited before, and does not longer than until then.
    fn answer_delay(&mut self, patience: Option<Duration>, now: Duration) -> AnswerDelay {
        let reader = self.input_reader(now);
        let AgentReader::Terminal(terminal) = &self.reader else { return AnswerDelay::None };
        let asked_at = terminal.question.as_ref().map(|asked| asked.since);
        let settled_at = asked_at.map(|asked_at| asked_at + answer::QUESTION_SETTLE_TIME);
        if let Some(due) = settled_at.filter(|due| *due > now) {
            return AnswerDelay::Until { due, patience };
        }
        let until = |due: Duration, look: Duration, error: AnswerError| {
            let until = patience.unwrap_or(due);
            if until <= now {
                return AnswerDelay::Refused(error);
            }
            AnswerDelay::Until { due: until.min(look), patience: Some(until) }
        };
        if let Some(process) = self.pane.stopped_reader() {
            let error = AnswerError::Stopped(process);
            let (due, look) = (now + answer::STOPPED_PATIENCE, now + answer::STOPPED_LOOK_TIME);
            return until(due, look, error);
        }
        // What is typed while it does something else is read by what it asks next.
        match reader {
            InputReader::MayRead => {}
            InputReader::Busy => {
                return AnswerDelay::Until { due: now + READER_LOOK_TIME, patience };
            }
            InputReader::Nobody => return AnswerDelay::Refused(AnswerError::Unattended),
        }
        // A person may have answered it.
        let given = terminal.keyboard.given.filter(|at| asked_at.is_some_and(|asked| *at >= asked));
        let taken = given.map(|at| at + answer::PERSON_ANSWER_TIME).filter(|due| *due > now);
        if let Some(due) = taken {
            return until(due, due, AnswerError::Stale);
        }
        // Another question may be there for less time than it takes to count.
        if !terminal.sniffer.shows_question() {
            let due = now + answer::QUESTION_HIDDEN_TIME;
            return until(due, due, AnswerError::Stale);
        }
        AnswerDelay::None
    }

    /// Goes on with an answer that another process began to type.
    fn resume_answer(
        &mut self,
        answer: GivenAnswer,
        verdict: &AgentVerdict,
        reply: AnswerReply,
        snapshot: &ScreenSnapshot,
    ) {
        let now = self.now();
        let GivenAnswer { digest, action, name, typed } = answer;
        let AgentReader::Terminal(terminal) = &self.reader else { return };
        // What was typed into a line changes what is asked, and waits there for its end.
        let leftover = terminal.keyboard.line.leftover().filter(|_| self.collects_lines());
        let awaits = verdict.state == AgentState::Awaiting || leftover.is_some();
        let keys = match action {
            AnswerAction::Text(text) if leftover == Some(&*text) => {
                return self.submit_leftover(name.as_deref(), digest, reply);
            }
            AnswerAction::Text(_) if typed >= TEXT_PIECES => {
                Ok(KeySequence::submitted(digest, now))
            }
            AnswerAction::Text(text) if awaits => {
                let name = name.map(InputName::Answer);
                let message = Message { name, typed: true, ..Message::new(text) };
                return self.type_answer(message, reply, now);
            }
            action => self.keys_of(action, &verdict.evidence.rule).and_then(|keys| {
                if typed >= keys.len() {
                    Ok(KeySequence::submitted(digest, now))
                } else if leftover.is_some()
                    || verdict.digest.as_ref() == Some(&digest)
                    || (awaits && keys.stand_in(&CursorLine::of(snapshot).line, typed))
                {
                    Ok(keys.resumed(name, typed))
                } else if awaits {
                    // The next key would be for something that nobody has seen.
                    Err(AnswerError::Unfinished)
                } else {
                    Err(AnswerError::Stale)
                }
            }),
        };
        match keys {
            Err(error) => reply.end(Err(error)),
            Ok(keys) => {
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    terminal.keyboard.line.forget_leftover();
                }
                self.press(keys, reply, snapshot);
            }
        }
    }

    /// Submits an answer that another process typed into a line.
    fn submit_leftover(&mut self, name: Option<&str>, digest: ContentDigest, reply: AnswerReply) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let modes = terminal.screen.key_modes();
        terminal.keyboard.line.clear();
        let keys = KeySequence::submitted(digest, now + answer::QUESTION_SETTLE_TIME);
        terminal.answer = PendingAnswer::Pressing(keys, reply);
        terminal.wake_at(now + answer::QUESTION_SETTLE_TIME);
        if let Some(name) = name {
            drop(self.pane.mark(&answers(name)));
        }
        let submit = submit_keys(&self.adapter.config().keys.submit);
        let bytes: Vec<u8> = submit.iter().flat_map(|key| key.encode(modes)).collect();
        self.write_input(&bytes, bytes.len());
    }

    /// The keys of an answer that is nothing but keys. What others came to shows on the screen alone.
    fn keys_of(&self, action: AnswerAction, rule: &str) -> Result<KeySequence, AnswerError> {
        match action {
            AnswerAction::Choose(choice) => {
                answer::keys_for(self.adapter.config(), rule, choice).map(KeySequence::new)
            }
            AnswerAction::Keys(keys) => Ok(KeySequence::new(keys)),
            AnswerAction::Exact(keys) => Ok(KeySequence::at_once(keys)),
            AnswerAction::Text(_) | AnswerAction::Secret(_) => Err(AnswerError::Stale),
            // Where the mark stands now, and whether Enter was pressed there, nobody has seen.
            AnswerAction::Entry { .. } => Err(AnswerError::Unfinished),
        }
    }

    /// Begins to press keys.
    fn press(&mut self, keys: KeySequence, reply: AnswerReply, snapshot: &ScreenSnapshot) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(AnswerError::Ended));
        };
        terminal.answer = PendingAnswer::Pressing(keys, reply);
        self.press_keys(snapshot, now);
    }

    /// Types a secret, and submits it when the program has had time to take it.
    fn type_secret(&mut self, text: &str, asked: QuestionSight, reply: AnswerReply) {
        let (now, collects_lines) = (self.now(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let modes = terminal.screen.key_modes();
        let bytes = match paste(text, modes) {
            Ok(bytes) => bytes,
            Err(error) => {
                let error = DeliveryError::Untypable(error.to_string());
                return reply.end(Err(error.into()));
            }
        };
        if std::mem::take(&mut terminal.has_secret_leftover) && !collects_lines {
            // Behind that it would be another secret. The terminal deletes no line here; the program,
            // or one behind it, does.
            self.write(&[DELETE_LINE]);
            self.flush();
        }
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let due = now + SECRET_SUBMIT_DELAY;
        let keys = submit_keys(&self.adapter.config().keys.submit);
        let keys = KeySequence::submitting(keys, asked, due);
        terminal.answer = PendingAnswer::Pressing(keys, reply);
        (terminal.typed_pieces, terminal.has_open_line) = (1, collects_lines);
        terminal.wake_at(due);
        self.redactor.add(text.to_owned());
        self.output.hide(text);
        // Whoever finds it half typed must know that it is nobody's draft.
        drop(self.pane.mark(&answers(SECRET_NAME)));
        self.write_secret(&bytes);
    }

    /// Gives an answer that was held back, if it is time to and its question still stands.
    pub(super) fn release_answer(&mut self) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let asked = terminal.sniffer.verdict().digest.clone();
        match terminal.answer.release(asked.as_ref(), now) {
            Release::None => {}
            Release::Wait(due) => terminal.wake_at(due),
            Release::Give(held) => {
                self.answer_within(held.answer, held.reply, held.patience);
                // A text begins its way with the next look.
                self.wake_at(now);
            }
        }
    }

    /// Goes on pressing the keys of an answer.
    pub(super) fn press_keys(&mut self, snapshot: &ScreenSnapshot, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let modes = terminal.screen.key_modes();
        // The next key is for what the screen shows, which may not have lasted long enough to count.
        if terminal.answer.presses_more() {
            terminal.sniffer.settle_question(now);
        }
        let asked = terminal.sniffer.verdict().digest.clone();
        let shown = match &asked {
            Some(asked) if terminal.sniffer.question_is_repeated() => ShownQuestion::Again(asked),
            asked => ShownQuestion::Asked(asked.as_ref()),
        };
        let is_anew = terminal.answer.is_keys() && terminal.is_repainted;
        let presses_more = terminal.answer.presses_more();
        let reader = if presses_more { self.input_reader(now) } else { InputReader::MayRead };
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let mut effects = Vec::new();
        match reader {
            InputReader::MayRead => effects = terminal.answer.select(terminal.sniffer.menu(), now),
            InputReader::Busy => terminal.wake_at(now + READER_LOOK_TIME),
            InputReader::Nobody => effects = terminal.answer.give_up_selection(),
        }
        let sight = self.sight(snapshot, reader);
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        effects.extend(terminal.answer.feed(snapshot.hash(), shown, &sight, now));
        let mut pressed = 0;
        for effect in effects {
            match effect {
                AnswerEffect::Type(text, name, reply) => {
                    let name = name.map(InputName::Answer);
                    self.type_answer(Message { name, ..Message::new(text) }, reply, now);
                }
                AnswerEffect::Note(note) => drop(self.pane.mark(&note)),
                AnswerEffect::Press(key) => {
                    let printed = self.output.offset();
                    if let AgentReader::Terminal(terminal) = &mut self.reader {
                        terminal.pressed_at = printed;
                        terminal.is_repainted = false;
                    }
                    let bytes = key.encode(modes);
                    pressed += bytes.len();
                    self.write_input(&bytes, pressed);
                }
                AnswerEffect::Wake(due) => self.wake_at(due),
                AnswerEffect::Ended(reply, mut result) => {
                    if is_anew && result == Err(AnswerError::StillAsked) {
                        result = Err(AnswerError::AskedAnew);
                    }
                    self.input_ended(TypedInput::Answer(reply, result));
                }
            }
        }
    }

    /// A person types: an answer of which keys are still to be pressed is given up. What they would be
    /// for when they come, nobody knows. A secret that only has to be submitted is, before what the
    /// person types.
    pub(super) fn give_up_answer(&mut self) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        if !terminal.answer.presses_more() || terminal.answer.is_typed() {
            return;
        }
        let pressed = terminal.typed_pieces > 0;
        if let Some(reply) = terminal.answer.abandon() {
            let error = AnswerError::Interrupted { pressed };
            self.input_ended(TypedInput::Answer(reply, Err(error)));
        }
    }

    /// What tells the question on the screen from the next one.
    fn sight(&self, snapshot: &ScreenSnapshot, reader: InputReader) -> QuestionSight {
        let collects_lines = self.collects_lines();
        let CursorLine { row, line, .. } = CursorLine::of(snapshot);
        let AgentReader::Terminal(terminal) = &self.reader else { return QuestionSight::default() };
        let words = terminal.sniffer.asked_words();
        let asked_row = terminal.sniffer.asked_row();
        let screen = bare_words(snapshot.lines().map(|line| line.text));
        let scrolled = snapshot.scrolled();
        QuestionSight { words, asked_row, row, line, screen, scrolled, collects_lines, reader }
    }

    /// Types the text that is an answer, or the rest of one.
    fn type_answer(&mut self, answer: Message, reply: AnswerReply, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(AnswerError::Ended));
        };
        terminal.deliveries.push_answer(answer, MessageSource::Answer(reply), now);
        terminal.wake_at(now);
    }

    /// A question that is answered must have been told.
    fn tell_question(&mut self, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        if let Some(asked) = terminal.question.as_mut().filter(|asked| !asked.is_told()) {
            asked.hurry(now);
            self.report();
        }
    }

    /// An answer is over. What is asked now is another question, and is reported as one.
    pub(super) fn forget_answered(&mut self) {
        if let AgentReader::Terminal(terminal) = &mut self.reader
            && let Some(asked) = &mut terminal.question
        {
            asked.end();
        }
    }
}
