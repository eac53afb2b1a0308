//! A connection that gives its place back when it ends, and breaks when its client stops reading,
//! when no device shows itself on it for too long, and when its device is removed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::limits::{ConnectionPlace, UNAUTHENTICATED_LIFETIME};
use crate::device::DeviceConnection;

/// How long a client may leave everything unread that the system holds for it.
const UNREAD_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection with a place.
#[derive(Debug)]
pub(super) struct GuardedStream<S> {
    stream: S,
    connection: Arc<DeviceConnection>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Runs while no device has shown itself.
    unauthenticated: Option<Pin<Box<Sleep>>>,
    /// Runs while a write waits.
    patience: Pin<Box<Sleep>>,
    waiting: bool,
    _place: ConnectionPlace,
}

impl<S> GuardedStream<S> {
    pub(super) fn new(
        stream: S,
        place: ConnectionPlace,
        connection: Arc<DeviceConnection>,
    ) -> Self {
        let unauthenticated = connection
            .is_unauthenticated()
            .then(|| Box::pin(tokio::time::sleep(UNAUTHENTICATED_LIFETIME)));
        Self {
            stream,
            ended: Box::pin(connection.ended().clone().cancelled_owned()),
            unauthenticated,
            connection,
            patience: Box::pin(tokio::time::sleep(UNREAD_TIMEOUT)),
            waiting: false,
            _place: place,
        }
    }

    /// Breaks a connection that may not go on. Whoever reads from it is woken when that is so, and
    /// a server always reads: for the next request, or to see whether the client is gone.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let broken = |why: &str| Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
        if self.ended.as_mut().poll(context).is_ready() {
            return broken("the device was removed");
        }
        let Some(timer) = &mut self.unauthenticated else { return Ok(()) };
        if !self.connection.is_unauthenticated() {
            self.unauthenticated = None;
        } else if timer.as_mut().poll(context).is_ready() {
            return broken("no device signed in in time");
        }
        Ok(())
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
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patient(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
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
    use coven_service::DeviceStore;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::device::DeviceAccess;

    async fn place() -> ConnectionPlace {
        Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap()
    }

    fn devices() -> Arc<DeviceAccess> {
        Arc::new(DeviceAccess::new(DeviceStore::open("/nowhere/devices.json".into())))
    }

    async fn guarded<S>(stream: S) -> GuardedStream<S> {
        let connection = Arc::new(DeviceConnection::new(devices(), None));
        GuardedStream::new(stream, place().await, connection)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_no_device_signs_in_has_a_short_time() {
        let (ours, _theirs) = duplex(16);
        let begun = Instant::now();
        let connection = Arc::new(DeviceConnection::new(devices(), Some(place().await)));
        let mut stream = GuardedStream::new(ours, place().await, connection);
        let read = stream.read(&mut [0; 8]).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert!(begun.elapsed() >= UNAUTHENTICATED_LIFETIME);
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
