//! Where the agent of a job reports what it does by itself, and what it shows then.

use coven_model::{AttemptId, JobSpec, JobWork};
use coven_runner::{HookAddress, HookToken, TaskPlace};
use coven_store::Attempt;

use super::JobDetails;
use crate::engine::executor::WorkflowExecutor;
use crate::state::blocking::blocking;

/// The token of an attempt whose agent may report: the one it was started with, or a new one.
pub(super) async fn token(
    executor: &WorkflowExecutor,
    spec: &JobSpec,
    attempt: &Attempt,
) -> Option<HookToken> {
    let may_report = matches!(spec.work, JobWork::Agent(_)) && spec.work.is_interactive();
    if !may_report {
        return None;
    }
    let is_asked = executor.shared.report_address.is_some();
    let folder = attempt.path().to_owned();
    blocking(move || {
        // Without randomness there are no reports; the agent is read as any other.
        HookToken::load(&folder).or_else(|| HookToken::new().ok().filter(|_| is_asked))
    })
    .await
}

impl JobDetails {
    /// Where the agent reports to, where the daemon can be reached from where it runs.
    pub(super) fn report_to(&self, place: &TaskPlace) -> Option<HookAddress> {
        let (address, token) = (self.executor.shared.report_address?, self.report_token.clone()?);
        let ports = place.sandbox.as_ref().and_then(|sandbox| sandbox.ports.as_ref());
        // A report that fails stands on the screen of the agent.
        if ports.is_some_and(|ports| !ports.contains(&address.port())) {
            return None;
        }
        let AttemptId { task, attempt } = &self.spec.job.attempt;
        let session = &self.spec.job.session;
        Some(HookAddress {
            url: format!("http://{address}/hook/{session}/{task}/{attempt}"),
            token,
        })
    }
}
