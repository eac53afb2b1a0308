//! Opening one base directory never makes another wait.

use std::path::Path;

use coven_api::system::TrustQuery;
use coven_api::workflow::{ListQuery, StartWorkflow, WorkflowDefinition};

use crate::{Service, ServiceConfig, ServiceOptions, UserFolders};

/// How long a request that waits for nothing may take on a busy machine.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(30);

fn folder(home: &Path, name: &str) -> String {
    let path = home.join(name);
    std::fs::create_dir(&path).unwrap();
    path.display().to_string()
}

/// A session that has not begun, so that no program is needed to hold its jobs.
async fn hold(service: &Service, base_dir: &str) -> String {
    let text = "name: held\ndescription: H.\nsteps:\n  - {name: a, type: script, command: date}\n";
    let definition = WorkflowDefinition { name: "held.yaml".to_owned(), text: text.to_owned() };
    let start = StartWorkflow {
        definition: Some(definition),
        base_dir: Some(base_dir.to_owned()),
        hold: true,
        ..StartWorkflow::default()
    };
    service.start(start, None).await.unwrap().id.to_string()
}

/// One thread serves all requests here, so whatever blocks it would hold up every one of them.
#[tokio::test]
async fn a_base_directory_that_hangs_while_it_is_opened_holds_up_no_other() {
    let home = tempfile::tempdir().unwrap();
    let (config_dir, state_dir) = (home.path().join("config"), home.path().join("state"));
    for folder in [&config_dir, &state_dir] {
        std::fs::create_dir(folder).unwrap();
    }
    let data_dir = home.path().join("data");
    let places = UserFolders { config_dir, state_dir, data_dir, runtime_dir: None };
    let config = ServiceConfig::default();
    let options = ServiceOptions { places, program: "coven".into(), config };
    let service = Service::new(options).unwrap();
    let (slow, other) = (folder(home.path(), "slow"), folder(home.path(), "other"));
    let session = hold(&service, &other).await;
    // An opening that has begun and does not end.
    let opening = service.base_dir_at(Path::new(&slow)).begin_opening().unwrap();
    let requests = async {
        assert_eq!(service.status().await.base_dirs.len(), 2);
        // By its id, by its name and by the beginning of its id: all folders are asked for these.
        let shown = service.show(&session).await.unwrap();
        service.show(&shown.item.name).await.unwrap();
        service.show(&session[..session.len() - 1]).await.unwrap();
        let query = ListQuery { base_dir: Some(other.clone()), ..ListQuery::default() };
        assert_eq!(service.list(&query).await.unwrap().workflows.len(), 1);
        hold(&service, &other).await;
        assert_eq!(service.list(&ListQuery::default()).await.unwrap().workflows.len(), 2);
        service.trust(TrustQuery { base_dir: Some(other.clone()), contents: false }).await.unwrap();
    };
    let answered = tokio::time::timeout(DEADLINE, requests).await;
    assert!(answered.is_ok(), "a request waited for the other folder");
    drop(opening);
    service.close().await;
}
