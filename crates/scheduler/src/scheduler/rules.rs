//! The guards of the board by name, so that a test can take one away and see that an invariant
//! notices. Outside of tests every rule is always obeyed, and the compiler knows.

use super::IllegalTransition;

/// One guard. Each is needed: without it the model checker finds a way to break an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// A command is given to an agent only after it was approved.
    ApprovedFirst,
    /// A command that one agent has is not given to another.
    AssignedOnce,
    /// A command that has ended otherwise is not given to anybody.
    EndedIsOver,
    /// A command that has failed is not given to anybody.
    FailedIsOver,
    /// A command that is cancelled before it began has ended.
    CancelledIsOver,
    /// A command that was not approved in the end has ended.
    RejectedIsOver,
    /// A command is given to an agent only after what it depends on has succeeded.
    DependenciesFirst,
    /// A command is given only to an agent that is capable of it.
    CapableOnly,
    /// A command is taken in only while fewer wait than may.
    QueueIsBounded,
    /// An agent leaves only when it has nothing to do.
    OnlyIdleLeave,
    /// An execution gets a slot that no other has.
    SlotsServeOne,
    /// An execution has its slot until its end.
    SlotsAreHeldToTheEnd,
    /// An execution that has ended gives its slot back.
    SlotsAreGivenBack,
    /// A command begins only while fewer run than there are slots.
    BeginWithinTheLimit,
    /// An agent whose execution has ended is idle.
    AgentsReturn,
    /// A request is decided once.
    DecidedOnce,
    /// Decisions come before the deadline, timeouts at it or later.
    DeadlinesAreKept,
    /// What has a deadline is on the list of deadlines.
    DeadlinesAreListed,
    /// A decision carries the time at which it was made.
    DecisionsHaveATime,
    /// A decision is written to the trail.
    DecisionsAreOnRecord,
    /// A line of the trail is never changed.
    TheTrailIsKept,
    /// A decided request is not pending any more.
    DecisionsEndTheQuestion,
    /// No id of a request is left out.
    IdsAreGivenInOrder,
}

#[cfg(test)]
impl Rule {
    /// Every rule, in the order of the list above.
    pub(crate) const ALL: [Self; 23] = [
        Self::ApprovedFirst,
        Self::AssignedOnce,
        Self::EndedIsOver,
        Self::FailedIsOver,
        Self::CancelledIsOver,
        Self::RejectedIsOver,
        Self::DependenciesFirst,
        Self::CapableOnly,
        Self::QueueIsBounded,
        Self::OnlyIdleLeave,
        Self::SlotsServeOne,
        Self::SlotsAreHeldToTheEnd,
        Self::SlotsAreGivenBack,
        Self::BeginWithinTheLimit,
        Self::AgentsReturn,
        Self::DecidedOnce,
        Self::DeadlinesAreKept,
        Self::DeadlinesAreListed,
        Self::DecisionsHaveATime,
        Self::DecisionsAreOnRecord,
        Self::TheTrailIsKept,
        Self::DecisionsEndTheQuestion,
        Self::IdsAreGivenInOrder,
    ];
}

/// Which rules are in force: all of them, but for one that a test breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    #[cfg(test)]
    pub(crate) broken: Option<Rule>,
    /// The invariants are checked elsewhere.
    #[cfg(test)]
    pub(crate) unexamined: bool,
}

impl Rules {
    #[cfg(test)]
    pub(crate) fn obeys(self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it says which rule is broken")]
    pub(crate) fn obeys(self, _: Rule) -> bool {
        true
    }

    /// Whether the invariants are to be checked after each transition.
    #[cfg(test)]
    pub(crate) fn are_examined(self) -> bool {
        !self.unexamined
    }

    /// Whether the invariants are to be checked after each transition.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it says which rule is broken")]
    pub(crate) fn are_examined(self) -> bool {
        cfg!(debug_assertions)
    }

    /// An error unless what the rule asks for holds.
    pub(crate) fn require(
        self,
        rule: Rule,
        holds: bool,
        illegal: IllegalTransition,
    ) -> Result<(), IllegalTransition> {
        if holds || !self.obeys(rule) { Ok(()) } else { Err(illegal) }
    }
}
