//! Saved screens for output that will soon no longer be kept.
//!
//! The runner that follows a job saves its screen now and then. While no runner is connected, the
//! tape would in the end drop its beginning, and the screen could not be rebuilt. The holder itself
//! has no screen, which would take more memory than all the rest of it; it has one drawn by a
//! process that reads the tape, saves and ends.

use std::process::{Child, Command, Stdio};

use super::super::folder::HolderFolder;
use super::super::snap::ScreenSnap;
use crate::domain::Connection;
use crate::machine;

pub(super) struct Snapper {
    folder: HolderFolder,
    /// A saved screen is wanted every so many bytes.
    every: u64,
    next: u64,
    process: Option<Child>,
}

impl Snapper {
    /// A snapper for a tape that keeps so many bytes. What runs on pipes has no screen.
    pub(super) fn new(folder: HolderFolder, keep: u64, connection: Connection) -> Self {
        let every = match connection {
            Connection::Terminal(_) => keep / 4,
            Connection::Pipes => u64::MAX,
        };
        Self { folder, every, next: every, process: None }
    }

    /// The process that draws, which is not the job's.
    pub(super) fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(|process| process.id() as i32)
    }

    /// Takes note that a process has ended.
    pub(super) fn ended(&mut self, pid: i32) {
        if self.pid() == Some(pid) {
            self.process = None;
        }
    }

    /// Has the screen saved if that is due and no client did it.
    pub(super) fn output_reached(&mut self, end: u64) {
        if end < self.next || self.process.is_some() {
            return;
        }
        self.next = end + self.every;
        let saved = ScreenSnap::load(&self.folder).map_or(0, |snap| snap.offset);
        if end - saved.min(end) < self.every {
            return;
        }
        let draw = machine::own_program().and_then(|program| {
            Command::new(program)
                .args(["hold", "--snap"])
                .arg(self.folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        // Without it the job goes on; only the screen may be inexact one day.
        self.process = draw.ok();
    }
}
