//! Many agents at once, all flooding and asking: every question is seen once.

use std::sync::Arc;

use coven_model::{InterventionChoice, PermissionLevel};
use coven_runner::{AgentRunner, AgentTask, AnswerAction, Message, RunnerEvent, RunnerUpdate};

use crate::support::{DEADLINE, Home, demo};

/// Follows one agent to the end of its turn and says how many questions it asked.
async fn answer_all(home: &Home, name: usize, questions: usize) -> usize {
    let ask = "flood 60000; think 0.02; approve echo x >> $COVEN_JOB.log";
    let prompt = format!("repeat {questions}; {ask}");
    let mut task = AgentTask::interactive(format!("swarm-{name}"), Some(&prompt));
    task.permission = Some(PermissionLevel::Ask);
    let runner = AgentRunner::start(demo(), task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    let mut seen = Vec::new();
    loop {
        match events.next().await.unwrap() {
            RunnerUpdate::Event(RunnerEvent::Awaiting(question)) => {
                assert!(!seen.contains(&question.digest), "seen twice");
                seen.push(question.digest.clone());
                runner
                    .answer(question.digest, AnswerAction::Choose(InterventionChoice::Approve))
                    .await
                    .unwrap();
            }
            RunnerUpdate::Event(RunnerEvent::TurnEnded { .. }) => break,
            _ => {}
        }
    }
    // Whatever the flood did to the screen, the agent is still one that can be talked to.
    runner.send(Message::new("say over")).await.unwrap();
    runner.stop().await.unwrap();
    seen.len()
}

/// Spec: C0.10.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_flooding_agents_every_question_is_seen_once_and_answered_once() {
    const AGENTS: usize = 6;
    const QUESTIONS: usize = 6;
    let home = Arc::new(Home::new());
    let all = everybody(&home, AGENTS, QUESTIONS);
    let counts = tokio::time::timeout(DEADLINE, all).await.expect("all should be done by now");
    assert_eq!(counts, [QUESTIONS; AGENTS]);
    for name in 0..AGENTS {
        let log = home.path().join(format!("swarm-{name}.log"));
        let runs = std::fs::read_to_string(log).unwrap();
        assert_eq!(runs.lines().count(), QUESTIONS, "each command ran exactly once");
    }
}

async fn everybody(home: &Arc<Home>, agents: usize, questions: usize) -> Vec<usize> {
    let mut all = Vec::new();
    for name in 0..agents {
        let home = home.clone();
        all.push(tokio::spawn(async move { answer_all(&home, name, questions).await }));
    }
    let mut counts = Vec::new();
    for agent in all {
        counts.push(agent.await.unwrap());
    }
    counts
}
