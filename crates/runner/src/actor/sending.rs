//! Messages on their way to an agent, and the queue of a task.

use std::time::Duration;

use coven_adapters::adapter::keys;
use coven_model::AgentState;
use coven_terminal::keys::{Key, paste, text};
use coven_terminal::snapshot::Snapshot;

use super::Actor;
use super::eyes::{Eyes, Fresh, Source};
use crate::answer::AnswerError;
use crate::delivery::{Delivery, DeliveryError, Message, Sight, Stage, Step, needle, squeeze};
use crate::event::Event;
use crate::outcome::{self, Cause};

/// How long an idle agent that was given a prompt at its start may show no work before its queue
/// goes on all the same: some lose a prompt behind a dialog.
const LOST_PROMPT: Duration = Duration::from_secs(15);

impl Actor {
    pub(super) fn deliver(&mut self, message: Message, source: Source) {
        let now = self.now();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            let id = terminal.message_id();
            terminal.deliveries.push_back((Delivery::new(id, message, now), source));
        }
    }

    /// Takes the message at the head of the queue a step further.
    pub(super) fn step_delivery(&mut self, snapshot: &Snapshot) {
        let now = self.now();
        let screen = squeeze(&snapshot.text());
        let (line, prompt) = prompt_of(snapshot);
        loop {
            let written = self.unsent.is_empty();
            let Eyes::Terminal(terminal) = &mut self.eyes else { return };
            if terminal.pressing.is_some() {
                return;
            }
            let sight = Sight {
                state: terminal.sniffer.verdict().state,
                fresh: match terminal.fresh {
                    Fresh::Idle(since) => Some(since),
                    Fresh::Starting | Fresh::Interrupted | Fresh::No => None,
                },
                leftover: !terminal.submitted.trim().is_empty()
                    && line.contains(&needle(&terminal.submitted)),
                screen: &screen,
                prompt: &prompt,
                worked: std::mem::take(&mut terminal.fresh_work),
                written,
            };
            let Some((delivery, _)) = terminal.deliveries.front_mut() else { return };
            let (id, before) = (delivery.id, delivery.stage());
            let step = delivery.step(&sight, now);
            let stage = delivery.stage();
            for stage in Stage::EVERY.into_iter().filter(|each| *each > before && *each <= stage) {
                self.tell(Event::Delivery { id, stage });
            }
            match step {
                Step::Wait(due) => {
                    self.wake(due);
                    return;
                }
                Step::Clear => {
                    self.clear();
                    return;
                }
                Step::Type => {
                    if let Err(error) = self.type_message() {
                        self.delivered(Err(error));
                        continue;
                    }
                    return;
                }
                Step::Submit => {
                    self.submit();
                    return;
                }
                Step::Done => self.delivered(Ok(())),
                Step::Failed(error) => self.delivered(Err(error)),
            }
        }
    }

    pub(super) fn type_message(&mut self) -> Result<(), DeliveryError> {
        let untypable = |error: String| DeliveryError::Untypable(error);
        let Eyes::Terminal(terminal) = &self.eyes else { return Err(DeliveryError::Ended) };
        let Some((delivery, _)) = terminal.deliveries.front() else { return Ok(()) };
        let message = &delivery.message.text;
        let modes = terminal.screen.key_modes();
        // A command of the program is typed, because menus open at keys and not at pastes.
        let by_paste = modes.bracketed_paste && !message.starts_with('/');
        let bytes = if by_paste {
            paste(message, modes).map_err(|error| untypable(error.to_string()))?
        } else if message.contains(['\n', '\r']) {
            return Err(untypable(
                "it has several lines, and the program does not take pasted text now".to_owned(),
            ));
        } else {
            text(message).map_err(|error| untypable(error.to_string()))?
        };
        self.write(&bytes);
        Ok(())
    }

    /// Deletes the message that was submitted last, which is back in the prompt.
    pub(super) fn clear(&mut self) {
        let Eyes::Terminal(terminal) = &self.eyes else { return };
        let Ok(key) = "Backspace".parse::<Key>() else { return };
        let modes = terminal.screen.key_modes();
        let presses = terminal.submitted.chars().count();
        let bytes = key.encode(modes).repeat(presses);
        self.write(&bytes);
    }

    pub(super) fn submit(&mut self) {
        let Some(modes) = self.key_modes() else { return };
        let mut submit = keys(&self.adapter.config().keys.submit);
        if submit.is_empty() {
            submit.extend("Enter".parse::<Key>());
        }
        let bytes: Vec<u8> = submit.iter().flat_map(|key| key.encode(modes)).collect();
        self.write(&bytes);
        let now = self.now();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.turn = Some(now);
            terminal.fresh = Fresh::No;
            if let Some((delivery, _)) = terminal.deliveries.front() {
                terminal.submitted.clone_from(&delivery.message.text);
            }
            terminal.fresh_work = false;
        }
    }

    pub(super) fn delivered(&mut self, result: Result<(), DeliveryError>) {
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let Some((delivery, source)) = terminal.deliveries.pop_front() else { return };
        match source {
            Source::Asked(reply) => drop(reply.send(result)),
            Source::Answer(reply) => drop(reply.send(result.map_err(AnswerError::from))),
            Source::Prompt | Source::Queue => {
                if let Err(error) = result {
                    let id = delivery.id;
                    self.task.pending_inputs.clear();
                    self.tell(Event::DeliveryFailed { id, reason: error.to_string() });
                    let mut outcome =
                        outcome::completed(self.task.keep_alive, self.session.clone());
                    outcome.ok = false;
                    outcome.reason = format!("message {id} was not delivered: {error}");
                    self.finish_task(outcome);
                }
            }
        }
    }

    /// Sends the next input of the task's queue, or finds that all are done.
    pub(super) fn next_input(&mut self) {
        let now = self.now();
        let queued = self.queue_length;
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        if queued == 0 || self.cause.is_some() || !terminal.deliveries.is_empty() {
            return;
        }
        let idle = matches!(terminal.sniffer.verdict().state, AgentState::Idle | AgentState::Error);
        if !idle || terminal.pressing.is_some() || terminal.worked {
            return;
        }
        if let Some(since) = terminal.turn {
            // The agent was given something and has not been seen to work on it.
            let idle_since = Duration::from_millis(terminal.sniffer.verdict().evidence.since);
            let due = since.max(idle_since) + LOST_PROMPT;
            if now < due {
                self.wake(due);
                return;
            }
            terminal.turn = None;
        }
        if self.task.pending_inputs.is_empty() {
            let outcome = outcome::completed(self.task.keep_alive, self.session.clone());
            self.queue_length = 0;
            self.finish_task(outcome);
            return;
        }
        let input = self.task.pending_inputs.remove(0);
        self.deliver(Message::new(input), Source::Queue);
        self.wake(now);
    }

    /// The task is done though the program has not ended.
    pub(super) fn finish_task(&mut self, outcome: coven_model::Outcome) {
        if self.task.keep_alive {
            self.complete(outcome);
        } else {
            self.finished = Some(outcome);
            self.stop(Cause::Completed);
        }
    }
}

/// What stands in the prompt: the line of the cursor, and that together with the one above it.
fn prompt_of(snapshot: &Snapshot) -> (String, String) {
    let row = usize::from(snapshot.cursor().row);
    let lines: Vec<_> = snapshot.lines().collect();
    let at = lines.iter().position(|line| line.rows.contains(&row)).unwrap_or(0);
    let near = &lines[at.saturating_sub(1)..(at + 1).min(lines.len())];
    let line = near.last().map(|line| squeeze(&line.text)).unwrap_or_default();
    (line, near.iter().map(|line| squeeze(&line.text)).collect())
}
