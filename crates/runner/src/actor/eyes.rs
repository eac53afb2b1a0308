//! How an agent is read: by its screen, or by its structured output.

use std::collections::VecDeque;
use std::time::Duration;

use coven_adapters::AgentAdapter;
use coven_adapters::sniffer::{ReadPacer, ScreenSniffer};
use coven_adapters::transcript::Decoder;
use coven_model::{AgentState, Digest, EvidenceSource, Verdict, VerdictEvidence};
use coven_terminal::screen::{Screen, ScreenDamage, Size};

use super::handle::{Answered, Delivered};
use super::resting::Resting;
use crate::answer::{Action, Pressing};
use crate::delivery::{Delivery, Message};
use crate::finished::Past;

/// How an agent is read.
pub(crate) enum Eyes {
    /// By its screen.
    Terminal(Box<Terminal>),
    /// By its structured output.
    Transcript(Box<Decoder>),
    /// There is nothing to read any more.
    Gone,
}

/// An agent's terminal, and what is under way on it.
pub(crate) struct Terminal {
    pub(super) screen: Resting,
    pub(super) sniffer: ScreenSniffer,
    pub(super) pace: ReadPacer,
    /// The question that was reported last.
    pub(super) question: Option<Asked>,
    pub(super) deliveries: VecDeque<(Delivery, Source)>,
    pub(super) pressing: Option<(Pressing, Answered)>,
    /// An answer to a question that was only just asked.
    pub(super) held: Option<Held>,
    pub(super) next_message: u64,
    /// It has worked and the end of its turn was not told yet.
    pub(super) worked: bool,
    /// The message that was submitted last.
    pub(super) submitted: String,
    /// Whether it has only just shown its prompt, after its start or an interrupt.
    pub(super) fresh: Fresh,
    /// It has worked since a delivery last looked.
    pub(super) fresh_work: bool,
    /// When to come by again for a delivery or an answer.
    pub(super) wake: Option<Duration>,
    /// It has a message whose turn has not ended, since then.
    pub(super) turn: Option<Duration>,
    /// Bytes since the screen was last saved, and when the last came.
    pub(super) unsaved: (u64, Duration),
}

/// Whether an agent has done anything yet.
#[derive(Clone, Copy)]
pub(super) enum Fresh {
    /// It has not even shown a prompt.
    Starting,
    /// It was interrupted and has not come to rest. Some put the message back into the prompt then.
    Interrupted,
    /// It has shown its prompt since then, and nothing else has happened.
    Idle(Duration),
    /// It has.
    No,
}

/// A question that was reported.
pub(super) struct Asked {
    /// As it was reported.
    pub(super) reported: Digest,
    /// As it is shown now: with another entry selected, or with half an answer typed.
    pub(super) shown: Digest,
    /// When it was reported.
    pub(super) since: Duration,
}

impl Asked {
    pub(super) fn new(digest: Digest, now: Duration) -> Self {
        Self { shown: digest.clone(), reported: digest, since: now }
    }
}

/// An answer that waits until its question has settled.
pub(super) struct Held {
    pub(super) digest: Digest,
    pub(super) action: Action,
    pub(super) reply: Answered,
    pub(super) due: Duration,
}

/// Where a message comes from, which is where its end is told.
pub(super) enum Source {
    Asked(Delivered),
    Answer(Answered),
    /// The task's prompt, for an agent that takes none at its start.
    Prompt,
    /// The task's queue.
    Queue,
}

impl Eyes {
    pub(crate) fn terminal(
        adapter: &dyn AgentAdapter,
        screen: Screen,
        prompt: Option<&str>,
        typed_prompt: Option<String>,
    ) -> Self {
        let mut terminal = Terminal::new(screen, ScreenSniffer::new(adapter.rules()));
        terminal.turn = prompt.is_some().then_some(Duration::ZERO);
        prompt.unwrap_or_default().clone_into(&mut terminal.submitted);
        if let Some(prompt) = typed_prompt {
            let id = terminal.message_id();
            let delivery = Delivery::new(id, Message::new(prompt), Duration::ZERO);
            terminal.deliveries.push_back((delivery, Source::Prompt));
        }
        Self::Terminal(Box::new(terminal))
    }

    pub(crate) fn adopted(adapter: &dyn AgentAdapter, screen: Screen, past: &Past) -> Self {
        let sniffer = ScreenSniffer::resumed(adapter.rules(), &past.said, past.questions);
        let mut terminal = Terminal::new(screen, sniffer);
        terminal.fresh = Fresh::No;
        terminal.worked = past.worked;
        terminal.pace.changed(Duration::ZERO);
        Self::Terminal(Box::new(terminal))
    }

    pub(crate) fn transcript(decoder: Decoder) -> Self {
        Self::Transcript(Box::new(decoder))
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Self::Terminal(terminal) => terminal.sniffer.verdict().clone(),
            Self::Transcript(_) | Self::Gone => Verdict {
                state: AgentState::Working,
                kind: None,
                evidence: VerdictEvidence {
                    source: EvidenceSource::Process,
                    rule: "started".to_owned(),
                    region: "process".to_owned(),
                    text: "a headless run works until it ends".to_owned(),
                    since: 0,
                },
                digest: None,
            },
        }
    }
}

impl Terminal {
    fn new(screen: Screen, sniffer: ScreenSniffer) -> Self {
        Self {
            screen: Resting::new(screen),
            sniffer,
            pace: ReadPacer::default(),
            question: None,
            deliveries: VecDeque::new(),
            pressing: None,
            held: None,
            next_message: 1,
            worked: false,
            submitted: String::new(),
            fresh: Fresh::Starting,
            fresh_work: false,
            wake: None,
            turn: None,
            unsaved: (0, Duration::ZERO),
        }
    }

    pub(super) fn message_id(&mut self) -> u64 {
        let id = self.next_message;
        self.next_message += 1;
        id
    }

    /// Takes output in, and gives what the terminal answers to it.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<u8> {
        self.screen.feed(bytes);
        self.sniffer.printed(now);
        for signal in self.screen.take_signals() {
            self.sniffer.signal(&signal, now);
            self.pace.changed(now);
        }
        if self.screen.take_damage() != ScreenDamage::None {
            self.pace.changed(now);
        }
        self.unsaved = (self.unsaved.0 + bytes.len() as u64, now);
        self.screen.take_replies()
    }

    pub(super) fn typed(&mut self, now: Duration) {
        self.sniffer.typed(now);
    }

    pub(super) fn resize(&mut self, size: Size, now: Duration) {
        self.screen.resize(size);
        self.sniffer.resized(now);
        self.pace.changed(now);
    }

    /// When it has to be looked at again.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let look = self.pace.next_read(self.screen.modes().synchronized);
        [look, self.sniffer.deadline()].into_iter().flatten().min()
    }
}
