//! macOS: kqueue, libproc and sysctl. It type-checks and has not been run on a Mac yet.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_folder::OpenFolder;
use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, VnodeEvents};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Limitation, ProcessInfo, SocketPeer, TerminalLimits, ThreadActivity, unsupported};
use crate::domain::{Sandbox, SpawnError};
use crate::system::darwin;

pub(super) const ADOPTS_ORPHANS: bool = false;

pub(super) const LIMITATIONS: &[Limitation] = &[
    Limitation {
        name: "whole trees",
        what: "a process that leaves its parent, its session and its environment behind is not \
               found when its agent is stopped",
    },
    Limitation {
        name: "killed holders",
        what: "an agent whose holder is killed goes on until the daemon looks for it",
    },
    Limitation {
        name: "sandbox",
        what: "agents cannot be confined; runs say so and go on without",
    },
    Limitation {
        name: "page",
        what: "the process behind a loopback connection is not found, so the page can show and \
               not change anything",
    },
];

pub(super) fn process(pid: i32) -> Option<ProcessInfo> {
    let info: libc::proc_bsdinfo = darwin::process_info(pid).ok()?;
    let text = |bytes: &[libc::c_char]| {
        let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|b| *b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let name = Some(text(&info.pbi_name)).filter(|name| !name.is_empty());
    Some(ProcessInfo {
        parent: i32::try_from(info.pbi_ppid).ok()?,
        session: darwin::session(pid).unwrap_or(0),
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
        zombie: info.pbi_status == libc::SZOMB,
        stopped: info.pbi_status == libc::SSTOP,
        group: i32::try_from(info.pbi_pgid).ok()?,
        foreground: i32::try_from(info.e_tpgid).ok().filter(|group| *group > 0),
        name: name.unwrap_or_else(|| text(&info.pbi_comm)),
    })
}

pub(super) fn thread_activity(_: i32) -> Option<Vec<ThreadActivity>> {
    None
}

pub(super) fn process_ids() -> io::Result<Vec<i32>> {
    darwin::process_ids()
}

pub(super) fn environment(pid: i32) -> io::Result<Vec<u8>> {
    let (all, environment) = arguments(pid)?;
    Ok(all[environment..].to_vec())
}

pub(super) fn command_line(pid: i32) -> io::Result<Vec<u8>> {
    let (mut all, environment) = arguments(pid)?;
    all.truncate(environment);
    Ok(all)
}

pub(super) fn working_folder(_: i32) -> io::Result<PathBuf> {
    Err(super::unsupported("finding out where a process works"))
}

/// The words of the command line and of the environment, and where the latter begins.
fn arguments(pid: i32) -> io::Result<(Vec<u8>, usize)> {
    let mut all = darwin::arguments(pid)?;
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let count = *all.first_chunk::<4>().ok_or_else(broken)?;
    let count = usize::try_from(i32::from_ne_bytes(count)).map_err(|_| broken())?;
    // The path of the program comes first, and is filled up with zero bytes.
    let path = all[4..].iter().position(|byte| *byte == 0).ok_or_else(broken)? + 4;
    let words = all[path..].iter().position(|byte| *byte != 0).map_or(all.len(), |at| at + path);
    all.drain(..words);
    let ends = all.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at + 1);
    let environment = [0].into_iter().chain(ends).nth(count).unwrap_or(all.len());
    Ok((all, environment))
}

pub(super) fn boot_id() -> io::Result<String> {
    let id = darwin::sysctl(c"kern.bootsessionuuid")?;
    let id = String::from_utf8(id).map_err(io::Error::other)?;
    Ok(id.trim_end_matches('\0').to_owned())
}

pub(super) fn resident_memory() -> io::Result<u64> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    Ok(darwin::process_info::<libc::proc_taskinfo>(own)?.pti_resident_size)
}

pub(super) fn terminal_limits() -> io::Result<TerminalLimits> {
    let max = darwin::sysctl(c"kern.tty.ptmx_max")?;
    let max = *max.first_chunk::<4>().ok_or(io::ErrorKind::InvalidData)?;
    Ok(TerminalLimits { max: u64::from(u32::from_ne_bytes(max)), used: None })
}

/// There is no limit here that is inherited, that nobody needs, and that others can read.
pub(super) fn job_limit() -> Option<u64> {
    None
}

pub(super) fn limit_of(_pid: i32) -> Option<u64> {
    None
}

pub(super) fn cgroup_of(_pid: i32) -> Option<String> {
    None
}

pub(super) fn cgroup_folder(_name: &str) -> Option<PathBuf> {
    None
}

pub(super) fn lower_limit(_limit: u64) -> io::Result<()> {
    Err(unsupported("the limit of a job"))
}

pub(super) fn socket_peer(socket: BorrowedFd<'_>) -> io::Result<SocketPeer> {
    let (uid, pid) = darwin::socket_peer(socket)?;
    Ok(SocketPeer { uid, pid })
}

pub(super) fn connected_process(_: SocketAddr, _: SocketAddr) -> io::Result<Option<i32>> {
    Err(unsupported("finding the process behind a loopback connection"))
}

pub(super) fn connected_user(_: SocketAddr, _: SocketAddr) -> io::Result<Option<u32>> {
    Err(unsupported("finding the user behind a loopback connection"))
}

pub(super) fn landlock_version() -> Option<i32> {
    None
}

pub(super) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// A process that is abandoned goes to launchd, and nothing changes that.
#[expect(clippy::unnecessary_wraps, reason = "it is a call on other systems")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// No signal is sent when a parent ends.
#[expect(clippy::unnecessary_wraps, reason = "it is a call on other systems")]
pub(super) fn die_with_parent(_: Pid) -> io::Result<()> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
pub(super) fn close_on_exec() -> io::Result<()> {
    darwin::close_on_exec();
    Ok(())
}

pub(super) fn open_terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    // A process that is started between the two calls gets a copy; those of ours close it.
    fcntl_setfd(&master, FdFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(&name, flags, Mode::empty())?;
    Ok((master, slave))
}

pub(super) fn bind_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixListener> {
    short_path(folder.path(), |path| UnixListener::bind(path.join(name)))
}

/// What has the name is looked at before, because a socket cannot be held open: one that takes its
/// place in between is connected to.
pub(super) fn connect_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixStream> {
    let is_socket = folder.stat(name)?.is_some_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::Socket && stat.st_nlink == 1
    });
    if !is_socket {
        let reason = format!("{} is not the holder's socket", folder.path().join(name).display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    short_path(folder.path(), |path| UnixStream::connect(path.join(name)))
}

/// The longest path of a folder whose sockets can be named directly; a socket's path has at most
/// 103 bytes.
const MAX_SOCKET_FOLDER: usize = 90;

/// Calls with a path that leads to a folder and is short enough for sockets: a link to it, in a
/// temporary folder, for as long as the call takes.
fn short_path<T>(folder: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if folder.as_os_str().len() <= MAX_SOCKET_FOLDER {
        return call(folder);
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    for number in 0_u32.. {
        let link = std::env::temp_dir().join(format!("coven-{own}-{number}"));
        match std::os::unix::fs::symlink(folder, &link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                let result = call(&link);
                fs::remove_file(&link)?;
                return result;
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Nothing is confined here, which [`crate::sandbox::Enforcement`] tells.
pub(crate) struct Confinement;

#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on other systems")]
impl Confinement {
    pub(crate) fn prepare(_: &Sandbox, _: Option<&Path>) -> Result<Self, SpawnError> {
        Ok(Self)
    }

    pub(crate) fn enforce(self) -> io::Result<()> {
        Ok(())
    }
}

/// Watches the names in a folder. The descriptor is readable once one was added or removed.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    queue: OwnedFd,
    /// Watched for as long as it is open.
    _folder: OpenFolder,
}

impl FolderWatch {
    pub(crate) fn new(folder: &OpenFolder) -> io::Result<Self> {
        let queue = darwin::kqueue()?;
        let vnode = folder.as_fd().as_raw_fd();
        let names = EventFilter::Vnode { vnode, flags: VnodeEvents::WRITE };
        let flags = EventFlags::ADD | EventFlags::CLEAR;
        darwin::change(&queue, &Event::new(names, flags, std::ptr::null_mut()))?;
        Ok(Self { queue, _folder: folder.clone() })
    }

    /// Forgets the changes so far: it is readable again after the next one.
    pub(crate) fn clear(&self) -> io::Result<()> {
        darwin::events(&self.queue, 1, Duration::ZERO).map(drop)
    }
}

impl AsFd for FolderWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// A process, by its id and its start. The descriptor becomes readable when it ends.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    queue: OwnedFd,
    pid: Pid,
    start: Option<u64>,
}

impl ProcessHandle {
    /// The process that has this id now.
    pub(crate) fn open(pid: i32) -> io::Result<Self> {
        let raw = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
        let queue = darwin::kqueue()?;
        let ends = EventFilter::Proc { pid: raw, flags: ProcessEvents::EXIT };
        let watched =
            darwin::change(&queue, &Event::new(ends, EventFlags::ADD, std::ptr::null_mut()));
        let start = super::process(pid).map(|info| info.start);
        match watched {
            Ok(()) => {}
            // It has ended and waits to be reaped: that is readable at once.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {
                trigger(&queue)?;
            }
            Err(error) => return Err(error),
        }
        Ok(Self { queue, pid: raw, start })
    }

    /// Its start is compared right before. A process that takes its id between the two calls would
    /// get the signal.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let now = super::process(self.pid.as_raw_nonzero().get()).map(|info| info.start);
        if self.start.is_none() || now != self.start {
            return Err(Errno::SRCH.into());
        }
        Ok(kill_process(self.pid, signal)?)
    }
}

/// Makes a queue readable for ever.
fn trigger(queue: &OwnedFd) -> io::Result<()> {
    use rustix::event::kqueue::{UserDefinedFlags, UserFlags};
    let event = |user: UserFlags, flags: EventFlags| {
        let filter =
            EventFilter::User { ident: 0, flags: user, user_flags: UserDefinedFlags::new(0) };
        Event::new(filter, flags, std::ptr::null_mut())
    };
    darwin::change(queue, &event(UserFlags::NOINPUT, EventFlags::ADD))?;
    darwin::change(queue, &event(UserFlags::TRIGGER, EventFlags::empty()))
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
