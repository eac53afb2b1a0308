//! The CLIs spoken to in their own protocols: they ask without a terminal, are answered, take
//! another turn, are interrupted, and go on when the process that followed them is killed.

mod kept;
mod rows;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{Intervention, InterventionChoice, SessionId, SessionView, WorkflowStatus};
use coven_orchestrator::{EventSubscription, Orchestrator, PublishedEvent};
use coven_testkit::namespace as left;

use crate::project::Project;
use crate::{Found, nothing_left};

pub(crate) use kept::{KEEP, keep};

/// How long a row may wait for one thing: the slowest CLI needs half a minute to start on a busy
/// machine.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) const BY: &str = "real-agents";

/// What is checked of every CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelRow {
    Approve,
    Deny,
    DenyInWords,
    Question,
    TwoTurns,
    Resumed,
    Interrupt,
    Killed,
    Levels,
    Limit,
    Stop,
}

impl ChannelRow {
    pub(crate) const ALL: [Self; 11] = [
        Self::Approve,
        Self::Deny,
        Self::DenyInWords,
        Self::Question,
        Self::TwoTurns,
        Self::Resumed,
        Self::Interrupt,
        Self::Killed,
        Self::Levels,
        Self::Limit,
        Self::Stop,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Approve => "channel approve",
            Self::Deny => "channel deny",
            Self::DenyInWords => "channel deny with reason",
            Self::Question => "channel question",
            Self::TwoTurns => "channel two turns",
            Self::Resumed => "channel resume after a kill",
            Self::Interrupt => "channel interrupt",
            Self::Killed => "channel daemon killed while it asks",
            Self::Levels => "channel levels",
            Self::Limit => "channel limit",
            Self::Stop => "channel stop",
        }
    }

    async fn found(self, stage: &ChannelStage<'_>) -> Found {
        match self {
            Self::Approve => rows::approve(stage).await,
            Self::Deny => rows::deny(stage).await,
            Self::DenyInWords => rows::deny_in_words(stage).await,
            Self::Question => rows::question(stage).await,
            Self::TwoTurns => rows::two_turns(stage).await,
            Self::Resumed => rows::resumed(stage).await,
            Self::Interrupt => rows::interrupt(stage).await,
            Self::Levels => rows::levels(stage).await,
            Self::Limit => rows::limit(stage).await,
            Self::Stop => rows::stop(stage).await,
            // It opens its own orchestrators.
            Self::Killed => Err("it is run by itself".into()),
        }
    }
}

/// Runs one row, and looks that nothing is left of it.
pub(crate) async fn row(
    project: &Project,
    row: ChannelRow,
    evidence: &Path,
) -> (&'static str, String) {
    let before = left::processes();
    let found = if row == ChannelRow::Killed {
        kept::killed(project).await
    } else {
        run(project, row).await
    };
    let found = found.and_then(|note| nothing_left(&before).map(|()| note).map_err(Into::into));
    match found {
        Ok(note) => ("pass", note),
        Err(error) => {
            project.keep(&evidence.join(project.cli.name()), row.name(), &error.to_string());
            ("FAIL", error.to_string())
        }
    }
}

async fn run(project: &Project, row: ChannelRow) -> Found {
    let orchestrator = project.open().await?;
    let stage = ChannelStage { project, orchestrator: &orchestrator };
    let found = row.found(&stage).await;
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

/// A project with an orchestrator in it.
pub(super) struct ChannelStage<'a> {
    pub(super) project: &'a Project,
    pub(super) orchestrator: &'a Orchestrator,
}

/// A session that was begun, and what happens in it.
pub(super) struct BegunRow {
    pub(super) id: SessionId,
    pub(super) events: EventSubscription,
}

impl ChannelStage<'_> {
    pub(super) async fn begin(&self, definition: &str) -> Result<BegunRow, Box<dyn Error>> {
        let id = self.orchestrator.execute_workflow(self.project.definition(definition)).await?;
        let mut events = self.orchestrator.subscribe(&id, 0).await?;
        let channel = fact(&mut events, "its channel", |event| match event {
            SessionEvent::TaskChannel { channel, .. } => Some(Ok(channel.clone())),
            SessionEvent::TaskEnded(ended) => Some(Err(ended.outcome.reason.clone())),
            _ => None,
        });
        channel.await??;
        Ok(BegunRow { id, events })
    }

    pub(super) async fn decide(
        &self,
        asked: &Intervention,
        decision: InterventionDecision,
    ) -> Result<(), Box<dyn Error>> {
        Ok(self.orchestrator.answer(&asked.id, decision, asked.digest.clone()).await?)
    }

    /// Waits for the end of a session, which must be a good one.
    pub(super) async fn completes(&self, id: &SessionId) -> Result<SessionView, Box<dyn Error>> {
        let view = self.ends(id).await?;
        if view.status != WorkflowStatus::Completed {
            return Err(format!("it is {}: {:?}", view.status, view.errors).into());
        }
        Ok(view)
    }

    pub(super) async fn ends(&self, id: &SessionId) -> Result<SessionView, Box<dyn Error>> {
        ends(self.orchestrator, id).await
    }
}

/// Waits until a session is over, or asks something that the row does not answer.
pub(super) async fn ends(
    orchestrator: &Orchestrator,
    id: &SessionId,
) -> Result<SessionView, Box<dyn Error>> {
    let controller = orchestrator.controller(id).ok_or("the session is not live")?;
    let over = async {
        loop {
            let status = controller.wait(true).await;
            let view = controller.snapshot().view().cloned();
            // A question that was taken back a moment ago blocks nothing any more.
            if status.is_final() || view.is_none_or(|view| !view.interventions.is_empty()) {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    let status = tokio::time::timeout(WAIT_TIMEOUT, over).await;
    let view = controller.snapshot().view().cloned().ok_or("the session has no view")?;
    let asked: Vec<_> = view.interventions.iter().map(|asked| asked.reason.clone()).collect();
    match status {
        Ok(status) if status.is_final() => Ok(view),
        Ok(_) => Err(format!("it asks: {asked:?}").into()),
        Err(_) => Err(format!("it is not over after {WAIT_TIMEOUT:?}, {asked:?}").into()),
    }
}

pub(crate) async fn fact<T>(
    events: &mut EventSubscription,
    what: &str,
    mut wanted: impl FnMut(&SessionEvent) -> Option<T>,
) -> Result<T, Box<dyn Error>> {
    let search = async {
        while let Some(envelope) = events.next().await? {
            if let PublishedEvent::Fact { event, .. } = &envelope.what
                && let Some(found) = wanted(event)
            {
                return Ok(found);
            }
        }
        Err(format!("the session closed before {what}").into())
    };
    tokio::time::timeout(WAIT_TIMEOUT, search).await.map_err(|_| format!("never came: {what}"))?
}

/// The next question, unless the task ends before one.
pub(super) async fn asked(
    events: &mut EventSubscription,
) -> Result<Result<Intervention, String>, Box<dyn Error>> {
    let next = fact(events, "a question or an end", |event| match event {
        SessionEvent::InterventionRequired { intervention, .. } => {
            Some(Ok((**intervention).clone()))
        }
        SessionEvent::TaskEnded(ended) => Some(Err(ended.outcome.reason.clone())),
        _ => None,
    });
    next.await
}

pub(crate) fn decision(choice: InterventionChoice) -> InterventionDecision {
    InterventionDecision::new(choice, BY)
}
