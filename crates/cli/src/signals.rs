//! What the system tells this command while it follows something.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalEvent {
    Interrupt,
    /// SIGTERM or SIGHUP: the process is to end, or its terminal is gone.
    Terminate,
    Resized,
}

/// Listens to signals instead of being ended by them.
#[derive(Debug)]
pub(crate) struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    resized: Signal,
}

impl SignalListener {
    /// Begins to listen. Must be called inside the runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            resized: signal(SignalKind::window_change())?,
        })
    }

    pub(crate) async fn next(&mut self) -> SignalEvent {
        tokio::select! {
            _ = self.interrupt.recv() => SignalEvent::Interrupt,
            _ = self.terminate.recv() => SignalEvent::Terminate,
            _ = self.hang_up.recv() => SignalEvent::Terminate,
            _ = self.quit.recv() => SignalEvent::Terminate,
            _ = self.resized.recv() => SignalEvent::Resized,
        }
    }
}
