//! Agents over a channel that close their standard output and live on.

use coven_model::WorkflowStatus;

use crate::channels::{asking, open_script};
use crate::support::{Base, end, nothing_left};

/// Agrees to a conversation, takes a prompt, and closes its output.
const CLOSES: &str = r#"case "$*" in *--acp*)
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"S"}}'
read -r line; exec sleep 1000 >&-;;
esac"#;

/// Nothing that it does can be heard any more, so its step fails and says why. Its standard error
/// is still open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_closes_its_output_in_the_middle_of_a_turn_fails_its_step() {
    let base = Base::new();
    let orchestrator = open_script(&base, CLOSES, |_| {}).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("say done"))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert!(
        format!("{:?}", view.errors).contains("closed its output and did not end"),
        "{:#?}",
        view.errors
    );
    nothing_left(&id, &view);
}
