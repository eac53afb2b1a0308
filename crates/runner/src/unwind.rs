//! A panic as a value, so that the owner of a task can report it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Does some work; if it panics, gives the message of the panic instead of its result.
///
/// The caller must not rely on what the work was changing when it panicked.
pub async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(panic_message(&*payload))),
        }
    })
    .await
}

/// What a panic says.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_before_or_after_a_wait_becomes_its_message() {
        assert_eq!(catch_panic(async { 1 }).await, Ok(1));
        let at_once = catch_panic(async { panic!("at once") }).await;
        assert_eq!(at_once, Err::<(), _>("at once".to_owned()));
        let later = catch_panic(async {
            tokio::task::yield_now().await;
            let number = 7;
            panic!("number {number}")
        });
        assert_eq!(later.await, Err::<(), _>("number 7".to_owned()));
    }
}
