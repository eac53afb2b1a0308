//! The messages for one agent, one at a time. What the agent shows goes in, what to do comes out:
//! nothing here touches a process, and time is an input.

use std::collections::VecDeque;
use std::time::Duration;

use coven_model::{AgentState, ContentDigest};
use coven_terminal::keys::{KeyCode, KeyModes, KeyModifiers, KeyPress, paste, text};

use super::{
    CLEAR_TIMEOUT, DRAFT_ECHO_PATIENCE, Delivery, DeliveryError, DeliveryProof, DeliveryStage,
    DeliveryStep, ECHO_PATIENCE, Message, PromptObstacle, PromptView, SUBMIT_TIMEOUT,
    UNSEEN_TURN_TIME, WRITE_TIMEOUT, WorkSigns, line_too_long, needle,
};

/// From how many characters on a text is looked for anywhere in the line of the prompt.
const MIN_CONTAINED_CHARS: usize = 6;

/// What an agent shows, as far as it matters for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentPrompt<'a> {
    pub(crate) state: AgentState,
    pub(crate) stability: StateStability,
    /// Since when it has shown its prompt, where it has done nothing else yet.
    pub(crate) shown_since: Option<Duration>,
    /// What a person has typed into the prompt and not submitted.
    pub(crate) draft: Option<&'a str>,
    /// When a person last typed something.
    pub(crate) person_typed: Option<Duration>,
    /// Whether that was text that was not submitted.
    pub(crate) person_wrote: bool,
    /// The whole screen without spaces and frames.
    pub(crate) screen: &'a str,
    /// The line of the cursor, the same way.
    pub(crate) line: &'a str,
    /// The row in which that line begins, counted from the first that was ever shown.
    pub(crate) row: u64,
    /// What stands before the cursor in its row, as it is.
    pub(crate) before_cursor: &'a str,
    /// What is asked at this moment where nothing but a line asks it, in words that stay.
    pub(crate) asked_words: Option<&'a [String]>,
    /// What the program has printed since something was last typed.
    pub(crate) printed: OutputSinceTyped,
    /// That line together with the one above it.
    pub(crate) prompt: &'a str,
    /// Whether the process has taken everything that was written to it.
    pub(crate) written: bool,
    /// What it asks.
    pub(crate) asked: Option<&'a ContentDigest>,
    /// Whether the terminal is known to collect lines.
    pub(crate) collects_lines: bool,
    /// Whether the program may read now what is typed.
    pub(crate) reader: InputReader,
    pub(crate) work: WorkSigns,
    /// The process that should read what is typed, if it is stopped.
    pub(crate) stopped: Option<i32>,
    /// How keys are encoded.
    pub(crate) modes: KeyModes,
    /// The keys that submit a message.
    pub(crate) submit: &'a [KeyPress],
}

/// What the program does about what is typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InputReader {
    /// It may read it now.
    #[default]
    MayRead,
    /// It does something else.
    Busy,
    /// It has done something else for so long that it is not waited for.
    Nobody,
}

/// What a program has printed since something was typed at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputSinceTyped {
    Nothing,
    Something,
    /// Among it the line that asks.
    Question,
}

/// Whether the state of an agent is what its screen says at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateStability {
    Settled,
    /// The screen says something else, which has not lasted long enough to count.
    Changing,
}

impl AgentPrompt<'_> {
    fn is_changing(&self) -> bool {
        self.stability == StateStability::Changing
    }

    /// Whether what it reads is the line of the cursor, and nothing above that.
    fn reads_lines(&self) -> bool {
        !self.modes.bracketed_paste || self.work == WorkSigns::PromptOnly
    }

    /// Until when what a person has typed may still have to show up in the prompt.
    fn keys_due(&self) -> Option<Duration> {
        let patience = if self.person_wrote { DRAFT_ECHO_PATIENCE } else { ECHO_PATIENCE };
        self.person_typed.map(|at| at + patience)
    }
}

/// What to do about a message. `S` is where it comes from, which is where its end is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeliveryEffect<S> {
    /// The message has come so far.
    Reached(u64, DeliveryStage),
    /// Note this on the tape, before what is written next.
    Note(String),
    /// Delete what another process has typed and not submitted, if there is anything: a message is
    /// typed from its beginning.
    BeginLine,
    /// Write this to the process.
    Write(Vec<u8>),
    /// Write this, which deletes a message that is not delivered, unless the process has not even
    /// read the message.
    Erase(Vec<u8>),
    /// Throw away what stands in the line of the terminal. Keys that delete it would delete what the
    /// program has printed there since.
    Discard,
    /// The message is submitted with what was just written; this is to be seen of it.
    Submitted(DeliveryProof),
    /// Look at the agent again then, if nothing changes before.
    Wake(Duration),
    /// The message is delivered, or is not.
    Ended { id: u64, source: S, result: Result<(), DeliveryError> },
}

/// The messages on their way to one agent. Only the first is under way.
#[derive(Debug)]
pub(crate) struct DeliveryQueue<S> {
    waiting: VecDeque<(Delivery, S)>,
    last_id: u64,
    /// The message that was typed last: some programs put it back into the prompt, and one that
    /// could not be submitted may still stand there.
    submitted: String,
    /// What the prompt showed before that was typed.
    prompt_before: String,
    /// Until when it is not known what came of a message of which no turn had to be seen. After that
    /// it is when the agent rests.
    unseen_until: Option<Duration>,
    /// Whether a message was submitted while the agent worked, which it still does.
    turn_has_message: bool,
    /// Whether the agent has worked since the first message was last looked at.
    worked: bool,
}

impl<S> DeliveryQueue<S> {
    /// An empty queue, after a message that the agent was given at its start.
    pub(crate) fn new(submitted: &str) -> Self {
        let submitted = submitted.to_owned();
        let waiting = VecDeque::new();
        Self {
            waiting,
            last_id: 0,
            submitted,
            prompt_before: String::new(),
            unseen_until: None,
            turn_has_message: false,
            worked: false,
        }
    }

    /// Adds a message behind all others.
    pub(crate) fn push(&mut self, message: Message, source: S, now: Duration) {
        let id = self.next_id();
        self.waiting.push_back((Delivery::new(id, message, now), source));
    }

    /// Adds a text that answers a question, before all others: they have to wait for it.
    pub(crate) fn push_answer(&mut self, answer: Message, source: S, now: Duration) {
        let id = self.next_id();
        self.waiting.push_front((Delivery::answer(id, answer, now), source));
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Where the message that is under way comes from.
    pub(crate) fn first(&self) -> Option<&S> {
        self.waiting.front().map(|(_, source)| source)
    }

    /// Whether it matters for the message under way if the program reads what is typed.
    pub(crate) fn needs_reader(&self) -> bool {
        self.waiting.front().is_some_and(|(delivery, _)| {
            delivery.answers || delivery.message.proof == DeliveryProof::None
        })
    }

    /// Whether a message stands in the prompt that is about to be submitted.
    pub(crate) fn is_typing(&self) -> bool {
        self.waiting.front().is_some_and(|(delivery, _)| delivery.is_about_to_be_submitted())
    }

    /// Takes note that the agent has worked.
    pub(crate) fn note_work(&mut self) {
        self.worked = true;
    }

    /// What keeps the next message from being typed now.
    fn obstacle(&self, agent: &AgentPrompt<'_>, now: Duration) -> PromptObstacle {
        if let Some(process) = agent.stopped {
            PromptObstacle::Stopped(process)
        } else if self.turn_has_message {
            PromptObstacle::OtherMessage
        } else if agent.state == AgentState::Working && !agent.modes.bracketed_paste {
            PromptObstacle::NotReading
        } else if let Some(until) = self.unseen_until {
            PromptObstacle::AfterUnseen(until)
        } else if agent.is_changing() && agent.state != AgentState::Working {
            PromptObstacle::Changing
        } else if agent.line != self.prompt_before && stands_in(agent.line, &self.submitted) {
            PromptObstacle::Leftover
        } else if agent.draft.is_some() {
            PromptObstacle::Draft
        } else if let Some(due) = agent.keys_due().filter(|due| now < *due) {
            PromptObstacle::Keys(due)
        } else {
            PromptObstacle::None
        }
    }

    /// Takes the messages as far as they come with what the agent shows now.
    pub(crate) fn feed(
        &mut self,
        agent: &AgentPrompt<'_>,
        now: Duration,
    ) -> Vec<DeliveryEffect<S>> {
        let mut effects = Vec::new();
        self.turn_has_message &= agent.state == AgentState::Working;
        let is_at_rest =
            matches!(agent.state, AgentState::Idle | AgentState::Error) && !agent.is_changing();
        self.unseen_until.take_if(|until| is_at_rest && *until <= now);
        loop {
            let obstacle = self.obstacle(agent, now);
            let Some((delivery, _)) = self.waiting.front_mut() else { break };
            let view = PromptView {
                state: agent.state,
                shown_since: agent.shown_since,
                obstacle,
                draft: agent.draft,
                screen: agent.screen,
                prompt: agent.prompt,
                line: agent.reads_lines().then_some(agent.line),
                row: agent.row,
                before_cursor: agent.before_cursor,
                stability: agent.stability,
                asked_words: agent.asked_words,
                printed: agent.printed,
                work: agent.work,
                worked: std::mem::take(&mut self.worked),
                written: agent.written,
                asked: agent.asked,
                collects_lines: agent.collects_lines,
                reader: agent.reader,
            };
            let before = delivery.stage();
            let step = delivery.step(&view, now);
            let reached = |stage: &DeliveryStage| *stage > before && *stage <= delivery.stage();
            let reached = DeliveryStage::ALL.into_iter().filter(reached);
            effects.extend(reached.map(|stage| DeliveryEffect::Reached(delivery.id, stage)));
            let result = match step {
                DeliveryStep::Wait(due) => {
                    effects.push(DeliveryEffect::Wake(due));
                    return effects;
                }
                DeliveryStep::Clear => {
                    let typed = self.submitted.chars().count();
                    effects.push(DeliveryEffect::Write(erase(typed, agent.modes)));
                    effects.push(DeliveryEffect::Wake(now + CLEAR_TIMEOUT));
                    return effects;
                }
                DeliveryStep::Type => match typed(&delivery.message.text, agent) {
                    Ok(bytes) => {
                        self.submitted.clone_from(&delivery.message.text);
                        agent.line.clone_into(&mut self.prompt_before);
                        let name = delivery.message.name.as_ref();
                        effects.push(DeliveryEffect::BeginLine);
                        effects.extend(name.map(|name| DeliveryEffect::Note(name.types())));
                        effects.push(DeliveryEffect::Write(bytes));
                        // What need not be seen may change nothing, and is submitted all the same.
                        let is_blind = delivery.message.proof == DeliveryProof::None;
                        let due = if is_blind { now } else { delivery.effect_due(WRITE_TIMEOUT) };
                        effects.push(DeliveryEffect::Wake(due));
                        return effects;
                    }
                    Err(reason) => Err(DeliveryError::Untypable(reason)),
                },
                DeliveryStep::Submit => {
                    self.submitted.clone_from(&delivery.message.text);
                    self.turn_has_message |= agent.state == AgentState::Working;
                    self.worked = false;
                    let name = delivery.message.name.as_ref();
                    effects.extend(name.map(|name| DeliveryEffect::Note(name.submits())));
                    let keys = agent.submit.iter().flat_map(|key| key.encode(agent.modes));
                    effects.push(DeliveryEffect::Write(keys.collect()));
                    let proof = delivery.proof(agent.reads_lines());
                    if !delivery.answers && proof != DeliveryProof::Turn {
                        self.unseen_until = Some(now + UNSEEN_TURN_TIME);
                    }
                    effects.push(DeliveryEffect::Submitted(proof));
                    effects.push(DeliveryEffect::Wake(delivery.effect_due(SUBMIT_TIMEOUT)));
                    return effects;
                }
                DeliveryStep::Done => Ok(()),
                DeliveryStep::Failed(error) => {
                    // What answers a question stands where it is answered.
                    let is_own = delivery.answers || agent.state != AgentState::Awaiting;
                    // A program that reads keys would take those that delete for an answer.
                    let stands = error != DeliveryError::MovedOn && delivery.can_be_erased(&view);
                    if matches!(error, DeliveryError::QuestionChanged | DeliveryError::NotRead) {
                        effects.push(DeliveryEffect::Discard);
                    } else if delivery.is_typed_only() && is_own && stands {
                        let typed = delivery.message.text.chars().count();
                        effects.push(DeliveryEffect::Erase(erase(typed, agent.modes)));
                    }
                    Err(error)
                }
            };
            let was_typed = result.as_ref().is_err_and(DeliveryError::was_typed);
            if let Some((Delivery { id, .. }, source)) = self.waiting.pop_front() {
                effects.push(DeliveryEffect::Ended { id, source, result });
            }
            if was_typed && !self.waiting.is_empty() {
                // What is done about this one comes first.
                effects.push(DeliveryEffect::Wake(now));
                break;
            }
        }
        effects
    }

    /// The agent has ended: no message can be delivered any more. One that was to end the agent,
    /// such as `/quit`, has been.
    /// So was a key for a program that ends upon it, if everything `is_written`.
    pub(crate) fn fail_all(&mut self, is_written: bool) -> Vec<(S, Result<(), DeliveryError>)> {
        let waiting = std::mem::take(&mut self.waiting);
        let failed = waiting.into_iter().map(|(delivery, source)| {
            let quits = delivery.stage() >= DeliveryStage::Echoed
                && delivery.message.proof != DeliveryProof::Turn;
            (source, if quits { Ok(()) } else { delivery.at_end(is_written) })
        });
        failed.collect()
    }
}

/// Whether a text that was typed before stands in the prompt. A short one may be a part of what the
/// program shows in an empty prompt, so it must be all there is.
fn stands_in(line: &str, typed: &str) -> bool {
    let needle = needle(typed);
    if needle.chars().count() < MIN_CONTAINED_CHARS {
        let marks = |char: char| !char.is_alphanumeric() && !needle.starts_with(char);
        return !needle.is_empty() && line.trim_start_matches(marks) == needle;
    }
    line.contains(&needle)
}

/// The bytes that delete so many characters before the cursor.
fn erase(characters: usize, modes: KeyModes) -> Vec<u8> {
    let key = KeyPress::new(KeyCode::Backspace, KeyModifiers::NONE);
    key.map(|key| key.encode(modes)).unwrap_or_default().repeat(characters)
}

/// The bytes that type a message.
fn typed(message: &str, agent: &AgentPrompt<'_>) -> Result<Vec<u8>, String> {
    let modes = agent.modes;
    if agent.collects_lines
        && let Some(problem) = line_too_long(message)
    {
        return Err(problem);
    }
    // A command of the program is typed, because menus open at keys and not at pastes.
    if modes.bracketed_paste && !message.starts_with('/') {
        paste(message, modes).map_err(|error| error.to_string())
    } else if message.contains(['\n', '\r']) {
        Err("it has several lines, and the program does not take pasted text now".to_owned())
    } else {
        text(message).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    static ENTER: LazyLock<[KeyPress; 1]> =
        LazyLock::new(|| [KeyPress::new(KeyCode::Enter, KeyModifiers::NONE).unwrap()]);

    /// An agent that shows this, with these words in its prompt.
    fn agent<'a>(state: AgentState, screen: &'a str, prompt: &'a str) -> AgentPrompt<'a> {
        let modes = KeyModes { bracketed_paste: true, ..KeyModes::default() };
        let (line, submit, written) = (prompt, &ENTER[..], true);
        let (shown_since, draft, person_typed, asked) = (None, None, None, None);
        AgentPrompt {
            state,
            stability: StateStability::Settled,
            shown_since,
            draft,
            person_typed,
            person_wrote: false,
            screen,
            line,
            row: 0,
            before_cursor: "",
            asked_words: None,
            printed: OutputSinceTyped::Nothing,
            prompt,
            written,
            asked,
            collects_lines: false,
            reader: InputReader::MayRead,
            work: WorkSigns::Rules,
            stopped: None,
            modes,
            submit,
        }
    }

    fn wrote<S>(effects: &[DeliveryEffect<S>]) -> Vec<u8> {
        let bytes = effects.iter().filter_map(|effect| match effect {
            DeliveryEffect::Write(bytes) | DeliveryEffect::Erase(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        bytes.collect::<Vec<_>>().concat()
    }

    fn ended<S: Clone>(effects: &[DeliveryEffect<S>]) -> Vec<(S, Result<(), DeliveryError>)> {
        let ended = effects.iter().filter_map(|effect| match effect {
            DeliveryEffect::Ended { source, result, .. } => Some((source.clone(), result.clone())),
            _ => None,
        });
        ended.collect()
    }

    fn queue(messages: &[&'static str]) -> DeliveryQueue<&'static str> {
        let mut queue = DeliveryQueue::new("");
        for message in messages {
            queue.push(Message::new(*message), *message, s(0));
        }
        queue
    }

    #[test]
    fn a_message_is_typed_submitted_and_done_and_then_the_next_one_is_typed() {
        let mut queue = queue(&["first", "second"]);
        let idle = agent(AgentState::Idle, ">", ">");
        let typed = queue.feed(&idle, s(0));
        assert_eq!(wrote(&typed), b"\x1b[200~first\x1b[201~");
        assert!(typed.contains(&DeliveryEffect::Wake(WRITE_TIMEOUT)), "it is not waited for ever");
        let echo = agent(AgentState::Idle, ">first", ">first");
        assert_eq!(wrote(&queue.feed(&echo, s(1))), b"");
        let submitted = queue.feed(&echo, s(2));
        assert_eq!(wrote(&submitted), b"\r");
        assert!(submitted.contains(&DeliveryEffect::Submitted(DeliveryProof::Turn)));
        queue.note_work();
        let done = queue.feed(&agent(AgentState::Working, "first busy", ""), s(3));
        assert_eq!(ended(&done), [("first", Ok(()))]);
        assert_eq!(done[1], DeliveryEffect::Reached(1, DeliveryStage::TurnStarted));
        assert_eq!(wrote(&done), b"\x1b[200~second\x1b[201~");
        assert_eq!(queue.first(), Some(&"second"));
    }

    #[test]
    fn a_message_that_cannot_be_typed_does_not_hold_up_the_next() {
        let mut queue = queue(&["two\nlines", "one line"]);
        let modes = KeyModes::default();
        let effects = queue.feed(&AgentPrompt { modes, ..agent(AgentState::Idle, "", "") }, s(0));
        assert!(matches!(&ended(&effects)[..], [("two\nlines", Err(DeliveryError::Untypable(_)))]));
        assert_eq!(wrote(&effects), b"one line");
    }

    #[test]
    fn a_message_that_came_back_into_the_prompt_is_deleted_before_the_next() {
        let mut queue = DeliveryQueue::new("old");
        queue.push(Message::new("new"), (), s(0));
        let effects = queue.feed(&agent(AgentState::Idle, ">old", ">old"), s(0));
        assert_eq!(wrote(&effects), [0x7f; 3]);
        let effects = queue.feed(&agent(AgentState::Idle, ">", ">"), s(1));
        assert_eq!(wrote(&effects), b"\x1b[200~new\x1b[201~");
    }

    #[test]
    fn an_answer_goes_before_messages_that_wait() {
        let mut queue = queue(&["message"]);
        queue.push_answer(Message::new("yes"), "answer", s(0));
        assert_eq!(queue.first(), Some(&"answer"));
        let effects = queue.feed(&agent(AgentState::Awaiting, "sure?", ""), s(0));
        assert_eq!(wrote(&effects), b"\x1b[200~yes\x1b[201~");
    }

    #[test]
    fn input_that_is_not_taken_fails_at_its_time_and_is_not_typed_again() {
        let mut queue = queue(&["hello"]);
        let stuck = AgentPrompt { written: false, ..agent(AgentState::Idle, "", "") };
        queue.feed(&stuck, s(0));
        let effects = queue.feed(&stuck, s(1));
        assert_eq!(effects, [DeliveryEffect::Wake(WRITE_TIMEOUT)]);
        let (reached, missing) = (DeliveryStage::Accepted, DeliveryStage::Typed);
        let error = DeliveryError::Unverified { reached, missing };
        assert_eq!(ended(&queue.feed(&stuck, WRITE_TIMEOUT)), [("hello", Err(error))]);
    }

    #[test]
    fn text_of_a_person_that_is_not_on_the_screen_yet_is_waited_for() {
        let mut queue = queue(&["hello there"]);
        let empty = agent(AgentState::Idle, ">", ">");
        let typing = AgentPrompt { person_typed: Some(s(10)), person_wrote: true, ..empty };
        assert_eq!(wrote(&queue.feed(&typing, s(12))), b"", "a slow program may show it later");
        let shown = AgentPrompt { draft: Some("my own"), ..typing };
        assert_eq!(wrote(&queue.feed(&shown, s(13))), b"");
        let keys = AgentPrompt { person_wrote: false, ..typing };
        assert_ne!(wrote(&queue.feed(&keys, s(14))), b"", "keys that are no text show nothing");
    }

    #[test]
    fn what_could_not_be_submitted_is_deleted_again_and_may_be_tried_once_more() {
        let mut queue = queue(&["hello there"]);
        queue.feed(&agent(AgentState::Idle, ">", ">"), s(0));
        let stuck = agent(AgentState::Idle, ">hellothere", ">hellothere");
        queue.feed(&stuck, s(1));
        assert_eq!(wrote(&queue.feed(&stuck, s(2))), b"\r");
        let failed = queue.feed(&stuck, s(60));
        assert!(matches!(ended(&failed)[..], [("hello there", Err(_))]));
        assert_eq!(wrote(&failed), [0x7f; 11]);
        // If it still stands there, it is deleted before it is typed again.
        queue.push(Message::new("hello there"), "again", s(61));
        assert_eq!(wrote(&queue.feed(&stuck, s(61))), [0x7f; 11]);
        let empty = agent(AgentState::Idle, ">", ">");
        assert_eq!(wrote(&queue.feed(&empty, s(62))), b"\x1b[200~hello there\x1b[201~");
    }

    #[test]
    fn a_short_text_is_back_in_the_prompt_only_if_it_is_all_there_is() {
        assert!(stands_in(">y", "y") && stands_in("❯1", "1"));
        assert!(!stands_in(">Typeyourmessage", "y") && !stands_in(">", "y"));
        assert!(stands_in(">nowwritethetests", "now write the tests"));
        assert!(!stands_in("", "") && !stands_in(">", ""));
    }

    #[test]
    fn when_the_agent_ends_only_what_was_to_end_it_has_arrived() {
        let mut queue = DeliveryQueue::new("");
        let quit = Message::new("/quit");
        queue.push(quit, "quit", s(0));
        queue.push(Message::new("more"), "more", s(0));
        queue.feed(&agent(AgentState::Idle, "", ""), s(0));
        queue.feed(&agent(AgentState::Idle, "/quit", "/quit"), s(1));
        let failed = queue.fail_all(true);
        assert_eq!(failed, [("quit", Ok(())), ("more", Err(DeliveryError::Ended))]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_program_that_reads_lines_is_not_typed_at_while_it_works() {
        let mut lines = queue(&["hello"]);
        let modes = KeyModes::default();
        let works = AgentPrompt { modes, ..agent(AgentState::Working, "", "") };
        assert_eq!(wrote(&lines.feed(&works, s(0))), b"");
        assert_eq!(wrote(&lines.feed(&works, s(1000))), b"");
        let idle = AgentPrompt { modes, ..agent(AgentState::Idle, ">", ">") };
        assert_eq!(wrote(&lines.feed(&idle, s(1001))), b"hello");
        let mut pasted = queue(&["hello"]);
        let effects = pasted.feed(&agent(AgentState::Working, "", ""), s(0));
        assert_eq!(wrote(&effects), b"\x1b[200~hello\x1b[201~");
    }

    /// An agent that reads plain lines and of which nothing but its prompt is known.
    fn line_mode<'a>(state: AgentState, screen: &'a str, line: &'a str) -> AgentPrompt<'a> {
        AgentPrompt {
            collects_lines: true,
            work: WorkSigns::PromptOnly,
            modes: KeyModes::default(),
            ..agent(state, screen, line)
        }
    }

    /// Types and submits the first message to a program that reads lines.
    fn submit_line(queue: &mut DeliveryQueue<&'static str>, text: &str) {
        assert_eq!(
            wrote(&queue.feed(&line_mode(AgentState::Idle, "IDLE>", "IDLE>"), s(0))),
            text.as_bytes()
        );
        let shown = format!("IDLE>{text}");
        let echo = line_mode(AgentState::Idle, &shown, &shown);
        assert_eq!(wrote(&queue.feed(&echo, s(1))), b"");
        assert_eq!(wrote(&queue.feed(&echo, s(2))), b"\r");
    }

    #[test]
    fn a_line_that_looks_like_a_command_is_one_like_any_other_where_lines_are_read() {
        for text in ["!reset", "/reset", "#reset"] {
            let mut queue = queue(&[text, "y"]);
            submit_line(&mut queue, text);
            // The prompt that counts as there is the one from before.
            let busy = line_mode(AgentState::Idle, "IDLE>reset", "");
            let stale = AgentPrompt { stability: StateStability::Changing, ..busy };
            assert_eq!(ended(&queue.feed(&stale, s(2))), [], "{text}");
            let working = AgentPrompt { state: AgentState::Unknown, ..busy };
            assert_eq!(wrote(&queue.feed(&working, s(5))), b"", "{text}");
            let asks = line_mode(AgentState::Idle, "IDLE>resetDelete?", "Delete?");
            let asks = AgentPrompt { stability: StateStability::Changing, ..asks };
            assert_eq!(wrote(&queue.feed(&asks, s(6))), b"", "{text}: it may be a question");
            let idle = line_mode(AgentState::Idle, "IDLE>resetokIDLE>", "IDLE>");
            assert_eq!(wrote(&queue.feed(&idle, s(7))), b"y", "{text}");
        }
    }

    #[test]
    fn after_a_command_the_next_message_waits_until_the_agent_is_seen_to_rest() {
        for first in ["/help", "!ls", "# remember"] {
            let mut queue = queue(&[first, "hello"]);
            let shown = crate::delivery::squeeze(first);
            queue.feed(&agent(AgentState::Idle, ">", ">"), s(0));
            let echo = agent(AgentState::Idle, &shown, &shown);
            queue.feed(&echo, s(1));
            assert_eq!(wrote(&queue.feed(&echo, s(2))), b"\r");
            let gone = agent(AgentState::Idle, ">", ">");
            let done = queue.feed(&gone, s(2));
            assert_eq!(ended(&done), [(first, Ok(()))]);
            assert_eq!(wrote(&done), b"", "{first}: the prompt may be the one from before");
            assert_eq!(
                wrote(&queue.feed(&agent(AgentState::Working, "", ""), s(4))),
                b"",
                "{first}"
            );
            let changing = AgentPrompt { stability: StateStability::Changing, ..gone };
            assert_eq!(wrote(&queue.feed(&changing, s(5))), b"", "{first}: a dialog perhaps");
            assert_eq!(wrote(&queue.feed(&gone, s(6))), b"\x1b[200~hello\x1b[201~");
        }
    }

    #[test]
    fn a_line_that_the_terminal_would_cut_is_not_typed() {
        let long: &'static str = "x".repeat(5000).leak();
        let mut queue = queue(&[long, "next"]);
        let idle = line_mode(AgentState::Idle, "IDLE>", "IDLE>");
        let effects = queue.feed(&idle, s(0));
        let [(_, Err(DeliveryError::Untypable(problem)))] = &ended(&effects)[..] else {
            panic!("{effects:?}")
        };
        assert!(problem.contains("5000 bytes"), "{problem}");
        assert_eq!(wrote(&effects), b"next");
        // A program with an editor of its own takes it.
        let mut queue = self::queue(&[long]);
        assert!(wrote(&queue.feed(&agent(AgentState::Idle, ">", ">"), s(0))).len() > 5000);
    }

    #[test]
    fn a_message_that_says_what_the_prompt_says_does_not_keep_others_away() {
        let mut queue = queue(&["IDLE>", "next"]);
        submit_line(&mut queue, "IDLE>");
        let idle = line_mode(AgentState::Idle, "IDLE>IDLE>okIDLE>", "IDLE>");
        queue.feed(&idle, s(3));
        let next = queue.feed(&idle, s(5));
        assert_eq!(ended(&next), [("IDLE>", Ok(()))]);
        assert_eq!(wrote(&next), b"next");
    }
}
