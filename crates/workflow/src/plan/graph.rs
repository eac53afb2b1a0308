//! Which steps come before which: one after the other, or as they say what they need.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use super::WorkflowPlan;

/// What each step of a plan needs and what needs it, by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepGraph {
    needs: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
}

/// Why the steps of a plan have no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepGraphError {
    #[error("step `{step}` needs `{needed}`, which does not exist")]
    Unknown { step: String, needed: String },
    #[error("step `{0}` waits for itself")]
    Cycle(String),
}

impl WorkflowPlan {
    /// Whether a step says what it needs, so that steps can run side by side.
    pub fn is_graph(&self) -> bool {
        self.steps.iter().any(|step| step.needs.is_some())
    }

    /// For each step the names of those that must be over before it starts; empty in a plan whose
    /// steps run one after another.
    pub fn needs(&self) -> Vec<Vec<String>> {
        let places = 0..if self.is_graph() { self.steps.len() } else { 0 };
        let edges = places.map(|place| self.edges_of(place).unwrap_or_default());
        edges.map(|edges| edges.into_iter().map(str::to_owned).collect()).collect()
    }

    fn edges_of(&self, place: usize) -> Option<Vec<&str>> {
        if let Some(needs) = &self.steps.get(place)?.needs {
            return Some(needs.iter().map(String::as_str).collect());
        }
        let before = place.checked_sub(1).and_then(|before| self.steps.get(before));
        Some(before.into_iter().map(|step| step.name.as_str()).collect())
    }
}

impl StepGraph {
    /// The graph of a plan; nothing if its steps run one after another.
    pub(crate) fn of(plan: &WorkflowPlan) -> Result<Option<Self>, StepGraphError> {
        if !plan.is_graph() {
            return Ok(None);
        }
        let mut places = HashMap::new();
        for (place, step) in plan.steps.iter().enumerate() {
            places.entry(step.name.as_str()).or_insert(place);
        }
        let mut needs = Vec::with_capacity(plan.steps.len());
        let mut dependents = vec![Vec::new(); plan.steps.len()];
        for (place, step) in plan.steps.iter().enumerate() {
            let mut own = BTreeSet::new();
            for needed in plan.edges_of(place).unwrap_or_default() {
                let found = places.get(needed).copied();
                own.insert(found.ok_or_else(|| StepGraphError::Unknown {
                    step: step.name.clone(),
                    needed: needed.to_owned(),
                })?);
            }
            for needed in &own {
                dependents[*needed].push(place);
            }
            needs.push(own.into_iter().collect::<Vec<_>>());
        }
        let (_, cycles) = order(&needs);
        match cycles.first().and_then(|cycle| plan.steps.get(*cycle.first()?)) {
            Some(step) => Err(StepGraphError::Cycle(step.name.clone())),
            None => Ok(Some(Self { needs, dependents })),
        }
    }

    /// The places of the steps that must be over before this one starts.
    pub(crate) fn needs(&self, place: usize) -> &[usize] {
        self.needs.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// The places of the steps that need this one.
    pub(crate) fn dependents(&self, place: usize) -> &[usize] {
        self.dependents.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Everything that must be over before the step at this place starts.
    pub(crate) fn needed(&self, place: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = self.needs(place).to_vec();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(self.needs(next));
            }
        }
        found
    }
}

/// The places in an order in which each stands behind all that it needs, as near to that of the file
/// as can be; and the cycles that keep some from standing so, each as its places, where each needs
/// the next and the last the first.
pub(crate) fn order(needs: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut dependents = vec![Vec::new(); needs.len()];
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    for (place, needs) in needs.iter().enumerate() {
        for needed in needs {
            dependents[*needed].push(place);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..needs.len()).filter(|place| open[*place] == 0).map(Reverse).collect();
    let mut is_placed = vec![false; needs.len()];
    let (mut ordered, mut cycles) = (Vec::with_capacity(needs.len()), Vec::new());
    loop {
        while let Some(Reverse(place)) = ready.pop() {
            if std::mem::replace(&mut is_placed[place], true) {
                continue;
            }
            ordered.push(place);
            for dependent in &dependents[place] {
                open[*dependent] = open[*dependent].saturating_sub(1);
                if open[*dependent] == 0 {
                    ready.push(Reverse(*dependent));
                }
            }
        }
        let Some(cycle) = cycle(needs, &is_placed) else { return (ordered, cycles) };
        // As if they needed nothing, so that other cycles are found as well.
        ready.extend(cycle.iter().map(|place| Reverse(*place)));
        cycles.push(cycle);
    }
}

/// A cycle among the steps that have no place yet. Each of them needs another such.
fn cycle(needs: &[Vec<usize>], is_placed: &[bool]) -> Option<Vec<usize>> {
    let mut at = is_placed.iter().position(|placed| !placed)?;
    let mut path: Vec<usize> = Vec::new();
    let mut seen = HashMap::new();
    loop {
        if let Some(begin) = seen.insert(at, path.len()) {
            return Some(path.split_off(begin));
        }
        path.push(at);
        at = *needs[at].iter().find(|needed| !is_placed[**needed])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_behind_what_they_need_and_else_as_they_are_written() {
        let (ordered, cycles) = order(&[vec![2], vec![], vec![1], vec![]]);
        assert_eq!((ordered, cycles.len()), (vec![1, 2, 0, 3], 0));
    }

    #[test]
    fn every_cycle_is_found_and_what_hangs_on_it_is_not_part_of_it() {
        let needs = [vec![1], vec![0], vec![1], vec![4], vec![5], vec![3], vec![]];
        let (ordered, cycles) = order(&needs);
        assert_eq!(cycles, [vec![0, 1], vec![3, 4, 5]]);
        assert_eq!(ordered.len(), needs.len(), "each has a place all the same");
    }

    #[test]
    fn a_step_that_needs_itself_is_a_cycle() {
        assert_eq!(order(&[vec![0]]).1, [vec![0]]);
    }
}
