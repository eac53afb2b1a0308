//! What a runtime is to be like.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coven_terminal::screen::GridSize;

use crate::clock::{SchedulerClock, SystemClock};
use crate::scheduler::{BoardLimits, Options};

/// How many agents there may be and how many commands may run at a time.
const AGENTS: usize = 8;

/// How many commands may wait. Each is looked at when an agent becomes idle, so a queue without
/// bound would make a caller that queues faster than commands end slower and slower.
const QUEUE: usize = 10_000;

/// How long a process may take to end by itself: agent CLIs save their session first, which was
/// seen to take seconds.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// How long the end of the output may take after the process is gone. It is on its way already; a
/// loaded machine needs a moment.
const DRAIN_GRACE: Duration = Duration::from_secs(10);

/// How much of each stream is kept in memory: enough to show what went wrong and four turns behind
/// for a reader. The tape has the rest.
const KEEP: usize = 256 * 1024;

/// How a runtime behaves.
#[derive(Clone)]
pub struct RuntimeConfig {
    /// How many agents there may be at a time.
    pub max_agents: usize,
    /// How many commands may run at a time; as many as agents for none.
    pub slots: Option<usize>,
    /// How many commands may wait for an agent at a time; one more is refused.
    pub max_queue: usize,
    /// Whether a tick gives commands to agents.
    pub auto_assign: bool,
    /// Whether a tick begins what agents have.
    pub auto_execute: bool,
    /// How long a cancelled process may take to end before it is ended by force.
    pub stop_grace: Duration,
    /// How long the end of its output may take to come after a process has ended.
    pub drain_grace: Duration,
    /// How many bytes of each stream are kept in memory. Below 64 KiB a reader that
    /// asks after each tick may miss some.
    pub output_limit: usize,
    /// The size of a terminal unless a command asks for another.
    pub size: GridSize,
    /// What time it is.
    pub clock: Arc<dyn SchedulerClock>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            max_agents: AGENTS,
            slots: None,
            max_queue: QUEUE,
            auto_assign: true,
            auto_execute: true,
            stop_grace: STOP_GRACE,
            drain_grace: DRAIN_GRACE,
            output_limit: KEEP,
            size: GridSize::default(),
            clock: Arc::new(SystemClock::new()),
        }
    }
}

impl RuntimeConfig {
    pub(super) fn scheduler(&self) -> Options {
        Options {
            limits: BoardLimits {
                agents: self.max_agents,
                slots: self.slots.unwrap_or(self.max_agents),
                queue: Some(self.max_queue),
                stop_grace: self.stop_grace,
                drain_grace: self.drain_grace,
            },
            size: self.size,
            keep: self.output_limit,
        }
    }
}

impl fmt::Debug for RuntimeConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RuntimeConfig")
            .field("max_agents", &self.max_agents)
            .field("slots", &self.slots)
            .field("max_queue", &self.max_queue)
            .field("auto_assign", &self.auto_assign)
            .field("auto_execute", &self.auto_execute)
            .field("stop_grace", &self.stop_grace)
            .field("drain_grace", &self.drain_grace)
            .field("output_limit", &self.output_limit)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
