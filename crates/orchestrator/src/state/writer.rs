//! The threads that put facts on the disk: at most four for each file system, shared by all its
//! sessions. A file system that hangs takes its own threads along and no others.
//!
//! A session always has the same thread. A thread takes everything that waits for it in one turn:
//! it writes all batches, then syncs each journal once, so that the syncs of sessions that write at
//! the same time share what the file system does for one. An error answers its own session alone.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use coven_folder::disk_wait::Permit;
use coven_model::event::SessionEvent;
use coven_model::{SessionId, Timestamp};
use coven_store::journal::AppendError;
use coven_store::session::Appended;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::files::SharedFiles;

/// How many threads a file system has at most.
const MAX_THREADS: usize = 4;

/// How many batches may wait for a thread; a session has at most one on its way.
const QUEUED_BATCHES: usize = 256;

/// How many batches are written before the first of them is synced.
const BATCHES_PER_TURN: usize = 64;

/// The journal writer of a process. Clones share its threads, which end with the last of them.
#[derive(Clone, Debug, Default)]
pub struct JournalWriter {
    /// By the number of the file system.
    threads: Arc<Mutex<HashMap<u64, Arc<WriterThreads>>>>,
}

type WriterThreads = [WriterThread; MAX_THREADS];

/// A thread, started by its first session.
#[derive(Debug, Default)]
struct WriterThread {
    batches: Mutex<Option<mpsc::Sender<WriteBatch>>>,
}

/// Facts of one session on their way to the disk.
struct WriteBatch {
    files: SharedFiles,
    facts: Arc<Vec<SessionEvent>>,
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
        facts: Arc<Vec<SessionEvent>>,
    ) -> Result<Result<Appended, AppendError>, WriterFailed> {
        let (reply, answer) = oneshot::channel();
        let batch = WriteBatch { files: files.clone(), facts, time, reply };
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let threads = self.threads.lock().entry(files.file_system()).or_default().clone();
        let thread = &threads[(hasher.finish() % MAX_THREADS as u64) as usize];
        thread.sender()?.send(batch).await.map_err(|_| WriterFailed)?;
        answer.await.map_err(|_| WriterFailed)
    }
}

impl WriterThread {
    fn sender(&self) -> Result<mpsc::Sender<WriteBatch>, WriterFailed> {
        let mut batches = self.batches.lock();
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

fn write_turns(mut receiver: mpsc::Receiver<WriteBatch>) {
    let _permit = Permit::take();
    let mut turn = Vec::new();
    while receiver.blocking_recv_many(&mut turn, BATCHES_PER_TURN) > 0 {
        write_turn(&mut turn);
    }
}

/// Writes all batches, then syncs each. The files are let go before the answer, because a session
/// that has its answer may close them and expect them to be closed. A batch that panics is not
/// answered, which its session hears.
fn write_turn(turn: &mut Vec<WriteBatch>) {
    let mut written = Vec::with_capacity(turn.len());
    for batch in turn.drain(..) {
        let WriteBatch { files, facts, time, reply } = batch;
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

#[cfg(test)]
mod tests {
    use coven_store::{BaseDir, Session};

    use super::*;

    fn session(base: &BaseDir, number: u8) -> (SessionId, SharedFiles) {
        let id = format!("0198b5a0-0000-7000-8000-0000000000{number:02}");
        let id = SessionId::new(id).unwrap();
        let key = coven_store::SealKey::from_secret(&[7; 32]);
        let authority = coven_store::SessionAuthority::new(key, base.path().join("jobs"));
        let store = Session::create(base, &authority, &id).unwrap();
        (id, SharedFiles::new(store))
    }

    fn facts() -> Arc<Vec<SessionEvent>> {
        Arc::new(vec![SessionEvent::WorkflowStarted { at: Timestamp::default() }])
    }

    fn batch(
        files: &SharedFiles,
    ) -> (WriteBatch, oneshot::Receiver<Result<Appended, AppendError>>) {
        let (reply, answer) = oneshot::channel();
        let (files, facts, time) = (files.clone(), facts(), Timestamp::default());
        (WriteBatch { files, facts, time, reply }, answer)
    }

    #[test]
    fn an_error_answers_its_own_session_alone() {
        let folder = tempfile::tempdir().unwrap();
        let base = BaseDir::create(folder.path()).unwrap();
        let sessions: Vec<_> = (1..=3).map(|number| session(&base, number)).collect();
        // Something else lies where the journal of the second was.
        let journal = base.session_path(&sessions[1].0).join("journal.jsonl");
        std::fs::remove_file(&journal).unwrap();
        std::fs::write(&journal, "not ours").unwrap();
        let (mut turn, answers): (Vec<_>, Vec<_>) =
            sessions.iter().map(|(_, files)| batch(files)).unzip();
        write_turn(&mut turn);
        let answers: Vec<_> =
            answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect();
        assert!(matches!(&answers[1], Err(AppendError::Replaced { .. })), "{:?}", answers[1]);
        for (at, (_, files)) in sessions.iter().enumerate() {
            assert_eq!(answers[at].is_ok(), at != 1);
            assert_eq!(files.lock().last(), u64::from(at != 1));
        }
        assert_eq!(std::fs::read_to_string(&journal).unwrap(), "not ours");
    }

    #[tokio::test]
    async fn sessions_that_write_at_once_are_all_recorded_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let sessions: Vec<_> = {
            // Other tests of this process have an orchestrator, which looks who waits on a disk.
            let _permit = Permit::take();
            let base = BaseDir::create(folder.path()).unwrap();
            (1..=20).map(|number| session(&base, number)).collect()
        };
        let writer = JournalWriter::new();
        let mut writing = tokio::task::JoinSet::new();
        for (id, files) in sessions {
            let writer = writer.clone();
            writing.spawn(async move {
                for seq in 1..=10 {
                    let time = Timestamp::from_millis(seq);
                    let appended = writer.append(&id, &files, time, facts()).await.unwrap();
                    assert_eq!(appended.unwrap().seqs, seq..seq + 1);
                }
            });
        }
        assert_eq!(writing.join_all().await.len(), 20);
    }
}
