//! Whether a program reads what is typed now. What is typed while it does something else waits in
//! its terminal, and is read by whatever it asks next.

use std::time::Duration;

use coven_runtime::domain::ReaderActivity;

use super::RunnerActor;
use super::reader::AgentReader;

/// How often it is looked whether the program reads again.
pub(crate) const READER_LOOK_TIME: Duration = Duration::from_millis(100);

/// How long a program that does not read is waited for. After that what is typed may lie unread,
/// and is taken back when it does.
const LINE_READER_PATIENCE: Duration = Duration::from_secs(10);

/// The same where keys are read as they come. One that has slept all the time has read none.
const KEY_READER_PATIENCE: Duration = Duration::from_secs(20);

/// How long a program that did something else must wait for what is typed.
const READER_SETTLE_TIME: Duration = Duration::from_millis(80);

/// How often a program must have run to count as one that looks for keys between two naps. It runs
/// a few times before it begins to sleep.
const NAPS: u32 = 4;

/// How long a program may take to read a line for which it was waited in vain before.
pub(super) const LATE_READ_TIMEOUT: Duration = Duration::from_secs(5);

/// What was seen of a program that does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReaderWatch {
    busy: Option<BusySight>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BusySight {
    since: Duration,
    runs: u64,
    /// How often it was seen to have run since then, without waiting for what is typed.
    changes: u32,
    /// It was waited for long enough.
    is_in_vain: bool,
    /// Since when it seems to wait for what is typed.
    reads_since: Option<Duration>,
}

impl ReaderWatch {
    /// Whether what is typed now can be read at once, after a look at the program. One that sleeps
    /// between two looks for keys reads them; a line it would be seen to wait for.
    pub(super) fn may_read(
        &mut self,
        activity: Option<ReaderActivity>,
        collects_lines: bool,
        now: Duration,
    ) -> bool {
        let Some(ReaderActivity::Busy { runs }) = activity else {
            let Some(sight) = &mut self.busy else { return true };
            // A program that begins another one may seem to read for a moment.
            let reads = now >= *sight.reads_since.get_or_insert(now) + READER_SETTLE_TIME;
            self.busy.take_if(|_| reads);
            return reads;
        };
        let sight = self.busy.get_or_insert(BusySight {
            since: now,
            runs,
            changes: 0,
            is_in_vain: false,
            reads_since: None,
        });
        sight.reads_since = None;
        if sight.runs != runs {
            (sight.runs, sight.changes) = (runs, sight.changes + 1);
        }
        let patience = if collects_lines { LINE_READER_PATIENCE } else { KEY_READER_PATIENCE };
        sight.is_in_vain = now >= sight.since + patience;
        sight.is_in_vain || (sight.changes >= NAPS && !collects_lines)
    }

    /// Whether the program was waited for in vain.
    pub(super) fn was_in_vain(&self) -> bool {
        self.busy.is_some_and(|sight| sight.is_in_vain)
    }

    /// Something was typed: what the program does about that is seen anew.
    pub(super) fn typed(&mut self) {
        self.busy.take_if(|sight| !sight.is_in_vain);
    }
}

impl RunnerActor {
    /// Whether the next piece of an answer can be read at once.
    pub(super) fn may_read(&mut self, now: Duration) -> bool {
        let (activity, collects_lines) = (self.pane.reader_activity(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return true };
        terminal.reader_watch.may_read(activity, collects_lines, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    const fn busy(runs: u64) -> ReaderActivity {
        ReaderActivity::Busy { runs }
    }

    #[test]
    fn a_program_that_sleeps_does_not_read_and_one_that_only_naps_reads_keys() {
        let mut watch = ReaderWatch::default();
        assert!(watch.may_read(None, true, ms(0)), "nobody knows");
        assert!(watch.may_read(Some(ReaderActivity::MayRead), true, ms(0)));
        assert!(!watch.may_read(Some(busy(7)), false, ms(0)));
        assert!(!watch.may_read(Some(busy(7)), false, ms(100)));
        assert!(!watch.may_read(Some(busy(8)), true, ms(200)), "it would wait for a line");
        assert!(!watch.may_read(Some(busy(9)), false, ms(300)), "it may have begun to sleep");
        assert!(!watch.may_read(Some(busy(10)), false, ms(400)));
        assert!(watch.may_read(Some(busy(11)), false, ms(500)));
        watch.typed();
        assert!(
            !watch.may_read(Some(busy(12)), false, ms(600)),
            "what it does about a key is not known"
        );
        let reads = Some(ReaderActivity::MayRead);
        assert!(!watch.may_read(reads, false, ms(700)), "it may have begun another program");
        assert!(!watch.may_read(Some(busy(13)), false, ms(750)));
        assert!(!watch.may_read(reads, false, ms(800)));
        assert!(watch.may_read(reads, false, ms(900)) && watch.may_read(reads, false, ms(910)));
    }

    #[test]
    fn a_program_that_never_reads_is_not_waited_for_for_ever() {
        let mut watch = ReaderWatch::default();
        assert!(!watch.may_read(Some(busy(7)), true, ms(0)));
        assert!(!watch.may_read(Some(busy(8)), true, ms(9999)) && !watch.was_in_vain());
        assert!(watch.may_read(Some(busy(8)), true, LINE_READER_PATIENCE) && watch.was_in_vain());
        watch.typed();
        assert!(watch.may_read(Some(busy(9)), true, LINE_READER_PATIENCE), "not for each key");
    }
}
