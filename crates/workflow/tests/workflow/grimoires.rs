//! Grimoires that are as they should be, and what becomes of them.

use std::time::Duration;

use coven_model::{AgentMode, PermissionLevel, SandboxMode};
use coven_workflow::check::{CheckEnvironment, TriggerMatch, fires_on};
use coven_workflow::expect::ExpectedOutput;
use coven_workflow::plan::{
    InputType, LandMode, OnConflict, OnFailure, OnLimit, PlanForm, PlanTrigger, StepAction,
    WorkflowPlan,
};
use coven_workflow::{VariableScope, lacking_elements, schema};
use serde_json::json;

use crate::{codes, known, plan};

/// The example of the design, word for word as far as it goes.
const FEATURE: &str = r#"
name: implement-feature
description: From a spec to a reviewed pull request.
trigger: manual
inputs:
  spec: {description: Path of the spec, required: true}
  base: {default: main}
defaults: {adapter: claude, mode: headless, permissions: edits, timeout: 30m}
steps:
  - name: plan
    type: agent
    prompt: Split ${input.spec} into tasks. Reply with a JSON array.
    expect: json
    output: tasks
  - name: build
    type: parallel-agents
    for_each: ${tasks}
    as: task
    max_concurrent: 3
    prompt: Implement ${task.title}, number ${index}
    output: results
  - name: review
    type: agent-loop
    prompt: Review the change, list findings. Last round's verdict was ${verdict.reason}.
    arbiter: {prompt: Is any finding actionable?, adapter: codex}
    max_iterations: 5
    on_max_iterations: block
    output: review
  - name: tests
    type: gate
    command: cargo test
    message: The tests must pass before the pull request.
  - name: stat
    type: script
    command: git diff --stat "${inputs.base}"
    output: stat
  - name: tell
    type: agent
    adapter: gemini
    when: steps.tests.status == 'completed' && !(stat == '') and results | length > 0
    prompt: Summarise ${stat} and ${results[0].output} after ${steps.stat.exit_code}
"#;

#[test]
fn the_example_of_the_design_compiles_to_what_it_says() {
    let plan = plan("g.yaml", FEATURE);
    assert_eq!((plan.name.as_str(), plan.form), ("implement-feature", PlanForm::Grimoire));
    assert_eq!(plan.trigger, PlanTrigger::Manual);
    assert_eq!(plan.inputs[0].name, "spec", "inputs keep the order of the file");
    assert!(plan.inputs[0].required && plan.inputs[1].default == Some(json!("main")));
    let kinds: Vec<&str> = plan.steps.iter().map(|step| step.action.kind()).collect();
    assert_eq!(kinds, ["agent", "parallel-agents", "agent-loop", "gate", "script", "agent"]);
    let failures: Vec<OnFailure> = plan.steps.iter().map(|step| step.on_failure).collect();
    assert_eq!(
        failures,
        [
            OnFailure::Fail,
            OnFailure::Block,
            OnFailure::Fail,
            OnFailure::Block,
            OnFailure::Fail,
            OnFailure::Fail,
        ]
    );
    assert_eq!(plan.steps[0].timeout, Some(Duration::from_mins(30)));
    assert_eq!(plan.steps[1].output.as_deref(), Some("results"));
    let place = plan.steps[4].places["command"];
    assert_eq!((place.line, place.column), (35, 14));
}

#[test]
fn agents_are_put_together_from_the_step_and_the_defaults() {
    let plan = plan("g.yaml", FEATURE);
    let StepAction::Agent { agent } = &plan.steps[0].action else { panic!() };
    assert_eq!((agent.adapter.as_str(), agent.mode), ("claude", AgentMode::Headless));
    assert_eq!(
        (agent.permissions, &agent.expect),
        (Some(PermissionLevel::Edits), &ExpectedOutput::Json)
    );
    let StepAction::ParallelAgents { item, max_concurrent, .. } = &plan.steps[1].action else {
        panic!()
    };
    assert_eq!((item.as_str(), *max_concurrent), ("task", 3));
    let StepAction::AgentLoop { arbiter, max_iterations, on_max_iterations, .. } =
        &plan.steps[2].action
    else {
        panic!()
    };
    assert_eq!((*max_iterations, *on_max_iterations), (5, OnLimit::Block));
    let arbiter = arbiter.as_ref().unwrap();
    assert_eq!((arbiter.adapter.as_str(), arbiter.mode), ("codex", AgentMode::Headless));
    assert_eq!(
        (arbiter.permissions, arbiter.sandbox),
        (Some(PermissionLevel::ReadOnly), SandboxMode::ReadOnly)
    );
}

#[test]
fn the_model_and_arguments_of_one_program_are_not_given_to_another() {
    let plan = plan(
        "g.yaml",
        "name: g\ndescription: G.\ndefaults: {adapter: claude, model: opus, extra_args: [--fast]}\nsteps:\n  \
         - {name: a, type: agent, prompt: x}\n  - {name: b, type: agent, prompt: x, adapter: codex}\n",
    );
    let agent = |index: usize| match &plan.steps[index].action {
        StepAction::Agent { agent } => agent.clone(),
        _ => panic!(),
    };
    assert!(agent(0).model.is_some() && agent(0).extra_args.len() == 1);
    assert!(agent(1).model.is_none() && agent(1).extra_args.is_empty());
}

#[test]
fn an_answer_may_be_comments_and_check_knows_what_is_in_them() {
    let text = "name: g\ndescription: G.\ndefaults: {adapter: claude}\nsteps:\n  \
         - {name: look, type: agent, prompt: x, expect: comments, output: said}\n  \
         - {name: mend, type: parallel-agents, when: said.comments | length > 0, \
            for_each: '${said.comments}', prompt: 'Mend ${item.path}:${item.line}'}\n";
    let plan = plan("g.yaml", text);
    let StepAction::Agent { agent } = &plan.steps[0].action else { panic!() };
    assert_eq!(agent.expect, ExpectedOutput::Comments);
    assert_eq!(codes("g.yaml", &text.replace("item.line", "item.row")).len(), 1);
}

#[test]
fn defaults_are_modest() {
    let plan = plan(
        "g.yaml",
        "name: g\ndescription: G.\nsteps:\n  - {name: a, type: agent, prompt: x, adapter: claude}\n  \
         - {name: b, type: script, command: date}\n  - {name: c, type: gate, message: Ready?}\n",
    );
    let StepAction::Agent { agent } = &plan.steps[0].action else { panic!() };
    assert_eq!(
        (agent.mode, agent.permissions, agent.auto_approve),
        (AgentMode::Headless, None, false)
    );
    assert_eq!((agent.sandbox, plan.steps[0].timeout), (SandboxMode::Off, None));
    assert_eq!((plan.steps[0].retry.attempts, plan.steps[0].needs_approval), (1, false));
    let StepAction::Script { script, expect } = &plan.steps[1].action else { panic!() };
    assert_eq!((&script.shell, expect), (&None, &ExpectedOutput::Text));
    assert!(matches!(
        &plan.steps[2].action,
        StepAction::Gate { script: None, message: Some(_), .. }
    ));
}

#[test]
fn shells_are_named_and_other_programs_are_written_out() {
    let steps = "name: g\ndescription: G.\nsteps:\n  - {name: a, type: script, command: date, shell: sh}\n  \
         - {name: b, type: script, command: date, shell: bash}\n  \
         - {name: c, type: script, command: \"print(f'${x}')\", shell: [python3, -c]}\n";
    let plan = plan("g.yaml", steps);
    let shell = |index: usize| match &plan.steps[index].action {
        StepAction::Script { script, .. } => script.shell.clone().unwrap().join(" "),
        _ => panic!(),
    };
    assert_eq!(shell(0), "sh -eu -c");
    assert_eq!(shell(1), "bash -eu -o pipefail -c");
    assert_eq!(shell(2), "python3 -c");
    let StepAction::Script { script, .. } = &plan.steps[2].action else { panic!() };
    let prepared = script.command.prepare(&VariableScope::default()).unwrap();
    assert_eq!(prepared.text, "print(f'${x}')", "what is no shell gets its text as it is");
}

#[test]
fn a_list_can_be_written_out_and_stays_what_it_is() {
    for (list, length) in [("[]", 0), ("[one]", 1), ("[one, {a: 1}, [2], null, 3.5]", 5)] {
        let text = format!(
            "name: g\ndescription: G.\nsteps:\n  - {{name: a, type: parallel-agents, adapter: claude, for_each: {list}, prompt: \"${{item}}\"}}\n"
        );
        let plan: WorkflowPlan =
            serde_json::from_str(&serde_json::to_string(&plan("g.yaml", &text)).unwrap()).unwrap();
        let StepAction::ParallelAgents { for_each, .. } = &plan.steps[0].action else { panic!() };
        let value = for_each.value(&VariableScope::default()).unwrap();
        assert_eq!(value.as_array().unwrap().len(), length);
    }
}

#[test]
fn a_plan_survives_its_way_to_disk_and_back() {
    let plan = plan("g.yaml", FEATURE);
    let back: WorkflowPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(back, plan);
}

/// Spec: GR.5.2
#[test]
fn a_variable_is_replaced_by_the_earlier_result_and_an_undefined_one_says_where_it_stands() {
    let plan = plan("g.yaml", FEATURE);
    let StepAction::ParallelAgents { agent, .. } = &plan.steps[1].action else { panic!() };
    let prompt = agent.prompt.as_ref().unwrap();
    let scope = VariableScope::default()
        .with("task", json!({"title": "the login"}))
        .with("index", json!(2));
    assert_eq!(prompt.render(&scope).unwrap(), "Implement the login, number 2");
    let undefined = prompt.render(&scope.with("task", json!({"titel": "x"}))).unwrap_err();
    assert_eq!(undefined.offset, "Implement ".len());
    assert_eq!(
        undefined.to_string(),
        "`${task.title}` is not defined: `task` has no `title`; did you mean `titel`?"
    );
    assert_eq!(
        plan.steps[1].places["prompt"].line, 20,
        "and the plan knows where the prompt stands"
    );
}

#[test]
fn an_event_can_start_a_grimoire_but_not_its_own() {
    let text = |name: &str, condition: &str| {
        format!(
            "name: {name}\ndescription: G.\ntrigger: {{event: workflow.completed, where: \"{condition}\"}}\n\
             steps:\n  - {{name: a, type: script, command: date}}\n"
        )
    };
    let after = plan("g.yaml", &text("after", "grimoire == 'before'"));
    assert_eq!(fires_on(&after, "before"), TriggerMatch::Yes);
    assert_eq!(fires_on(&after, "other"), TriggerMatch::No);
    let perhaps = plan("g.yaml", &text("perhaps", "grimoire == 'before' and goal == 'x'"));
    assert_eq!(fires_on(&perhaps, "before"), TriggerMatch::Perhaps);
    assert_eq!(codes("g.yaml", &text("own", "grimoire in ['own', 'other']")), ["trigger-loop"]);
    assert_eq!(codes("g.yaml", &text("own", "1 == 1")), ["trigger-loop"]);
    let posted = "name: g\ndescription: G.\ntrigger: {event: deploy.finished}\nsteps:\n  - {name: a, type: script, command: date}\n";
    assert_eq!(
        fires_on(&plan("g.yaml", posted), "g"),
        TriggerMatch::No,
        "events from outside are their own"
    );
}

#[test]
fn a_default_adapter_stands_in_for_none() {
    let text = "name: g\ndescription: G.\nsteps:\n  - {name: a, type: agent, prompt: x}\n";
    assert_eq!(codes("g.yaml", text), ["no-adapter"]);
    let source = coven_notation::SourceFile::new("g.yaml", text);
    let checked = coven_workflow::check(&source, &known().with_default_adapter("codex"));
    let StepAction::Agent { agent } = checked.plan.unwrap().steps.remove(0).action else {
        panic!()
    };
    assert_eq!(agent.adapter, "codex");
}

#[test]
fn an_input_can_choose_the_adapter_when_a_run_is_made() {
    let text = "name: g\ndescription: G.\ninputs: {agent: {}}\ndefaults: {adapter: \"${input.agent}\"}\nsteps:\n  \
         - {name: a, type: agent, prompt: x}\n  - {name: b, type: agent-loop, prompt: x, arbiter: {prompt: y, adapter: codex}}\n";
    let settle = |value: serde_json::Value, known: &CheckEnvironment| {
        let mut plan = plan("g.yaml", text);
        let input =
            coven_workflow::bind_inputs(&plan, json!({ "agent": value }).as_object().unwrap());
        coven_workflow::settle(&mut plan, &input.unwrap(), known).map(|()| plan)
    };
    let adapters = |plan: &WorkflowPlan| match (&plan.steps[0].action, &plan.steps[1].action) {
        (StepAction::Agent { agent: one }, StepAction::AgentLoop { agent: two, arbiter, .. }) => {
            [&one.adapter, &two.adapter, &arbiter.as_ref().unwrap().adapter].map(Clone::clone)
        }
        _ => panic!(),
    };
    let chosen = settle(json!("gemini"), &known()).unwrap();
    assert_eq!(adapters(&chosen), ["gemini", "gemini", "codex"]);
    let default = settle(json!(null), &known().with_default_adapter("claude")).unwrap();
    assert_eq!(adapters(&default), ["claude", "claude", "codex"]);
    let unknown = settle(json!("gemni"), &known()).unwrap_err();
    assert_eq!(unknown.len(), 1, "told once, however many agents it is for");
    assert_eq!(
        unknown[0].message,
        "`input.agent` names an unknown adapter, `gemni`; did you mean `gemini`?"
    );
    assert_eq!(settle(json!(""), &known()).unwrap_err()[0].code, "no-adapter");
}

#[test]
fn the_published_schemas_describe_every_key() {
    for schema in [schema::grimoire(), schema::workflow()] {
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let mut maps = vec![&schema];
        maps.extend(schema["definitions"].as_object().into_iter().flatten().map(|(_, map)| map));
        for map in maps {
            for (key, property) in map["properties"].as_object().into_iter().flatten() {
                let told = property["description"].as_str().is_some_and(|text| text.len() > 5);
                assert!(told, "{key} has no description");
            }
        }
    }
    assert_eq!(InputType::default(), InputType::String);
}

#[test]
fn steps_say_what_they_need_and_see_what_that_did() {
    let text = "name: graph\ndescription: A graph.\nsteps:\n  \
        - {name: last, type: script, needs: [left, right], command: 'echo ${from_left} ${steps.first.output} ${steps.right.status}'}\n  \
        - {name: first, type: script, needs: [], command: a}\n  \
        - {name: left, type: script, command: b, output: from_left}\n  \
        - {name: right, type: script, needs: [first], when: \"steps.first.exit_code == 0\", command: c}\n";
    let plan = plan("graph.yaml", text);
    assert!(plan.is_graph());
    let needs: [&[&str]; 4] = [&["left", "right"], &[], &["first"], &["first"]];
    assert_eq!(plan.needs(), needs);
    let written = serde_json::to_value(&plan).unwrap();
    assert_eq!(written["steps"][1]["needs"], json!([]));
    assert_eq!(written["steps"][2].get("needs"), None);
    assert_eq!(serde_json::from_value::<WorkflowPlan>(written).unwrap(), plan);
    let sequence = text.replace("needs: [], ", "").replace("needs: [first], ", "");
    let sequence = sequence.replace("needs: [left, right], ", "");
    assert_eq!(codes("graph.yaml", &sequence)[0], "variable-not-yet", "in the order of the file");
}

#[test]
fn a_loop_says_what_becomes_of_its_worktree() {
    let text = "name: g\ndescription: G.\ndefaults: {adapter: demo}\nsteps:\n  \
        - name: green\n    type: loop\n    isolation: task\n    land: ask\n    on_conflict: agent\n    \
        commit: 'mend, round ${iteration}'\n    until: iteration == 2\n    \
        steps: [{name: mend, type: agent, prompt: x}]\n";
    let plan = plan("g.yaml", text);
    let step = &plan.steps[0];
    assert_eq!((step.land, step.on_conflict), (Some(LandMode::Ask), Some(OnConflict::Agent)));
    assert_eq!(step.commit.as_ref().unwrap().source(), "mend, round ${iteration}");
}

/// What is told about it is that it is no step.
#[test]
fn what_is_no_step_inside_a_loop_is_told_once() {
    for item in ["just-text", "7", "[]", "{name: a, type: 3}"] {
        let text = format!(
            "name: g\ndescription: G.\nsteps:\n  - {{name: l, type: loop, until: 'true', steps: [{item}]}}\n"
        );
        let checked = crate::checked("g.yaml", &text);
        let told: Vec<_> = checked.problems.iter().map(|problem| &problem.message).collect();
        assert!(checked.plan.is_none() && !told.is_empty(), "{item}: {told:?}");
        assert!(told.iter().all(|message| !message.contains("``")), "{item}: {told:?}");
    }
}

#[test]
fn what_elements_lack_is_known_before_the_run_for_agents_and_commands() {
    let lacking = |step: &str| {
        let text = format!(
            "name: g\ndescription: G.\ninputs: {{list: {{type: array}}}}\nsteps: [{step}]\n"
        );
        let given = json!({"list": [{"x": 1}, {"y": 1}]});
        let found = lacking_elements(&plan("g.yaml", &text), given.as_object().unwrap());
        found.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    let written = "for_each: [1, {x: 2}]";
    let of_agent = lacking(&format!(
        "{{name: g, type: agent, adapter: demo, {written}, prompt: 'x ${{item.x}}'}}"
    ));
    assert_eq!(of_agent.len(), 1, "{of_agent:?}");
    assert!(of_agent[0].starts_with("task `g.0`: `${item.x}` is not defined"), "{of_agent:?}");
    let of_script = lacking(&format!(
        "{{name: g, type: script, {written}, command: 'echo ${{item.x}} ${{item}}'}}"
    ));
    assert_eq!(of_script, of_agent);
    let gate = "{name: g, type: gate, for_each: '${input.list}', as: one, command: 'true', cwd: '${one.x}', env: {A: '${one.y}'}}";
    let of_gate = lacking(gate);
    let places: Vec<&str> = of_gate.iter().map(|told| &told[..10]).collect();
    assert_eq!(places, ["task `g.0`", "task `g.1`"], "{of_gate:?}");
    let later = "{name: a, type: script, command: x, expect: json, output: o}, {name: g, type: script, for_each: '${o}', command: 'echo ${item.x}'}";
    assert_eq!(lacking(later), [""; 0], "the list is not known yet");
}

#[test]
fn a_graph_of_thousands_of_steps_is_checked_at_once() {
    let mut text = "name: graph\ndescription: A graph.\nsteps:\n".to_owned();
    for step in 0..5000 {
        let needs = if step == 0 { String::new() } else { format!("s{}", step - 1) };
        let told = if step == 0 { "begin".to_owned() } else { "${steps.s0.output}".to_owned() };
        text.push_str(&format!(
            "  - {{name: s{step}, type: script, needs: [{needs}], command: 'echo {told}'}}\n"
        ));
    }
    let begun = std::time::Instant::now();
    assert_eq!(plan("graph.yaml", &text).steps.len(), 5000);
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}
