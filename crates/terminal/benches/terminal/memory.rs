//! Memory per screen: how much a process grows when it makes many. Every case has a process of
//! its own, this program started again, so that none profits from what another left behind.

use std::hint::black_box;
use std::process::Command;
use std::{env, fs, io};

use coven_terminal::screen::{GridSize, Screen};
use coven_testkit::bench::emulator::{BareEmulator, LIKE_OURS};
use coven_testkit::bench::pty::CHUNK;
use coven_testkit::streams;

/// Followed by subject, case and number of screens: be such a process.
pub(crate) const ARGUMENT: &str = "--memory";

/// Written to each screen that is not idle.
const WRITTEN: usize = 1_000_000;

const OURS: &str = "screen";
const EMULATOR: &str = "emulator";

/// Names of the cases and what they are.
pub(crate) const CASES: [(&str, &str); 5] = [
    ("idle", "new and idle"),
    ("log", "after 1 MB of log; one screen after the other"),
    ("together", "the same, all screens at the same time"),
    ("snapshot", "the same, and a snapshot was taken of each"),
    ("alternate", "after 1 MB of TUI on the alternate screen"),
];

/// KiB per screen in one case, ours and the emulator's; nothing where it cannot be measured.
pub(crate) struct Growth {
    pub(crate) case: &'static str,
    pub(crate) ours: Option<f64>,
    pub(crate) emulator: Option<f64>,
}

pub(crate) fn measure(screens: usize) -> io::Result<Vec<Growth>> {
    let measured = |(case, description): (&str, &'static str)| {
        let ours = in_child(OURS, case, screens)?;
        // The emulator has no snapshots.
        let emulator = if case == "snapshot" { None } else { in_child(EMULATOR, case, screens)? };
        Ok(Growth { case: description, ours, emulator })
    };
    CASES.into_iter().map(measured).collect()
}

fn in_child(subject: &str, case: &str, screens: usize) -> io::Result<Option<f64>> {
    let output = Command::new(env::current_exe()?)
        .args([ARGUMENT, subject, case, &screens.to_string()])
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// Prints the KiB that each of so many screens takes.
pub(crate) fn child(subject: &str, case: &str, screens: &str) -> io::Result<()> {
    let count: usize = screens.parse().map_err(io::Error::other)?;
    let growth = match subject {
        OURS => grow(case, count, || Screen::new(GridSize::new(80, 24))),
        _ => grow(case, count, || BareEmulator::new(80, 24, LIKE_OURS)),
    }?;
    println!("{growth:.1}");
    Ok(())
}

trait Terminal {
    fn feed(&mut self, bytes: &[u8]);
    fn look(&mut self) {}
}

impl Terminal for Screen {
    fn feed(&mut self, bytes: &[u8]) {
        self.feed(bytes);
        self.take_signals();
        self.take_replies();
    }

    fn look(&mut self) {
        black_box(self.snapshot());
    }
}

impl Terminal for BareEmulator {
    fn feed(&mut self, bytes: &[u8]) {
        self.feed(bytes);
    }
}

fn grow<T: Terminal>(case: &str, count: usize, new: impl Fn() -> T) -> io::Result<f64> {
    let log = streams::log(WRITTEN);
    let mut tui = b"\x1b[?1049h".to_vec();
    tui.extend(streams::tui(WRITTEN));
    let mut terminals = Vec::with_capacity(count);
    let before = resident()?;
    terminals.extend((0..count).map(|_| new()));
    match case {
        "idle" => {}
        "log" => one_after_the_other(&mut terminals, &log),
        "alternate" => one_after_the_other(&mut terminals, &tui),
        "together" => together(&mut terminals, &log),
        _ => {
            together(&mut terminals, &log);
            terminals.iter_mut().for_each(T::look);
        }
    }
    let after = resident()?;
    drop(black_box(terminals));
    Ok((after as f64 - before as f64) / count as f64)
}

fn one_after_the_other(terminals: &mut [impl Terminal], bytes: &[u8]) {
    for terminal in terminals {
        bytes.chunks(CHUNK).for_each(|chunk| terminal.feed(chunk));
    }
}

fn together(terminals: &mut [impl Terminal], bytes: &[u8]) {
    for chunk in bytes.chunks(CHUNK) {
        for terminal in &mut *terminals {
            terminal.feed(chunk);
        }
    }
}

/// KiB of this process that are in memory. Unlike its siblings this file is exact.
fn resident() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| io::Error::other("no Rss in smaps_rollup"))
}
