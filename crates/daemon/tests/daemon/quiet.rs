//! Nothing of an agent comes out of our own standard output and error.

use coven_api::intervention::DecideRequest;
use coven_model::{InterventionChoice, WorkflowStatus};
use serde_json::json;

use crate::support::Home;

/// In what the agents print, ask and run, and nowhere else.
const WORDS: [&str; 3] = ["gibberish-said", "gibberish-asked", "gibberish-flood"];

/// What the daemon has written to its standard output and error so far.
fn written(home: &Home) -> [(&'static str, String); 2] {
    ["stdout", "stderr"].map(|stream| {
        let bytes = std::fs::read(home.path().join(stream)).unwrap();
        (stream, String::from_utf8_lossy(&bytes).into_owned())
    })
}

fn has_nothing_of_agents(home: &Home) {
    for (stream, text) in written(home) {
        assert!(!text.contains('\u{1b}'), "{stream} has an escape sequence: {text:?}");
        for word in WORDS {
            assert!(!text.contains(word), "{stream} has {word}: {text}");
        }
    }
    assert_eq!(written(home)[0].1, "", "the daemon prints nothing at all");
}

/// The daemon runs in the foreground, as `coven daemon run` does, with its streams in two files.
///
/// Spec: AD.2.1
#[tokio::test]
async fn no_byte_of_an_agent_that_asks_for_approval_comes_out_of_the_daemon() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let asks = "say gibberish-said; approve echo gibberish-asked; exit 0";
    let prints = "disobey echo gibberish-flood >&2; flood 200000; say gibberish-said";
    let started = daemon
        .stage(&[
            json!({"id": "asks", "adapter": "demo", "permissions": "ask", "prompt": asks}),
            json!({"id": "prints", "adapter": "demo", "executionMode": "headless", "prompt": prints}),
        ])
        .await;
    let id = started.id.as_str();
    let asked = daemon.asked(id).await;
    // The interfaces know what the screen shows, so it was there to be printed.
    assert!(asked.intervention.excerpt.contains("gibberish-asked"), "{asked:#?}");
    has_nothing_of_agents(&home);
    let digest = asked.intervention.digest.clone();
    let approve = DecideRequest::new(InterventionChoice::Approve, digest);
    daemon.client.decide(&asked.intervention.id, &approve).await.unwrap();
    daemon.ends(id, WorkflowStatus::Completed).await;
    assert!(daemon.stop().await.success());
    has_nothing_of_agents(&home);
}
