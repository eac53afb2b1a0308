//! Many agents at work while the daemon is killed again and again, at random moments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use coven_api::client::{EventScope, StreamedEvent};
use coven_api::event::EventEnvelope;
use coven_api::workflow::StartWorkflow;
use coven_model::AutoAnswer;
use coven_model::{SessionId, WorkflowStatus};
use serde_json::{Value, json};

use crate::support::{DEADLINE, Home, until};

/// How often the daemon is killed here. `cargo xtask soak` says more.
const KILLS: u32 = 4;
/// How many agents there are here.
const AGENTS: u32 = 6;

fn setting(name: &str, usual: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random and are the same for the same beginning.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// One agent that asks before each of its marks, and takes its time between them.
fn agent(number: u32, marks: u32) -> Value {
    let lines =
        (0..marks).map(|mark| format!("think 0.8\napprove echo {mark} >> marks.{number}\n"));
    let prompt = lines.collect::<String>() + "exit 0";
    json!({
        "id": format!("a{number}"), "adapter": "demo", "permissions": "ask", "prompt": prompt,
    })
}

/// Follows everything from the beginning, through every death, until the session is over.
async fn follow(home_client: coven_api::ApiClient, session: SessionId) -> Vec<EventEnvelope> {
    let mut events = home_client.events(&EventScope::Everything, Some(0));
    let mut facts = Vec::new();
    while let Some(streamed) = events.next().await.unwrap() {
        match streamed {
            StreamedEvent::Event(envelope) => {
                let over = envelope.kind == "workflow.completed" && envelope.workflow_id == session;
                if envelope.seq.is_some() {
                    facts.push(*envelope);
                }
                if over {
                    break;
                }
            }
            StreamedEvent::Gap(gap) => panic!("a gap: {gap:?}"),
            _ => {}
        }
    }
    facts
}

/// Spec: C0.8.2, C1.18.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_outlive_a_daemon_that_dies_again_and_again_and_nothing_is_lost_or_repeated() {
    let (kills, agents) =
        (setting("COVEN_SOAK_KILLS", KILLS), setting("COVEN_SOAK_AGENTS", AGENTS));
    let seed = u64::from(setting("COVEN_SOAK_SEED", std::process::id()));
    eprintln!("{kills} kills, {agents} agents, seed {seed}");
    let mut dice = Dice(seed);
    let home = Home::new();
    std::fs::write(home.config().join("config.yaml"), format!("maxAgents: {agents}\n")).unwrap();
    let mut daemon = home.daemon().await;
    // Enough that they are still at work when the last kill comes.
    let marks = 3 + kills / 3;
    let tasks: Vec<Value> = (0..agents).map(|number| agent(number, marks)).collect();
    let text = json!({"id": "chaos", "stages": [{"id": "s", "tasks": tasks}]}).to_string();
    let start = StartWorkflow { auto: Some(AutoAnswer::Allow), ..daemon.definition(&text) };
    let started = daemon.start(&start).await;
    let id = started.id.to_string();
    let following = tokio::spawn(follow(home.client(), started.id.clone()));
    daemon
        .see(&id, |workflow| {
            workflow.tasks.iter().filter(|task| task.live).count() as u32 == agents
        })
        .await;
    let born: BTreeMap<String, u32> = processes(&home);

    for _ in 0..kills {
        // The moment is chosen by the dice and by nothing that happens.
        tokio::time::sleep(Duration::from_millis(dice.roll(900))).await;
        daemon.kill();
        let alive = processes(&home);
        daemon = home.daemon().await;
        for (job, process) in &alive {
            assert_eq!(born.get(job), Some(process), "{job} is another process");
        }
    }

    assert!(!daemon.client.workflow(&id).await.unwrap().item.status.is_final(), "over too soon");
    // As long as they get on, it may take what it takes.
    let ended = loop {
        let done = marks_of(&home, agents);
        let over = until("the run gets on", || async {
            let workflow = daemon.client.workflow(&id).await.unwrap();
            let over = workflow.item.status.is_final();
            (over || marks_of(&home, agents) > done).then_some(over.then_some(workflow))
        });
        if let Some(workflow) = over.await {
            break workflow;
        }
    };
    assert_eq!(ended.item.status, WorkflowStatus::Completed, "{:#?}", ended.session.errors);
    for number in 0..agents {
        let path = home.base().join(format!("marks.{number}"));
        let expected: String = (0..marks).map(|mark| format!("{mark}\n")).collect();
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected, "marks of agent {number}");
    }
    assert!(ended.tasks.iter().all(|task| task.attempt == 1), "{:#?}", ended.tasks);
    assert_eq!(home.running(), [], "nothing is left");

    let facts = tokio::time::timeout(DEADLINE, following).await.unwrap().unwrap();
    let positions: Vec<u64> = facts.iter().filter_map(|fact| fact.pos).collect();
    assert_eq!(positions.len(), facts.len());
    assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "positions grow");
    let seqs: Vec<u64> = facts.iter().filter_map(|fact| fact.seq).collect();
    let contiguous: Vec<u64> = (1..=ended.last_seq).collect();
    assert_eq!(seqs, contiguous, "every fact once and in order");
    // A daemon may die between the keys and the fact that they were pressed, so what counts is
    // that each question was decided, and decided once.
    let decided: Vec<String> = facts
        .iter()
        .filter(|fact| fact.kind == "workflow.intervention.resolved")
        .map(|fact| fact.data["id"].to_string())
        .collect();
    assert_eq!(decided.iter().collect::<BTreeSet<_>>().len(), decided.len(), "decided once");
    assert_eq!(decided.len() as u32, agents * marks, "each question was decided");
}

/// How many bytes of marks there are.
fn marks_of(home: &Home, agents: u32) -> u64 {
    let size = |number| std::fs::metadata(home.base().join(format!("marks.{number}")));
    (0..agents).filter_map(|number| Some(size(number).ok()?.len())).sum()
}

/// The process of each job that runs now.
fn processes(home: &Home) -> BTreeMap<String, u32> {
    let runs = |path: &Path| !path.with_file_name("exit.json").exists();
    let process = |record: &Value| {
        let pid = record["process"]["pid"].as_u64()?;
        Some((record["job"].as_str()?.to_owned(), u32::try_from(pid).ok()?))
    };
    let spawned = home.spawned();
    let running = spawned.iter().filter(|(path, _)| runs(path));
    running.filter_map(|(_, record)| process(record)).collect()
}
