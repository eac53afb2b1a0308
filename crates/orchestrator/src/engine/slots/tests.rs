//! Slots without processes: order, limit, giving up, and many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coven_model::{AttemptId, JobId, SessionId, ShellWork, TaskId};
use tokio::task::JoinSet;

use super::giver::AT_THE_RUNTIME;
use super::*;

/// Longer than anything here takes on a loaded machine.
const DEADLINE: Duration = Duration::from_mins(2);

fn spec(number: usize, approved_by: Option<&str>) -> JobSpec {
    let session = SessionId::new("0198b5a0-0000-7000-8000-000000000001").unwrap();
    let task = TaskId::new(format!("task-{number}")).unwrap();
    let work = ShellWork { text: "true".to_owned(), shell: None, variables: Vec::new() };
    JobSpec {
        job: JobId { session, attempt: AttemptId { task, attempt: 1 } },
        step: "step".to_owned(),
        name: "name".to_owned(),
        work: Work::Shell(work),
        cwd: None,
        env: std::collections::BTreeMap::new(),
        timeout: None,
        ok_exit_codes: coven_model::ExitCodes::default(),
        sandbox: coven_model::SandboxMode::Off,
        approved_by: approved_by.map(str::to_owned),
    }
}

async fn turn(place: &mut Place) {
    tokio::time::timeout(DEADLINE, place.turn()).await.expect("its turn never came").unwrap();
}

/// Waits until the slots are in this state.
async fn loaded(slots: &Slots, running: usize, queued: usize) {
    let wanted = Load { running, queued, slots: slots.load().slots };
    let reached = async {
        while slots.load() != wanted {
            tokio::task::yield_now().await;
        }
    };
    let reached = tokio::time::timeout(DEADLINE, reached).await;
    assert!(reached.is_ok(), "{:?} instead of {wanted:?}", slots.load());
}

/// Spec: RT.1, RT.6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_jobs_all_get_a_turn_and_never_more_at_once_than_there_are_slots() {
    const JOBS: usize = 10_000;
    const SLOTS: usize = 4;
    let slots = Slots::new(SLOTS).unwrap();
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut jobs = JoinSet::new();
    let places: Vec<Place> = (0..JOBS).map(|job| slots.line_up(&spec(job, None))).collect();
    for mut place in places {
        let (at_once, most) = (at_once.clone(), most.clone());
        jobs.spawn(async move {
            turn(&mut place).await;
            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            place.ended(true);
        });
    }
    let ran = jobs.join_all().await.len();
    assert_eq!(ran, JOBS);
    assert!(most.load(Ordering::SeqCst) <= SLOTS);
    loaded(&slots, 0, 0).await;
}

#[tokio::test]
async fn one_slot_is_handed_on_in_the_order_of_the_queue() {
    // More than the runtime is given at a time.
    const JOBS: usize = AT_THE_RUNTIME * 2;
    let slots = Slots::new(1).unwrap();
    let places: Vec<Place> = (0..JOBS).map(|job| slots.line_up(&spec(job, None))).collect();
    loaded(&slots, 1, JOBS - 1).await;
    for (number, mut place) in places.into_iter().enumerate() {
        turn(&mut place).await;
        loaded(&slots, 1, JOBS - 1 - number).await;
        place.ended(number % 2 == 0);
    }
    loaded(&slots, 0, 0).await;
}

#[tokio::test]
async fn who_gives_up_waiting_leaves_the_queue_wherever_it_stands() {
    let slots = Slots::new(1).unwrap();
    // More than the runtime is given at a time.
    let jobs = AT_THE_RUNTIME * 2;
    let mut places: Vec<Place> = (0..jobs).map(|job| slots.line_up(&spec(job, None))).collect();
    let mut last = places.pop().unwrap();
    let mut first = places.remove(0);
    turn(&mut first).await;
    loaded(&slots, 1, jobs - 1).await;
    drop(places);
    loaded(&slots, 1, 1).await;
    first.ended(true);
    turn(&mut last).await;
    // Not even the end has to be told.
    drop(last);
    loaded(&slots, 0, 0).await;
}

#[tokio::test]
async fn a_job_that_runs_already_does_not_wait_and_takes_the_next_slot() {
    let slots = Slots::new(1).unwrap();
    let mut first = slots.line_up(&spec(0, None));
    turn(&mut first).await;
    let adopted = slots.line_up(&spec(1, None));
    adopted.runs_already();
    let mut fresh = slots.line_up(&spec(2, None));
    loaded(&slots, 2, 1).await;
    first.ended(true);
    loaded(&slots, 1, 1).await;
    assert!(fresh.taken.try_recv().is_err(), "it runs beyond the limit");
    adopted.ended(true);
    turn(&mut fresh).await;
    loaded(&slots, 1, 0).await;
}

#[tokio::test]
async fn the_record_names_the_person_who_let_a_job_run_or_the_workflow() {
    let slots = Slots::new(2).unwrap();
    let mut places = [slots.line_up(&spec(0, None)), slots.line_up(&spec(1, Some("she")))];
    for place in &mut places {
        turn(place).await;
    }
    let record = slots.admitted();
    let record: Vec<(&str, &str)> = record
        .iter()
        .map(|line| (line.job.rsplit('/').nth(1).unwrap(), line.by.as_str()))
        .collect();
    assert_eq!(record, [("task-0", "workflow"), ("task-1", "she")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_closed_nothing_starts_though_slots_are_let_go() {
    for _ in 0..200 {
        let slots = Slots::new(1).unwrap();
        let mut first = slots.line_up(&spec(0, None));
        turn(&mut first).await;
        let mut second = slots.line_up(&spec(1, None));
        slots.close();
        drop(first);
        let told = tokio::time::timeout(DEADLINE, second.turn()).await.expect("it waits for ever");
        assert!(matches!(told, Err(NoSlot::Closed)), "{told:?}");
        let late = tokio::time::timeout(DEADLINE, slots.line_up(&spec(2, None)).turn()).await;
        assert!(matches!(late, Ok(Err(NoSlot::Closed))), "{late:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_slots_that_are_gone() {
    let slots = Slots::new(1).unwrap();
    let mut first = slots.line_up(&spec(0, None));
    turn(&mut first).await;
    let mut second = slots.line_up(&spec(1, None));
    drop(slots);
    let told = tokio::time::timeout(DEADLINE, second.turn()).await.expect("it waits for ever");
    assert!(matches!(told, Err(NoSlot::Closed)), "{told:?}");
}
