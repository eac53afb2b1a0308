//! Work that reads or writes files, moved off the threads that serve requests.

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
