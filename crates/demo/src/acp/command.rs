//! The command of a turn: it runs in a process group of its own, so that it can be ended without
//! the agent, and ends when a signal ends the agent.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::job::{ProcessGroup, RunningCommand};
use crate::signals::EndingWatch;

/// Starts and ends commands, none of which outlives this process.
pub(super) struct CommandGuard {
    /// The process group of the command that is running.
    group: Arc<Mutex<Option<Pid>>>,
    _ending: EndingWatch,
}

impl CommandGuard {
    pub(super) fn new() -> io::Result<Self> {
        let group = Arc::new(Mutex::new(None));
        let ending = EndingWatch::start({
            let group = Arc::clone(&group);
            move || {
                if let Some(group) = group.lock().take() {
                    // It may have ended by itself.
                    kill_process_group(group, Signal::KILL).ok();
                }
            }
        })?;
        Ok(Self { group, _ending: ending })
    }

    /// Starts a command. No signal comes between its start and its being known.
    pub(super) fn start(&self, folder: &Path, command: &str) -> io::Result<RunningCommand> {
        let mut group = self.group.lock();
        let running = RunningCommand::start_in(folder, command, ProcessGroup::Own)?;
        *group = running.own_group();
        Ok(running)
    }

    /// Ends the command, if it has not ended.
    pub(super) fn end(&self, command: RunningCommand) {
        let mut group = self.group.lock();
        drop(command);
        *group = None;
    }
}
