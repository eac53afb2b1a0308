//! The secret that a daemon and a holder share. The holder gets it through a pipe at its start, so
//! that it is in no argument and no environment, and nothing that the holder starts inherits it. The
//! next daemon finds it in the folder of the attempt.

use std::io::{self, Read};

use subtle::ConstantTimeEq;

/// The bytes of a secret: 256 bits.
pub(super) const SECRET_BYTES: usize = 32;

/// What a client of a holder must know to be heard. It is never shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct HolderSecret([u8; SECRET_BYTES]);

impl std::fmt::Debug for HolderSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HolderSecret(…)")
    }
}

impl HolderSecret {
    /// A new one, from the system's own randomness.
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes))
    }

    /// Reads it from the pipe of a holder that starts.
    pub(super) fn receive(mut pipe: impl Read) -> io::Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        pipe.read_exact(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The one in a file; nothing if the file has another length.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Whether a client's guess is right. Takes equally long for every wrong guess.
    pub(super) fn is(&self, guess: &[u8]) -> bool {
        self.0.as_slice().ct_eq(guess).into()
    }

    /// The bytes. Only for the pipe, the file and the first frame to a holder.
    pub(super) fn reveal(&self) -> &[u8] {
        &self.0
    }
}
