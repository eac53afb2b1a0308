//! What an agent on a terminal answered, from the file in which its program writes that down.
//!
//! Agents can write to that file. So it is found by names alone, without following links below its
//! folder, and what it says counts only if the end of it is on the screen too.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::AgentAdapter;
use coven_adapters::answer::is_shown;
use coven_adapters::config::AnswerConfig;
use coven_folder::{FileError, OFlags, OpenFolder};
use coven_runner::AgentRunner;
use coven_workflow::expect::UNREAD_ANSWER;
use tokio::time::Instant;

use super::JobDetails;
use super::private_home::file_in_home;
use crate::state::blocking::blocking;

/// How long the end of a turn waits until its program has written the answer down, which is a
/// moment before or after the screen says that the turn is over.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the file is looked at meanwhile. Programs rename, append or write anew, so that there
/// is no one event to wait for.
const READ_INTERVAL: Duration = Duration::from_millis(50);

/// How much of the end of a file is read. A turn with pictures has megabytes.
const MAX_READ_BYTES: u64 = 32 << 20;

/// How much of the beginning of a file is read to know whose it is.
const MAX_FIRST_LINE_BYTES: u64 = 256 << 10;

/// A longer answer is for a file, not for a journal.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// How many folders are held open at once in a search. Programs have one for each project or day.
const MAX_FOLDERS: usize = 400;

/// Which turn an answer was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnPlace {
    file: PathBuf,
    begins: u64,
}

/// Which turn of its conversation an agent is at.
#[derive(Debug, Default)]
pub(super) struct TurnProgress {
    /// The last whose answer was read.
    pub(super) read: Option<TurnPlace>,
    /// Whether it has worked since then, so that the next answer is of another turn.
    pub(super) worked: bool,
}

/// What a turn comes to.
#[derive(Debug)]
pub(super) struct TurnOutput {
    pub(super) text: String,
    /// Where the answer stands, if it was found.
    pub(super) place: Option<TurnPlace>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum NoAnswer {
    #[error("its program was not given an id for the conversation")]
    NoConversation,
    #[error("its program has written no conversation down")]
    NoFile,
    #[error("more than one conversation was begun in this folder since it started")]
    Ambiguous,
    #[error("its program has not written this turn down")]
    NotWritten,
    #[error("the turn ended without an answer")]
    NotSaid,
    #[error("what its program has written down is not on the screen")]
    NotShown,
    #[error("the answer has more than {} KiB", MAX_ANSWER_BYTES >> 10)]
    TooLong,
}

/// An answer, and where it stands.
#[derive(Debug)]
struct WrittenAnswer {
    text: String,
    place: TurnPlace,
}

impl JobDetails {
    /// What the turn that is over comes to: the answer where the adapter says where to find it,
    /// otherwise all that the screen shows. Nothing if the agent is gone. An answer must be of a
    /// later turn than `after`.
    pub(super) async fn turn_output(
        self: &Arc<Self>,
        agent: &AgentRunner,
        adapter: &Arc<dyn AgentAdapter>,
        after: Option<TurnPlace>,
    ) -> Option<TurnOutput> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        loop {
            let snapshot = agent.view().await?.snapshot;
            let screen = || self.redactor.clean(&snapshot.text());
            if adapter.config().answer.is_none() {
                return Some(TurnOutput { text: screen(), place: None });
            }
            let (details, adapter, after) = (self.clone(), adapter.clone(), after.clone());
            let read = blocking(move || details.written_answer(&*adapter, after.as_ref())).await;
            let why = match read {
                Ok(read) if is_shown(&read.text, &snapshot) => {
                    let text = self.redactor.clean(&read.text);
                    return Some(TurnOutput { text, place: Some(read.place) });
                }
                Ok(_) => NoAnswer::NotShown,
                Err(why) => why,
            };
            if Instant::now() >= deadline {
                let text = format!("{UNREAD_ANSWER}{why}. The screen shows:]\n{}", screen());
                return Some(TurnOutput { text, place: None });
            }
            tokio::time::sleep(READ_INTERVAL).await;
        }
    }

    /// The answer of the last turn that is written down. Waits on the disk.
    fn written_answer(
        &self,
        adapter: &dyn AgentAdapter,
        after: Option<&TurnPlace>,
    ) -> Result<WrittenAnswer, NoAnswer> {
        let config = adapter.config().answer.as_ref().ok_or(NoAnswer::NoFile)?;
        let session = self.conversation_id();
        let named = config.file.contains("${agentSession}") || config.session.is_some();
        let name = match &session {
            Some(id) => config.file.replace("${agentSession}", id),
            None if named => return Err(NoAnswer::NoConversation),
            None => config.file.clone(),
        };
        let path = self.agent_file(adapter, &name).ok_or(NoAnswer::NoFile)?;
        let mut files = if config.file.contains("${agentSession}") {
            find(&path, 0)
        } else {
            find(&path, self.attempt.started().unwrap_or(0))
        };
        let cwd = self.cwd();
        let cwd = std::fs::canonicalize(&cwd).unwrap_or(cwd);
        files.retain(|file| file.is_of(config, session.as_deref(), &cwd.to_string_lossy()));
        let [file] = &*files else {
            return Err(if files.is_empty() { NoAnswer::NoFile } else { NoAnswer::Ambiguous });
        };
        let (begin, text) = file.end().map_err(|_| NoAnswer::NoFile)?;
        let turn = config.last_turn(&text).ok_or(NoAnswer::NotWritten)?;
        let place = TurnPlace { file: file.path(), begins: begin + turn.begins as u64 };
        if after.is_some_and(|after| after.file == place.file && after.begins >= place.begins) {
            return Err(NoAnswer::NotWritten);
        }
        let text = turn.answer.ok_or(NoAnswer::NotSaid)?;
        if text.len() > MAX_ANSWER_BYTES {
            return Err(NoAnswer::TooLong);
        }
        Ok(WrittenAnswer { text, place })
    }

    /// Where a file of the agent's program lies: in the home of the job, or where a variable says.
    fn agent_file(&self, adapter: &dyn AgentAdapter, name: &str) -> Option<PathBuf> {
        self.private_file(adapter, name).or_else(|| {
            file_in_home(&adapter.config().state, name, |variable| {
                let own = self.spec.env.get(variable).map(OsStr::new);
                own.or_else(|| Some(self.executor.env.get(OsStr::new(variable))?.as_os_str()))
            })
        })
    }
}

/// A file that may be the one.
#[derive(Debug)]
struct FoundFile {
    folder: OpenFolder,
    name: String,
}

impl FoundFile {
    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    fn open(&self) -> Result<File, FileError> {
        self.folder.file(&self.name, OFlags::RDONLY)
    }

    fn is_of(&self, config: &AnswerConfig, session: Option<&str>, cwd: &str) -> bool {
        let mut first = Vec::new();
        let read = self.open().map(|file| {
            BufReader::new(file).take(MAX_FIRST_LINE_BYTES).read_until(b'\n', &mut first)
        });
        read.is_ok_and(|read| read.is_ok())
            && config.is_of(&String::from_utf8_lossy(&first), session, cwd)
    }

    /// The end of it, and where that begins.
    fn end(&self) -> io::Result<(u64, String)> {
        let mut file = self.open()?;
        let begin = file.metadata()?.len().saturating_sub(MAX_READ_BYTES);
        file.seek(SeekFrom::Start(begin))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
        // What is cut in the middle of a character is no whole line.
        let cut = String::from_utf8(bytes);
        let text = cut.unwrap_or_else(|error| {
            let bytes = error.into_bytes();
            let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
            let blank = std::iter::repeat_n(b' ', line).chain(bytes[line..].iter().copied());
            String::from_utf8_lossy(&blank.collect::<Vec<u8>>()).into_owned()
        });
        Ok((begin, text))
    }
}

/// The files that a path with wildcards means, those aside that were last written before a time (in
/// seconds since 1970). Up to the first wildcard links are followed, because people put such
/// folders elsewhere; below it none is.
fn find(pattern: &Path, since: i64) -> Vec<FoundFile> {
    let Some(pattern) = pattern.to_str() else { return Vec::new() };
    let fixed = pattern.find('*').unwrap_or(pattern.len());
    let Some((root, rest)) = pattern[..fixed].rfind('/').map(|at| pattern.split_at(at + 1)) else {
        return Vec::new();
    };
    let Ok(root) = OpenFolder::open(Path::new(root)) else { return Vec::new() };
    let (folders, name) = rest.rsplit_once('/').unwrap_or(("", rest));
    let mut open = vec![root];
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        let below = |folder: &OpenFolder| {
            let names = folder.folders().unwrap_or_default();
            let meant = names.into_iter().filter(|name| matches(part, name));
            meant.filter_map(|name| folder.enter(&name).ok()).take(MAX_FOLDERS).collect::<Vec<_>>()
        };
        open = open.iter().flat_map(below).take(MAX_FOLDERS).collect();
    }
    let files = open.into_iter().flat_map(|folder| {
        let names = folder.names().unwrap_or_default();
        let meant = names.into_iter().filter(|each| matches(name, each));
        meant.map(move |name| FoundFile { folder: folder.clone(), name }).collect::<Vec<_>>()
    });
    let is_new = |file: &FoundFile| {
        let stat = file.folder.stat(&file.name).ok().flatten();
        stat.is_some_and(|stat| stat.st_mtime >= since)
    };
    files.filter(is_new).collect()
}

/// Whether a name is one that a pattern means, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
