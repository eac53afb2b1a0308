//! Work that waits on a disk, kept away from the async workers.

use std::panic::resume_unwind;

use coven_folder::disk_wait::{Permit, set_probe};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinError, block_in_place};

/// Runs work that may wait on a disk on a thread where no task waits with it. A panic in the work
/// is the caller's panic.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    done(tokio::task::spawn_blocking(move || permitted(work)).await).await
}

fn permitted<T>(work: impl FnOnce() -> T) -> T {
    let _permit = Permit::take();
    work()
}

/// The same for a task that does nothing else meanwhile: no timeout and no other branch of a
/// `select!` is polled until the work is done. It is done on the thread of the caller where the
/// runtime can hand its other tasks to another thread, which spares the wakes of two threads.
pub(crate) async fn blocking_task<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => block_in_place(move || permitted(work)),
        _ => blocking(work).await,
    }
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
    set_probe(|| Handle::try_current().is_ok());
}
