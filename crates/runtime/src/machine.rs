//! What the operating system knows and does in its own way: processes and their ends, sockets and
//! who is behind them, terminals, confinement.
//!
//! Everything else in the workspace asks here, so that another system needs a body beside `linux`
//! and `darwin` and nothing more. What a system cannot do is an [`unsupported`] error or stands in
//! [`limitations`], which `coven doctor` shows.

#[cfg(target_os = "macos")]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "macos")]
use darwin as system;
#[cfg(target_os = "linux")]
use linux as system;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use coven_folder::OpenFolder;

pub(crate) use system::{Confinement, FolderWatch, ProcessHandle};

/// Whether a process whose parent has ended becomes a child of this one, once
/// [`adopt_orphans`] was called.
pub(crate) const ADOPTS_ORPHANS: bool = system::ADOPTS_ORPHANS;

/// What the system tells about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// The id of its parent; 0 for the first process.
    pub parent: i32,
    /// The id of its session.
    pub session: i32,
    /// When it started, in a unit of the system's own. Two processes that had the same id since the
    /// system started differ in it.
    pub start: u64,
    /// It has ended and waits to be reaped.
    pub zombie: bool,
    /// It is stopped, by a signal or a debugger.
    pub stopped: bool,
    /// The group of processes that it belongs to.
    pub group: i32,
    /// The group of processes that its terminal gives what is typed, if it has one.
    pub foreground: Option<i32>,
    /// Its name, for people.
    pub name: String,
}

/// What a thread does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadActivity {
    /// It runs, or waits for something that is certainly not typed.
    pub(crate) waits_elsewhere: bool,
    /// How often it was given the processor.
    pub(crate) runs: u64,
    /// It has the processor or a disk to work with, or waits for either.
    pub(crate) works: bool,
}

/// What is at the other end of a unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPeer {
    pub uid: u32,
    /// The process that connected.
    pub pid: i32,
}

/// How many pseudo-terminals there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLimits {
    /// At most so many.
    pub max: u64,
    /// So many are in use, where the system tells.
    pub used: Option<u64>,
}

/// Something that Coven promises elsewhere and cannot do on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limitation {
    pub name: &'static str,
    /// What does not hold, and what happens instead.
    pub what: &'static str,
}

/// What this system cannot do. Empty on Linux.
pub fn limitations() -> &'static [Limitation] {
    system::LIMITATIONS
}

/// The error of something that has no body for this system yet.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a body for everything"))]
pub(crate) fn unsupported(what: &str) -> io::Error {
    let message = format!("{what} is not supported on this system ({})", std::env::consts::OS);
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// What the system tells about a process; nothing if there is none with this id.
pub fn process(pid: i32) -> Option<ProcessInfo> {
    system::process(pid)
}

/// What the threads of a process do; nothing where the system does not tell.
pub(crate) fn thread_activity(pid: i32) -> Option<Vec<ThreadActivity>> {
    system::thread_activity(pid)
}

/// The ids of all processes that the system shows to us.
pub(crate) fn process_ids() -> io::Result<Vec<i32>> {
    system::process_ids()
}

/// The environment a process was started with: entries that each end with a zero byte. That of
/// another user's process cannot be read.
pub fn environment(pid: i32) -> io::Result<Vec<u8>> {
    system::environment(pid)
}

/// The command line of a process: words that each end with a zero byte.
pub fn command_line(pid: i32) -> io::Result<Vec<u8>> {
    system::command_line(pid)
}

/// The folder that a process works in. That of another user's process cannot be read.
pub(crate) fn working_folder(pid: i32) -> io::Result<PathBuf> {
    system::working_folder(pid)
}

/// Tells one start of the system from the next. Process ids and start times mean nothing across.
pub fn boot_id() -> io::Result<String> {
    system::boot_id()
}

/// How many bytes of memory this process takes.
pub fn resident_memory() -> io::Result<u64> {
    system::resident_memory()
}

/// How many pseudo-terminals there can be.
pub fn terminal_limits() -> io::Result<TerminalLimits> {
    system::terminal_limits()
}

/// The hard limit that jobs get, lower than that of this process. Only the superuser can raise it
/// again, so that a process with a higher one is no descendant of a job. Nothing where the system
/// has no such limit.
pub fn job_limit() -> Option<u64> {
    system::job_limit()
}

/// The hard limit of another process that [`job_limit`] is about.
pub fn limit_of(pid: i32) -> Option<u64> {
    system::limit_of(pid)
}

/// Gives this process the limit of a job. Safe between fork and exec.
pub(crate) fn lower_limit(limit: u64) -> io::Result<()> {
    system::lower_limit(limit)
}

/// The control group of a process, as the system tells it; nothing where the system has none.
pub(crate) fn cgroup_of(pid: i32) -> Option<String> {
    system::cgroup_of(pid)
}

/// The folder of a control group.
pub(crate) fn cgroup_folder(name: &str) -> Option<PathBuf> {
    system::cgroup_folder(name)
}

/// Who is at the other end of a unix socket.
pub fn socket_peer(socket: impl AsFd) -> io::Result<SocketPeer> {
    system::socket_peer(socket.as_fd())
}

/// The process that has the `peer` end of a TCP connection of this machine to `local`. Best effort:
/// a process whose descriptors cannot be read is not found.
pub fn connected_process(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<i32>> {
    system::connected_process(peer, local)
}

/// The user who has the `peer` end of a TCP connection of this machine to `local`; nothing if there
/// is no such connection any more.
pub fn connected_user(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u32>> {
    system::connected_user(peer, local)
}

/// The version of Landlock in the kernel; nothing if there is none.
pub(crate) fn landlock_version() -> Option<i32> {
    system::landlock_version()
}

/// The program this process runs, also after its file was replaced by a newer one where the system
/// can tell.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    system::own_program()
}

/// Has processes whose parent has ended become children of this one, where the system can
/// ([`ADOPTS_ORPHANS`]).
pub(crate) fn adopt_orphans() -> io::Result<()> {
    system::adopt_orphans()
}

/// Has this process be killed when its parent ends, where the system can, and fails if that was
/// not `parent` any more. Safe between fork and exec.
pub(crate) fn die_with_parent(parent: rustix::process::Pid) -> io::Result<()> {
    system::die_with_parent(parent)
}

/// Marks every descriptor from 3 on to be closed at exec, also those that libraries or our parent
/// left open. Safe between fork and exec.
pub(crate) fn close_on_exec() -> io::Result<()> {
    system::close_on_exec()
}

/// A new pseudo-terminal: our end and the program's. Neither is inherited.
pub(crate) fn open_terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    system::open_terminal()
}

/// Listens on a socket in a folder, however long the folder's path is.
pub(crate) fn bind_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixListener> {
    system::bind_socket(folder, name)
}

/// Connects to a socket in a folder, however long the folder's path is. What has the name must be a
/// socket and have no other name.
pub(crate) fn connect_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixStream> {
    system::connect_socket(folder, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        rustix::process::getpid().as_raw_nonzero().get()
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "not supported on this system")]
    fn the_process_behind_a_loopback_connection_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, local) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert_eq!(connected_process(peer, local).unwrap(), Some(own()));
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "not supported on this system")]
    fn the_user_behind_a_loopback_connection_is_found_also_from_a_socket_for_both_protocols() {
        use rustix::net::{AddressFamily, SocketType, connect, getsockname, socket};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let me = Some(rustix::process::geteuid().as_raw());
        let client = std::net::TcpStream::connect(local).unwrap();
        let (_accepted, peer) = listener.accept().unwrap();
        assert_eq!(connected_user(peer, local).unwrap(), me);
        drop(client);
        // A socket of the newer protocol reaches us too, and stands in another table.
        let mapped = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        let Ok(both) = socket(AddressFamily::INET6, SocketType::STREAM, None) else { return };
        if connect(&both, &SocketAddr::from((mapped, local.port()))).is_err() {
            return;
        }
        assert!(getsockname(&both).is_ok());
        let (_accepted, peer) = listener.accept().unwrap();
        assert_eq!(connected_user(peer, local).unwrap(), me);
        assert_eq!(connected_process(peer, local).unwrap(), Some(own()));
    }

    #[test]
    fn this_process_is_known_by_what_it_was_started_with() {
        let process = process(own()).unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!((process.parent, process.zombie), (parent, false));
        assert!(process_ids().unwrap().contains(&own()));
        let words = command_line(own()).unwrap();
        let program = words.split(|byte| *byte == 0).next().unwrap();
        assert_eq!(program, std::env::args_os().next().unwrap().as_encoded_bytes());
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        let environment = environment(own()).unwrap();
        assert!(environment.split(|byte| *byte == 0).any(|entry| entry == path.as_bytes()));
        assert!(resident_memory().unwrap() > 100_000);
        assert_eq!(boot_id().unwrap().len(), 36);
    }
}
