//! How far steps are confined, and what happens where nothing confines.

use coven_model::{ConfineMode, SandboxMode};
use coven_notation::SourceFile;
use coven_workflow::check::check;
use coven_workflow::plan::{StepAction, WorkflowPlan};

use crate::{codes, known, plan};

fn grimoire(steps: &str) -> String {
    format!("name: test\ndescription: A test.\ndefaults: {{adapter: demo}}\nsteps:\n{steps}")
}

fn unconfined(steps: &str) -> WorkflowPlan {
    let source = SourceFile::new("test.yaml", grimoire(steps));
    check(&source, &known().with_confinement(false)).plan.unwrap()
}

const LOOP: &str = "  - {name: a, type: agent-loop, prompt: x, arbiter: {prompt: y}}\n";
const REQUIRED: &str = "  - {name: a, type: script, command: 'true', sandbox: required}\n";
const WISHED: &str = "  - {name: a, type: script, command: 'true', sandbox: workspace}\n";

#[test]
fn a_step_that_must_be_confined_asks_first_where_nothing_confines() {
    for (steps, asks) in [(LOOP, true), (REQUIRED, true), (WISHED, false)] {
        assert_eq!(unconfined(steps).steps[0].unconfined, asks, "{steps}");
        assert!(!plan("test.yaml", &grimoire(steps)).steps[0].unconfined, "{steps}");
    }
}

#[test]
fn a_sandbox_and_what_a_step_is_kept_from_are_read() {
    let made = |keys: &str| {
        let step = format!("  - {{name: a, type: script, command: 'true', {keys}}}\n");
        match &plan("test.yaml", &grimoire(&step)).steps[0].action {
            StepAction::Script { script, .. } => (script.sandbox, script.confine),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(made("sandbox: required"), (SandboxMode::Workspace, None));
    assert_eq!(made("confine: files"), (SandboxMode::Workspace, Some(ConfineMode::Files)));
    assert_eq!(made("confine: signals"), (SandboxMode::Off, Some(ConfineMode::Signals)));
    assert_eq!(made("confine: 'off'"), (SandboxMode::Off, Some(ConfineMode::Off)));
}

#[test]
fn a_sandbox_is_not_taken_back_by_the_other_key() {
    let step =
        |keys: &str| grimoire(&format!("  - {{name: a, type: script, command: 'true', {keys}}}\n"));
    let contradicts = step("sandbox: read-only, confine: signals");
    assert_eq!(codes("test.yaml", &contradicts), ["confine-with-sandbox"]);
    for keys in ["sandbox: read-only, confine: files", "sandbox: 'off', confine: signals"] {
        assert_eq!(codes("test.yaml", &step(keys)), [] as [&str; 0], "{keys}");
    }
}
