//! Agents that ask in their own protocols while the daemon is killed: every answer reaches the agent
//! that asked, and reaches it once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_api::intervention::{DecideRequest, InterventionQuery, InterventionState};
use coven_model::{InterventionChoice, WorkflowStatus};
use coven_testkit::programs::TestProgram;
use coven_testkit::random::Random;
use serde_json::json;

use crate::support::{Daemon, Home, until};

/// How often the daemon is killed here: twice for each recording. `cargo xtask soak` says more.
const KILLS: u64 = 12;

/// How long after an answer the daemon is killed at most.
const LATEST_KILL: usize = 30_000;

/// What real agents said, and the protocol of each.
const RECORDINGS: [(&str, &str); 6] = [
    ("claude-stdio-allow", "claude-stdio"),
    ("codex-app-server-accept", "codex-app-server"),
    ("gemini-acp", "acp"),
    ("qwen-acp", "acp"),
    ("copilot-acp", "acp"),
    ("opencode-acp", "acp"),
];

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// An adapter for each recording.
fn write_adapters(home: &Home) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/channels");
    for (recording, kind) in RECORDINGS {
        let path = fixtures.join(format!("{recording}.jsonl")).canonicalize().unwrap();
        let config = json!({
            "schemaVersion": 1,
            "command": TestProgram::Recorded.path(),
            "modes": {"headless": {"transcript": "text"}},
            "permissions": {"ask": []},
            "channel": {"kind": kind, "baseArgs": [path], "options": {"approve": "proceed_once"}},
        });
        let folder = home.config().join("adapters").join(recording);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    }
}

/// When the daemon is killed.
#[derive(Debug)]
enum KillMoment {
    /// Before anything is answered.
    WhileItAsks,
    /// So long after an answer was asked for, whether it was given by then or not.
    AfterTheAnswer(Duration),
}

async fn decide(daemon: &Daemon<'_>, id: &str) {
    let query =
        InterventionQuery { state: Some(InterventionState::Open), workflow: Some(id.to_owned()) };
    for asked in daemon.client.interventions(&query).await.unwrap().interventions {
        let digest = asked.intervention.digest.clone();
        let approve = DecideRequest::new(InterventionChoice::Approve, digest);
        // One that was decided before the daemon died is refused now.
        drop(daemon.client.decide(&asked.intervention.id, &approve).await);
    }
}

/// Spec: C0.8.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_is_open_when_the_daemon_is_killed_is_answered_once() {
    let kills = setting("COVEN_SOAK_KILLS").unwrap_or(KILLS);
    let seed = setting("COVEN_SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("{kills} kills, seed {seed}");
    let mut random = Random::new(seed);
    let home = Home::new();
    write_adapters(&home);
    let mut daemon = home.daemon().await;
    for kill in 0..kills {
        let (recording, _) = RECORDINGS[usize::try_from(kill).unwrap() % RECORDINGS.len()];
        let answers = home.base().join(format!("answers.{kill}"));
        let task = json!({
            "id": "a", "adapter": recording, "executionMode": "headless", "permissions": "ask",
            "prompt": "please", "extraArgs": [answers],
        });
        let started = daemon.stage(&[task]).await;
        let id = started.id.to_string();
        daemon.asked(&id).await;
        let moment = if (kill / RECORDINGS.len() as u64).is_multiple_of(2) {
            KillMoment::WhileItAsks
        } else {
            let micros = random.below(LATEST_KILL) as u64;
            KillMoment::AfterTheAnswer(Duration::from_micros(micros))
        };
        if let KillMoment::AfterTheAnswer(delay) = moment {
            // Whether the answer is given before the end is decided by the moment alone.
            drop(tokio::time::timeout(delay, decide(&daemon, &id)).await);
        }
        daemon.kill();
        daemon = home.daemon().await;
        let what = format!("{recording}, killed {moment:?}, seed {seed}");
        let status = until(&what, || async {
            decide(&daemon, &id).await;
            let status = daemon.client.workflow(&id).await.unwrap().item.status;
            status.is_final().then_some(status)
        });
        assert_eq!(status.await, WorkflowStatus::Completed, "{what}");
        assert_answered_once(&answers, &what);
    }
    assert_eq!(home.running(), [], "nothing is left");
}

fn assert_answered_once(answers: &PathBuf, what: &str) {
    let given = std::fs::read_to_string(answers).unwrap();
    let given: Vec<&str> = given.lines().collect();
    assert_eq!(given.len(), 1, "{what}: {given:#?}");
    let yes = ["\"allow\"", "\"accept\"", "\"selected\""];
    assert!(yes.iter().any(|word| given[0].contains(word)), "{what}: {given:?}");
}
