//! The scheduler's dealings with running panes: giving them turns, noticing their ends, and doing
//! to them what the board says.

use std::io;
use std::time::Duration;

use coven_terminal::screen::GridSize;

use super::{BoardEffect, Completion, EndedCommand, Error, IllegalTransition, Scheduler};
use crate::clock::Moment;
use crate::execution::{DriverFlow, ExecutionId};
use crate::slot::SlotReading;

impl Scheduler {
    /// Does what is due: approvals that were not given, processes that did not end, ends of output
    /// that did not come.
    pub fn advance(&mut self, now: Moment) {
        let effects = self.board.advance(now);
        self.act(effects);
    }

    /// Gives a turn to every pane that is ready, and returns the commands that ended.
    pub fn poll_executions(&mut self, now: Moment) -> Vec<Completion> {
        self.turn(now);
        std::mem::take(&mut self.report.completions)
    }

    /// As [`Scheduler::poll_executions`], with the result kept for the report.
    pub(crate) fn turn(&mut self, now: Moment) {
        let (due, error) = self.panes.due();
        self.report.errors.extend(error.map(Error::Wait));
        for execution in due {
            self.look(execution, now);
        }
    }

    /// Gives one execution a turn, ready or not, and returns its end if that is news.
    pub fn check_execution_completion(
        &mut self,
        execution: ExecutionId,
        now: Moment,
    ) -> Result<Option<Completion>, IllegalTransition> {
        if self.board.execution(execution).is_none() {
            return Err(IllegalTransition::NoSuchExecution(execution));
        }
        self.look(execution, now);
        let completions = &mut self.report.completions;
        let position = completions.iter().position(|done| done.execution == Some(execution));
        Ok(position.map(|position| completions.remove(position)))
    }

    /// Gives every execution a turn, ready or not, and returns the commands that ended. The cost
    /// follows the number of panes; [`Scheduler::poll_executions`] is for every day.
    pub fn check_all_completions(&mut self, now: Moment) -> Vec<Completion> {
        let live: Vec<_> = self.board.live().collect();
        for execution in live {
            self.look(execution, now);
        }
        std::mem::take(&mut self.report.completions)
    }

    /// Waits until a pane is ready, or for this long.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        self.panes.wait(limit)
    }

    /// Writes to a program, or keeps what it does not take now for later: all of it, or with an
    /// error nothing.
    pub fn send(&mut self, id: ExecutionId, bytes: &[u8]) -> Result<(), Error> {
        let sent = self.slot_mut(id)?.send(bytes);
        sent.map_err(|source| Error::Pane { execution: id, what: "writing to it", source })
    }

    /// Lets a program read an end of file after what was sent so far.
    pub fn close_input(&mut self, id: ExecutionId) -> Result<(), Error> {
        let closed = self.slot_mut(id)?.close_input();
        closed.map_err(|source| Error::Pane { execution: id, what: "closing its input", source })
    }

    /// Changes the size of a program's terminal and of its screen.
    pub fn resize(&mut self, id: ExecutionId, size: GridSize) -> Result<(), Error> {
        let resized = self.slot_mut(id)?.resize(size);
        resized.map_err(|source| Error::Pane { execution: id, what: "resizing it", source })
    }

    /// One turn for one execution: reads, and notices that the process is gone.
    ///
    /// It is asked whether it lives before it is read: what is read after its end is all there is,
    /// and what a pane takes in while it answers is not left lying until something else happens.
    fn look(&mut self, id: ExecutionId, now: Moment) {
        let Some(slot) = self.panes.slot_mut(id) else { return };
        let lives = slot.pane.is_alive();
        self.exchange(id, now);
        let Some(slot) = self.panes.slot_mut(id) else { return };
        let is_read = slot.reading != SlotReading::Open;
        if lives && (!is_read || slot.pane.is_alive()) {
            return;
        }
        let exit = slot.pane.exit_status();
        // That it is gone may be known already, while its output was not read to the end.
        self.board.exited(id, exit, now).ok();
        if is_read && let Ok(effects) = self.board.drained(id, now) {
            self.act(effects);
        }
    }

    fn exchange(&mut self, id: ExecutionId, now: Moment) {
        let Some(turn) = self.panes.exchange(id) else { return };
        if turn.read > 0 {
            self.report.active.insert(id);
        }
        if let Some(source) = turn.refused {
            self.report.errors.push(Error::Pane { execution: id, what: "writing to it", source });
        }
        match turn.flow {
            DriverFlow::Pending | DriverFlow::End => {}
            DriverFlow::More => self.panes.turn_again(id),
            DriverFlow::Broken(error) => {
                let broken = self.break_pane(id, "reading it", error, now);
                self.report.errors.extend(broken.err().map(Error::from));
            }
        }
    }

    /// Gives up on a pane: its process is ended and the execution fails.
    pub(super) fn break_pane(
        &mut self,
        id: ExecutionId,
        what: &'static str,
        source: io::Error,
        now: Moment,
    ) -> Result<(), IllegalTransition> {
        self.panes.give_up_reading(id);
        let effects = self.board.broken(id, format!("{what}: {source}"), now)?;
        self.report.errors.push(Error::Pane { execution: id, what, source });
        self.act(effects);
        Ok(())
    }

    /// Does to the world what the board says.
    pub(super) fn act(&mut self, effects: Vec<BoardEffect>) {
        for effect in effects {
            match effect {
                BoardEffect::TimedOut(approval) => self.report.approval_timeouts.push(approval),
                BoardEffect::Stop { execution, stop } => {
                    let Some(slot) = self.panes.slot_mut(execution) else { continue };
                    if let Err(source) = slot.pane.stop(stop) {
                        let what = "stopping it";
                        self.report.errors.push(Error::Pane { execution, what, source });
                    }
                    self.panes.turn_again(execution);
                }
                BoardEffect::Ended(ended) => self.complete(ended),
            }
        }
    }

    fn complete(&mut self, EndedCommand { command, execution, outcome }: EndedCommand) {
        let capture = execution.and_then(|execution| self.panes.remove(execution));
        let metadata = self.commands.remove(&command).map(|command| command.metadata);
        self.report.completions.push(Completion {
            command,
            execution,
            outcome,
            capture,
            metadata: metadata.unwrap_or_default(),
        });
        self.replan = true;
    }
}
