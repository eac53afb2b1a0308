//! The three things done to a journal's file, and in tests a disk on which each of them can fail.

#[cfg(not(test))]
pub(super) use self::real::{forget_cached, sync, trim, write};

#[cfg(test)]
pub(super) use self::faulty::{forget_cached, sync, trim, write};

mod real {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::time::Instant;

    #[cfg(target_os = "linux")]
    use coven_folder::best_effort;
    use coven_folder::disk_wait;

    use crate::journal::sync_times;

    pub(in crate::journal) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    pub(in crate::journal) fn trim(file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Lets the system forget what it believes to be in a file, so that the next read is of what is
    /// on the disk: after a failed sync, pages that never got there may count as written.
    pub(in crate::journal) fn forget_cached(file: &File) {
        #[cfg(target_os = "linux")]
        best_effort("read a file from the disk", {
            rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)
        });
        #[cfg(not(target_os = "linux"))]
        let _: &File = file;
    }

    pub(in crate::journal) fn sync(file: &File) -> io::Result<()> {
        disk_wait::check("syncing a journal");
        #[cfg(all(debug_assertions, target_os = "linux"))]
        crate::faults::check(file)?;
        let begun = Instant::now();
        let synced = file.sync_data();
        sync_times::took(begun.elapsed());
        synced
    }
}

/// A disk that has as much room, and works as well, as a test says.
#[cfg(test)]
pub(super) mod faulty {
    use std::cell::Cell;
    use std::fs::File;
    use std::io;

    use rustix::io::Errno;

    use super::real;

    thread_local! {
        /// How many bytes can be written on this thread, and what then happens.
        static ROOM: Cell<Option<(usize, Errno)>> = const { Cell::new(None) };
        /// Whether what was written can be taken back.
        static TRIMS: Cell<bool> = const { Cell::new(true) };
        /// What syncing says, if it fails.
        static SYNC: Cell<Option<Errno>> = const { Cell::new(None) };
        /// How often a file was to be read from the disk and not from memory.
        static FORGOTTEN: Cell<u32> = const { Cell::new(0) };
    }

    /// How often on this thread a file was to be read from the disk and not from memory.
    pub(in crate::journal) fn forgotten() -> u32 {
        FORGOTTEN.get()
    }

    pub(in crate::journal) fn forget_cached(file: &File) {
        FORGOTTEN.set(FORGOTTEN.get() + 1);
        real::forget_cached(file);
    }

    /// From now on on this thread: so much room and then this error, and files can be cut or not.
    pub(in crate::journal) fn set_room(room: Option<(usize, Errno)>, trims: bool) {
        ROOM.set(room);
        TRIMS.set(trims);
    }

    /// From now on on this thread syncing fails like this, or works.
    pub(in crate::journal) fn set_sync(error: Option<Errno>) {
        SYNC.set(error);
    }

    pub(in crate::journal) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let Some((room, errno)) = ROOM.get() else { return real::write(file, bytes, at) };
        let fits = bytes.len().min(room);
        ROOM.set(Some((room - fits, errno)));
        real::write(file, &bytes[..fits], at)?;
        if fits < bytes.len() { Err(errno.into()) } else { Ok(()) }
    }

    pub(in crate::journal) fn trim(file: &File, len: u64) -> io::Result<()> {
        if TRIMS.get() { real::trim(file, len) } else { Err(Errno::IO.into()) }
    }

    pub(in crate::journal) fn sync(file: &File) -> io::Result<()> {
        SYNC.get().map_or_else(|| real::sync(file), |errno| Err(errno.into()))
    }
}
