//! What happens on an agent's terminal: looking, asking, answering, sending.

use std::time::Duration;

use coven_adapters::adapter::keys;
use coven_model::{AgentState, Digest, Verdict};
use coven_runtime::hold::{Folder, SNAP_EVERY, Snap};
use coven_terminal::keys::{Key, Modes, paste, text};
use coven_terminal::snapshot::Snapshot;

use super::eyes::{Asked, Eyes, Fresh, Held, Source, Terminal};
use super::handle::Request;
use super::{Actor, Answered};
use crate::agent::View;
use crate::answer::{self, Action, AnswerError, Press, Pressing};
use crate::delivery::{Delivery, DeliveryError, Message, Sight, Stage, Step, needle, squeeze};
use crate::event::{Event, Question};
use crate::outcome::{self, Cause};

/// How long the screen must rest before it is saved.
const SAVE_AFTER: Duration = Duration::from_secs(1);

/// How long an idle agent that was given a prompt at its start may show no work before its queue
/// goes on all the same: some lose a prompt behind a dialog.
const LOST_PROMPT: Duration = Duration::from_secs(15);

/// How long between two keys that must not become one: programs wait a moment after Escape.
const APART: Duration = Duration::from_millis(80);

/// How many reads empty a pane before an answer. A flood is not waited for.
const DRAIN: usize = 64;

impl Actor {
    pub(super) fn request(&mut self, request: Request) {
        let now = self.now();
        match request {
            Request::Send { message, reply } => {
                if message.text.trim().is_empty() {
                    let _ = reply.send(Err(DeliveryError::Empty));
                } else {
                    self.deliver(message, Source::Asked(reply));
                }
            }
            Request::Paste { text, reply } => {
                let typed = self.key_modes().ok_or(DeliveryError::Ended).and_then(|modes| {
                    paste(&text, modes).map_err(|error| DeliveryError::Untypable(error.to_string()))
                });
                let result = typed.map(|bytes| self.write(&bytes));
                let _ = reply.send(result);
            }
            Request::Keys(keys) => {
                if let Some(modes) = self.key_modes() {
                    for key in keys {
                        self.write(&key.encode(modes));
                    }
                }
            }
            Request::Bytes(bytes) => self.write(&bytes),
            Request::CloseInput => drop(self.pane.close_input()),
            Request::Resize(size) => {
                let _ = self.pane.resize(size);
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    terminal.resize(size, now);
                }
            }
            Request::Interrupt => self.interrupt(),
            Request::Answer { digest, action, reply } => self.answer(&digest, action, reply),
            Request::View(reply) => {
                let offset = self.output.offset();
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    let snapshot = terminal.screen.snapshot();
                    let dump = terminal.screen.dump();
                    let _ = reply.send(View { snapshot, dump, offset });
                }
            }
            Request::Stop { reply } => self.stop_asked(reply),
            // The actor itself has seen to it.
            Request::Detach(_) => {}
        }
    }

    fn key_modes(&self) -> Option<Modes> {
        match &self.eyes {
            Eyes::Terminal(terminal) => Some(terminal.screen.key_modes()),
            Eyes::Transcript(_) | Eyes::Gone => None,
        }
    }

    fn interrupt(&mut self) {
        let Some(modes) = self.key_modes() else { return };
        let now = self.now();
        let mut due = now;
        for key in keys(&self.adapter.config().keys.interrupt) {
            self.later.push((due, key.encode(modes)));
            due += APART;
        }
        self.write_later();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.fresh = Fresh::Interrupted;
        }
    }

    fn deliver(&mut self, message: Message, source: Source) {
        let now = self.now();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            let id = terminal.message_id();
            terminal.deliveries.push_back((Delivery::new(id, message, now), source));
        }
    }

    /// Answers a question, if exactly that is on the screen at this very moment.
    fn answer(&mut self, digest: &Digest, action: Action, reply: Answered) {
        // Everything the agent has printed so far counts.
        for _ in 0..DRAIN {
            self.read();
            if !self.more {
                break;
            }
        }
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else {
            let _ = reply.send(Err(AnswerError::Ended));
            return;
        };
        if terminal.pressing.is_some() || terminal.held.is_some() {
            let _ = reply.send(Err(AnswerError::Stale));
            return;
        }
        let snapshot = terminal.look(now);
        let verdict = terminal.sniffer.verdict().clone();
        self.report();
        if verdict.digest.as_ref() != Some(digest) {
            let _ = reply.send(Err(AnswerError::Stale));
            return;
        }
        if let Some(due) = self.settles_at().filter(|due| *due > now) {
            self.hold(Held { digest: digest.clone(), action, reply, due });
            return;
        }
        let config = self.adapter.config();
        let keys = match action {
            Action::Choose(choice) => answer::keys_for(config, &verdict.evidence.rule, choice),
            Action::Keys(keys) => Ok(keys),
            Action::Text(text) => {
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    let id = terminal.message_id();
                    let delivery = Delivery::answer(id, text, now);
                    terminal.deliveries.push_front((delivery, Source::Answer(reply)));
                }
                return;
            }
        };
        match keys {
            Err(error) => drop(reply.send(Err(error))),
            Ok(keys) => {
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    terminal.pressing = Some((Pressing::new(keys), reply));
                }
                self.press(&snapshot);
            }
        }
    }

    /// When the question that is asked will have settled.
    fn settles_at(&self) -> Option<Duration> {
        let Eyes::Terminal(terminal) = &self.eyes else { return None };
        terminal.question.as_ref().map(|asked| asked.since + answer::SETTLED)
    }

    fn hold(&mut self, held: Held) {
        self.wake(held.due);
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.held = Some(held);
        }
    }

    /// Gives an answer that was held back, if it is time to and its question still stands.
    fn release(&mut self) {
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let asked = terminal.sniffer.verdict().digest.clone();
        let due = |held: &mut Held| held.due <= now || asked.as_ref() != Some(&held.digest);
        if let Some(held) = terminal.held.take_if(due) {
            self.answer(&held.digest, held.action, held.reply);
            // A text begins its way with the next look.
            self.wake(now);
        } else if let Some(held) = &terminal.held {
            let due = held.due;
            self.wake(due);
        }
    }

    /// Presses the next key of an answer.
    fn press(&mut self, snapshot: &Snapshot) {
        let now = self.now();
        loop {
            let Eyes::Terminal(terminal) = &mut self.eyes else { return };
            let Some((pressing, _)) = &mut terminal.pressing else { return };
            let modes = terminal.screen.key_modes();
            match pressing.step(snapshot.hash(), now) {
                Press::Key(key) => self.write(&key.encode(modes)),
                Press::Wait(due) => {
                    self.wake(due);
                    return;
                }
                Press::Done => {
                    self.answered(Ok(()));
                    return;
                }
                Press::Failed(error) => {
                    self.answered(Err(error));
                    return;
                }
            }
        }
    }

    fn answered(&mut self, result: Result<(), AnswerError>) {
        if let Eyes::Terminal(terminal) = &mut self.eyes
            && let Some((_, reply)) = terminal.pressing.take()
        {
            let _ = reply.send(result);
        }
    }

    /// Makes sure to come by again at a time.
    fn wake(&mut self, due: Duration) {
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.wake = Some(terminal.wake.map_or(due, |wake| wake.min(due)));
        }
    }

    pub(super) fn eyes_deadline(&self) -> Option<Duration> {
        let Eyes::Terminal(terminal) = &self.eyes else { return None };
        let save = (self.folder.is_some() && terminal.unsaved.0 > 0)
            .then(|| terminal.unsaved.1 + SAVE_AFTER);
        [terminal.deadline(), terminal.wake, save].into_iter().flatten().min()
    }

    /// Looks at the screen if it is time to, and does what follows from it.
    pub(super) fn look(&mut self) {
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let due = terminal.pace.due(terminal.screen.modes().synchronized);
        let mut snapshot = None;
        if due.is_some_and(|due| due <= now) {
            snapshot = Some(terminal.look(now));
        }
        terminal.sniffer.tick(now);
        let woken = terminal.wake.is_some_and(|wake| wake <= now);
        let busy = !terminal.deliveries.is_empty() || terminal.pressing.is_some();
        if woken {
            terminal.wake = None;
        }
        if busy && (woken || snapshot.is_some()) || !terminal.deliveries.is_empty() {
            let shot = snapshot.unwrap_or_else(|| terminal.screen.snapshot());
            self.report();
            self.press(&shot);
            self.step_delivery(&shot);
        } else {
            self.report();
        }
        self.release();
        self.next_input();
        self.save();
    }

    /// Tells what changed.
    fn report(&mut self) {
        let now = self.now();
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let verdict = terminal.sniffer.verdict().clone();
        let known = self.verdict.borrow().clone();
        let changed = (known.state, known.kind, &known.digest)
            != (verdict.state, verdict.kind, &verdict.digest);
        let rests = matches!(verdict.state, AgentState::Idle | AgentState::Error);
        terminal.age(verdict.state, now);
        let ended = terminal.worked && rests;
        if ended {
            terminal.worked = false;
            terminal.turn = None;
        }
        // An answer on its way changes what is shown; that is no new question.
        let answering = terminal.is_answering();
        if let Some(asked) = terminal.question.as_mut().filter(|_| answering)
            && let Some(digest) = &verdict.digest
        {
            asked.shown.clone_from(digest);
        }
        let gone = terminal
            .question
            .take_if(|asked| !answering && Some(&asked.shown) != verdict.digest.as_ref())
            .map(|asked| asked.reported);
        let asked = verdict.digest.clone().filter(|_| terminal.question.is_none());
        let excerpt: Vec<String> = match &asked {
            Some(digest) => {
                terminal.question = Some(Asked::new(digest.clone(), now));
                terminal.sniffer.excerpt().to_vec()
            }
            None => Vec::new(),
        };
        if changed {
            let verdict = self.redacted(verdict.clone());
            self.verdict.send_replace(verdict.clone());
            let mark = serde_json::json!({
                "state": verdict.state, "kind": verdict.kind, "rule": verdict.evidence.rule,
            });
            // The record is for people who look back; an agent goes on without.
            let _ = self.pane.mark(&mark.to_string());
            self.tell(Event::State(verdict));
        }
        if let Some(digest) = gone {
            self.tell(Event::NoLongerAwaiting(digest));
        }
        if let Some(digest) = asked {
            self.ask(&verdict, digest, &excerpt);
        }
        if ended {
            self.tell(Event::TurnEnded { error: verdict.state == AgentState::Error });
        }
    }

    fn redacted(&self, mut verdict: Verdict) -> Verdict {
        verdict.evidence.text = self.redactor.clean(&verdict.evidence.text);
        verdict
    }

    fn ask(&self, verdict: &Verdict, digest: Digest, excerpt: &[String]) {
        let Some(kind) = verdict.kind else { return };
        let rule = verdict.evidence.rule.clone();
        let dialog = self.adapter.config().dialog(&rule).map(|dialog| dialog.name.clone());
        let excerpt = excerpt.iter().map(|line| self.redactor.clean(line)).collect();
        self.tell(Event::Awaiting(Question { kind, rule, dialog, excerpt, digest }));
    }

    /// Takes the message at the head of the queue a step further.
    fn step_delivery(&mut self, snapshot: &Snapshot) {
        let now = self.now();
        let screen = squeeze(&snapshot.text());
        let (line, prompt) = prompt_of(snapshot);
        loop {
            let written = self.unsent.is_empty();
            let Eyes::Terminal(terminal) = &mut self.eyes else { return };
            if terminal.pressing.is_some() {
                return;
            }
            let sight = Sight {
                state: terminal.sniffer.verdict().state,
                fresh: match terminal.fresh {
                    Fresh::Idle(since) => Some(since),
                    Fresh::Starting | Fresh::Interrupted | Fresh::No => None,
                },
                leftover: !terminal.submitted.trim().is_empty()
                    && line.contains(&needle(&terminal.submitted)),
                screen: &screen,
                prompt: &prompt,
                worked: std::mem::take(&mut terminal.fresh_work),
                written,
            };
            let Some((delivery, _)) = terminal.deliveries.front_mut() else { return };
            let (id, before) = (delivery.id, delivery.stage());
            let step = delivery.step(&sight, now);
            let stage = delivery.stage();
            for stage in Stage::EVERY.into_iter().filter(|each| *each > before && *each <= stage) {
                self.tell(Event::Delivery { id, stage });
            }
            match step {
                Step::Wait(due) => {
                    self.wake(due);
                    return;
                }
                Step::Clear => {
                    self.clear();
                    return;
                }
                Step::Type => {
                    if let Err(error) = self.type_message() {
                        self.delivered(Err(error));
                        continue;
                    }
                    return;
                }
                Step::Submit => {
                    self.submit();
                    return;
                }
                Step::Done => self.delivered(Ok(())),
                Step::Failed(error) => self.delivered(Err(error)),
            }
        }
    }

    fn type_message(&mut self) -> Result<(), DeliveryError> {
        let untypable = |error: String| DeliveryError::Untypable(error);
        let Eyes::Terminal(terminal) = &self.eyes else { return Err(DeliveryError::Ended) };
        let Some((delivery, _)) = terminal.deliveries.front() else { return Ok(()) };
        let message = &delivery.message.text;
        let modes = terminal.screen.key_modes();
        // A command of the program is typed, because menus open at keys and not at pastes.
        let by_paste = modes.bracketed_paste && !message.starts_with('/');
        let bytes = if by_paste {
            paste(message, modes).map_err(|error| untypable(error.to_string()))?
        } else if message.contains(['\n', '\r']) {
            return Err(untypable(
                "it has several lines, and the program does not take pasted text now".to_owned(),
            ));
        } else {
            text(message).map_err(|error| untypable(error.to_string()))?
        };
        self.write(&bytes);
        Ok(())
    }

    /// Deletes the message that was submitted last, which is back in the prompt.
    fn clear(&mut self) {
        let Eyes::Terminal(terminal) = &self.eyes else { return };
        let Ok(key) = "Backspace".parse::<Key>() else { return };
        let modes = terminal.screen.key_modes();
        let presses = terminal.submitted.chars().count();
        let bytes = key.encode(modes).repeat(presses);
        self.write(&bytes);
    }

    fn submit(&mut self) {
        let Some(modes) = self.key_modes() else { return };
        let mut submit = keys(&self.adapter.config().keys.submit);
        if submit.is_empty() {
            submit.extend("Enter".parse::<Key>());
        }
        let bytes: Vec<u8> = submit.iter().flat_map(|key| key.encode(modes)).collect();
        self.write(&bytes);
        let now = self.now();
        if let Eyes::Terminal(terminal) = &mut self.eyes {
            terminal.turn = Some(now);
            terminal.fresh = Fresh::No;
            if let Some((delivery, _)) = terminal.deliveries.front() {
                terminal.submitted.clone_from(&delivery.message.text);
            }
            terminal.fresh_work = false;
        }
    }

    fn delivered(&mut self, result: Result<(), DeliveryError>) {
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        let Some((delivery, source)) = terminal.deliveries.pop_front() else { return };
        match source {
            Source::Asked(reply) => drop(reply.send(result)),
            Source::Answer(reply) => drop(reply.send(result.map_err(AnswerError::from))),
            Source::Prompt | Source::Queue => {
                if let Err(error) = result {
                    let id = delivery.id;
                    self.task.pending_inputs.clear();
                    self.tell(Event::DeliveryFailed { id, reason: error.to_string() });
                    let mut outcome =
                        outcome::completed(self.task.keep_alive, self.session.clone());
                    outcome.ok = false;
                    outcome.reason = format!("message {id} was not delivered: {error}");
                    self.finish_task(outcome);
                }
            }
        }
    }

    /// Sends the next input of the task's queue, or finds that all are done.
    fn next_input(&mut self) {
        let now = self.now();
        let queued = self.queue_length;
        let Eyes::Terminal(terminal) = &mut self.eyes else { return };
        if queued == 0 || self.cause.is_some() || !terminal.deliveries.is_empty() {
            return;
        }
        let idle = matches!(terminal.sniffer.verdict().state, AgentState::Idle | AgentState::Error);
        if !idle || terminal.pressing.is_some() || terminal.worked {
            return;
        }
        if let Some(since) = terminal.turn {
            // The agent was given something and has not been seen to work on it.
            let idle_since = Duration::from_millis(terminal.sniffer.verdict().evidence.since);
            let due = since.max(idle_since) + LOST_PROMPT;
            if now < due {
                self.wake(due);
                return;
            }
            terminal.turn = None;
        }
        if self.task.pending_inputs.is_empty() {
            let outcome = outcome::completed(self.task.keep_alive, self.session.clone());
            self.queue_length = 0;
            self.finish_task(outcome);
            return;
        }
        let input = self.task.pending_inputs.remove(0);
        self.deliver(Message::new(input), Source::Queue);
        self.wake(now);
    }

    /// The task is done though the program has not ended.
    fn finish_task(&mut self, outcome: coven_model::Outcome) {
        if self.task.keep_alive {
            self.complete(outcome);
        } else {
            self.finished = Some(outcome);
            self.stop(Cause::Completed);
        }
    }

    /// Saves the screen where it can be found again, at rest or every few megabytes.
    fn save(&mut self) {
        let now = self.now();
        let offset = self.output.offset();
        let (Some(path), Eyes::Terminal(terminal)) = (&self.folder, &mut self.eyes) else { return };
        let (bytes, last) = terminal.unsaved;
        if bytes == 0 || (bytes < SNAP_EVERY && now < last + SAVE_AFTER) {
            return;
        }
        terminal.unsaved = (0, now);
        // A screen that could not be saved is drawn from the tape instead, only slower.
        let _ = Snap::of(&mut terminal.screen, offset).save(&Folder::new(path));
    }

    /// The id of the conversation, where the program shows it on its screen.
    pub(super) fn session_on(&self, terminal: &mut Terminal) -> Option<String> {
        let resume = self.adapter.config().resume.as_ref()?;
        coven_adapters::adapter::session_on(resume, &terminal.screen.snapshot().text())
    }
}

impl Terminal {
    /// Looks at the screen. Only then does it count that the agent has worked: a signal may have
    /// come before the screen that belongs to it.
    fn look(&mut self, now: Duration) -> Snapshot {
        self.pace.looked();
        let snapshot = self.screen.snapshot();
        self.sniffer.look(&snapshot, now);
        let worked = self.sniffer.take_worked();
        self.worked |= worked;
        self.fresh_work |= worked;
        snapshot
    }

    /// Takes note of what an agent does that has only just started.
    fn age(&mut self, state: AgentState, now: Duration) {
        self.fresh = match (self.fresh, state) {
            (Fresh::No, _) | (Fresh::Starting | Fresh::Idle(_), AgentState::Working) => Fresh::No,
            (Fresh::Idle(since), AgentState::Idle) => Fresh::Idle(since),
            (_, AgentState::Idle) => Fresh::Idle(now),
            (Fresh::Interrupted, _) => Fresh::Interrupted,
            _ => Fresh::Starting,
        };
    }

    /// Whether an answer is on its way.
    fn is_answering(&self) -> bool {
        let typing = matches!(self.deliveries.front(), Some((_, Source::Answer(_))));
        self.pressing.is_some() || typing
    }

    /// Nothing that was under way can be done any more.
    pub(super) fn fail_everything(&mut self) {
        if let Some((_, reply)) = self.pressing.take() {
            let _ = reply.send(Err(AnswerError::Ended));
        }
        if let Some(held) = self.held.take() {
            let _ = held.reply.send(Err(AnswerError::Ended));
        }
        for (delivery, source) in self.deliveries.drain(..) {
            let quits = delivery.stage() >= Stage::Echoed && !delivery.message.expect_turn;
            let result = if quits { Ok(()) } else { Err(DeliveryError::Ended) };
            match source {
                Source::Asked(reply) => drop(reply.send(result)),
                Source::Answer(reply) => drop(reply.send(result.map_err(AnswerError::from))),
                Source::Prompt | Source::Queue => {}
            }
        }
    }
}

/// What stands in the prompt: the line of the cursor, and that together with the one above it.
fn prompt_of(snapshot: &Snapshot) -> (String, String) {
    let row = usize::from(snapshot.cursor().row);
    let lines: Vec<_> = snapshot.lines().collect();
    let at = lines.iter().position(|line| line.rows.contains(&row)).unwrap_or(0);
    let near = &lines[at.saturating_sub(1)..(at + 1).min(lines.len())];
    let line = near.last().map(|line| squeeze(&line.text)).unwrap_or_default();
    (line, near.iter().map(|line| squeeze(&line.text)).collect())
}
