//! Fan-out and stages.

use coven_model::event::SessionEvent;
use coven_model::{InterventionChoice, InterventionKind, JobWork, TaskStatus, WorkflowStatus};
use serde_json::{Value, json};

use crate::plan::{OnFailure, StepAction};
use crate::testing::*;

fn build(limit: u32) -> TestRun {
    let steps = vec![
        parallel("build", "${input.tasks}", "${index}: ${item.title}", limit).output("results"),
        agent_step("then", "${results[1].ok}"),
    ];
    let tasks: Vec<Value> = ["a", "b", "c", "d"].map(|title| json!({"title": title})).to_vec();
    TestRun::begin(plan(steps), json!({ "tasks": tasks }))
}

/// Spec: GR.3.1, GR.5.3
#[test]
fn a_fan_out_starts_one_agent_for_each_element_and_no_more_than_allowed_at_a_time() {
    let mut told = build(2);
    assert_eq!(told.alive(), ["build.0/1", "build.1/1"]);
    assert_eq!(told.prompt("build.1", 1), "1: b");
    assert_eq!(told.succeed("build.1", 1, "B"), ["build.2/1"]);
    assert_eq!(told.succeed("build.0", 1, "A"), ["build.3/1"]);
    assert_eq!(told.succeed("build.3", 1, "D"), [] as [&str; 0]);
    assert_eq!(told.succeed("build.2", 1, "C"), ["then/1"]);
}

/// Spec: GR.3.2
#[test]
fn the_results_of_a_fan_out_are_one_array_in_the_order_of_the_elements() {
    let mut told = build(4);
    for (task, output) in [("build.2", "C"), ("build.0", "A"), ("build.3", "D"), ("build.1", "B")] {
        told.succeed(task, 1, output);
    }
    let result = |index: usize, title: &str, output: &str| json!({"index": index, "item": {"title": title}, "ok": true, "output": output});
    assert_eq!(
        told.variable("results"),
        json!([result(0, "a", "A"), result(1, "b", "B"), result(2, "c", "C"), result(3, "d", "D")])
    );
    assert_eq!(told.prompt("then", 1), "true");
}

/// Spec: GR.3.3
#[test]
fn siblings_of_a_failure_finish_and_then_a_person_decides() {
    let mut told = build(2);
    assert_eq!(told.fail("build.0", 1), ["build.2/1"]);
    assert_eq!(told.waiting(), []);
    told.succeed("build.1", 1, "B");
    told.succeed("build.2", 1, "C");
    told.fail("build.3", 1);
    assert_eq!(told.waiting(), [InterventionKind::PartialFailure]);
    let waiting = told.run().interventions().next().unwrap();
    assert_eq!(waiting.reason, "2 of 4 failed (build.0: exit code 1; build.3: exit code 1)");
    assert_eq!(
        waiting.options,
        [InterventionChoice::RetryFailed, InterventionChoice::Proceed, InterventionChoice::Abort]
    );
    // Only what failed is done again.
    assert_eq!(
        told.starts(resolve(1, InterventionChoice::RetryFailed)),
        ["build.0/2", "build.3/2"]
    );
    told.succeed("build.0", 2, "A");
    told.fail("build.3", 2);
    assert_eq!(told.starts(resolve(2, InterventionChoice::Proceed)), ["then/1"]);
    assert_eq!(
        told.variable("results")[3],
        json!({"index": 3, "item": {"title": "d"}, "ok": false, "error": "exit code 1"})
    );
    assert_eq!(told.variable("results")[0]["output"], json!("A"));
}

/// Spec: GR.3.3
#[test]
fn a_partial_failure_may_fail_the_run_or_be_passed_over() {
    let run = |on_failure| {
        let mut steps = vec![parallel("build", "${input.tasks}", "${item}", 4).output("results")];
        steps[0].on_failure = on_failure;
        let mut told = TestRun::begin(plan(steps), json!({"tasks": [1, 2]}));
        told.fail("build.0", 1);
        assert_eq!(told.status(), WorkflowStatus::Running);
        told.succeed("build.1", 1, "B");
        told
    };
    assert_eq!(run(OnFailure::Fail).status(), WorkflowStatus::Failed);
    let told = run(OnFailure::Continue);
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.variable("results")[0]["ok"], json!(false));
}

#[test]
fn a_fan_out_over_nothing_is_done_at_once() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 4).output("results")];
    let told = TestRun::begin(plan(steps), json!({"tasks": []}));
    assert_eq!((told.status(), told.variable("results")), (WorkflowStatus::Completed, json!([])));
}

/// Spec: GR.5.3
#[test]
fn a_fan_out_over_what_is_no_array_fails_the_run() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 4)];
    let told = TestRun::begin(plan(steps), json!({"tasks": "a, b"}));
    assert_eq!(
        told.error(),
        "`for_each` needs an array, and `${input.tasks}` is text (`for_each` of step `build`)"
    );
}

#[test]
fn an_item_that_cannot_be_resolved_stops_its_siblings_and_then_fails_the_run() {
    let steps = vec![parallel("build", "${input.tasks}", "${item.title}", 4)];
    let mut told = TestRun::begin(plan(steps), json!({"tasks": [{"title": "a"}, {}]}));
    assert_eq!(
        (told.status(), told.alive()),
        (WorkflowStatus::Running, vec!["build.0/1".to_owned()])
    );
    told.tell(ended("build.0", 1, stopped()));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert!(told.error().contains("has no `title`"), "{}", told.error());
    assert_eq!(told.task_status("build.0"), TaskStatus::Cancelled);
}

#[test]
fn items_are_tried_again_by_themselves_with_a_pause_that_takes_no_place() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 1).retries(2, 500)];
    let mut told = TestRun::begin(plan(steps), json!({"tasks": [1, 2]}));
    assert_eq!(told.fail("build.0", 1), ["build.1/1"]);
    assert_eq!(told.task_status("build.0"), TaskStatus::Pending);
    told.now += 500;
    assert_eq!(told.succeed("build.1", 1, "B"), ["build.0/2"]);
    told.succeed("build.0", 2, "A");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn ten_thousand_items_cost_what_ten_do_each() {
    let steps = vec![parallel("build", "${input.tasks}", "${item}", 8).output("results")];
    let tasks: Vec<u32> = (0..10_000).collect();
    let mut state = crate::State::default();
    let mut events = 0;
    let mut tell = |input| {
        let now = coven_model::Timestamp::from_millis(1);
        let (facts, commands) = crate::decide(&state, input, now);
        events += facts.len();
        state = crate::fold_all(std::mem::take(&mut state), &facts);
        starts(&commands)
    };
    tell(creation(plan(steps), &json!({ "tasks": tasks })));
    let mut queue = std::collections::VecDeque::from(tell(crate::SessionInput::Begin));
    while let Some(job) = queue.pop_front() {
        let task = job.strip_suffix("/1").unwrap();
        queue.extend(tell(ended(task, 1, succeeded("ok"))));
    }
    assert_eq!(state.status(), WorkflowStatus::Completed);
    assert_eq!(events, 4 + 2 * 10_000 + 1);
    let results = &state.run().unwrap().all_variables()["results"];
    assert_eq!(results.as_array().unwrap().len(), 10_000);
}

#[test]
fn five_thousand_steps_cost_what_five_do_each() {
    let step = |index: usize| {
        let name = format!("s{index}");
        let command = match index {
            0 => "true".to_owned(),
            _ => format!("echo ${{v{}}} ${{steps.s{}.output}}", index - 1, index - 1),
        };
        script_step(&name, &command).output(&format!("v{index}"))
    };
    let mut state = crate::State::default();
    let mut journal = Vec::new();
    let mut tell = |input| {
        let now = coven_model::Timestamp::from_millis(1);
        let (facts, commands) = crate::decide(&state, input, now);
        state = crate::fold_all(std::mem::take(&mut state), &facts);
        journal.extend(facts);
        starts(&commands)
    };
    tell(creation(plan((0..5_000).map(step).collect()), &json!({})));
    let mut next = tell(crate::SessionInput::Begin);
    while let Some(job) = next.pop() {
        next = tell(ended(job.strip_suffix("/1").unwrap(), 1, succeeded("ok")));
    }
    assert_eq!(state.status(), WorkflowStatus::Completed);
    assert_eq!(replay(&journal), state);
}

/// Spec: C0.7.1
#[test]
fn the_tasks_of_a_stage_run_side_by_side_and_the_next_stage_waits_for_the_last() {
    let stages = vec![
        stage("first", &[("a", agent("x")), ("b", agent("y"))]),
        stage("second", &[("c", agent("z"))]),
    ];
    let mut told = TestRun::begin(plan(stages), json!({}));
    assert_eq!(told.alive(), ["a/1", "b/1"]);
    assert_eq!(told.succeed("b", 1, "done"), [] as [&str; 0]);
    assert_eq!(told.task_status("b"), TaskStatus::Done);
    assert_eq!(told.task_status("c"), TaskStatus::Pending);
    assert_eq!(told.succeed("a", 1, "done"), ["c/1"]);
    told.succeed("c", 1, "done");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

/// Spec: C0.7.1
#[test]
fn a_task_in_error_lets_the_others_of_its_stage_finish() {
    let stages = vec![stage("first", &[("a", agent("x")), ("b", agent("y"))])];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.fail("a", 1);
    assert_eq!(
        (told.status(), told.task_status("a")),
        (WorkflowStatus::Running, TaskStatus::Error)
    );
    told.succeed("b", 1, "done");
    assert_eq!(told.waiting(), [InterventionKind::PartialFailure]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::RetryFailed)), ["a/2"]);
    told.succeed("a", 2, "done");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}

#[test]
fn everything_of_a_stage_task_reaches_its_job() {
    let mut stages = vec![stage("first", &[("a", interactive("hello $${x}"))])];
    if let StepAction::Stage { tasks } = &mut stages[0].action {
        let task = &mut tasks[0];
        task.agent.name = Some("Ada".to_owned());
        task.agent.extra_args = vec![template("--fast")];
        task.agent.model = Some(template("m"));
        task.cwd = Some(template("sub"));
        task.env.insert("K".to_owned(), template("v"));
        task.timeout = Some(std::time::Duration::from_secs(9));
    }
    let told = TestRun::begin(plan(stages), json!({}));
    let Some(SessionEvent::TaskStarted(started)) = told.journal.last() else { panic!("no start") };
    let spec = json!({
        "job": {"session": SESSION, "task": "a", "attempt": 1},
        "step": "first",
        "name": "Ada",
        "work": {
            "kind": "agent", "adapter": "demo", "mode": "interactive", "model": "m",
            "extraArgs": ["--fast"], "prompt": "hello ${x}"
        },
        "cwd": "sub",
        "env": {"K": "v"},
        "timeout": 9000
    });
    assert_eq!(serde_json::to_value(&started.spec).unwrap(), spec);
}

#[test]
fn the_agents_of_a_fan_out_are_those_that_its_elements_name() {
    let mut steps = vec![parallel("team", "${input.team}", "go", 4)];
    if let StepAction::ParallelAgents { agent, .. } = &mut steps[0].action {
        agent.adapter = "${item.cli}".to_owned();
    }
    let team = json!({"team": [{"cli": "claude"}, {"cli": "codex"}]});
    let told = TestRun::begin(plan(steps.clone()), team);
    let adapter = |task: &str| match &told.spec(task, 1).work {
        JobWork::Agent(agent) => agent.adapter.clone(),
        JobWork::Shell(_) => panic!("it is an agent"),
    };
    assert_eq!((adapter("team.0"), adapter("team.1")), ("claude".to_owned(), "codex".to_owned()));
    let mut told = told;
    let shown = |told: &TestRun| {
        let run = told.state.run().unwrap();
        let lanes = crate::view::plan_view(run).rows.into_iter().flat_map(|row| row.lanes);
        lanes.map(|lane| lane.adapter).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown(&told), "claude codex");
    told.succeed("team.0", 1, "done");
    assert_eq!(shown(&told), "claude codex", "also of a task that has ended");
    told.succeed("team.1", 1, "done");
    assert_eq!(shown(&told), "claude codex");
    let told = TestRun::begin(plan(steps), json!({"team": [{"cli": ""}]}));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    assert_eq!(
        told.error(),
        "`${item.cli}` does not say which agent to run (`adapter` of step `team`)"
    );
}

#[test]
fn a_command_runs_for_each_element_and_the_results_have_the_exit_codes() {
    let mut each = for_each_script("build", "${input.items}", "build ${item.name} ${index}", 2);
    each.on_failure = OnFailure::Continue;
    let steps = vec![each.output("built"), agent_step("then", "${built[1].exit_code}")];
    let items = json!({"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let mut told = TestRun::begin(plan(steps), items);
    assert_eq!(told.alive(), ["build.0/1", "build.1/1"], "two at a time");
    let JobWork::Shell(work) = &told.spec("build.1", 1).work else { panic!() };
    let values: Vec<&str> = work.variables.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["b", "1"], "in the environment, not in the text");
    assert_eq!(told.fail("build.1", 1), ["build.2/1"]);
    told.succeed("build.0", 1, "zero");
    assert_eq!(told.succeed("build.2", 1, "two"), ["then/1"]);
    let built = told.variable("built");
    let codes: Vec<&Value> =
        built.as_array().unwrap().iter().map(|one| &one["exit_code"]).collect();
    assert_eq!(codes, [&json!(0), &json!(1), &json!(0)]);
    assert_eq!((&built[0]["output"], &built[1]["ok"]), (&json!("zero"), &json!(false)));
    assert_eq!(told.prompt("then", 1), "1");
}

#[test]
fn attempts_of_a_command_for_each_element_are_counted_apart_and_a_person_repeats_what_failed() {
    let mut each = for_each_script("build", "${input.items}", "x ${item}", 4);
    if let StepAction::ForEach { step, .. } = &mut each.action {
        step.retry.attempts = 2;
    }
    each.retry.attempts = 2;
    each.on_failure = OnFailure::Block;
    let mut told = TestRun::begin(plan(vec![each]), json!({"items": ["a", "b"]}));
    assert_eq!(told.fail("build.0", 1), ["build.0/2"]);
    told.succeed("build.1", 1, "b");
    told.fail("build.0", 2);
    assert_eq!(told.waiting(), [InterventionKind::PartialFailure]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::RetryFailed));
    assert_eq!(starts(&commands), ["build.0/3"]);
    told.succeed("build.0", 3, "a");
    assert_eq!(told.status(), WorkflowStatus::Completed);
}
