//! A file that grows at its end, and stays as it was where it cannot.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use coven_folder::best_effort;

/// A file of the segment that is written.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: File,
    /// How much of the file counts. What lies behind it is left from a write that failed, and the
    /// next write goes over it.
    len: u64,
}

impl AppendFile {
    /// A file that was created.
    pub(super) fn new(file: File) -> Self {
        Self { file, len: 0 }
    }

    /// A file that was there, cut to this length.
    pub(super) fn cut_to(file: File, len: u64) -> io::Result<Self> {
        file.set_len(len)?;
        Ok(Self { file, len })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Writes all of this at the end, or nothing.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match write(&self.file, bytes, self.len) {
            Ok(()) => {
                self.len += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.roll_back(self.len);
                Err(error)
            }
        }
    }

    /// Takes back what was written last.
    pub(super) fn roll_back(&mut self, len: u64) {
        self.len = len;
        // If this fails nothing is wrong: no entry speaks of these bytes.
        best_effort("cut off what was written last", trim(&self.file, len));
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(not(test))]
fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

#[cfg(not(test))]
fn trim(file: &File, len: u64) -> io::Result<()> {
    file.set_len(len)
}

#[cfg(test)]
use full::{trim, write};

/// A disk with as much room as a test says.
#[cfg(test)]
pub(super) mod full {
    use super::{File, FileExt, io};
    use std::cell::Cell;

    thread_local! {
        /// How many bytes can be written on this thread until the disk is full.
        static ROOM: Cell<usize> = const { Cell::new(usize::MAX) };
        /// Whether what was written can be taken back.
        static TRIMS: Cell<bool> = const { Cell::new(true) };
    }

    /// From now on there is this much room, and files can be cut or not.
    pub(in crate::writer) fn set(room: usize, trims: bool) {
        ROOM.set(room);
        TRIMS.set(trims);
    }

    pub(super) fn write(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let fits = bytes.len().min(ROOM.get());
        ROOM.set(ROOM.get() - fits);
        file.write_all_at(&bytes[..fits], at)?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    pub(super) fn trim(file: &File, len: u64) -> io::Result<()> {
        if TRIMS.get() { file.set_len(len) } else { Err(io::ErrorKind::Other.into()) }
    }
}
