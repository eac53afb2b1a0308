//! What happens on an agent's terminal: requests, looking, asking, saving.

use std::time::Duration;

use coven_adapters::hook::HookEvent;
use coven_model::{
    AgentState, AgentVerdict, AwaitingKind, ContentDigest, StateMark, TerminalSize, Timestamp,
    is_generic_rule,
};
use coven_runtime::hold::{HolderFolder, SNAP_EVERY, ScreenSnap};
use coven_terminal::keys::{KeyModes, paste};
use coven_terminal::screen::{FORGET_SCREEN, GridSize};

use super::handle::Request;
use super::question::{QuestionDetails, ReportedQuestion};
use super::reader::{
    AgentReader, MessageSource, PendingTurn, PromptAge, TerminalReader, UnsavedOutput,
};
use super::{LineTypist, RunnerActor};
use crate::agent::AgentView;
use crate::delivery::{DeliveryError, DeliveryProof};
use crate::event::{RunnerEvent, ScreenQuestion, ShownState};

/// How long the screen must rest before it is saved.
pub(super) const SNAP_AFTER_REST: Duration = Duration::from_secs(1);

/// How long an agent that lost a part of its output has another size: long enough to be noticed.
const REPAINT_TIME: Duration = Duration::from_millis(300);

/// How long a person's keys wait for a message to be submitted.
const MAX_KEY_HOLD: Duration = Duration::from_secs(2);

/// The rule that sees buttons in any program.
const BUTTONS_RULE: &str = "generic:buttons";

/// What is told about buttons that offer no entries.
const UNSEEN_BUTTON: &str = "It does not show which of its buttons Enter would press, so none can be \
    chosen from here: attach to it, or answer with the text that you would type there.";

/// What is told about a question that only Enter answers, on a terminal that may not show all of it.
/// Its entry cannot be chosen, because nobody has seen what else there may be.
const ENTER_ALONE: &str = "An empty answer presses Enter.";

/// The byte of Ctrl+C, which waits for nothing.
const CTRL_C: u8 = 3;

impl RunnerActor {
    pub(super) fn request(&mut self, request: Request) {
        match request {
            Request::Send { message, reply } => {
                // Nothing but Enter is sent only where nothing has to be seen of it.
                if message.text.trim().is_empty() && message.proof != DeliveryProof::None {
                    reply.end(Err(DeliveryError::Empty));
                } else if self.has_channel() {
                    self.tell_agent(message, reply);
                } else {
                    self.deliver(message, MessageSource::Caller(reply));
                }
            }
            Request::Paste { text, reply } => {
                let typed = self.key_modes().ok_or(DeliveryError::Ended).and_then(|modes| {
                    paste(&text, modes).map_err(|error| DeliveryError::Untypable(error.to_string()))
                });
                reply.end(typed.map(|bytes| self.write_of_person(&bytes)));
            }
            Request::Keys(keys) => {
                if let Some(modes) = self.key_modes() {
                    for key in keys {
                        self.write_of_person(&key.encode(modes));
                    }
                }
            }
            Request::Bytes(bytes) => self.write_of_person(&bytes),
            // A process that has ended has no input to close.
            Request::CloseInput => drop(self.pane.close_input()),
            Request::Resize(size) => {
                self.task.size = size;
                self.resize_by_request(size);
            }
            Request::ViewerSize(size) => {
                self.resize_by_request(size.unwrap_or(self.task.size));
            }
            Request::Interrupt(reply) if self.has_channel() => {
                self.interrupt_agent();
                reply.end(Ok(()));
            }
            Request::Interrupt(reply) => self.interrupt_when_started(reply),
            Request::Answer { answer, reply } if self.has_channel() => {
                self.reply_to_agent(&answer, reply);
            }
            Request::Answer { answer, reply } => self.answer(answer, reply),
            Request::LastAnswer(reply) => reply.end(self.channel_answer()),
            Request::Report(event) => self.take_report(event),
            Request::View(reply) => {
                let offset = self.output.offset();
                if let AgentReader::Terminal(terminal) = &mut self.reader {
                    let (snapshot, dump) = terminal.screen.view();
                    reply.end(AgentView { snapshot, dump, offset, resizes: terminal.resizes });
                }
            }
            Request::Shown(reply) => {
                self.drain();
                let shown = self.shown_by_channel().unwrap_or_else(|| self.shown());
                reply.end(shown);
            }
            Request::Stop(reply) => self.stop_for(reply),
            // The loop that takes requests has seen to it.
            Request::Detach(_) => {}
        }
    }

    /// Takes what the agent reports by itself, and notes it for the next process that follows the
    /// agent.
    fn take_report(&mut self, event: HookEvent) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        // What it says already needs no further note, however often it comes.
        if terminal.sniffer.reported() == event.after(terminal.sniffer.reported()) {
            return;
        }
        terminal.sniffer.report(event, now);
        terminal.pace.changed(now);
        // A report is one witness of several; the others are on the tape anyhow.
        drop(self.pane.mark(&event.mark()));
    }

    /// Whether what is typed now must not be recorded.
    fn asks_for_secret(&self) -> bool {
        let AgentReader::Terminal(terminal) = &self.reader else { return false };
        let verdict = terminal.sniffer.verdict();
        let is_secret = verdict.state == AgentState::Awaiting
            && self.adapter.config().is_secret(&verdict.evidence.rule);
        is_secret || self.hides_line()
    }

    fn resize_by_request(&mut self, size: GridSize) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let is_repainting = terminal.repaint.take().is_some();
        if is_repainting || terminal.screen.size() != size {
            self.resize(size);
        }
    }

    fn resize(&mut self, size: GridSize) {
        let now = self.now();
        // A process that has ended needs no size; its last screen can still be looked at in another
        // one.
        drop(self.pane.resize(size));
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.resize(size, now);
            let number = terminal.resizes;
            self.tell(RunnerEvent::Resized { size, number });
        }
    }

    /// A part of the output is lost, so neither the screen nor what the agent signalled is what it
    /// was: both are forgotten. Programs paint anew when their terminal gets another width.
    pub(crate) fn repaint(&mut self) {
        let due = self.now() + REPAINT_TIME;
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        terminal.sniffer.forget_signals();
        terminal.screen.feed(FORGET_SCREEN);
        let now = terminal.screen.screen().size();
        let size = terminal.repaint.map_or(now, |(size, _)| size);
        terminal.repaint = Some((size, due));
        let columns = if size.columns > 2 { size.columns - 1 } else { size.columns + 1 };
        self.resize(GridSize::new(columns, size.rows));
    }

    /// Gives the agent back the size that it had before it was made to paint anew.
    fn end_repaint(&mut self) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        if let Some((size, _)) = terminal.repaint.take_if(|(_, due)| *due <= now) {
            self.resize(size);
        }
    }

    /// How keys are encoded; nothing without a terminal.
    fn key_modes(&self) -> Option<KeyModes> {
        match &self.reader {
            AgentReader::Terminal(terminal) => Some(terminal.screen.key_modes()),
            AgentReader::Transcript(_) | AgentReader::Channel(_) => None,
        }
    }

    fn has_channel(&self) -> bool {
        matches!(self.reader, AgentReader::Channel(_))
    }

    /// Writes what a person types. While a message stands in the prompt that is about to be
    /// submitted, it waits: it would be sent along.
    fn write_of_person(&mut self, bytes: &[u8]) {
        if !is_focus_report(bytes) {
            self.give_up_answer();
        }
        let (now, is_secret) = (self.now(), self.asks_for_secret());
        let collects_lines = self.collects_lines();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return self.write(bytes) };
        if collects_lines {
            terminal.keyboard.line.typed(bytes, is_secret, LineTypist::Person);
        }
        terminal.keyboard.gave(bytes, collects_lines, now);
        terminal.has_secret_leftover = false;
        let is_urgent = bytes.contains(&CTRL_C);
        if is_secret && (is_urgent || !terminal.answer.is_typed()) {
            return self.write_secret(bytes);
        }
        if terminal.answer.is_typed() && !is_urgent {
            return self.hold_keys(bytes);
        }
        terminal.keyboard.begins_at(|| terminal.screen.snapshot().before_cursor());
        terminal.keyboard.pressed(bytes, now);
        if is_urgent || !terminal.deliveries.is_typing() {
            self.release_keys();
            return self.write(bytes);
        }
        self.hold_keys(bytes);
    }

    /// Keeps keys until what stands in the prompt is submitted.
    fn hold_keys(&mut self, bytes: &[u8]) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        terminal.keyboard.held.extend_from_slice(bytes);
        let due = *terminal.keyboard.due.get_or_insert(now + MAX_KEY_HOLD);
        terminal.wake_at(due);
    }

    /// Writes the keys that waited for a message to be submitted.
    fn release_keys(&mut self) {
        let (now, is_secret) = (self.now(), self.asks_for_secret());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let is_typing = terminal.deliveries.is_typing() || terminal.answer.is_typed();
        let keyboard = &mut terminal.keyboard;
        let is_due = keyboard.due.is_some_and(|due| due <= now);
        if keyboard.held.is_empty() || (is_typing && !is_due) {
            return;
        }
        keyboard.due = None;
        let held = std::mem::take(&mut keyboard.held);
        if is_secret { self.write_secret(&held) } else { self.write(&held) }
    }

    /// Makes sure that the screen is looked at again at a time.
    pub(super) fn wake_at(&mut self, due: Duration) {
        if let AgentReader::Terminal(terminal) = &mut self.reader {
            terminal.wake_at(due);
        }
    }

    pub(super) fn reader_deadline(&self) -> Option<Duration> {
        let AgentReader::Terminal(terminal) = &self.reader else { return None };
        let save = (self.folder.is_some() && terminal.unsaved.bytes > 0)
            .then(|| terminal.unsaved.last + SNAP_AFTER_REST);
        [terminal.deadline(), save].into_iter().flatten().min()
    }

    /// Looks at the screen if it is time to, and does what follows from it.
    pub(super) fn look(&mut self) {
        self.end_repaint();
        // What is about to be pressed answers what is asked at that moment.
        let presses = |terminal: &TerminalReader| {
            terminal.deliveries.is_typing() || terminal.answer.presses_more()
        };
        if matches!(&self.reader, AgentReader::Terminal(terminal) if presses(terminal)) {
            self.drain();
        }
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let is_held = terminal.screen.modes().synchronized;
        let due = terminal.pace.next_read(is_held);
        let is_half_painted = is_held && due.is_some_and(|due| due > now);
        let mut snapshot = None;
        let presses_keys = terminal.answer.is_keys() && terminal.answer.presses_more();
        if due.is_some_and(|due| due <= now || (presses_keys && !is_held)) {
            snapshot = Some(terminal.look(now));
        }
        terminal.sniffer.tick(now);
        let is_unexplained = terminal.sniffer.take_unexplained(now);
        let is_woken = terminal.take_wakes(now);
        let is_pressed =
            terminal.answer.is_pressing() && !is_half_painted && (is_woken || snapshot.is_some());
        if is_pressed || !terminal.deliveries.is_empty() {
            let snapshot = snapshot.unwrap_or_else(|| terminal.screen.snapshot());
            self.report();
            self.press_keys(&snapshot, now);
            self.advance_deliveries(&snapshot);
        } else {
            self.report();
        }
        self.release_keys();
        self.release_interrupts();
        if is_unexplained {
            self.tell_unexplained();
        }
        self.release_answer();
        self.next_input();
        self.save();
    }

    /// Publishes what changed since the last report: the verdict, questions, and the end of a turn.
    pub(super) fn report(&mut self) {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let verdict = terminal.sniffer.verdict().clone();
        let known = self.published.verdict.borrow().clone();
        let retry = terminal.retry.as_ref().map(|retry| self.redactor.clean_retry(retry));
        let changed = (known.state, known.kind, &known.digest)
            != (verdict.state, verdict.kind, &verdict.digest)
            || (verdict.state == AgentState::Working && known.retry.as_deref() != retry.as_ref());
        terminal.prompt = terminal.prompt.after(verdict.state, now);
        let rests = matches!(verdict.state, AgentState::Idle | AgentState::Error);
        // The prompt may be the one from before the last input, with a question below it.
        let turn_ended = rests && terminal.is_settled() && terminal.end_turn(now);
        // An answer on its way changes what is shown; that is no new question.
        let answering = terminal.is_answering();
        if let Some(asked) = terminal.question.as_mut().filter(|_| answering)
            && let Some(digest) = &verdict.digest
        {
            asked.shown.clone_from(digest);
        }
        let is_cut = is_cut(terminal, self.adapter.config().usable_size());
        let gone = terminal
            .question
            .take_if(|asked| !answering && asked.is_replaced(verdict.digest.as_ref(), is_cut));
        if terminal.question.is_none() {
            let repeated = terminal.sniffer.question_is_repeated();
            terminal.question = verdict
                .digest
                .clone()
                .map(|digest| ReportedQuestion::seen(digest, is_cut, repeated, gone.as_ref(), now));
        }
        self.know_question(&verdict, now);
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let asked = terminal
            .question
            .as_mut()
            .and_then(|asked| asked.take_due(now).then(|| asked.reported.clone()));
        if let Some(due) = terminal.question.as_ref().and_then(ReportedQuestion::tell_at) {
            terminal.wake_at(due);
        }
        if changed {
            self.report_verdict(verdict.clone(), now);
        } else if !terminal.history.is_noted {
            let since = terminal.history.born;
            self.note_state(&verdict, since);
        }
        if let Some(gone) = gone.filter(ReportedQuestion::is_missed) {
            self.tell(RunnerEvent::NoLongerAwaiting(gone.reported));
        }
        if let Some(question) = asked.and_then(|digest| self.question(&verdict, digest)) {
            self.tell_asked(question);
        }
        if turn_ended {
            self.tell(RunnerEvent::TurnEnded { error: verdict.state == AgentState::Error });
        }
    }

    /// Says what the agent asks.
    fn tell_asked(&mut self, question: ScreenQuestion) {
        if let AgentReader::Terminal(terminal) = &mut self.reader
            && let Some(asked) = &mut terminal.question
        {
            asked.tell(QuestionDetails::of(&question));
        }
        self.tell(RunnerEvent::Awaiting(question));
    }

    /// Takes note of what is known now of a question that was told, so that it is told again where
    /// that was not all.
    fn know_question(&mut self, verdict: &AgentVerdict, now: Duration) {
        let AgentReader::Terminal(terminal) = &self.reader else { return };
        let is_told = |asked: &&ReportedQuestion| asked.is_told() && !terminal.is_answering();
        let Some(asked) = terminal.question.as_ref().filter(is_told) else { return };
        let Some(question) = self.question(verdict, asked.reported.clone()) else { return };
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        let Some(asked) = &mut terminal.question else { return };
        if let Some(due) = asked.know(&QuestionDetails::of(&question), now) {
            terminal.wake_at(due);
        }
    }

    /// Says that nobody knows what the agent does, with all that it shows.
    fn tell_unexplained(&mut self) {
        let lines = self.screen_lines();
        self.published.unexplained.send_replace(true);
        self.tell(RunnerEvent::Unexplained(lines));
    }

    /// Publishes that the agent does something else, and notes it on the tape.
    fn report_verdict(&mut self, mut verdict: AgentVerdict, now: Duration) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        verdict.evidence.text = self.redactor.clean(&verdict.evidence.text);
        let retry = terminal.retry.as_ref().map(|retry| self.redactor.clean_retry(retry));
        verdict.retry = retry.map(Box::new);
        let since = terminal.history.since(&verdict, now);
        verdict.evidence.since = terminal.history.age_at(since);
        self.note_state(&verdict, since);
        self.published.set_verdict(verdict, Some(since));
    }

    /// Notes on the tape what the agent does.
    fn note_state(&mut self, verdict: &AgentVerdict, since: Timestamp) {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return };
        terminal.history.is_noted = true;
        let numbered = terminal.sniffer.questions_asked();
        let mut mark = StateMark::of(verdict, numbered, since, terminal.history.born);
        let bound = self.adapter.config().start_bound.as_ref();
        mark.start_bound = bound
            .filter(|_| verdict.state == AgentState::Starting)
            .map(|bound| u64::try_from(bound.0.as_millis()).unwrap_or(u64::MAX));
        // The mark is for the next process that follows the agent and for audits, which can do
        // without.
        drop(self.pane.mark(&mark.text()));
    }

    /// What is on the terminal now. A question counts as reported with this.
    fn shown(&mut self) -> ShownState {
        let now = self.now();
        let AgentReader::Terminal(terminal) = &mut self.reader else { return ShownState::Other };
        terminal.look(now);
        let verdict = terminal.sniffer.verdict().clone();
        match (verdict.state, verdict.digest.clone()) {
            (AgentState::Awaiting, Some(digest)) => {
                let is_cut = is_cut(terminal, self.adapter.config().usable_size());
                terminal.question = Some(ReportedQuestion::told(digest.clone(), is_cut, now));
                let question = self.question(&verdict, digest);
                let AgentReader::Terminal(terminal) = &mut self.reader else {
                    return ShownState::Other;
                };
                if let (Some(asked), Some(question)) = (&mut terminal.question, &question) {
                    asked.tell(QuestionDetails::of(question));
                }
                question.map_or(ShownState::Other, |question| ShownState::Asks(Box::new(question)))
            }
            (AgentState::Idle | AgentState::Error, _) => {
                // What it was given last did not begin a turn, or its end was told before.
                let worked = matches!(terminal.turn, PendingTurn::None | PendingTurn::Working);
                ShownState::Rests { worked: worked && terminal.prompt == PromptAge::Used }
            }
            _ if *self.published.unexplained.borrow() => {
                ShownState::Unexplained(self.screen_lines())
            }
            _ => ShownState::Other,
        }
    }

    /// All that the agent shows, without secrets.
    fn screen_lines(&mut self) -> Vec<String> {
        let AgentReader::Terminal(terminal) = &mut self.reader else { return Vec::new() };
        let text = terminal.screen.view().0.text();
        text.lines().map(|line| self.redactor.clean(line)).collect()
    }

    /// The question that is shown, without secrets.
    fn question(&self, verdict: &AgentVerdict, digest: ContentDigest) -> Option<ScreenQuestion> {
        let AgentReader::Terminal(terminal) = &self.reader else { return None };
        let sniffer = &terminal.sniffer;
        let kind = verdict.kind?;
        let rule = verdict.evidence.rule.clone();
        let dialog = self.adapter.config().dialog(&rule);
        let mut help = dialog.and_then(|dialog| dialog.help.clone());
        let dialog = dialog.map(|dialog| dialog.name.clone());
        let excerpt = sniffer.excerpt().iter().map(|line| self.redactor.clean(line)).collect();
        let mut action = sniffer.asked_action();
        action.secret = self.hides_line() || self.adapter.config().is_secret(&rule);
        action.truncated |= is_cut(terminal, self.adapter.config().usable_size());
        let shows_all = &self.adapter.config().keys.show_all;
        if action.truncated && kind == AwaitingKind::Approval && !shows_all.is_empty() {
            let told =
                || format!("Attach to it and press {} to see all of it.", shows_all.join(" "));
            help.get_or_insert_with(told);
        }
        if rule == BUTTONS_RULE && action.entries.is_empty() {
            help.get_or_insert_with(|| UNSEEN_BUTTON.to_owned());
        }
        if action.truncated && is_generic_rule(&rule) && action.entries.len() == 1 {
            action.entries.clear();
            help.get_or_insert_with(|| ENTER_ALONE.to_owned());
        }
        // A command with a secret in it is kept nowhere, and without it it is another command: no
        // rule is held against either.
        action.command.take_if(|command| self.redactor.clean(command) != *command);
        for entry in &mut action.entries {
            entry.label = self.redactor.clean(&entry.label);
        }
        let repeated = sniffer.question_is_repeated();
        let title = sniffer.asked_title().map(|title| self.redactor.clean(title));
        Some(ScreenQuestion { kind, rule, dialog, help, repeated, title, excerpt, action, digest })
    }

    /// Saves the screen where it can be found again, at rest or every few megabytes.
    fn save(&mut self) {
        let now = self.now();
        let offset = self.output.offset();
        let (Some(path), AgentReader::Terminal(terminal)) = (&self.folder, &mut self.reader) else {
            return;
        };
        let UnsavedOutput { bytes, last } = terminal.unsaved;
        if bytes == 0 || (bytes < SNAP_EVERY && now < last + SNAP_AFTER_REST) {
            return;
        }
        let at_rest = now >= last + SNAP_AFTER_REST && terminal.is_at_rest();
        terminal.unsaved = UnsavedOutput { bytes: 0, last: now };
        let snap = ScreenSnap::of(terminal.screen.screen(), offset);
        // A screen that could not be saved is drawn from the tape instead, only slower.
        drop(snap.save(&HolderFolder::new(path)));
        if at_rest {
            terminal.screen.suspend(snap.dump);
        }
    }
}

/// Whether this is what a person's terminal says by itself when it gets or loses the focus.
fn is_focus_report(bytes: &[u8]) -> bool {
    matches!(bytes, b"\x1b[I" | b"\x1b[O")
}

/// Whether a part of the question is not on the screen. On a terminal that is too small programs leave
/// out what they have no room for.
fn is_cut(terminal: &TerminalReader, usable: TerminalSize) -> bool {
    is_too_small(terminal.screen.size(), usable) || terminal.sniffer.question_is_cut()
}

/// Whether a terminal is smaller than one on which everything can be seen.
fn is_too_small(size: GridSize, usable: TerminalSize) -> bool {
    size.columns < usable.columns || size.rows < usable.rows
}
