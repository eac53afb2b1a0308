//! Driving a runtime from tokio: one descriptor and one deadline, nothing else to wait for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use coven_runtime::readiness::watch;
use tokio::io::unix::AsyncFd;

use crate::agent_runtime::AgentRuntime;
use crate::scheduler::TickResult;

/// Waits for a runtime on a tokio reactor. One driver belongs to one runtime.
#[derive(Debug)]
pub struct SchedulerDriver {
    descriptor: AsyncFd<OwnedFd>,
}

impl SchedulerDriver {
    /// A driver for this runtime. Must be called within a tokio runtime that has I/O and time.
    pub fn new(runtime: &AgentRuntime) -> io::Result<Self> {
        let descriptor = runtime.as_fd().try_clone_to_owned()?;
        Ok(Self { descriptor: watch(descriptor)? })
    }

    /// Waits until the runtime has something to do, then lets it do it. Cancelling the wait loses
    /// nothing.
    pub async fn tick(&self, runtime: &mut AgentRuntime) -> io::Result<TickResult> {
        let wait = runtime.time_to_next_deadline();
        // Readiness is taken back before the tick, so that what comes during it is seen next time.
        match wait {
            Some(wait) if wait.is_zero() => {}
            Some(wait) => {
                if let Ok(ready) = tokio::time::timeout(wait, self.descriptor.readable()).await {
                    ready?.clear_ready();
                }
            }
            None => self.descriptor.readable().await?.clear_ready(),
        }
        Ok(runtime.tick())
    }
}
