//! The browser that the page's tests need: Chromium and its driver.

use std::process::Command;
use std::{env, fs};

use crate::cargo;
use crate::error::Error;

const DRIVER: &str = "chromedriver";
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Sees to it that there is a browser: installs Debian's where that is possible, and otherwise says
/// what to do.
pub(crate) fn arrange() -> Result<(), Error> {
    let path = env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| {
        env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    };
    if find(DRIVER).is_some() {
        return Ok(());
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| owner(&me) == 0);
    if !is_root || find("apt-get").is_none() {
        return Err(Error::NoBrowser);
    }
    eprintln!("the tests of the page need Chromium; installing {}", PACKAGES.join(" and "));
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", PACKAGES[0], PACKAGES[1]])
}

#[cfg(unix)]
fn owner(metadata: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

fn apt(args: &[&str]) -> Result<(), Error> {
    let mut apt = Command::new("apt-get");
    cargo::succeed(apt.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}
