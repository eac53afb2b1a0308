//! Stage workflows that are as they should be, and what becomes of each field.

use std::time::Duration;

use coven_model::{AgentMode, ExitCodes, PermissionLevel};
use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check::check;
use coven_workflow::expect::ExpectedOutput;
use coven_workflow::plan::{OnFailure, PlanForm, StageTask, StepAction, WorkflowPlan};

use crate::{codes, known, plan};

fn tasks(plan: &WorkflowPlan, stage: usize) -> &[StageTask] {
    match &plan.steps[stage].action {
        StepAction::Stage { tasks } => tasks,
        other => panic!("a stage became {}", other.kind()),
    }
}

fn one_task(task: &str) -> String {
    format!(r#"{{"id": "w", "stages": [{{"id": "s", "tasks": [{task}]}}]}}"#)
}

/// Spec: C0.7.1
#[test]
fn stages_become_steps_in_order_and_their_tasks_stay_together() {
    let plan = plan(
        "w.json",
        r#"{"id": "release", "goal": "Ship it", "stages": [
            {"id": "build", "tasks": [{"id": "a", "adapter": "gemini"}, {"id": "b", "adapter": "claude"}]},
            {"id": "check", "tasks": [{"id": "c", "adapter": "codex"}]}
        ]}"#,
    );
    assert_eq!((plan.name.as_str(), plan.form), ("release", PlanForm::Stages));
    assert_eq!(plan.goal.as_deref(), Some("Ship it"));
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["build", "check"]);
    let ids = |stage| tasks(&plan, stage).iter().map(|task| task.id.as_str()).collect::<Vec<_>>();
    assert_eq!((ids(0), ids(1)), (vec!["a", "b"], vec!["c"]));
    assert_eq!(
        plan.steps[0].on_failure,
        OnFailure::Block,
        "siblings finish, then a person is asked"
    );
    assert_eq!(plan.definition["stages"][1]["tasks"][0]["adapter"], "codex");
}

#[test]
fn a_task_says_what_its_answer_must_be() {
    let task = |expect: &str| {
        let mode = r#""executionMode": "headless", "prompt": "x""#;
        one_task(&format!(r#"{{"id": "a", "adapter": "gemini", {mode}, "expect": {expect}}}"#))
    };
    let plan = plan("w.json", &task(r#""comments""#));
    assert_eq!(tasks(&plan, 0)[0].agent.expect, ExpectedOutput::Comments);
    assert_eq!(codes("w.json", &task(r#"{"type": "object"}"#)), [""; 0]);
    assert_eq!(codes("w.json", &task(r#"{"pattern": "x"}"#)), ["bad-schema"]);
    assert_eq!(codes("w.json", &task(r#""remarks""#)).len(), 1);
}

/// Spec: C1.6.6, C1.7.1
#[test]
fn an_id_and_an_adapter_are_enough() {
    let plan = plan("w.json", &one_task(r#"{"id": "only", "adapter": "gemini"}"#));
    let task = &tasks(&plan, 0)[0];
    assert_eq!(task.agent.adapter, "gemini");
    assert_eq!(task.agent.mode, AgentMode::Interactive);
    assert_eq!(task.agent.name.as_deref(), Some("only"), "the name is the id");
    assert_eq!(task.agent.prompt, None);
    assert_eq!(task.agent.ok_exit_codes, ExitCodes::default());
}

/// Spec: C1.6.6, C1.7.2
#[test]
fn every_field_of_a_full_task_is_in_the_plan() {
    let plan = plan(
        "w.json",
        &one_task(
            r#"{"id": "t1", "adapter": "claude", "executionMode": "interactive", "name": "The reviewer",
                "prompt": "Look at ${everything}", "extraArgs": ["--depth", "3"], "cwd": "src",
                "env": {"A": "1"}, "model": "large", "permissions": "edits", "autoApprove": true,
                "pendingInputs": ["then this", "and that"], "keepAlive": true,
                "okExitCodes": [0, 3], "timeout": "1h30m"}"#,
        ),
    );
    let task = &tasks(&plan, 0)[0];
    let agent = &task.agent;
    let texts = |templates: &[coven_workflow::TextTemplate]| {
        templates.iter().map(|template| template.literal().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(agent.name.as_deref(), Some("The reviewer"));
    // Stage workflows have no variables: what is written is what the agent gets.
    assert_eq!(agent.prompt.as_ref().unwrap().literal(), Some("Look at ${everything}"));
    assert_eq!(texts(&agent.extra_args), ["--depth", "3"]);
    assert_eq!(texts(&agent.pending_inputs), ["then this", "and that"]);
    assert_eq!(task.cwd.as_ref().unwrap().literal(), Some("src"));
    assert_eq!(task.env["A"].literal(), Some("1"));
    assert_eq!(agent.model.as_ref().unwrap().literal(), Some("large"));
    assert_eq!(agent.permissions, Some(PermissionLevel::Edits));
    assert!(agent.auto_approve && agent.keep_alive);
    assert!(agent.ok_exit_codes.accept(3) && !agent.ok_exit_codes.accept(1));
    assert_eq!(task.timeout, Some(Duration::from_mins(90)));
    let place = plan.steps[0].places["tasks.t1.prompt"];
    assert_eq!((place.line, place.column), (2, 27));
}

/// Spec: C1.6.2
#[test]
fn a_headless_task_without_a_prompt_fails_the_check() {
    let headless = |more: &str| {
        one_task(&format!(
            r#"{{"id": "t", "adapter": "gemini", "executionMode": "headless"{more}}}"#
        ))
    };
    assert_eq!(codes("w.json", &headless("")), ["headless-without-prompt"]);
    assert_eq!(codes("w.json", &headless(r#", "prompt": "\n""#)), ["headless-without-prompt"]);
    let plan = plan("w.json", &headless(r#", "prompt": "Go""#));
    assert_eq!(tasks(&plan, 0)[0].agent.mode, AgentMode::Headless);
}

/// Spec: C1.6.4
#[test]
fn extra_arguments_that_are_no_list_of_strings_fail_the_check() {
    for bad in [r#"["a", 1]"#, r#""--flag""#, "[null]", r#"{"a": "b"}"#, "[[]]", "true"] {
        let text = one_task(&format!(r#"{{"id": "t", "adapter": "gemini", "extraArgs": {bad}}}"#));
        assert_eq!(codes("w.json", &text), ["wrong-type"], "{bad}");
    }
    for good in ["[]", r#"["--flag", "", "ä"]"#, "null"] {
        plan(
            "w.json",
            &one_task(&format!(r#"{{"id": "t", "adapter": "gemini", "extraArgs": {good}}}"#)),
        );
    }
}

/// Spec: C1.8.1
#[test]
fn a_workflow_with_registered_adapters_passes_the_check() {
    for adapter in known().adapters {
        let plan = plan("w.json", &one_task(&format!(r#"{{"id": "t", "adapter": "{adapter}"}}"#)));
        assert_eq!(tasks(&plan, 0)[0].agent.adapter, adapter);
    }
}

/// Spec: C1.8.2
#[test]
fn an_unknown_adapter_fails_the_check_by_name_and_suggests_a_near_one() {
    let source = SourceFile::new("w.json", one_task(r#"{"id": "t", "adapter": "gemin"}"#));
    let checked = check(&source, &known());
    assert!(checked.plan.is_none());
    let report = ProblemReport::new(source, checked.problems).render(false);
    insta::assert_snapshot!(report, @r#"
    error[unknown-adapter]: unknown adapter `gemin`; did you mean `gemini`?
     --> w.json:1:69
      |
    1 | {"id": "w", "stages": [{"id": "s", "tasks": [{"id": "t", "adapter": "gemin"}]}]}
      |                                                                     ^^^^^^^
      |
      = help: there are `claude`, `codex`, `demo` and `gemini`; a folder `.coven/adapters/gemin/` with a `config.json` adds another
    "#);
}

#[test]
fn any_exit_code_can_be_made_to_count() {
    let plan =
        plan("w.json", &one_task(r#"{"id": "t", "adapter": "gemini", "okExitCodes": "any"}"#));
    assert_eq!(tasks(&plan, 0)[0].agent.ok_exit_codes, ExitCodes::Any);
}

#[test]
fn a_stage_workflow_may_be_yaml_and_a_grimoire_json() {
    let stages = plan("w.yaml", "id: w\nstages:\n  - {id: s, tasks: [{id: t, adapter: gemini}]}\n");
    assert_eq!(stages.form, PlanForm::Stages);
    let grimoire = plan(
        "g.json",
        r#"{"name": "g", "description": "G.", "steps": [{"name": "s", "type": "script", "command": "date"}]}"#,
    );
    assert_eq!(grimoire.form, PlanForm::Grimoire);
}

#[test]
fn a_plan_survives_its_way_to_disk_and_back() {
    let plan = plan(
        "w.json",
        &one_task(r#"{"id": "t", "adapter": "gemini", "prompt": "$${a} ${b} $$${c}"}"#),
    );
    let text = serde_json::to_string(&plan).unwrap();
    let back: WorkflowPlan = serde_json::from_str(&text).unwrap();
    assert_eq!(back, plan);
    let prompt = tasks(&back, 0)[0].agent.prompt.as_ref().unwrap();
    assert_eq!(prompt.literal(), Some("$${a} ${b} $$${c}"));
}
