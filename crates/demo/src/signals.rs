//! Signals that end a process: dying by one, and not dying by any.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::process::{Resource, Rlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// The polite ways to end a process.
pub(crate) const ENDING_SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Whether the polite ways are ignored. What a process does with a signal is a property of the
/// whole process, and so is this.
static SIGNALS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Ignores the polite ways to end the process, from now on.
pub(crate) fn ignore() -> io::Result<()> {
    SIGNALS_IGNORED.store(true, Ordering::Relaxed);
    for signal in ENDING_SIGNALS {
        // A handler that does nothing of interest. Unlike a signal that is set to be ignored, it
        // does not change the processes that are started from here.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Whether [`ignore`] was called.
pub(crate) fn ignored() -> bool {
    SIGNALS_IGNORED.load(Ordering::Relaxed)
}

/// Dies by the signal, as a process does that has not thought of it, without a core file.
pub(crate) fn die_by_signal(signal: i32) -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    signal_hook::low_level::emulate_default_handler(signal)
}

/// Does something before a signal ends the process, unless signals are [`ignored`]. Dropping it
/// stops the watch.
pub(crate) struct EndingWatch {
    signals: Handle,
    thread: Option<JoinHandle<()>>,
}

impl EndingWatch {
    /// Watches in a thread of its own, because the others may be blocked in a write to a stream
    /// that is not read.
    pub(crate) fn start(mut before_end: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let mut ending = Signals::new(ENDING_SIGNALS)?;
        let signals = ending.handle();
        let watch = move || {
            for signal in ending.forever() {
                if !ignored() {
                    before_end();
                    // If that fails, the next signal tries again.
                    die_by_signal(signal).ok();
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
        Ok(Self { signals, thread: Some(thread) })
    }
}

impl Drop for EndingWatch {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed already.
            thread.join().ok();
        }
    }
}
