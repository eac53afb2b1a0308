//! Approvals: the only way for a command to be let run. Every command has one request, bound to
//! its id; every request is decided at most once, and the trail says by whom, when and why.

use std::collections::BTreeMap;
use std::fmt;

use crate::clock::Moment;
use crate::command::CommandId;
use crate::scheduler::{IllegalTransition, Rule, Rules};

/// Names a request for approval. Given in order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId(pub u64);

impl fmt::Display for ApprovalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "approval {}", self.0)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalVerdict {
    /// The command may run.
    Approved,
    /// The command must not run.
    Rejected,
    /// No decision came in time, which is a rejection.
    TimedOut,
    /// The question is void: the command was cancelled or cannot run any more.
    Withdrawn,
}

/// One line of the trail: who decided what, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApprovalAudit {
    /// The request that was decided.
    pub approval: ApprovalId,
    /// The command it is about.
    pub command: CommandId,
    /// The decision that was taken.
    pub verdict: ApprovalVerdict,
    /// Who decided; `deadline` or `scheduler` where no person did.
    pub by: String,
    /// The moment of the decision.
    pub at: Moment,
    /// The reason that was given.
    pub reason: String,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// There is no decision yet.
    Pending,
    /// Decided; the trail has the rest.
    Decided(ApprovalVerdict),
}

/// A request to let one command run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approval {
    pub(crate) id: ApprovalId,
    pub(crate) command: CommandId,
    pub(crate) asked: Moment,
    pub(crate) deadline: Option<Moment>,
    pub(crate) state: ApprovalState,
}

impl Approval {
    /// The id of the request.
    pub fn id(&self) -> ApprovalId {
        self.id
    }

    /// The command it is about.
    pub fn command(&self) -> CommandId {
        self.command
    }

    /// When it was asked for.
    pub fn asked(&self) -> Moment {
        self.asked
    }

    /// From when on it is too late to decide.
    pub fn deadline(&self) -> Option<Moment> {
        self.deadline
    }

    /// Whether the request is pending or decided.
    pub fn state(&self) -> ApprovalState {
        self.state
    }

    /// Whether the decision is still missing.
    pub(crate) fn is_pending(&self) -> bool {
        self.state == ApprovalState::Pending
    }
}

/// All requests and what was decided on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Approvals {
    pub(crate) requests: BTreeMap<ApprovalId, Approval>,
    /// Only ever added to, apart from what is forgotten as a whole.
    pub(crate) trail: BTreeMap<ApprovalId, Vec<ApprovalAudit>>,
    pub(crate) next: u64,
    pub(crate) forgotten: u64,
    pub(crate) rules: Rules,
}

/// A decision as it comes in.
pub(crate) struct ApprovalDecision<'a> {
    pub(crate) verdict: ApprovalVerdict,
    pub(crate) by: &'a str,
    pub(crate) reason: &'a str,
}

impl Approvals {
    /// The request with this id.
    pub fn get(&self, id: ApprovalId) -> Option<&Approval> {
        self.requests.get(&id)
    }

    /// The undecided requests, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Approval> {
        self.requests.values().filter(|approval| approval.is_pending())
    }

    /// What was decided on a request.
    pub fn audit(&self, id: ApprovalId) -> Option<&ApprovalAudit> {
        self.trail.get(&id)?.first()
    }

    pub(crate) fn ask(
        &mut self,
        command: CommandId,
        deadline: Option<Moment>,
        now: Moment,
    ) -> ApprovalId {
        let id = ApprovalId(self.next);
        self.next += if self.rules.obeys(Rule::IdsAreGivenInOrder) { 1 } else { 2 };
        let state = ApprovalState::Pending;
        self.requests.insert(id, Approval { id, command, asked: now, deadline, state });
        id
    }

    /// Decides, once. A person's decision after the deadline is too late; a timeout before it is
    /// too early.
    pub(crate) fn decide(
        &mut self,
        id: ApprovalId,
        decision: &ApprovalDecision<'_>,
        now: Moment,
    ) -> Result<ApprovalAudit, IllegalTransition> {
        let rules = self.rules;
        let approval = self.requests.get_mut(&id).ok_or(IllegalTransition::NoSuchApproval(id))?;
        let passed = approval.deadline.is_some_and(|deadline| deadline <= now);
        let timely = match decision.verdict {
            ApprovalVerdict::Approved | ApprovalVerdict::Rejected => !passed,
            ApprovalVerdict::TimedOut => passed,
            ApprovalVerdict::Withdrawn => true,
        };
        rules.require(
            Rule::DecidedOnce,
            approval.is_pending(),
            IllegalTransition::AlreadyDecided(id),
        )?;
        rules.require(Rule::DeadlinesAreKept, timely, IllegalTransition::DeadlinePassed(id))?;

        let audit = ApprovalAudit {
            approval: id,
            command: approval.command,
            verdict: decision.verdict,
            by: decision.by.to_owned(),
            at: if rules.obeys(Rule::DecisionsHaveATime) { now } else { Moment::default() },
            reason: decision.reason.to_owned(),
        };
        if rules.obeys(Rule::DecisionsEndTheQuestion) {
            approval.state = ApprovalState::Decided(decision.verdict);
        }
        if !rules.obeys(Rule::TheTrailIsKept) {
            let lines = self.trail.values_mut().flatten();
            lines.for_each(|line| decision.by.clone_into(&mut line.by));
        }
        if rules.obeys(Rule::DecisionsAreOnRecord) {
            self.trail.entry(id).or_default().push(audit.clone());
        }
        Ok(audit)
    }

    pub(crate) fn forget(&mut self, id: ApprovalId) {
        self.requests.remove(&id);
        self.trail.remove(&id);
        self.forgotten += 1;
    }
}
