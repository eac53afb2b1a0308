//! Long texts on a terminal go through the person's pager.

use std::env;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Result;
use crate::output;

/// The pager where `PAGER` names none.
const DEFAULT_PAGER: &str = "less";

/// How `less` is asked to behave unless `LESS` says it: a short text is left on the screen, and
/// colours are shown.
const LESS_OPTIONS: &str = "FRX";

/// Shows a text by the pager, or prints it where there is none.
pub(super) async fn show(text: &str) -> Result {
    let pager = env::var("PAGER").unwrap_or_else(|_| DEFAULT_PAGER.to_owned());
    if pager.trim().is_empty() || pager == "cat" || crate::tty::is_dumb() {
        return output::write(text);
    }
    // Ctrl-C is for the pager, which would otherwise be left alone with the terminal.
    let interrupts = signal(SignalKind::interrupt());
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    let Ok(mut child) = command.spawn() else { return output::write(text) };
    if let Some(mut input) = child.stdin.take() {
        // A person who has seen enough ends the pager before it has read everything.
        input.write_all(output::shown(text).as_bytes()).await.ok();
    }
    let ended = child.wait().await;
    drop(interrupts);
    match ended.ok().and_then(|status| status.code()) {
        // The shell found no such program.
        Some(126 | 127) => output::write(text),
        _ => Ok(()),
    }
}
