//! Linux: `/proc`, process descriptors, subreapers, Landlock.

mod landlock;
mod waiting;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Component, Path, PathBuf};

use coven_folder::OpenFolder;
use rustix::fs::FileType;
use rustix::fs::inotify::{self, WatchFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal,
    set_child_subreaper, set_parent_process_death_signal, setrlimit,
};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use super::{Limitation, ProcessInfo, SocketPeer, TerminalLimits, ThreadActivity};
use crate::system;

pub(crate) use landlock::Confinement;
pub(super) use system::linux::close_on_exec;

pub(super) const ADOPTS_ORPHANS: bool = true;

pub(super) const LIMITATIONS: &[Limitation] = &[];

pub(super) fn process(pid: i32) -> Option<ProcessInfo> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name stands in parentheses and may contain anything, parentheses too.
    let (head, tail) = text.rsplit_once(") ")?;
    let name = head.split_once(" (")?.1.to_owned();
    let fields: Vec<&str> = tail.split(' ').collect();
    Some(ProcessInfo {
        zombie: matches!(*fields.first()?, "Z" | "X"),
        stopped: matches!(*fields.first()?, "T" | "t"),
        foreground: fields.get(5)?.parse().ok().filter(|group| *group > 0),
        group: fields.get(2)?.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        name,
    })
}

/// Functions of the kernel in which a thread waits for something that is not typed: time, another
/// process or thread, a pipe.
const WAITS_ELSEWHERE: &[&str] = &[
    "hrtimer_nanosleep",
    "do_nanosleep",
    "common_nsleep",
    "do_wait",
    "kernel_waitid",
    "do_sigtimedwait",
    "sigsuspend",
    "do_pause",
    "__do_sys_pause",
    "futex_",
    "pipe_read",
    "anon_pipe_read",
    "pipe_wait_readable",
];

pub(super) fn thread_activity(pid: i32) -> Option<Vec<ThreadActivity>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let one = |thread: io::Result<fs::DirEntry>| {
        let folder = thread.ok()?.path();
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches(':').trim())
        };
        let switches = |name: &str| field(name).and_then(|count| count.parse::<u64>().ok());
        let state = field("State")?.chars().next()?;
        let waits_elsewhere = match state {
            'R' | 'D' | 'Z' | 'X' => true,
            _ => {
                let place = fs::read_to_string(folder.join("wchan")).ok()?;
                WAITS_ELSEWHERE.iter().any(|name| place.starts_with(name))
                    || waiting::is_for_others(pid, &folder)
            }
        };
        let runs = switches("voluntary_ctxt_switches")? + switches("nonvoluntary_ctxt_switches")?;
        Some(ThreadActivity { waits_elsewhere, runs, works: matches!(state, 'R' | 'D') })
    };
    // A thread that ends meanwhile does not read any more.
    Some(threads.filter_map(one).collect())
}

pub(super) fn process_ids() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn environment(pid: i32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ"))
}

pub(super) fn command_line(pid: i32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/cmdline"))
}

pub(super) fn working_folder(pid: i32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

pub(super) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

pub(super) fn resident_memory() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or(io::ErrorKind::InvalidData)?;
    Ok(pages * rustix::param::page_size() as u64)
}

pub(super) fn terminal_limits() -> io::Result<TerminalLimits> {
    let number = |path: &str| -> io::Result<u64> {
        fs::read_to_string(path)?.trim().parse().map_err(io::Error::other)
    };
    let max = number("/proc/sys/kernel/pty/max")?;
    Ok(TerminalLimits { max, used: number("/proc/sys/kernel/pty/nr").ok() })
}

/// Bytes in message queues, of which nobody needs the last few thousand. The usual limit is
/// 819,200; this is lower and no number that somebody sets by chance.
const JOB_QUEUE_BYTES: u64 = 788_383;

pub(super) fn job_limit() -> Option<u64> {
    let own = getrlimit(Resource::Msgqueue).maximum;
    own.map_or(Some(JOB_QUEUE_BYTES), |own| Some(JOB_QUEUE_BYTES.min(own.checked_sub(1)?)))
}

pub(super) fn limit_of(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max msgqueue size"))?;
    let hard = line.split_whitespace().nth(1)?;
    if hard == "unlimited" { Some(u64::MAX) } else { hard.parse().ok() }
}

pub(super) fn lower_limit(limit: u64) -> io::Result<()> {
    let now = getrlimit(Resource::Msgqueue);
    let lower = |value: Option<u64>| Some(value.map_or(limit, |value| value.min(limit)));
    let lowered = Rlimit { current: lower(now.current), maximum: lower(now.maximum) };
    Ok(setrlimit(Resource::Msgqueue, lowered)?)
}

pub(super) fn cgroup_of(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    // The line of the second version; the others are of the first.
    let name = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

pub(super) fn cgroup_folder(name: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| cgroup_in(line, name))
}

/// The folder of a control group, by the line of a mount. The mount may show only a part of all
/// groups: what is below the one that the line names.
fn cgroup_in(line: &str, name: &str) -> Option<PathBuf> {
    let (head, tail) = line.split_once(" - ")?;
    if !tail.starts_with("cgroup2 ") {
        return None;
    }
    let mut fields = head.split(' ').skip(3);
    let (shown, place) = (fields.next()?, fields.next()?);
    let within = Path::new(name).strip_prefix(shown).ok()?;
    let plain = within.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| Path::new(place).join(within))
}

pub(super) fn socket_peer(socket: BorrowedFd<'_>) -> io::Result<SocketPeer> {
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(SocketPeer { uid: peer.uid.as_raw(), pid: peer.pid.as_raw_nonzero().get() })
}

pub(super) fn connected_process(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<i32>> {
    let Some(inode) = inode_of(peer, local)? else { return Ok(None) };
    let wanted = format!("socket:[{inode}]");
    let mut ids = process_ids()?;
    // The newest first: a client mostly has just been started.
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids.into_iter().find(|pid| {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        descriptors.flatten().any(|descriptor| {
            fs::read_link(descriptor.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str())
        })
    }))
}

pub(super) fn connected_user(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u32>> {
    let found = connection_entry(peer, local)?;
    // A socket without a number was closed, and then no user is told any more.
    Ok(found.filter(|entry| entry.inode != 0).map(|entry| entry.user))
}

/// The number of the client's socket, from the system's table of connections.
fn inode_of(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u64>> {
    Ok(connection_entry(peer, local)?.map(|entry| entry.inode))
}

/// What the system's tables of connections say about one.
struct ConnectionEntry {
    user: u32,
    inode: u64,
}

/// The client's end of a connection. A client may use a socket for both versions of the protocol,
/// which stands in a table of its own.
fn connection_entry(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<ConnectionEntry>> {
    let (SocketAddr::V4(peer), SocketAddr::V4(local)) = (peer, local) else { return Ok(None) };
    let written = |address: std::net::SocketAddrV4, mapped: &str| {
        // As the system writes it: the bytes of the address in the machine's own order.
        let ip = u32::from_ne_bytes(address.ip().octets());
        format!("{mapped}{ip:08X}:{:04X}", address.port())
    };
    let mapped = format!("{:016X}{:08X}", 0, u32::from_ne_bytes([0, 0, 0xff, 0xff]));
    for (table, mapped) in [("/proc/net/tcp", ""), ("/proc/net/tcp6", mapped.as_str())] {
        let text = match fs::read_to_string(table) {
            // A system without the newer protocol has no table of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !mapped.is_empty() => continue,
            read => read?,
        };
        let (from, to) = (written(peer, mapped), written(local, mapped));
        let found = text.lines().skip(1).find_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let ours = fields.next()? == from && fields.next()? == to;
            let user = ours.then(|| fields.nth(4)?.parse().ok())??;
            let inode = fields.nth(1)?.parse().ok()?;
            Some(ConnectionEntry { user, inode })
        });
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

pub(super) fn landlock_version() -> Option<i32> {
    Some(system::linux::landlock_abi()).filter(|abi| *abi >= 1)
}

/// The link means the running program even when its file was replaced.
#[expect(clippy::unnecessary_wraps, reason = "other systems have to ask")]
pub(super) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

pub(super) fn die_with_parent(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that took effect.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(Errno::CHILD.into()) }
}

pub(super) fn open_terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    Ok((master, slave))
}

pub(super) fn bind_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixListener> {
    UnixListener::bind(descriptor_path(folder).join(name))
}

pub(super) fn connect_socket(folder: &OpenFolder, name: &str) -> io::Result<UnixStream> {
    let socket = folder.handle_of(name)?;
    let stat = rustix::fs::fstat(&socket)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket || stat.st_nlink > 1 {
        return Err(not_a_socket(&folder.path().join(name)));
    }
    UnixStream::connect(descriptor_path(&socket))
}

fn not_a_socket(path: &Path) -> io::Error {
    let reason = format!("{} is not the holder's socket", path.display());
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// A path that means what a descriptor is open for, while it is open. The paths of sockets must be
/// short, however deep a folder lies.
fn descriptor_path(descriptor: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()))
}

/// Watches the names in a folder. The descriptor is readable once one was added or removed.
#[derive(Debug)]
pub(crate) struct FolderWatch(OwnedFd);

impl FolderWatch {
    pub(crate) fn new(folder: &OpenFolder) -> io::Result<Self> {
        let changes =
            inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let names = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        inotify::add_watch(&changes, descriptor_path(folder), names | WatchFlags::ONLYDIR)?;
        Ok(Self(changes))
    }

    /// Forgets the changes so far: it is readable again after the next one.
    pub(crate) fn clear(&self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(&self.0, &mut buffer) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for FolderWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A process, held so that no later one with its id can be mistaken for it. The descriptor becomes
/// readable when it ends.
#[derive(Debug)]
pub(crate) struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process that has this id now.
    pub(crate) fn open(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, signal)?)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
