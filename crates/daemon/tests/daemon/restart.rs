//! The daemon is killed and comes back: nothing is lost, nothing is done twice.

use coven_api::intervention::Decide;
use coven_model::{Choice, WorkflowStatus};
use serde_json::json;

use crate::support::{Home, until};

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

    // Nobody has to ask for the folder: it is known.
    let daemon = home.daemon().await;
    let again = daemon.asked(&id).await;
    assert_eq!(again.intervention.id, asked.intervention.id);
    assert_eq!(again.intervention.digest, asked.intervention.digest);
    let after = daemon.client.workflow(&id).await.unwrap();
    assert!(after.live && after.last_seq >= before.last_seq);
    assert_eq!(home.running(), alive, "the very same processes");
    let decide = Decide {
        decision: Choice::Approve,
        answer: None,
        digest: again.intervention.digest.clone(),
        why: None,
    };
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
