//! The small plans that the checker walks through, one for each kind of step.

use super::End;
use crate::plan::{OnFailure, OnLimit, Plan};
use crate::testing::*;

/// A plan and what may happen to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) plan: Plan,
    pub(super) input: serde_json::Value,
    /// How processes may end by themselves.
    pub(super) ends: Vec<End>,
    /// How often the deciding process may die.
    pub(super) crashes: u8,
    /// Whether somebody may cancel.
    pub(super) cancel: bool,
    /// Whether somebody may want to try again.
    pub(super) again: bool,
    /// How often an agent may ask.
    pub(super) questions: u64,
    /// No attempts beyond this, and no interventions beyond this.
    pub(super) attempts: u32,
    pub(super) interventions: u64,
}

impl Scene {
    fn new(name: &'static str, steps: Vec<crate::plan::Step>) -> Self {
        Self {
            name,
            plan: plan(steps),
            input: serde_json::json!({"items": [1, 2]}),
            ends: vec![End::Good, End::Bad],
            crashes: 1,
            cancel: true,
            again: false,
            questions: 0,
            attempts: 2,
            interventions: 1,
        }
    }
}

/// An agent that is tried twice, then a script.
pub(super) fn retried() -> Scene {
    let steps = vec![agent_step("do", "x").retries(2, 0), script_step("then", "y")];
    Scene { ends: vec![End::Good, End::Bad, End::Lost], ..Scene::new("retried", steps) }
}

/// The same with a pause between the attempts, and a timeout.
pub(super) fn timed() -> Scene {
    let mut steps = vec![script_step("do", "x").retries(2, 5)];
    steps[0].timeout = Some(std::time::Duration::from_millis(5));
    Scene::new("timed", steps)
}

/// A run that fails and is tried again.
pub(super) fn again() -> Scene {
    let steps = vec![script_step("do", "x"), script_step("then", "y")];
    Scene { again: true, cancel: false, attempts: 3, ..Scene::new("again", steps) }
}

/// Two items, one at a time.
pub(super) fn fan_out() -> Scene {
    let steps = vec![parallel("build", "${input.items}", "${item}", 1), script_step("then", "y")];
    Scene::new("fan-out", steps)
}

/// Two items at a time.
pub(super) fn wide() -> Scene {
    Scene::new("wide", vec![parallel("build", "${input.items}", "${item}", 2)])
}

/// A worker and an arbiter.
pub(super) fn looping() -> Scene {
    let ends = vec![End::Good, End::More, End::Done];
    Scene {
        ends,
        cancel: false,
        ..Scene::new("loop", vec![agent_loop("review", 2, OnLimit::Block)])
    }
}

/// A gate with a command, and one without.
pub(super) fn gates() -> Scene {
    let steps = vec![gate("tests", Some("x")), gate("ready", None)];
    Scene { interventions: 2, ..Scene::new("gates", steps) }
}

/// A step that waits for leave and blocks when it fails.
pub(super) fn leave() -> Scene {
    let mut steps = vec![agent_step("do", "x"), script_step("then", "y")];
    steps[0].needs_approval = true;
    steps[0].on_failure = OnFailure::Block;
    Scene { interventions: 2, ..Scene::new("leave", steps) }
}

/// A stage with an agent that has inputs queued, and one without a terminal.
pub(super) fn stages() -> Scene {
    let mut first = interactive("hi");
    first.pending_inputs = vec![template("one"), template("two")];
    let steps = vec![stage("first", &[("a", first)]), stage("second", &[("b", agent("x"))])];
    Scene { ends: vec![End::Good], cancel: false, ..Scene::new("stages", steps) }
}

/// An interactive agent that asks and turns idle.
pub(super) fn talk() -> Scene {
    let steps = vec![stage("first", &[("a", interactive("hi"))])];
    let ends = vec![End::Good];
    Scene { ends, questions: 1, interventions: 2, cancel: false, ..Scene::new("talk", steps) }
}

/// An interactive agent that stays when its task is done.
pub(super) fn kept() -> Scene {
    let mut first = interactive("hi");
    first.keep_alive = true;
    let steps = vec![stage("first", &[("a", first)]), stage("second", &[("b", agent("x"))])];
    Scene { ends: vec![End::Good], ..Scene::new("kept", steps) }
}

/// The same larger, for patient people.
pub(super) fn larger() -> Vec<Scene> {
    let mut scenes = all();
    for scene in &mut scenes {
        scene.cancel = true;
        // Talking is large as it is.
        if !matches!(scene.name, "loop" | "wide" | "talk" | "kept" | "stages") {
            scene.attempts += 1;
            scene.interventions += 1;
            scene.ends.extend((scene.name != "retried").then_some(End::Lost));
        }
    }
    scenes
}

pub(super) fn all() -> Vec<Scene> {
    vec![
        retried(),
        timed(),
        again(),
        fan_out(),
        wide(),
        looping(),
        gates(),
        leave(),
        stages(),
        talk(),
        kept(),
    ]
}
