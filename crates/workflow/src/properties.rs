//! What holds whatever happens: random runs, journals cut anywhere, facts that never belong
//! together.

use coven_model::event::{
    JobTimer, LoopVerdict, SessionEvent, StepOutput, StoppingEnd, TaskRole, TimerPurpose,
};
use coven_model::{InterventionChoice, TaskStatus, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::decide::decide;
use crate::fold::{fold, fold_all};
use crate::input::{ScreenObservation, SessionInput};
use crate::plan::{OnFailure, OnLimit, WorkflowPlan};
use crate::state::{AnswerPhase, State, StepProgress};
use crate::testing::*;

/// One plan of each kind, and one of everything.
fn plans() -> Vec<WorkflowPlan> {
    let mut asking = agent_step("leave", "x");
    asking.needs_approval = true;
    let mut queued = interactive("hi");
    queued.pending_inputs = vec![template("one"), template("two")];
    let mut kept = interactive("hi");
    kept.keep_alive = true;
    let mut timed = script_step("timed", "x").retries(2, 5);
    timed.timeout = Some(std::time::Duration::from_millis(5));
    timed.on_failure = OnFailure::Block;
    let grimoire = vec![
        asking,
        agent_step("plan", "x").output("answer").retries(2, 0),
        parallel("build", "${input.items}", "${item} ${answer}", 2).output("results"),
        agent_loop("review", 2, OnLimit::Block).output("review"),
        timed,
        gate("tests", Some("x ${review}")),
        gate("ready", None).when("${input.ask}"),
    ];
    let looping = test_and_mend(2).output("green");
    let stages = vec![
        stage("one", &[("a", interactive("x")), ("b", agent("y"))]),
        stage("two", &[("c", queued), ("d", kept)]),
    ];
    let mut plans: Vec<WorkflowPlan> =
        grimoire.iter().map(|step| plan(vec![step.clone()])).collect();
    // Alone, these have nothing to refer to.
    plans.retain(|plan| !matches!(plan.steps[0].name.as_str(), "build" | "tests"));
    plans.push(plan(grimoire));
    plans.push(plan(stages));
    plans.push(plan(vec![looping, agent_step("after", "x ${green}")]));
    let mut asking = gate("ask", None).needs(["first"]);
    asking.on_failure = OnFailure::Continue;
    plans.push(plan(vec![
        script_step("first", "x").needs([]).output("first"),
        parallel("wide", "${input.items}", "${item}", 2).needs(["first"]).output("wide"),
        asking,
        agent_loop("loop", 2, OnLimit::Block).needs([]),
        script_step("after", "x ${wide} ${first}").needs(["wide", "ask"]).when("${input.ask}"),
        agent_step("alone", "x").needs([]).retries(2, 0),
    ]));
    plans
}

fn begun(plan: WorkflowPlan) -> TestRun {
    TestRun::begin(plan, json!({"items": [1, 2, 3], "ask": true}))
}

/// Everything that could be told now, good and bad.
fn possible_inputs(told: &TestRun, seen: u64) -> Vec<SessionInput> {
    let mut inputs = Vec::new();
    let run = told.run();
    for (task, live) in run.live_jobs() {
        let (name, attempt) = (task.id.as_str(), task.attempt);
        let good = if matches!(task.role, TaskRole::Arbiter(_)) {
            r#"{"verdict": "done"}"#
        } else {
            "fine"
        };
        inputs.push(ended(name, attempt, succeeded(good)));
        inputs.push(ended(name, attempt, succeeded(r#"{"verdict": "actionable"}"#)));
        inputs.push(ended(name, attempt, exited(1)));
        inputs.push(ended(name, attempt, stopped()));
        inputs.push(SessionInput::Lost(task.job()));
        inputs.push(SessionInput::Started(task.job()));
        inputs.push(asks(name, attempt, seen, &format!("question {}", seen % 3)));
        inputs.push(idle(name, attempt, seen, true));
        inputs.push(SessionInput::Observed {
            job: task.job(),
            seen,
            what: ScreenObservation::Working,
        });
        inputs.push(SessionInput::Complete { task: task.id.clone(), by: "she".to_owned() });
        inputs.extend(live.typing.iter().map(|typing| SessionInput::Delivered {
            job: task.job(),
            number: typing.number,
            seen,
        }));
        // Only what was ordered is carried out, or found to be too late.
        for asked in &live.asked {
            if matches!(asked.answer, AnswerPhase::Decided(_)) {
                let intervention = intervention(asked.number);
                inputs.push(SessionInput::Answered { intervention: intervention.clone(), seen });
                inputs.push(SessionInput::Stale {
                    intervention,
                    reason: String::new(),
                    pressed: false,
                });
            }
        }
        let timer = JobTimer { job: task.job(), purpose: TimerPurpose::Timeout };
        inputs.push(SessionInput::TimerFired(timer));
        inputs.push(SessionInput::TimerFired(task.next_attempt()));
    }
    for (number, pending) in &run.interventions {
        for choice in &pending.intervention.options {
            let decision = coven_model::InterventionDecision::new(*choice, "she").with_text("1");
            inputs.push(decide_with(*number, decision));
        }
    }
    inputs.push(SessionInput::Retry { run: run.retries, by: "she".to_owned(), why: String::new() });
    inputs
}

/// A random run: each number chooses what is told next, or, now and then, what is told once more.
fn random_run(plan: WorkflowPlan, choices: &[(u16, bool)]) -> (TestRun, Vec<SessionInput>) {
    let mut told = begun(plan);
    let mut inputs = vec![];
    for (seen, (choice, again)) in choices.iter().enumerate() {
        let mut possible = possible_inputs(&told, seen as u64 + 1);
        if *again && !inputs.is_empty() {
            possible = vec![Clone::clone(&inputs[*choice as usize % inputs.len()])];
        } else if choice % 97 == 0 {
            // Rare, or no run would get far.
            possible = vec![SessionInput::Cancel { by: "she".to_owned(), why: String::new() }];
        }
        let chosen = *choice as usize % possible.len();
        let input = possible.swap_remove(chosen);
        told.now += 2;
        told.tell(input.clone());
        inputs.push(input);
    }
    (told, inputs)
}

/// Where a run stands, without what only tells how it got there.
fn outcome(state: &State) -> (coven_model::WorkflowStatus, Vec<(Value, Vec<Value>)>) {
    let run = state.run().unwrap();
    let steps = run.steps.iter().map(|step| {
        let progress = match &step.progress {
            StepProgress::Completed { output, .. } => json!(["completed", output.as_ref()]),
            other => json!(format!("{other:?}").split(' ').next()),
        };
        let task = |task: &crate::state::TaskRun| {
            json!([task.id, task.attempt, run.task_status(&task.id)])
        };
        (progress, step.tasks.iter().map(task).collect())
    });
    (run.status(), steps.collect())
}

fn choices(most: usize) -> impl Strategy<Value = Vec<(u16, bool)>> {
    proptest::collection::vec((any::<u16>(), proptest::bool::weighted(0.2)), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The checks are in `TestRun`: orders are outstanding, counts are right, nothing is left to
    /// do.
    #[test]
    fn a_random_run_keeps_every_promise(which in 0usize..9, choices in choices(120)) {
        let plans = plans();
        let plan = plans[which % plans.len()].clone();
        let (told, _) = random_run(plan, &choices);
        let replayed = replay(&told.journal);
        prop_assert_eq!(&replayed, &told.state);
        let over = told.run().is_over();
        prop_assert!(!over || told.run().live_jobs().next().is_none());
        prop_assert!(!over || told.state.outstanding().is_empty());
    }

    /// A plan of which no step says what it needs is one whose steps each need the one before.
    #[test]
    fn steps_that_need_the_one_before_lead_to_the_same_facts(
        which in 0usize..8, choices in choices(120),
    ) {
        let plan = plans()[which].clone();
        prop_assert!(!plan.is_graph());
        let mut said = plan.clone();
        for place in 0..said.steps.len() {
            let before = place.checked_sub(1).map(|before| said.steps[before].name.clone());
            said.steps[place].needs = Some(before.into_iter().collect());
        }
        let (one, _) = random_run(plan, &choices);
        let (other, _) = random_run(said, &choices);
        prop_assert_eq!(&one.journal[1..], &other.journal[1..]);
        let commands = (one.state.outstanding(), other.state.outstanding());
        prop_assert_eq!(commands.0, commands.1);
    }

    #[test]
    fn a_journal_cut_anywhere_and_told_the_same_again_comes_to_the_same_end(
        which in 0usize..9, choices in choices(60), cut in any::<prop::sample::Index>(),
    ) {
        let plans = plans();
        let plan = plans[which % plans.len()].clone();
        let mut told = begun(plan);
        // At one time all along, and each input once, so that both ways see the same.
        let now = Timestamp::from_millis(1_000_000);
        let mut inputs = Vec::new();
        for (seen, (choice, _)) in choices.iter().enumerate() {
            let mut possible = possible_inputs(&told, seen as u64 + 1);
            let chosen = *choice as usize % possible.len();
            let input = possible.swap_remove(chosen);
            // A refused request is not repeated by the session on its own.
            if told.state.admits(&input).is_err() {
                continue;
            }
            let (events, _) = decide(&told.state, input.clone(), now);
            told.state = fold_all(std::mem::take(&mut told.state), &events);
            // Screens are looked at again after a restart; what was seen before, and changed
            // nothing, is not told once more.
            if !events.is_empty() || !matches!(input, SessionInput::Observed { .. }) {
                inputs.push(input);
            }
            told.journal.extend(events);
        }
        let begun = 2;
        let kept = begun + cut.index(told.journal.len() - begun + 1);
        let mut state = replay(&told.journal[..kept]);
        for input in std::iter::once(SessionInput::Recover).chain(inputs) {
            let (events, _) = decide(&state, input, now);
            state = fold_all(state, &events);
        }
        prop_assert_eq!(outcome(&state), outcome(&told.state));
    }

    #[test]
    fn nothing_panics_on_facts_that_never_belong_together(
        order in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..80),
    ) {
        let pool = strange_events();
        let mut state = State::default();
        for (index, choice) in order {
            state = fold(state, index.get(&pool));
            if choice % 4 == 0 {
                let _ = state.outstanding();
                let inputs = strange_inputs();
                let input = inputs[choice as usize / 4 % inputs.len()].clone();
                let (events, _) = decide(&state, input, Timestamp::from_millis(u64::from(choice)));
                state = fold_all(state, &events);
            }
            if let Some(run) = state.run() {
                let _ = (run.usage(), run.all_variables(), crate::view::plan_view(run));
            }
        }
    }
}

/// Facts of all kinds of runs, and some that no run ever writes.
fn strange_events() -> Vec<SessionEvent> {
    let mut pool = Vec::new();
    for (number, plan) in plans().into_iter().enumerate() {
        let choices: Vec<(u16, bool)> =
            (0..40u16).map(|step| (step * 31 + number as u16 * 7, step % 5 == 4)).collect();
        pool.extend(random_run(plan, &choices).0.journal);
    }
    let at = Timestamp::from_millis(u64::MAX);
    for index in [0, 1, u32::MAX] {
        let step = "x".to_owned();
        pool.push(SessionEvent::LoopExtended { index, limit: u32::MAX });
        pool.push(SessionEvent::LoopJudged {
            index,
            round: 0,
            attempt: u32::MAX,
            verdict: LoopVerdict::Actionable,
            reason: String::new(),
        });
        pool.push(SessionEvent::StepSkipped {
            step: step.clone(),
            index,
            reason: String::new(),
            at,
        });
        pool.push(SessionEvent::StepFailed {
            step: step.clone(),
            index,
            error: String::new(),
            continues: false,
            at,
        });
        let output = StepOutput::Task(job("nobody", 1).task);
        pool.push(SessionEvent::StepCompleted { step, index, summary: String::new(), output, at });
    }
    pool.push(SessionEvent::WorkflowStopping {
        end: StoppingEnd::Failed,
        by: String::new(),
        why: String::new(),
        at,
    });
    pool.push(SessionEvent::WorkflowRetried {
        run: u32::MAX,
        by: String::new(),
        why: String::new(),
        at,
    });
    pool.push(SessionEvent::WorkflowFailed { error: String::new(), step: None, at });
    let timer = JobTimer { job: job("plan", 0), purpose: TimerPurpose::Retry };
    pool.push(SessionEvent::TimerSet { timer, due: at });
    pool.push(SessionEvent::TaskStatus {
        job: job("a", 1),
        status: TaskStatus::Done,
        seen: u64::MAX,
    });
    let odd: Vec<SessionEvent> = pool
        .iter()
        .filter_map(|event| match event {
            SessionEvent::TaskStarted(started) => {
                let mut started = started.clone();
                started.role = TaskRole::Round(0);
                started.spec.job.attempt.attempt = u32::MAX;
                Some(SessionEvent::TaskStarted(started))
            }
            SessionEvent::InterventionRequired { intervention, .. } => {
                let mut intervention = intervention.clone();
                intervention.id = crate::testing::intervention(u64::MAX);
                Some(SessionEvent::InterventionRequired { intervention, attempt: Some(1) })
            }
            _ => None,
        })
        .collect();
    pool.extend(odd);
    pool
}

fn strange_inputs() -> Vec<SessionInput> {
    let mut inputs = vec![
        SessionInput::Recover,
        SessionInput::Begin,
        SessionInput::Cancel { by: String::new(), why: String::new() },
        SessionInput::Retry { run: u32::MAX, by: String::new(), why: String::new() },
        SessionInput::Retry { run: 0, by: String::new(), why: String::new() },
        creation(plan(vec![]), &json!({})),
        SessionInput::Answered { intervention: intervention(u64::MAX), seen: u64::MAX },
    ];
    for choice in [
        InterventionChoice::Retry,
        InterventionChoice::Skip,
        InterventionChoice::Proceed,
        InterventionChoice::Extend,
        InterventionChoice::Approve,
    ] {
        for number in [1, 2, u64::MAX] {
            inputs.push(resolve(number, choice));
        }
    }
    for task in ["plan", "build.0", "build.4294967295", "review.r1", "review.r0", "a", "tests"] {
        for attempt in [0, 1, 2, u32::MAX] {
            inputs.push(ended(task, attempt, succeeded("x")));
            inputs.push(idle(task, attempt, u64::MAX, true));
            inputs.push(asks(task, attempt, 1, "?"));
        }
        inputs.push(SessionInput::Complete { task: job(task, 1).task, by: String::new() });
    }
    inputs
}

#[test]
fn all_choices_lead_somewhere() {
    // A run that always gets the first thing there is to be told ends.
    for plan in plans() {
        let mut told = begun(plan);
        for seen in 1..200 {
            if told.run().is_over() {
                break;
            }
            let waiting = told.run().interventions.keys().next().copied();
            let input = if let Some(number) = waiting {
                let options = &told.run().interventions[&number].intervention.options;
                let decision =
                    coven_model::InterventionDecision::new(options[0], "she").with_text("1");
                decide_with(number, decision)
            } else {
                possible_inputs(&told, seen).swap_remove(0)
            };
            told.tell(input);
        }
        assert!(told.run().is_over(), "{:?}", told.alive());
    }
}
