//! Looking at a task: its screen, its output, what it did, why we think so.

mod export;
mod piece;
mod transcript;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coven_api::task::{
    AttemptQuery, OutputQuery, TaskOutput, TaskScreen, TaskTranscript, VerdictExplanation,
};
use coven_api::{Code, Problem};
use coven_model::{AttemptId, Mode, Verdict};
use coven_orchestrator::TaskAccess;
use coven_runtime::hold::{Folder, rebuild};
use coven_store::BaseDir;
use coven_terminal::screen::{Options, Screen as Emulated, Size};
use coven_terminal::snapshot::Snapshot;

use super::task::task_id;
use crate::answer::{Answer, Failure, Json, Path, Query};
use crate::house::{self, House};
use crate::problems;

/// How much of what a process without a terminal printed is shown as its screen.
const TAIL: u64 = 64 * 1024;

/// An attempt that was found.
struct Found {
    access: TaskAccess,
    /// Whether it is the newest, and its process is followed.
    live: bool,
    title: String,
}

async fn find(house: &House, id: &str, task: &str, attempt: Option<u32>) -> Result<Found, Problem> {
    let house::Found { sessions, id: session, .. } = house.find(id).await?;
    let task = task_id(task)?;
    let access = sessions.task(&session, &task).await;
    let mut access = access.map_err(|error| problems::request(&error))?;
    let title = format!("{session} {task}");
    let wanted = attempt.unwrap_or(access.attempt.attempt);
    if wanted == access.attempt.attempt {
        let live = access.agent.is_some() || access.headless.is_some();
        return Ok(Found { access, live, title });
    }
    let attempt = AttemptId { task, attempt: wanted };
    let base =
        sessions.entry(&session).and_then(|entry| BaseDir::find(&entry.base_dir).ok().flatten());
    let folder = base.map(|base| base.attempt_path(&session, &attempt));
    let Some(folder) = folder.filter(|folder| wanted > 0 && folder.is_dir()) else {
        let newest = access.attempt.attempt;
        let detail = format!("there is no attempt {wanted}; the newest is {newest}");
        return Err(Problem::new(Code::TaskNotFound, detail));
    };
    (access.folder, access.attempt) = (folder, attempt);
    (access.agent, access.headless) = (None, None);
    Ok(Found { access, live: false, title })
}

/// Does something that reads much, where it holds nobody up.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Problem::new(Code::Internal, error.to_string())))
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::new(Code::Storage, format!("what it printed cannot be read: {error}"))
}

/// `GET …/screen`.
pub(super) async fn screen(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AttemptQuery>,
) -> Answer<TaskScreen> {
    let found = find(&house, &id, &task, query.attempt).await?;
    Ok(Json(shown(found).await?))
}

async fn shown(found: Found) -> Result<TaskScreen, Problem> {
    let (attempt, live) = (found.access.attempt.clone(), found.live);
    if let Some(agent) = &found.access.agent
        && let Some(view) = agent.view().await
    {
        return Ok(picture(attempt, &view.snapshot, &view.dump, view.offset, live));
    }
    let (folder, mode) = (found.access.folder.clone(), found.access.mode);
    aside(move || {
        let (mut screen, offset) = if mode == Mode::Headless {
            printed(&folder)?
        } else if folder.is_dir() {
            let rebuilt = rebuild(&Folder::new(&folder), &Options::default());
            rebuilt.map(|rebuilt| (rebuilt.screen, rebuilt.offset)).or_else(nothing_yet)?
        } else {
            (Emulated::new(Size::default()), 0)
        };
        Ok(picture(attempt, &screen.snapshot(), &screen.dump(), offset, live))
    })
    .await
}

/// A job that waits for its slot has no tape.
fn nothing_yet(error: coven_tape::Error) -> Result<(Emulated, u64), Problem> {
    if piece::is_absent(&error) {
        return Ok((Emulated::new(Size::default()), 0));
    }
    Err(unreadable(error))
}

/// The end of what a process without a terminal printed, as if it had one.
fn printed(folder: &std::path::Path) -> Result<(Emulated, u64), Problem> {
    let mut screen = Emulated::new(Size::default());
    let query = OutputQuery { offset: Some(-(TAIL as i64)), ..OutputQuery::default() };
    let piece = piece::read(folder, &query, false)?;
    let text = coven_terminal::sanitise::strip(&piece.bytes).replace('\n', "\r\n");
    screen.feed(text.trim_end().as_bytes());
    Ok((screen, piece.next))
}

fn picture(
    attempt: AttemptId,
    snapshot: &Snapshot,
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
        title: coven_notation::printable(snapshot.title()),
        cursor: (cursor.row, cursor.column),
        cursor_visible: cursor.visible,
        lines: lines.collect(),
        dump: STANDARD.encode(dump),
        offset,
        live,
    }
}

/// `GET …/output`.
pub(super) async fn output(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<OutputQuery>,
) -> Result<Response, Failure> {
    let found = find(&house, &id, &task, query.attempt).await?;
    let (folder, live, attempt) = (found.access.folder, found.live, found.access.attempt);
    let raw = query.raw.unwrap_or(false);
    let piece = aside(move || piece::read(&folder, &query, !raw)).await?;
    if raw {
        let headers = [
            (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
            (header::HeaderName::from_static("x-next-offset"), piece.next.to_string()),
        ];
        return Ok((headers, piece.bytes).into_response());
    }
    let text = coven_terminal::sanitise::strip(&piece.bytes).into_owned();
    let (offset, next, end) = (piece.offset, piece.next, piece.end);
    let output = TaskOutput { attempt, offset, next, end, live, dropped: piece.dropped, text };
    Ok(Json(output).into_response())
}

/// `GET …/transcript`.
pub(super) async fn transcript(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AttemptQuery>,
) -> Answer<TaskTranscript> {
    let found = find(&house, &id, &task, query.attempt).await?;
    let format = transcript::format(&house, &found.access);
    let (folder, live, attempt) = (found.access.folder, found.live, found.access.attempt);
    let (entries, usage) = aside(move || transcript::read(&folder, format)).await?;
    Ok(Json(TaskTranscript { attempt, entries, usage, live }))
}

/// `GET …/recording`.
pub(super) async fn recording(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
    Query(query): Query<AttemptQuery>,
) -> Result<Response, Failure> {
    let found = find(&house, &id, &task, query.attempt).await?;
    let name = format!("{}.{}.cast", found.access.attempt.task, found.access.attempt.attempt);
    let body = export::stream(found.access.folder, found.title).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/x-asciicast".to_owned()),
        (header::CONTENT_DISPOSITION, format!("inline; filename=\"{name}\"")),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// `GET …/explain`.
pub(super) async fn explain(
    State(house): State<House>,
    Path((id, task)): Path<(String, String)>,
) -> Answer<VerdictExplanation> {
    let found = find(&house, &id, &task, None).await?;
    let access = found.access.clone();
    let verdict = access.agent.as_ref().map(coven_runner::AgentRunner::verdict);
    let words = match &verdict {
        Some(verdict) => words(verdict),
        None if access.headless.is_some() => {
            "it runs without a terminal; it is working until its process ends".to_owned()
        }
        None => format!("its process is not followed; the task is {}", access.status),
    };
    let shown_task =
        house.workflow(&id).await?.tasks.into_iter().find(|item| item.id.as_str() == task);
    let since = shown_task.filter(|_| verdict.is_some()).and_then(|item| item.since);
    let screen = shown(found).await?;
    let mut lines = screen.lines;
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let (attempt, adapter, mode) = (access.attempt, access.adapter, access.mode);
    Ok(Json(VerdictExplanation { attempt, adapter, mode, verdict, since, words, lines }))
}

/// What was seen where, by which rule.
fn words(verdict: &Verdict) -> String {
    use coven_model::EvidenceSource as Source;
    let doing = match verdict.kind {
        Some(kind) => format!("{} ({kind})", verdict.state),
        None => verdict.state.to_string(),
    };
    let evidence = &verdict.evidence;
    let (rule, region) = (&evidence.rule, &evidence.region);
    let why = match evidence.source {
        Source::Signal => format!("the program says so itself by the signal `{rule}`"),
        Source::Title => format!("the rule `{rule}` matched the window title"),
        Source::Screen => format!("the rule `{rule}` matched the screen ({region})"),
        Source::Transcript => format!("its output says so (`{rule}`)"),
        Source::Quiet => "nothing was printed for a while".to_owned(),
        Source::Process => "its process started or ended".to_owned(),
    };
    if evidence.text.is_empty() {
        return format!("{doing}: {why}");
    }
    format!("{doing}: {why}: “{}”", coven_notation::printable(evidence.text.trim()))
}
