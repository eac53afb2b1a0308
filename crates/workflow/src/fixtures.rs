//! Journals of older releases fold to the same state for ever.
//!
//! The journals in `tests/fixtures` are never rewritten, and neither is what people are shown of
//! them. Only the digest of the whole state beside it is written anew when the state gets a field.
//! When the facts get a new version, new files are added; `write_the_fixtures` is how these were
//! made.

use std::collections::BTreeSet;
use std::path::PathBuf;

use coven_model::event::{
    InterventionDecision, JobConfinement, JobTimer, KINDS, SessionEvent, TimerPurpose,
};
use coven_model::{ContentDigest, InterventionChoice, ReviewRemark, TreeId, TreeWork};
use serde_json::{Value, json};

use crate::expect::ExpectedOutput;
use crate::input::{QuestionRuling, ScreenObservation, SentReview, SessionInput};
use crate::plan::{Isolation, LandMode, OnFailure, OnLimit, StepAction};
use crate::testing::*;
use crate::view::{SessionViewBuilder, plan_view};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A grimoire with every kind of step that fails, blocks, is tried again and in the end cancelled.
fn grimoire() -> TestRun {
    let mut planning = agent_step("plan", "Split ${input.spec}").output("tasks").retries(2, 100);
    planning.timeout = Some(std::time::Duration::from_mins(1));
    if let StepAction::Agent { agent } = &mut planning.action {
        agent.expect = ExpectedOutput::Json;
    }
    let mut asking = script_step("stat", "git diff \"${input.base}\"").output("stat");
    asking.needs_approval = true;
    let mut last = script_step("never", "x");
    last.on_failure = OnFailure::Continue;
    let steps = vec![
        planning,
        agent_step("skipped", "x").when("${input.really}"),
        parallel("build", "${tasks}", "Do ${item}", 2).output("results"),
        agent_loop("review", 1, OnLimit::Block).output("review"),
        gate("tests", Some("cargo test")),
        gate("ready", None),
        asking,
        last,
        step("talk", StepAction::Agent { agent: interactive("hello") }),
    ];
    let mut told =
        TestRun::begin(plan(steps), json!({"spec": "a.md", "base": "main", "really": false}));
    told.tell(SessionInput::Started(job("plan", 1)));
    let usage = coven_model::TokenUsage { input_tokens: Some(7), ..Default::default() };
    told.tell(SessionInput::Used { job: job("plan", 1), usage });
    told.succeed("plan", 1, "no JSON");
    told.now += 200;
    told.tell(SessionInput::TimerFired(JobTimer {
        job: job("plan", 2),
        purpose: TimerPurpose::Retry,
    }));
    told.succeed("plan", 2, "```json\n[\"a\", {\"b\": [1, 2.5, null]}]\n```");
    told.fail("build.0", 1);
    told.succeed("build.1", 1, "done\n");
    told.tell(resolve(1, InterventionChoice::RetryFailed));
    told.succeed("build.0", 2, "done too");
    told.succeed("review.r1", 1, "a finding");
    told.succeed("review.r1.arbiter", 1, "hm");
    told.succeed("review.r1.arbiter", 2, r#"{"verdict": "actionable", "reason": "one left"}"#);
    told.tell(decide_with(
        2,
        InterventionDecision::new(InterventionChoice::Extend, "she").with_text("1"),
    ));
    told.succeed("review.r2", 1, "none");
    told.succeed("review.r2.arbiter", 1, r#"{"verdict": "done", "reason": "clean"}"#);
    told.fail("tests", 1);
    told.tell(resolve(3, InterventionChoice::Abort));
    told.tell(SessionInput::Retry { run: 1, by: "she".to_owned(), why: "fixed".to_owned() });
    told.succeed("tests", 2, "ok");
    told.tell(resolve(4, InterventionChoice::Approve));
    told.tell(resolve(5, InterventionChoice::Approve));
    told.succeed("stat", 1, "3 files\n");
    told.fail("never", 1);
    told.tell(asks("talk", 1, 1, "Allow?"));
    told.tell(SessionInput::Cancel { by: "she".to_owned(), why: "enough".to_owned() });
    told.tell(ended("talk", 1, stopped()));
    told.tell(SessionInput::Delete { by: "she".to_owned() });
    told
}

/// Stages with agents that ask, are told more, and stay.
fn stages() -> TestRun {
    let mut queued = interactive("hi");
    queued.pending_inputs = vec![template("one")];
    let mut kept = interactive("hi");
    kept.keep_alive = true;
    let stages = vec![
        stage("first", &[("a", queued), ("b", kept), ("c", agent("x"))]),
        stage("second", &[("d", interactive("y"))]),
    ];
    let mut told = TestRun::begin(plan(stages), json!({}));
    told.tell(asks("a", 1, 1, "Allow rm?"));
    told.tell(resolve(1, InterventionChoice::Approve));
    told.tell(SessionInput::Stale {
        intervention: intervention(1),
        reason: "it changed".to_owned(),
        pressed: false,
    });
    told.tell(asks("a", 1, 2, "Allow ls?"));
    told.tell(decide_with(
        2,
        InterventionDecision::new(InterventionChoice::Deny, "policy").with_text("no"),
    ));
    told.tell(SessionInput::Answered { intervention: intervention(2), seen: 3 });
    if let SessionInput::Observed {
        job, what: ScreenObservation::Awaiting { question, .. }, ..
    } = asks("a", 1, 4, "Allow cat?")
    {
        let decision = InterventionDecision::new(InterventionChoice::Approve, "policy: reads");
        let what = ScreenObservation::Awaiting {
            question,
            ruling: QuestionRuling::Decided(Box::new(decision)),
        };
        told.tell(SessionInput::Observed { job, seen: 4, what });
    }
    told.tell(asks("b", 1, 1, "Trust?"));
    told.tell(SessionInput::Observed {
        job: job("b", 1),
        seen: 2,
        what: ScreenObservation::Working,
    });
    told.tell(SessionInput::Typed {
        job: job("b", 1),
        text: "psst".to_owned(),
        by: "she".to_owned(),
    });
    told.tell(idle("b", 1, 3, true));
    told.tell(resolve(5, InterventionChoice::Complete));
    told.fail("c", 1);
    told.tell(idle("a", 1, 5, true));
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 6 });
    told.tell(idle("a", 1, 7, true));
    told.tell(ended("a", 1, stopped()));
    told.tell(ended("b", 1, exited(0)));
    told.tell(resolve(6, InterventionChoice::Proceed));
    told.tell(SessionInput::Complete { task: job("d", 1).task, by: "she".to_owned() });
    told.tell(ended("d", 1, stopped()));
    told
}

/// An arbiter that nothing confines, and that changed something.
fn exposed() -> TestRun {
    let mut told = TestRun::begin(plan(vec![agent_loop("review", 1, OnLimit::Block)]), json!({}));
    told.succeed("review.r1", 1, "a finding");
    let arbiter = "review.r1.arbiter";
    let reason = "the kernel has no Landlock".to_owned();
    told.tell(SessionInput::Exposed { job: job(arbiter, 1), reason });
    let outcome = coven_model::JobOutcome {
        touched: vec!["a.txt (mode 644 to 777)".to_owned()],
        ..succeeded(r#"{"verdict": "done", "reason": "clean"}"#)
    };
    told.tell(ended(arbiter, 1, outcome));
    told
}

/// An arbiter that is confined.
fn confined() -> TestRun {
    let mut told = TestRun::begin(plan(vec![agent_loop("review", 1, OnLimit::Block)]), json!({}));
    told.succeed("review.r1", 1, "a finding");
    let confinement = JobConfinement {
        by: "Landlock 7".to_owned(),
        open: vec!["sockets that are files".to_owned(), "UDP".to_owned()],
        compared: Some("the metadata of 3 files before and after".to_owned()),
    };
    let arbiter = job("review.r1.arbiter", 1);
    told.tell(SessionInput::Confined { job: arbiter, confinement: Box::new(confinement) });
    told.succeed("review.r1.arbiter", 1, r#"{"verdict": "done", "reason": "clean"}"#);
    told
}

/// A run that is imported from somebody else.
fn imported() -> TestRun {
    let mut told =
        TestRun::begin(plan(vec![agent_step("a", "one"), agent_step("b", "two")]), json!({}));
    told.succeed("a", 1, "done");
    let at = coven_model::Timestamp::from_millis(told.now);
    told.record(SessionEvent::SessionImported { vouched: false, repository: None, at });
    told.succeed("b", 1, "done");
    told
}

/// A headless agent that asks in its own protocol and is told more.
fn conversation() -> TestRun {
    let mut asking = agent("hi");
    asking.pending_inputs = vec![template("one")];
    let mut told = TestRun::begin(plan(vec![stage("first", &[("a", asking)])]), json!({}));
    told.tell(SessionInput::Speaks { job: job("a", 1), channel: "acp".to_owned(), fallback: None });
    told.tell(asks("a", 1, 1, "Allow rm?"));
    told.tell(resolve(1, InterventionChoice::Approve));
    told.tell(SessionInput::Answered { intervention: intervention(1), seen: 2 });
    told.tell(idle("a", 1, 3, true));
    told.tell(SessionInput::Delivered { job: job("a", 1), number: 1, seen: 4 });
    told.tell(idle("a", 1, 5, true));
    told.succeed("a", 1, "done");
    told
}

/// Two agents in trees of their own, one of which conflicts and is left, after a tree that could not
/// be made at first.
fn teamwork() -> TestRun {
    let mut steps = vec![parallel("build", "${input.items}", "${item}", 2)];
    steps[0].isolation = Some(Isolation::Auto);
    let mut told = TestRun::begin(plan(steps), json!({"items": ["a", "b"]}));
    told.tell(tree_failed(TreeId::Run, TreeWork::Make));
    told.tell(resolve(1, InterventionChoice::Retry));
    told.tell(tree_ready(TreeId::Run));
    for task in ["build.0", "build.1"] {
        told.tell(tree_ready(tree_of(task)));
    }
    for task in ["build.0", "build.1"] {
        told.succeed(task, 1, "done");
        told.tell(tree_checkpoint(task, 1));
    }
    told.tell(tree_landed("build.0"));
    told.tell(tree_conflict("build.1"));
    told.tell(resolve(2, InterventionChoice::Skip));
    told.tell(tree_removed(tree_of("build.0")));
    told
}

/// A checkpoint of a run that is over is brought back, and its agent was given a review.
fn reviewed() -> TestRun {
    let mut told = teamwork();
    told.tell(SessionInput::Reviewed(Box::new(SentReview {
        job: job("build.1", 1),
        comments: vec![ReviewRemark {
            path: "a.txt".to_owned(),
            old: false,
            line: 2,
            end_line: Some(3),
            text: "why twice?".to_owned(),
        }],
        summary: Some("close".to_owned()),
        prompt: None,
        run: None,
        by: "mira".to_owned(),
    })));
    told.tell(tree_restored("build.1", 1));
    told.tell(tree_ready(tree_of("build.1.restored1")));
    told
}

/// A review that no agent is there for: another attempt begins with it.
fn reviewed_again() -> TestRun {
    let mut step = parallel("build", "${input.items}", "do ${item}", 1);
    step.isolation = Some(Isolation::Auto);
    step.land = Some(LandMode::Ask);
    let mut told = TestRun::begin(plan(vec![step]), json!({"items": ["a"]}));
    told.tell(tree_ready(TreeId::Run));
    told.tell(tree_ready(tree_of("build.0")));
    told.succeed("build.0", 1, "fine");
    told.tell(tree_checkpoint("build.0", 1));
    told.tell(SessionInput::Reviewed(Box::new(SentReview {
        job: job("build.0", 2),
        comments: Vec::new(),
        summary: Some("close".to_owned()),
        prompt: Some("This is a review of your changes.\n\nclose\n".to_owned()),
        run: None,
        by: "mira".to_owned(),
    })));
    told
}

/// The readable side of a journal, and the digest of the state it folds to.
fn shown(journal: &[SessionEvent]) -> Value {
    let state = replay(journal);
    let mut viewer = SessionViewBuilder::default();
    for event in journal {
        viewer.record(coven_model::Timestamp::default(), event);
    }
    let text = serde_json::to_string(&state).unwrap();
    json!({
        "session": viewer.session(&state),
        "plan": state.run().map(plan_view),
        "state": ContentDigest::of_bytes(text.as_bytes()),
    })
}

fn read(name: &str) -> Vec<SessionEvent> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn journals_of_the_first_version_fold_to_the_same_state_for_ever() {
    let mut kinds = BTreeSet::new();
    for name in [
        "journal-v1",
        "journal-v1-stages",
        "journal-v1-exposed",
        "journal-v1-confined",
        "journal-v1-imported",
        "journal-v1-channel",
        "journal-v1-trees",
        "journal-v1-review",
        "journal-v1-review-attempt",
    ] {
        let journal = read(&format!("{name}.jsonl"));
        kinds.extend(journal.iter().map(|event| event.kind().to_owned()));
        let expected = std::fs::read_to_string(path(&format!("{name}.json"))).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(shown(&journal), expected, "{name}");
    }
    // Every type of fact is in them.
    assert_eq!(kinds, KINDS.iter().copied().map(str::to_owned).collect());
}

#[test]
#[ignore = "writes files; only for a new version of the facts"]
fn write_the_fixtures() {
    let all = [
        ("journal-v1", grimoire()),
        ("journal-v1-stages", stages()),
        ("journal-v1-exposed", exposed()),
        ("journal-v1-confined", confined()),
        ("journal-v1-imported", imported()),
        ("journal-v1-channel", conversation()),
        ("journal-v1-trees", teamwork()),
        ("journal-v1-review", reviewed()),
        ("journal-v1-review-attempt", reviewed_again()),
    ];
    // Those that are there stay as they are.
    let is_new = |name: &str| !path(&format!("{name}.jsonl")).exists();
    for (name, told) in all.into_iter().filter(|(name, _)| is_new(name)) {
        let lines = told.journal.iter().map(|event| serde_json::to_string(event).unwrap() + "\n");
        std::fs::create_dir_all(path("")).unwrap();
        std::fs::write(path(&format!("{name}.jsonl")), lines.collect::<String>()).unwrap();
        let shown = serde_json::to_string_pretty(&shown(&told.journal)).unwrap() + "\n";
        std::fs::write(path(&format!("{name}.json")), shown).unwrap();
    }
}
