//! Steps with one task, variables, and the run as a whole.

use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{
    AgentMode, InterventionChoice, InterventionKind, JobOutcome, JobWork, TaskStatus,
    WorkflowStatus,
};
use serde_json::{Value, json};

use crate::command::Command;
use crate::expect::{ExpectedOutput, OutputSchema};
use crate::input::SessionInput;
use crate::plan::{OnFailure, PlanStep, StepAction};
use crate::testing::*;

fn no_input() -> Value {
    json!({})
}

/// Spec: GR.6.1
#[test]
fn a_new_run_has_its_own_id_and_begins_with_the_first_step() {
    let told = TestRun::begin(
        plan(vec![agent_step("plan", "go"), agent_step("do", "go")]),
        json!({"x": 1}),
    );
    let kinds: Vec<&str> = told.journal.iter().map(SessionEvent::kind).collect();
    assert_eq!(
        kinds,
        ["session.created", "workflow.started", "workflow.step.started", "task.started"]
    );
    assert_eq!(told.run().session().as_str(), SESSION);
    assert_eq!(told.alive(), ["plan/1"]);
    assert_eq!(told.status(), WorkflowStatus::Running);
    assert_eq!(told.run().identity.goal.as_deref(), Some("to test"));
}

/// Spec: GR.2.1, GR.5.1, GR.5.2
#[test]
fn an_agent_step_waits_for_its_agent_and_keeps_what_it_answered() {
    let steps = vec![
        agent_step("plan", "split ${input.spec}").output("tasks"),
        agent_step("do", "do ${tasks} of ${steps.plan.output} in ${workflow.name}"),
    ];
    let mut told = TestRun::begin(plan(steps), json!({"spec": "a.md"}));
    assert_eq!(told.prompt("plan", 1), "split a.md");
    assert_eq!(told.starts(SessionInput::Started(job("plan", 1))), [] as [&str; 0]);
    assert_eq!(told.succeed("plan", 1, "one, two\n"), ["do/1"]);
    assert_eq!(told.variable("tasks"), json!("one, two"));
    assert_eq!(told.prompt("do", 1), "do one, two of one, two in brisk-otter");
}

/// Spec: GR.6.2
#[test]
fn a_run_whose_last_step_succeeded_is_completed() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go")]), no_input());
    assert_eq!(
        told.kinds(ended("do", 1, succeeded("ok"))),
        ["task.ended", "workflow.step.completed", "workflow.completed"]
    );
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.state.outstanding(), []);
}

/// Spec: C1.10.1, GR.6.3
#[test]
fn a_step_that_fails_beyond_recovery_fails_the_run_and_the_error_is_kept() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go")]), no_input());
    told.fail("do", 1);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.error(), "exit code 1");
    assert_eq!(told.run().errors().collect::<Vec<_>>(), [("do", "exit code 1")]);
    assert_eq!(told.task_status("do"), TaskStatus::Error);
}

/// Spec: GR.2.2
#[test]
fn a_script_runs_with_its_variables_in_the_environment() {
    let steps = vec![script_step("stat", "git diff \"${input.base}\"").output("stat")];
    let mut told = TestRun::begin(plan(steps), json!({"base": "$(rm -rf /)"}));
    let JobWork::Shell(shell) = &told.spec("stat", 1).work else { panic!("no shell") };
    assert!(!shell.text.contains("rm -rf"), "{}", shell.text);
    assert_eq!(shell.variables[0].1, "$(rm -rf /)");
    told.succeed("stat", 1, "3 files\n\n");
    assert_eq!(told.variable("stat"), json!("3 files"));
    assert_eq!(told.run().all_variables()["steps"]["stat"]["exit_code"], json!(0));
}

/// Spec: GR.2.2
#[test]
fn what_a_command_printed_is_known_by_stream_also_if_it_failed() {
    let mut steps = vec![
        script_step("good", "make"),
        script_step("data", "jq ."),
        script_step("bad", "make test"),
        agent_step("after", "Mend ${steps.bad.stderr}"),
    ];
    steps[2].on_failure = OnFailure::Continue;
    if let StepAction::Script { expect, .. } = &mut steps[1].action {
        *expect = ExpectedOutput::Any;
    }
    let printed = |outcome: JobOutcome, out: &str, err: Option<&str>| JobOutcome {
        output: Some(out.to_owned()),
        stderr: err.map(str::to_owned),
        ..outcome
    };
    let mut told = TestRun::begin(plan(steps), no_input());
    told.tell(ended("good", 1, printed(succeeded(""), "built", Some("a warning"))));
    told.tell(ended("data", 1, printed(succeeded(""), "[1]", None)));
    told.tell(ended("bad", 1, printed(exited(2), "3 passed\n", Some("1 failed"))));
    let steps = told.run().all_variables()["steps"].clone();
    let of = |step: &str| (steps[step]["stdout"].clone(), steps[step]["stderr"].clone());
    assert_eq!(of("good"), (json!("built"), json!("a warning")));
    assert_eq!(of("data"), (json!("[1]"), json!("")));
    assert_eq!(of("bad"), (json!("3 passed"), json!("1 failed")));
    let JobWork::Agent(agent) = &told.spec("after", 1).work else { panic!("no agent") };
    assert_eq!(agent.prompt.as_deref(), Some("Mend 1 failed"));
    told.succeed("after", 1, "done");
    assert_eq!(told.run().all_variables()["steps"]["after"]["stderr"], json!(null));
}

/// Spec: GR.2.3, GR.6.4
#[test]
fn a_gate_that_fails_blocks_the_run_until_somebody_decides() {
    let steps = vec![gate("tests", Some("cargo test")), agent_step("pr", "go")];
    let mut told = TestRun::begin(plan(steps), no_input());
    assert_eq!(
        told.kinds(ended("tests", 1, exited(1))),
        ["task.ended", "workflow.intervention.required", "workflow.blocked"]
    );
    assert_eq!(told.status(), WorkflowStatus::Blocked);
    let waiting: Vec<_> = told.run().interventions().collect();
    assert_eq!(waiting[0].kind, InterventionKind::FailedGate);
    assert_eq!(
        waiting[0].options,
        [InterventionChoice::Retry, InterventionChoice::Skip, InterventionChoice::Abort]
    );
    assert_eq!(
        (waiting[0].reason.as_str(), waiting[0].excerpt.as_str()),
        ("exit code 1", "some output")
    );
    // The same gate again, not what comes after it.
    assert_eq!(told.starts(resolve(1, InterventionChoice::Retry)), ["tests/2"]);
    assert_eq!(told.status(), WorkflowStatus::Running);
    told.fail("tests", 2);
    assert_eq!(told.starts(resolve(2, InterventionChoice::Skip)), ["pr/1"]);
    assert_eq!(told.run().all_variables()["steps"]["tests"]["status"], json!("skipped"));
    assert_eq!(told.run().all_variables()["steps"]["tests"]["exit_code"], json!(1));
}

#[test]
fn a_gate_that_is_given_up_fails_the_run() {
    let mut told = TestRun::begin(plan(vec![gate("tests", Some("cargo test"))]), no_input());
    told.fail("tests", 1);
    told.tell(resolve(1, InterventionChoice::Abort));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.error(), "aborted by she: exit code 1");
}

/// Spec: GR.6.4
#[test]
fn a_gate_without_a_command_asks_a_person_and_shows_the_message() {
    let mut asking = gate("ready", None);
    asking.action = StepAction::Gate {
        script: None,
        message: Some(template("Ship ${input.what}?")),
        skippable: false,
    };
    let mut told = TestRun::begin(plan(vec![asking]), json!({"what": "it"}));
    assert_eq!(told.waiting(), [InterventionKind::HumanGate]);
    assert_eq!(told.run().interventions().next().unwrap().reason, "Ship it?");
    told.tell(resolve(1, InterventionChoice::Approve));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.run().all_variables()["steps"]["ready"]["output"], json!(true));
}

/// A gate that asks a person, and what it guards.
fn guarded(skippable: bool) -> Vec<PlanStep> {
    let mut asking = gate("ready", None);
    asking.action =
        StepAction::Gate { script: None, message: Some(template("Ship it?")), skippable };
    vec![asking, agent_step("ship", "go")]
}

fn options(told: &TestRun) -> Vec<InterventionChoice> {
    told.run().interventions().next().unwrap().options.clone()
}

/// Spec: GR.6.4
#[test]
fn a_person_who_says_no_at_a_gate_ends_the_run_before_what_it_guards() {
    let mut told = TestRun::begin(plan(guarded(false)), no_input());
    assert_eq!(options(&told), [InterventionChoice::Approve, InterventionChoice::Deny]);
    for other in [InterventionChoice::Skip, InterventionChoice::Abort] {
        assert_eq!(told.tell(resolve(1, other)).0, [], "{other} is not offered");
    }
    assert_eq!(told.starts(resolve(1, InterventionChoice::Deny)), [] as [&str; 0]);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(told.error(), "denied by she");

    let mut steps = guarded(false);
    steps[0].on_failure = OnFailure::Continue;
    let mut told = TestRun::begin(plan(steps), no_input());
    assert_eq!(told.starts(resolve(1, InterventionChoice::Deny)), ["ship/1"]);
    assert_eq!(told.run().all_variables()["steps"]["ready"]["status"], json!("failed"));
}

#[test]
fn a_question_at_a_gate_is_skipped_only_where_its_author_offers_that() {
    let mut told = TestRun::begin(plan(guarded(true)), no_input());
    assert_eq!(
        options(&told),
        [InterventionChoice::Approve, InterventionChoice::Deny, InterventionChoice::Skip]
    );
    assert_eq!(told.starts(resolve(1, InterventionChoice::Skip)), ["ship/1"]);
}

#[test]
fn what_nobody_decides_in_time_is_denied() {
    let time = Duration::from_hours(1);
    let mut gate = guarded(false);
    gate[0].approval_timeout = Some(time);
    let mut start = vec![agent_step("ship", "go")];
    start[0].needs_approval = true;
    start[0].approval_timeout = Some(time);
    for steps in [gate, start] {
        let mut told = TestRun::begin(plan(steps), no_input());
        let asked = told.run().interventions().next().unwrap().clone();
        assert!(asked.reason.ends_with(" (denied if nobody decides within 1h)"), "{asked:?}");
        let due = asked.expires_at.unwrap();
        let expire = Command::Expire { intervention: asked.id.clone(), due };
        // A process that takes the session up has it told again.
        assert_eq!(told.state.outstanding(), std::slice::from_ref(&expire));
        // A clock that is early changes nothing.
        assert_eq!(told.tell(SessionInput::Expired(asked.id.clone())), (vec![], vec![expire]));
        told.now += 3_600_001;
        assert_eq!(told.starts(SessionInput::Expired(asked.id.clone())), [] as [&str; 0]);
        assert_eq!(told.status(), WorkflowStatus::Failed);
        assert!(
            told.error().ends_with(" by approval_timeout (nobody decided in time)"),
            "{}",
            told.error()
        );
        assert_eq!(told.tell(SessionInput::Expired(asked.id)), (vec![], vec![]));
    }
}

#[test]
fn a_step_whose_condition_does_not_hold_is_skipped_and_its_output_is_null() {
    let steps = vec![
        agent_step("maybe", "go").when("${input.really}").output("answer"),
        agent_step("then", "got <${answer}>"),
    ];
    let told = TestRun::begin(plan(steps), json!({"really": false}));
    assert_eq!(told.alive(), ["then/1"]);
    assert_eq!(told.prompt("then", 1), "got <>");
    assert_eq!(told.variable("answer"), Value::Null);
}

/// Spec: GR.5.2
#[test]
fn a_variable_that_is_not_defined_fails_the_run_and_says_where() {
    let mut steps = vec![agent_step("do", "it is ${input.spce}")];
    steps[0]
        .places
        .insert("prompt".to_owned(), crate::plan::SourceLocation { line: 4, column: 13 });
    steps[0].on_failure = OnFailure::Continue;
    let told = TestRun::begin(plan(steps), json!({"spec": 1}));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(
        told.error(),
        "`${input.spce}` is not defined: `input` has no `spce`; did you mean `spec`? \
         (`prompt` of step `do`, line 4, column 13)"
    );
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_run() {
    let steps = vec![agent_step("do", "go").when("${input.missing} == 1")];
    let told = TestRun::begin(plan(steps), json!({"spec": 1}));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert!(told.error().contains("`when` of step `do`"), "{}", told.error());
}

#[test]
fn a_failed_step_may_be_passed_over() {
    let mut steps =
        vec![script_step("try", "false").output("tried"), agent_step("then", "<${tried}>")];
    steps[0].on_failure = OnFailure::Continue;
    let mut told = TestRun::begin(plan(steps), no_input());
    assert_eq!(told.fail("try", 1), ["then/1"]);
    assert_eq!(told.prompt("then", 1), "<>");
    assert_eq!(
        told.run().all_variables()["steps"]["try"],
        json!({
            "status": "failed", "output": null, "exit_code": 1, "stdout": "some output", "stderr": ""
        })
    );
}

#[test]
fn an_answer_that_is_not_what_was_asked_for_fails_the_attempt() {
    let mut steps = vec![agent_step("plan", "go").output("tasks").retries(3, 0)];
    let schema = OutputSchema::new(json!({"type": "array", "items": {"type": "string"}})).unwrap();
    if let StepAction::Agent { agent } = &mut steps[0].action {
        agent.expect = ExpectedOutput::Schema(schema);
    }
    let mut told = TestRun::begin(plan(steps), no_input());
    assert_eq!(told.succeed("plan", 1, "I will do it."), ["plan/2"]);
    assert_eq!(
        told.run().task(&job("plan", 2).task).unwrap().error.as_deref(),
        Some("the output is not JSON")
    );
    assert_eq!(told.succeed("plan", 2, "[1]"), ["plan/3"]);
    told.succeed("plan", 3, "Here it is:\n```json\n[\"a\"]\n```");
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.variable("tasks"), json!(["a"]));
}

#[test]
fn an_empty_answer_of_a_headless_agent_is_no_success_unless_it_is_expected() {
    let end = |mode, expect, outcome| {
        let mut steps = vec![agent_step("do", "go")];
        if let StepAction::Agent { agent } = &mut steps[0].action {
            (agent.mode, agent.expect) = (mode, expect);
        }
        let mut told = TestRun::begin(plan(steps), no_input());
        told.tell(ended("do", 1, outcome));
        (told.task_status("do"), told.error())
    };
    let (headless, terminal) = (AgentMode::Headless, AgentMode::Interactive);
    for blank in ["", " \n"] {
        let (status, error) = end(headless, ExpectedOutput::Text, succeeded(blank));
        assert_eq!(status, TaskStatus::Error);
        assert_eq!(error, "the agent says it is done, and its answer is empty");
        let (status, _) = end(headless, ExpectedOutput::Any, succeeded(blank));
        assert_eq!(status, TaskStatus::Done);
        let (status, _) = end(terminal, ExpectedOutput::Text, succeeded(blank));
        assert_eq!(status, TaskStatus::Done);
    }
    // A program that says nothing about its turn has no answer that could be empty.
    let silent = JobOutcome { output: None, ..succeeded("") };
    assert_eq!(end(headless, ExpectedOutput::Text, silent).0, TaskStatus::Done);
    let mut told = TestRun::begin(plan(vec![script_step("do", "true")]), no_input());
    told.succeed("do", 1, "");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn a_failed_agent_is_not_blamed_for_its_empty_answer() {
    let mut told = TestRun::begin(plan(vec![agent_step("do", "go")]), no_input());
    told.tell(ended("do", 1, JobOutcome { output: Some(String::new()), ..exited(1) }));
    assert_eq!(told.error(), "exit code 1");
}

/// Spec: C1.10.1
#[test]
fn only_an_agreed_exit_code_without_a_failed_result_is_a_success() {
    let spoken = |codes: &str, outcome| {
        let mut steps = vec![agent_step("do", "go")];
        if let StepAction::Agent { agent } = &mut steps[0].action {
            agent.ok_exit_codes = serde_json::from_str(codes).unwrap();
        }
        let mut told = TestRun::begin(plan(steps), no_input());
        told.tell(ended("do", 1, outcome));
        told.task_status("do")
    };
    let ok = |code| JobOutcome { ok: true, ..exited(code) };
    let failed = JobOutcome { ok: false, ..exited(0) };
    assert_eq!(spoken("[0]", ok(0)), TaskStatus::Done);
    assert_eq!(spoken("[0]", ok(3)), TaskStatus::Error);
    assert_eq!(spoken("[0, 3]", ok(3)), TaskStatus::Done);
    assert_eq!(spoken("\"any\"", ok(99)), TaskStatus::Done);
    assert_eq!(spoken("[0]", failed), TaskStatus::Error);
}

#[test]
fn needs_approval_asks_before_anything_starts() {
    let mut steps = vec![agent_step("do", "go")];
    steps[0].needs_approval = true;
    let mut told = TestRun::begin(plan(steps.clone()), no_input());
    assert_eq!((told.alive().len(), told.waiting()), (0, vec![InterventionKind::StartApproval]));
    assert_eq!(told.starts(resolve(1, InterventionChoice::Approve)), ["do/1"]);
    assert_eq!(told.spec("do", 1).approved_by.as_deref(), Some("she"));
    let mut told = TestRun::begin(plan(steps), no_input());
    told.tell(resolve(1, InterventionChoice::Deny));
    assert_eq!(
        (told.status(), told.error().as_str()),
        (WorkflowStatus::Failed, "it was not allowed to start by she")
    );
}

#[test]
fn a_step_that_nothing_confines_and_must_be_asks_before_anything_starts() {
    let mut steps = vec![agent_step("do", "go")];
    steps[0].unconfined = true;
    let mut told = TestRun::begin(plan(steps), no_input());
    assert_eq!((told.alive().len(), told.waiting()), (0, vec![InterventionKind::StartApproval]));
    assert_eq!(told.starts(resolve(1, InterventionChoice::Approve)), ["do/1"]);
    assert_eq!(told.spec("do", 1).approved_by.as_deref(), Some("she"));
}

#[test]
fn a_run_of_no_steps_is_completed_at_once() {
    assert_eq!(TestRun::begin(plan(vec![]), no_input()).status(), WorkflowStatus::Completed);
}
