//! Interrupting an agent. Before its terminal is up, Ctrl+C there is a signal to a program that does
//! not handle it yet, and other keys are lost.

use std::time::Duration;

use coven_adapters::adapter::keys;
use coven_model::AgentState;
use coven_terminal::keys::{KeyCode, KeyModifiers, KeyPress};

use super::RunnerActor;
use super::handle::DeliveryReply;
use super::reader::{AgentReader, PromptAge};
use crate::delivery::DeliveryError;

/// How long an interrupt waits for an agent to start: less than a client waits for an answer.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long between two keys that must not become one: programs wait a moment after Escape.
const KEY_INTERVAL: Duration = Duration::from_millis(80);

/// Interrupts that wait for the agent to start.
#[derive(Debug, Default)]
pub(super) struct WaitingInterrupts {
    replies: Vec<DeliveryReply>,
    due: Option<Duration>,
}

impl WaitingInterrupts {
    /// Gives up all of them.
    pub(super) fn fail(&mut self, error: &DeliveryError) {
        self.due = None;
        for reply in self.replies.drain(..) {
            reply.end(Err(error.clone()));
        }
    }
}

impl RunnerActor {
    /// Interrupts what the agent does, as soon as it has started.
    pub(super) fn interrupt_when_started(&mut self, reply: DeliveryReply) {
        let now = self.now();
        if keys(&self.adapter.config().keys.interrupt).is_empty() {
            return reply.end(Err(DeliveryError::NoInterrupt));
        }
        let AgentReader::Terminal(terminal) = &mut self.reader else {
            return reply.end(Err(DeliveryError::Ended));
        };
        terminal.interrupts.replies.push(reply);
        let due = *terminal.interrupts.due.get_or_insert(now + INTERRUPT_TIMEOUT);
        terminal.wake_at(due);
        self.release_interrupts();
    }

    /// Does what waited for the agent to start, or gives it up.
    pub(super) fn release_interrupts(&mut self) {
        let (now, is_starting) = (self.now(), self.is_starting());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let Some(due) = terminal.interrupts.due else { return };
        if is_starting {
            if due <= now {
                terminal.interrupts.fail(&DeliveryError::Starting);
            }
            return;
        }
        let waiting = std::mem::take(&mut terminal.interrupts);
        self.interrupt();
        for reply in waiting.replies {
            reply.end(Ok(()));
        }
    }

    /// Whether the agent has not shown its terminal yet. Of one whose screen nobody knows it is not
    /// known how long it takes; where its terminal still makes a signal of Ctrl+C, it may be starting.
    fn is_starting(&self) -> bool {
        let AgentReader::Terminal(terminal) = &self.reader else { return false };
        let is_signal = || {
            let interrupt = KeyPress::new(KeyCode::Char('c'), KeyModifiers::CTRL).ok();
            let keys = keys(&self.adapter.config().keys.interrupt);
            self.collects_lines() && keys.iter().any(|key| Some(key) == interrupt.as_ref())
        };
        match terminal.sniffer.verdict().state {
            AgentState::Starting => true,
            AgentState::Unknown => {
                terminal.prompt == PromptAge::Starting
                    && self.now() < self.adapter.config().start_bound()
                    && is_signal()
            }
            _ => false,
        }
    }

    fn interrupt(&mut self) {
        let mut due = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        terminal.prompt = PromptAge::Interrupted;
        let modes = terminal.screen.key_modes();
        for key in keys(&self.adapter.config().keys.interrupt) {
            self.input.schedule(due, key.encode(modes));
            due += KEY_INTERVAL;
        }
        self.write_due();
    }
}
