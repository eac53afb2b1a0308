//! What the base directories of a service share.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coven_api::system::{OpenBaseDir, SetTrust, TrustQuery};
use coven_api::workflow::{StartWorkflow, WorkflowDefinition};
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

/// A pipe is opened and read for ever: the folder, and the service with it, could not be closed
/// again.
#[tokio::test]
async fn a_policy_that_is_a_pipe_is_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let service = service(home.path());
    let base_dir = folder(home.path(), "piped");
    let coven = Path::new(&base_dir).join(".coven");
    std::fs::create_dir(&coven).unwrap();
    for policy in [home.path().join("config/policy.yaml"), coven.join("policy.yaml")] {
        assert!(Command::new("mkfifo").arg(policy).status().unwrap().success());
    }
    let work = async {
        let trust = service
            .trust(TrustQuery { base_dir: Some(base_dir.clone()), contents: false })
            .await
            .unwrap();
        let (base_dir, digest) = (base_dir.clone(), trust.digest);
        let set = SetTrust { base_dir: base_dir.clone(), trusted: true, digest, owners: None };
        service.set_trust(set).await.unwrap();
        service.open_base_dir(&OpenBaseDir { base_dir: base_dir.clone() }).await.unwrap();
        hold(&service, &base_dir).await;
        service.close().await;
    };
    let done = tokio::time::timeout(DEADLINE, work).await;
    assert!(done.is_ok(), "the pipe was waited for");
}
