//! Real CLIs in worktrees: one obeys a review of what it did, and two that changed the same file
//! are both landed, the second after its own agent resolved the conflict.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{
    Intervention, InterventionChoice, InterventionKind, SessionId, TaskId, TreeId, WorkflowStatus,
};
use coven_orchestrator::{
    ChangesAgainst, EventSubscription, MergeMode, MergeOutcome, MergeRequest, Orchestrator, Review,
    ReviewComment, ReviewDelivery, ReviewSide,
};
use coven_testkit::model::ModelScene;
use coven_testkit::namespace as left;
use coven_testkit::real_cli::Cli;
use serde_json::json;

use crate::channels::{BY, decision, fact};
use crate::project::Project;
use crate::{Found, nothing_left};

/// What is written first, after the review, and by the partner.
const FIRST: &str = "Hello from the first.";
const BETTER: &str = "Hello from the first, reviewed.";
const SECOND: &str = "Hello from the second.";

/// How long two agents may take that start, work, and resolve a conflict one after the other.
const TEAM_TIMEOUT: Duration = Duration::from_mins(6);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeRow {
    /// An agent on a terminal gets a comment about a line that it wrote.
    Review,
    /// Two CLIs change one file, each in a tree of its own.
    Conflict,
}

impl TreeRow {
    pub(crate) const ALL: [Self; 2] = [Self::Review, Self::Conflict];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Review => "tree reviewed and landed",
            Self::Conflict => "trees of two CLIs, conflict resolved by an agent",
        }
    }
}

/// The CLI that works beside this one.
fn partner(cli: Cli) -> Cli {
    let place = Cli::ALL.iter().position(|other| *other == cli).unwrap_or_default();
    Cli::ALL[(place + 1) % Cli::ALL.len()]
}

pub(crate) async fn row(project: Project, row: TreeRow, evidence: &Path) -> (&'static str, String) {
    let before = left::processes();
    let cli = project.cli;
    let project = match row {
        TreeRow::Review => Ok(project),
        TreeRow::Conflict => project.with_partner(partner(cli)),
    };
    let project = match project {
        Ok(project) => project,
        Err(error) => return ("FAIL", error.to_string()),
    };
    let found = run(&project, row).await;
    let found = found.and_then(|note| nothing_left(&before).map(|()| note).map_err(Into::into));
    match found {
        Ok(note) => ("pass", note),
        Err(error) => {
            project.keep(&evidence.join(cli.name()), row.name(), &error.to_string());
            ("FAIL", error.to_string())
        }
    }
}

async fn run(project: &Project, row: TreeRow) -> Found {
    let orchestrator = project.open().await?;
    let found = match row {
        TreeRow::Review => reviewed(project, &orchestrator).await,
        TreeRow::Conflict => conflict(project, &orchestrator).await,
    };
    for entry in orchestrator.list() {
        let live = orchestrator.controller(&entry.id);
        if let Some(controller) = live.filter(|live| !live.snapshot().status().is_final()) {
            orchestrator.cancel(&entry.id, BY, "the row is over").await?;
            controller.wait(false).await;
        }
    }
    orchestrator.close().await;
    found
}

/// A prompt that makes the model write a line into the file that all work on.
fn writes(line: &str) -> String {
    format!("Greet {} with `echo {line} > README.md`", ModelScene::Run)
}

/// One agent on a terminal writes, is reviewed while it lives, obeys, and is landed.
async fn reviewed(project: &Project, orchestrator: &Orchestrator) -> Found {
    let definition = json!({"id": "reviewed", "stages": [{"id": "s", "tasks": [{
        "id": "agent", "adapter": project.cli.name(), "executionMode": "interactive",
        "permissions": "all", "isolation": "task", "prompt": writes(FIRST),
    }]}]});
    let id = orchestrator.execute_workflow(project.definition(&definition.to_string())).await?;
    let mut events = orchestrator.subscribe(&id, 0).await?;
    let task: TaskId = "agent".parse()?;
    let tree = TreeId::Task(task.clone());
    turn_ends(orchestrator, &mut events).await?;
    must_have(orchestrator, &id, &tree, FIRST).await?;
    if project.file("README.md")? != "Hello.\n" {
        return Err("the checkout was written to".into());
    }

    let review = Review {
        comments: vec![ReviewComment {
            path: PathBuf::from("README.md"),
            side: ReviewSide::New,
            line: 1,
            end_line: None,
            text: writes(BETTER),
        }],
        summary: None,
        against: ChangesAgainst::Base,
        head: None,
        dry_run: false,
        by: BY.to_owned(),
        env: None,
        starts_no_run: false,
    };
    let report = orchestrator.review(&id, &task, review).await?;
    if !matches!(report.delivery, Some(ReviewDelivery::Message { .. })) {
        return Err(format!("the living agent was not told: {:?}", report.delivery).into());
    }
    turn_ends(orchestrator, &mut events).await?;
    must_have(orchestrator, &id, &tree, BETTER).await?;
    let heard = project.server.exchanges().iter().any(|exchange| {
        exchange.said.iter().any(|said| said.contains("README.md:1") && said.contains(FIRST))
    });
    if !heard {
        return Err("the model was not told which line the comment is about".into());
    }

    orchestrator.complete_task(&id, &task, BY).await?;
    ends(orchestrator, &id, WorkflowStatus::Completed).await?;
    landed_on_main(project, orchestrator, &id, BETTER).await?;
    Ok("the comment arrived with the line it is about and was obeyed; landed on main".to_owned())
}

/// Two CLIs change the same line; the conflict goes back to the agent of the second.
async fn conflict(project: &Project, orchestrator: &Orchestrator) -> Found {
    let (first, second) = (project.cli, partner(project.cli));
    let definition = format!(
        "name: team\ndescription: A row.\ndefaults: {{isolation: auto}}\nsteps:\n  - name: build\n    \
         type: parallel-agents\n    adapter: ${{item.cli}}\n    mode: headless\n    permissions: all\n    \
         on_conflict: agent\n    for_each: {}\n    prompt: ${{item.prompt}}\n    output: results\n",
        json!([
            {"cli": first.name(), "prompt": writes(FIRST)},
            {"cli": second.name(), "prompt": writes(SECOND)},
        ])
    );
    let id = orchestrator.execute_workflow(project.definition(&definition)).await?;
    let mut events = orchestrator.subscribe(&id, 0).await?;
    let paths = fact(&mut events, "the conflict", |event| match event {
        SessionEvent::TreeConflict { paths, .. } => Some(Ok(paths.clone())),
        SessionEvent::InterventionRequired { intervention, .. } => {
            Some(Err(intervention.reason.clone()))
        }
        _ => None,
    });
    let paths = paths.await??;
    if paths != ["README.md"] {
        return Err(format!("it conflicts in {paths:?}").into());
    }
    ends(orchestrator, &id, WorkflowStatus::Completed).await?;
    let both = landed_on_main(project, orchestrator, &id, FIRST).await?;
    if !both.contains(SECOND) {
        return Err(format!("main has {both:?}").into());
    }
    Ok(format!(
        "{} and {} changed one line; both are on main, the second after its agent merged",
        first.name(),
        second.name()
    ))
}

/// Waits for the end of a turn. What is asked before it is approved.
async fn turn_ends(
    orchestrator: &Orchestrator,
    events: &mut EventSubscription,
) -> Result<(), Box<dyn Error>> {
    loop {
        let asked: Intervention = fact(events, "the end of a turn", |event| match event {
            SessionEvent::InterventionRequired { intervention, .. } => {
                Some(Ok((**intervention).clone()))
            }
            SessionEvent::TaskEnded(ended) => Some(Err(ended.outcome.reason.clone())),
            _ => None,
        })
        .await??;
        match asked.kind {
            InterventionKind::EndedTurn => return Ok(()),
            InterventionKind::Approval | InterventionKind::Dialog => {
                let decision = decision(InterventionChoice::Approve);
                orchestrator.answer(&asked.id, decision, asked.digest.clone()).await?;
            }
            other => return Err(format!("it asks ({other}): {}", asked.reason).into()),
        }
    }
}

async fn must_have(
    orchestrator: &Orchestrator,
    id: &SessionId,
    tree: &TreeId,
    line: &str,
) -> Result<(), Box<dyn Error>> {
    let trees = orchestrator.session_trees(id).await?.list(false).await;
    let found = trees.iter().find(|entry| entry.tree == *tree).ok_or("there is no tree")?;
    let text = std::fs::read_to_string(found.path.join("README.md"))?;
    if text.trim_end() == line { Ok(()) } else { Err(format!("the tree has {text:?}").into()) }
}

/// Brings the branch of a run onto main, where it must have this line; all of the file.
async fn landed_on_main(
    project: &Project,
    orchestrator: &Orchestrator,
    id: &SessionId,
    line: &str,
) -> Result<String, Box<dyn Error>> {
    let request = MergeRequest {
        tree: TreeId::Run,
        into: None,
        mode: MergeMode::Merge,
        message: None,
        dry_run: false,
        by: BY.to_owned(),
    };
    let report = orchestrator.merge(id, request).await?;
    if !matches!(report.outcome, MergeOutcome::Landed { .. }) {
        return Err(format!("it was not landed: {report:?}").into());
    }
    let text = project.git(&["show", "main:README.md"])?;
    if !text.contains(line) {
        return Err(format!("main has {text:?}").into());
    }
    project.git(&["fsck", "--strict"])?;
    Ok(text)
}

async fn ends(
    orchestrator: &Orchestrator,
    id: &SessionId,
    wanted: WorkflowStatus,
) -> Result<(), Box<dyn Error>> {
    let controller = orchestrator.controller(id).ok_or("the session is not live")?;
    let status = tokio::time::timeout(TEAM_TIMEOUT, controller.wait(true)).await;
    let view = controller.snapshot().view().cloned().ok_or("the session has no view")?;
    let asked: Vec<_> = view.interventions.iter().map(|asked| &asked.reason).collect();
    match status {
        Ok(status) if status == wanted => Ok(()),
        Ok(status) => Err(format!("it is {status}: {:?} {asked:?}", view.errors).into()),
        Err(_) => Err(format!("it is not over after {TEAM_TIMEOUT:?}, {asked:?}").into()),
    }
}
