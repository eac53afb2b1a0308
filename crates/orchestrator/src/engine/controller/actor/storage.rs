//! A session that cannot record anything at the moment: the disk is full or read-only, or its base
//! directory is gone. It waits, says so, and can be looked at and closed meanwhile.

use coven_workflow::SessionInput;
use tokio::time::Instant;

use super::{SessionActor, SessionRequest, answer};
use crate::event::LiveEvent;
use crate::state::{STORAGE_RETRY, StorageProblem};

/// What is added to the reason when the session is to be cancelled.
const CANCEL_WAITS: &str = "it is cancelled as soon as that can be recorded";

impl SessionActor {
    /// Something could not be recorded: publishes that the first time, and waits a moment. Requests
    /// that change something wait meanwhile. Says whether to try again; not if the session is to be
    /// closed.
    pub(super) async fn storage_fails(
        &mut self,
        told: &mut bool,
        error: &(dyn std::error::Error + Send + Sync + 'static),
    ) -> bool {
        let problem = StorageProblem::of(error);
        self.wait_for_disk(told, problem).await
    }

    async fn wait_for_disk(&mut self, told: &mut bool, problem: StorageProblem) -> bool {
        let cancels = self.is_cancelling || self.cancel_waits();
        let shown = if cancels { problem.clone().and_then(CANCEL_WAITS) } else { problem.clone() };
        self.show_problem(shown.clone());
        if !std::mem::replace(told, true) {
            // What was recorded before counts for everyone who looks, though what follows from it
            // has to wait.
            self.publish_snapshot();
            self.publish_live(LiveEvent::Storage { problem: shown.into_text() });
            if cancels {
                self.jobs.stop_all();
            }
        }
        let again = Instant::now() + STORAGE_RETRY;
        while self.closing.is_none() {
            tokio::select! {
                () = tokio::time::sleep_until(again) => return true,
                Some(request) = self.mailbox.recv() => match request {
                    SessionRequest::StopJobs(reply) => answer(reply, self.jobs.stop_all()),
                    SessionRequest::Close(reply) => self.closing = Some(reply),
                    request if is_cancel(&request) => {
                        // The agents may be what fills the disk. That they were stopped is
                        // recorded with the rest.
                        self.jobs.stop_all();
                        self.waiting.push_front(request);
                        self.show_problem(problem.clone().and_then(CANCEL_WAITS));
                    }
                    request => self.waiting.push_back(request),
                },
                else => return true,
            }
        }
        false
    }

    fn show_problem(&self, problem: StorageProblem) {
        let text = problem.into_text();
        self.storage_problem.send_if_modified(|problems| problems.set_session(Some(text)));
    }

    /// Whether the session is to be cancelled as soon as that can be recorded.
    pub(super) fn cancel_waits(&self) -> bool {
        self.waiting.iter().any(is_cancel)
    }
}

fn is_cancel(request: &SessionRequest) -> bool {
    matches!(request, SessionRequest::Input(input, _)
        if matches!(**input, SessionInput::Cancel { .. }))
}
