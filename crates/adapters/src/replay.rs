//! Reads an agent's states out of a recording: the same eyes as on a living agent, with the
//! recording's clock.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use coven_model::{AgentState, AgentVerdict, AwaitingKind};
use coven_terminal::recording::{self, EventData, RecordingReader};
use coven_terminal::screen::{GridSize, Screen, ScreenDamage};

use crate::hook::HookEvent;
use crate::rules::ScreenRules;
use crate::sniffer::{ReadPacer, ScreenSniffer};

/// How long a program must have given its terminal back before it counts as gone: some take it
/// anew in the same breath, when they change from one screen to another.
const EXIT_DETECTION_DELAY: Duration = Duration::from_millis(25);

/// Something that a replay tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEvent {
    Verdict(Duration, AgentVerdict),
    /// A question that the agent had announced, or that was only half on the screen, is there
    /// now: the verdict is the same, with the digest and the evidence of all of it.
    Painted(Duration, AgentVerdict),
    /// The recording has a mark here.
    Mark(Duration, String),
}

/// Replays a recording and tells every change of the verdict and every mark, in order.
pub fn replay(
    rules: Arc<ScreenRules>,
    recording: impl BufRead,
    mut told: impl FnMut(ReplayEvent),
) -> Result<(), recording::Error> {
    let reader = RecordingReader::new(recording)?;
    let header = reader.header();
    let size = GridSize::new(header.width, header.height);
    let mut replay = RecordingReplay {
        screen: Screen::new(size),
        sniffer: ScreenSniffer::new(rules.clone()),
        rules,
        pace: ReadPacer::default(),
        terminal: TerminalUse::Untouched,
        now: Duration::ZERO,
        told: None,
    };
    replay.screen.set_replies(false);
    told(ReplayEvent::Verdict(Duration::ZERO, replay.sniffer.verdict().clone()));
    for event in reader {
        let event = event?;
        // A recording whose clock runs backwards is read as if it stood still.
        let time = Duration::try_from_secs_f64(event.time).unwrap_or(Duration::MAX).max(replay.now);
        replay.until(time, &mut told);
        replay.now = time;
        match event.data {
            EventData::Output(text) => replay.output(text.as_bytes()),
            EventData::Input(text) => {
                if !is_reply(&text) {
                    replay.sniffer.typed(time);
                }
            }
            EventData::Resize { cols, rows } => {
                replay.screen.resize(GridSize::new(cols, rows));
                replay.sniffer.resized(time);
                replay.pace.changed(time);
            }
            EventData::Marker(label) => {
                if let Some(event) = HookEvent::of_mark(&label) {
                    replay.sniffer.report(event, time);
                    replay.pace.changed(time);
                }
                told(ReplayEvent::Mark(time, label));
            }
            EventData::Other { .. } => {}
        }
    }
    // Whatever was still settling when the recording ended.
    let end = replay.now + Duration::from_secs(1);
    replay.until(end, &mut told);
    Ok(())
}

struct RecordingReplay {
    rules: Arc<ScreenRules>,
    screen: Screen,
    sniffer: ScreenSniffer,
    pace: ReadPacer,
    terminal: TerminalUse,
    now: Duration,
    /// The last verdict that was told, and how many questions there had been.
    told: Option<(AgentVerdict, u64)>,
}

/// What the program did with the terminal. A recording does not say that its program ended; what
/// shows it is that a program which had taken the terminal over gives everything back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TerminalUse {
    /// The program has left it as it is.
    Untouched,
    /// The program has it: bracketed paste or the other screen.
    Taken,
    /// The program gave it back, and counts as gone from then on.
    Returned(Duration),
    /// The program is gone.
    Left,
}

impl RecordingReplay {
    fn output(&mut self, bytes: &[u8]) {
        self.screen.feed(bytes);
        self.follow_terminal();
        if self.terminal == TerminalUse::Left {
            // What comes now is a shell, or whatever else has the terminal.
            self.screen.take_signals();
            return;
        }
        self.sniffer.printed(self.now);
        for signal in self.screen.take_signals() {
            self.sniffer.signal(&signal, self.now);
            self.pace.changed(self.now);
        }
        if self.screen.take_damage() != ScreenDamage::None {
            self.pace.changed(self.now);
        }
    }

    fn follow_terminal(&mut self) {
        let modes = self.screen.modes();
        let taken = modes.bracketed_paste || modes.alternate_screen;
        self.terminal = match self.terminal {
            TerminalUse::Left if taken => {
                // The program came again, as some do to restart themselves.
                self.sniffer = ScreenSniffer::new(self.rules.clone());
                TerminalUse::Taken
            }
            _ if taken => TerminalUse::Taken,
            TerminalUse::Taken if modes.cursor_visible => {
                TerminalUse::Returned(self.now + EXIT_DETECTION_DELAY)
            }
            other => other,
        };
    }

    /// Does everything that is due before `time`.
    fn until(&mut self, time: Duration, told: &mut impl FnMut(ReplayEvent)) {
        loop {
            let look = self.pace.next_read(self.screen.modes().synchronized);
            let gone = match self.terminal {
                TerminalUse::Returned(at) => Some(at),
                _ => None,
            };
            let next = [look, self.sniffer.deadline(), gone].into_iter().flatten().min();
            let Some(at) = next.filter(|at| *at <= time) else { return };
            self.now = at.max(self.now);
            let changed = if gone.is_some_and(|gone| gone <= self.now) {
                self.terminal = TerminalUse::Left;
                self.pace.screen_was_read();
                self.sniffer.exited("it gave the terminal back", self.now)
            } else {
                let looked = look.is_some_and(|due| due <= self.now) && {
                    self.pace.screen_was_read();
                    self.sniffer.read_screen(&self.screen.snapshot(), self.now)
                };
                self.sniffer.tick(self.now) || looked
            };
            if changed {
                let verdict = self.sniffer.verdict().clone();
                let asked = self.sniffer.questions_asked();
                let before = self.told.replace((verdict.clone(), asked));
                let announced = verdict.digest.is_some()
                    && before.is_some_and(|(before, count)| {
                        (before.state, before.kind) == (verdict.state, verdict.kind)
                            && (before.digest.is_none() || count == asked)
                    });
                told(if announced {
                    ReplayEvent::Painted(self.now, verdict)
                } else {
                    ReplayEvent::Verdict(self.now, verdict)
                });
            }
        }
    }
}

/// Whether input was sent by a terminal rather than by a person: answers to queries, and reports
/// of focus and mouse.
pub fn is_reply(input: &str) -> bool {
    let Some(rest) = input.strip_prefix('\x1b') else { return false };
    if rest.starts_with(']') || rest.starts_with('P') || rest.starts_with('_') {
        return true;
    }
    let Some(csi) = rest.strip_prefix('[') else { return false };
    let last = csi.bytes().find(|byte| (0x40..=0x7e).contains(byte));
    match last {
        // Device attributes, status reports, modes, focus, mouse.
        Some(b'c' | b'R' | b'y' | b'n' | b'I' | b'O' | b't') => true,
        Some(b'M' | b'm') => csi.starts_with('<'),
        Some(b'u') => csi.starts_with('?'),
        _ => false,
    }
}

/// What a mark says about the agent, if it follows the form `state:detail`: `idle:finished`,
/// `awaiting_approval:shell`, `dialog:trust`. Marks of other forms say nothing.
pub fn expected(mark: &str) -> Option<(AgentState, Option<AwaitingKind>)> {
    let state = mark.split_once(':').map_or(mark, |(state, _)| state);
    Some(match state {
        "starting" => (AgentState::Starting, None),
        "working" => (AgentState::Working, None),
        "idle" => (AgentState::Idle, None),
        "error" => (AgentState::Error, None),
        "exited" => (AgentState::Exited, None),
        "unknown" => (AgentState::Unknown, None),
        "awaiting" => (AgentState::Awaiting, None),
        "awaiting_approval" => (AgentState::Awaiting, Some(AwaitingKind::Approval)),
        "awaiting_question" | "awaiting_input" => {
            (AgentState::Awaiting, Some(AwaitingKind::Question))
        }
        "awaiting_choice" => (AgentState::Awaiting, Some(AwaitingKind::Choice)),
        "dialog" => (AgentState::Awaiting, Some(AwaitingKind::Dialog)),
        _ => return None,
    })
}

/// Whether a verdict is what a mark says.
pub fn matches_mark(
    verdict: &AgentVerdict,
    (state, kind): (AgentState, Option<AwaitingKind>),
) -> bool {
    verdict.state == state && (kind.is_none() || verdict.kind == kind)
}
