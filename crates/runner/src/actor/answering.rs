//! Answers on their way to an agent: bound to what it shows, one key at a time.

use std::time::Duration;

use coven_model::Digest;
use coven_terminal::snapshot::Snapshot;

use super::eyes::{Eyes, Held, Source};
use super::{Actor, Answered};
use crate::answer::{self, Action, AnswerError, Press, Pressing};
use crate::delivery::Delivery;

/// How many reads empty a pane before an answer. A flood is not waited for.
const DRAIN: usize = 64;

impl Actor {
    /// Answers a question, if exactly that is on the screen at this very moment.
    pub(super) fn answer(&mut self, digest: &Digest, action: Action, reply: Answered) {
        // Everything the agent has printed so far counts.
        for _ in 0..DRAIN {
            self.read();
            if !self.more {
                break;
            }
        }
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else {
            let _ = reply.send(Err(AnswerError::Ended));
            return;
        };
        if terminal.pressing.is_some() || terminal.held.is_some() {
            let _ = reply.send(Err(AnswerError::Stale));
            return;
        }
        let snapshot = terminal.look(now);
        let verdict = terminal.sniffer.verdict().clone();
        self.report();
        if verdict.digest.as_ref() != Some(digest) {
            let _ = reply.send(Err(AnswerError::Stale));
            return;
        }
        if let Some(due) = self.settles_at().filter(|due| *due > now) {
            self.hold(Held { digest: digest.clone(), action, reply, due });
            return;
        }
        let config = self.adapter.config();
        let keys = match action {
            Action::Choose(choice) => answer::keys_for(config, &verdict.evidence.rule, choice),
            Action::Keys(keys) => Ok(keys),
            Action::Text(text) => {
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    let id = terminal.message_id();
                    let delivery = Delivery::answer(id, text, now);
                    terminal.deliveries.push_front((delivery, Source::Answer(reply)));
                }
                return;
            }
        };
        match keys {
            Err(error) => drop(reply.send(Err(error))),
            Ok(keys) => {
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    terminal.pressing = Some((Pressing::new(keys), reply));
                }
                self.press(&snapshot);
            }
        }
    }

    /// When the question that is asked will have settled.
    pub(super) fn settles_at(&self) -> Option<Duration> {
        let Eyes::Terminal(terminal) = &self.eyes else { return None };
        terminal.question.as_ref().map(|asked| asked.since + answer::SETTLED)
    }

    pub(super) fn hold(&mut self, held: Held) {
        self.wake(held.due);
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.held = Some(held);
        }
    }

    /// Gives an answer that was held back, if it is time to and its question still stands.
    pub(super) fn release(&mut self) {
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let asked = terminal.sniffer.verdict().digest.clone();
        let due = |held: &mut Held| held.due <= now || asked.as_ref() != Some(&held.digest);
        if let Some(held) = terminal.held.take_if(due) {
            self.answer(&held.digest, held.action, held.reply);
            // A text begins its way with the next look.
            self.wake(now);
        } else if let Some(held) = &terminal.held {
            let due = held.due;
            self.wake(due);
        }
    }

    /// Presses the next key of an answer.
    pub(super) fn press(&mut self, snapshot: &Snapshot) {
        let now = self.now();
        loop {
            let Eyes::Terminal(terminal) = &mut self.eyes else { return };
            let Some((pressing, _)) = &mut terminal.pressing else { return };
            let modes = terminal.screen.key_modes();
            match pressing.step(snapshot.hash(), now) {
                Press::Key(key) => self.write(&key.encode(modes)),
                Press::Wait(due) => {
                    self.wake(due);
                    return;
                }
                Press::Done => {
                    self.answered(Ok(()));
                    return;
                }
                Press::Failed(error) => {
                    self.answered(Err(error));
                    return;
                }
            }
        }
    }

    pub(super) fn answered(&mut self, result: Result<(), AnswerError>) {
        if let Eyes::Terminal(terminal) = &mut self.eyes
            && let Some((_, reply)) = terminal.pressing.take()
        {
            let _ = reply.send(result);
        }
    }
}
