//! Counts work in tests: how much a file costs must not depend on how busy the machine is.

use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts a comparison of two names.
pub(crate) fn count() {
    COUNT.set(COUNT.get() + 1);
}

/// How many comparisons a piece of work makes.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = COUNT.get();
    let done = work();
    (done, COUNT.get() - before)
}
