//! What facts about trees mean.

use std::sync::Arc;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{
    AttemptId, Intervention, InterventionChoice, InterventionKind, JobSpec, JobWork,
    PermissionLevel, SandboxMode, TaskId, TreeId, TreeWork,
};

use crate::state::{LandingPhase, StepProgress, TreePhase, TreeProblem, TreeRun, WorkflowRun};

pub(super) fn apply(run: &mut WorkflowRun, event: &SessionEvent) {
    match event {
        SessionEvent::TreeWanted(wanted) => {
            let tree = TreeRun {
                tree: wanted.tree.clone(),
                base: wanted.base.clone(),
                branch: wanted.branch.clone(),
                path: wanted.path.clone(),
                restores: wanted.restores.clone(),
                phase: TreePhase::Wanted,
                head: wanted.base.clone(),
                ports: None,
                problem: None,
                checkpoint_due: None,
                checkpoints: 0,
                changed: 0,
                uncommitted: false,
                landing: LandingPhase::Open,
                kept: None,
                resolutions: 0,
            };
            run.trees.entry(wanted.tree.clone()).or_insert_with(|| Arc::new(tree));
        }
        SessionEvent::TreeReady(ready) => change(run, &ready.tree, |tree| {
            if tree.phase == TreePhase::Wanted {
                tree.phase = TreePhase::Ready;
                tree.head.clone_from(&ready.head);
                tree.ports = ready.ports;
                tree.problem = None;
            }
        }),
        SessionEvent::TreeFailed { tree, work, error, .. } => {
            change(run, tree, |tree| match work {
                // All is still in the tree, which is not removed without one.
                TreeWork::Checkpoint => tree.checkpoint_due = None,
                TreeWork::Remove => tree.kept = Some(error.clone()),
                TreeWork::Make | TreeWork::Commit | TreeWork::Land => {
                    tree.problem = Some(TreeProblem { work: *work, error: error.clone() });
                }
            });
        }
        SessionEvent::TreeCheckpoint(checkpoint) => change(run, &checkpoint.tree, |tree| {
            tree.checkpoints = tree.checkpoints.max(checkpoint.number);
            tree.changed = checkpoint.files;
            tree.head.clone_from(&checkpoint.head);
            if checkpoint.job == tree.checkpoint_due {
                tree.checkpoint_due = None;
            }
            if checkpoint.committed {
                tree.uncommitted = false;
            }
        }),
        SessionEvent::TreeLanded(landed) => {
            change(run, &landed.tree, |tree| {
                let (onto, commit, tip) = (&landed.onto, &landed.commit, &landed.tip);
                tree.head.clone_from(tip);
                tree.uncommitted = false;
                // Whatever it stayed for, a person has seen to it.
                if landed.by.is_some() {
                    tree.kept = None;
                }
                tree.landing = LandingPhase::Landed {
                    onto: onto.clone(),
                    commit: commit.clone(),
                    tip: tip.clone(),
                };
            });
            let (onto, commit) = (landed.onto.clone(), landed.commit.clone());
            change(run, &TreeId::Run, |tree| {
                if tree.branch == onto {
                    tree.head = commit;
                }
            });
        }
        SessionEvent::TreeConflict { tree, onto, paths, .. } => change(run, tree, |tree| {
            let (onto, paths) = (onto.clone(), paths.clone());
            tree.landing = LandingPhase::Conflict { onto, paths };
        }),
        SessionEvent::TreeKept { tree, why, .. } => change(run, tree, |tree| {
            tree.kept = Some(why.clone());
        }),
        SessionEvent::TreeRemoved { tree, tip, .. } => change(run, tree, |tree| {
            tree.phase = TreePhase::Removed;
            tree.head.clone_from(tip);
            tree.checkpoint_due = None;
        }),
        _ => {}
    }
}

fn change(run: &mut WorkflowRun, tree: &TreeId, change: impl FnOnce(&mut TreeRun)) {
    if let Some(tree) = run.trees.get_mut(tree) {
        change(Arc::make_mut(tree));
    }
}

/// A job begins to work in its tree.
pub(super) fn enter(run: &mut WorkflowRun, spec: &JobSpec) {
    let Some(own) = spec.tree.as_ref().filter(|_| may_write(spec)) else { return };
    change(run, &own.tree, |tree| {
        tree.uncommitted = true;
        if matches!(tree.landing, LandingPhase::Conflict { .. }) {
            tree.resolutions = tree.resolutions.saturating_add(1);
        }
    });
}

/// A job has ended, or its agent a turn: what is in its tree is to be kept.
pub(super) fn leave(run: &mut WorkflowRun, spec: &JobSpec, succeeded: bool) {
    // What it wrote comments about has to be known later, also if it only read.
    let is_told_of = may_write(spec) || (succeeded && run.is_reviewer(&spec.job.attempt.task));
    let Some(own) = spec.tree.as_ref().filter(|_| is_told_of) else { return };
    change(run, &own.tree, |tree| {
        tree.checkpoint_due = Some(spec.job.attempt.clone());
        // It is landed again: the agent may have resolved it.
        if succeeded && matches!(tree.landing, LandingPhase::Conflict { .. }) {
            tree.landing = LandingPhase::Open;
        }
    });
}

/// The agent of a job has ended a turn: what is in its tree is to be kept.
pub(super) fn keep(run: &mut WorkflowRun, job: &AttemptId) {
    if let Some(spec) = run.live(job).map(|live| live.spec.clone()) {
        leave(run, &spec, false);
    }
}

fn may_write(spec: &JobSpec) -> bool {
    let reads = match &spec.work {
        JobWork::Agent(agent) => agent.permissions == Some(PermissionLevel::ReadOnly),
        JobWork::Shell(_) => false,
    };
    !reads && spec.sandbox != SandboxMode::ReadOnly
}

/// What a decision about a tree does; whether it was one that is carried out here.
pub(super) fn decide(
    run: &mut WorkflowRun,
    step: u32,
    intervention: &Intervention,
    decision: &InterventionDecision,
) -> bool {
    let tree = intervention.task.clone().map_or(TreeId::Run, TreeId::Task);
    let by = &decision.by;
    match (intervention.kind, decision.choice) {
        (InterventionKind::MergeConflict, InterventionChoice::Retry) => {
            change(run, &tree, |tree| tree.landing = LandingPhase::Open);
        }
        (
            InterventionKind::MergeConflict | InterventionKind::TreeProblem,
            InterventionChoice::Skip,
        ) => {
            let why = format!("it was not landed: skipped by {by}");
            change(run, &tree, |tree| {
                tree.problem = None;
                tree.kept = Some(why);
            });
        }
        (InterventionKind::TreeProblem, InterventionChoice::Retry) => {
            change(run, &tree, |tree| tree.problem = None);
        }
        (InterventionKind::Landing, choice) => {
            let Some(landing) = run.active_mut(step).and_then(|step| step.landing.as_mut()) else {
                return false;
            };
            landing.approved = choice == InterventionChoice::Approve;
            landing.denied = (!landing.approved).then(|| by.clone());
        }
        _ => return false,
    }
    if let Some(step) = run.active_mut(step) {
        step.progress = StepProgress::Running;
    }
    true
}

/// A task begins again with a review: what could not be done with what it left is tried again with
/// what it leaves then.
pub(super) fn reviewed(run: &mut WorkflowRun, task: &TaskId) {
    if let Some(tree) = run.tree_of_task(task) {
        change(run, &tree, |tree| {
            tree.problem = tree.problem.take().filter(|problem| problem.work == TreeWork::Make);
        });
    }
}

/// What could not be done is tried again with the step.
pub(super) fn retry(run: &mut WorkflowRun) {
    for tree in run.trees.values_mut() {
        let is_conflict = matches!(tree.landing, LandingPhase::Conflict { .. });
        if tree.problem.is_some() || is_conflict {
            let tree = Arc::make_mut(tree);
            tree.problem = None;
            if is_conflict {
                tree.landing = LandingPhase::Open;
            }
        }
    }
}
