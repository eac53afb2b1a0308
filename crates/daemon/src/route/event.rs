//! Events from outside.

use axum::extract::State;
use coven_api::event::{PostEvent, TriggeredSessions};
use coven_api::{Code, Problem};

use crate::answer::{Answer, Json, Read};
use crate::house::House;

/// The longest type of an event.
const LONGEST: usize = 200;

/// `POST /events`.
pub(super) async fn post(
    State(house): State<House>,
    Read(event): Read<PostEvent>,
) -> Answer<TriggeredSessions> {
    let decent = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:/".contains(&byte);
    if !(1..=LONGEST).contains(&event.kind.len()) || !event.kind.bytes().all(decent) {
        let detail = "the type of an event has letters, digits, and `. - _ : /`, 200 at most";
        return Err(Problem::new(Code::BadRequest, detail).into());
    }
    let path = house.owned(&house.folder(event.base_dir.as_deref())?)?;
    let orchestrator = house.orchestrator(&path).await?;
    house.trust_of(&path)?;
    let started = crate::house::post(&orchestrator, event).await?;
    Ok(Json(TriggeredSessions { started }))
}
