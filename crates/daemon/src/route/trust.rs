//! What a folder brings along, and agreeing to it.

use std::path::Path;

use axum::extract::State;
use coven_api::catalogue::BaseDirQuery;
use coven_api::system::{SetTrust, Trust, TrustState};
use coven_api::{Code, Problem};
use coven_store::FolderOwners;

use crate::answer::{Answer, Json, Query, Read};
use crate::house::{House, usable};
use crate::trust::Agreement;

/// `GET /trust`.
pub(super) async fn show(
    State(house): State<House>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<Trust> {
    let path = house.folder_to_read(query.base_dir.as_deref())?;
    Ok(Json(house.trust_of(&path)?))
}

/// `POST /trust`. To trust, the decider says what they saw.
pub(super) async fn set(State(house): State<House>, Read(set): Read<SetTrust>) -> Answer<Trust> {
    let path = Path::new(&set.base_dir);
    if !set.trusted {
        return Ok(Json(house.set_trust(path, Agreement::Nothing)?));
    }
    if let Some(seen) = &set.owners {
        return Ok(Json(agree_to_owners(&house, path, seen)?));
    }
    let now = house.trust_of(path)?;
    if now.state == TrustState::NotOwned {
        house.owned(path)?;
    }
    match (&now.digest, &set.digest) {
        (None, _) => Ok(Json(now)),
        (Some(digest), Some(seen)) if digest == seen => {
            Ok(Json(house.set_trust(path, Agreement::Content(digest.clone()))?))
        }
        (Some(_), Some(_)) => {
            let detail = "what the folder brings along has changed since it was looked at";
            let hint = "look again with `GET /trust`, then agree to that";
            Err(Problem::new(Code::StaleDigest, detail).with_hint(hint).into())
        }
        (Some(_), None) => {
            let detail = "to trust a folder, say what was seen";
            let hint = "send the `digest` of `GET /trust` along";
            Err(Problem::new(Code::StaleDigest, detail).with_hint(hint).into())
        }
    }
}

/// Agrees that others can write to a folder, if that is still as the decider saw it.
fn agree_to_owners(house: &House, base_dir: &Path, seen: &str) -> Result<Trust, Problem> {
    let owners = FolderOwners::of(&usable(base_dir)?)
        .map_err(|error| Problem::new(Code::BadBaseDir, error.to_string()))?;
    if owners.to_string() != seen {
        let detail = "the owners of the folder have changed since they were looked at";
        let hint = "look again with `GET /trust`, then agree to that";
        return Err(Problem::new(Code::StaleDigest, detail).with_hint(hint));
    }
    house.set_trust(base_dir, Agreement::Owners(owners))
}
