//! Whether a program reads what is typed now. What is typed while it does something else waits in
//! its terminal, and is read by whatever it asks next.

use std::time::Duration;

use coven_runtime::domain::ReaderActivity;

use super::RunnerActor;
use super::reader::AgentReader;
use crate::delivery::InputReader;

/// How often it is looked whether the program reads again.
pub(crate) const READER_LOOK_TIME: Duration = Duration::from_millis(100);

/// How long a program that does not read is waited for. What is typed after that lies unread, and is
/// read by whatever it asks next.
const LINE_READER_PATIENCE: Duration = Duration::from_secs(10);

/// The same where keys are read as they come.
const KEY_READER_PATIENCE: Duration = Duration::from_secs(20);

/// How long a program that did something else must wait for what is typed.
const READER_SETTLE_TIME: Duration = Duration::from_millis(80);

/// How often a program must have run to count as one that looks for keys between two naps. It runs
/// a few times before it begins to sleep.
const NAPS: u32 = 4;

/// How long a program that naps may take to read a line.
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
    /// How often it was looked at since then.
    looks: u32,
    /// How often it was seen to have run since the look before, without waiting for what is typed.
    changes: u32,
    /// How often it was at work.
    works: u32,
    /// It was waited for long enough, and naps.
    is_in_vain: bool,
    /// Since when it seems to wait for what is typed.
    reads_since: Option<Duration>,
}

impl BusySight {
    /// Whether it sleeps nearly all the time and runs again and again: as a program does that looks
    /// between two naps whether something was typed.
    fn naps(&self) -> bool {
        self.changes >= NAPS && self.works * 2 <= self.looks
    }
}

impl ReaderWatch {
    /// Whether what is typed now can be read at once, after a look at the program. One that sleeps
    /// between two looks for keys reads them; a line it would be seen to wait for.
    pub(super) fn look(
        &mut self,
        activity: Option<ReaderActivity>,
        collects_lines: bool,
        now: Duration,
    ) -> InputReader {
        let Some(ReaderActivity::Busy { runs, works }) = activity else {
            let Some(sight) = &mut self.busy else { return InputReader::MayRead };
            // A program that begins another one may seem to read for a moment.
            let reads = now >= *sight.reads_since.get_or_insert(now) + READER_SETTLE_TIME;
            self.busy.take_if(|_| reads);
            return if reads { InputReader::MayRead } else { InputReader::Busy };
        };
        let sight = self.busy.get_or_insert(BusySight {
            since: now,
            runs,
            looks: 0,
            changes: 0,
            works: 0,
            is_in_vain: false,
            reads_since: None,
        });
        sight.reads_since = None;
        sight.looks += 1;
        sight.works += u32::from(works);
        if sight.runs != runs {
            (sight.runs, sight.changes) = (runs, sight.changes + 1);
        }
        let patience = if collects_lines { LINE_READER_PATIENCE } else { KEY_READER_PATIENCE };
        let is_late = now >= sight.since + patience;
        sight.is_in_vain = is_late && sight.naps();
        if sight.naps() && (is_late || !collects_lines) {
            InputReader::MayRead
        } else if is_late {
            InputReader::Nobody
        } else {
            InputReader::Busy
        }
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
    pub(super) fn input_reader(&mut self, now: Duration) -> InputReader {
        let (activity, collects_lines) = (self.pane.reader_activity(), self.collects_lines());
        let AgentReader::Terminal(terminal) = &mut self.reader else { return InputReader::MayRead };
        terminal.reader_watch.look(activity, collects_lines, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    const fn sleeps(runs: u64) -> ReaderActivity {
        ReaderActivity::Busy { runs, works: false }
    }

    const fn works(runs: u64) -> ReaderActivity {
        ReaderActivity::Busy { runs, works: true }
    }

    const READS: ReaderActivity = ReaderActivity::MayRead;

    #[test]
    fn a_program_that_sleeps_does_not_read_and_one_that_only_naps_reads_keys() {
        let mut watch = ReaderWatch::default();
        assert_eq!(watch.look(None, true, ms(0)), InputReader::MayRead, "nobody knows");
        let mut look = |activity, lines, at| watch.look(Some(activity), lines, ms(at));
        assert_eq!(look(READS, true, 0), InputReader::MayRead);
        assert_eq!(look(sleeps(7), false, 0), InputReader::Busy);
        assert_eq!(look(sleeps(7), false, 100), InputReader::Busy);
        assert_eq!(look(sleeps(8), true, 200), InputReader::Busy, "it would wait for a line");
        assert_eq!(look(sleeps(9), false, 300), InputReader::Busy, "it may have begun to sleep");
        assert_eq!(look(sleeps(10), false, 400), InputReader::Busy);
        assert_eq!(look(sleeps(11), false, 500), InputReader::MayRead);
        watch.typed();
        let mut look = |activity, lines, at| watch.look(Some(activity), lines, ms(at));
        let busy = look(sleeps(12), false, 600);
        assert_eq!(busy, InputReader::Busy, "what it does about a key is not known");
        let busy = look(READS, false, 700);
        assert_eq!(busy, InputReader::Busy, "it may have begun another program");
        assert_eq!(look(sleeps(13), false, 750), InputReader::Busy);
        assert_eq!(look(READS, false, 800), InputReader::Busy);
        assert_eq!(look(READS, false, 900), InputReader::MayRead);
        assert_eq!(look(READS, false, 910), InputReader::MayRead);
    }

    #[test]
    fn nothing_is_typed_at_a_program_that_sleeps_or_works_all_the_time() {
        for (lines, patience) in [(true, LINE_READER_PATIENCE), (false, KEY_READER_PATIENCE)] {
            let mut watch = ReaderWatch::default();
            assert_eq!(watch.look(Some(sleeps(7)), lines, ms(0)), InputReader::Busy);
            let late = patience.saturating_sub(ms(1));
            assert_eq!(watch.look(Some(sleeps(7)), lines, late), InputReader::Busy);
            assert_eq!(watch.look(Some(sleeps(7)), lines, patience), InputReader::Nobody);
            let mut watch = ReaderWatch::default();
            for at in 0..10 {
                assert_eq!(watch.look(Some(works(at)), lines, ms(at * 100)), InputReader::Busy);
            }
            assert_eq!(watch.look(Some(works(99)), lines, patience), InputReader::Nobody);
            assert!(!watch.was_in_vain());
        }
    }

    #[test]
    fn a_program_that_naps_is_given_a_line_at_last() {
        let mut watch = ReaderWatch::default();
        for at in 0..10 {
            assert_eq!(watch.look(Some(sleeps(at)), true, ms(at * 100)), InputReader::Busy);
        }
        assert!(!watch.was_in_vain());
        assert_eq!(watch.look(Some(sleeps(99)), true, LINE_READER_PATIENCE), InputReader::MayRead);
        assert!(watch.was_in_vain());
        watch.typed();
        let again = watch.look(Some(sleeps(100)), true, LINE_READER_PATIENCE);
        assert_eq!(again, InputReader::MayRead, "not for each key");
    }
}
