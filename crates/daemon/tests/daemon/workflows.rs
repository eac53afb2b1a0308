//! Sessions over the wire: started, listed, looked at, cancelled, tried again, deleted.

use coven_api::ProblemCode;
use coven_api::intervention::DecideRequest;
use coven_api::workflow::{ActionRequest, ListQuery, OneAgent, StartWorkflow};
use coven_model::{AgentMode, InterventionChoice, TaskStatus, WorkflowStatus};
use serde_json::{Map, json};

use crate::support::{Home, code, problem};

const GREET: &str = "
name: greet
description: Says hello.
inputs:
  who: {description: Whom to greet, required: true}
steps:
  - {name: say, type: script, command: 'echo hello \"${input.who}\"', output: said}
";

/// Spec: GR.7.1, GR.7.2
#[tokio::test]
async fn a_run_is_started_with_201_and_its_status_can_be_asked_for_until_it_is_done() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(GREET);
    start.input = Map::from_iter([("who".to_owned(), json!("world"))]);
    start.goal = Some("to be polite".to_owned());
    let response = daemon.raw("POST", "/workflows").json(&start).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let started: coven_api::workflow::StartedSession = response.json().await.unwrap();
    assert!(!started.name.is_empty() && !started.repeated);
    assert_eq!(started.base_dir, home.base().display().to_string());
    let done = daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert_eq!(done.session.variables["said"], "hello world");
    assert_eq!(done.item.goal.as_deref(), Some("to be polite"));
    assert_eq!(done.plan.rows[0].status, "completed");
    assert_eq!(done.tasks[0].status, TaskStatus::Done);
    assert!(done.last_seq > 5 && done.session.errors.is_empty());
    // By name and by the beginning of its id, over both listeners.
    let tcp = daemon.tcp().await;
    assert_eq!(tcp.workflow(&started.name).await.unwrap().item.id, started.id);
    assert_eq!(tcp.workflow(&started.id.as_str()[..20]).await.unwrap().item.id, started.id);
}

/// The run cannot end before the test lets it, so whatever is answered before came while it ran.
///
/// Spec: GR.7.1
#[tokio::test]
async fn a_grimoire_is_started_by_name_with_input_and_answered_at_once_while_it_runs() {
    let home = Home::new();
    let grimoires = home.config().join("grimoires");
    std::fs::create_dir_all(&grimoires).unwrap();
    let text = "
name: patient
description: Waits for a file.
inputs:
  file: {description: What to wait for, required: true}
  times: {type: number, default: 1}
steps:
  - {name: wait, type: script, command: 'until test -e ${input.file}; do sleep 0.05; done'}
  - {name: tell, type: script, command: 'echo ${input.file} ${input.times}', output: told}
";
    std::fs::write(grimoires.join("patient.yaml"), text).unwrap();
    let daemon = home.daemon().await;
    let body = json!({
        "grimoire": "patient",
        "input": {"file": "go", "times": 3},
        "baseDir": home.base(),
        "env": home.env(),
    });
    let response = daemon.raw("POST", "/workflows").json(&body).send().await.unwrap();
    assert_eq!(response.status(), 201);
    let started: coven_api::workflow::StartedSession = response.json().await.unwrap();
    let id = started.id.as_str();
    // The id can be used in the very next request, of every kind.
    let first = daemon.client.workflow(id).await.unwrap();
    assert!(!first.item.status.is_final() && first.live, "{:?}", first.item.status);
    assert_eq!(first.session.workflow, "patient");
    assert_eq!(first.session.variables["input"]["times"], 3);
    let events = daemon.raw("GET", &format!("/workflows/{id}/events?after=0")).send().await;
    assert_eq!(events.unwrap().status(), 200);
    let running = daemon.see(id, |run| run.session.current_step.as_deref() == Some("wait")).await;
    assert_eq!(running.item.status, WorkflowStatus::Running);
    std::fs::write(home.base().join("go"), "").unwrap();
    let done = daemon.ends(id, WorkflowStatus::Completed).await;
    assert_eq!(done.session.variables["told"], "go 3");
}

/// Spec: GR.7.2
#[tokio::test]
async fn a_run_tells_its_step_its_variables_and_its_errors_while_blocked_and_when_failed() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "
name: stuck
description: Blocks, then fails.
steps:
  - {name: first, type: script, command: 'echo one', output: made}
  - {name: check, type: gate, command: 'echo the roof leaks >&2; test -e mended', message: Mend it.}
  - {name: agent, type: agent, adapter: demo, prompt: fail the model is away}
";
    let id = daemon.start(&daemon.definition(text)).await.id.to_string();
    let asked = daemon.asked(&id).await;
    let blocked = daemon.client.workflow(&id).await.unwrap();
    assert_eq!(blocked.item.status, WorkflowStatus::Blocked);
    assert_eq!(blocked.session.current_step.as_deref(), Some("check"));
    assert_eq!(blocked.session.current_stage_index, 1);
    assert_eq!(blocked.session.variables["made"], "one");
    assert_eq!(blocked.interventions.len(), 1);
    assert_eq!(blocked.interventions[0].id, asked.intervention.id);
    let reason = &blocked.interventions[0].reason;
    for part in ["Mend it.", "exit code 1", "the roof leaks"] {
        assert!(reason.contains(part), "{part} in {reason}");
    }

    std::fs::write(home.base().join("mended"), "").unwrap();
    let retry = DecideRequest::new(InterventionChoice::Retry, asked.intervention.digest.clone());
    daemon.client.decide(&asked.intervention.id, &retry).await.unwrap();
    let failed = daemon.ends(&id, WorkflowStatus::Failed).await;
    assert_eq!(failed.session.current_step.as_deref(), Some("agent"));
    assert_eq!(failed.session.current_stage_index, 2);
    assert_eq!(failed.session.variables["made"], "one");
    let errors = &failed.session.errors;
    assert_eq!((errors.len(), errors[0].step.as_str()), (1, "agent"), "{errors:#?}");
    assert!(errors[0].error.contains("the model is away"), "{errors:#?}");
    assert!(failed.interventions.is_empty());
}

/// Spec: GR.7.3
#[tokio::test]
async fn a_run_is_cancelled_its_agents_end_and_cancelling_again_is_fine() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": "hang"})]).await;
    let id = started.id.as_str();
    daemon.see(id, |workflow| workflow.tasks.iter().any(|task| task.live)).await;
    let wish = ActionRequest { why: Some("enough".to_owned()), env: None };
    daemon.client.cancel(id, &wish).await.unwrap();
    daemon.client.cancel(id, &wish).await.unwrap();
    daemon.ends(id, WorkflowStatus::Cancelled).await;
    assert_eq!(home.running(), []);
    let again = daemon.client.cancel(id, &ActionRequest::default()).await.unwrap();
    assert_eq!(again.item.status, WorkflowStatus::Cancelled);
}

/// Spec: GR.1.1
#[tokio::test]
async fn a_built_in_grimoire_runs_by_its_name() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.grimoire("demo");
    start.auto = Some(coven_model::AutoAnswer::Allow);
    let started = daemon.start(&start).await;
    let done = daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert_eq!(done.session.workflow, "demo");
}

#[tokio::test]
async fn what_is_wrong_with_a_definition_is_told_with_its_places() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text =
        "name: broken\ndescription: x\nsteps:\n  - {name: a, type: script, comand: 'true'}\n";
    let response = daemon.raw("POST", "/workflows").json(&daemon.definition(text)).send().await;
    let told = problem(response.unwrap()).await;
    assert_eq!(told.code, ProblemCode::BadDefinition);
    assert!(told.problems.iter().any(|found| found.line == 4 && found.message.contains("comand")));
    let missing = daemon.client.start(&daemon.definition(GREET), None).await;
    assert_eq!(code(missing), ProblemCode::BadInput);
    let mut unknown = daemon.definition(GREET);
    unknown.input =
        Map::from_iter([("who".to_owned(), json!("a")), ("whom".to_owned(), json!("b"))]);
    assert_eq!(code(daemon.client.start(&unknown, None).await), ProblemCode::BadInput);
    let near = daemon.client.start(&daemon.grimoire("dmeo"), None).await;
    assert_eq!(code(near), ProblemCode::GrimoireNotFound);
    let mut adapter = daemon
        .definition("name: x\ndescription: x\nsteps:\n  - {name: a, type: agent, prompt: hi}\n");
    adapter.default_adapter = Some("no-such".to_owned());
    assert_eq!(code(daemon.client.start(&adapter, None).await), ProblemCode::BadAdapter);
}

#[tokio::test]
async fn a_run_is_one_thing_and_not_two() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let both = StartWorkflow { grimoire: Some("demo".to_owned()), ..daemon.definition(GREET) };
    assert_eq!(code(daemon.client.start(&both, None).await), ProblemCode::BadRequest);
    assert_eq!(code(daemon.client.start(&daemon.anything(), None).await), ProblemCode::BadRequest);
    let mut env = daemon.grimoire("demo");
    env.env = Some([("A=B".to_owned(), "c".to_owned())].into());
    assert_eq!(code(daemon.client.start(&env, None).await), ProblemCode::BadInput);
    env.env = Some([("A".to_owned(), "nul\0".to_owned())].into());
    assert_eq!(code(daemon.client.start(&env, None).await), ProblemCode::BadInput);
}

#[tokio::test]
async fn each_run_has_its_callers_environment_and_not_the_daemons() {
    let home = Home::new();
    let mut command = home.command();
    command.env("ONLY_THE_DAEMON", "1");
    let daemon = home.daemon_as(command).await;
    let text = "name: env\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'echo \"$WHOSE/${ONLY_THE_DAEMON:-not}\"', output: said}\n";
    let mut start = daemon.definition(text);
    start.env.as_mut().unwrap().insert("WHOSE".to_owned(), "the caller".to_owned());
    let started = daemon.start(&start).await;
    let done = daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert_eq!(done.session.variables["said"], "the caller/not");
}

#[tokio::test]
async fn one_agent_is_a_session_of_one_task() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let agent = OneAgent {
        adapter: "demo".to_owned(),
        prompt: Some("say hello".to_owned()),
        mode: Some(AgentMode::Headless),
        ..OneAgent::default()
    };
    let start = StartWorkflow { agent: Some(agent), ..daemon.anything() };
    let started = daemon.start(&start).await;
    let done = daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert_eq!(done.tasks.len(), 1);
    assert_eq!((done.tasks[0].adapter.as_str(), done.tasks[0].mode), ("demo", AgentMode::Headless));
}

#[tokio::test]
async fn sessions_are_listed_page_by_page_the_newest_first() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut made = Vec::new();
    for number in 0..5 {
        let mut start = daemon.definition(GREET);
        start.input = Map::from_iter([("who".to_owned(), json!("x"))]);
        start.goal = Some(format!("goal number {number}"));
        start.hold = true;
        if number == 4 {
            start.base_dir = Some(other.display().to_string());
        }
        made.push(daemon.start(&start).await.id);
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut query = ListQuery { limit: Some(2), ..ListQuery::default() };
    loop {
        let page = daemon.client.workflows(&query).await.unwrap();
        assert_eq!(page.total, 5);
        seen.extend(page.workflows.into_iter().map(|item| item.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, made);
    let only = |query: ListQuery| {
        let client = daemon.client.clone();
        async move { client.workflows(&query).await.unwrap().total }
    };
    let base_dir = Some(other.display().to_string());
    assert_eq!(only(ListQuery { base_dir, ..ListQuery::default() }).await, 1);
    let search = Some("NUMBER 3".to_owned());
    assert_eq!(only(ListQuery { search, ..ListQuery::default() }).await, 1);
    let status = Some("pending,running".to_owned());
    assert_eq!(only(ListQuery { status, ..ListQuery::default() }).await, 5);
    let status = Some("failed".to_owned());
    assert_eq!(only(ListQuery { status, ..ListQuery::default() }).await, 0);
}

#[tokio::test]
async fn a_session_that_was_held_back_runs_when_it_is_resumed() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(
        "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'touch made'}\n",
    );
    start.hold = true;
    let started = daemon.start(&start).await;
    let id = started.id.as_str();
    assert_eq!(daemon.client.workflow(id).await.unwrap().item.status, WorkflowStatus::Pending);
    daemon.client.resume(id, &ActionRequest::default()).await.unwrap();
    daemon.ends(id, WorkflowStatus::Completed).await;
    assert!(home.base().join("made").exists());
    // Resuming what is over shows it and runs nothing.
    std::fs::remove_file(home.base().join("made")).unwrap();
    let again = daemon.client.resume(id, &ActionRequest::default()).await.unwrap();
    assert_eq!(again.item.status, WorkflowStatus::Completed);
    assert!(!home.base().join("made").exists());
}

#[tokio::test]
async fn what_failed_is_tried_again_and_what_did_not_is_not() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'echo once >> count'}\n  - {name: b, type: script, command: 'test -e there'}\n";
    let started = daemon.start(&daemon.definition(text)).await;
    let id = started.id.as_str();
    let failed = daemon.ends(id, WorkflowStatus::Failed).await;
    assert_eq!(failed.session.errors.len(), 1);
    std::fs::write(home.base().join("there"), "").unwrap();
    daemon.client.retry(id, &ActionRequest { env: Some(home.env()), why: None }).await.unwrap();
    daemon.ends(id, WorkflowStatus::Completed).await;
    assert_eq!(std::fs::read_to_string(home.base().join("count")).unwrap(), "once\n");
    assert_eq!(code(daemon.client.retry(id, &ActionRequest::default()).await), ProblemCode::NotNow);
}

#[tokio::test]
async fn a_session_is_deleted_once_it_is_over_and_is_gone_then() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon.stage(&[json!({"id": "a", "adapter": "demo", "prompt": "hang"})]).await;
    let id = started.id.as_str();
    assert_eq!(code(daemon.client.purge(id).await), ProblemCode::NotNow);
    daemon.client.cancel(id, &ActionRequest::default()).await.unwrap();
    daemon.ends(id, WorkflowStatus::Cancelled).await;
    daemon.client.purge(id).await.unwrap();
    assert_eq!(code(daemon.client.workflow(id).await), ProblemCode::WorkflowNotFound);
    assert_eq!(code(daemon.client.purge(id).await), ProblemCode::WorkflowNotFound);
    assert!(!home.base().join(".coven/sessions").join(id).exists());
}

#[tokio::test]
async fn the_same_key_makes_the_same_session_once() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(GREET);
    start.input = Map::from_iter([("who".to_owned(), json!("you"))]);
    let first = daemon.client.start(&start, Some("key-1")).await.unwrap();
    let again = daemon.client.start(&start, Some("key-1")).await.unwrap();
    assert_eq!((first.id.clone(), false, true), (again.id, first.repeated, again.repeated));
    let other = daemon.client.start(&start, Some("key-2")).await.unwrap();
    assert_ne!(first.id, other.id);
    start.input = Map::from_iter([("who".to_owned(), json!("me"))]);
    assert_eq!(code(daemon.client.start(&start, Some("key-1")).await), ProblemCode::KeyReused);
    let bad = daemon.client.start(&start, Some("with space")).await;
    assert_eq!(code(bad), ProblemCode::BadRequest);
}
