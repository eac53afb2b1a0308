//! What the journal of a session says, counted.

use std::collections::{BTreeMap, BTreeSet};

use coven_model::event::{AttemptPlace, DeliveredInput, SessionEvent};
use coven_model::{AttemptId, InterventionId, ProcessEnding, SessionId, TreeId, WorkflowStatus};
use coven_store::JournalRecord;

/// What an audit needs to know of a journal.
#[derive(Debug, Default)]
pub(super) struct JournalSummary {
    pub(super) name: Option<String>,
    pub(super) status: WorkflowStatus,
    /// Attempts by how they ended; nothing for those that did not.
    pub(super) attempts: BTreeMap<AttemptId, Option<ProcessEnding>>,
    /// Where the folder of each lies.
    pub(super) places: BTreeMap<AttemptId, AttemptPlace>,
    /// Agents that were left alive on purpose and are not gone yet.
    pub(super) kept: BTreeSet<AttemptId>,
    /// Whether it is being deleted, or its deletion was cut short.
    pub(super) is_deleted: bool,
    /// Its trees. Commands that run in them, such as the hooks of a commit, are no attempts of the
    /// run: the journal has what came of them, as facts about the tree.
    trees: BTreeSet<TreeId>,
}

/// What the commands that run in a tree are called, behind the name of the tree's task.
const TREE_COMMANDS: [&str; 5] = ["checkout", "commit", "compare", "setup", "teardown"];

impl JournalSummary {
    /// Whether nothing more is written: the run is over, and no agent was left alive.
    pub(super) fn is_over(&self) -> bool {
        self.status.is_final() && self.kept.is_empty()
    }

    /// Whether a folder is that of a command that ran in one of the trees.
    pub(super) fn is_of_a_tree(&self, job: &AttemptId) -> bool {
        let Some((name, what)) = job.task.as_str().rsplit_once('.') else { return false };
        let is_its_tree = |tree: &TreeId| match tree {
            TreeId::Run => name == "run",
            TreeId::Task(task) => name == task.as_str(),
        };
        TREE_COMMANDS.contains(&what) && self.trees.iter().any(is_its_tree)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuditedStep {
    Started,
    Failed,
    /// It failed and is tried again, from its beginning or from what of it failed.
    Again,
    Over,
}

/// What is counted on the way through.
struct JournalCounter<'a> {
    told: JournalSummary,
    steps: BTreeMap<u32, AuditedStep>,
    planned: Option<usize>,
    open: BTreeSet<InterventionId>,
    /// Those of them that agents ask which were left alive: no run waits for them.
    open_of_kept: BTreeSet<InterventionId>,
    /// The attempts whose agents have asked something.
    asked_by: BTreeMap<InterventionId, AttemptId>,
    asked: BTreeSet<InterventionId>,
    delivered: BTreeSet<InterventionId>,
    findings: &'a mut Vec<String>,
}

/// Goes through the facts of a session and says what cannot have happened.
pub(super) fn check(
    id: &SessionId,
    records: &[JournalRecord<SessionEvent>],
    findings: &mut Vec<String>,
) -> JournalSummary {
    let mut count = JournalCounter {
        told: JournalSummary::default(),
        steps: BTreeMap::new(),
        planned: None,
        open: BTreeSet::new(),
        open_of_kept: BTreeSet::new(),
        asked_by: BTreeMap::new(),
        asked: BTreeSet::new(),
        delivered: BTreeSet::new(),
        findings,
    };
    for (place, record) in records.iter().enumerate() {
        let expected = place as u64 + 1;
        if record.seq != expected {
            count.wrong(format!("fact {expected} has the number {}", record.seq));
        }
        if place == 0
            && !matches!(&record.fact, SessionEvent::SessionCreated(made) if made.session == *id)
        {
            count.wrong("the journal does not begin with the making of this session".to_owned());
        }
        count.fact(record.seq, &record.fact);
    }
    count.end();
    count.told
}

impl JournalCounter<'_> {
    fn wrong(&mut self, finding: String) {
        self.findings.push(finding);
    }

    fn holds(&mut self, so: bool, otherwise: impl FnOnce() -> String) {
        if !so {
            self.wrong(otherwise());
        }
    }

    fn fact(&mut self, seq: u64, event: &SessionEvent) {
        if let Some((id, job)) = asker(event) {
            self.asked_by.insert(id, job);
        }
        let follows = || may_follow_the_end(event) || self.is_about_kept(event);
        if self.told.status.is_final() && !follows() {
            let (kind, status) = (event.kind(), self.told.status);
            self.wrong(format!("fact {seq} ({kind}) comes after the run was {status}"));
        }
        match event {
            SessionEvent::SessionCreated(made) => {
                self.told.name = Some(made.name.clone());
                self.planned =
                    made.plan.get("steps").and_then(|steps| steps.as_array()).map(Vec::len);
            }
            SessionEvent::WorkflowStarted { .. } | SessionEvent::WorkflowResumed { .. } => {
                self.status(WorkflowStatus::Running);
            }
            SessionEvent::WorkflowBlocked { .. } => self.status(WorkflowStatus::Blocked),
            SessionEvent::WorkflowCompleted { .. } => self.status(WorkflowStatus::Completed),
            SessionEvent::WorkflowFailed { .. } => self.status(WorkflowStatus::Failed),
            SessionEvent::WorkflowCancelled { .. } => self.status(WorkflowStatus::Cancelled),
            SessionEvent::WorkflowRetried { .. } => {
                self.status(WorkflowStatus::Running);
                for step in self.steps.values_mut().filter(|step| **step != AuditedStep::Over) {
                    *step = AuditedStep::Again;
                }
            }
            SessionEvent::StepStarted { step, index, .. } => self.begun(seq, step, *index),
            SessionEvent::StepCompleted { step, index, .. } => {
                self.over(seq, step, *index, AuditedStep::Over, true);
            }
            SessionEvent::StepSkipped { step, index, .. } => {
                self.over(seq, step, *index, AuditedStep::Over, false);
            }
            SessionEvent::StepFailed { step, index, continues, .. } => {
                let end = if *continues { AuditedStep::Over } else { AuditedStep::Failed };
                self.over(seq, step, *index, end, false);
            }
            SessionEvent::InterventionRequired { intervention, .. } => {
                let id = &intervention.id;
                let new = self.asked.insert(id.clone());
                self.holds(new, || format!("fact {seq}: {id} is asked twice"));
                self.open.insert(id.clone());
                if self.is_about_kept(event) {
                    self.open_of_kept.insert(id.clone());
                }
            }
            SessionEvent::InputDecided { intervention, .. } => {
                let id = &intervention.id;
                let new = self.asked.insert(id.clone());
                self.holds(new, || format!("fact {seq}: {id} is decided twice"));
            }
            SessionEvent::InterventionResolved { id, .. }
            | SessionEvent::InterventionWithdrawn { id, .. } => {
                self.open_of_kept.remove(id);
                let open = self.open.remove(id);
                self.holds(open, || format!("fact {seq}: {id} is decided and was not open"));
            }
            SessionEvent::InputDelivered { input: DeliveredInput::Answer(id), .. } => {
                let new = self.delivered.insert(id.clone());
                self.holds(new, || format!("fact {seq}: the answer to {id} was given twice"));
            }
            SessionEvent::TaskStarted(started) => {
                let job = &started.spec.job.attempt;
                self.told.places.insert(job.clone(), started.place);
                self.started(seq, job);
            }
            SessionEvent::TaskEnded(ended) => self.ended(seq, &ended.job, &ended.outcome.ending),
            SessionEvent::TaskReleased { job, .. } => {
                let kept = self.told.kept.remove(job);
                self.holds(kept, || format!("fact {seq}: {job} is gone and was not kept"));
                let still = |id: &InterventionId| self.asked_by.get(id) == Some(job);
                let still: Vec<_> = self.open.iter().filter(|id| still(id)).cloned().collect();
                for id in still {
                    self.wrong(format!("fact {seq}: {job} is gone and {id} still waits"));
                }
            }
            SessionEvent::SessionDeleted { .. } => self.told.is_deleted = true,
            SessionEvent::TreeWanted(wanted) => {
                self.told.trees.insert(wanted.tree.clone());
            }
            _ => {}
        }
    }

    /// Whether a fact is about an agent that was left alive: what it asks, and what it is told. The
    /// run may be over by then.
    fn is_about_kept(&self, event: &SessionEvent) -> bool {
        let is_kept = |job: &AttemptId| self.told.kept.contains(job);
        let of_kept = |id: &InterventionId| self.asked_by.get(id).is_some_and(is_kept);
        match event {
            SessionEvent::InterventionRequired { intervention, .. }
            | SessionEvent::InputDecided { intervention, .. } => of_kept(&intervention.id),
            SessionEvent::InterventionResolved { id, .. }
            | SessionEvent::InterventionWithdrawn { id, .. } => of_kept(id),
            SessionEvent::InputQueued { job, .. }
            | SessionEvent::InputDelivered { job, .. }
            | SessionEvent::InputRefused { job, .. } => is_kept(job),
            _ => false,
        }
    }

    fn status(&mut self, status: WorkflowStatus) {
        self.told.status = status;
    }

    fn begun(&mut self, seq: u64, step: &str, index: u32) {
        let before = self.steps.insert(index, AuditedStep::Started);
        if let Some(before) = before.filter(|before| *before != AuditedStep::Again) {
            self.wrong(format!("fact {seq}: the step {step} begins again and was {before:?}"));
        }
    }

    fn over(&mut self, seq: u64, step: &str, index: u32, end: AuditedStep, must_have_begun: bool) {
        match self.steps.insert(index, end) {
            Some(AuditedStep::Started | AuditedStep::Again) => {}
            None if !must_have_begun => {}
            None => self.wrong(format!("fact {seq}: the step {step} ends and never began")),
            Some(_) => self.wrong(format!("fact {seq}: the step {step} ends twice")),
        }
    }

    fn started(&mut self, seq: u64, job: &AttemptId) {
        if self.told.attempts.insert(job.clone(), None).is_some() {
            self.wrong(format!("fact {seq}: {job} is started twice"));
        }
        let before = AttemptId { task: job.task.clone(), attempt: job.attempt.saturating_sub(1) };
        if job.attempt > 1 && !self.told.attempts.contains_key(&before) {
            self.wrong(format!("fact {seq}: {job} is started, and there was no {before}"));
        }
    }

    fn ended(&mut self, seq: u64, job: &AttemptId, ending: &ProcessEnding) {
        match self.told.attempts.insert(job.clone(), Some(ending.clone())) {
            Some(None) => {}
            Some(Some(_)) => self.wrong(format!("fact {seq}: {job} ends twice")),
            None => self.wrong(format!("fact {seq}: {job} ends and was never started")),
        }
        if *ending == ProcessEnding::Alive {
            self.told.kept.insert(job.clone());
        }
    }

    /// What must hold once a run is over.
    fn end(&mut self) {
        if !self.told.status.is_final() {
            return;
        }
        let status = self.told.status;
        let of_run = self.open.difference(&self.open_of_kept);
        let open: Vec<String> = of_run.map(ToString::to_string).collect();
        for id in open {
            self.wrong(format!("the run is {status} and {id} still waits"));
        }
        let running = self.told.attempts.iter().filter(|(_, ending)| ending.is_none());
        let running: Vec<String> = running.map(|(job, _)| job.to_string()).collect();
        for job in running {
            self.wrong(format!("the run is {status} and {job} never ended"));
        }
        if status == WorkflowStatus::Completed {
            let over = self.steps.values().filter(|step| **step == AuditedStep::Over).count();
            if let Some(planned) = self.planned.filter(|planned| *planned != over) {
                self.wrong(format!("the run is completed with {over} of {planned} steps"));
            }
        }
    }
}

/// The attempt whose agent asks something, with what it asks.
fn asker(event: &SessionEvent) -> Option<(InterventionId, AttemptId)> {
    let (intervention, attempt) = match event {
        SessionEvent::InterventionRequired { intervention, attempt } => (intervention, (*attempt)?),
        SessionEvent::InputDecided { intervention, attempt, .. } => (intervention, *attempt),
        _ => return None,
    };
    let job = AttemptId { task: intervention.task.clone()?, attempt };
    Some((intervention.id.clone(), job))
}

fn may_follow_the_end(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::WorkflowRetried { .. }
            | SessionEvent::SessionDeleted { .. }
            | SessionEvent::SessionImported { .. }
            | SessionEvent::TaskReleased { .. }
            | SessionEvent::AgentUsage { .. }
            | SessionEvent::TreeWanted(_)
            | SessionEvent::TreeReady(_)
            | SessionEvent::TreeFailed { .. }
            | SessionEvent::TreeCheckpoint(_)
            | SessionEvent::TreeLanded(_)
            | SessionEvent::TreeConflict { .. }
            | SessionEvent::TreeKept { .. }
            | SessionEvent::TreeRemoved { .. }
            | SessionEvent::ReviewSent { .. }
            | SessionEvent::Unknown { .. }
    )
}
