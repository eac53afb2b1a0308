//! Opening one base directory never makes another wait.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use coven_api::system::{OpenBaseDir, SetTrust};
use coven_api::workflow::{ListQuery, StartWorkflow, WorkflowDefinition};
use coven_service::{Service, ServiceConfig};

use crate::{folder, service, service_with};

/// How long a request that waits for nothing may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

const HELD: &str =
    "name: held\ndescription: H.\nsteps:\n  - {name: say, type: script, command: echo hello}\n";

/// A session that has not begun, so that no program is needed to hold its jobs.
async fn hold(service: &Service, base_dir: &str) -> String {
    let definition = WorkflowDefinition { name: "held.yaml".to_owned(), text: HELD.to_owned() };
    let start = StartWorkflow {
        definition: Some(definition),
        base_dir: Some(base_dir.to_owned()),
        hold: true,
        ..StartWorkflow::default()
    };
    service.start(start, None).await.unwrap().id.to_string()
}

/// Lets the policy of a folder be a pipe, so that opening the folder blocks until it is written to.
async fn with_slow_policy(service: &Service, base_dir: &str) {
    let coven = Path::new(base_dir).join(".coven");
    std::fs::create_dir_all(&coven).unwrap();
    let made = Command::new("mkfifo").arg(coven.join("policy.yaml")).status().unwrap();
    assert!(made.success());
    let trust = service.trust(Some(base_dir.to_owned())).await.unwrap();
    let (base_dir, digest) = (base_dir.to_owned(), trust.digest);
    let set = SetTrust { base_dir, trusted: true, digest, owners: None };
    service.set_trust(set).await.unwrap();
}

/// One thread serves all requests here, so whatever blocks it would hold up every one of them.
#[tokio::test]
async fn a_base_directory_that_hangs_while_it_is_opened_holds_up_no_other() {
    let home = tempfile::tempdir().unwrap();
    let service = service(home.path());
    let (slow, other) = (folder(home.path(), "slow"), folder(home.path(), "other"));
    let session = hold(&service, &other).await;
    with_slow_policy(&service, &slow).await;

    let (served, unblock) = mpsc::sync_channel::<()>(1);
    let pipe = Path::new(&slow).join(".coven/policy.yaml");
    let writer = std::thread::spawn(move || {
        // Should the one thread that serves be blocked, this ends that, and the test fails.
        unblock.recv_timeout(2 * DEADLINE).ok();
        let file = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        // A pipe without a word in it is no policy; reading it again would hang again.
        std::fs::remove_file(&pipe).unwrap();
        drop(file);
    });
    let opening = tokio::spawn({
        let (service, open) = (service.clone(), OpenBaseDir { base_dir: slow });
        async move { service.open_base_dir(&open).await }
    });
    let requests = async {
        while service.status().await.base_dirs.len() < 2 {
            tokio::task::yield_now().await;
        }
        // By its id, by its name and by the beginning of its id: all folders are asked for these.
        let shown = service.show(&session).await.unwrap();
        service.show(&shown.item.name).await.unwrap();
        service.show(&session[..session.len() - 1]).await.unwrap();
        let query = ListQuery { base_dir: Some(other.clone()), ..ListQuery::default() };
        assert_eq!(service.list(&query).await.unwrap().workflows.len(), 1);
        hold(&service, &other).await;
        assert_eq!(service.list(&ListQuery::default()).await.unwrap().workflows.len(), 2);
        service.trust(Some(other.clone())).await.unwrap();
        service.status().await;
    };
    let answered = tokio::time::timeout(DEADLINE, requests).await.is_ok();
    let was_slow = !opening.is_finished();
    served.send(()).ok();
    opening.await.unwrap().unwrap();
    writer.join().unwrap();
    assert!(answered, "a request waited for the other folder");
    assert!(was_slow, "the folder was opened before the requests were answered");
    service.stop(false);
    service.close().await;
}

#[tokio::test]
async fn the_slots_are_those_of_the_service_however_many_base_directories_are_open() {
    let home = tempfile::tempdir().unwrap();
    let config = ServiceConfig { max_agents: Some(3), ..ServiceConfig::default() };
    let service = service_with(home.path(), config);
    assert_eq!(service.status().await.slots.limit, 3);
    for name in ["one", "other"] {
        hold(&service, &folder(home.path(), name)).await;
    }
    let status = service.status().await;
    assert_eq!((status.base_dirs.len(), status.slots.limit), (2, 3));
    assert!(service.metrics_text().await.contains("coven_jobs{state=\"limit\"} 3\n"));
    service.close().await;
}
