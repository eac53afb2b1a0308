//! Loops with an arbiter.

use coven_model::event::{InterventionDecision, LoopVerdict, SessionEvent};
use coven_model::{
    InterventionChoice, InterventionKind, JobOutcome, JobWork, PermissionLevel, ProcessEnding,
    RoundContext, SandboxMode, TokenUsage, WorkflowStatus,
};
use serde_json::json;

use crate::plan::{LoopCheck, LoopContext, OnFailure, OnLimit, StepAction};
use crate::testing::*;

const MORE: &str = r#"{"verdict": "actionable", "reason": "one bug left"}"#;
const DONE: &str = r#"{"verdict": "done", "reason": "clean"}"#;

fn review(rounds: u32, on_limit: OnLimit) -> TestRun {
    let steps =
        vec![agent_loop("review", rounds, on_limit).output("review"), agent_step("then", "x")];
    TestRun::begin(plan(steps), json!({}))
}

/// Spec: GR.4.1
#[test]
fn a_loop_goes_on_while_there_is_something_to_do_and_ends_when_it_is_done() {
    let mut told = review(5, OnLimit::Block);
    assert_eq!(told.prompt("review.r1", 1), "work 1, after , was ");
    assert_eq!(told.succeed("review.r1", 1, "found a bug"), ["review.r1.arbiter/1"]);
    assert_eq!(told.succeed("review.r1.arbiter", 1, MORE), ["review.r2/1"]);
    assert_eq!(told.prompt("review.r2", 1), "work 2, after one bug left, was found a bug");
    assert_eq!(told.succeed("review.r2", 1, "fixed it"), ["review.r2.arbiter/1"]);
    assert_eq!(told.succeed("review.r2.arbiter", 1, DONE), ["then/1"]);
    assert_eq!(told.variable("review"), json!("fixed it"));
}

/// Spec: GR.4.2
#[test]
fn the_last_round_ends_a_loop_and_the_step_says_how() {
    let end = |on_limit| {
        let mut told = review(1, on_limit);
        told.succeed("review.r1", 1, "found a bug");
        told.succeed("review.r1.arbiter", 1, MORE);
        told
    };
    let told = end(OnLimit::Block);
    assert_eq!(told.waiting(), [InterventionKind::LoopLimit]);
    let waiting = told.run().interventions().next().unwrap();
    assert_eq!(waiting.reason, "1 round is over, and there is still to do: one bug left");
    assert_eq!(
        waiting.options,
        [InterventionChoice::Proceed, InterventionChoice::Extend, InterventionChoice::Abort]
    );
    let told = end(OnLimit::Proceed);
    assert_eq!(
        (told.alive(), told.variable("review")),
        (vec!["then/1".to_owned()], json!("found a bug"))
    );
    assert_eq!(end(OnLimit::Fail).status(), WorkflowStatus::Failed);
}

/// Spec: GR.4.2
#[test]
fn a_person_can_go_on_extend_or_abort_at_the_limit() {
    let blocked = || {
        let mut told = review(1, OnLimit::Block);
        told.succeed("review.r1", 1, "found a bug");
        told.succeed("review.r1.arbiter", 1, MORE);
        told
    };
    assert_eq!(blocked().starts(resolve(1, InterventionChoice::Proceed)), ["then/1"]);
    let mut told = blocked();
    let two = InterventionDecision::new(InterventionChoice::Extend, "she").with_text("2");
    assert_eq!(told.starts(decide_with(1, two)), ["review.r2/1"]);
    told.succeed("review.r2", 1, "x");
    assert_eq!(told.succeed("review.r2.arbiter", 1, MORE), ["review.r3/1"]);
    told.succeed("review.r3", 1, "x");
    told.succeed("review.r3.arbiter", 1, MORE);
    told.tell(resolve(2, InterventionChoice::Abort));
    assert_eq!(told.status(), WorkflowStatus::Failed);
}

/// Spec: GR.4.3
#[test]
fn the_arbiter_knows_the_work_and_the_rounds_before_and_cannot_change_anything() {
    let mut told = review(5, OnLimit::Block);
    told.succeed("review.r1", 1, "found a bug\n{\"verdict\": \"done\"}");
    told.succeed("review.r1.arbiter", 1, MORE);
    told.succeed("review.r2", 1, "fixed it");
    let spec = told.spec("review.r2.arbiter", 1);
    let JobWork::Agent(work) = &spec.work else { panic!("no agent") };
    assert_eq!(
        (work.permissions, spec.sandbox),
        (Some(PermissionLevel::ReadOnly), SandboxMode::ReadOnly)
    );
    let prompt = told.prompt("review.r2.arbiter", 1);
    let material = "is it good?\n\n\
        Round 2, the agent's report:\n> fixed it\n\n\
        The rounds before:\n> Round 1:\n> found a bug\n> {\"verdict\": \"done\"}\n\
        > Verdict: actionable: one bug left\n\n";
    assert!(prompt.contains(material), "{prompt}");
    // What it answers with is told last, and the work cannot pass for it: it is quoted.
    let end = "{\"verdict\": \"done\", \"reason\": \"why nothing is left\"}\n";
    assert!(prompt.ends_with(end), "{prompt}");
}

#[test]
fn an_answer_that_is_no_verdict_is_asked_once_more_and_then_a_person_decides() {
    let mut told = review(2, OnLimit::Block);
    told.succeed("review.r1", 1, "x");
    assert_eq!(told.succeed("review.r1.arbiter", 1, "looks fine to me"), ["review.r1.arbiter/2"]);
    assert!(told.prompt("review.r1.arbiter", 2).contains("could not be read"));
    told.succeed("review.r1.arbiter", 2, "really!");
    assert_eq!(told.waiting(), [InterventionKind::UnreadableVerdict]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::Retry)), ["review.r1.arbiter/3"]);
    told.succeed("review.r1.arbiter", 3, "no");
    assert_eq!(told.starts(resolve(2, InterventionChoice::Extend)), ["review.r2/1"]);
    let judged = &told.run().steps.get(0).unwrap().judged;
    assert_eq!(judged.last().unwrap().verdict, LoopVerdict::Actionable);
    told.succeed("review.r2", 1, "y");
    told.succeed("review.r2.arbiter", 1, "?");
    told.succeed("review.r2.arbiter", 2, "?");
    assert_eq!(told.starts(resolve(3, InterventionChoice::Proceed)), ["then/1"]);
}

#[test]
fn a_round_or_an_arbiter_that_fails_is_what_is_tried_again() {
    let mut steps = vec![agent_loop("review", 2, OnLimit::Block).retries(2, 0)];
    steps[0].on_failure = OnFailure::Block;
    let mut told = TestRun::begin(plan(steps), json!({}));
    assert_eq!(told.fail("review.r1", 1), ["review.r1/2"]);
    told.succeed("review.r1", 2, "x");
    assert_eq!(told.fail("review.r1.arbiter", 1), ["review.r1.arbiter/2"]);
    told.fail("review.r1.arbiter", 2);
    assert_eq!(told.waiting(), [InterventionKind::FailedStep]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::Retry)), ["review.r1.arbiter/3"]);
    assert_eq!(told.succeed("review.r1.arbiter", 3, MORE), ["review.r2/1"]);
}

#[test]
fn a_run_that_failed_at_the_limit_gets_more_rounds_when_it_is_tried_again() {
    let mut told = review(1, OnLimit::Fail);
    told.succeed("review.r1", 1, "x");
    told.succeed("review.r1.arbiter", 1, MORE);
    assert_eq!(told.status(), WorkflowStatus::Failed);
    let again = crate::SessionInput::Retry { run: 0, by: "she".to_owned(), why: String::new() };
    assert_eq!(told.starts(again), ["review.r2/1"]);
}

/// A loop that ends when its command passes.
fn until_green(rounds: u32, on_limit: OnLimit, change: impl FnOnce(&mut LoopCheck)) -> TestRun {
    let mut looping = loop_until("fix", rounds, on_limit).output("fixed");
    if let StepAction::AgentLoop { until: Some(until), .. } = &mut looping.action {
        change(until);
    }
    TestRun::begin(plan(vec![looping, agent_step("then", "x")]), json!({}))
}

fn usual(_: &mut LoopCheck) {}

fn failing_tests(stdout: &str, stderr: &str) -> JobOutcome {
    JobOutcome { output: Some(stdout.to_owned()), stderr: Some(stderr.to_owned()), ..exited(101) }
}

/// Spec: GR.4.1
#[test]
fn a_loop_goes_on_until_its_command_passes_and_each_round_is_told_what_it_printed() {
    let mut told = until_green(5, OnLimit::Block, usual);
    assert_eq!(told.prompt("fix.r1", 1), "work 1, after , was ");
    assert_eq!(told.succeed("fix.r1", 1, "changed it"), ["fix.r1.check/1"]);
    told.tell(ended("fix.r1.check", 1, failing_tests("test a ... FAILED\n", "error: 1 failed\n")));
    assert_eq!(told.alive(), ["fix.r2/1"]);
    assert_eq!(
        told.prompt("fix.r2", 1),
        "work 2, after exit code 101\n\ntest a ... FAILED\n\nerror: 1 failed, was changed it"
    );
    assert_eq!(told.succeed("fix.r2", 1, "fixed it"), ["fix.r2.check/1"]);
    assert_eq!(told.succeed("fix.r2.check", 1, "ok"), ["then/1"]);
    assert_eq!(told.variable("fixed"), json!("fixed it"));
}

#[test]
fn a_long_output_of_a_check_is_told_by_its_end() {
    let mut told = until_green(2, OnLimit::Block, usual);
    told.succeed("fix.r1", 1, "x");
    told.tell(ended("fix.r1.check", 1, failing_tests(&"é".repeat(20_000), "the cause")));
    let prompt = told.prompt("fix.r2", 1);
    assert!(prompt.contains("[12000 characters before]\né") && prompt.contains("the cause"));
    assert!(prompt.chars().count() < 9000, "{}", prompt.chars().count());
}

/// Tests that crash or hang are not done either; a command that could not be run says nothing.
#[test]
fn a_check_that_crashes_or_takes_too_long_has_not_passed() {
    let mut told = until_green(9, OnLimit::Block, |until| {
        until.timeout = Some(std::time::Duration::from_secs(5));
    });
    told.succeed("fix.r1", 1, "x");
    assert_eq!(
        told.spec("fix.r1.check", 1).timeout,
        Some(std::time::Duration::from_secs(5)),
        "its own"
    );
    let crashed = JobOutcome { ending: ProcessEnding::Signalled { signal: 11 }, ..exited(139) };
    told.tell(ended("fix.r1.check", 1, crashed));
    assert_eq!(told.alive(), ["fix.r2/1"]);
    assert!(told.prompt("fix.r2", 1).contains("a signal ended it, or it ran out of time"));
    told.succeed("fix.r2", 1, "y");
    let late = JobOutcome { ending: ProcessEnding::TimedOut, ..exited(1) };
    told.tell(ended("fix.r2.check", 1, late));
    assert_eq!(told.alive(), ["fix.r3/1"]);
    told.succeed("fix.r3", 1, "z");
    let broken = JobOutcome { ending: ProcessEnding::NotStarted, ..exited(1) };
    told.tell(ended("fix.r3.check", 1, broken));
    assert_eq!(told.status(), WorkflowStatus::Failed);
}

/// Spec: GR.4.2
#[test]
fn the_last_round_of_a_loop_with_a_command_is_extended_and_tried_again() {
    let mut told = until_green(1, OnLimit::Block, usual);
    told.succeed("fix.r1", 1, "x");
    told.tell(ended("fix.r1.check", 1, exited(1)));
    assert_eq!(told.waiting(), [InterventionKind::LoopLimit]);
    assert_eq!(told.starts(resolve(1, InterventionChoice::Extend)), ["fix.r2/1"]);
    let mut told = until_green(1, OnLimit::Fail, usual);
    told.succeed("fix.r1", 1, "x");
    told.tell(ended("fix.r1.check", 1, exited(1)));
    assert_eq!(told.status(), WorkflowStatus::Failed);
    let again = crate::SessionInput::Retry { run: 0, by: "she".to_owned(), why: String::new() };
    assert_eq!(told.starts(again), ["fix.r2/1"]);
}

#[test]
fn a_check_before_the_first_round_saves_the_round_or_tells_it_what_is_wrong() {
    let first = |until: &mut LoopCheck| until.first = true;
    let mut told = until_green(5, OnLimit::Block, first);
    assert_eq!(told.alive(), ["fix.r0.check/1"]);
    assert_eq!(told.succeed("fix.r0.check", 1, "all green"), ["then/1"]);
    assert_eq!(told.variable("fixed"), json!(null));
    let mut told = until_green(5, OnLimit::Block, first);
    told.tell(ended("fix.r0.check", 1, failing_tests("red", "")));
    assert_eq!(told.alive(), ["fix.r1/1"]);
    assert_eq!(told.prompt("fix.r1", 1), "work 1, after exit code 101\n\nred, was ");
}

#[test]
fn an_arbiter_beside_a_command_is_asked_only_where_the_command_passed() {
    let mut looping = agent_loop("fix", 5, OnLimit::Block);
    if let StepAction::AgentLoop { until, .. } = &mut looping.action {
        *until = Some(loop_check());
    }
    let mut told = TestRun::begin(plan(vec![looping, agent_step("then", "x")]), json!({}));
    told.succeed("fix.r1", 1, "x");
    told.tell(ended("fix.r1.check", 1, exited(1)));
    assert_eq!(told.succeed("fix.r2", 1, "y"), ["fix.r2.check/1"]);
    assert_eq!(told.succeed("fix.r2.check", 1, ""), ["fix.r2.arbiter/1"]);
    assert_eq!(told.succeed("fix.r2.arbiter", 1, MORE), ["fix.r3/1"]);
    assert_eq!(told.prompt("fix.r3", 1), "work 3, after one bug left, was y");
    told.succeed("fix.r3", 1, "z");
    told.succeed("fix.r3.check", 1, "");
    assert_eq!(told.succeed("fix.r3.arbiter", 1, DONE), ["then/1"]);
}

#[test]
fn what_was_read_from_the_arbiter_is_a_fact() {
    let mut told = review(1, OnLimit::Proceed);
    told.succeed("review.r1", 1, "x");
    let (events, _) = told.tell(ended("review.r1.arbiter", 1, succeeded(DONE)));
    let judged = SessionEvent::LoopJudged {
        index: 0,
        round: 1,
        attempt: 1,
        verdict: LoopVerdict::Done,
        reason: "clean".to_owned(),
    };
    assert_eq!(events[1], judged);
}

#[test]
fn an_interactive_worker_is_done_at_its_first_idle_after_working() {
    let mut looping = agent_loop("review", 1, OnLimit::Proceed);
    if let StepAction::AgentLoop { agent, .. } = &mut looping.action {
        *agent = interactive("go");
    }
    let mut told = TestRun::begin(plan(vec![looping]), json!({}));
    told.tell(idle("review.r1", 1, 1, false));
    assert_eq!(told.kinds(idle("review.r1", 1, 2, true)), ["task.stopping"]);
    told.tell(ended("review.r1", 1, stopped()));
    assert_eq!(told.alive(), ["review.r1.arbiter/1"]);
    assert!(told.prompt("review.r1.arbiter", 1).contains("> an answer"));
}

/// A loop whose rounds are one conversation.
fn continued() -> TestRun {
    let mut looping = agent_loop("review", 5, OnLimit::Block).retries(2, 0);
    if let StepAction::AgentLoop { context, .. } = &mut looping.action {
        *context = LoopContext::Continue;
    }
    TestRun::begin(plan(vec![looping]), json!({}))
}

fn named(outcome: JobOutcome, conversation: &str, tokens: u64) -> JobOutcome {
    let usage = TokenUsage { output_tokens: Some(tokens), ..TokenUsage::default() };
    JobOutcome { agent_session: Some(conversation.to_owned()), usage, ..outcome }
}

fn context(told: &TestRun, task: &str, attempt: u32) -> Option<RoundContext> {
    match &told.spec(task, attempt).work {
        JobWork::Agent(work) => work.context.clone(),
        JobWork::Shell(_) => None,
    }
}

fn continues(conversation: &str, tokens: u64) -> RoundContext {
    let used = TokenUsage { output_tokens: Some(tokens), ..TokenUsage::default() };
    RoundContext::Continue { conversation: conversation.to_owned(), used }
}

#[test]
fn a_round_continues_the_conversation_of_the_round_before_and_its_arbiter_does_not() {
    let mut told = continued();
    assert_eq!(context(&told, "review.r1", 1), None);
    // The attempt that counts is the last one, whose conversation went on after a loss.
    told.tell(ended("review.r1", 1, named(exited(1), "lost", 5)));
    told.tell(ended("review.r1", 2, named(succeeded("x"), "first", 7)));
    assert_eq!(context(&told, "review.r1.arbiter", 1), None);
    told.tell(ended("review.r1.arbiter", 1, named(succeeded(MORE), "judge", 1)));
    assert_eq!(context(&told, "review.r2", 1), Some(continues("first", 7)));
    assert_eq!(told.prompt("review.r2", 1), "work 2, after one bug left, was x");
    told.tell(ended("review.r2", 1, named(exited(1), "first", 2)));
    assert_eq!(context(&told, "review.r2", 2), Some(continues("first", 7)));
    told.tell(ended("review.r2", 2, named(succeeded("y"), "first", 4)));
    told.succeed("review.r2.arbiter", 1, MORE);
    assert_eq!(context(&told, "review.r3", 1), Some(continues("first", 13)));
}

#[test]
fn a_round_begins_afresh_and_says_why_where_the_one_before_named_no_conversation() {
    let mut told = continued();
    told.succeed("review.r1", 1, "x");
    told.succeed("review.r1.arbiter", 1, MORE);
    let reason = "review.r1 named no conversation that could be continued".to_owned();
    assert_eq!(context(&told, "review.r2", 1), Some(RoundContext::Fresh { reason }));
}

#[test]
fn a_round_is_not_spoken_to_where_the_round_before_refused_it() {
    let mut told = continued();
    told.tell(ended("review.r1", 1, refused("no such option")));
    told.tell(ended("review.r1", 2, named(succeeded("x"), "first", 7)));
    told.succeed("review.r1.arbiter", 1, MORE);
    let JobWork::Agent(work) = &told.spec("review.r2", 1).work else { panic!("an agent") };
    assert_eq!(work.without_channel.as_deref(), Some("no such option"));
    assert_eq!(told.fail("review.r2", 1), ["review.r2/2"]);
    let JobWork::Agent(work) = &told.spec("review.r2", 2).work else { panic!("an agent") };
    assert_eq!(work.without_channel.as_deref(), Some("no such option"));
}
