//! A repository is not trusted because it was cloned.

use coven_api::ProblemCode;
use coven_api::catalogue::BaseDirQuery;
use coven_api::system::{
    AcceptPolicy, FileChangeKind, FolderTrust, PolicyState, SetTrust, TrustQuery, TrustState,
};
use coven_model::WorkflowStatus;

use crate::support::{Daemon, Home, code};

const OWN: &str = "name: own\ndescription: Comes with the project.\nsteps:\n  - {name: a, type: script, command: 'touch ran'}\n";

fn put(home: &Home, name: &str, text: &str) {
    let path = home.base().join(".coven").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn query(home: &Home) -> BaseDirQuery {
    BaseDirQuery { base_dir: Some(home.base().display().to_string()) }
}

fn trust_query(home: &Home) -> TrustQuery {
    TrustQuery { base_dir: Some(home.base().display().to_string()), contents: true }
}

async fn set(
    daemon: &Daemon<'_>,
    trusted: bool,
    digest: Option<String>,
) -> Result<FolderTrust, coven_api::ClientError> {
    let base_dir = daemon.home.base().display().to_string();
    daemon.client.set_trust(&SetTrust { base_dir, trusted, digest, owners: None }).await
}

/// Spec: GR.1.2
#[tokio::test]
async fn what_a_repository_brings_along_is_inert_until_somebody_agrees_to_exactly_that() {
    let home = Home::new();
    put(&home, "grimoires/own.yaml", OWN);
    let daemon = home.daemon().await;
    let start = daemon.grimoire("own");
    assert_eq!(code(daemon.client.start(&start, None).await), ProblemCode::NotTrusted);
    // It can be looked at.
    let shown = daemon.client.grimoire("own", &query(&home)).await.unwrap();
    assert!(!shown.item.usable && shown.text.contains("touch ran"), "{shown:?}");
    assert!(shown.item.why_not.unwrap().contains("not trusted"));

    let trust = daemon.client.trust(&trust_query(&home)).await.unwrap();
    assert_eq!(trust.state, TrustState::Untrusted);
    assert_eq!(trust.files, [".coven/grimoires/own.yaml"]);
    let change = trust.changes.unwrap().remove(0);
    assert_eq!((change.kind, change.text.as_deref()), (FileChangeKind::Added, Some(OWN)));
    assert_eq!(code(set(&daemon, true, None).await), ProblemCode::StaleDigest);
    assert_eq!(code(set(&daemon, true, Some("0".repeat(64))).await), ProblemCode::StaleDigest);
    let agreed = set(&daemon, true, trust.digest.clone()).await.unwrap();
    assert_eq!(agreed.state, TrustState::Trusted);
    let started = daemon.start(&start).await;
    daemon.ends(started.id.as_str(), WorkflowStatus::Completed).await;
    assert!(home.base().join("ran").exists());

    // A change asks again, and so does the next daemon.
    put(&home, "grimoires/own.yaml", &OWN.replace("touch ran", "touch evil"));
    let trust_now = daemon.client.trust(&trust_query(&home)).await.unwrap();
    assert_eq!(trust_now.state, TrustState::Changed);
    let difference = trust_now.changes.unwrap().remove(0).text.unwrap();
    let line = "  - {name: a, type: script, command: 'touch ";
    assert!(difference.contains(&format!("-{line}ran'}}\n+{line}evil'}}\n")), "{difference}");
    assert_eq!(code(daemon.client.start(&start, None).await), ProblemCode::NotTrusted);
    put(&home, "grimoires/own.yaml", OWN);
    daemon.kill();
    let daemon = home.daemon().await;
    assert_eq!(daemon.client.trust(&trust_query(&home)).await.unwrap().state, TrustState::Trusted);
    put(&home, "adapters/demo/config.json", "{}");
    assert_eq!(code(daemon.client.start(&start, None).await), ProblemCode::NotTrusted);
    assert_eq!(set(&daemon, false, None).await.unwrap().state, TrustState::Untrusted);
    assert!(!home.base().join("evil").exists());
}

#[tokio::test]
async fn a_change_to_what_does_not_count_asks_nobody() {
    let home = Home::new();
    let daemon = home.daemon().await;
    assert_eq!(daemon.client.trust(&trust_query(&home)).await.unwrap().state, TrustState::Nothing);
    put(&home, "beads/1.md", "a bead");
    put(&home, "sessions.txt", "a file");
    let trust = daemon.client.trust(&trust_query(&home)).await.unwrap();
    assert_eq!((trust.state, trust.digest), (TrustState::Nothing, None));
}

#[tokio::test]
async fn a_policy_of_a_repository_answers_nothing_until_it_is_trusted() {
    let home = Home::new();
    let policy = "version: 1\nrules:\n  - {kind: approval, decision: allow}\n";
    put(&home, "policy.yaml", policy);
    let daemon = home.daemon().await;
    let task = serde_json::json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"});
    let first = daemon.stage(std::slice::from_ref(&task)).await;
    daemon.asked(first.id.as_str()).await;
    assert!(!home.base().join("made.txt").exists());
    let trust = daemon.client.trust(&trust_query(&home)).await.unwrap();
    set(&daemon, true, trust.digest).await.unwrap();
    let second = daemon.stage(&[task]).await;
    daemon.ends(second.id.as_str(), WorkflowStatus::Completed).await;
    assert!(home.base().join("made.txt").exists());
}

#[tokio::test]
async fn the_users_own_policy_counts_and_is_read_again_when_it_changes() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = serde_json::json!({"id": "a", "adapter": "demo", "permissions": "ask", "prompt": "approve touch made.txt; exit 0"});
    let first = daemon.stage(std::slice::from_ref(&task)).await;
    daemon.asked(first.id.as_str()).await;
    let policy = "version: 1\nrules:\n  - {kind: approval, decision: allow}\n";
    std::fs::write(home.config().join("policy.yaml"), policy).unwrap();
    // A file that the user did not accept allows nothing.
    let asked = daemon.stage(std::slice::from_ref(&task)).await;
    daemon.asked(asked.id.as_str()).await;
    let standing = daemon.client.policy().await.unwrap();
    assert_eq!(standing.state, PolicyState::New);
    let digest = standing.digest.unwrap();
    let standing = daemon.client.accept_policy(&AcceptPolicy { digest }).await.unwrap();
    assert_eq!(standing.state, PolicyState::Accepted);
    let second = daemon.stage(std::slice::from_ref(&task)).await;
    daemon.ends(second.id.as_str(), WorkflowStatus::Completed).await;
    // A file that cannot be read decides nothing.
    std::fs::write(home.config().join("policy.yaml"), "version: 1\nrules: nonsense\n").unwrap();
    let third = daemon.stage(&[task]).await;
    daemon.asked(third.id.as_str()).await;
    assert!(home.log().contains("everything is asked"), "{}", home.log());
}
