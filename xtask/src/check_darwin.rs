//! `cargo xtask check-darwin`: whether everything that ships type-checks for macOS. It needs the
//! target's standard library and no Mac: nothing is linked, nothing runs.

use std::path::Path;
use std::process::Command;

use crate::cargo;
use crate::error::Error;

const TARGET: &str = "aarch64-apple-darwin";

pub(crate) fn run() -> Result<(), Error> {
    if !is_installed()? {
        return Err(Error::NoTarget(TARGET));
    }
    // Libraries and programs; the tests look into `/proc`.
    cargo::run(&["clippy", "--workspace", "--target", TARGET, "--", "-D", "warnings"])
}

/// Whether the toolchain has the target's standard library.
fn is_installed() -> Result<bool, Error> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(cargo::root());
    let output = rustc.output().map_err(|source| Error::Start {
        command: "rustc --print target-libdir".to_owned(),
        source,
    })?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).is_dir())
}
