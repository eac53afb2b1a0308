//! Everything that may happen in a world, for the checker to try.

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, Timestamp};
use stateright::Model;

use super::scenes::ModelScenario;
use super::world::{AgentDisplay, ModelProcess, NOW, WorldState};
use super::{DisabledParts, ModelStep, OrderInFlight, ProcessEnd, ReportInFlight};
use crate::command::TreeOrder;
use crate::decide::decide;
use crate::input::SessionInput;
use crate::testing;

/// What the checker walks through.
#[derive(Clone)]
pub(super) struct SessionModel {
    pub(super) scenes: Vec<ModelScenario>,
    pub(super) broken: DisabledParts,
}

impl SessionModel {
    fn ways(
        world: &WorldState,
        input: impl Fn() -> (SessionInput, Timestamp),
    ) -> Vec<Option<usize>> {
        let mut ways = vec![None];
        if world.crashes > 0 {
            let (input, now) = input();
            let (events, _) = decide(&world.state, input, now);
            ways.extend((0..=events.len()).map(Some).filter(|_| !events.is_empty()));
        }
        ways
    }
}

impl Model for SessionModel {
    type State = WorldState;
    type Action = ModelStep;

    fn init_states(&self) -> Vec<WorldState> {
        let scenes = self.scenes.iter().enumerate();
        scenes.map(|(place, scene)| WorldState::new(place as u8, scene, self.broken)).collect()
    }

    fn actions(&self, world: &WorldState, actions: &mut Vec<ModelStep>) {
        let scene = &self.scenes[world.scene as usize];
        actions.extend(world.orders.iter().cloned().map(ModelStep::Order));
        if world.failures > 0 {
            actions.extend(world.orders.iter().filter_map(|order| match order {
                OrderInFlight::Send(job, number, attempt) => {
                    Some(ModelStep::Fails(job.clone(), *number, *attempt))
                }
                _ => None,
            }));
        }
        for order in &world.orders {
            let OrderInFlight::Tree(order) = order else { continue };
            if world.trees.failures > 0 {
                actions.push(ModelStep::TreeFails(order.clone()));
            }
            if let (TreeOrder::Land { tree }, 1..) = (order, world.trees.conflicts) {
                actions.push(ModelStep::Conflicts(tree.clone()));
            }
        }
        for report in &world.reports {
            let ways = Self::ways(world, || WorldState::input(report));
            actions.extend(ways.into_iter().map(|cut| ModelStep::Report(report.clone(), cut)));
        }
        for (job, process) in &world.processes {
            let ModelProcess::Runs { mood, .. } = process else { continue };
            let arbiter = job.task.as_str().ends_with("arbiter");
            let ends = scene.ends.iter().filter(|end| match end {
                ProcessEnd::More | ProcessEnd::Done => arbiter,
                _ => true,
            });
            actions.extend(ends.map(|end| ModelStep::Ends(job.clone(), *end)));
            let alive = world.run().alive(job);
            if *mood == AgentDisplay::Works
                && alive.is_some_and(|alive| alive.spec.work.is_interactive())
            {
                if world.questions > 0 {
                    actions.push(ModelStep::Asks(job.clone()));
                }
                // Nobody waits for the turns of an agent that was left alive.
                if world.run().live(job).is_some() {
                    actions.push(ModelStep::Idles(job.clone()));
                    actions.push(ModelStep::Complete(job.task.clone()));
                }
            }
        }
        for number in 1..world.run().next_intervention {
            let open = world.run().open_intervention(number);
            // One that is not open any more is decided again in the first two ways there are.
            let choices = open
                .map_or(vec![InterventionChoice::Retry, InterventionChoice::Approve], |asked| {
                    asked.options.clone()
                });
            for choice in choices {
                let input = || (decision(number, choice), NOW);
                let ways = Self::ways(world, input);
                actions.extend(ways.into_iter().map(|cut| ModelStep::Decide(number, choice, cut)));
            }
        }
        if scene.cancel {
            actions.push(ModelStep::Wish(ReportInFlight::Cancel));
        }
        if scene.again && world.wishes < 2 {
            actions.push(ModelStep::Wish(ReportInFlight::Again(world.run().retries)));
        }
        if world.crashes > 0 {
            actions.push(ModelStep::Crash);
        }
    }

    fn next_state(&self, world: &WorldState, step: ModelStep) -> Option<WorldState> {
        let mut next = world.clone();
        let broken = self.broken;
        if let ModelStep::Report(_, Some(_)) | ModelStep::Decide(_, _, Some(_)) | ModelStep::Crash =
            step
        {
            next.crashes -= 1;
        }
        match step {
            ModelStep::Order(order) => next.carry_out(&order, broken),
            ModelStep::Report(report, cut) => {
                let (input, now) = WorldState::input(&report);
                next.forget_report(&report);
                next.decide_on(input, now, cut, broken);
            }
            ModelStep::Fails(job, number, attempt) => {
                next.failures -= 1;
                // It was tried, and is not tried again before somebody says so.
                next.orders.remove(&OrderInFlight::Send(job.clone(), number, attempt));
                next.reports.insert(ReportInFlight::Undelivered(job, number, attempt));
            }
            ModelStep::TreeFails(order) => next.fail_tree(&order),
            ModelStep::Conflicts(tree) => next.conflict(&tree),
            ModelStep::Ends(job, end) => {
                next.processes.insert(job.clone(), ModelProcess::Ended(end));
                next.reports.insert(ReportInFlight::Ended(job, end));
            }
            ModelStep::Idles(job) => {
                let Some(ModelProcess::Runs { mood, seen, .. }) = next.processes.get_mut(&job)
                else {
                    return None;
                };
                *mood = AgentDisplay::Idle;
                *seen += 1;
                next.reports.insert(ReportInFlight::Idle(job, *seen));
            }
            ModelStep::Asks(job) => {
                let Some(ModelProcess::Runs { mood, seen, .. }) = next.processes.get_mut(&job)
                else {
                    return None;
                };
                *mood = AgentDisplay::Asks;
                *seen += 1;
                next.questions -= 1;
                next.reports.insert(ReportInFlight::Asks(job, *seen));
            }
            ModelStep::Decide(number, choice, cut) => {
                next.decide_on(decision(number, choice), NOW, cut, broken);
            }
            ModelStep::Complete(task) => {
                next.decide_on(
                    SessionInput::Complete { task, by: "she".to_owned() },
                    NOW,
                    None,
                    broken,
                );
            }
            ModelStep::Wish(report) => {
                let is_new = next.reports.insert(report.clone());
                next.wishes += u8::from(is_new && matches!(report, ReportInFlight::Again(_)));
            }
            ModelStep::Crash => {
                next.recover(broken);
                next.remember_status();
            }
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        super::checks::properties(self.broken)
    }

    fn within_boundary(&self, world: &WorldState) -> bool {
        let scene = &self.scenes[world.scene as usize];
        let attempts = world.processes.keys().map(|job| job.attempt).max().unwrap_or(0);
        attempts <= scene.attempts && world.run().next_intervention <= scene.interventions + 1
    }
}

fn decision(number: u64, choice: InterventionChoice) -> SessionInput {
    testing::decide_with(number, InterventionDecision::new(choice, "she").with_text("1"))
}
