//! Who is asking: which process, and whether an agent is behind it.
//!
//! A process that runs under a holder may look and may not decide, finish or start anything: it
//! would approve itself. Who is behind a connection is asked of the system: the process itself and
//! its ancestors, up to the first, held against the holders that were written down
//! ([`coven_service::lineage`]). A peer of the socket whose ancestors cannot be read counts as an
//! agent.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use coven_api::device::DeviceRole;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::lineage::{self, JobSign, Lineage};
use coven_service::{HolderRegistry, ProcessIdentity, machine};

use crate::device::DeviceGrant;
use crate::person;

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerTransport {
    /// Over the socket, as this process.
    Socket {
        /// The process; nothing if the system does not tell, or it was gone at once.
        peer: Option<ProcessIdentity>,
    },
    /// Over loopback, from this address, as this user where the system can tell.
    Tcp { peer: SocketAddr, local: SocketAddr, user: Option<u32> },
}

/// What is behind a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Nobody looked, because the request changes nothing.
    Unexamined,
    /// A process that no job started.
    Person,
    /// A process of a job, or one of the socket's whose ancestors cannot be read.
    Agent(Option<JobSign>),
    /// The process of a TCP connection was not found, or its ancestors cannot be read. Over TCP it
    /// is what the client has shown that decides.
    Unknown,
}

/// Who is asking. In the extensions of every request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// How they came in.
    pub(crate) via: PeerTransport,
    /// The device that showed itself, over loopback.
    device: Option<DeviceGrant>,
    peer: Peer,
}

impl Caller {
    /// Looks at who is asking. That costs a walk through processes, over loopback a search through
    /// all of them, so it is done only `closely`: where something would be changed. What killed
    /// holders left is ended first.
    pub(crate) fn new(
        via: PeerTransport,
        device: Option<DeviceGrant>,
        closely: bool,
        registry: &HolderRegistry,
    ) -> Self {
        let peer = if closely { examine(via, registry) } else { Peer::Unexamined };
        Self { via, device, peer }
    }

    /// Only people may go on from here.
    pub(crate) fn may_change(&self) -> Result<(), ApiProblem> {
        let (detail, hint) = match self.peer {
            // A client over TCP that cannot be found has shown a device, and that is what counts.
            Peer::Unexamined | Peer::Person | Peer::Unknown => return Ok(()),
            Peer::Agent(None) => (
                "the processes above the one that asks cannot be read, so it may be an agent's",
                "where /proc is mounted with hidepid, use the page (`coven ui`); see docs/security.md",
            ),
            Peer::Agent(Some(JobSign::Limit)) => (
                "a holder was killed, and this request comes from a process that has the limits of \
                 its job",
                "ask a person to do this from a shell that no agent started",
            ),
            Peer::Agent(Some(_)) => (
                "this request comes from a process that runs under a holder",
                "agents may look; ask the person who runs you to do this from a shell of their own",
            ),
        };
        Err(ApiProblem::new(ProblemCode::AgentMayNot, detail).with_hint(hint))
    }

    /// Whether the process that asks was found, and no job started it.
    pub(crate) fn is_seen(&self) -> bool {
        self.peer == Peer::Person
    }

    /// Only callers that may do what this role may go on from here, and above looking only people.
    pub(crate) fn may(&self, role: DeviceRole) -> Result<(), ApiProblem> {
        if role > DeviceRole::Look {
            self.may_change()?;
        }
        match &self.device {
            Some(device) if device.role < role => {
                let (name, has, needed) = (&device.name, device.role.as_str(), role.as_str());
                let detail =
                    format!("the device `{name}` has the role `{has}`, and this needs `{needed}`");
                Err(ApiProblem::new(ProblemCode::RoleMayNot, detail)
                    .with_hint(format!("sign in anew: coven device add NAME --role {needed}")))
            }
            _ => Ok(()),
        }
    }

    /// Who that is, for the record.
    pub(crate) fn name(&self) -> String {
        match (self.via, &self.device) {
            (PeerTransport::Socket { .. }, _) => person::via("socket"),
            (PeerTransport::Tcp { .. }, Some(device)) => person::via(&device.name),
            (PeerTransport::Tcp { .. }, None) => person::via("http"),
        }
    }
}

fn examine(via: PeerTransport, registry: &HolderRegistry) -> Peer {
    match via {
        PeerTransport::Socket { peer } => {
            let Some(peer) = peer else { return Peer::Agent(None) };
            let found = lineage::lineage(peer.pid, registry);
            // An id may be used again, so it must still be the same process.
            match found {
                Lineage::Job(sign) => Peer::Agent(Some(sign)),
                Lineage::Outside if peer.is_running() => Peer::Person,
                Lineage::Outside | Lineage::Unknown => Peer::Agent(None),
            }
        }
        PeerTransport::Tcp { peer, local, .. } => match machine::connected_process(peer, local) {
            Ok(Some(pid)) => match lineage::lineage(pid, registry) {
                Lineage::Job(sign) => Peer::Agent(Some(sign)),
                Lineage::Outside => Peer::Person,
                Lineage::Unknown => Peer::Unknown,
            },
            // Where no process can ever be found, an agent could approve itself with the token.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Peer::Agent(None),
            Ok(None) | Err(_) => Peer::Unknown,
        },
    }
}

/// The user and the process at the other end of a socket.
pub(crate) fn credentials(socket: impl AsFd) -> Option<(u32, Option<ProcessIdentity>)> {
    let peer = machine::socket_peer(socket).ok()?;
    Some((peer.uid, ProcessIdentity::of(peer.pid)))
}

/// Whether this process is an agent, a script of a workflow, or something they started, whatever
/// they did to its environment. The holders are those of this state folder; a holder of another one
/// is known by its command line. One that may not read the folder is confined, and so an agent.
pub fn inside_agent(state_dir: Option<&std::path::Path>) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let entries = state_dir.map(|folder| HolderRegistry::new(folder).entries()).transpose();
    match entries.map(|entries| lineage::lineage_among(own, &entries.unwrap_or_default())) {
        Ok(Lineage::Outside) => false,
        // The system hides the processes above: then only what can be read says something.
        Ok(Lineage::Unknown) => !matches!(lineage::visible_signs(own), Lineage::Outside),
        Ok(Lineage::Job(_)) => true,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_counts_as_an_agent() {
        let folder = tempfile::tempdir().unwrap();
        let registry = HolderRegistry::new(folder.path());
        let peer = Some(ProcessIdentity { pid: i32::MAX, start: 1 });
        for peer in [peer, None] {
            let caller = Caller::new(PeerTransport::Socket { peer }, None, true, &registry);
            assert_eq!(caller.peer, Peer::Agent(None));
            assert!(caller.may_change().is_err());
        }
    }

    /// The seam for devices: a connection over TCP behind which no process is found is neither a
    /// person's nor an agent's.
    #[test]
    fn a_connection_behind_which_no_process_is_found_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let registry = HolderRegistry::new(folder.path());
        let (peer, local) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let via = PeerTransport::Tcp { peer, local, user: None };
        let caller = Caller::new(via, None, true, &registry);
        let known = if cfg!(target_os = "linux") { Peer::Unknown } else { Peer::Agent(None) };
        assert_eq!(caller.peer, known);
    }
}
