//! What happens on an agent's terminal: looking, asking, saving.

use std::time::Duration;

use coven_adapters::adapter::keys;
use coven_model::{AgentState, Digest, Timestamp, Verdict};
use coven_runtime::hold::{Folder, SNAP_EVERY, Snap};
use coven_terminal::keys::{KeyModes, paste};
use coven_terminal::snapshot::Snapshot;

use super::Actor;
use super::eyes::{Asked, Eyes, Fresh, Source, Terminal};
use super::handle::Request;
use crate::agent::View;
use crate::answer::AnswerError;
use crate::delivery::{DeliveryError, Stage};
use crate::event::{Event, Question};
use crate::mark::{self, Mark};

/// How long the screen must rest before it is saved.
const SAVE_AFTER: Duration = Duration::from_secs(1);

/// How long between two keys that must not become one: programs wait a moment after Escape.
const APART: Duration = Duration::from_millis(80);

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
                    self.resizes += 1;
                    self.tell(Event::Resized { size, number: self.resizes });
                }
            }
            Request::Interrupt => self.interrupt(),
            Request::Answer { digest, action, reply } => self.answer(&digest, action, reply),
            Request::View(reply) => {
                let offset = self.output.offset();
                if let Eyes::Terminal(terminal) = &mut self.eyes {
                    let (snapshot, dump) = terminal.screen.view();
                    let resizes = self.resizes;
                    let _ = reply.send(View { snapshot, dump, offset, resizes });
                }
            }
            Request::Stop { reply } => self.stop_asked(reply),
            // The actor itself has seen to it.
            Request::Detach(_) => {}
        }
    }

    pub(super) fn key_modes(&self) -> Option<KeyModes> {
        match &self.eyes {
            Eyes::Terminal(terminal) => Some(terminal.screen.key_modes()),
            Eyes::Transcript(_) | Eyes::Gone => None,
        }
    }

    pub(super) fn interrupt(&mut self) {
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

    /// Makes sure to come by again at a time.
    pub(super) fn wake(&mut self, due: Duration) {
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
        let due = terminal.pace.next_read(terminal.screen.modes().synchronized);
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
    pub(super) fn report(&mut self) {
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
        let numbered = terminal.sniffer.questions_asked();
        if changed {
            let mut verdict = self.redacted(verdict.clone());
            let since = self.since(&verdict, now);
            verdict.evidence.since =
                u64::try_from(since.since(self.born).as_millis()).unwrap_or(u64::MAX);
            self.since.send_replace(since);
            self.verdict.send_replace(verdict.clone());
            // The record is for who looks back; an agent goes on without.
            let mark = Mark::of(&verdict, numbered, since, self.born);
            let _ = self.pane.mark(&mark.text());
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

    /// Since when the agent does what it does now. One that was found goes on with what it did.
    fn since(&mut self, verdict: &Verdict, now: Duration) -> Timestamp {
        let known = verdict.state != AgentState::Unknown;
        let before = self.before.take_if(|_| known).filter(|before| before.is_of(verdict));
        before.and_then(|before| before.since).unwrap_or_else(|| {
            let age = u64::try_from(verdict.evidence.age(now).as_millis()).unwrap_or(0);
            Timestamp::from_millis(mark::now().as_millis().saturating_sub(age))
        })
    }

    pub(super) fn redacted(&self, mut verdict: Verdict) -> Verdict {
        verdict.evidence.text = self.redactor.clean(&verdict.evidence.text);
        verdict
    }

    pub(super) fn ask(&self, verdict: &Verdict, digest: Digest, excerpt: &[String]) {
        let Some(kind) = verdict.kind else { return };
        let rule = verdict.evidence.rule.clone();
        let dialog = self.adapter.config().dialog(&rule).map(|dialog| dialog.name.clone());
        let excerpt = excerpt.iter().map(|line| self.redactor.clean(line)).collect();
        self.tell(Event::Awaiting(Question { kind, rule, dialog, excerpt, digest }));
    }

    /// Saves the screen where it can be found again, at rest or every few megabytes.
    pub(super) fn save(&mut self) {
        let now = self.now();
        let offset = self.output.offset();
        let (Some(path), Eyes::Terminal(terminal)) = (&self.folder, &mut self.eyes) else { return };
        let (bytes, last) = terminal.unsaved;
        if bytes == 0 || (bytes < SNAP_EVERY && now < last + SAVE_AFTER) {
            return;
        }
        let at_rest = now >= last + SAVE_AFTER && terminal.is_at_rest();
        terminal.unsaved = (0, now);
        let snap = Snap::of(terminal.screen.screen(), offset);
        // A screen that could not be saved is drawn from the tape instead, only slower.
        let _ = snap.save(&Folder::new(path));
        if at_rest {
            terminal.screen.rest(snap.dump);
        }
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
    pub(super) fn look(&mut self, now: Duration) -> Snapshot {
        self.pace.screen_was_read();
        let snapshot = self.screen.snapshot();
        self.sniffer.read_screen(&snapshot, now);
        let worked = self.sniffer.take_worked();
        self.worked |= worked;
        self.fresh_work |= worked;
        snapshot
    }

    /// Takes note of what an agent does that has only just started.
    pub(super) fn age(&mut self, state: AgentState, now: Duration) {
        self.fresh = match (self.fresh, state) {
            (Fresh::No, _) | (Fresh::Starting | Fresh::Idle(_), AgentState::Working) => Fresh::No,
            (Fresh::Idle(since), AgentState::Idle) => Fresh::Idle(since),
            (_, AgentState::Idle) => Fresh::Idle(now),
            (Fresh::Interrupted, _) => Fresh::Interrupted,
            _ => Fresh::Starting,
        };
    }

    /// Whether nothing is under way that will look at the screen soon.
    fn is_at_rest(&self) -> bool {
        self.deliveries.is_empty() && self.pressing.is_none() && self.held.is_none()
    }

    /// Whether an answer is on its way.
    pub(super) fn is_answering(&self) -> bool {
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
