//! A grimoire from its text to its end, through what the crate offers to others: checked, bound,
//! decided and folded, with a world that answers.

use coven_model::{
    JobOutcome, JobWork, ProcessEnding, SessionEvent, SessionId, Timestamp, WorkflowStatus,
};
use coven_notation::SourceFile;
use coven_workflow::input::SessionSpec;
use coven_workflow::view::{dry_run, plan_view};
use coven_workflow::{
    CheckEnvironment, Command, SessionInput, State, WorkflowPlan, bind_inputs, check, decide,
    fold_all,
};
use serde_json::{Value, json};

const GRIMOIRE: &str = r#"
name: implement-feature
description: From a spec to a reviewed change.
inputs:
  spec: {description: Path of the spec, required: true}
  base: {default: main}
defaults: {adapter: demo, mode: headless, permissions: edits, timeout: 30m}
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
    max_concurrent: 2
    prompt: Implement ${task.title}
    output: results
  - name: review
    type: agent-loop
    prompt: Review the change. Last round's verdict was ${verdict.reason}.
    arbiter: {prompt: Is any finding actionable?}
    max_iterations: 5
    output: review
  - name: tests
    type: gate
    command: cargo test
    message: The tests must pass.
  - name: stat
    type: script
    command: git diff --stat "${input.base}"
    output: stat
"#;

fn plan() -> WorkflowPlan {
    let source = SourceFile::new("implement-feature.yaml", GRIMOIRE);
    let checked = check(&source, &CheckEnvironment::new(["demo"]));
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    checked.plan.unwrap_or_else(|| panic!("no plan"))
}

/// What each job prints.
fn answer(task: &str) -> &'static str {
    match task {
        "plan" => {
            "Here:\n```json\n[{\"title\": \"a\"}, {\"title\": \"b\"}, {\"title\": \"c\"}]\n```"
        }
        "review.r1.arbiter" => "{\"verdict\": \"actionable\", \"reason\": \"a typo\"}",
        "review.r2.arbiter" => "{\"verdict\": \"done\", \"reason\": \"clean\"}",
        "stat" => " 3 files changed\n",
        _ => "fine",
    }
}

struct World {
    state: State,
    journal: Vec<SessionEvent>,
    prompts: Vec<(String, String)>,
}

impl World {
    fn tell(&mut self, input: SessionInput) -> Vec<Command> {
        let (events, commands) = decide(&self.state, input, Timestamp::from_millis(1));
        self.state = fold_all(std::mem::take(&mut self.state), &events);
        self.journal.extend(events);
        commands
    }
}

/// Spec: GR.2.1, GR.2.2, GR.3.1, GR.4.1, GR.5.1, GR.6.2
#[test]
fn a_grimoire_runs_from_its_text_to_its_end() {
    let plan = plan();
    let rows: Vec<String> = dry_run(&plan).rows.into_iter().map(|row| row.step).collect();
    assert_eq!(rows, ["plan", "build", "review", "tests", "stat"]);
    let given = json!({"spec": "spec.md"});
    let input = bind_inputs(&plan, given.as_object().unwrap()).unwrap();
    let mut world = World { state: State::default(), journal: Vec::new(), prompts: Vec::new() };
    world.tell(SessionInput::Create(Box::new(SessionSpec {
        repository: None,
        no_trees: None,
        session: SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap(),
        name: "brisk-otter".to_owned(),
        plan,
        input,
        goal: None,
        base_dir: None,
        auto: None,
        cause: None,
    })));
    let mut commands = std::collections::VecDeque::from(world.tell(SessionInput::Begin));
    while let Some(command) = commands.pop_front() {
        let Command::Start(spec) = command else { continue };
        let job = spec.job.attempt;
        let text = match spec.work {
            JobWork::Agent(agent) => agent.prompt.unwrap_or_default(),
            JobWork::Shell(shell) => shell.text,
        };
        world.prompts.push((job.task.to_string(), text));
        commands.extend(world.tell(SessionInput::Started(job.clone())));
        let outcome = JobOutcome {
            output: Some(answer(job.task.as_str()).to_owned()),
            ..JobOutcome::new(true, ProcessEnding::Exited { code: 0 }, "exit code 0")
        };
        commands.extend(world.tell(SessionInput::Ended { job, outcome: Box::new(outcome) }));
    }
    assert_eq!(world.state.status(), WorkflowStatus::Completed);
    let prompt = |task: &str| {
        let found = world.prompts.iter().find(|(name, _)| name == task);
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    assert_eq!(prompt("plan"), "Split spec.md into tasks. Reply with a JSON array.");
    assert_eq!(prompt("build.2"), "Implement c");
    assert_eq!(prompt("review.r2"), "Review the change. Last round's verdict was a typo.");
    let run = world.state.run().unwrap();
    assert_eq!(run.variables(None, "", &mut Value::clone)["stat"], json!(" 3 files changed"));
    assert_eq!(
        run.variables(None, "", &mut Value::clone)["results"].as_array().map(Vec::len),
        Some(3)
    );
    assert!(plan_view(run).rows.iter().all(|row| row.status == "completed"));
    // The journal alone is enough.
    let lines: Vec<String> =
        world.journal.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let read: Vec<SessionEvent> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(fold_all(State::default(), &read), world.state);
    let started: Value = serde_json::from_str(&lines[2]).unwrap();
    assert_eq!(started["type"], json!("workflow.step.started"));
    assert_eq!(
        (&started["data"]["step"], &started["data"]["type"]),
        (&json!("plan"), &json!("agent"))
    );
}
