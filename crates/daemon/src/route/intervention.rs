//! What waits for a person, and deciding it.

use axum::Extension;
use axum::extract::State;
use coven_api::intervention::{Decide, DecideResponse, InterventionList, InterventionQuery};
use coven_api::{Code, Problem};
use coven_model::{Decision, InterventionId, SessionId};

use crate::answer::{Answer, Json, Path, Query, Read};
use crate::house::House;
use crate::peer::Caller;
use crate::problems;

/// `GET /interventions`.
pub(super) async fn list(
    State(house): State<House>,
    Query(query): Query<InterventionQuery>,
) -> Answer<InterventionList> {
    let state = query.state.unwrap_or_default();
    let interventions = house.interventions(state, query.workflow.as_deref()).await?;
    Ok(Json(InterventionList { interventions }))
}

/// `POST /interventions/{session}/{number}`.
pub(super) async fn decide(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Path((session, number)): Path<(String, String)>,
    Read(decide): Read<Decide>,
) -> Answer<DecideResponse> {
    let id = intervention(&session, &number)?;
    let orchestrator = house.asked(&id).await?;
    let mut decision = Decision::new(decide.decision, caller.name());
    decision.text = decide.answer;
    decision.why = decide.why.unwrap_or_default();
    // Without a digest nobody knows what the decider saw.
    let open = orchestrator.interventions().await.into_iter().find(|asked| asked.id == id);
    if let Some(asked) = &open
        && asked.digest.is_some()
        && decide.digest.is_none()
    {
        let detail = "this is about a screen, and the decision does not say what was seen";
        return Err(Problem::new(Code::BadDecision, detail)
            .with_hint("send the intervention's `digest` along")
            .into());
    }
    match orchestrator.answer(&id, decision, decide.digest).await {
        Ok(()) => Ok(Json(DecideResponse { workflow_id: id.session(), decision: decide.decision })),
        Err(error) => {
            let problem = problems::request(&error);
            if problem.code != Code::AlreadyDecided && problem.code != Code::NotNow {
                return Err(problem.into());
            }
            // One that never was cannot have been decided.
            let past = orchestrator.decided(&id.session()).await;
            let known = open.is_some() || past.iter().any(|(asked, _)| asked.id == id);
            let code = if known { Code::AlreadyDecided } else { Code::InterventionNotFound };
            let by = past.iter().find(|(asked, _)| asked.id == id);
            let by = by.and_then(|(_, decision)| decision.as_ref());
            let detail = match by {
                Some(decision) => format!("{} decided it before: {}", decision.by, decision.choice),
                None if known => "it is not asked any more".to_owned(),
                None => format!("there is no intervention {id}"),
            };
            Err(Problem::new(code, detail).into())
        }
    }
}

/// An intervention by the two parts of its id.
pub(crate) fn intervention(session: &str, number: &str) -> Result<InterventionId, Problem> {
    let unknown = || {
        let shown: String = format!("{session}/{number}").chars().take(100).collect();
        let shown = coven_notation::printable(&shown);
        Problem::new(Code::InterventionNotFound, format!("there is no intervention {shown}"))
    };
    let session = SessionId::new(session).map_err(|_| unknown())?;
    let number = number.parse().map_err(|_| unknown())?;
    Ok(InterventionId::in_session(&session, number))
}
