//! A session that cannot write anything down at the moment: the disk is full or read-only, or its
//! base directory is gone. It waits, says so, and can be looked at and closed meanwhile.

use std::time::Duration;

use coven_model::AttemptId;
use coven_store::Obstacle;
use coven_workflow::view::plan_view;
use tokio::time::Instant;

use super::{Actor, Ask};
use crate::event::{Live, Published};

/// How long a session waits before it tries again to write down what it could not.
const RETRY: Duration = Duration::from_millis(500);

impl Actor {
    /// Something could not be written down: tells so the first time, and waits a moment. Whoever
    /// only wants to look is answered meanwhile, and whoever wants something to happen waits. Says
    /// whether to try again; not if the session is to be closed.
    pub(super) async fn storage_fails(&mut self, told: &mut bool, problem: String) -> bool {
        self.trouble.send_replace(Some(problem.clone()));
        if !std::mem::replace(told, true) {
            self.publish(Published::Live(Live::Storage { problem }));
        }
        let again = Instant::now() + RETRY;
        while self.closing.is_none() {
            tokio::select! {
                () = tokio::time::sleep_until(again) => return true,
                Some(ask) = self.mailbox.recv() => self.ask_meanwhile(ask),
                else => return true,
            }
        }
        false
    }

    fn ask_meanwhile(&mut self, ask: Ask) {
        match ask {
            Ask::Reader(reply) => drop(reply.send(self.session.reader())),
            Ask::View(reply) => drop(reply.send(self.session.view())),
            Ask::Plan(reply) => drop(reply.send(self.session.state().run().map(plan_view))),
            Ask::Task(task, reply) => drop(reply.send(self.task(&task))),
            Ask::Verdicts(reply) => drop(reply.send(self.verdicts())),
            Ask::StopJobs(reply) => drop(reply.send(self.stop_jobs())),
            Ask::Close(reply) => self.closing = Some(reply),
            ask => self.waiting.push_back(ask),
        }
    }

    /// Waits until there is room for what a job writes: one that cannot write anything down fails
    /// for no fault of its own.
    pub(super) async fn make_room(&mut self, job: &AttemptId, begins: bool) {
        let mut told = false;
        while let Err(error) = self.session.make_room(job, begins) {
            let waits = matches!(
                error.obstacle,
                Obstacle::Full
                    | Obstacle::ReadOnly
                    | Obstacle::Denied
                    | Obstacle::Broken
                    | Obstacle::Replaced
            );
            if !waits || !self.storage_fails(&mut told, error.to_string()).await {
                return;
            }
        }
    }
}
