//! What every request handler has at hand: the service, and who may use it.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use coven_service::Service;

use crate::secret::Secret;
use crate::sign_in::SignIn;

/// Shared state of the daemon; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    /// Everything that can be asked for.
    pub(crate) service: Service,
    access: Arc<AccessControl>,
}

#[derive(Debug)]
struct AccessControl {
    token: Secret,
    sign_in: SignIn,
    address: OnceLock<SocketAddr>,
}

impl Daemon {
    pub(crate) fn new(service: Service, token: Secret) -> Self {
        let access = AccessControl { token, sign_in: SignIn::default(), address: OnceLock::new() };
        Self { service, access: Arc::new(access) }
    }

    /// The token that requests over TCP show.
    pub(crate) fn token(&self) -> &Secret {
        &self.access.token
    }

    /// The codes that a page exchanges for the token.
    pub(crate) fn sign_in(&self) -> &SignIn {
        &self.access.sign_in
    }

    /// The address on loopback, if there is one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.access.address.get().copied()
    }

    /// Sets the address on loopback, which is known once the port is bound and never changes.
    pub(crate) fn set_address(&self, address: SocketAddr) {
        self.access.address.get_or_init(|| address);
    }
}
