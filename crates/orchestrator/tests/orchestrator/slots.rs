//! Slots: how many jobs run at once, in which order, by whose leave.

use coven_model::{InterventionChoice, InterventionKind, TaskId, TaskStatus, WorkflowStatus};
use coven_orchestrator::{AdmissionQueue, Load, Orchestrator};
use serde_json::json;

use crate::support::{Base, DEADLINE, decide, end, intervention, nothing_left, until};

fn task(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

async fn open(base: &Base, slots: usize) -> Orchestrator {
    let mut options = base.options();
    options.admission = AdmissionQueue::new(slots);
    Orchestrator::open(options).await.unwrap()
}

/// A stage of headless demo agents, by id and prompt.
fn stage(id: &str, tasks: &[(&str, &str)]) -> String {
    let tasks: Vec<_> = tasks
        .iter()
        .map(|(id, prompt)| json!({"id": id, "adapter": "demo", "executionMode": "headless", "prompt": prompt}))
        .collect();
    json!({"id": id, "stages": [{"id": "all", "tasks": tasks}]}).to_string()
}

async fn loaded(orchestrator: &Orchestrator, running: usize, queued: usize, slots: usize) {
    let wanted = Load { running, queued, slots };
    let mut last = Load::default();
    let reached = async {
        while last != wanted {
            tokio::task::yield_now().await;
            last = orchestrator.admission().load();
        }
    };
    let reached = tokio::time::timeout(DEADLINE, reached).await;
    assert!(reached.is_ok(), "{last:?} instead of {wanted:?}");
}

/// What an agent does that goes on once a file is there.
fn wait_for(file: &str) -> String {
    format!("disobey until [ -e {file} ]\\; do read -t 0.05 x < /dev/zero || true\\; done; say ok")
}

/// Spec: C0.7.1, RT.1, RT.6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_one_slot_tasks_of_a_stage_run_one_after_another_in_their_order() {
    let base = Base::new();
    let orchestrator = open(&base, 1).await;
    // Each would see the mark of another that runs at the same time.
    let alone = |name: &str| {
        format!("disobey mkdir running && echo {name} >> order.txt && rmdir running; say ok")
    };
    let prompts: Vec<(String, String)> =
        ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), alone(name))).into();
    let tasks: Vec<(&str, &str)> =
        prompts.iter().map(|(name, prompt)| (name.as_str(), prompt.as_str())).collect();
    let new = base.definition(&stage("in-order", &tasks));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("order.txt")).unwrap(), "a\nb\nc\nd\ne\n");
    loaded(&orchestrator, 0, 0, 1).await;
    let record = orchestrator.admission().admitted();
    let jobs: Vec<String> = record.iter().map(|line| line.job.clone()).collect();
    assert_eq!(jobs, ["a", "b", "c", "d", "e"].map(|name| format!("{id}/{name}/1")));
    assert!(record.iter().all(|line| line.by == "workflow"), "{record:?}");
    nothing_left(&id, &view);
}

/// Spec: C1.10.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_a_slot_can_be_stopped_and_never_begins() {
    let base = Base::new();
    let orchestrator = open(&base, 1).await;
    let new = base.definition(&stage(
        "waiting",
        &[
            ("first", &wait_for("go.txt")),
            ("second", "disobey touch second.txt"),
            ("third", "disobey touch third.txt"),
        ],
    ));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    loaded(&orchestrator, 1, 2, 1).await;
    orchestrator.stop_task(&id, &task("second"), "a test").await.unwrap();
    loaded(&orchestrator, 1, 1, 1).await;
    std::fs::write(base.path().join("go.txt"), "").unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::PartialFailure);
    decide(&orchestrator, &asked, InterventionChoice::Proceed).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.task_status[&task("third")], TaskStatus::Done);
    assert!(base.path().join("third.txt").exists());
    assert!(!base.path().join("second.txt").exists());
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_cancelled_leaves_the_queue_to_others() {
    let base = Base::new();
    let orchestrator = open(&base, 1).await;
    let hang = base.definition(&stage("hanging", &[("a", "hang"), ("b", "hang"), ("c", "hang")]));
    let hanging = orchestrator.execute_workflow(hang).await.unwrap();
    let other = base.definition(&stage("other", &[("d", "say ok")]));
    loaded(&orchestrator, 1, 2, 1).await;
    let other = orchestrator.execute_workflow(other).await.unwrap();
    loaded(&orchestrator, 1, 3, 1).await;
    orchestrator.cancel(&hanging, "a test", "enough").await.unwrap();
    let view = end(&orchestrator, &hanging).await;
    assert_eq!(view.status, WorkflowStatus::Cancelled);
    nothing_left(&hanging, &view);
    let view = end(&orchestrator, &other).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    loaded(&orchestrator, 0, 0, 1).await;
}

/// Spec: GR.6.4, RT.6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_needs_leave_runs_in_the_name_of_the_person_who_gave_it() {
    let base = Base::new();
    let orchestrator = open(&base, 2).await;
    let new = base.definition(
        "name: asked\ndescription: Asks first.\nsteps:\n  - {name: free, type: script, command: \"true\"}\n  - {name: bound, type: script, command: \"true\", needs_approval: true}\n",
    );
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::StartApproval);
    assert_eq!(orchestrator.admission().admitted().len(), 1, "the second step has not begun");
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let by: Vec<String> =
        orchestrator.admission().admitted().into_iter().map(|line| line.by).collect();
    assert_eq!(by, ["workflow", "a test"]);
}

/// Approval, slot, pane, terminal, reading, parsing, exit and result, and the slot is free for the
/// next, which was not let in before.
///
/// Spec: RT.1, RT.3, RT.6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_job_has_its_slot_and_its_screen_from_its_start_to_its_end() {
    let base = Base::new();
    let orchestrator = open(&base, 1).await;
    let text = "
name: whole
description: One agent that a person lets start.
steps:
  - {name: bound, type: agent, adapter: demo, mode: interactive, permissions: ask, needs_approval: true, prompt: say hello there; approve touch made.txt}
";
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    loaded(&orchestrator, 0, 0, 1).await;
    assert!(!base.attempt(&id, "bound", 1).exists(), "nothing is there before it may start");

    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    loaded(&orchestrator, 1, 0, 1).await;
    let next = base.definition(&stage("next", &[("after", "say later")]));
    let next = orchestrator.execute_workflow(next).await.unwrap();
    // Its screen is read and understood while it has the slot, and the next one waits.
    let question = intervention(&mut events).await;
    assert_eq!(question.kind, InterventionKind::Approval);
    let agent = || orchestrator.agent(&id, &task("bound"));
    let screen = agent().unwrap().view().await.unwrap().snapshot.text();
    assert!(screen.contains("hello there"), "{screen}");
    loaded(&orchestrator, 1, 1, 1).await;
    decide(&orchestrator, &question, InterventionChoice::Approve).await;

    // An interactive step is over when its turn is. Its result is what it said, and its slot is free.
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(agent().is_err());
    assert_eq!(end(&orchestrator, &next).await.status, WorkflowStatus::Completed);
    loaded(&orchestrator, 0, 0, 1).await;
    let record = orchestrator.admission().admitted();
    let jobs: Vec<(String, String)> = record.into_iter().map(|line| (line.job, line.by)).collect();
    let admitted = |job: String, by: &str| (job, by.to_owned());
    assert_eq!(
        jobs,
        [
            admitted(format!("{id}/bound/1"), "a test"),
            admitted(format!("{next}/after/1"), "workflow")
        ]
    );
    nothing_left(&id, &view);
}

/// Spec: C0.8.2, RT.9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_ran_already_go_on_beyond_the_limit_and_new_ones_wait_for_them() {
    let base = Base::new();
    let orchestrator = open(&base, 2).await;
    let meet = |own: &str| format!("disobey touch {own}; {}", wait_for(&format!("{own}.go")));
    let (a, b) = (meet("a"), meet("b"));
    let new = base.definition(&stage("kept", &[("a", &a), ("b", &b), ("c", "disobey touch c")]));
    let id = orchestrator.execute_workflow(new).await.unwrap();
    let there = |name: &str| base.path().join(name).exists();
    until("both agents", || there("a") && there("b")).await;
    orchestrator.close().await;
    drop(orchestrator);
    let orchestrator = open(&base, 1).await;
    loaded(&orchestrator, 2, 1, 1).await;
    std::fs::write(base.path().join("a.go"), "").unwrap();
    // The one that is left has the slot now, so the third still waits.
    loaded(&orchestrator, 1, 1, 1).await;
    assert!(!there("c"));
    std::fs::write(base.path().join("b.go"), "").unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(there("c"));
    nothing_left(&id, &view);
}

/// Sessions are opened one after the other, so the slot of one that is not open yet looked free to
/// the jobs that wait.
///
/// Spec: C0.8.2, RT.1, RT.9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_no_more_jobs_run_than_before() {
    const SESSIONS: usize = 8;
    let base = Base::new();
    let mut orchestrator = open(&base, 2).await;
    let prompt = format!("disobey touch begun-$COVEN_SESSION; {}", wait_for("go.txt"));
    let definition = stage("one", &[("only", &prompt)]);
    let begun = || {
        let files = std::fs::read_dir(base.path()).unwrap().map(|file| file.unwrap().file_name());
        files.filter(|name| name.to_string_lossy().starts_with("begun-")).count()
    };
    let mut ids = Vec::new();
    for _ in 0..SESSIONS {
        let new = base.definition(&definition);
        ids.push(orchestrator.execute_workflow(new).await.unwrap());
    }
    until("two agents", || begun() == 2).await;
    for _ in 0..3 {
        orchestrator.close().await;
        drop(orchestrator);
        orchestrator = open(&base, 2).await;
        loaded(&orchestrator, 2, SESSIONS - 2, 2).await;
        assert_eq!(begun(), 2);
    }
    std::fs::write(base.path().join("go.txt"), "").unwrap();
    for id in &ids {
        let view = end(&orchestrator, id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        nothing_left(id, &view);
    }
    assert_eq!(orchestrator.admission().load(), Load { running: 0, queued: 0, slots: 2 });
}

/// Spec: RT.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrators_that_share_a_queue_share_its_slots_and_closing_one_leaves_the_other() {
    let (one, other) = (Base::new(), Base::new());
    let queue = AdmissionQueue::new(1);
    let open = async |base: &Base| {
        let mut options = base.options();
        options.admission = queue.clone();
        Orchestrator::open(options).await.unwrap()
    };
    let (first, second) = (open(&one).await, open(&other).await);
    let waiting = [("a", wait_for("go")), ("b", "say ok".to_owned())];
    let waiting: Vec<_> = waiting.iter().map(|(id, prompt)| (*id, prompt.as_str())).collect();
    let new = one.definition(&stage("first", &waiting));
    let id = first.execute_workflow(new).await.unwrap();
    loaded(&first, 1, 1, 1).await;
    let new = other.definition(&stage("second", &[("c", "say ok")]));
    let later = second.execute_workflow(new).await.unwrap();
    loaded(&second, 1, 2, 1).await;
    until("the agent", || queue.slots().iter().all(|slot| slot.followed)).await;
    let slots: Vec<_> = queue.slots().into_iter().map(|slot| (slot.slot, slot.job)).collect();
    assert_eq!(slots, [(0, format!("{id}/a/1"))]);

    first.close().await;
    drop(first);
    let view = end(&second, &later).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    loaded(&second, 0, 0, 1).await;
    second.close().await;

    let first = open(&one).await;
    loaded(&first, 1, 1, 1).await;
    std::fs::write(one.path().join("go"), "").unwrap();
    let view = end(&first, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
}

/// Spec: RT.5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cannot_be_started_frees_its_slot_and_says_why() {
    let base = Base::new();
    let orchestrator = open(&base, 1).await;
    let missing = json!({"id": "missing", "stages": [{"id": "all", "tasks": [
        {"id": "a", "adapter": "demo", "executionMode": "headless", "prompt": "say ok", "cwd": "nowhere"},
        {"id": "b", "adapter": "demo", "executionMode": "headless", "prompt": "say ok"},
    ]}]});
    let id = orchestrator.execute_workflow(base.definition(&missing.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::PartialFailure);
    decide(&orchestrator, &asked, InterventionChoice::Proceed).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.task_status[&task("b")], TaskStatus::Done);
    assert!(format!("{asked:?}").contains("nowhere"), "{asked:#?}");
    loaded(&orchestrator, 0, 0, 1).await;
}
