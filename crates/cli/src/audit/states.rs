//! What an agent did, and when, from the notes on its tape.

use std::time::Duration;

use coven_adapters::replay::is_reply;
use coven_adapters::sniffer::{START_LIMIT, UNEXPLAINED_AFTER};
use coven_model::{AgentState, StateMark, Timestamp};
use coven_runtime::hold::protocol::{FOLLOWED_MARK, LEFT_MARK};
use coven_tape::{TapeEvent, TapeReader, TapeRecord};
use coven_workflow::attention::ShownActivity;

/// How long after it follows an agent a daemon may take to look at it.
const TAKE_UP_TIME: Duration = Duration::from_secs(10);

/// What an agent did from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentMoment {
    pub(super) at: Timestamp,
    /// Nothing while no daemon looks at it.
    pub(super) shown: Option<ShownState>,
}

/// What was seen of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownState {
    pub(super) activity: ShownActivity,
    /// By which rule it was seen.
    pub(super) rule: String,
}

/// Reads the tape of an agent that lived until then; one whose end is not known lived as long as its
/// tape goes. One without notes says nothing.
pub(super) fn moments(
    tape: &TapeReader,
    until: Option<Timestamp>,
) -> Result<Vec<AgentMoment>, coven_tape::Error> {
    let mut walk: Option<StateWalk> = None;
    let mut before = Vec::new();
    let mut last = 0;
    for record in tape.records(0) {
        let record = record?;
        last = record.time;
        if let Some(walk) = &mut walk {
            walk.take(&record);
        } else if let Some(mut begun) = StateWalk::begin(&record) {
            // What came before the first note is placed by it.
            for earlier in &before {
                begun.take(earlier);
            }
            begun.take(&record);
            walk = Some(begun);
        } else {
            before.push(record);
        }
    }
    let Some(mut walk) = walk else { return Ok(Vec::new()) };
    match until {
        Some(until) => walk.pass(until),
        None => walk.push(walk.zero.after(Duration::from_micros(last)), None),
    }
    Ok(walk.moments)
}

/// Goes along a tape.
#[derive(Debug)]
struct StateWalk {
    /// The beginning of the tape on the clock of the marks. It is set anew at every change of state,
    /// because the tape's own clock stands still while the machine sleeps.
    zero: Timestamp,
    /// The note that holds.
    last: Option<StateMark>,
    /// How many clients of its holder follow it.
    followers: u32,
    /// Whether its holder notes who follows it. Those of earlier versions did not.
    is_noted: bool,
    /// Since when it is quiet, as the daemon that looks at it knows.
    quiet_since: Timestamp,
    /// When a daemon that has just found it is to have looked at it.
    take_up: Option<Timestamp>,
    moments: Vec<AgentMoment>,
}

impl StateWalk {
    /// Begins with the first note that says when its agent was started.
    fn begin(record: &TapeRecord) -> Option<Self> {
        let TapeEvent::Mark(note) = &record.event else { return None };
        let zero = StateMark::read(note)?.started?;
        Some(Self {
            zero,
            last: None,
            followers: 1,
            is_noted: false,
            quiet_since: zero,
            take_up: None,
            moments: Vec::new(),
        })
    }

    fn time(&self, record: &TapeRecord) -> Timestamp {
        self.zero.after(Duration::from_micros(record.time))
    }

    fn take(&mut self, record: &TapeRecord) {
        let at = self.time(record);
        self.pass(at);
        match &record.event {
            TapeEvent::Output { .. } => self.quiet_since = self.quiet_since.max(at),
            TapeEvent::Mark(note) if note.starts_with(LEFT_MARK) => {
                self.is_noted = true;
                self.followers = self.followers.saturating_sub(1);
                if self.followers == 0 {
                    self.take_up = None;
                    self.push(at, None);
                }
            }
            TapeEvent::Mark(note) if note.starts_with(FOLLOWED_MARK) => {
                self.is_noted = true;
                self.followers += 1;
                self.take_up = Some(at.after(TAKE_UP_TIME));
            }
            TapeEvent::Mark(note) => {
                if let Some(mark) = StateMark::read(note) {
                    self.note(record, at, mark);
                }
            }
            TapeEvent::Input(bytes) if !is_reply(&String::from_utf8_lossy(bytes)) => {
                self.was_told(at);
            }
            // What the disk did not take may have been the note that a daemon left, or another state:
            // who looked at what since then is known again with the next note.
            TapeEvent::Gap(gap) if gap.events > 0 => {
                (self.followers, self.take_up) = (0, None);
                self.push(at, None);
            }
            TapeEvent::Input(_) | TapeEvent::Resize { .. } | TapeEvent::Gap(_) => {}
        }
    }

    /// Somebody has done something about an agent that nobody understands, and has time to see what
    /// comes of it.
    fn was_told(&mut self, at: Timestamp) {
        self.quiet_since = self.quiet_since.max(at);
        let shown = self.moments.last().and_then(|last| last.shown.as_ref());
        let is_unexplained = shown.is_some_and(|shown| shown.activity.is_unexplained);
        if let Some(last) = self.last.clone().filter(|last| last.state == AgentState::Unknown)
            && is_unexplained
        {
            self.push(at, Some(ShownState::of(&last, false)));
        }
    }

    /// A daemon says what the agent does.
    fn note(&mut self, record: &TapeRecord, at: Timestamp, mark: StateMark) {
        let is_repeated = self.last.as_ref().is_some_and(|last| {
            // A daemon notes an agent that works again when it tries its model again.
            last.state != AgentState::Working && last.is_same(&mark)
        });
        let mut at = at;
        if is_repeated {
            // Another daemon has found it. When the one before ended is not known where its holder
            // does not say so.
            if let Some(last) = self.moments.last_mut().filter(|_| !self.is_noted) {
                last.shown = None;
            }
        } else if let Some(since) = mark.since.filter(|since| *since >= self.zero) {
            let age = u64::try_from(Duration::from_micros(record.time).as_millis());
            let zero = Timestamp::from_millis(since.as_millis().saturating_sub(age.unwrap_or(0)));
            // What it does may have been noted some time after it began.
            self.zero = self.zero.max(zero);
            at = since;
        }
        self.take_up = None;
        self.followers = self.followers.max(1);
        self.quiet_since = self.quiet_since.max(at);
        let shown = ShownState::of(&mark, false);
        self.last = Some(mark);
        self.push(at, Some(shown));
    }

    /// Lets time go by until then.
    fn pass(&mut self, until: Timestamp) {
        let Some(last) = self.last.clone() else { return };
        if let Some(due) = self.take_up.take_if(|due| *due <= until) {
            // It has to have been looked at by then, whether or not it was noted.
            self.quiet_since = due;
            self.push(due, Some(ShownState::of(&last, false)));
        }
        let Some(shown) = self.moments.last().and_then(|last| last.shown.as_ref()) else { return };
        if shown.activity.is_unexplained {
            return;
        }
        let due = match last.state {
            AgentState::Unknown => self.quiet_since.after(UNEXPLAINED_AFTER),
            AgentState::Starting => {
                let bound = last.start_bound.map_or(START_LIMIT, Duration::from_millis);
                self.moments.last().map_or(self.zero, |last| last.at).after(bound)
            }
            _ => return,
        };
        if due <= until {
            self.push(due, Some(ShownState::of(&last, true)));
        }
    }

    fn push(&mut self, at: Timestamp, shown: Option<ShownState>) {
        // Clocks may be set back; what follows does not come before.
        let at = self.moments.last().map_or(at, |last| last.at.max(at));
        self.moments.push(AgentMoment { at, shown });
    }
}

impl ShownState {
    fn of(mark: &StateMark, is_unexplained: bool) -> Self {
        let (state, digest) = (mark.state, mark.digest.clone());
        let activity = ShownActivity { state, digest, is_unexplained };
        Self { activity, rule: mark.rule.clone() }
    }
}

#[cfg(test)]
mod tests {
    use coven_tape::{GapReason, TapeGap, TapeWriter};

    use super::*;

    fn mark(state: AgentState, since: Timestamp, started: Timestamp) -> StateMark {
        let (since, started) = (Some(since), Some(started));
        let rule = "none".to_owned();
        StateMark {
            state,
            kind: None,
            rule,
            asked: None,
            digest: None,
            since,
            started,
            start_bound: None,
        }
    }

    /// When the agent was unexplained and when not, in seconds.
    fn unexplained(folder: &std::path::Path, begin: Timestamp, end: u64) -> Vec<(u64, bool)> {
        let reader = TapeReader::open(folder).unwrap();
        let until = begin.after(Duration::from_secs(end));
        let moments = moments(&reader, Some(until)).unwrap();
        let seen = moments.iter().map(|moment| {
            let shown = moment.shown.as_ref().unwrap();
            (moment.at.since(begin).as_secs(), shown.activity.is_unexplained)
        });
        seen.collect()
    }

    /// An agent that is unknown from its first moment on counts as starting at first.
    ///
    /// Spec: C0.14.2
    #[test]
    fn what_is_noted_late_moves_nothing_that_follows() {
        let begin = Timestamp::from_millis(1_767_225_600_000);
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        tape.mark(0, &mark(AgentState::Starting, begin, begin).text()).unwrap();
        tape.output(8_000_000, coven_tape::TapeStream::Out, b"name it: ").unwrap();
        tape.mark(10_000_000, &mark(AgentState::Unknown, begin, begin).text()).unwrap();
        tape.input(40_000_000, b"1.0\r").unwrap();
        let all = [(0, false), (0, false), (28, true), (40, false), (60, true)];
        assert_eq!(unexplained(folder.path(), begin, 70), all);
    }

    /// On a full disk the note that a daemon was killed is lost, and the next one is noted again.
    ///
    /// Spec: C0.14.2
    #[test]
    fn who_follows_an_agent_is_not_known_where_notes_were_lost() {
        let begin = Timestamp::from_millis(1_767_225_600_000);
        let at = |seconds: u64, event: TapeEvent| TapeRecord {
            time: seconds * 1_000_000,
            offset: 0,
            event,
        };
        let note = |text: &str| TapeEvent::Mark(text.to_owned());
        let asks = || note(&mark(AgentState::Awaiting, begin, begin).text());
        let mut walk = StateWalk::begin(&at(1, asks())).unwrap();
        walk.take(&at(1, asks()));
        let gap = TapeGap { len: 0, events: 2, reason: GapReason::Full };
        walk.take(&at(5, TapeEvent::Gap(gap)));
        assert!(walk.moments.last().unwrap().shown.is_none());
        // The next daemon, which is the only one.
        walk.take(&at(60, note(FOLLOWED_MARK)));
        walk.take(&at(61, asks()));
        assert!(walk.moments.last().unwrap().shown.is_some());
        walk.take(&at(70, note(LEFT_MARK)));
        assert!(walk.moments.last().unwrap().shown.is_none());
    }

    /// A person who is told of it and types something has the time again.
    #[test]
    fn what_nobody_understands_is_unexplained_again_some_time_after_it_was_told_something() {
        let begin = Timestamp::from_millis(1_767_225_600_000);
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        tape.mark(0, &mark(AgentState::Unknown, begin, begin).text()).unwrap();
        tape.input(30_000_000, b"2\r").unwrap();
        let all = [(0, false), (20, true), (30, false), (50, true)];
        assert_eq!(unexplained(folder.path(), begin, 60), all);
    }
}
