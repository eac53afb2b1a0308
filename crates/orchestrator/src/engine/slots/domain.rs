//! Where the runtime starts commands: it hands the slot to the job that waits for it, and gets a
//! stand-in for the job's process.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coven_runtime::domain::{
    Domain, DomainId, ExitStatus, Pane, ReadOutcome, SpawnConfig, SpawnError, Stop,
};
use coven_terminal::screen::Size;

use super::{Offer, Slot};

/// Who waits for a slot at the runtime, by the number of the command.
#[derive(Clone, Debug, Default)]
pub(super) struct Offers {
    offers: Arc<Mutex<BTreeMap<u64, Offer>>>,
}

impl Offers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Offer>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, number: u64, offer: Offer) {
        self.all().insert(number, offer);
    }

    pub(super) fn waiting(&self) -> usize {
        self.all().len()
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.all().contains_key(&number)
    }

    /// Tells one that waits why it gets none.
    pub(super) fn refuse(&self, number: u64, reason: String) {
        let offer = self.all().remove(&number);
        if let Some(offer) = offer {
            // One that has gone needs no reason.
            offer.send(Err(reason)).ok();
        }
    }

    /// Nobody gets one any more.
    pub(super) fn close(&self) {
        let offers = std::mem::take(&mut *self.all());
        drop(offers);
    }
}

/// Stands for the domain in which holders start jobs.
pub(super) struct SlotDomain {
    offers: Offers,
}

impl SlotDomain {
    pub(super) fn new(offers: Offers) -> Self {
        Self { offers }
    }
}

impl Domain for SlotDomain {
    fn id(&self) -> DomainId {
        DomainId("holder".to_owned())
    }

    fn spawn(&self, config: &SpawnConfig) -> Result<Box<dyn Pane>, SpawnError> {
        let number: Option<u64> = config.job.parse().ok();
        let offer = number.and_then(|number| self.offers.all().remove(&number));
        let offer =
            offer.ok_or_else(|| SpawnError::Refused("nobody waits for the slot".to_owned()))?;
        match StandIn::new() {
            Ok((stand_in, end)) => {
                // If the job has gone meanwhile, the slot is dropped here, and is free at once.
                offer.send(Ok(Slot { end })).ok();
                Ok(Box::new(stand_in))
            }
            Err(source) => {
                let error = SpawnError::Exhausted { what: "file descriptors", source };
                offer.send(Err(error.to_string())).ok();
                Err(error)
            }
        }
    }

    fn detachable(&self) -> bool {
        true
    }
}

/// What the runtime has in place of a job's pane. The job has the other end of the stream: it
/// writes one byte, 0 for success, or nothing if nobody knows, and closes it.
struct StandIn {
    stream: UnixStream,
    state: State,
}

enum State {
    Running,
    /// It told how it ended and has not let go yet.
    Told(ExitStatus),
    Over(Option<ExitStatus>),
}

impl StandIn {
    fn new() -> io::Result<(Self, UnixStream)> {
        let (stream, end) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        end.set_nonblocking(true)?;
        Ok((Self { stream, state: State::Running }, end))
    }

    /// Looks what the job did meanwhile.
    fn look(&mut self) {
        let mut byte = [0];
        loop {
            let told = match self.state {
                State::Running => None,
                State::Told(status) => Some(status),
                State::Over(_) => return,
            };
            match self.stream.read(&mut byte) {
                Ok(0) => self.state = State::Over(told),
                Ok(_) => self.state = State::Told(ExitStatus::Code(i32::from(byte[0]))),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.state = State::Over(told),
            }
        }
    }
}

impl Pane for StandIn {
    fn read(&mut self, _: &mut [u8]) -> io::Result<ReadOutcome> {
        let over = !self.is_alive();
        Ok(if over { ReadOutcome::End } else { ReadOutcome::Pending })
    }

    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn close_input(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn resize(&mut self, _: Size) -> io::Result<()> {
        Ok(())
    }

    /// The job's session stops it, and then it lets go of its slot.
    fn stop(&mut self, _: Stop) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_alive(&mut self) -> bool {
        self.look();
        !matches!(self.state, State::Over(_))
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        match self.state {
            State::Over(status) => status,
            _ => None,
        }
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}
