//! Work that reads or writes files, moved off the threads that serve requests.

use std::time::Duration;

use coven_folder::disk_wait::Permit;

use crate::error::ServiceError;

/// Runs `work` on a thread where blocking delays no other request.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    let permitted = move || {
        let _permit = Permit::take();
        work()
    };
    let done = tokio::task::spawn_blocking(permitted).await;
    done.unwrap_or_else(|error| Err(ServiceError::Internal(error.to_string())))
}

/// How long the files of one folder may take to be read and checked. Usual ones take milliseconds;
/// what takes longer is a disk that hangs, or a folder that was made to keep us busy.
const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// The same for work that reads and checks definitions. A request does not wait longer than
/// [`CHECK_TIMEOUT`]; the work itself ends by the limits of what is checked.
pub(crate) async fn checking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    checking_within(CHECK_TIMEOUT, work).await
}

async fn checking_within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    let done = tokio::time::timeout(limit, blocking(work)).await;
    done.unwrap_or(Err(ServiceError::CheckTimeout(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_does_not_end_is_not_waited_for() {
        let (release, held) = std::sync::mpsc::sync_channel::<()>(0);
        let answer = checking_within(Duration::ZERO, move || Ok(held.recv().is_ok())).await;
        assert!(matches!(answer, Err(ServiceError::CheckTimeout(_))), "{answer:?}");
        drop(release);
    }
}
