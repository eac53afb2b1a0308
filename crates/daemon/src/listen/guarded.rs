//! A connection that gives its place back when it ends, and breaks when its client stops reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

/// How long a client may leave everything unread that the system holds for it.
const UNREAD_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection with a place.
#[derive(Debug)]
pub(super) struct GuardedStream<S> {
    stream: S,
    /// Runs while a write waits.
    patience: Pin<Box<Sleep>>,
    waiting: bool,
    _place: OwnedSemaphorePermit,
}

impl<S> GuardedStream<S> {
    pub(super) fn new(stream: S, place: OwnedSemaphorePermit) -> Self {
        let patience = Box::pin(tokio::time::sleep(UNREAD_TIMEOUT));
        Self { stream, patience, waiting: false, _place: place }
    }

    fn patient<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = false;
            return polled;
        }
        if !self.waiting {
            self.waiting = true;
            self.patience.as_mut().reset(Instant::now() + UNREAD_TIMEOUT);
        }
        ready!(self.patience.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patient(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.patient(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.patient(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.patient(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::sync::Semaphore;

    use super::*;

    async fn guarded<S>(stream: S) -> GuardedStream<S> {
        GuardedStream::new(stream, Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_is_let_go_after_a_minute() {
        let (ours, theirs) = duplex(16);
        let begun = Instant::now();
        let written = guarded(ours).await.write_all(&[0; 64]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(
            (UNREAD_TIMEOUT..UNREAD_TIMEOUT * 2).contains(&begun.elapsed()),
            "{:?}",
            begun.elapsed()
        );
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_little_now_and_then_is_kept() {
        let (ours, mut theirs) = duplex(16);
        let slow = async {
            let mut read = 0;
            while read < 64 {
                tokio::time::sleep(UNREAD_TIMEOUT / 2).await;
                read += theirs.read(&mut [0; 8]).await.unwrap();
            }
        };
        let mut ours = guarded(ours).await;
        let (written, ()) = tokio::join!(ours.write_all(&[0; 64]), slow);
        written.unwrap();
    }
}
