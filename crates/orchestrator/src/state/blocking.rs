//! Work that waits on a disk, kept away from the async workers.

use std::panic::resume_unwind;

use coven_folder::disk_wait::{Permit, set_probe};

/// Runs work that may wait on a disk on a thread where no task waits with it. A panic in the work
/// is the caller's panic.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let permitted = move || {
        let _permit = Permit::take();
        work()
    };
    match tokio::task::spawn_blocking(permitted).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and drops this task next.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Lets debug builds find work that waits on a disk in an async worker.
pub(crate) fn guard_workers() {
    set_probe(|| tokio::runtime::Handle::try_current().is_ok());
}
