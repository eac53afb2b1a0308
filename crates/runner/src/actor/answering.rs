//! Answers on their way to an agent: bound to what it shows, one key at a time.

use std::time::Duration;

use coven_model::ContentDigest;
use coven_terminal::keys::paste;
use coven_terminal::snapshot::ScreenSnapshot;

use super::handle::AnswerReply;
use super::reader::{AgentReader, MessageSource};
use super::sending::submit_keys;
use super::{OutputReading, RunnerActor};
use crate::answer::{
    self, AnswerAction, AnswerEffect, AnswerError, EntrySelection, HeldAnswer, KeySequence,
    PendingAnswer, Release, ShownQuestion,
};
use crate::delivery::DeliveryError;

/// How many turns of reading empty a pane before an answer. A flood is not waited for.
const MAX_DRAIN_TURNS: usize = 64;

/// How long after a secret was typed it is submitted: programs that take keys in pieces take an
/// Enter in the same piece for a part of the text.
const SECRET_SUBMIT_DELAY: Duration = Duration::from_millis(300);

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
    pub(super) fn answer(
        &mut self,
        digest: ContentDigest,
        action: AnswerAction,
        reply: AnswerReply,
    ) {
        self.drain();
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(AnswerError::Ended));
        };
        if !terminal.answer.is_none() {
            return reply.end(Err(AnswerError::Stale));
        }
        let snapshot = terminal.look(now);
        let verdict = terminal.sniffer.verdict().clone();
        self.report();
        if verdict.digest.as_ref() != Some(&digest) {
            return reply.end(Err(AnswerError::Stale));
        }
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let asked_at = terminal.question.as_ref().map(|asked| asked.since);
        let settled_at = asked_at.map(|asked_at| asked_at + answer::QUESTION_SETTLE_TIME);
        if let Some(due) = settled_at.filter(|due| *due > now) {
            terminal.wake_at(due);
            terminal.answer = PendingAnswer::Held(HeldAnswer { digest, action, reply, due });
            return;
        }
        let config = self.adapter.config();
        let keys = match action {
            AnswerAction::Choose(choice) => {
                answer::keys_for(config, &verdict.evidence.rule, choice)
            }
            AnswerAction::Keys(keys) => Ok(keys),
            AnswerAction::Exact(keys) => {
                terminal.answer = PendingAnswer::Pressing(KeySequence::at_once(keys), reply);
                return self.press_keys(&snapshot, now);
            }
            AnswerAction::Secret(text) => return self.type_secret(&text, digest, reply),
            AnswerAction::Text(text) => {
                return terminal.deliveries.push_answer(text, MessageSource::Answer(reply), now);
            }
            AnswerAction::Entry { id, text } => {
                let keys = config.entries.as_ref().map_or(&[][..], |entries| &entries.text_keys);
                let keys = coven_adapters::adapter::keys(keys);
                let selection = EntrySelection::new(id, text, keys);
                terminal.answer = PendingAnswer::Selecting(selection, reply);
                return self.press_keys(&snapshot, now);
            }
        };
        match keys {
            Err(error) => reply.end(Err(error)),
            Ok(keys) => {
                terminal.answer = PendingAnswer::Pressing(KeySequence::new(keys), reply);
                self.press_keys(&snapshot, now);
            }
        }
    }

    /// Types a secret, and submits it when the program has had time to take it.
    fn type_secret(&mut self, text: &str, asked: ContentDigest, reply: AnswerReply) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let modes = terminal.screen.key_modes();
        let bytes = match paste(text, modes) {
            Ok(bytes) => bytes,
            Err(error) => {
                let error = DeliveryError::Untypable(error.to_string());
                return reply.end(Err(error.into()));
            }
        };
        let due = now + SECRET_SUBMIT_DELAY;
        let settled = due + answer::QUESTION_SETTLE_TIME;
        terminal.answer = PendingAnswer::Pressing(KeySequence::submitted(asked, settled), reply);
        terminal.wake_at(settled);
        self.redactor.add(text.to_owned());
        self.output.hide(text);
        self.write_secret(&bytes);
        for key in submit_keys(&self.adapter.config().keys.submit) {
            self.input.schedule(due, key.encode(modes));
        }
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
                self.answer(held.digest, held.action, held.reply);
                // A text begins its way with the next look.
                self.wake_at(now);
            }
        }
    }

    /// Goes on pressing the keys of an answer.
    pub(super) fn press_keys(&mut self, snapshot: &ScreenSnapshot, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let modes = terminal.screen.key_modes();
        let asked = terminal.sniffer.verdict().digest.clone();
        let shown = match &asked {
            Some(asked) if terminal.sniffer.question_is_repeated() => ShownQuestion::Again(asked),
            asked => ShownQuestion::Asked(asked.as_ref()),
        };
        let mut effects = terminal.answer.select(terminal.sniffer.menu(), now);
        effects.extend(terminal.answer.feed(snapshot.hash(), shown, now));
        for effect in effects {
            match effect {
                AnswerEffect::Type(text, reply) => self.type_answer(text, reply, now),
                AnswerEffect::Press(key) => self.write(&key.encode(modes)),
                AnswerEffect::Wake(due) => self.wake_at(due),
                AnswerEffect::Ended(reply, result) => {
                    self.forget_answered();
                    reply.end(result);
                }
            }
        }
    }

    /// Types the text that is the rest of an answer.
    fn type_answer(&mut self, text: String, reply: AnswerReply, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(AnswerError::Ended));
        };
        terminal.deliveries.push_answer(text, MessageSource::Answer(reply), now);
        terminal.wake_at(now);
    }

    /// An answer is over. What is asked now is another question, and is reported as one.
    pub(super) fn forget_answered(&mut self) {
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.question = None;
        }
    }
}
