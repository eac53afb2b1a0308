//! `GET /workflows/{id}/tasks/{task}/attach`: who may look at a terminal, and how.

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use coven_api::attach::{AttachQuery, SUBPROTOCOL};
use coven_api::device::DeviceRole;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::Terminal;

use super::followers::StreamLimits;
use super::socket::{name, subprotocol_upgrade};
use super::viewer::Viewer;
use crate::answer::{HttpFailure, Path, Query};
use crate::peer::Caller;
use crate::state::Daemon;

/// Opens the terminal of a task.
pub(super) async fn attach(
    State(daemon): State<Daemon>,
    Extension(streams): Extension<StreamLimits>,
    Extension(caller): Extension<Caller>,
    Path((session, task)): Path<(String, String)>,
    Query(query): Query<AttachQuery>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, HttpFailure> {
    let upgrade = subprotocol_upgrade(upgrade, SUBPROTOCOL)?;
    let size = match (query.cols, query.rows) {
        (Some(cols), Some(rows)) => {
            Terminal::check_size(cols, rows)?;
            Some((cols, rows))
        }
        (None, None) => None,
        _ => {
            let detail = "`cols` and `rows` are given together or not at all";
            return Err(ApiProblem::new(ProblemCode::BadRequest, detail).into());
        }
    };
    let place = streams.place()?;
    let service = daemon.service;
    let terminal = service.terminal(&session, &task).await?;
    let (session, attempt) = (terminal.session().clone(), terminal.attempt().clone());
    let seat = streams.keyboards.join(session, attempt, &name(&headers));
    // An agent, or a device that may only look, never answers for a person.
    let may_type = !query.read_only.unwrap_or(false) && caller.may(DeviceRole::Answer).is_ok();
    if may_type && query.take.unwrap_or(false) {
        seat.take();
    } else if may_type {
        seat.take_if_free();
    }
    if let Some((cols, rows)) = size.filter(|_| seat.holds()) {
        terminal.resize(cols, rows).await?;
    }
    let viewer = Viewer::new(terminal, seat, may_type, service.stopping());
    // The service waits for its tasks when it closes, so that the last words are said.
    Ok(upgrade.on_upgrade(async move |socket| {
        service.spawn(async move {
            viewer.show(socket).await;
            drop(place);
        });
    }))
}
