//! Events from outside, and the grimoires that wait for them.

use coven_api::ProblemCode;
use coven_api::event::PostEvent;
use coven_model::WorkflowStatus;
use serde_json::{Map, json};

use crate::support::{Home, code};

#[tokio::test]
async fn an_event_that_is_posted_starts_what_waits_for_it_and_once_for_each_id() {
    let home = Home::new();
    let folder = home.config().join("grimoires");
    std::fs::create_dir_all(&folder).unwrap();
    let waiting = "name: greet-issue\ndescription: Waits.\ntrigger: {event: issue.opened}\nsteps:\n  - {name: a, type: script, command: 'echo started >> count'}\n";
    std::fs::write(folder.join("greet-issue.yaml"), waiting).unwrap();
    let daemon = home.daemon().await;
    let post = |kind: &str, id: Option<&str>| {
        let event = PostEvent {
            kind: kind.to_owned(),
            data: Map::from_iter([("title".to_owned(), json!("broken"))]),
            id: id.map(str::to_owned),
            base_dir: Some(home.base().display().to_string()),
        };
        let client = daemon.client.clone();
        async move { client.post_event(&event).await }
    };
    assert_eq!(post("issue.closed", None).await.unwrap().started, []);
    let first = post("issue.opened", Some("issue-7")).await.unwrap().started;
    assert_eq!(first.len(), 1);
    daemon.ends(first[0].as_str(), WorkflowStatus::Completed).await;
    assert_eq!(post("issue.opened", Some("issue-7")).await.unwrap().started, first);
    assert_eq!(std::fs::read_to_string(home.base().join("count")).unwrap(), "started\n");
    let second = post("issue.opened", None).await.unwrap().started;
    assert_ne!(second, first);
    daemon.ends(second[0].as_str(), WorkflowStatus::Completed).await;
    for kind in ["", "with space", "workflow.completed", "\u{1b}[31m"] {
        assert_eq!(code(post(kind, None).await), ProblemCode::BadRequest, "{kind:?}");
    }
}
