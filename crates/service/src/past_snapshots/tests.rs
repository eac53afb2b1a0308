//! A session is read once, until its journal is another.

use std::path::Path;

use coven_api::workflow::{ActionRequest, StartWorkflow, WorkflowDefinition};
use coven_model::WorkflowStatus;

use super::*;
use crate::{Service, ServiceConfig, ServiceOptions, UserFolders};

fn service(home: &Path) -> Service {
    let places = UserFolders {
        config_dir: home.join("config"),
        state_dir: home.join("state"),
        data_dir: home.join("data"),
        runtime_dir: None,
    };
    for folder in [&places.config_dir, &places.state_dir] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let config = ServiceConfig::default();
    let service = Service::new(ServiceOptions { places, program: "coven".into(), config }).unwrap();
    // Known and not opened, as after a start with nothing to do in it.
    service.base_dir_at(&home.join("base"));
    service
}

async fn close(service: Service) {
    service.stop(false);
    service.close().await;
}

async fn kept(service: &Service, id: &str) -> Arc<SessionSnapshot> {
    let found = service.find(id).await.unwrap();
    let context = service.context();
    context.past_snapshots.snapshot(&found.sessions, &found.id).await.unwrap()
}

#[tokio::test]
async fn a_session_that_is_not_in_memory_is_read_once_until_its_journal_is_another() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().join("base");
    std::fs::create_dir(&base).unwrap();
    let text = "name: held\ndescription: H.\nsteps:\n  - {name: a, type: script, command: date}\n";
    let definition = WorkflowDefinition { name: "held.yaml".to_owned(), text: text.to_owned() };
    let start = StartWorkflow {
        definition: Some(definition),
        base_dir: Some(base.display().to_string()),
        hold: true,
        ..StartWorkflow::default()
    };
    let made = service(home.path());
    let id = made.start(start, None).await.unwrap().id.to_string();
    assert_eq!(made.context().past_snapshots.kept.lock().len(), 0, "it is in memory");
    close(made).await;

    let looking = service(home.path());
    let first = kept(&looking, &id).await;
    assert_eq!(first.status(), WorkflowStatus::Pending);
    looking.show(&id).await.unwrap();
    looking.outputs(&id).await.unwrap();
    assert!(Arc::ptr_eq(&first, &kept(&looking, &id).await), "it is read once");
    let remembered = std::mem::take(&mut *looking.context().past_snapshots.kept.lock());
    close(looking).await;

    // Another process records more in the same journal.
    let other = service(home.path());
    other.cancel(&id, ActionRequest { why: None, env: None }, "a test").await.unwrap();
    close(other).await;
    let looking = service(home.path());
    *looking.context().past_snapshots.kept.lock() = remembered;
    assert_eq!(kept(&looking, &id).await.status(), WorkflowStatus::Cancelled);
    close(looking).await;
}
