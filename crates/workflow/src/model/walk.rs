//! Everything that may happen in a world, for the checker to try.

use coven_model::event::Decision;
use coven_model::{Choice, Timestamp};
use stateright::Model;

use super::scenes::Scene;
use super::world::{Mood, NOW, Process, World};
use super::{Broken, End, Report, Step};
use crate::decide::decide;
use crate::input::Input;
use crate::testing;

/// What the checker walks through.
#[derive(Clone)]
pub(super) struct Walk {
    pub(super) scenes: Vec<Scene>,
    pub(super) broken: Broken,
}

impl Walk {
    fn ways(world: &World, input: impl Fn() -> (Input, Timestamp)) -> Vec<Option<usize>> {
        let mut ways = vec![None];
        if world.crashes > 0 {
            let (input, now) = input();
            let (events, _) = decide(&world.state, input, now);
            ways.extend((0..=events.len()).map(Some).filter(|_| !events.is_empty()));
        }
        ways
    }
}

impl Model for Walk {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let scenes = self.scenes.iter().enumerate();
        scenes.map(|(place, scene)| World::new(place as u8, scene, self.broken)).collect()
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        let scene = &self.scenes[world.scene as usize];
        actions.extend(world.orders.iter().cloned().map(Step::Order));
        for report in &world.reports {
            let ways = Self::ways(world, || World::input(report));
            actions.extend(ways.into_iter().map(|cut| Step::Report(report.clone(), cut)));
        }
        for (job, process) in &world.processes {
            let Process::Runs { mood, .. } = process else { continue };
            let arbiter = job.task.as_str().ends_with("arbiter");
            let ends = scene.ends.iter().filter(|end| match end {
                End::More | End::Done => arbiter,
                _ => true,
            });
            actions.extend(ends.map(|end| Step::Ends(job.clone(), *end)));
            let live = world.run().live(job);
            if *mood == Mood::Works && live.is_some_and(|live| live.spec.work.is_interactive()) {
                actions.push(Step::Idles(job.clone()));
                if world.questions > 0 {
                    actions.push(Step::Asks(job.clone()));
                }
                actions.push(Step::Complete(job.task.clone()));
            }
        }
        for number in 1..world.run().next_intervention {
            let open = world.run().interventions.get(&number);
            // One that is not open any more is decided again in the first two ways there are.
            let choices = open.map_or(vec![Choice::Retry, Choice::Approve], |pending| {
                pending.intervention.options.clone()
            });
            for choice in choices {
                let input = || (decision(number, choice), NOW);
                let ways = Self::ways(world, input);
                actions.extend(ways.into_iter().map(|cut| Step::Decide(number, choice, cut)));
            }
        }
        if scene.cancel {
            actions.push(Step::Wish(Report::Cancel));
        }
        if scene.again && world.wishes < 2 {
            actions.push(Step::Wish(Report::Again(world.run().retries)));
        }
        if world.crashes > 0 {
            actions.push(Step::Crash);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        let broken = self.broken;
        if let Step::Report(_, Some(_)) | Step::Decide(_, _, Some(_)) | Step::Crash = step {
            next.crashes -= 1;
        }
        match step {
            Step::Order(order) => next.carry_out(&order, broken),
            Step::Report(report, cut) => {
                let (input, now) = World::input(&report);
                next.tell(input, now, cut, broken);
            }
            Step::Ends(job, end) => {
                next.processes.insert(job.clone(), Process::Ended(end));
                next.reports.insert(Report::Ended(job, end));
            }
            Step::Idles(job) => {
                let Some(Process::Runs { mood, seen, .. }) = next.processes.get_mut(&job) else {
                    return None;
                };
                *mood = Mood::Idle;
                *seen += 1;
                next.reports.insert(Report::Idle(job, *seen));
            }
            Step::Asks(job) => {
                let Some(Process::Runs { mood, seen, .. }) = next.processes.get_mut(&job) else {
                    return None;
                };
                *mood = Mood::Asks;
                *seen += 1;
                next.questions -= 1;
                next.reports.insert(Report::Asks(job, *seen));
            }
            Step::Decide(number, choice, cut) => {
                next.tell(decision(number, choice), NOW, cut, broken);
            }
            Step::Complete(task) => {
                next.tell(Input::Complete { task, by: "she".to_owned() }, NOW, None, broken);
            }
            Step::Wish(report) => {
                let is_new = next.reports.insert(report.clone());
                next.wishes += u8::from(is_new && matches!(report, Report::Again(_)));
            }
            Step::Crash => {
                next.recover(broken);
                next.look();
            }
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        super::checks::properties(self.broken)
    }

    fn within_boundary(&self, world: &World) -> bool {
        let scene = &self.scenes[world.scene as usize];
        let attempts = world.processes.keys().map(|job| job.attempt).max().unwrap_or(0);
        attempts <= scene.attempts && world.run().next_intervention <= scene.interventions + 1
    }
}

fn decision(number: u64, choice: Choice) -> Input {
    testing::decide_with(number, Decision::new(choice, "she").with_text("1"))
}
