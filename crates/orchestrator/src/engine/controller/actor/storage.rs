//! A session that cannot record anything at the moment: the disk is full or read-only, or its base
//! directory is gone. It waits, says so, and can be looked at and closed meanwhile.

use std::time::Duration;

use tokio::time::Instant;

use super::{SessionActor, SessionRequest, answer};
use crate::event::LiveEvent;

/// How long a session waits before it tries again to record what it could not.
const STORAGE_RETRY: Duration = Duration::from_millis(500);

impl SessionActor {
    /// Something could not be recorded: publishes that the first time, and waits a moment. Requests
    /// that change something wait meanwhile. Says whether to try again; not if the session is to be
    /// closed.
    pub(super) async fn storage_fails(&mut self, told: &mut bool, problem: String) -> bool {
        self.storage_problem.send_replace(Some(problem.clone()));
        if !std::mem::replace(told, true) {
            self.publish_live(LiveEvent::Storage { problem });
        }
        let again = Instant::now() + STORAGE_RETRY;
        while self.closing.is_none() {
            tokio::select! {
                () = tokio::time::sleep_until(again) => return true,
                Some(request) = self.mailbox.recv() => match request {
                    SessionRequest::StopJobs(reply) => answer(reply, self.jobs.stop_all()),
                    SessionRequest::Close(reply) => self.closing = Some(reply),
                    request => self.waiting.push_back(request),
                },
                else => return true,
            }
        }
        false
    }
}
