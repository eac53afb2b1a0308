//! The sessions in memory, by id, and who may open which.

use std::collections::HashMap;
use std::sync::Arc;

use coven_model::SessionId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

use crate::engine::SessionController;
use crate::error::RequestError;

/// The controllers of the sessions in memory. Looking one up never waits for a session that is
/// being opened.
#[derive(Debug, Default)]
pub(super) struct Controllers {
    table: Mutex<ControllerTable>,
}

#[derive(Debug, Default)]
struct ControllerTable {
    open: HashMap<SessionId, SessionController>,
    turns: HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>,
    is_closed: bool,
}

/// The only one that may open or remove a session, as long as it lives.
#[derive(Debug)]
pub(super) struct SessionTurn {
    session: SessionId,
    _turn: OwnedMutexGuard<()>,
}

impl SessionTurn {
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }
}

impl Controllers {
    fn table(&self) -> MutexGuard<'_, ControllerTable> {
        self.table.lock()
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<SessionController> {
        self.table().open.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<SessionController> {
        self.table().open.values().cloned().collect()
    }

    fn turn_of(&self, id: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut table = self.table();
        // Only the table holds a turn that nothing waits for.
        table.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        table.turns.entry(id.clone()).or_default().clone()
    }

    /// Waits until no other task opens or removes this session.
    pub(super) async fn turn(&self, id: &SessionId) -> SessionTurn {
        let turn = self.turn_of(id).lock_owned().await;
        SessionTurn { session: id.clone(), _turn: turn }
    }

    /// The same on a thread that may wait.
    pub(super) fn turn_here(&self, id: &SessionId) -> SessionTurn {
        let turn = self.turn_of(id).blocking_lock_owned();
        SessionTurn { session: id.clone(), _turn: turn }
    }

    /// Starts a controller and takes it in, unless everything is being closed.
    pub(super) fn insert(
        &self,
        id: &SessionId,
        start: impl FnOnce() -> SessionController,
    ) -> Result<SessionController, RequestError> {
        let mut table = self.table();
        if table.is_closed {
            return Err(RequestError::Closing);
        }
        let controller = start();
        table.open.insert(id.clone(), controller.clone());
        Ok(controller)
    }

    pub(super) fn remove(&self, id: &SessionId) {
        self.table().open.remove(id);
    }

    /// Forgets those that have left the memory, and says which are in it.
    pub(super) fn in_memory(&self) -> Vec<SessionId> {
        let mut table = self.table();
        table.open.retain(|_, controller| controller.is_open());
        table.open.keys().cloned().collect()
    }

    /// Takes in no more, and gives back those there are.
    pub(super) fn close(&self) -> Vec<SessionController> {
        let mut table = self.table();
        table.is_closed = true;
        table.open.drain().map(|(_, controller)| controller).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_session_that_is_being_opened_holds_up_itself_alone() {
        let id = |number: u8| {
            SessionId::new(format!("0198b5a0-0000-7000-8000-0000000000{number:02}")).unwrap()
        };
        let controllers = Controllers::default();
        let opening = controllers.turn(&id(1)).await;
        assert!(controllers.get(&id(1)).is_none() && controllers.get(&id(2)).is_none());
        assert!(controllers.turn(&id(2)).now_or_never().is_some(), "another one can be opened");
        assert!(controllers.turn(&id(1)).now_or_never().is_none(), "the same one cannot");
        drop(opening);
        assert!(controllers.turn(&id(1)).now_or_never().is_some());
    }
}
