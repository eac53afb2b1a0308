//! Where something was measured, and with what.

use std::process::Command;
use std::{env, fs, thread};

use super::tmux;

/// A sentence about the machine, its system, the compiler and tmux.
pub fn sentence() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    // Only the number: the rest of a release names who built it.
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split(|char: char| !char.is_ascii_digit() && char != '.').next();
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "Measured on {cores} cores ({}), {} {}, {}, {}.\n\n",
        env::consts::ARCH,
        env::consts::OS,
        kernel.unwrap_or_default(),
        rustc.unwrap_or_default(),
        tmux::version().unwrap_or_else(|| "tmux: not installed".to_owned()),
    )
}
