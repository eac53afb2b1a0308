//! Who is asking: which process, and whether an agent is behind it.
//!
//! A process that runs under a holder may look and may not decide, finish or start anything: it
//! would approve itself. Who is behind a connection is asked of the system: the process itself and
//! its ancestors, up to the first. An agent cannot leave its holder, which is the parent of
//! whatever it abandons. What cannot be found out about the socket's peer counts as an agent.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use coven_api::device::DeviceRole;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::{JOB_VARIABLE, ProcessIdentity, machine};

use crate::device::DeviceGrant;

/// How many ancestors are looked at; there are no longer lines in practice.
const MAX_ANCESTORS: usize = 256;

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

/// Who is asking. In the extensions of every request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// How they came in.
    pub(crate) via: PeerTransport,
    /// The device that showed itself, over loopback.
    device: Option<DeviceGrant>,
    /// Whether it is an agent, or one that cannot be told from one. Only looked at where it
    /// matters; see [`Caller::new`].
    agent: bool,
}

impl Caller {
    /// Looks at who is asking. That costs a walk through processes, over loopback a search through
    /// all of them, so it is done only `closely`: where something would be changed.
    pub(crate) fn new(via: PeerTransport, device: Option<DeviceGrant>, closely: bool) -> Self {
        let agent = match via {
            PeerTransport::Socket { peer } => {
                // An id may be used again, so it must still be the same process.
                let is_agent = |peer: ProcessIdentity| is_agent(peer.pid) || !peer.is_running();
                closely && peer.is_none_or(is_agent)
            }
            // Who cannot be found has shown a device, and that is what counts here. Where no process
            // can ever be found, an agent could approve itself with a token that it read somewhere.
            PeerTransport::Tcp { peer, local, .. } => {
                closely
                    && match machine::connected_process(peer, local) {
                        Ok(found) => found.is_some_and(is_agent),
                        Err(error) => error.kind() == io::ErrorKind::Unsupported,
                    }
            }
        };
        Self { via, device, agent }
    }

    /// Only people may go on from here.
    pub(crate) fn may_change(&self) -> Result<(), ApiProblem> {
        if !self.agent {
            return Ok(());
        }
        let detail = "this request comes from a process that runs under a holder";
        Err(ApiProblem::new(ProblemCode::AgentMayNot, detail)
            .with_hint("agents may look; ask a person to do this from a shell of their own"))
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
        let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
        let user = user.unwrap_or_else(|_| format!("uid {}", rustix::process::getuid().as_raw()));
        match (self.via, &self.device) {
            (PeerTransport::Socket { .. }, _) => format!("{user} via socket"),
            (PeerTransport::Tcp { .. }, Some(device)) => format!("{user} via {}", device.name),
            (PeerTransport::Tcp { .. }, None) => format!("{user} via http"),
        }
    }
}

/// The user and the process at the other end of a socket.
pub(crate) fn credentials(socket: impl AsFd) -> Option<(u32, Option<ProcessIdentity>)> {
    let peer = machine::socket_peer(socket).ok()?;
    Some((peer.uid, ProcessIdentity::of(peer.pid)))
}

/// Whether this process is an agent, a script of a workflow, or something they started, whatever
/// they did to its environment.
pub fn inside_agent() -> bool {
    is_agent(rustix::process::getpid().as_raw_nonzero().get())
}

/// Whether a process is an agent or descends from a holder. One that is gone may have been.
pub(crate) fn is_agent(pid: i32) -> bool {
    let (mut child, mut next) = (pid, pid);
    for _ in 0..MAX_ANCESTORS {
        if has_job(next) || is_holder(next) {
            return true;
        }
        match parent(next) {
            Some(0) => return false,
            Some(parent) => (child, next) = (next, parent),
            None if next == pid => return true,
            // An ancestor ended, and its child has another now, which is a holder if there is one.
            // Or the system hides the processes of others, and none of those is a holder of ours.
            None => match parent(child) {
                Some(same) if same == next => return false,
                Some(other) => next = other,
                None => (child, next) = (pid, pid),
            },
        }
    }
    true
}

fn parent(pid: i32) -> Option<i32> {
    machine::process(pid).map(|process| process.parent)
}

fn has_job(pid: i32) -> bool {
    // That of another user cannot be read, and neither can theirs be an agent of ours.
    let environment = machine::environment(pid).unwrap_or_default();
    let name = format!("{JOB_VARIABLE}=");
    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(name.as_bytes()))
}

/// A holder is `coven hold …`, whatever `coven` is called.
fn is_holder(pid: i32) -> bool {
    let line = machine::command_line(pid).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let program = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    words.next() == Some(b"hold") && program.starts_with(b"coven")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_counts_as_an_agent() {
        assert!(is_agent(i32::MAX));
    }
}
