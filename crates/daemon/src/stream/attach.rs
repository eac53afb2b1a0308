//! `GET /workflows/{id}/tasks/{task}/attach`: who may look at a terminal, and how.

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use coven_api::attach::{AttachQuery, SUBPROTOCOL};
use coven_api::{Code, Problem};
use coven_model::TaskId;
use coven_orchestrator::TaskAccess;
use coven_terminal::screen::Size;

use super::Streams;
use super::socket::{name, speaking};
use super::viewer::{Terminal, Viewer};
use crate::answer::{Failure, Path, Query};
use crate::house::{Found, House};
use crate::peer::Caller;
use crate::problems;

/// The sizes a viewer may ask for.
const COLUMNS: std::ops::RangeInclusive<u16> = 2..=1000;
const ROWS: std::ops::RangeInclusive<u16> = 1..=1000;

/// Opens the terminal of a task.
pub(super) async fn attach(
    State(house): State<House>,
    Extension(streams): Extension<Streams>,
    Extension(caller): Extension<Caller>,
    Path((session, task)): Path<(String, String)>,
    Query(query): Query<AttachQuery>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = speaking(upgrade, SUBPROTOCOL)?;
    let size = match (query.cols, query.rows) {
        (Some(cols), Some(rows)) => {
            Some(size(cols, rows).map_err(|why| Problem::new(Code::BadRequest, why))?)
        }
        (None, None) => None,
        _ => {
            let detail = "`cols` and `rows` are given together or not at all";
            return Err(Problem::new(Code::BadRequest, detail).into());
        }
    };
    let place = streams.place()?;
    let Found { sessions, id, .. } = house.find(&session).await?;
    let task = TaskId::new(task.clone()).map_err(|_| {
        Problem::new(
            Code::TaskNotFound,
            format!("there is no task `{}`", super::socket::shown(&task)),
        )
    })?;
    let access = sessions.task(&id, &task).await.map_err(|error| problems::request(&error))?;
    let TaskAccess { attempt, folder, agent, headless, .. } = access;
    let Some(agent) = agent else {
        return Err(no_terminal(&task, headless.is_some()).into());
    };
    let seat = streams.keyboards.sit(id, attempt.clone(), &name(&headers));
    // An agent may look at others, and never answers for a person.
    let may_type = !query.read_only.unwrap_or(false) && caller.may_change().is_ok();
    if may_type && query.take.unwrap_or(false) {
        seat.take();
    } else if may_type {
        seat.take_if_free();
    }
    if let Some(size) = size.filter(|_| seat.holds()) {
        agent.resize(size).await;
    }
    let terminal = Terminal { attempt, folder, agent };
    let viewer = Viewer::new(terminal, seat, may_type, house.stopping());
    // The house waits for its tasks when it closes, so that the last words are said.
    Ok(upgrade.on_upgrade(async move |socket| {
        house.spawn(async move {
            viewer.show(socket).await;
            drop(place);
        });
    }))
}

/// A size that a terminal may have.
pub(super) fn size(cols: u16, rows: u16) -> Result<Size, String> {
    if COLUMNS.contains(&cols) && ROWS.contains(&rows) {
        return Ok(Size::new(cols, rows));
    }
    Err(format!(
        "a terminal has {} to {} columns and {} to {} rows, not {cols} and {rows}",
        COLUMNS.start(),
        COLUMNS.end(),
        ROWS.start(),
        ROWS.end()
    ))
}

fn no_terminal(task: &TaskId, headless: bool) -> Problem {
    if headless {
        let detail = format!("the task {task} runs without a terminal");
        Problem::new(Code::NoAgent, detail)
            .with_hint("`…/output` and `…/transcript` tell what it does")
    } else {
        let detail = format!("the task {task} has no running agent");
        Problem::new(Code::NoAgent, detail)
            .with_hint("`…/screen`, `…/output` and `…/recording` tell what it did")
    }
}
