//! What is due by the clock in a conversation: a person hears of an agent that does not begin, and
//! one that has closed its output is ended.

use std::time::Duration;

use coven_adapters::channel::ChannelPhase;

use super::reader::{ChannelFailure, ChannelReader, last_line};

/// How long a process may live on that has closed its output.
pub(super) const CLOSED_TIMEOUT: Duration = Duration::from_secs(5);

/// What an agent should have done by now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// It has not agreed to a conversation, which a person reads so. Told once.
    Start(Vec<String>),
    /// It has closed its output, and can not go on.
    End,
}

impl ChannelReader {
    /// Looks at the clock. `has_closed`: its process lives, and nothing more of it can be read.
    /// `bound` is how long it may take to agree to a conversation.
    pub(super) fn overdue(
        &mut self,
        now: Duration,
        has_closed: bool,
        bound: Duration,
    ) -> Option<Overdue> {
        let state = self.codec.state();
        if state.phase == ChannelPhase::Starting && !self.is_late && now >= bound {
            self.is_late = true;
            let complaint = last_line(&self.complaint).map(str::to_owned);
            let lines = [Some(not_agreed(&state.message)), complaint];
            return Some(Overdue::Start(lines.into_iter().flatten().collect()));
        }
        if has_closed {
            let since = *self.closed.get_or_insert(now);
            if now >= since + CLOSED_TIMEOUT && self.is_unheard() {
                let reason = "the agent closed its output and did not end";
                self.failure = Some(ChannelFailure::new(reason));
                return Some(Overdue::End);
            }
        }
        None
    }

    /// When to look next.
    pub(super) fn overdue_at(&self, bound: Duration) -> Option<Duration> {
        let is_starting = self.codec.state().phase == ChannelPhase::Starting;
        let start = (is_starting && !self.is_late).then_some(bound);
        let closed = self.closed.map(|since| since + CLOSED_TIMEOUT);
        [start, closed.filter(|_| self.is_unheard())].into_iter().flatten().min()
    }
}

/// Why a person hears of an agent that does not begin, with the message that it has not answered.
fn not_agreed(message: &str) -> String {
    let waits = "the agent has not agreed to a conversation";
    if message.is_empty() { waits.to_owned() } else { format!("{waits} ({message})") }
}
