//! What waits for a person, what was decided, and deciding.

use std::collections::BTreeMap;

use coven_api::ProblemCode;
use coven_api::intervention::{
    DecideRequest, DecideResponse, InterventionItem, InterventionList, InterventionQuery,
    InterventionState,
};
use coven_model::event::SessionRule;
use coven_model::{
    Intervention, InterventionChoice, InterventionDecision, InterventionId, InterventionKind,
    SessionId,
};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_policy::{NoAlwaysRule, always_rule, rule_text};
use coven_store::SessionEntry;

use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::text::excerpt;

impl Service {
    /// Everything that waits for a person, the longest waiting first; or what was decided in one
    /// session.
    pub async fn interventions(
        &self,
        query: &InterventionQuery,
    ) -> Result<InterventionList, ServiceError> {
        let one = match &query.workflow {
            Some(text) => Some(self.find(text).await?),
            None => None,
        };
        let interventions = match (query.state.unwrap_or_default(), one) {
            (InterventionState::Decided, Some(found)) => {
                decided(&found.sessions, &found.id).await?
            }
            (InterventionState::Decided, None) => return Err(ServiceError::NoSessionNamed),
            (InterventionState::Open, Some(found)) => {
                waiting(&found.sessions, Some(&found.id)).await
            }
            (InterventionState::Open, None) => self.open_interventions().await,
        };
        Ok(InterventionList { interventions })
    }

    /// Everything that waits for a person, the longest waiting first.
    pub(crate) async fn open_interventions(&self) -> Vec<InterventionItem> {
        let mut all = Vec::new();
        for sessions in self.sessions().await {
            all.extend(waiting(&sessions, None).await);
        }
        all.sort_by(|a, b| {
            let key = |item: &InterventionItem| {
                (item.intervention.created_at, item.intervention.id.clone())
            };
            key(a).cmp(&key(b))
        });
        all
    }

    /// Decides an intervention, which is named by the two parts of its id.
    pub async fn decide(
        &self,
        session: &str,
        number: &str,
        decide: DecideRequest,
        by: String,
    ) -> Result<DecideResponse, ServiceError> {
        let id = intervention_id(session, number)?;
        let orchestrator = self.find_intervention(&id).await?;
        let mut decision = InterventionDecision::new(decide.decision, by);
        decision.text = decide.answer;
        decision.entry = decide.entry;
        decision.why = decide.why.unwrap_or_default();
        let open = orchestrator.interventions().into_iter().find(|asked| asked.id == id);
        // Without a digest it is not known what the user saw.
        if let Some(asked) = &open
            && asked.digest.is_some()
            && decide.digest.is_none()
        {
            return Err(ServiceError::NoDigest);
        }
        let approves = matches!(
            decide.decision,
            InterventionChoice::Approve | InterventionChoice::ApproveAlways
        );
        if approves && open.as_ref().is_some_and(|asked| asked.truncated) {
            let has_terminal = open
                .as_ref()
                .is_some_and(|asked| asked.options.contains(&InterventionChoice::Approve));
            return Err(if has_terminal {
                ServiceError::NotShownWhole
            } else {
                ServiceError::NotShownAnywhere
            });
        }
        if let Some(asked) = &open
            && decide.decision == InterventionChoice::ApproveAlways
        {
            let adapter = adapter_of(&orchestrator, asked).await;
            let rule = always(adapter.as_deref(), asked).map_err(ServiceError::NoAlways)?;
            match decide.rule {
                None => return Err(ServiceError::NoRule),
                Some(seen) if seen != rule_text(&rule) => return Err(ServiceError::OtherRule),
                Some(_) => decision.rule = Some(Box::new(rule)),
            }
        } else if decide.save {
            return Err(ServiceError::NothingToSave);
        }
        let save = decision.rule.clone().filter(|_| decide.save);
        if let Some(rule) = &save {
            self.save_rule(rule, true).await?;
        }
        match orchestrator.answer_and_see(&id, decision, decide.digest).await {
            Ok(delivered) => {
                let saved = match save {
                    Some(rule) => Some(self.save_rule(&rule, false).await?),
                    None => None,
                };
                let (workflow_id, decision) = (id.session(), decide.decision);
                Ok(DecideResponse { workflow_id, decision, saved, delivered })
            }
            Err(error) => {
                let is_decided = is_decided(&error);
                let error = ServiceError::from(error);
                if !is_decided
                    && matches!(error.code(), ProblemCode::AlreadyDecided | ProblemCode::NotNow)
                {
                    return Err(why_not_open(&orchestrator, &id, open.is_some()).await);
                }
                Err(error)
            }
        }
    }
}

/// Whether the decision counts, and what it was to do did not come about.
fn is_decided(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::AnswerNotTaken { .. }
            | RequestError::MessageHeld { .. }
            | RequestError::NotDelivered(_)
    )
}

/// The type of the agent that asks.
async fn adapter_of(orchestrator: &Orchestrator, asked: &Intervention) -> Option<String> {
    let found = orchestrator.task(&asked.workflow_id, asked.task.as_ref()?).await;
    found.ok().map(|access| access.adapter)
}

/// The rule that approving this for always makes.
fn always(adapter: Option<&str>, asked: &Intervention) -> Result<SessionRule, NoAlwaysRule> {
    always_rule(adapter.ok_or(NoAlwaysRule::Unread)?, &asked.action())
}

/// Why an intervention cannot be decided that is not open.
async fn why_not_open(
    orchestrator: &Orchestrator,
    id: &InterventionId,
    was_open: bool,
) -> ServiceError {
    let past = orchestrator.decided(&id.session()).await;
    match past.into_iter().find(|(asked, _)| asked.id == *id) {
        Some((_, Some(decision))) => {
            ServiceError::AlreadyDecided { by: decision.by, choice: decision.choice }
        }
        Some((_, None)) => ServiceError::NotAsked,
        None if was_open => ServiceError::NotAsked,
        // One that never was cannot have been decided.
        None => ServiceError::UnknownIntervention(id.to_string()),
    }
}

/// An intervention by the two parts of its id.
fn intervention_id(session: &str, number: &str) -> Result<InterventionId, ServiceError> {
    let unknown =
        || ServiceError::UnknownIntervention(excerpt(&format!("{session}/{number}"), 100));
    let session = SessionId::new(session).map_err(|_| unknown())?;
    let number = number.parse().map_err(|_| unknown())?;
    Ok(InterventionId::in_session(&session, number))
}

/// What waits for a person in a base directory, or in one session of it.
async fn waiting(sessions: &Sessions, only: Option<&SessionId>) -> Vec<InterventionItem> {
    let mut entries: BTreeMap<SessionId, SessionEntry> = BTreeMap::new();
    let mut items = Vec::new();
    let open = sessions.interventions().into_iter();
    for asked in open.filter(|asked| only.is_none_or(|only| asked.workflow_id == *only)) {
        if entries.is_empty() {
            let all = sessions.list().into_iter();
            entries.extend(all.map(|entry| (entry.id.clone(), entry)));
        }
        let Some(entry) = entries.get(&asked.workflow_id) else { continue };
        items.push(item(sessions, entry, asked, None).await);
    }
    items
}

/// What was decided in a session.
async fn decided(
    sessions: &Sessions,
    id: &SessionId,
) -> Result<Vec<InterventionItem>, ServiceError> {
    let entry = sessions.entry(id).ok_or_else(|| ServiceError::SessionGone(id.clone()))?;
    let mut items = Vec::new();
    for (asked, decision) in sessions.decided(id).await {
        items.push(item(sessions, &entry, asked, decision).await);
    }
    Ok(items)
}

async fn item(
    sessions: &Sessions,
    entry: &SessionEntry,
    mut asked: Intervention,
    decision: Option<InterventionDecision>,
) -> InterventionItem {
    let access = match &asked.task {
        Some(task) => sessions.task(&asked.workflow_id, task).await.ok(),
        None => None,
    };
    let adapter = access.map(|access| access.adapter).filter(|adapter| adapter != "shell");
    let rule =
        (asked.kind == InterventionKind::Approval).then(|| always(adapter.as_deref(), &asked));
    if !matches!(rule, Some(Ok(_))) {
        // Sessions of before have it among the options though no rule can be made.
        asked.options.retain(|choice| *choice != InterventionChoice::ApproveAlways);
    }
    let (always, no_always) = match rule {
        Some(Ok(rule)) => (Some(rule_text(&rule)), None),
        Some(Err(why)) => (None, Some(why.to_string())),
        None => (None, None),
    };
    InterventionItem {
        intervention: asked,
        workflow_name: entry.name.clone(),
        goal: entry.goal.clone(),
        base_dir: entry.base_dir.display().to_string(),
        adapter,
        always,
        no_always,
        decision,
    }
}
