//! Approvals: asked for, decided once, on record, and the only way to run.

use std::time::Duration;

use coven_runtime::mock::Script;
use coven_scheduler::approval::{ApprovalAudit, ApprovalId, ApprovalVerdict};
use coven_scheduler::clock::Moment;
use coven_scheduler::command::CommandId;
use coven_scheduler::scheduler::IllegalTransition;

use crate::stage::{Stage, line, order, outcomes, succeeded};

const MINUTE: Duration = Duration::from_mins(1);
const MOMENT: Duration = Duration::from_nanos(1);

/// A stage on which command 0 waits for a decision, for a minute.
fn waiting() -> (Stage, ApprovalId) {
    let mut stage = Stage::new(1);
    stage.queue(line(0).needing_approval(Some(MINUTE)), Script::new());
    assert_eq!(stage.settle().len(), 0);
    assert_eq!(stage.domain.spawned().len(), 0, "it does not run before");
    let question = stage.questions()[0];
    (stage, question)
}

fn audit(stage: &Stage, question: ApprovalId) -> ApprovalAudit {
    stage.runtime.board().approvals().audit(question).unwrap().clone()
}

/// Spec: RT.9
#[test]
fn an_approved_command_runs_and_the_trail_says_who_when_and_why() {
    let (mut stage, question) = waiting();
    stage.pass(Duration::from_secs(5));
    stage.runtime.approve(question, "ada", "it is only a test").unwrap();
    assert!(succeeded(&stage.settle_one()));
    let expected = ApprovalAudit {
        approval: question,
        command: CommandId(0),
        verdict: ApprovalVerdict::Approved,
        by: "ada".to_owned(),
        at: Moment::since_1970(Duration::from_secs(5)),
        reason: "it is only a test".to_owned(),
    };
    assert_eq!(audit(&stage, question), expected);
}

/// Spec: RT.9
#[test]
fn a_rejected_command_never_runs() {
    let (mut stage, question) = waiting();
    stage.queue(line(1).after([CommandId(0)]), Script::new());
    stage.runtime.reject(question, "ada", "it deletes everything").unwrap();
    let expected = [
        (0, "rejected by ada: it deletes everything".to_owned()),
        (1, "failed: it depends on command 0, which was rejected".to_owned()),
    ];
    assert_eq!(outcomes(&stage.settle()), expected);
    assert_eq!(stage.domain.spawned().len(), 0);
    assert_eq!(audit(&stage, question).verdict, ApprovalVerdict::Rejected);
}

/// Spec: RT.8, RT.9
#[test]
fn a_command_that_nobody_decides_on_in_time_is_rejected() {
    let (mut stage, question) = waiting();
    assert_eq!(stage.runtime.next_deadline(), Some(Moment::since_1970(MINUTE)));
    stage.pass(MINUTE.saturating_sub(MOMENT));
    assert!(stage.tick().is_quiet());
    stage.pass(MOMENT);
    let result = stage.tick();
    assert_eq!(result.approval_timeouts, [question]);
    let rejected = [(0, "rejected: nobody decided in time".to_owned())];
    assert_eq!(outcomes(&result.completions), rejected);
    let audit = audit(&stage, question);
    assert_eq!((audit.verdict, audit.by.as_str()), (ApprovalVerdict::TimedOut, "deadline"));
    assert_eq!(stage.runtime.next_deadline(), None);
    assert_eq!(stage.domain.spawned().len(), 0);
}

/// Spec: RT.9
#[test]
fn a_decision_after_the_deadline_is_too_late_even_if_nobody_looked_at_the_clock() {
    let (mut stage, question) = waiting();
    stage.pass(MINUTE);
    let late = Err(IllegalTransition::DeadlinePassed(question));
    assert_eq!(stage.runtime.approve(question, "ada", "yes"), late);
    assert_eq!(stage.tick().approval_timeouts, [question]);
}

/// Spec: RT.9
#[test]
fn nothing_is_decided_twice() {
    let (mut stage, question) = waiting();
    stage.runtime.reject(question, "ada", "no").unwrap();
    let decided = Err(IllegalTransition::AlreadyDecided(question));
    assert_eq!(stage.runtime.approve(question, "bob", "yes"), decided);
    assert_eq!(stage.runtime.reject(question, "bob", "no"), decided);
    assert_eq!(audit(&stage, question).by, "ada");
    let unknown = ApprovalId(9);
    let none = Err(IllegalTransition::NoSuchApproval(unknown));
    assert_eq!(stage.runtime.approve(unknown, "ada", "yes"), none);
}

/// Spec: RT.9
#[test]
fn what_the_engine_lets_run_is_on_record_too() {
    let mut stage = Stage::new(1);
    stage.queue(line(0).approved_by("workflow", "step build"), Script::new());
    assert!(succeeded(&stage.settle_one()));
    let approval = stage.runtime.board().command(CommandId(0)).unwrap().approval();
    let audit = audit(&stage, approval);
    assert_eq!((audit.by.as_str(), audit.reason.as_str()), ("workflow", "step build"));
}

/// Spec: RT.9
#[test]
fn requests_are_numbered_in_the_order_they_are_asked() {
    let mut stage = Stage::new(1);
    for id in [7, 8, 9] {
        stage.queue(line(id).needing_approval(None), Script::new());
    }
    assert_eq!(stage.questions(), [ApprovalId(0), ApprovalId(1), ApprovalId(2)]);
    stage.runtime.approve(ApprovalId(2), "ada", "").unwrap();
    assert_eq!(order(&stage.settle()), [9], "and an approval counts for its command alone");
    stage.runtime.approve(ApprovalId(1), "ada", "").unwrap();
    stage.runtime.approve(ApprovalId(0), "ada", "").unwrap();
    assert_eq!(order(&stage.settle()), [7, 8], "approved late, but first in the queue");
    stage.runtime.forget(CommandId(9)).unwrap();
    stage.queue(line(10).needing_approval(None), Script::new());
    assert_eq!(stage.questions(), [ApprovalId(3)]);
}
