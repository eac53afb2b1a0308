//! What agents on terminals report by themselves.
//!
//! Everything that an agent starts can send what is answered here, so a report is a witness and
//! nothing more: it is noted, and the answer is always the same and decides nothing.

use axum::extract::{Request, State};
use coven_api::task::ReportAnswer;
use coven_api::{ApiProblem, ProblemCode};

use crate::answer::{Answer, Json, Path, beginning};
use crate::auth::bearer;
use crate::state::Daemon;

/// So much of a report is read: its event stands at its beginning, and what a tool gave at its end.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// `POST /hook/SESSION/TASK/ATTEMPT`: takes what the agent of an attempt reports.
pub(super) async fn take(
    State(daemon): State<Daemon>,
    Path((session, task, attempt)): Path<(String, String, String)>,
    request: Request,
) -> Answer<ReportAnswer> {
    let token = bearer(request.headers()).unwrap_or_default();
    let attempt = attempt.parse().unwrap_or(0);
    // The same whatever is wrong, so that a stranger learns of no session.
    let refused =
        || ApiProblem::new(ProblemCode::Unauthorized, "there is no token of an attempt that runs");
    let reporter = daemon.service.reporter(&session, &task, attempt, token).ok_or_else(refused)?;
    // One that is too large is taken all the same: the agent would show an error on its screen.
    reporter.take(&beginning(request.into_body(), MAX_REPORT_BYTES).await?);
    Ok(Json(ReportAnswer {}))
}
