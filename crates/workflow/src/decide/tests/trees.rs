//! Tasks in trees of their own.

use std::collections::BTreeSet;

use coven_model::{InterventionChoice, InterventionKind, TreeId, TreeWork, WorkflowStatus};
use serde_json::json;

use crate::command::{Command, TreeOrder};
use crate::plan::{Isolation, LandMode, OnConflict, PlanStep, StepAction};
use crate::testing::*;

fn fan_out() -> PlanStep {
    let mut step = parallel("build", "${input.items}", "do ${item}", 2).output("results");
    step.isolation = Some(Isolation::Auto);
    step
}

/// A run whose trees are there and whose agents work.
fn working(step: PlanStep) -> TestRun {
    let mut told = TestRun::begin(plan(vec![step]), json!({"items": ["a", "b"]}));
    told.tell(tree_ready(TreeId::Run));
    for task in ["build.0", "build.1"] {
        told.tell(tree_ready(tree_of(task)));
    }
    told
}

/// The same when they are done.
fn done(step: PlanStep) -> TestRun {
    let mut told = working(step);
    for task in ["build.0", "build.1"] {
        told.succeed(task, 1, "fine");
        told.tell(tree_checkpoint(task, 1));
    }
    told
}

fn orders(commands: &[Command]) -> Vec<TreeOrder> {
    let order = |command: &Command| match command {
        Command::Tree(order) => Some(order.clone()),
        _ => None,
    };
    commands.iter().filter_map(order).collect()
}

#[test]
fn an_agent_starts_when_its_tree_is_there_and_works_in_it() {
    let mut told = TestRun::begin(plan(vec![fan_out()]), json!({"items": ["a", "b"]}));
    assert_eq!(told.alive(), Vec::<String>::new());
    let (_, commands) = told.tell(tree_ready(TreeId::Run));
    let both = ["build.0", "build.1"].map(|task| TreeOrder::Make(tree_of(task)));
    assert_eq!(orders(&commands), both);
    assert_eq!(told.starts(tree_ready(tree_of("build.1"))), Vec::<String>::new(), "in order");
    assert_eq!(told.starts(tree_ready(tree_of("build.0"))), ["build.0/1", "build.1/1"]);
    let tree = told.spec("build.0", 1).tree.clone().unwrap();
    assert_eq!(tree.path, "/trees/brisk-otter/build.0");
    assert_eq!(tree.branch, "coven/brisk-otter.build.0");
}

#[test]
fn a_tree_that_cannot_be_made_waits_for_a_person_and_is_made_again() {
    let mut told = TestRun::begin(plan(vec![fan_out()]), json!({"items": ["a"]}));
    told.tell(tree_failed(TreeId::Run, TreeWork::Make));
    assert_eq!(told.waiting(), [InterventionKind::TreeProblem]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Retry));
    assert_eq!(orders(&commands), [TreeOrder::Make(TreeId::Run)]);
    assert_eq!(told.waiting(), []);
}

#[test]
fn what_was_done_is_landed_in_the_order_of_the_tasks() {
    let mut told = working(fan_out());
    told.succeed("build.1", 1, "fine");
    told.tell(tree_checkpoint("build.1", 1));
    told.succeed("build.0", 1, "fine");
    let (_, commands) = told.tell(tree_checkpoint("build.0", 1));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("build.0") }]);
    let (_, commands) = told.tell(tree_landed("build.0"));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("build.1") }]);
    let (_, commands) = told.tell(tree_landed("build.1"));
    let gone = ["build.0", "build.1"].map(|task| TreeOrder::Remove { tree: tree_of(task) });
    assert_eq!(orders(&commands), gone);
    told.tell(tree_removed(tree_of("build.0")));
    told.tell(tree_removed(tree_of("build.1")));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    let results = told.variable("results");
    assert_eq!(results[1]["branch"], json!("coven/brisk-otter.build.1"));
    assert_eq!((&results[1]["landed"], &results[1]["changed"]), (&json!(true), &json!(1)));
}

#[test]
fn an_agent_is_told_to_resolve_its_conflict_once_and_then_a_person_is_asked() {
    let mut told = done(PlanStep { on_conflict: Some(OnConflict::Agent), ..fan_out() });
    told.tell(tree_landed("build.0"));
    assert_eq!(told.starts(tree_conflict("build.1")), ["build.1/2"]);
    assert!(told.prompt("build.1", 2).contains("- a.txt"), "{}", told.prompt("build.1", 2));
    told.succeed("build.1", 2, "merged");
    let (_, commands) = told.tell(tree_checkpoint("build.1", 2));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("build.1") }]);
    told.tell(tree_conflict("build.1"));
    assert_eq!(told.waiting(), [InterventionKind::MergeConflict]);
    // A person may give it back once more.
    assert_eq!(told.starts(resolve(1, InterventionChoice::Resolve)), ["build.1/3"]);
}

#[test]
fn trees_that_a_person_does_not_want_landed_stay() {
    let mut told = done(PlanStep { land: Some(LandMode::Ask), ..fan_out() });
    assert_eq!(told.waiting(), [InterventionKind::Landing]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Deny));
    assert_eq!(orders(&commands), [TreeOrder::Remove { tree: TreeId::Run }], "nothing is in it");
    told.tell(tree_removed(TreeId::Run));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    let kept = |tree: &crate::state::TreeRun| tree.kept.is_some();
    assert!(told.run().trees().filter(|tree| tree.tree != TreeId::Run).all(kept));
    assert_eq!(told.variable("results")[0]["landed"], json!(false));
}

#[test]
fn a_conflict_that_may_be_skipped_does_not_stop_the_run() {
    let mut told = done(PlanStep { on_conflict: Some(OnConflict::Skip), ..fan_out() });
    told.tell(tree_conflict("build.0"));
    told.tell(tree_landed("build.1"));
    told.tell(tree_removed(tree_of("build.1")));
    assert_eq!(told.status(), WorkflowStatus::Completed);
    assert_eq!(told.variable("results")[0]["landed"], json!(false));
}

#[test]
fn the_worktree_of_a_loop_is_landed_as_the_loop_says() {
    let looping = || {
        let mut told = TestRun::begin(
            plan(vec![PlanStep {
                isolation: Some(Isolation::Task),
                land: Some(LandMode::Ask),
                on_conflict: Some(OnConflict::Agent),
                commit: Some(template("round ${iteration} of ${previous.output}")),
                ..test_and_mend(5)
            }]),
            json!({}),
        );
        told.tell(tree_ready(TreeId::Run));
        told.tell(tree_ready(tree_of("green")));
        told.fail("green.r1.test", 1);
        told.tell(checkpoint_in(tree_of("green"), "green.r1.test", 1, 1));
        told.succeed("green.r1.mend", 1, "mended");
        told
    };
    let mut told = looping();
    assert_eq!(told.run().commit_message(&tree_of("green")), "round 1 of ");
    told.tell(checkpoint_in(tree_of("green"), "green.r1.mend", 1, 2));
    told.succeed("green.r2.test", 1, "all green");
    told.tell(checkpoint_in(tree_of("green"), "green.r2.test", 1, 3));
    assert_eq!(told.waiting(), [InterventionKind::Landing]);
    let (_, commands) = told.tell(resolve(1, InterventionChoice::Approve));
    assert_eq!(orders(&commands), [TreeOrder::Land { tree: tree_of("green") }]);
    assert_eq!(told.starts(tree_conflict("green")), ["green.r1.mend/2"], "not the command");
}

#[test]
fn a_run_that_is_cancelled_keeps_what_is_in_its_trees() {
    let mut told = working(fan_out());
    told.tell(crate::input::SessionInput::Cancel { by: "mira".to_owned(), why: String::new() });
    for task in ["build.0", "build.1"] {
        told.tell(ended(task, 1, stopped()));
    }
    assert_eq!(told.status(), WorkflowStatus::Running, "what they did is kept first");
    for task in ["build.0", "build.1"] {
        told.tell(tree_checkpoint(task, 1));
    }
    assert_eq!(told.status(), WorkflowStatus::Cancelled);
    assert!(told.run().trees().all(crate::state::TreeRun::is_ready), "no tree goes");
}

/// A step whose agent is tried twice in the tree of the run.
fn retried() -> TestRun {
    let mut step = agent_step("do", "x").retries(2, 0);
    step.isolation = Some(Isolation::Run);
    let mut told = TestRun::begin(plan(vec![step]), json!({}));
    told.tell(tree_ready(TreeId::Run));
    told
}

/// Naive: the next attempt begins at once and writes over what the one before left.
#[test]
fn what_an_attempt_left_is_kept_before_the_next_one_begins() {
    let mut told = retried();
    told.fail("do", 1);
    assert_eq!(told.alive(), Vec::<String>::new());
    assert_eq!(told.starts(run_checkpoint("do", 1, 1)), ["do/2"]);
    // One that cannot be made keeps nothing from going on: all is still in the tree.
    let mut told = retried();
    told.fail("do", 1);
    assert_eq!(told.starts(tree_failed(TreeId::Run, TreeWork::Checkpoint)), ["do/2"]);
}

/// Naive: a checkpoint only where a turn waits for a person, so that turns of a queue are not kept.
#[test]
fn what_each_turn_of_a_queue_left_is_kept() {
    let mut agent = interactive("hi");
    agent.pending_inputs = vec![template("more"), template("and more")];
    let mut step = stage("talk", &[("talk", agent)]);
    step.isolation = Some(Isolation::Run);
    let mut told = TestRun::begin(plan(vec![step]), json!({}));
    told.tell(tree_ready(TreeId::Run));
    told.tell(crate::input::SessionInput::Started(job("talk", 1)));
    for seen in 1..=2 {
        let (_, commands) = told.tell(idle("talk", 1, seen * 10, true));
        let kept = orders(&commands);
        let is_kept = matches!(&kept[..], [TreeOrder::Checkpoint { tree: TreeId::Run, .. }]);
        assert!(is_kept, "turn {seen}: {commands:#?}");
        told.tell(run_checkpoint("talk", 1, seen as u32));
        let (job, number) = (job("talk", 1), seen as u32);
        told.tell(crate::input::SessionInput::Delivered { job, number, seen: seen * 10 + 1 });
    }
    // A message in the middle of a turn: that is over when it has arrived.
    let message = crate::input::SessionInput::Message {
        task: coven_model::TaskId::new("talk").unwrap(),
        text: "stop that".to_owned(),
        by: "mira".to_owned(),
    };
    let (_, commands) = told.tell(message);
    assert_eq!(orders(&commands), []);
    let arrived =
        crate::input::SessionInput::Delivered { job: job("talk", 1), number: 3, seen: 30 };
    let (_, commands) = told.tell(arrived);
    assert!(matches!(&orders(&commands)[..], [TreeOrder::Checkpoint { .. }]), "{commands:#?}");
}

/// Naive: names that differ are different folders, which is not so on every disk.
#[test]
fn names_that_differ_in_upper_and_lower_case_alone_are_apart_on_every_disk() {
    let mut step = stage("both", &["fix", "Fix", "fix-2", "FIX"].map(|task| (task, agent("go"))));
    if let StepAction::Stage { tasks } = &mut step.action {
        for task in tasks {
            task.isolation = Some(Isolation::Task);
        }
    }
    let mut told = TestRun::begin(plan(vec![step]), json!({}));
    told.tell(tree_ready(TreeId::Run));
    let trees: Vec<_> = told.run().trees().collect();
    assert_eq!(trees.len(), 5);
    let lower = |text: &str| text.to_lowercase();
    let paths: BTreeSet<String> = trees.iter().map(|tree| lower(&tree.path)).collect();
    let branches: BTreeSet<String> = trees.iter().map(|tree| lower(&tree.branch)).collect();
    assert_eq!((paths.len(), branches.len()), (5, 5), "{paths:?} {branches:?}");
    let alias = |task: &str| told.run().tree_alias(&tree_of(task));
    assert_eq!((alias("fix"), alias("Fix").as_deref()), (None, Some("Fix-2")));
    assert_eq!(alias("fix-2").as_deref(), Some("fix-2-2"));
    assert_eq!(alias("FIX").as_deref(), Some("FIX-3"));
}

/// Naive: the name of the task as it is, with which git takes neither a branch nor a reference.
#[test]
fn names_that_end_like_a_lock_of_git_have_trees_of_other_names() {
    let names = ["lock", "LOCK", "build.lock", "build-lock", "build.Lock", "padlock", "lock.0"];
    let mut step = stage("both", &names.map(|task| (task, agent("go"))));
    if let StepAction::Stage { tasks } = &mut step.action {
        for task in tasks {
            task.isolation = Some(Isolation::Task);
        }
    }
    let mut told = TestRun::begin(plan(vec![step]), json!({}));
    told.tell(tree_ready(TreeId::Run));
    let alias = |task: &str| told.run().tree_alias(&tree_of(task));
    let known: Vec<Option<String>> = names.iter().map(|name| alias(name)).collect();
    let known: Vec<Option<&str>> = known.iter().map(Option::as_deref).collect();
    let wanted = [
        Some("lock-tree"),
        Some("LOCK-tree-2"),
        Some("build-lock"),
        Some("build-lock-2"),
        Some("build-Lock-3"),
        None,
        None,
    ];
    assert_eq!(known, wanted);
    let branches: Vec<String> = told.run().trees().map(|tree| tree.branch.to_lowercase()).collect();
    let is_lock = |branch: &String| branch.rsplit('.').next() == Some("lock");
    assert!(!branches.iter().any(is_lock), "{branches:?}");
}
