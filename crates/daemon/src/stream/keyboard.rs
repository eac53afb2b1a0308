//! Who types: any number of viewers look at a terminal, and one of them has its keyboard.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use coven_model::{AttemptId, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The terminal of one attempt.
type Place = (SessionId, AttemptId);

/// The keyboards of all terminals that have a viewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyboards {
    shared: Arc<KeyboardTable>,
}

#[derive(Debug, Default)]
struct KeyboardTable {
    keyboards: Mutex<HashMap<Place, Weak<Keyboard>>>,
    viewers: AtomicU64,
}

#[derive(Debug)]
struct Keyboard {
    holder: watch::Sender<Option<KeyboardHolder>>,
}

/// Who has a keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyboardHolder {
    viewer: u64,
    /// What others are told.
    pub(super) name: String,
}

impl Keyboards {
    /// A seat before the terminal of an attempt.
    pub(super) fn join(&self, session: SessionId, attempt: AttemptId, name: &str) -> KeyboardSeat {
        let viewer = self.shared.viewers.fetch_add(1, Ordering::Relaxed) + 1;
        let mut keyboards = self.shared.keyboards.lock();
        keyboards.retain(|_, keyboard| keyboard.strong_count() > 0);
        let place = (session, attempt);
        let keyboard = keyboards.get(&place).and_then(Weak::upgrade).unwrap_or_else(|| {
            let keyboard = Arc::new(Keyboard { holder: watch::Sender::new(None) });
            keyboards.insert(place, Arc::downgrade(&keyboard));
            keyboard
        });
        let changes = keyboard.holder.subscribe();
        KeyboardSeat { keyboard, me: KeyboardHolder { viewer, name: name.to_owned() }, changes }
    }
}

/// A viewer's seat at a terminal. Dropping it gives the keyboard back.
#[derive(Debug)]
pub(super) struct KeyboardSeat {
    keyboard: Arc<Keyboard>,
    me: KeyboardHolder,
    changes: watch::Receiver<Option<KeyboardHolder>>,
}

impl KeyboardSeat {
    /// Whether this viewer has the keyboard.
    pub(super) fn holds(&self) -> bool {
        self.keyboard.holder.borrow().as_ref() == Some(&self.me)
    }

    /// Takes the keyboard, also from another viewer.
    pub(super) fn take(&self) {
        self.keyboard.holder.send_replace(Some(self.me.clone()));
    }

    /// Takes the keyboard if no other viewer has it.
    pub(super) fn take_if_free(&self) {
        self.keyboard.holder.send_if_modified(|holder| {
            let free = holder.is_none();
            if free {
                *holder = Some(self.me.clone());
            }
            free
        });
    }

    /// Gives the keyboard back, if this viewer has it.
    pub(super) fn release(&self) {
        self.keyboard
            .holder
            .send_if_modified(|holder| holder.take_if(|holder| *holder == self.me).is_some());
    }

    /// Who has the keyboard now.
    pub(super) fn holder(&mut self) -> Option<KeyboardHolder> {
        self.changes.borrow_and_update().clone()
    }

    /// Waits until a viewer takes or gives back the keyboard.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as this seat.
        self.changes.changed().await.ok();
    }
}

impl Drop for KeyboardSeat {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use coven_model::TaskId;

    use super::*;

    fn join(keyboards: &Keyboards, attempt: u32, name: &str) -> KeyboardSeat {
        let session = SessionId::new("0199a2b4-0000-7000-8000-000000000001").unwrap();
        let attempt = AttemptId { task: TaskId::new("build.1").unwrap(), attempt };
        keyboards.join(session, attempt, name)
    }

    #[test]
    fn whoever_takes_the_keyboard_has_it_and_whoever_leaves_gives_it_back() {
        let keyboards = Keyboards::default();
        let mut first = join(&keyboards, 1, "first");
        let second = join(&keyboards, 1, "second");
        first.take_if_free();
        second.take_if_free();
        assert!(first.holds() && !second.holds());
        second.take();
        assert!(!first.holds() && second.holds());
        assert_eq!(first.holder().map(|holder| holder.name).as_deref(), Some("second"));
        // Who no longer has it gives nothing back.
        first.release();
        assert!(second.holds());
        drop(second);
        assert_eq!(first.holder(), None);
    }

    #[test]
    fn each_terminal_has_its_own_keyboard() {
        let keyboards = Keyboards::default();
        let (one, two) = (join(&keyboards, 1, "one"), join(&keyboards, 2, "two"));
        one.take_if_free();
        two.take_if_free();
        assert!(one.holds() && two.holds());
    }
}
