//! What every chore needs: where the workspace is, how to run cargo in it, and other programs.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::Error;

/// The folder of the workspace's `Cargo.toml`.
///
/// `cargo run` names the package's folder at run time; the folder known at compile time serves
/// when the built program is started by hand.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// A cargo command at the root of the workspace, with the cargo that started us if there is one.
pub(crate) fn command<S: AsRef<str>>(args: &[S]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args.iter().map(AsRef::as_ref)).current_dir(root());
    command
}

/// Runs cargo with our own terminal, so that its output is seen as it comes.
pub(crate) fn run<S: AsRef<str>>(args: &[S]) -> Result<(), Error> {
    finish(args, command(args).status())
}

/// Runs cargo and hands back what it printed on stdout; what it says on stderr stays visible.
pub(crate) fn read<S: AsRef<str>>(args: &[S]) -> Result<Vec<u8>, Error> {
    let output = command(args).stderr(Stdio::inherit()).output();
    let (status, stdout) = match output {
        Ok(output) => (Ok(output.status), output.stdout),
        Err(error) => (Err(error), Vec::new()),
    };
    finish(args, status).map(|()| stdout)
}

/// Turns how a cargo command ended into a result that names the command.
pub(crate) fn finish<S: AsRef<str>>(
    args: &[S],
    ended: std::io::Result<ExitStatus>,
) -> Result<(), Error> {
    let shown = || args.iter().fold("cargo".to_owned(), |text, arg| text + " " + arg.as_ref());
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed { command: shown(), status }),
        Err(source) => Err(Error::Start { command: shown(), source }),
    }
}

/// Runs any program, with our own terminal.
pub(crate) fn succeed(command: &mut Command) -> Result<(), Error> {
    let ended = command.status();
    let shown = || {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed { command: shown(), status }),
        Err(source) => Err(Error::Start { command: shown(), source }),
    }
}
