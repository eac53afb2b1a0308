//! The slots in use, and which of them want a turn: those that are ready, those left over from
//! the last turn, and those that cannot say when they are ready.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::poller::PanePoller;
use crate::execution::{DriverTurn, ExecutionId, ExecutionIoDriver};
use crate::slot::{SlotCapture, SlotReading, TerminalSlot};

pub(super) struct PaneTable {
    slots: BTreeMap<ExecutionId, TerminalSlot>,
    driver: ExecutionIoDriver,
    poller: PanePoller,
    /// Have more to read, or were told to stop: they get a turn whatever the poller says.
    again: BTreeSet<ExecutionId>,
    /// Have no descriptor to watch, so they get every turn.
    unwatched: BTreeSet<ExecutionId>,
}

impl PaneTable {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            slots: BTreeMap::new(),
            driver: ExecutionIoDriver::new(),
            poller: PanePoller::new()?,
            again: BTreeSet::new(),
            unwatched: BTreeSet::new(),
        })
    }

    pub(super) fn slot(&self, id: ExecutionId) -> Option<&TerminalSlot> {
        self.slots.get(&id)
    }

    pub(super) fn slot_mut(&mut self, id: ExecutionId) -> Option<&mut TerminalSlot> {
        self.slots.get_mut(&id)
    }

    /// Takes a slot and watches its pane. With an error it is taken and not watched.
    pub(super) fn insert(&mut self, slot: TerminalSlot) -> io::Result<()> {
        let id = slot.execution();
        let watched = if let Some(descriptor) = slot.pane.readiness() {
            self.poller.add(descriptor, id)
        } else {
            self.unwatched.insert(id);
            Ok(())
        };
        self.slots.insert(id, slot);
        watched
    }

    /// Lets go of a slot and its pane.
    pub(super) fn remove(&mut self, id: ExecutionId) -> Option<SlotCapture> {
        self.unwatch(id);
        self.again.remove(&id);
        self.slots.remove(&id).map(TerminalSlot::close)
    }

    /// A pane that cannot be read must not be watched either: it would be ready all the time.
    pub(super) fn give_up_reading(&mut self, id: ExecutionId) {
        self.unwatch(id);
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.reading = SlotReading::Broken;
        }
    }

    fn unwatch(&mut self, id: ExecutionId) {
        if !self.unwatched.remove(&id)
            && let Some(descriptor) = self.slots.get(&id).and_then(|slot| slot.pane.readiness())
        {
            self.poller.remove(descriptor);
        }
    }

    /// This one gets the next turn in any case.
    pub(super) fn turn_again(&mut self, id: ExecutionId) {
        self.again.insert(id);
    }

    /// Who gets a turn now.
    pub(super) fn due(&mut self) -> (BTreeSet<ExecutionId>, Option<io::Error>) {
        let mut due = std::mem::take(&mut self.again);
        due.extend(&self.unwatched);
        match self.poller.ready() {
            Ok(ready) => {
                due.extend(ready);
                (due, None)
            }
            Err(error) => (due, Some(error)),
        }
    }

    /// One turn of writing and reading, unless the pane is broken.
    pub(super) fn exchange(&mut self, id: ExecutionId) -> Option<DriverTurn> {
        let slot = self.slots.get_mut(&id).filter(|slot| slot.reading != SlotReading::Broken)?;
        Some(self.driver.poll(slot))
    }

    pub(super) fn want_a_turn(&self) -> bool {
        !self.again.is_empty() || !self.unwatched.is_empty()
    }

    pub(super) fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        self.poller.wait(limit)
    }
}

impl AsFd for PaneTable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}
