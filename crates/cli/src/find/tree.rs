//! Which tree of a session is meant.

use coven_api::changes::RUN_TREE;
use coven_api::tree::{TreeItem, TreeState, TreesQuery};
use coven_api::workflow::WorkflowDetails;
use coven_api::{ApiClient, ProblemCode};
use coven_notation::near;

use super::{SessionTarget, listed};
use crate::failure::{CommandFailure, Result};

/// The session, and the tree of it that is meant: a task by its id, or `@run`. Where only the
/// session is named it is the tree of its only task as long as that is there, otherwise the tree of
/// the run, or the only tree there is; one that is not of the run is said.
pub(crate) async fn tree(
    client: &ApiClient,
    target: &SessionTarget,
) -> Result<(WorkflowDetails, String)> {
    let workflow = super::workflow(client, &target.session).await?;
    let query = TreesQuery { removed: Some(true), ..TreesQuery::default() };
    let trees = client.trees(Some(&workflow.item.address()), &query).await?.trees;
    let tree = chosen(&workflow, &trees, target.task.as_deref())?;
    if target.task.is_none() && tree != RUN_TREE {
        let why = if trees.len() == 1 { "tree" } else { "task" };
        crate::output::say!("{}/{tree} is meant, its only {why}.", workflow.item.name);
    }
    Ok((workflow, tree))
}

fn chosen(workflow: &WorkflowDetails, trees: &[TreeItem], task: Option<&str>) -> Result<String> {
    let name = &workflow.item.name;
    let Some(task) = task else { return only(workflow, trees) };
    let is_tree = trees.iter().any(|tree| tree.tree == task);
    let is_task = workflow.tasks.iter().any(|known| known.id.as_str() == task);
    if is_tree || is_task {
        return Ok(task.to_owned());
    }
    if task == RUN_TREE {
        return Err(none(workflow, trees));
    }
    let ids = workflow.tasks.iter().map(|task| task.id.as_str());
    let mut ids: Vec<&str> = ids.chain(trees.iter().map(|tree| tree.tree.as_str())).collect();
    ids.sort_unstable();
    ids.dedup();
    let message = format!("{name} has no task `{task}`");
    let failure = CommandFailure::not_found(ProblemCode::TaskNotFound, message);
    Err(match near(task, &ids).first() {
        Some(id) => failure.hint(format!("did you mean {name}/{id}?")),
        None => failure.hint(listed(name, &ids)),
    })
}

fn only(workflow: &WorkflowDetails, trees: &[TreeItem]) -> Result<String> {
    // A session of one agent is about what that agent does, until that is on the tree of the run.
    let stays = |wanted: &str| {
        trees.iter().any(|tree| tree.tree == wanted && tree.state != TreeState::Removed)
    };
    if let [task] = workflow.tasks.as_slice()
        && let Some(tree) = task.tree.as_ref().filter(|tree| stays(tree))
    {
        return Ok(tree.clone());
    }
    if trees.iter().any(|tree| tree.tree == RUN_TREE) {
        return Ok(RUN_TREE.to_owned());
    }
    let there: Vec<&str> = trees
        .iter()
        .filter(|tree| trees.len() == 1 || tree.state != TreeState::Removed)
        .map(|tree| tree.tree.as_str())
        .collect();
    match there.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(none(workflow, trees)),
        several => {
            let name = &workflow.item.name;
            let message = format!("{name} has {} trees", several.len());
            Err(CommandFailure::usage(message).hint(listed(name, several)))
        }
    }
}

fn none(workflow: &WorkflowDetails, trees: &[TreeItem]) -> CommandFailure {
    let item = &workflow.item;
    let (message, hint) = if trees.is_empty() {
        (
            format!("{} has no tree: its agents work in {}", item.name, item.base_dir),
            "`coven run --tree` and `coven new -t` give agents a tree; `isolation: auto` in a \
             grimoire does it for a fan-out"
                .to_owned(),
        )
    } else {
        (format!("{} has no tree of that name", item.name), format!("coven trees {}", item.name))
    };
    CommandFailure::not_found(ProblemCode::NoTree, message).hint(hint)
}
