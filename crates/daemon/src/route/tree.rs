//! Trees: listed, landed, removed, brought back.

use axum::Extension;
use axum::extract::State;
use coven_api::tree::{
    MergeAnswer, MergeRequest, PruneTrees, PrunedTrees, RestoreTree, RestoredTree, TreeList,
    TreesQuery,
};

use crate::answer::{Answer, Json, JsonBody, MayRead, Path, Query};
use crate::peer::Caller;
use crate::state::Daemon;

pub(super) async fn of_workflow(
    State(daemon): State<Daemon>,
    Path(id): Path<String>,
    Query(query): Query<TreesQuery>,
) -> Answer<TreeList> {
    Ok(Json(daemon.service.trees(Some(&id), query).await?))
}

pub(super) async fn list(
    State(daemon): State<Daemon>,
    Query(query): Query<TreesQuery>,
) -> Answer<TreeList> {
    Ok(Json(daemon.service.trees(None, query).await?))
}

pub(super) async fn merge(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<MergeRequest>,
) -> Answer<MergeAnswer> {
    Ok(Json(daemon.service.merge_tree(&id, request, &caller.name()).await?))
}

pub(super) async fn prune(
    State(daemon): State<Daemon>,
    MayRead(prune): MayRead<PruneTrees>,
) -> Answer<PrunedTrees> {
    Ok(Json(daemon.service.prune_trees(prune).await?))
}

pub(super) async fn restore(
    State(daemon): State<Daemon>,
    Extension(caller): Extension<Caller>,
    JsonBody(restore): JsonBody<RestoreTree>,
) -> Answer<RestoredTree> {
    Ok(Json(daemon.service.restore_tree(restore, &caller.name()).await?))
}
