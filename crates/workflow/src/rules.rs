//! The rules a run is safe by. In tests one of them can be broken, to see that it is needed.

/// A rule whose absence the model checker turns into a counterexample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DecisionRule {
    /// What is over takes nothing in any more.
    FinalAbsorbs,
    /// A run ends when its last job has.
    DrainFirst,
    /// A step with `needs_approval` asks before it starts.
    ApprovedFirst,
    /// Nothing starts once a run is to end.
    NothingStartsLate,
    /// An outcome counts for the attempt it belongs to, and once.
    OutcomesCountOnce,
    /// An intervention is decided once.
    DecidedOnce,
    /// An old observation is no news.
    ObservationsGrow,
    /// A retry request is carried out once.
    RetriedOnce,
    /// A task starts when its tree is there.
    TreeFirst,
    /// What was done in a tree is kept before another task starts in it.
    KeptFirst,
    /// The trees of a step are landed before the step is over.
    LandFirst,
    /// What was landed is not landed again.
    LandedOnce,
    /// A run is over when its trees are removed or kept.
    RemovedFirst,
    /// A step starts when all that it needs is over.
    NeedsFirst,
    /// A step that failed stops only what needs it.
    BranchesGoOn,
    /// A loop has no more rounds than it may.
    RoundsEnd,
}

#[cfg(test)]
impl DecisionRule {
    pub(crate) const ALL: [Self; 16] = [
        Self::FinalAbsorbs,
        Self::DrainFirst,
        Self::ApprovedFirst,
        Self::NothingStartsLate,
        Self::OutcomesCountOnce,
        Self::DecidedOnce,
        Self::ObservationsGrow,
        Self::RetriedOnce,
        Self::TreeFirst,
        Self::KeptFirst,
        Self::LandFirst,
        Self::LandedOnce,
        Self::RemovedFirst,
        Self::NeedsFirst,
        Self::BranchesGoOn,
        Self::RoundsEnd,
    ];
}

/// Which rules hold: all of them, except in tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ActiveRules {
    #[cfg(test)]
    pub(crate) broken: Option<DecisionRule>,
}

impl ActiveRules {
    #[cfg(test)]
    pub(crate) fn hold(self, rule: DecisionRule) -> bool {
        self.broken != Some(rule)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it says which rule is broken")]
    pub(crate) fn hold(self, _: DecisionRule) -> bool {
        true
    }
}
