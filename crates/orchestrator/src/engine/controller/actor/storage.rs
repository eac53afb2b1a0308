//! A session that cannot record anything at the moment: the disk is full or read-only, or its base
//! directory is gone. It waits, says so, and can be looked at and closed meanwhile.

use coven_workflow::SessionInput;
use tokio::time::Instant;

use super::{SessionActor, SessionRequest, answer};
use crate::event::LiveEvent;
use crate::state::blocking::blocking;
use crate::state::{STORAGE_RETRY, StorageProblem, cancel_wish};

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
        let cancels = self.cancelling.is_some() || self.cancel_waits();
        self.keep_cancel().await;
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
                    request if is_cancel_request(&request) => {
                        // The agents may be what fills the disk. That they were stopped is
                        // recorded with the rest.
                        self.jobs.stop_all();
                        self.waiting.push_front(request);
                        self.keep_cancel().await;
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
        self.waiting.iter().any(is_cancel_request)
    }

    /// Keeps the wish to cancel for the next process: this one may end before the disk takes it. The
    /// state folder may be on another disk.
    async fn keep_cancel(&mut self) {
        if self.has_kept_cancel {
            return;
        }
        let waiting = self.waiting.iter().find_map(|request| match request {
            SessionRequest::Input(input, _) if is_cancel(input) => Some(&**input),
            _ => None,
        });
        let Some(wish) = self.cancelling.as_ref().or(waiting).cloned() else { return };
        let path = self.session.jobs_path().to_owned();
        // It is tried again with the next try to record it.
        self.has_kept_cancel = blocking(move || cancel_wish::keep(&path, &wish)).await.is_ok();
    }

    /// The wish to cancel that an earlier process could not record.
    pub(super) async fn kept_cancel(&mut self) -> Option<SessionInput> {
        let path = self.session.jobs_path().to_owned();
        let wish = blocking(move || cancel_wish::kept(&path)).await;
        self.has_kept_cancel = wish.is_some();
        wish
    }
}

fn is_cancel_request(request: &SessionRequest) -> bool {
    matches!(request, SessionRequest::Input(input, _) if is_cancel(input))
}

/// Whether it ends the run.
pub(super) fn is_cancel(input: &SessionInput) -> bool {
    matches!(input, SessionInput::Cancel { .. })
}
