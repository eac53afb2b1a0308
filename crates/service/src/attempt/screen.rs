//! What the terminal of an attempt shows, or showed last.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coven_api::task::{OutputQuery, TaskScreen};
use coven_model::{AgentMode, AttemptId};
use coven_orchestrator::TaskAccess;
use coven_runner::HiddenTexts;
use coven_runtime::hold::{HolderFolder, rebuild};
use coven_terminal::screen::{GridSize, Options, Screen as Emulated};
use coven_terminal::snapshot::ScreenSnapshot;

use super::output;
use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::text::printable;

/// How much of what a process without a terminal printed is shown as its screen.
const TAIL_BYTES: i64 = 64 * 1024;

/// How much more is read, so that a secret at the beginning of that is whole.
const MAX_SECRET_BYTES: i64 = 64 * 1024;

/// The screen of a living agent, or the one that its tape gives.
pub(super) async fn of(access: &TaskAccess, live: bool) -> Result<TaskScreen, ServiceError> {
    let attempt = access.attempt.clone();
    if let Some(agent) = &access.agent
        && let Some(view) = agent.view().await
    {
        return Ok(picture(attempt, &view.snapshot, &view.dump, view.offset, live));
    }
    let (folder, mode) = (access.folder.clone(), access.mode);
    blocking(move || {
        let (mut screen, offset) = if mode == AgentMode::Headless {
            printed(&folder)?
        } else if folder.is_dir() {
            let rebuilt = rebuild(&HolderFolder::new(&folder), &Options::default());
            rebuilt.map(|rebuilt| (rebuilt.screen, rebuilt.offset)).or_else(nothing_yet)?
        } else {
            (Emulated::new(GridSize::default()), 0)
        };
        Ok(picture(attempt, &screen.snapshot(), &screen.dump(), offset, live))
    })
    .await
}

/// A job that waits for its slot has no tape.
fn nothing_yet(error: coven_tape::Error) -> Result<(Emulated, u64), ServiceError> {
    if output::is_absent(&error) {
        return Ok((Emulated::new(GridSize::default()), 0));
    }
    Err(ServiceError::unreadable(error))
}

/// The end of what a process without a terminal printed, as if it had one, without its secrets.
fn printed(folder: &Path) -> Result<(Emulated, u64), ServiceError> {
    let mut screen = Emulated::new(GridSize::default());
    let offset = Some(-(TAIL_BYTES + MAX_SECRET_BYTES));
    let piece = output::read(folder, &OutputQuery { offset, ..OutputQuery::default() }, false)?;
    let hidden = HiddenTexts::load(folder).map_err(ServiceError::unreadable)?;
    let text = hidden.clean(&coven_terminal::sanitise::strip(&piece.bytes));
    // Cut only now: of a secret, a part is not recognised.
    let tail = usize::try_from(TAIL_BYTES).unwrap_or_default();
    let begin = text.floor_char_boundary(text.len().saturating_sub(tail));
    screen.feed(text[begin..].replace('\n', "\r\n").trim_end().as_bytes());
    Ok((screen, piece.next))
}

fn picture(
    attempt: AttemptId,
    snapshot: &ScreenSnapshot,
    dump: &[u8],
    offset: u64,
    live: bool,
) -> TaskScreen {
    let (size, cursor) = (snapshot.size(), snapshot.cursor());
    let lines = snapshot.rows().iter().map(|row| row.text().trim_end_matches(' ').to_owned());
    TaskScreen {
        attempt,
        cols: size.columns,
        rows: size.rows,
        title: printable(snapshot.title()),
        cursor: (cursor.row, cursor.column),
        cursor_visible: cursor.visible,
        lines: lines.collect(),
        dump: STANDARD.encode(dump),
        offset,
        live,
    }
}

#[cfg(test)]
mod tests {
    use coven_tape::{Options as TapeOptions, TapeStream, TapeWriter};

    use super::*;

    /// What a secret is cut in is shown by its second half, which nothing recognises as one.
    #[test]
    fn of_a_secret_at_the_beginning_of_what_is_shown_no_part_is_shown() {
        let secret = "caller-s3cret-0001-with-an-end";
        let tail = usize::try_from(TAIL_BYTES).unwrap();
        for seen in [1, 10, secret.len() - 1] {
            let root = tempfile::tempdir().unwrap();
            let folder = std::fs::canonicalize(root.path()).unwrap();
            HiddenTexts::of([secret]).save(&folder).unwrap();
            let mut tape = TapeWriter::create(&folder, TapeOptions::default()).unwrap();
            let text = format!("begin {secret}{}", "\n".repeat(tail - seen));
            tape.output(0, TapeStream::Out, text.as_bytes()).unwrap();
            drop(tape);
            let (mut screen, _) = printed(&folder).unwrap();
            let shown = screen.snapshot().text();
            assert!(!shown.contains("end") && !shown.contains("cret"), "{seen}: {shown}");
        }
    }
}
