//! What waits for a person, and deciding it.

use axum::Extension;
use axum::extract::State;
use coven_api::device::DeviceRole;
use coven_api::intervention::{DecideRequest, DecideResponse, InterventionList, InterventionQuery};

use crate::answer::{Answer, Json, JsonBody, Path, Query};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn list(
    State(daemon): State<Daemon>,
    Query(query): Query<InterventionQuery>,
) -> Answer<InterventionList> {
    Ok(Json(daemon.service.interventions(&query).await?))
}

pub(super) async fn decide(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path((session, number)): Path<(String, String)>,
    JsonBody(decide): JsonBody<DecideRequest>,
) -> Answer<DecideResponse> {
    // What is written into the policy counts for every session.
    if decide.save {
        caller.may(DeviceRole::Full)?;
    }
    Ok(Json(daemon.service.decide(&session, &number, decide, caller.name()).await?))
}
