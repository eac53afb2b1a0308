//! The queue without processes: order, limit, giving up, sharing, and many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coven_model::{AttemptId, JobId, JobWork, SessionId, ShellWork, TaskId};
use coven_scheduler::clock::ManualClock;
use tokio::task::JoinSet;

use super::job_board::MAX_WAITING_ON_BOARD;
use super::*;

/// Longer than anything here takes on a loaded machine.
const DEADLINE: Duration = Duration::from_mins(2);

fn spec(number: usize, approved_by: Option<&str>) -> JobSpec {
    let session = SessionId::new("0198b5a0-0000-7000-8000-000000000001").unwrap();
    let task = TaskId::new(format!("task-{number}")).unwrap();
    let work = ShellWork {
        text: "true".to_owned(),
        shell: None,
        variables: Vec::new(),
        files: Vec::new(),
    };
    JobSpec {
        tree: None,
        job: JobId { session, attempt: AttemptId { task, attempt: 1 } },
        step: "step".to_owned(),
        name: "name".to_owned(),
        work: JobWork::Shell(work),
        cwd: None,
        env: std::collections::BTreeMap::new(),
        timeout: None,
        ok_exit_codes: coven_model::ExitCodes::default(),
        sandbox: coven_model::SandboxMode::Off,
        confine: None,
        approved_by: approved_by.map(str::to_owned),
        domain: None,
        size: None,
    }
}

/// The only orchestrator of a queue.
fn queue(slots: usize) -> QueueMember {
    AdmissionQueue::new(slots).join()
}

fn enqueue(member: &QueueMember, number: usize) -> SlotRequest {
    member.enqueue(&spec(number, None), RunnerSlot::default(), true)
}

/// Whether a job has its slot. Asked once: the answer is taken.
fn has_slot(request: &mut SlotRequest) -> bool {
    matches!(request.granted.try_recv(), Ok(Ok(())))
}

#[track_caller]
fn loaded(member: &QueueMember, running: usize, queued: usize) {
    let load = member.queue().load();
    assert_eq!((load.running, load.queued), (running, queued));
}

/// Spec: RT.1, RT.6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_jobs_all_get_a_slot_and_never_more_at_once_than_there_are() {
    const JOBS: usize = 10_000;
    const SLOTS: usize = 4;
    let member = queue(SLOTS);
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut jobs = JoinSet::new();
    let requests: Vec<SlotRequest> = (0..JOBS).map(|job| enqueue(&member, job)).collect();
    for mut request in requests {
        let (at_once, most) = (at_once.clone(), most.clone());
        jobs.spawn(async move {
            let granted = tokio::time::timeout(DEADLINE, request.granted()).await;
            granted.expect("its turn never came").unwrap();
            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            request.started();
            tokio::task::yield_now().await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            request.ended(true);
        });
    }
    assert_eq!(jobs.join_all().await.len(), JOBS);
    assert!(most.load(Ordering::SeqCst) <= SLOTS);
    loaded(&member, 0, 0);
}

#[test]
fn one_slot_is_handed_on_in_the_order_of_the_queue() {
    // More than wait on the board at a time.
    const JOBS: usize = MAX_WAITING_ON_BOARD * 2;
    let member = queue(1);
    let requests: Vec<SlotRequest> = (0..JOBS).map(|job| enqueue(&member, job)).collect();
    for (number, mut request) in requests.into_iter().enumerate() {
        loaded(&member, 1, JOBS - 1 - number);
        assert!(has_slot(&mut request), "job {number}");
        // One is not even started.
        if number % 3 > 0 {
            request.started();
        }
        request.ended(number % 2 == 0);
    }
    loaded(&member, 0, 0);
}

#[test]
fn a_job_that_gives_up_waiting_leaves_the_queue_wherever_it_stands() {
    let member = queue(1);
    let jobs = MAX_WAITING_ON_BOARD * 2;
    let mut requests: Vec<SlotRequest> = (0..jobs).map(|job| enqueue(&member, job)).collect();
    let mut last = requests.pop().unwrap();
    let first = requests.remove(0);
    loaded(&member, 1, jobs - 1);
    drop(requests);
    loaded(&member, 1, 1);
    first.ended(true);
    assert!(has_slot(&mut last));
    // A job whose end is not told has ended all the same.
    drop(last);
    loaded(&member, 0, 0);
}

#[test]
fn a_job_that_runs_already_has_a_slot_at_once_and_none_begins_until_there_is_room() {
    let member = queue(1);
    let first = enqueue(&member, 0);
    // It stands behind all that wait on the board.
    let mut waiting: Vec<SlotRequest> =
        (1..MAX_WAITING_ON_BOARD * 2).map(|job| enqueue(&member, job)).collect();
    let adopted = enqueue(&member, 999);
    let queued = waiting.len();
    adopted.adopt();
    loaded(&member, 2, queued);
    let slots = member.queue().slots();
    let slots: Vec<usize> = slots.iter().map(|slot| slot.slot).collect();
    assert_eq!(slots, [0, 1], "one of them is beyond the limit");
    first.ended(true);
    loaded(&member, 1, queued);
    assert!(!has_slot(&mut waiting[0]), "it would run beyond the limit");
    adopted.started();
    adopted.ended(true);
    loaded(&member, 1, queued - 1);
    assert!(has_slot(&mut waiting[0]));
}

#[test]
fn a_job_that_has_its_slot_when_it_turns_out_to_run_keeps_it() {
    let member = queue(1);
    let first = enqueue(&member, 0);
    first.adopt();
    loaded(&member, 1, 0);
    first.ended(true);
    loaded(&member, 0, 0);
}

#[test]
fn the_record_names_the_person_who_let_a_job_run_or_the_workflow_and_the_time_is_given() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(7));
    let member = AdmissionQueue::with_clock(2, clock).join();
    let requests = [None, Some("she"), None].into_iter().enumerate();
    let requests: Vec<SlotRequest> = requests
        .map(|(job, by)| member.enqueue(&spec(job, by), RunnerSlot::default(), true))
        .collect();
    let record = member.queue().admitted();
    let lines: Vec<(&str, &str)> = record
        .iter()
        .map(|line| (line.job.rsplit('/').nth(1).unwrap(), line.by.as_str()))
        .collect();
    assert_eq!(lines, [("task-0", "workflow"), ("task-1", "she")], "the third waits");
    assert!(record.iter().all(|line| line.at == Timestamp::from_millis(7000)), "{record:?}");
    drop(requests);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_one_orchestrator_takes_its_waiting_jobs_and_no_others() {
    for _ in 0..100 {
        let queue = AdmissionQueue::new(1);
        let (one, other) = (queue.join(), queue.join());
        let running = enqueue(&one, 0);
        let mut waiting = enqueue(&one, 1);
        let mut others = enqueue(&other, 2);
        loaded(&one, 1, 2);
        one.close();
        loaded(&one, 1, 1);
        let told = tokio::time::timeout(DEADLINE, waiting.granted()).await.expect("it waits on");
        assert!(matches!(told, Err(NoSlot::Closed)), "{told:?}");
        let late = tokio::time::timeout(DEADLINE, enqueue(&one, 3).granted()).await;
        assert!(matches!(late, Ok(Err(NoSlot::Closed))), "{late:?}");
        assert!(others.granted.try_recv().is_err(), "the slot is still in use");
        drop(running);
        let granted = tokio::time::timeout(DEADLINE, others.granted()).await.expect("it waits on");
        assert!(granted.is_ok());
        loaded(&other, 1, 0);
    }
}

#[tokio::test]
async fn no_job_waits_for_an_orchestrator_that_is_gone() {
    let member = queue(1);
    let _running = enqueue(&member, 0);
    let mut waiting = enqueue(&member, 1);
    drop(member);
    let told = tokio::time::timeout(DEADLINE, waiting.granted()).await.expect("it waits for ever");
    assert!(matches!(told, Err(NoSlot::Closed)), "{told:?}");
}
