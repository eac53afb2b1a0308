//! The small plans that the checker walks through, one for each kind of step.

use super::ProcessEnd;
use crate::plan::{Isolation, OnFailure, OnLimit, StepAction, WorkflowPlan};
use crate::testing::*;

/// A plan and what may happen to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ModelScenario {
    pub(super) name: &'static str,
    pub(super) plan: WorkflowPlan,
    pub(super) input: serde_json::Value,
    /// How processes may end by themselves.
    pub(super) ends: Vec<ProcessEnd>,
    /// How often the deciding process may die.
    pub(super) crashes: u8,
    /// Whether the run may be cancelled.
    pub(super) cancel: bool,
    /// Whether a failed step may be retried by a person.
    pub(super) again: bool,
    /// How often an agent may ask.
    pub(super) questions: u64,
    /// How often a text may fail to arrive.
    pub(super) failures: u8,
    /// How often landing may meet a conflict, and an order about a tree may fail.
    pub(super) conflicts: u8,
    pub(super) tree_failures: u8,
    /// No attempts beyond this, and no interventions beyond this.
    pub(super) attempts: u32,
    pub(super) interventions: u64,
}

impl ModelScenario {
    fn new(name: &'static str, steps: Vec<crate::plan::PlanStep>) -> Self {
        Self {
            name,
            plan: plan(steps),
            input: serde_json::json!({"items": [1, 2]}),
            ends: vec![ProcessEnd::Good, ProcessEnd::Bad],
            crashes: 1,
            cancel: true,
            again: false,
            questions: 0,
            failures: 0,
            conflicts: 0,
            tree_failures: 0,
            attempts: 2,
            interventions: 1,
        }
    }
}

/// An agent that is tried twice, then a script.
pub(super) fn retried() -> ModelScenario {
    let steps = vec![agent_step("do", "x").retries(2, 0), script_step("then", "y")];
    ModelScenario {
        ends: vec![ProcessEnd::Good, ProcessEnd::Bad, ProcessEnd::Lost],
        ..ModelScenario::new("retried", steps)
    }
}

/// An agent that is tried twice, whose program may refuse to be spoken to.
pub(super) fn refusing() -> ModelScenario {
    ModelScenario {
        ends: vec![ProcessEnd::Good, ProcessEnd::Bad, ProcessEnd::Refused],
        attempts: 3,
        cancel: false,
        ..ModelScenario::new("refusing", vec![agent_step("do", "x").retries(2, 0)])
    }
}

/// The same with a pause between the attempts, and a timeout.
pub(super) fn timed() -> ModelScenario {
    let mut steps = vec![script_step("do", "x").retries(2, 5)];
    steps[0].timeout = Some(std::time::Duration::from_millis(5));
    ModelScenario::new("timed", steps)
}

/// A run that fails and is tried again.
pub(super) fn failing_and_retried() -> ModelScenario {
    let steps = vec![script_step("do", "x"), script_step("then", "y")];
    ModelScenario { again: true, cancel: false, attempts: 3, ..ModelScenario::new("again", steps) }
}

/// Two items, one at a time.
pub(super) fn fan_out() -> ModelScenario {
    let steps = vec![parallel("build", "${input.items}", "${item}", 1), script_step("then", "y")];
    ModelScenario::new("fan-out", steps)
}

/// A command for each of two items, one at a time.
pub(super) fn commands_for_items() -> ModelScenario {
    let steps = vec![for_each_script("build", "${input.items}", "x ${item}", 1)];
    ModelScenario { cancel: false, ..ModelScenario::new("commands", steps) }
}

/// Two items at a time.
pub(super) fn parallel_items() -> ModelScenario {
    ModelScenario::new("wide", vec![parallel("build", "${input.items}", "${item}", 2)])
}

/// A worker and an arbiter.
pub(super) fn worker_and_arbiter() -> ModelScenario {
    let ends = vec![ProcessEnd::Good, ProcessEnd::More, ProcessEnd::Done];
    ModelScenario {
        ends,
        cancel: false,
        ..ModelScenario::new("loop", vec![agent_loop("review", 2, OnLimit::Block)])
    }
}

/// A worker that goes on until a command passes, which is run before the first round as well.
pub(super) fn worker_until_green() -> ModelScenario {
    let mut looping = loop_until("fix", 2, OnLimit::Block);
    if let StepAction::AgentLoop { until: Some(until), .. } = &mut looping.action {
        until.first = true;
    }
    ModelScenario {
        ends: vec![ProcessEnd::Good, ProcessEnd::Bad, ProcessEnd::Lost],
        cancel: false,
        ..ModelScenario::new("until", vec![looping])
    }
}

/// A loop that tests and mends, once.
pub(super) fn rounds_of_steps() -> ModelScenario {
    ModelScenario {
        ends: vec![ProcessEnd::Good, ProcessEnd::Bad, ProcessEnd::Lost],
        cancel: false,
        interventions: 2,
        ..ModelScenario::new("rounds of steps", vec![test_and_mend(1)])
    }
}

/// A gate with a command, and one without.
pub(super) fn gates() -> ModelScenario {
    let steps = vec![gate("tests", Some("x")), gate("ready", None)];
    ModelScenario { interventions: 2, ..ModelScenario::new("gates", steps) }
}

/// A step that waits for leave and blocks when it fails.
pub(super) fn approved_start() -> ModelScenario {
    let mut steps = vec![agent_step("do", "x"), script_step("then", "y")];
    steps[0].needs_approval = true;
    steps[0].on_failure = OnFailure::Block;
    ModelScenario { interventions: 2, ..ModelScenario::new("leave", steps) }
}

/// A second step that waits for leave, fails the run, and waits for leave again when it is retried.
pub(super) fn approved_twice() -> ModelScenario {
    let mut steps = vec![script_step("do", "x"), script_step("then", "y")];
    steps[1].needs_approval = true;
    ModelScenario {
        again: true,
        cancel: false,
        interventions: 2,
        ..ModelScenario::new("leave again", steps)
    }
}

/// A stage with an agent that has inputs queued, and one without a terminal.
pub(super) fn stages() -> ModelScenario {
    let mut first = interactive("hi");
    first.pending_inputs = vec![template("one"), template("two")];
    let steps = vec![stage("first", &[("a", first)]), stage("second", &[("b", agent("x"))])];
    ModelScenario {
        ends: vec![ProcessEnd::Good],
        cancel: false,
        failures: 1,
        ..ModelScenario::new("stages", steps)
    }
}

/// An interactive agent that asks and turns idle.
pub(super) fn interactive_agent() -> ModelScenario {
    let steps = vec![stage("first", &[("a", interactive("hi"))])];
    let ends = vec![ProcessEnd::Good];
    ModelScenario {
        ends,
        questions: 1,
        interventions: 2,
        cancel: false,
        ..ModelScenario::new("talk", steps)
    }
}

/// An interactive agent that stays when its task is done.
pub(super) fn kept_agent() -> ModelScenario {
    let mut first = interactive("hi");
    first.keep_alive = true;
    let steps = vec![stage("first", &[("a", first)]), stage("second", &[("b", agent("x"))])];
    ModelScenario { ends: vec![ProcessEnd::Good], ..ModelScenario::new("kept", steps) }
}

/// The same alone, and it asks: while its task is under way, or when the run is over.
pub(super) fn asking_kept_agent() -> ModelScenario {
    let mut first = interactive("hi");
    first.keep_alive = true;
    ModelScenario {
        ends: vec![ProcessEnd::Good],
        questions: 1,
        interventions: 2,
        cancel: false,
        ..ModelScenario::new("kept asks", vec![stage("first", &[("a", first)])])
    }
}

/// Two items, each in a tree of its own, which are landed.
pub(super) fn trees() -> ModelScenario {
    let mut steps = vec![parallel("build", "${input.items}", "${item}", 2)];
    steps[0].isolation = Some(Isolation::Auto);
    ModelScenario {
        ends: vec![ProcessEnd::Good],
        cancel: false,
        conflicts: 1,
        ..ModelScenario::new("trees", steps)
    }
}

/// One item in a tree, which cannot always be made, committed or landed, after a step in the tree of
/// the run.
pub(super) fn failing_trees() -> ModelScenario {
    let mut steps =
        vec![agent_step("plan", "x"), parallel("build", "${input.items}", "${item}", 1)];
    steps[1].isolation = Some(Isolation::Auto);
    steps[0].isolation = Some(Isolation::Auto);
    ModelScenario {
        input: serde_json::json!({"items": [1]}),
        ends: vec![ProcessEnd::Good],
        tree_failures: 1,
        ..ModelScenario::new("failing trees", steps)
    }
}

/// An agent that is tried twice in the tree of the run, which cannot always be kept.
pub(super) fn retried_in_a_tree() -> ModelScenario {
    let mut steps = vec![agent_step("do", "x").retries(2, 0)];
    steps[0].isolation = Some(Isolation::Run);
    ModelScenario { tree_failures: 1, cancel: false, ..ModelScenario::new("tree again", steps) }
}

/// Two scripts side by side and one that needs both.
pub(super) fn branches() -> ModelScenario {
    let steps = vec![
        script_step("left", "x").needs([]),
        script_step("right", "x").needs([]),
        script_step("both", "y").needs(["left", "right"]),
    ];
    ModelScenario {
        ends: vec![ProcessEnd::Good, ProcessEnd::Bad, ProcessEnd::Lost],
        ..ModelScenario::new("branches", steps)
    }
}

/// The same where both may fail and are tried again.
pub(super) fn branches_again() -> ModelScenario {
    let ModelScenario { plan, .. } = branches();
    ModelScenario {
        again: true,
        cancel: false,
        crashes: 0,
        ..ModelScenario::new("branches again", plan.steps)
    }
}

/// Two agents side by side, each in a tree of its own, which are landed.
pub(super) fn branches_in_trees() -> ModelScenario {
    let mut steps = vec![agent_step("left", "x").needs([]), agent_step("right", "x").needs([])];
    for step in &mut steps {
        step.isolation = Some(Isolation::Task);
    }
    ModelScenario {
        ends: vec![ProcessEnd::Good],
        cancel: false,
        crashes: 0,
        conflicts: 1,
        ..ModelScenario::new("branches in trees", steps)
    }
}

/// An agent in the tree of the run beside one with a tree of its own, which is made from the other
/// and landed on it.
pub(super) fn branches_in_one_tree() -> ModelScenario {
    let mut steps = vec![
        agent_step("here", "x").needs([]),
        agent_step("again", "x").needs(["here"]),
        agent_step("apart", "x").needs([]),
    ];
    steps[0].isolation = Some(Isolation::Run);
    steps[1].isolation = Some(Isolation::Run);
    steps[2].isolation = Some(Isolation::Task);
    ModelScenario {
        ends: vec![ProcessEnd::Good],
        cancel: false,
        crashes: 0,
        ..ModelScenario::new("branches in one tree", steps)
    }
}

/// The same larger, for patient people.
pub(super) fn larger() -> Vec<ModelScenario> {
    let mut scenes = all();
    for scene in &mut scenes {
        scene.cancel = true;
        // Talking is large as it is.
        if !matches!(
            scene.name,
            "loop"
                | "until"
                | "rounds of steps"
                | "wide"
                | "talk"
                | "kept"
                | "kept asks"
                | "stages"
                | "trees"
                | "failing trees"
                | "tree again"
                | "branches"
                | "branches again"
                | "branches in trees"
                | "branches in one tree"
        ) {
            scene.attempts += 1;
            scene.interventions += 1;
            scene.ends.extend((scene.name != "retried").then_some(ProcessEnd::Lost));
        }
    }
    scenes
}

pub(super) fn all() -> Vec<ModelScenario> {
    vec![
        retried(),
        refusing(),
        timed(),
        failing_and_retried(),
        fan_out(),
        parallel_items(),
        commands_for_items(),
        worker_and_arbiter(),
        worker_until_green(),
        rounds_of_steps(),
        gates(),
        approved_start(),
        approved_twice(),
        stages(),
        interactive_agent(),
        kept_agent(),
        asking_kept_agent(),
        trees(),
        failing_trees(),
        retried_in_a_tree(),
        branches(),
        branches_again(),
        branches_in_trees(),
        branches_in_one_tree(),
    ]
}
