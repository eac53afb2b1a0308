//! An agent that is spoken to in its own protocol: what it says is told, what it is owed is written.

mod overdue;
mod reader;
#[cfg(test)]
mod tests;

use std::time::Duration;

use coven_adapters::channel::{
    ChannelDirection, ChannelEvent, ChannelOrder, ChannelPhase, ResolvedBy, TurnEnding,
};
use coven_adapters::transcript::TranscriptItem;
use coven_adapters::visible::visible;
use coven_model::JobOutcome;
use coven_runtime::domain::PaneStream;
use coven_runtime::hold::SNAP_EVERY;

pub(crate) use reader::{ChannelProgress, ChannelReader};

use super::handle::{AnswerReply, DeliveryReply};
use super::reader::{AgentReader, UnsavedOutput};
use super::terminal::SNAP_AFTER_REST;
use super::{OutputReading, RunnerActor};
use crate::answer::{AnswerAction, AnswerError, GivenAnswer};
use crate::channel::{asked, decision, not_seen};
use crate::delivery::{DeliveryError, Message, answers};
use crate::event::{RunnerEvent, ShownState};
use crate::mark;
use crate::outcome::OutcomeCause;
use crate::saved_channel::SavedChannel;
use overdue::Overdue;

impl RunnerActor {
    /// Takes output of an agent with a protocol in.
    pub(super) fn hear(&mut self, stream: PaneStream, bytes: &[u8]) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if stream == PaneStream::Error {
            return channel.complain(bytes);
        }
        let events = channel.feed(ChannelDirection::Out, bytes);
        self.note_unsaved(bytes.len());
        self.heard(events);
        self.speak();
    }

    fn note_unsaved(&mut self, bytes: usize) {
        let now = self.now();
        if let AgentReader::Channel(channel) = &mut self.reader {
            channel.unsaved.bytes += bytes as u64;
            channel.unsaved.last = now;
        }
    }

    /// Saves what is folded of the conversation, at rest or every few megabytes: long before a part
    /// of the tape that has it is dropped.
    pub(super) fn save_channel(&mut self) {
        let (now, offset) = (self.now(), self.output.offset());
        let (Some(folder), AgentReader::Channel(channel)) = (&self.folder, &mut self.reader) else {
            return;
        };
        let UnsavedOutput { bytes, last } = channel.unsaved;
        let is_due = bytes >= SNAP_EVERY || (bytes > 0 && now >= last + SNAP_AFTER_REST);
        // The mark has to be behind all input that the state knows of.
        if !is_due || !self.input.is_written() || !channel.may_be_saved() {
            return;
        }
        channel.unsaved = UnsavedOutput { bytes: 0, last: now };
        // What could not be saved is folded from the tape instead.
        if let Ok(saved) = SavedChannel::of(&channel.progress(), offset)
            && self.pane.mark(saved.mark()).is_ok()
            && saved.save(folder, channel.slot).is_ok()
        {
            channel.slot = channel.slot.other();
        }
    }

    /// Tells what was said, in either direction.
    fn heard(&mut self, events: Vec<ChannelEvent>) {
        for event in events {
            let AgentReader::Channel(channel) = &mut self.reader else { return };
            match event {
                ChannelEvent::Session { id, model } => {
                    self.session = Some(id.clone());
                    self.told_item(TranscriptItem::Session { id, model });
                }
                ChannelEvent::Working => {
                    channel.began_turn();
                    self.report_channel();
                }
                ChannelEvent::NotTaken(prompt) => {
                    let message = prompt.error.clone();
                    let fatal = prompt.is_first;
                    channel.did_not_take(prompt);
                    self.report_channel();
                    self.told_item(TranscriptItem::Error { message, fatal });
                    self.tell_untaken();
                }
                ChannelEvent::Idle(outcome) => {
                    // What is to be said next goes on with the work.
                    let is_over = channel.waiting.is_empty();
                    channel.ended_turn(outcome);
                    let ended = channel.end_of_turn().filter(|_| is_over);
                    self.report_channel();
                    if let Some(ended) = ended {
                        self.tell(ended);
                    }
                }
                ChannelEvent::Asks(_) => {
                    self.report_channel();
                    self.tell_request();
                }
                ChannelEvent::Resolved { request, by, .. } => {
                    let told = channel.told.take_if(|(told, _)| *told == request);
                    self.report_channel();
                    if let Some((_, digest)) = told {
                        self.tell(RunnerEvent::NoLongerAwaiting(digest));
                    }
                    // After an answer of ours the next follows when the answer is confirmed.
                    if by == ResolvedBy::Agent {
                        self.tell_request();
                    }
                }
                ChannelEvent::Usage { usage, cumulative } => {
                    self.told_item(TranscriptItem::Usage { usage, cumulative });
                }
                ChannelEvent::Limit(limit) => {
                    self.told_item(TranscriptItem::Warning { message: limit.text });
                }
                ChannelEvent::Unheard { text } => channel.says_next(text),
                ChannelEvent::Failed { message, error } => {
                    channel.refused(&message, &error);
                    self.told_item(TranscriptItem::Error { message: error, fatal: true });
                }
                ChannelEvent::Item { item } => self.told_item(item),
                ChannelEvent::Unknown { line, .. } => {
                    self.told_item(TranscriptItem::Unknown { line });
                }
                ChannelEvent::Unread { problem } => {
                    let problem = visible(&self.redactor.clean(&problem));
                    self.tell(RunnerEvent::Unexplained(vec![problem]));
                }
                ChannelEvent::Mode { .. } | ChannelEvent::Replayed { .. } => {}
            }
        }
    }

    /// Tells of a message that the agent did not take, if there is one.
    fn tell_untaken(&self) -> bool {
        let lines = self.untaken_lines();
        let is_untaken = lines.is_some();
        if let Some(lines) = lines {
            self.tell(RunnerEvent::Unexplained(lines));
        }
        is_untaken
    }

    /// What a person reads of it.
    fn untaken_lines(&self) -> Option<Vec<String>> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        let lines = channel.untaken()?;
        Some(lines.iter().map(|line| visible(&self.redactor.clean(line))).collect())
    }

    /// Begins a conversation, or goes on with one that was found.
    pub(super) fn begin_channel(&mut self) {
        if matches!(self.reader, AgentReader::Channel(_)) {
            self.tell_found();
            self.speak();
        }
    }

    /// Tells how an agent was found that went on while nothing followed it: it may have asked or
    /// ended its turn meanwhile, and will not say so again.
    fn tell_found(&mut self) {
        self.report_channel();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let is_idle = channel.codec.state().phase == ChannelPhase::Idle;
        let ended = channel.end_of_turn().filter(|_| is_idle);
        let missed = channel.missed;
        self.tell_request();
        if self.tell_untaken() {
            return;
        }
        if let Some(ended) = ended {
            self.tell(ended);
        } else if missed > 0 {
            let line = format!(
                "{missed} bytes of what the agent said while nothing followed it are no longer \
                 kept; if it asked something there, nobody knows of it"
            );
            self.tell(RunnerEvent::Unexplained(vec![line]));
        }
    }

    /// Tells the question that is open the longest, if none was told. An agent that runs tools side
    /// by side asks about several at a time; the others follow when that one is answered.
    fn tell_request(&mut self) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if channel.told.is_some() {
            return;
        }
        let Some(question) = channel.codec.open().next() else { return };
        let told = asked(question, channel.plan.cwd.as_deref(), &self.redactor);
        channel.told = Some((question.request.clone(), told.digest.clone()));
        self.tell(RunnerEvent::Awaiting(told));
    }

    fn told_item(&self, item: TranscriptItem) {
        // The id of the conversation is known from the event itself.
        drop(self.published.tell_entries(vec![item]));
    }

    /// Publishes what the agent does, if that changed.
    fn report_channel(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        let mut verdict = channel.verdict();
        verdict.evidence.text = self.redactor.clean(&verdict.evidence.text);
        verdict.evidence.region = self.redactor.clean(&verdict.evidence.region);
        let known = self.published.verdict.borrow().clone();
        if (known.state, known.kind, &known.digest)
            != (verdict.state, verdict.kind, &verdict.digest)
        {
            self.published.set_verdict(verdict, Some(mark::now()));
        }
    }

    /// Writes what is due, and the messages that the agent can take.
    fn speak(&mut self) {
        loop {
            let AgentReader::Channel(channel) = &mut self.reader else { return };
            if let Some(bytes) = channel.codec.due(&channel.plan) {
                self.say(&bytes);
                continue;
            }
            // What follows a message that was not taken waits with it for a person.
            if channel.untaken.is_some() {
                break;
            }
            let Some((message, _)) = channel.waiting.front() else { break };
            let order = ChannelOrder::Prompt { text: message.text.clone() };
            let Ok(said) = channel.codec.say(&order) else { break };
            let Some((message, reply)) = channel.waiting.pop_front() else { break };
            if let Some(name) = &message.name {
                drop(self.pane.mark(&name.submits()));
            }
            self.say(&said.bytes);
            reply.end(Ok(()));
        }
        self.end_failed();
    }

    /// Writes a message of the protocol, which counts from then on.
    fn say(&mut self, bytes: &[u8]) {
        self.write(bytes);
        self.took(bytes);
    }

    /// A message was written.
    fn took(&mut self, bytes: &[u8]) {
        self.flush();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let events = channel.feed(ChannelDirection::In, bytes);
        self.note_unsaved(bytes.len());
        self.heard(events);
    }

    /// Ends an agent that cannot go on: its turn failed, or it refused the conversation.
    fn end_failed(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        let Some(outcome) = channel.failed() else { return };
        let session = outcome.agent_session.or_else(|| self.session.clone());
        let outcome = JobOutcome { agent_session: session, ..outcome };
        self.stop(OutcomeCause::Completed(Box::new(outcome)));
    }

    /// Queues a message until the agent is idle.
    pub(super) fn tell_agent(&mut self, message: Message, reply: DeliveryReply) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        if channel.failure.is_some() {
            return reply.end(Err(DeliveryError::Ended));
        }
        channel.untaken = None;
        channel.waiting.push_back((message, reply));
        self.speak();
    }

    /// Gives an answer to the question that it is for.
    pub(super) fn reply_to_agent(&mut self, answer: &GivenAnswer, reply: AnswerReply) {
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        let open = channel.codec.open().find(|question| question.digest() == answer.digest);
        let Some(question) = open else {
            // An answer that another process wrote before it died was given.
            let given = answer.typed > 0;
            return reply.end(if given { Ok(()) } else { Err(AnswerError::Stale) });
        };
        let folder = channel.plan.cwd.as_deref();
        if let Some(error) = not_seen(question, &answer.action, folder, &self.redactor) {
            return reply.end(Err(error));
        }
        let said = decision(question, &answer.action).and_then(|decision| {
            let order = ChannelOrder::Answer { request: question.request.clone(), decision };
            channel.codec.say(&order).map_err(|refusal| AnswerError::Refused(refusal.to_string()))
        });
        let said = match said {
            Ok(said) => said,
            Err(error) => return reply.end(Err(error)),
        };
        if let Some(name) = &answer.name {
            drop(self.pane.mark(&answers(name)));
        }
        // Words that the protocol has no place for are the next message of the session.
        if let AnswerAction::Secret(text) = &answer.action {
            self.redactor.add(text.clone());
            // The tape keeps its length alone; that the request is over shows by what the agent says.
            self.write_secret(&said.bytes);
            self.took(&said.bytes);
        } else {
            self.say(&said.bytes);
        }
        reply.end(Ok(()));
        self.tell_request();
        self.speak();
    }

    /// Ends the turn that runs.
    pub(super) fn interrupt_agent(&mut self) {
        let AgentReader::Channel(channel) = &self.reader else { return };
        // An agent without a turn has nothing to be interrupted in.
        if let Ok(said) = channel.codec.say(&ChannelOrder::Interrupt) {
            self.say(&said.bytes);
            self.speak();
        }
    }

    /// What the agent does, for somebody who has to be told again.
    pub(super) fn shown_by_channel(&self) -> Option<ShownState> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        if let Some(question) = channel.codec.open().next() {
            let folder = channel.plan.cwd.as_deref();
            return Some(ShownState::Asks(Box::new(asked(question, folder, &self.redactor))));
        }
        if let Some(lines) = self.untaken_lines() {
            return Some(ShownState::Unexplained(lines));
        }
        let is_idle = channel.codec.state().phase == ChannelPhase::Idle;
        let last = channel.last.as_ref().map(|last| &last.ending);
        Some(match last {
            _ if !is_idle => ShownState::Other,
            Some(TurnEnding::Interrupted) => ShownState::Interrupted,
            last => ShownState::Rests { worked: last == Some(&TurnEnding::Completed) },
        })
    }

    pub(super) fn channel_answer(&self) -> Option<String> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        channel.answer()
    }

    /// Does what is due by the clock: a person hears of an agent that does not begin, and one that
    /// has closed its output is ended.
    pub(super) fn watch_channel(&mut self) {
        let now = self.now();
        let is_silent = self.reading == OutputReading::Ended || self.pane.output_is_closed();
        let has_closed = is_silent && self.pane.is_alive();
        let bound = self.adapter.config().start_bound();
        let AgentReader::Channel(channel) = &mut self.reader else { return };
        match channel.overdue(now, has_closed, bound) {
            Some(Overdue::Start(lines)) => {
                let lines = lines.iter().map(|line| self.redactor.clean(line)).collect();
                self.tell(RunnerEvent::Unexplained(lines));
            }
            Some(Overdue::End) => self.end_failed(),
            None => {}
        }
    }

    pub(super) fn channel_deadline(&self) -> Option<Duration> {
        let AgentReader::Channel(channel) = &self.reader else { return None };
        let can_save = self.folder.is_some() && self.input.is_written() && channel.may_be_saved();
        let save =
            (can_save && channel.unsaved.bytes > 0).then(|| channel.unsaved.last + SNAP_AFTER_REST);
        let bound = self.adapter.config().start_bound();
        [channel.overdue_at(bound), save].into_iter().flatten().min()
    }
}
