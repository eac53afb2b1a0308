//! Finds grimoires that start each other for ever.

use std::collections::{BTreeMap, BTreeSet};

use coven_notation::FileProblem;

use super::{CatalogueEntry, layer};
use crate::check::{TriggerMatch, fires_on};

/// Marks every grimoire of a circle; none of them can be run, because any of them would run all.
/// Only what is certain counts: a condition on more than the name may well end it.
pub(super) fn find(entries: &mut [CatalogueEntry]) {
    let usable: Vec<usize> =
        (0..entries.len()).filter(|index| entries[*index].is_usable()).collect();
    let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for by in &usable {
        for other in &usable {
            let Some(plan) = &entries[*other].plan else { continue };
            if fires_on(plan, &entries[*by].name) == TriggerMatch::Yes {
                starts.entry(*by).or_default().push(*other);
            }
        }
    }
    let circles: Vec<(usize, Vec<usize>)> = usable
        .iter()
        .filter_map(|start| Some((*start, shortest_cycle(*start, &starts)?)))
        .collect();
    for (start, way) in circles {
        let names: Vec<String> = way.iter().map(|index| entries[*index].name.clone()).collect();
        let entry = &mut entries[start];
        let message = format!("it would be started again for ever: {}", names.join(" → "));
        let span = layer::key_span(&entry.source, "trigger");
        let problem = FileProblem::error("trigger-loop", span, message);
        entry.problems.push(problem.help("narrow the `where` of one of the triggers"));
        entry.plan = None;
    }
}

/// The shortest way from a grimoire back to itself.
fn shortest_cycle(start: usize, starts: &BTreeMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
    let mut ways = std::collections::VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|last| starts.get(last)).into_iter().flatten() {
            let mut longer = way.clone();
            longer.push(*next);
            if *next == start {
                return Some(longer);
            }
            if seen.insert(*next) {
                ways.push_back(longer);
            }
        }
    }
    None
}
