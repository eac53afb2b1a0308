//! Agents that answer with comments on what others did.

use coven_model::event::SessionEvent;
use coven_model::{PermissionLevel, TaskStatus, TreeId, WorkflowStatus};
use serde_json::{Value, json};

use crate::command::{Command, TreeOrder};
use crate::expect::{ExpectedOutput, comments};
use crate::plan::{AgentSpec, Isolation, OnLimit, PlanStep, StepAction};
use crate::testing::*;

/// The same step whose agents answer with comments and only read.
fn reviewing(mut step: PlanStep) -> PlanStep {
    match &mut step.action {
        StepAction::Agent { agent }
        | StepAction::AgentLoop { agent, .. }
        | StepAction::ParallelAgents { agent, .. } => *agent = reviewer(agent.clone()),
        _ => {}
    }
    step
}

fn reviewer(agent: AgentSpec) -> AgentSpec {
    let permissions = Some(PermissionLevel::ReadOnly);
    AgentSpec { expect: ExpectedOutput::Comments, permissions, ..agent }
}

fn answer(text: &str) -> String {
    json!({"summary": "Nearly.", "comments": [{"path": "a.rs", "line": 3, "text": text}]})
        .to_string()
}

fn no_input() -> Value {
    json!({})
}

/// What was written, as task, attempt, tree, and the texts of the comments.
fn written(told: &TestRun) -> Vec<(String, u32, Option<TreeId>, Vec<String>)> {
    let reviews = told.run().written_reviews().into_iter();
    let one = |review: crate::state::TaskComments| {
        let texts = review.review.comments.into_iter().map(|comment| comment.text).collect();
        (review.job.task.to_string(), review.job.attempt, review.tree, texts)
    };
    reviews.map(one).collect()
}

#[test]
fn an_agent_is_told_the_shape_and_its_answer_is_kept_as_comments() {
    let mut step = reviewing(agent_step("check", "look at it")).output("said").retries(2, 0);
    step.isolation = Some(Isolation::Run);
    let mut after = script_step("after", "true");
    after.isolation = Some(Isolation::Run);
    let mut told = TestRun::begin(plan(vec![step, after]), no_input());
    told.tell(tree_ready(TreeId::Run));
    let prompt = told.prompt("check", 1).to_owned();
    assert!(prompt.starts_with("look at it\n\n") && prompt.ends_with(comments::request()));
    assert_eq!(told.succeed("check", 1, "{\"comments\": [{\"path\": \"/a\"}]}"), ["check/2"]);
    assert_eq!(
        told.run().task(&job("check", 2).task).unwrap().error.as_deref(),
        Some("the answer is no review: `comments[0]` has no `line`")
    );
    assert_eq!(told.prompt("check", 2), prompt);
    assert_eq!(written(&told), []);
    // What it only looked at is kept, so that its lines are known later; nothing begins before.
    let answer = format!("Here:\n```json\n{}\n```\n", answer("why?"));
    let (_, commands) = told.tell(ended("check", 2, succeeded(&answer)));
    let order = TreeOrder::Checkpoint { tree: TreeId::Run, job: job("check", 2), number: 1 };
    assert!(commands.contains(&Command::Tree(order)), "{commands:?}");
    assert_eq!(told.starts(run_checkpoint("check", 2, 1)), ["after/1"]);
    let tree = Some(TreeId::Run);
    assert_eq!(written(&told), [("check".to_owned(), 2, tree, vec!["why?".to_owned()])]);
    assert_eq!(told.variable("said")["comments"][0]["line"], 3);
    assert!(told.run().answers_with_comments("check"));
    assert!(!told.run().answers_with_comments("after") && !told.run().answers_with_comments("x"));
}

#[test]
fn the_last_round_of_a_loop_and_each_item_and_task_have_comments() {
    let mut told = TestRun::begin(
        plan(vec![
            reviewing(agent_loop("turns", 2, OnLimit::Proceed)),
            reviewing(parallel("items", "${input.items}", "look at ${item}", 2)),
        ]),
        json!({"items": ["a", "b"]}),
    );
    told.succeed("turns.r1", 1, &answer("first"));
    assert!(!told.prompt("turns.r1.arbiter", 1).contains(comments::request()));
    told.succeed("turns.r1.arbiter", 1, "{\"verdict\": \"actionable\", \"reason\": \"more\"}");
    told.succeed("turns.r2", 1, &answer("second"));
    told.succeed("turns.r2.arbiter", 1, "{\"verdict\": \"done\", \"reason\": \"fine\"}");
    told.succeed("items.0", 1, &answer("of a"));
    assert_eq!(told.task_status("items.1"), TaskStatus::Running);
    told.succeed("items.1", 1, "{\"comments\": []}");
    let one = |task: &str, text: &str| (task.to_owned(), 1, None, vec![text.to_owned()]);
    let none = ("items.1".to_owned(), 1, None, Vec::new());
    assert_eq!(written(&told), [one("turns.r2", "second"), one("items.0", "of a"), none]);
    assert_eq!(told.status(), WorkflowStatus::Completed);

    let tasks = [("look", reviewer(agent("look"))), ("work", agent("work"))];
    let mut told = TestRun::begin(plan(vec![stage("both", &tasks)]), no_input());
    assert!(told.prompt("look", 1).ends_with(comments::request()));
    assert!(!told.prompt("work", 1).contains(comments::request()));
    told.succeed("look", 1, &answer("x"));
    assert_eq!(written(&told), [one("look", "x")]);
    assert!(told.run().answers_with_comments("look") && told.run().answers_with_comments("both"));
}

#[test]
fn what_an_agent_is_told_last_says_what_its_answer_must_be() {
    let mut agent = reviewer(agent("look"));
    agent.pending_inputs = vec![template("and now?"), template("say it")];
    let told = TestRun::begin(plan(vec![stage("one", &[("look", agent)])]), no_input());
    assert_eq!(told.prompt("look", 1), "look");
    let inputs = told.journal.iter().find_map(|event| match event {
        SessionEvent::TaskStarted(started) => Some(started.inputs.clone()),
        _ => None,
    });
    let inputs = inputs.unwrap();
    assert_eq!((inputs.len(), inputs[0].as_str()), (2, "and now?"));
    assert!(inputs[1].starts_with("say it\n\n") && inputs[1].ends_with(comments::request()));
}
