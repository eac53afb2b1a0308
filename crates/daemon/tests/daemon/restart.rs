//! The daemon is killed and comes back: nothing is lost, nothing is done twice.

use coven_api::intervention::{DecideRequest, InterventionQuery};
use coven_api::workflow::ActionRequest;
use coven_api::{ApiClient, ClientError, ProblemCode};
use coven_model::{InterventionChoice, WorkflowStatus};
use serde_json::json;

use crate::support::{Daemon, Home, code, until};

#[tokio::test]
async fn a_killed_daemon_comes_back_to_the_same_agent_and_the_same_question() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let started = daemon
        .stage(&[json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"})])
        .await;
    let id = started.id.to_string();
    let asked = daemon.asked(&id).await;
    let before = daemon.client.workflow(&id).await.unwrap();
    let alive = home.running();
    assert!(!alive.is_empty());
    daemon.kill();
    assert_eq!(home.running(), alive, "its death kills no agent");

    // No request has to name the folder: the daemon remembers it.
    let daemon = home.daemon().await;
    let again = daemon.asked(&id).await;
    assert_eq!(again.intervention.id, asked.intervention.id);
    assert_eq!(again.intervention.digest, asked.intervention.digest);
    let after = daemon.client.workflow(&id).await.unwrap();
    assert!(after.live && after.last_seq >= before.last_seq);
    assert_eq!(home.running(), alive, "the very same processes");
    let decide = DecideRequest::new(InterventionChoice::Approve, again.intervention.digest.clone());
    daemon.client.decide(&again.intervention.id, &decide).await.unwrap();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(home.base().join("made.txt").exists());
    assert_eq!(home.running(), []);
}

#[tokio::test]
async fn a_daemon_that_is_killed_again_and_again_repeats_no_step() {
    let home = Home::new();
    let text = "name: count\ndescription: x\nsteps:\n".to_owned()
        + &(0..8)
            .map(|step| {
                format!("  - {{name: s{step}, type: script, command: 'echo {step} >> count; sleep 0.2'}}\n")
            })
            .collect::<String>();
    let mut daemon = home.daemon().await;
    let id = daemon.start(&daemon.definition(&text)).await.id.to_string();
    for step in 1..6 {
        daemon
            .see(&id, |workflow| {
                workflow.plan.rows.iter().filter(|row| row.status == "completed").count() >= step
            })
            .await;
        daemon.kill();
        daemon = home.daemon().await;
    }
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let count = std::fs::read_to_string(home.base().join("count")).unwrap();
    assert_eq!(count, "0\n1\n2\n3\n4\n5\n6\n7\n");
}

#[tokio::test]
async fn a_request_that_was_cut_off_and_is_repeated_makes_one_session() {
    let home = Home::new();
    let text = "name: x\ndescription: x\nsteps:\n  - {name: a, type: script, command: 'echo $MARK >> count'}\n";
    let mut daemon = home.daemon().await;
    for round in 0..6_u32 {
        let (key, mut start) = (format!("key-{round}"), daemon.definition(text));
        start.env.as_mut().unwrap().insert("MARK".to_owned(), round.to_string());
        let (client, request, name) = (daemon.client.clone(), start.clone(), key.clone());
        let asking = tokio::spawn(async move { client.start(&request, Some(&name)).await });
        // Sometimes before it was read, sometimes when it runs already.
        for _ in 0..round * 40 {
            tokio::task::yield_now().await;
        }
        if round % 2 == 0 {
            let sessions = home.base().join(".coven/sessions");
            until("a session is being made", || {
                let made = std::fs::read_dir(&sessions).map_or(0, |entries| {
                    let ids = entries.flatten().filter(|entry| entry.path().is_dir());
                    ids.filter(|entry| entry.file_name() != ".trash").count()
                });
                std::future::ready((made > round as usize).then_some(()))
            })
            .await;
        }
        daemon.kill();
        let first = asking.await.unwrap();
        daemon = home.daemon().await;
        let again = daemon.client.start(&start, Some(&key)).await.unwrap();
        if let Ok(first) = first {
            assert_eq!((first.id, true), (again.id.clone(), again.repeated));
        }
        daemon.ends(again.id.as_str(), WorkflowStatus::Completed).await;
        let page =
            daemon.client.workflows(&coven_api::workflow::ListQuery::default()).await.unwrap();
        assert_eq!(page.total, u64::from(round) + 1);
    }
    let count = std::fs::read_to_string(home.base().join("count")).unwrap();
    assert_eq!(count, "0\n1\n2\n3\n4\n5\n");
}

/// A call that changes something.
#[derive(Clone, Copy, Debug)]
enum Call {
    Approve,
    Complete,
    Cancel,
    Retry,
    Purge,
}

impl Call {
    const ALL: [Self; 5] = [Self::Approve, Self::Complete, Self::Cancel, Self::Retry, Self::Purge];

    /// A session in which it can be made.
    async fn prepare(self, daemon: &Daemon<'_>, round: usize) -> String {
        let agent = |prompt: String| json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": prompt});
        match self {
            Self::Approve => {
                let prompt = format!("approve echo x >> approved.{round}\nexit 0");
                let id = daemon.stage(&[agent(prompt)]).await.id.to_string();
                daemon.asked(&id).await;
                id
            }
            Self::Complete | Self::Cancel => {
                let id = daemon.stage(&[agent("say hello".to_owned())]).await.id.to_string();
                daemon.asked(&id).await;
                id
            }
            Self::Retry => {
                let text = format!(
                    "name: r\ndescription: x\nsteps:\n  - {{name: s, type: script, command: 'test -e go.{round} && echo x >> retried.{round}'}}\n"
                );
                let id = daemon.start(&daemon.definition(&text)).await.id.to_string();
                daemon.ends(&id, WorkflowStatus::Failed).await;
                std::fs::write(daemon.home.base().join(format!("go.{round}")), "").unwrap();
                id
            }
            Self::Purge => {
                let text =
                    "name: p\ndescription: x\nsteps:\n  - {name: s, type: script, command: echo}\n";
                let id = daemon.start(&daemon.definition(text)).await.id.to_string();
                daemon.ends(&id, WorkflowStatus::Completed).await;
                id
            }
        }
    }

    /// Makes it. Whatever it finds done already is no failure.
    async fn make(self, client: &ApiClient, id: &str) -> Result<(), ClientError> {
        let done = match self {
            Self::Approve => {
                let query = InterventionQuery { workflow: Some(id.to_owned()), state: None };
                match client.interventions(&query).await?.interventions.into_iter().next() {
                    Some(item) => {
                        let decide = DecideRequest::new(
                            InterventionChoice::Approve,
                            item.intervention.digest.clone(),
                        );
                        client.decide(&item.intervention.id, &decide).await.map(drop)
                    }
                    None => Ok(()),
                }
            }
            Self::Complete => client.complete(id, "a").await,
            Self::Cancel => client.cancel(id, &ActionRequest::default()).await.map(drop),
            Self::Retry => client.retry(id, &ActionRequest::default()).await.map(drop),
            Self::Purge => client.purge(id).await,
        };
        match done {
            Err(ClientError::Problem(problem)) if matches!(problem.status, 404 | 409) => Ok(()),
            other => other,
        }
    }

    /// What must be so in the end, however often it was made.
    async fn check(self, daemon: &Daemon<'_>, id: &str, round: usize) {
        let written = |name: &str| {
            std::fs::read_to_string(daemon.home.base().join(format!("{name}.{round}"))).unwrap()
        };
        match self {
            Self::Approve => {
                daemon.ends(id, WorkflowStatus::Completed).await;
                assert_eq!(written("approved"), "x\n");
            }
            Self::Complete => drop(daemon.ends(id, WorkflowStatus::Completed).await),
            Self::Cancel => drop(daemon.ends(id, WorkflowStatus::Cancelled).await),
            Self::Retry => {
                daemon.ends(id, WorkflowStatus::Completed).await;
                assert_eq!(written("retried"), "x\n");
            }
            Self::Purge => {
                assert_eq!(code(daemon.client.workflow(id).await), ProblemCode::WorkflowNotFound);
            }
        }
    }
}

#[tokio::test]
async fn a_daemon_killed_in_the_middle_of_a_call_did_it_or_did_not_and_it_can_be_made_again() {
    let home = Home::new();
    let mut daemon = home.daemon().await;
    for round in 0..4 {
        for call in Call::ALL {
            let id = call.prepare(&daemon, round).await;
            let (client, of) = (daemon.client.clone(), id.clone());
            let calling = tokio::spawn(async move { call.make(&client, &of).await });
            // Sometimes before it was read, sometimes when it is done already.
            for _ in 0..round * 60 {
                tokio::task::yield_now().await;
            }
            if round == 3 {
                calling.await.unwrap().ok();
            } else {
                daemon.kill();
                calling.await.unwrap().ok();
                daemon = home.daemon().await;
            }
            call.make(&daemon.client, &id)
                .await
                .unwrap_or_else(|error| panic!("{call:?}: {error}"));
            call.check(&daemon, &id, round).await;
        }
    }
    assert_eq!(home.running(), []);
}
