//! Keeps waiting on a disk away from async workers, in debug builds.
//!
//! A sync or the reading of a whole journal may take seconds on a busy disk, and on an async worker
//! every other task waits with it. So these operations [`check`] that their thread may wait: it has
//! a [`Permit`], which the journal writer's threads and the wrapper around blocking work take, or
//! it belongs to no async runtime at all. The lower crates know no runtime, so a crate that does
//! says with [`set_probe`] how to recognise one.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;

static PROBE: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static PERMITS: Cell<u32> = const { Cell::new(0) };
}

/// Says how to find out whether the current thread runs tasks of an async runtime. The first
/// call counts.
pub fn set_probe(is_in_runtime: fn() -> bool) {
    PROBE.get_or_init(|| is_in_runtime);
}

/// The current thread may wait on a disk as long as this lives.
#[derive(Debug)]
pub struct Permit {
    /// A permit is about its own thread.
    not_send: PhantomData<*const ()>,
}

impl Permit {
    /// Takes one, for a thread on which no task of an async runtime waits.
    pub fn take() -> Self {
        PERMITS.set(PERMITS.get() + 1);
        Self { not_send: PhantomData }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        PERMITS.set(PERMITS.get() - 1);
    }
}

/// Panics in debug builds if the current thread must not wait on a disk.
#[track_caller]
pub fn check(what: &str) {
    let is_forbidden =
        || PERMITS.get() == 0 && PROBE.get().is_some_and(|is_in_runtime| is_in_runtime());
    debug_assert!(!is_forbidden(), "{what} waits on a disk in an async worker");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "checked in debug builds alone")]
    fn only_a_permit_lets_a_worker_wait() {
        thread_local! {
            static WORKER: Cell<bool> = const { Cell::new(false) };
        }
        check("without a runtime");
        set_probe(|| WORKER.get());
        check("on a thread of its own");
        WORKER.set(true);
        assert!(std::panic::catch_unwind(|| check("a sync")).is_err());
        let permit = Permit::take();
        check("with a permit");
        drop(permit);
        assert!(std::panic::catch_unwind(|| check("a sync")).is_err());
    }
}
