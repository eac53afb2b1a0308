//! Unsafe calls that only macOS has: kqueue, sysctl, libproc.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::kqueue::{self, Event};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// The last signal; there are no realtime signals.
pub(crate) const LAST_SIGNAL: libc::c_int = 31;

/// A kernel queue that is not inherited.
pub(crate) fn kqueue() -> io::Result<OwnedFd> {
    let queue = kqueue::kqueue()?;
    fcntl_setfd(&queue, FdFlags::CLOEXEC)?;
    Ok(queue)
}

/// Changes what a queue watches.
pub(crate) fn change(queue: &OwnedFd, event: &Event) -> io::Result<()> {
    let mut none: Vec<Event> = Vec::new();
    // SAFETY: a descriptor that is closed while it is watched is forgotten by the kernel, and the
    // number may then be watched anew; no memory depends on it.
    unsafe {
        kqueue::kevent(queue, &[*event], spare_capacity(&mut none), Some(Duration::ZERO))?;
    }
    Ok(())
}

/// Waits for at most so many events. A signal ends the wait, without events.
pub(crate) fn events(queue: &OwnedFd, most: usize, limit: Duration) -> io::Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::with_capacity(most);
    // SAFETY: as in `change`; nothing is changed here.
    match unsafe { kqueue::kevent(queue, &[], spare_capacity(&mut events), Some(limit)) } {
        Ok(_) | Err(Errno::INTR) => Ok(events),
        Err(error) => Err(error.into()),
    }
}

/// Marks every descriptor from 3 on to be closed at exec. Safe between fork and exec.
pub(crate) fn close_on_exec() {
    // SAFETY: both calls take and give numbers only; a descriptor that is not open is refused.
    unsafe {
        for descriptor in 3..libc::getdtablesize() {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// A structure that `proc_pidinfo` may fill: numbers and arrays of numbers, so that any bytes are a
/// value.
pub(crate) trait Flavor {
    const NUMBER: libc::c_int;
}

impl Flavor for libc::proc_bsdinfo {
    const NUMBER: libc::c_int = libc::PROC_PIDTBSDINFO;
}

impl Flavor for libc::proc_taskinfo {
    const NUMBER: libc::c_int = libc::PROC_PIDTASKINFO;
}

/// What libproc tells about a process.
pub(crate) fn process_info<T: Flavor>(pid: i32) -> io::Result<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = size_of::<T>() as libc::c_int;
    // SAFETY: the buffer has as many bytes as is said, and the structure is one of those that the
    // flavor's number stands for.
    let filled = unsafe { libc::proc_pidinfo(pid, T::NUMBER, 0, info.as_mut_ptr().cast(), size) };
    if filled != size {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was filled, and any bytes are a value of these structures.
    Ok(unsafe { info.assume_init() })
}

/// The session of a process.
pub(crate) fn session(pid: i32) -> io::Result<i32> {
    // SAFETY: takes and gives a number.
    match unsafe { libc::getsid(pid) } {
        -1 => Err(io::Error::last_os_error()),
        session => Ok(session),
    }
}

/// The ids of all processes.
pub(crate) fn process_ids() -> io::Result<Vec<i32>> {
    // More may be started between the two calls.
    const ROOM: usize = 256;
    // SAFETY: without a buffer it only counts.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    let mut ids = vec![0_i32; count + ROOM];
    let size = (ids.len() * size_of::<i32>()) as libc::c_int;
    // SAFETY: the buffer has as many bytes as is said.
    let count = unsafe { libc::proc_listallpids(ids.as_mut_ptr().cast(), size) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    ids.truncate(count);
    Ok(ids)
}

/// A value of the kernel's, by its name.
pub(crate) fn sysctl(name: &CStr) -> io::Result<Vec<u8>> {
    let read = |buffer: *mut libc::c_void, length: &mut usize| {
        // SAFETY: the name ends with a zero byte, and the kernel writes at most `length` bytes to
        // the buffer, or only tells the length if there is none. Nothing is set.
        let result =
            unsafe { libc::sysctlbyname(name.as_ptr(), buffer, length, std::ptr::null_mut(), 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    read_sized(read)
}

/// A value whose length the kernel tells when it is given no buffer.
fn read_sized(
    mut read: impl FnMut(*mut libc::c_void, &mut usize) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut length = 0;
    read(std::ptr::null_mut(), &mut length)?;
    let mut value = vec![0; length];
    read(value.as_mut_ptr().cast(), &mut length)?;
    value.truncate(length);
    Ok(value)
}

/// The arguments and the environment of a process, as `KERN_PROCARGS2` gives them: their count, the
/// program's path, zero bytes, then entries that each end with one.
pub(crate) fn arguments(pid: i32) -> io::Result<Vec<u8>> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let read = |buffer: *mut libc::c_void, length: &mut usize| {
        // SAFETY: as in `sysctl`, by three numbers.
        let result =
            unsafe { libc::sysctl(name.as_mut_ptr(), 3, buffer, length, std::ptr::null_mut(), 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    read_sized(read)
}

/// The user and the process at the other end of a unix socket.
pub(crate) fn socket_peer(socket: impl AsFd) -> io::Result<(u32, i32)> {
    let socket = socket.as_fd().as_raw_fd();
    let (mut user, mut group) = (0, 0);
    // SAFETY: writes one user and one group.
    if unsafe { libc::getpeereid(socket, &raw mut user, &raw mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut pid: libc::pid_t = 0;
    let mut length = size_of::<libc::pid_t>() as libc::socklen_t;
    // SAFETY: writes at most as many bytes as a process id has.
    let result = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_LOCAL,
            libc::LOCAL_PEERPID,
            (&raw mut pid).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok((user, pid)) } else { Err(io::Error::last_os_error()) }
}
