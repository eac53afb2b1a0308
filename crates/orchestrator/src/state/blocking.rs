//! Work that waits on a disk, kept away from the async workers.

use std::panic::resume_unwind;

use coven_folder::disk_wait::{Permit, set_probe};
use tokio::task::JoinError;

/// Runs work that may wait on a disk on a thread where no task waits with it. A panic in the work
/// is the caller's panic.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let permitted = move || {
        let _permit = Permit::take();
        work()
    };
    done(tokio::task::spawn_blocking(permitted).await).await
}

/// Runs a future to its end, also if the caller gives up waiting. A panic in it is the caller's.
pub(crate) async fn owned<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    done(tokio::spawn(work).await).await
}

async fn done<T>(done: Result<T, JoinError>) -> T {
    match done {
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
