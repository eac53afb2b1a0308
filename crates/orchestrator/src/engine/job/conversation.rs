//! An agent's own conversation: named before it begins where the agent lets us, and gone on with
//! by the next attempt if the agent's process died in the middle of it.

use coven_adapters::AgentAdapter;
use coven_folder::{Durability, FileError, OpenFolder};
use coven_model::{AgentMode, JobOutcome, JobWork, ProcessEnding, RoundContext, TokenUsage};
use coven_runner::{AgentTask, FoundChannel, OkCodes, TypedInputs, finished, past};
use coven_store::Attempt;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::JobDetails;

/// The file of an attempt that says which conversation it is.
const CONVERSATION_FILE: &str = "conversation.json";

/// The version of that file.
const CONVERSATION_VERSION: u32 = 1;

/// What an agent is told that goes on with its conversation. What it is to do it was told before,
/// and an agent that is told again does its work twice.
const CONTINUE_PROMPT: &str = "The program you were running in ended before you were done. Look at what you \
    have done already, go on from there, and do not begin again from the start.";

/// Words in a task's own arguments that say which conversation it wants.
const CONVERSATION_ARGUMENTS: [&str; 3] = ["resume", "continue", "session"];

/// The attempt before this one.
#[derive(Debug)]
pub(crate) struct EarlierAttempt {
    pub(crate) attempt: Attempt,
    /// Whether the task has texts that are typed one after another. A new attempt types them all.
    pub(crate) queued: bool,
}

/// Which conversation an attempt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Conversation {
    version: u32,
    id: String,
    /// Whether it began in an earlier attempt.
    resumed: bool,
    /// What it had used up by then.
    #[serde(default)]
    pub(super) previous: TokenUsage,
}

impl Conversation {
    fn new(id: String, resumed: bool, previous: TokenUsage) -> Self {
        Self { version: CONVERSATION_VERSION, id, resumed, previous }
    }

    /// The conversation of the attempt in a folder, where it was known before it began.
    fn read(folder: &OpenFolder) -> Option<Self> {
        let text = folder.read(CONVERSATION_FILE).ok()??;
        let conversation: Self = serde_json::from_slice(&text).ok()?;
        (conversation.version <= CONVERSATION_VERSION).then_some(conversation)
    }

    fn write(&self, folder: &OpenFolder) -> Result<(), FileError> {
        let text = serde_json::to_vec_pretty(self);
        let text =
            text.map_err(|source| folder.error("write", CONVERSATION_FILE, source.into()))?;
        folder.replace(CONVERSATION_FILE, &text, Durability::Cache)
    }
}

impl JobDetails {
    /// Says in a task which conversation it is, and writes that down before it begins. Comes back
    /// with what the conversation has used up before.
    pub(super) fn converse(
        &self,
        adapter: &dyn AgentAdapter,
        task: &mut AgentTask,
    ) -> std::io::Result<TokenUsage> {
        let JobWork::Agent(agent) = &self.spec.work else { return Ok(TokenUsage::default()) };
        let folder = self.attempt.folder();
        if speaks_for_itself(&agent.extra_args) {
            return Ok(TokenUsage::default());
        }
        let can_resume = can_resume(adapter, task);
        let earlier = self.earlier.as_ref().filter(|_| can_resume);
        if let Some(conversation) = earlier.and_then(|it| it.died_in(adapter, task)) {
            conversation.write(folder)?;
            task.resume = Some(conversation.id);
            // One that was told nothing at the start waits for a person.
            let told = agent.review.as_deref().unwrap_or(CONTINUE_PROMPT);
            task.prompt = task.prompt.take().map(|_| told.to_owned());
            return Ok(conversation.previous);
        }
        // An agent that cannot says so when it is started. A review is told in a new one then.
        if let Some(RoundContext::Continue { conversation, used }) = &agent.context
            && (can_resume || agent.review.is_none())
        {
            if let Some(review) = &agent.review {
                task.prompt = Some(review.clone());
            }
            Conversation::new(conversation.clone(), true, *used).write(folder)?;
            task.resume = Some(conversation.clone());
            return Ok(*used);
        }
        if can_resume && chooses_id(adapter, task) {
            // As unique as one of version 7, and in the form of a random one (version 4): some
            // CLIs take no other.
            let id = uuid::Builder::from_random_bytes(*Uuid::now_v7().as_bytes());
            let id = id.into_uuid().to_string();
            Conversation::new(id.clone(), false, TokenUsage::default()).write(folder)?;
            task.new_session = Some(id);
        }
        Ok(TokenUsage::default())
    }

    /// The id of this attempt's conversation, where it was known before it began.
    pub(super) fn conversation_id(&self) -> Option<String> {
        Conversation::read(self.attempt.folder()).map(|conversation| conversation.id)
    }

    /// What this attempt's conversation had used up before it.
    pub(super) fn previous(&self) -> TokenUsage {
        let conversation = Conversation::read(self.attempt.folder());
        conversation.map(|conversation| conversation.previous).unwrap_or_default()
    }

    /// An outcome with the conversation, also in a process that adopted the job and did not see its
    /// beginning.
    pub(super) fn with_conversation(&self, mut outcome: JobOutcome) -> JobOutcome {
        let started = !matches!(outcome.ending, ProcessEnding::NotStarted);
        if outcome.agent_session.is_none() && started {
            let conversation = Conversation::read(self.attempt.folder());
            outcome.agent_session = conversation.map(|conversation| conversation.id);
        }
        outcome
    }
}

impl EarlierAttempt {
    /// The conversation in which the attempt's process died, if it can be gone on with.
    ///
    /// Only a process that was killed or vanished is gone on with. One that ended by itself, also
    /// with an error, has said what it had to say, and one that was stopped was not wanted: after
    /// those a fresh start is right. So it is if texts of a queue were typed already, because the
    /// new attempt types the whole queue; and if the agent never showed that the conversation
    /// exists, because programs refuse to go on with one they do not know.
    fn died_in(&self, adapter: &dyn AgentAdapter, task: &AgentTask) -> Option<Conversation> {
        let folder = self.attempt.path();
        let died = match self.attempt.outcome().ok()? {
            Some(outcome) => {
                matches!(outcome.ending, ProcessEnding::Lost | ProcessEnding::Signalled { .. })
            }
            // A job that ended unseen has no outcome yet.
            None => self.attempt.spawn().ok()?.is_some() && !self.attempt.is_killed().ok()?,
        };
        let sent = || !TypedInputs::read(folder).is_ok_and(|typed| typed.has_no_messages());
        if !died || (self.queued && sent()) {
            return None;
        }
        let noted = Conversation::read(self.attempt.folder());
        let previous = noted.as_ref().map(|noted| noted.previous).unwrap_or_default();
        match task.mode {
            // It names its conversation in its output, as soon as there is one.
            AgentMode::Headless => {
                if let Some(spoken) = FoundChannel::find(folder).ok()? {
                    let (id, used) = spoken.conversation()?;
                    return Some(Conversation::new(id, true, previous.plus(used)));
                }
                let any = OkCodes::Any;
                let read = finished(adapter, task.mode, &any, folder, None, previous).ok()?;
                let used = previous.plus(read.usage);
                Some(Conversation::new(read.agent_session?, true, used))
            }
            AgentMode::Interactive => {
                let begun = past(adapter, folder, u64::MAX).ok()?.begun;
                noted.filter(|_| begun).map(|noted| Conversation { resumed: true, ..noted })
            }
        }
    }
}

/// Whether the adapter says how a conversation is gone on with. Every protocol has a way.
fn can_resume(adapter: &dyn AgentAdapter, task: &AgentTask) -> bool {
    let config = adapter.config();
    if task.wants_channel() {
        return true;
    }
    let of_mode = config.modes.get(task.mode).and_then(|mode| mode.resume.as_ref());
    let of_all = config.resume.as_ref().map(|resume| &resume.args);
    of_mode.or(of_all).is_some_and(|args| !args.is_empty())
}

/// Whether the agent lets us choose the id of a new conversation. In a protocol it does not, except
/// where its conversations are named by its arguments.
fn chooses_id(adapter: &dyn AgentAdapter, task: &AgentTask) -> bool {
    let config = adapter.config();
    let channel = config.channel.as_ref().filter(|_| task.wants_channel());
    let by_arguments = channel.is_none_or(|channel| channel.resume.is_some());
    by_arguments && config.resume.as_ref().is_some_and(|resume| !resume.new_args.is_empty())
}

/// Whether a task chooses its conversation itself.
fn speaks_for_itself(extra_args: &[String]) -> bool {
    let options = extra_args.iter().filter_map(|arg| arg.strip_prefix('-'));
    options.into_iter().any(|option| match option.strip_prefix('-') {
        Some(long) => CONVERSATION_ARGUMENTS.iter().any(|word| long.contains(word)),
        None => ["c", "r", "s"].contains(&option),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_note_of_a_conversation_is_neither_read_nor_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        let (victim, other) = (path.join("victim"), path.join("other"));
        let of_other = Conversation::new("of another".to_owned(), false, TokenUsage::default());
        fs::create_dir(&other).unwrap();
        of_other.write(&OpenFolder::open_without_links(&other).unwrap()).unwrap();
        for is_symbolic in [true, false] {
            let folder = path.join(format!("attempt-{is_symbolic}"));
            fs::create_dir(&folder).unwrap();
            fs::write(&victim, "not yours").unwrap();
            for name in [CONVERSATION_FILE, "conversation.json.new"] {
                if is_symbolic {
                    symlink(&victim, folder.join(name)).unwrap();
                } else {
                    fs::hard_link(&victim, folder.join(name)).unwrap();
                }
            }
            let handle = OpenFolder::open_without_links(&folder).unwrap();
            let conversation = Conversation::new("ours".to_owned(), false, TokenUsage::default());
            conversation.write(&handle).unwrap();
            assert_eq!(Conversation::read(&handle), Some(conversation));
            assert_eq!(fs::read_to_string(&victim).unwrap(), "not yours");
            fs::remove_file(folder.join(CONVERSATION_FILE)).unwrap();
            symlink(other.join(CONVERSATION_FILE), folder.join(CONVERSATION_FILE)).unwrap();
            assert_eq!(Conversation::read(&handle), None);
        }
    }

    #[test]
    fn a_task_that_names_its_conversation_is_left_alone() {
        let own = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            speaks_for_itself(&args)
        };
        assert!(own(&["--verbose", "--continue"]) && own(&["-r", "id"]) && own(&["--resume=x"]));
        assert!(!own(&[]) && !own(&["--model", "session", "resume", "-m"]));
    }
}
