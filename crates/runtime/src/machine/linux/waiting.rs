//! What a thread waits for: whether its terminal is among the files that it watches in `select`,
//! `poll` or `epoll`, or reads from. A program that pauses in one of these reads nothing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// More files than these are not looked through.
const MAX_FILES: usize = 4096;

/// The calls that wait for files, by their numbers.
struct WaitCalls {
    read: &'static [u64],
    select: &'static [u64],
    poll: &'static [u64],
    epoll: &'static [u64],
}

#[cfg(target_arch = "x86_64")]
const CALLS: WaitCalls =
    WaitCalls { read: &[0, 19], select: &[23, 270], poll: &[7, 271], epoll: &[232, 281, 441] };

#[cfg(target_arch = "aarch64")]
const CALLS: WaitCalls =
    WaitCalls { read: &[63, 65], select: &[72], poll: &[73], epoll: &[22, 441] };

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: WaitCalls = WaitCalls { read: &[], select: &[], poll: &[], epoll: &[] };

/// Whether the terminal is certainly not among what a thread of this process, with this folder in
/// `/proc`, waits for. What cannot be read is not certain.
pub(super) fn is_for_others(pid: i32, thread: &Path) -> bool {
    let files = awaited_files(pid, thread);
    files.is_some_and(|files| files.iter().all(|file| is_other(pid, *file)))
}

/// The files that a thread waits for. Without any it waits for a time or a signal.
fn awaited_files(pid: i32, thread: &Path) -> Option<Vec<u64>> {
    let text = fs::read_to_string(thread.join("syscall")).ok()?;
    let mut fields = text.split_whitespace();
    let call: u64 = fields.next()?.parse().ok()?;
    let mut argument =
        || -> Option<u64> { u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok() };
    let (first, second) = (argument()?, argument()?);
    if CALLS.read.contains(&call) {
        Some(vec![first])
    } else if CALLS.select.contains(&call) {
        // The first set is of those that are read from.
        files_of_set(pid, usize::try_from(first).ok()?, second)
    } else if CALLS.poll.contains(&call) {
        files_of_poll(pid, first, usize::try_from(second).ok()?)
    } else if CALLS.epoll.contains(&call) {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{first}")).ok()?;
        let file =
            |line: &str| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse::<u64>().ok();
        Some(info.lines().filter_map(file).collect())
    } else {
        None
    }
}

/// The files of a set of bits, of which so many count.
fn files_of_set(pid: i32, count: usize, address: u64) -> Option<Vec<u64>> {
    if address == 0 {
        return Some(Vec::new());
    }
    let bits = memory(pid, address, count.min(MAX_FILES).div_ceil(8))?;
    let is_set =
        |file: &usize| bits.get(file / 8).is_some_and(|byte| byte & (1 << (file % 8)) != 0);
    Some((0..count.min(MAX_FILES)).filter(is_set).map(|file| file as u64).collect())
}

/// The files in the entries of `poll`: a number of four bytes, and two times two of what is awaited
/// and what came.
fn files_of_poll(pid: i32, address: u64, count: usize) -> Option<Vec<u64>> {
    const ENTRY: usize = 8;
    if count > MAX_FILES {
        return None;
    }
    let entries = memory(pid, address, count * ENTRY)?;
    let file = |entry: &[u8]| {
        let number = i32::from_ne_bytes(entry.get(..4)?.try_into().ok()?);
        // Those below zero are left out.
        u64::try_from(number).ok()
    };
    Some(entries.chunks_exact(ENTRY).filter_map(file).collect())
}

fn memory(pid: i32, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    if length > 0 {
        File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    }
    Some(bytes)
}

/// Whether nothing that is typed comes through a file. One that stands for others, of which nobody
/// knows, may bring it.
fn is_other(pid: i32, file: u64) -> bool {
    let Ok(target) = fs::read_link(format!("/proc/{pid}/fd/{file}")) else { return false };
    let target = target.to_string_lossy();
    let is_terminal = target.starts_with("/dev/pts/") || target.starts_with("/dev/tty");
    let stands_for_others = target.contains("[io_uring]") || target.contains("[eventpoll]");
    !is_terminal && !stands_for_others && !target.starts_with("/dev/console")
}
