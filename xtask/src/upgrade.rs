//! `cargo xtask upgrade`: older builds beside this one. Builds a commit of the past, lets its
//! daemon and its holders run agents, and has this tree's build go on with them; and the last
//! commit that did not seal journals, whose sessions are foreign. Opt-in: it builds everything
//! twice more, in target/upgrade/.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The older commit: the first one that sealed journals, unless named
    #[arg(long, value_name = "COMMIT", default_value = FIRST_SEALING_COMMIT)]
    from: String,
}

/// The first commit that sealed journals.
const FIRST_SEALING_COMMIT: &str = "97a0e2e";

/// The last commit that did not: its sessions are read, and never run.
const LAST_UNSEALED_COMMIT: &str = "6a4d9ea";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let folder = cargo::root().join("target/upgrade");
    let older = build(&folder, &args.from)?;
    let unsealed = build(&folder, LAST_UNSEALED_COMMIT)?;
    let line = ["test", "--package", "coven-cli", "--test", "cli", "upgrade::"];
    let line = [&line[..], &["--", "--ignored", "--nocapture"]].concat();
    let ended =
        cargo::command(&line).env("COVEN_OLDER", older).env("COVEN_UNSEALED", unsealed).status();
    cargo::finish(&line, ended)
}

/// Builds a commit, and says where its program is.
fn build(folder: &Path, commit: &str) -> Result<PathBuf, Error> {
    let sources = folder.join("sources");
    if sources.exists() {
        git(&sources, &["checkout", "--quiet", "--force", "--detach", commit])?;
    } else {
        let place = sources.to_string_lossy();
        // A clone of its own leaves the list of worktrees here as it is.
        git(&cargo::root(), &["clone", "--quiet", "--shared", "--no-checkout", ".", &place])?;
        git(&sources, &["checkout", "--quiet", "--detach", commit])?;
    }
    let build = ["build", "--package", "coven-cli", "--bin", "coven"];
    let ended = cargo::command(&build)
        .current_dir(&sources)
        .env("CARGO_TARGET_DIR", folder.join("build"))
        .status();
    cargo::finish(&build, ended)?;
    let program = folder.join(format!("coven-{commit}"));
    // The next commit is built into the same place.
    let mut copy = Command::new("cp");
    cargo::succeed(copy.arg(folder.join("build/debug/coven")).arg(&program))?;
    Ok(program)
}

fn git(folder: &Path, args: &[&str]) -> Result<(), Error> {
    let mut command = Command::new("git");
    cargo::succeed(command.args(args).current_dir(folder))
}
