//! What agents on terminals report by themselves.

use std::net::SocketAddr;

use coven_model::{AttemptId, SessionId, TaskId};
use coven_runner::AgentReporter;

use crate::service::Service;

impl Service {
    /// Says where the daemon listens on loopback, before the first base directory is opened: agents
    /// that are started from then on report there, if the user wants that.
    pub fn set_loopback(&self, address: SocketAddr) {
        let context = self.context();
        if context.config.agent_reports {
            context.loopback.get_or_init(|| address);
        }
    }

    /// The agent of an attempt as one that reports by itself; none if the attempt does not run, the
    /// token is not its own or anything else is wrong. Looks only at what is in memory, because
    /// clients that no device vouches for ask this.
    pub fn reporter(
        &self,
        session: &str,
        task: &str,
        attempt: u32,
        token: &str,
    ) -> Option<AgentReporter> {
        let session = SessionId::new(session).ok()?;
        let attempt = AttemptId { task: TaskId::new(task).ok()?, attempt };
        let open = self.base_dirs().into_iter().filter_map(|base| base.now());
        let mut found = open.map(|orchestrator| orchestrator.reporter(&session, &attempt, token));
        found.find_map(Result::ok)
    }
}
