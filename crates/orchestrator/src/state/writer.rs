//! The threads that put facts on the disk: at most four in a process, shared by all sessions.
//!
//! A session always has the same thread. A thread takes everything that waits for it in one turn:
//! it writes all batches, then syncs each journal once, so that the syncs of sessions that write at
//! the same time share what the file system does for one. An error answers its own session alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use coven_folder::disk_wait::Permit;
use coven_model::event::Event;
use coven_model::{SessionId, Timestamp};
use coven_store::journal::AppendError;
use coven_store::session::Appended;
use tokio::sync::{mpsc, oneshot};

use super::files::SharedFiles;

/// How many threads there are at most.
const MAX_THREADS: usize = 4;

/// How many batches may wait for a thread; a session has at most one on its way.
const QUEUED_BATCHES: usize = 256;

/// How many batches are written before the first of them is synced.
const BATCHES_PER_TURN: usize = 64;

/// The journal writer of a process. Clones share its threads, which end with the last of them.
#[derive(Clone, Debug, Default)]
pub struct JournalWriter {
    threads: Arc<[WriterThread; MAX_THREADS]>,
}

/// A thread, started by its first session.
#[derive(Debug, Default)]
struct WriterThread {
    batches: Mutex<Option<mpsc::Sender<Batch>>>,
}

/// Facts of one session on their way to the disk.
struct Batch {
    files: SharedFiles,
    facts: Arc<Vec<Event>>,
    time: Timestamp,
    reply: oneshot::Sender<Result<Appended, AppendError>>,
}

/// The writer's thread failed in a way that is a mistake in this program.
#[derive(Debug, thiserror::Error)]
#[error("the journal writer failed")]
pub(crate) struct WriterFailed;

impl JournalWriter {
    /// A writer that has no thread yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records facts: on the disk when this returns, and none of them when it fails. The caller
    /// sends no second batch of the same session meanwhile.
    pub(crate) async fn append(
        &self,
        id: &SessionId,
        files: &SharedFiles,
        time: Timestamp,
        facts: Arc<Vec<Event>>,
    ) -> Result<Result<Appended, AppendError>, WriterFailed> {
        let (reply, answer) = oneshot::channel();
        let batch = Batch { files: files.clone(), facts, time, reply };
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let thread = &self.threads[(hasher.finish() % MAX_THREADS as u64) as usize];
        thread.sender()?.send(batch).await.map_err(|_| WriterFailed)?;
        answer.await.map_err(|_| WriterFailed)
    }
}

impl WriterThread {
    fn sender(&self) -> Result<mpsc::Sender<Batch>, WriterFailed> {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = batches.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let (sender, receiver) = mpsc::channel(QUEUED_BATCHES);
        // The thread ends by itself when the last sender is dropped. Its panics are caught for
        // each batch, and the session of that batch hears of them.
        let thread = std::thread::Builder::new().name("journal-writer".to_owned());
        thread.spawn(move || write_turns(receiver)).map_err(|_| WriterFailed)?;
        *batches = Some(sender.clone());
        Ok(sender)
    }
}

fn write_turns(mut receiver: mpsc::Receiver<Batch>) {
    let _permit = Permit::take();
    let mut turn = Vec::new();
    while receiver.blocking_recv_many(&mut turn, BATCHES_PER_TURN) > 0 {
        write_turn(&mut turn);
    }
}

/// Writes all batches, then syncs each. The files are let go before the answer, because a session
/// that has its answer may close them and expect them to be closed. A batch that panics is not
/// answered, which its session hears.
fn write_turn(turn: &mut Vec<Batch>) {
    let mut written = Vec::with_capacity(turn.len());
    for batch in turn.drain(..) {
        let Batch { files, facts, time, reply } = batch;
        match catch_unwind(AssertUnwindSafe(|| files.lock().write(time, &facts))) {
            Ok(Ok(unsynced)) => written.push((files, unsynced, reply)),
            Ok(Err(error)) => {
                drop(files);
                answer(reply, Err(error));
            }
            Err(_) => {}
        }
    }
    for (files, unsynced, reply) in written {
        let synced = catch_unwind(AssertUnwindSafe(|| files.lock().sync(unsynced)));
        drop(files);
        if let Ok(synced) = synced {
            answer(reply, synced);
        }
    }
}

fn answer(
    reply: oneshot::Sender<Result<Appended, AppendError>>,
    answer: Result<Appended, AppendError>,
) {
    // A session that is gone does not want to know.
    drop(reply.send(answer));
}
