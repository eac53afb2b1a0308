//! Looking at an attempt of a task: its screen, its output, what it did, why we think so.

mod log;
mod output;
mod past;
mod recording;
mod screen;
mod transcript;

use coven_api::task::{
    AttemptQuery, LogQuery, LogText, OutputQuery, OutputText, TaskScreen, TaskTranscript,
    TranscriptQuery, VerdictExplanation,
};
use coven_model::{AgentMode, AgentVerdict, AttemptId, SessionId, TaskId};
use coven_orchestrator::TaskAccess;
use coven_runner::AgentRunner;
use coven_terminal::screen_log::LogLines;

pub(crate) use self::log::ScreenLogs;
use self::past::AttemptKey;
pub(crate) use self::past::{JournalStamp, PastAttempts};
pub use self::recording::Recording;
pub use self::transcript::TranscriptFollower;
use self::transcript::TranscriptPage;
use crate::blocking::blocking;
use crate::error::ServiceError;
use crate::find::task_id;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::text::printable;

/// A piece of what a process printed, as the request wants it.
#[derive(Clone, Debug)]
pub enum TaskOutput {
    /// The output as readable text, without terminal sequences.
    Text(OutputText),
    /// The bytes as they came.
    Raw {
        /// What the process printed, unchanged.
        bytes: Vec<u8>,
        /// Where the next piece begins.
        next: u64,
    },
}

/// An attempt that was found.
struct FoundAttempt {
    access: TaskAccess,
    /// Whether it is the newest, and its process is followed.
    live: bool,
    /// Whether nothing more will happen to it; not so before its process is there.
    over: bool,
    title: String,
}

impl Service {
    async fn find_attempt(
        &self,
        id: &str,
        task: &str,
        attempt: Option<u32>,
    ) -> Result<FoundAttempt, ServiceError> {
        let found = self.find(id).await?;
        let (sessions, session) = (found.sessions, found.id);
        let task = task_id(task)?;
        let Some(stamp) = past_journal(&sessions, &session).await else {
            return read_attempt(&sessions, &session, task, attempt).await;
        };
        let key = AttemptKey { session: session.clone(), task: task.clone(), attempt };
        let past = &self.context().past_attempts;
        if let Some(access) = past.get(&key, stamp) {
            let title = title(&session, &task);
            return Ok(FoundAttempt { access, live: false, over: true, title });
        }
        let found = read_attempt(&sessions, &session, task, attempt).await?;
        if !found.live {
            past.put(key, stamp, found.access.clone());
        }
        Ok(found)
    }

    /// What the terminal of a task shows, or showed last.
    pub async fn screen(
        &self,
        id: &str,
        task: &str,
        query: AttemptQuery,
    ) -> Result<TaskScreen, ServiceError> {
        let found = self.find_attempt(id, task, query.attempt).await?;
        screen::of(&found.access, found.live).await
    }

    /// A piece of what the process of a task printed.
    pub async fn output(
        &self,
        id: &str,
        task: &str,
        query: OutputQuery,
    ) -> Result<TaskOutput, ServiceError> {
        let FoundAttempt { access, live, .. } = self.find_attempt(id, task, query.attempt).await?;
        let raw = query.raw.unwrap_or(false);
        let (folder, log) = (access.folder, access.log);
        let piece = blocking(move || {
            if folder.as_os_str().is_empty() {
                return output::read_log(&log, &query);
            }
            output::read(&folder, &query, !raw)
        })
        .await?;
        if raw {
            return Ok(TaskOutput::Raw { bytes: piece.bytes, next: piece.next });
        }
        Ok(TaskOutput::Text(OutputText {
            attempt: access.attempt,
            offset: piece.offset,
            next: piece.next,
            end: piece.end,
            live,
            dropped: piece.dropped,
            text: coven_terminal::sanitise::strip(&piece.bytes).into_owned(),
        }))
    }

    /// What the terminal of a task showed, line by line.
    pub async fn log(
        &self,
        id: &str,
        task: &str,
        query: LogQuery,
    ) -> Result<LogText, ServiceError> {
        let FoundAttempt { access, live, .. } = self.find_attempt(id, task, query.attempt).await?;
        let TaskAccess { attempt, folder, log, mode, .. } = access;
        if mode == AgentMode::Headless {
            return Err(ServiceError::NoTerminal(attempt.task));
        }
        let context = self.context().clone();
        let read = blocking(move || {
            if folder.as_os_str().is_empty() {
                return log::read_file(&log, query);
            }
            context.screen_logs.read(&folder, query)
        });
        let log::FoundLines { found, dropped } = read.await?;
        let LogLines { first, lines, standing } = found;
        Ok(LogText { attempt, first, lines, standing: standing as u64, dropped, live })
    }

    /// What the agent of a task without a terminal said and did, readable.
    pub async fn transcript(
        &self,
        id: &str,
        task: &str,
        query: TranscriptQuery,
    ) -> Result<TaskTranscript, ServiceError> {
        let FoundAttempt { access, live, .. } = self.find_attempt(id, task, query.attempt).await?;
        let (attempt, service) = (access.attempt.clone(), self.clone());
        let page = blocking(move || transcript::read(&service, &access, live, &query)).await?;
        let TranscriptPage { entries, next, more, dropped, usage } = page;
        Ok(TaskTranscript { attempt, entries, next, more, dropped, usage, live })
    }

    /// The same as it happens, from an entry on.
    pub async fn follow_transcript(
        &self,
        id: &str,
        task: &str,
        query: TranscriptQuery,
    ) -> Result<TranscriptFollower, ServiceError> {
        TranscriptFollower::begin(self.clone(), id, task, query).await
    }

    /// The recording of a task, as an asciicast file.
    pub async fn recording(
        &self,
        id: &str,
        task: &str,
        query: AttemptQuery,
    ) -> Result<Recording, ServiceError> {
        let FoundAttempt { access, title, .. } = self.find_attempt(id, task, query.attempt).await?;
        let file_name = format!("{}.{}.cast", access.attempt.task, access.attempt.attempt);
        Recording::begin(access.folder, title, file_name).await
    }

    /// Why we think that the agent of a task does what we say.
    pub async fn explain(&self, id: &str, task: &str) -> Result<VerdictExplanation, ServiceError> {
        let FoundAttempt { access, live, .. } = self.find_attempt(id, task, None).await?;
        let verdict = access.agent.as_ref().map(AgentRunner::verdict);
        let words = match &verdict {
            Some(verdict) => words(verdict),
            None if access.headless.is_some() => {
                "it runs without a terminal; it is working until its process ends".to_owned()
            }
            None => format!("its process is not followed; the task is {}", access.status),
        };
        let since = access.agent.as_ref().map(AgentRunner::since);
        let mut lines = screen::of(&access, live).await?.lines;
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let TaskAccess { attempt, adapter, mode, .. } = access;
        Ok(VerdictExplanation { attempt, adapter, mode, verdict, since, words, lines })
    }
}

/// The journal of a session that is not in memory, as it is now.
async fn past_journal(sessions: &Sessions, id: &SessionId) -> Option<JournalStamp> {
    if sessions.controller(id).is_some() {
        return None;
    }
    let (base_dir, id) = (sessions.entry(id)?.base_dir, id.clone());
    blocking(move || Ok::<_, ServiceError>(JournalStamp::of(&base_dir, &id))).await.ok()?
}

/// Finds an attempt by what its session says.
async fn read_attempt(
    sessions: &Sessions,
    session: &SessionId,
    task: TaskId,
    attempt: Option<u32>,
) -> Result<FoundAttempt, ServiceError> {
    let mut access = sessions.task(session, &task).await?;
    let title = title(session, &task);
    let newest = access.attempt.attempt;
    let wanted = attempt.unwrap_or(newest);
    if wanted == newest {
        let live = access.agent.is_some() || access.headless.is_some();
        let over = !live && access.status.is_final();
        return Ok(FoundAttempt { access, live, over, title });
    }
    let attempt = AttemptId { task, attempt: wanted };
    let Some(folder) = sessions.attempt_folder(session, &attempt).await? else {
        return Err(ServiceError::UnknownAttempt { wanted, newest });
    };
    (access.folder, access.attempt) = (folder, attempt);
    (access.agent, access.headless) = (None, None);
    Ok(FoundAttempt { access, live: false, over: true, title })
}

fn title(session: &SessionId, task: &TaskId) -> String {
    format!("{session} {task}")
}

/// What was seen where, by which rule.
fn words(verdict: &AgentVerdict) -> String {
    use coven_model::{EvidenceSource as Source, is_report_rule};
    let doing = match verdict.kind {
        Some(kind) => format!("{} ({kind})", verdict.state),
        None => verdict.state.to_string(),
    };
    let evidence = &verdict.evidence;
    let (rule, region) = (&evidence.rule, &evidence.region);
    let why = match evidence.source {
        Source::Channel if is_report_rule(rule) => {
            format!("the program reported it by itself (`{rule}`)")
        }
        Source::Channel if rule.is_empty() => {
            "it has said nothing in its own protocol so far".to_owned()
        }
        Source::Channel if region.is_empty() => {
            format!("the program says so in its own protocol (`{rule}`)")
        }
        Source::Channel => format!("the program says so in its own protocol (`{rule}` {region})"),
        Source::Signal => format!("the program says so itself by the signal `{rule}`"),
        Source::Title => format!("the rule `{rule}` matched the window title"),
        Source::Screen => format!("the rule `{rule}` matched the screen ({region})"),
        Source::Generic => format!(
            "no rule of the adapter knows the screen, but `{rule}` means the same in any program"
        ),
        Source::Transcript => format!("its output says so (`{rule}`)"),
        Source::Quiet => "nothing was printed for a while".to_owned(),
        Source::Process => "its process started or ended".to_owned(),
    };
    if evidence.text.is_empty() {
        return format!("{doing}: {why}");
    }
    format!("{doing}: {why}: “{}”", printable(evidence.text.trim()))
}
