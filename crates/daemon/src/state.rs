//! What every request handler has at hand: the service, and who may use it.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use coven_service::Service;

use crate::device::DeviceAccess;
use crate::identity::DaemonIdentity;
use crate::sign_in::SignInCodes;

/// Shared state of the daemon; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    /// Everything that can be asked for.
    pub(crate) service: Service,
    access: Arc<AccessControl>,
}

#[derive(Debug)]
struct AccessControl {
    identity: DaemonIdentity,
    devices: Arc<DeviceAccess>,
    codes: SignInCodes,
    loopback: OnceLock<(SocketAddr, Option<u16>)>,
}

impl Daemon {
    pub(crate) fn new(service: Service, identity: DaemonIdentity, devices: DeviceAccess) -> Self {
        let (codes, loopback) = (SignInCodes::default(), OnceLock::new());
        let devices = Arc::new(devices);
        Self { service, access: Arc::new(AccessControl { identity, devices, codes, loopback }) }
    }

    /// The key by which browsers know the daemon.
    pub(crate) fn identity(&self) -> &DaemonIdentity {
        &self.access.identity
    }

    /// The devices that may use the daemon over TCP.
    pub(crate) fn devices(&self) -> &Arc<DeviceAccess> {
        &self.access.devices
    }

    /// The codes that browsers sign in with.
    pub(crate) fn codes(&self) -> &SignInCodes {
        &self.access.codes
    }

    /// The address on loopback, if there is one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.access.loopback.get().map(|(address, _)| *address)
    }

    /// The port of the last time, if another program had it when the daemon started.
    pub(crate) fn lost_port(&self) -> Option<u16> {
        self.access.loopback.get().and_then(|(_, lost)| *lost)
    }

    /// Sets the address on loopback, which is known once the port is bound and never changes.
    pub(crate) fn set_address(&self, address: SocketAddr, lost_port: Option<u16>) {
        self.access.loopback.get_or_init(|| (address, lost_port));
        self.service.set_loopback(address);
    }
}
