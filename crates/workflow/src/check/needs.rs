//! Checks what steps need: that there are such steps and that none waits for itself. Tells in which
//! order steps can be looked at, and which of the others each can see.

use std::collections::HashMap;
use std::rc::Rc;

use coven_notation::{FileProblem, SourceNode, SourceSpan};

use super::context::{CheckContext, did_you_mean};
use crate::plan::order;

/// The order of the steps of a grimoire.
pub(super) struct StepOrder {
    /// Their places, so that each stands behind what it needs.
    pub(super) places: Vec<usize>,
    reach: Reach,
}

/// What the texts of a step can refer to.
enum Reach {
    /// Every step that is written before.
    Before,
    /// Every step there is, because it cannot be said what comes before what.
    Unknown,
    /// The steps that it needs.
    Needed(Rc<NeededSteps>),
}

/// For each step, everything that it needs.
#[derive(Default)]
pub(super) struct NeededSteps {
    names: HashMap<String, usize>,
    /// Whether the step says itself what it needs.
    explicit: Vec<bool>,
    sets: Vec<PlaceSet>,
}

/// What one step can refer to, in a grimoire in which steps say what they need.
#[derive(Clone)]
pub(super) enum StepReach {
    Unknown,
    Needed(Rc<NeededSteps>, usize),
}

/// Places of steps.
#[derive(Clone)]
struct PlaceSet(Vec<u64>);

impl PlaceSet {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }

    fn extend(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(&other.0) {
            *own |= more;
        }
    }
}

impl StepOrder {
    pub(super) fn reach(&self, place: usize) -> Option<StepReach> {
        match &self.reach {
            Reach::Before => None,
            Reach::Unknown => Some(StepReach::Unknown),
            Reach::Needed(needed) => Some(StepReach::Needed(Rc::clone(needed), place)),
        }
    }
}

impl StepReach {
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// What a step has to add to its needs to see another, if it cannot and could.
    pub(super) fn missing(&self, step: &str) -> Option<String> {
        let Self::Needed(needed, own) = self else { return None };
        let other = *needed.names.get(step)?;
        if other == *own || needed.sets[*own].contains(other) || needed.sets[other].contains(*own) {
            return None;
        }
        Some(if needed.explicit[*own] {
            format!("add `{step}` to its `needs`")
        } else {
            format!("name `{step}` and the step before this one in `needs`")
        })
    }
}

/// Checks the needs of all steps.
pub(super) fn check(context: &mut CheckContext<'_>, steps: &[SourceNode]) -> StepOrder {
    let in_file = (0..steps.len()).collect();
    if steps.iter().all(|step| step.get("needs").is_none_or(SourceNode::is_null)) {
        return StepOrder { places: in_file, reach: Reach::Before };
    }
    let mut names = HashMap::new();
    for (place, step) in steps.iter().enumerate() {
        names.entry(name(step).to_owned()).or_insert(place);
    }
    let mut is_known = true;
    let mut needs = Vec::with_capacity(steps.len());
    for (place, step) in steps.iter().enumerate() {
        let (own, is_right) = needs_of(context, steps, place, step, &names);
        is_known &= is_right;
        needs.push(own);
    }
    let (places, cycles) = order(&needs);
    for cycle in &cycles {
        is_known = false;
        tell_cycle(context, steps, cycle);
    }
    if !is_known {
        return StepOrder { places, reach: Reach::Unknown };
    }
    let mut sets = vec![PlaceSet::new(steps.len()); steps.len()];
    for place in &places {
        let mut own = PlaceSet::new(steps.len());
        for needed in &needs[*place] {
            own.insert(*needed);
            own.extend(&sets[*needed]);
        }
        sets[*place] = own;
    }
    let explicit = steps.iter().map(is_explicit).collect();
    let needed = Rc::new(NeededSteps { names, explicit, sets });
    StepOrder { places, reach: Reach::Needed(needed) }
}

/// The places of what a step needs directly, and whether nothing is wrong with what it says.
fn needs_of(
    context: &mut CheckContext<'_>,
    steps: &[SourceNode],
    place: usize,
    step: &SourceNode,
    names: &HashMap<String, usize>,
) -> (Vec<usize>, bool) {
    let Some(written) = step.get("needs").filter(|node| !node.is_null()) else {
        return (place.checked_sub(1).into_iter().collect(), true);
    };
    let own = name(step);
    let mut found = Vec::new();
    let mut seen: HashMap<&str, SourceSpan> = HashMap::new();
    let before = written.items().len();
    for node in written.items() {
        let Some(needed) = node.as_str() else { continue };
        if let Some(first) = seen.get(needed) {
            let message = format!("step `{own}` needs `{needed}` twice");
            let problem = FileProblem::error("duplicate-need", node.span, message);
            context.push(problem.with_related(*first, "the first one").help("name it once"));
            continue;
        }
        seen.insert(needed, node.span);
        match names.get(needed) {
            Some(other) if *other == place => context.error(
                "needs-itself",
                node.span,
                format!("step `{own}` needs itself"),
                "a step can need other steps only",
            ),
            Some(other) => found.push(*other),
            None => {
                let others = steps.iter().map(name).filter(|other| *other != own);
                let near = did_you_mean(needed, others);
                let message = format!("there is no step `{needed}`{near}");
                let problem = FileProblem::error("unknown-step", node.span, message);
                context.push(problem.help("`needs` has the names of other steps of the grimoire"));
            }
        }
    }
    let is_right = found.len() == before;
    found.sort_unstable();
    (found, is_right)
}

/// Tells of steps of which each waits for the next, and the last for the first.
fn tell_cycle(context: &mut CheckContext<'_>, steps: &[SourceNode], cycle: &[usize]) {
    // Steps that stand one after another alone make no cycle: one of them says what it needs.
    let begin = cycle.iter().position(|place| is_explicit(&steps[*place])).unwrap_or_default();
    let along = |at: usize| &steps[cycle[(begin + at) % cycle.len()]];
    let first = along(0);
    let mut story = format!("step `{}` waits for itself: it", name(first));
    for at in 1..=cycle.len() {
        let verb = if is_explicit(along(at - 1)) { "needs" } else { "comes after" };
        let joint = if at == 1 { "" } else { ", which" };
        story.push_str(&format!("{joint} {verb} `{}`", name(along(at))));
    }
    let needed = first.get("needs").map(SourceNode::items).unwrap_or_default();
    let needed = needed.iter().find(|node| node.as_str() == Some(name(along(1))));
    let span = needed.map_or(first.span, |node| node.span);
    let mut problem = FileProblem::error("needs-cycle", span, story);
    for at in 1..cycle.len().min(4) {
        problem = problem.with_related(along(at).key_span("name"), "waits as well");
    }
    context.push(problem.help("let one of them need less; a step without `needs` comes after the step that is written before it"));
}

fn is_explicit(step: &SourceNode) -> bool {
    step.get("needs").is_some_and(|node| !node.is_null())
}

fn name(step: &SourceNode) -> &str {
    step.get("name").and_then(SourceNode::as_str).unwrap_or_default()
}
