//! Whether a picture of a screen is the one before, moved up or down.

use std::ops::Range;

/// How many rows at the top may stay where they are while the rows below them move.
pub(super) const MAX_HEADER_ROWS: usize = 3;

/// How many rows with text must have moved together.
const MIN_MOVED_ROWS: usize = 2;

/// How a picture moved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// Rows of the picture before have left at the top.
    Up {
        leaving: Range<usize>,
    },
    Down,
}

/// Rows that are the same in both pictures, at different places.
struct Moved {
    /// Where they begin in the picture after.
    begin: usize,
    /// How many of them have text and did not stand there before.
    told: usize,
}

/// How the picture before became the picture after, if it only moved.
pub(super) fn between(before: &[String], after: &[String]) -> Option<Shift> {
    if before.len() != after.len() {
        return None;
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (
        before.iter().map(|row| words(row)).collect(),
        after.iter().map(|row| words(row)).collect(),
    );
    let moved_up =
        |by: usize| moved(&before[by..], &after[..after.len() - by], |at| before[at] == after[at]);
    let moved_down = |by: usize| {
        let stayed = |at: usize| before[at + by] == after[at + by];
        moved(&before[..before.len() - by], &after[by..], stayed)
    };
    let best = |find: &dyn Fn(usize) -> Option<Moved>| {
        let all = (1..before.len()).filter_map(|by| find(by).map(|moved| (by, moved)));
        all.fold(None, |best: Option<(usize, Moved)>, next| match best {
            Some(best) if best.1.told >= next.1.told => Some(best),
            _ => Some(next),
        })
    };
    let (up, down) = (best(&moved_up), best(&moved_down));
    let told = |found: &Option<(usize, Moved)>| found.as_ref().map_or(0, |(_, moved)| moved.told);
    if told(&down) > told(&up) {
        return Some(Shift::Down);
    }
    let (by, moved) = up?;
    let is_header =
        moved.begin <= MAX_HEADER_ROWS || before[..moved.begin].iter().all(|row| row.is_empty());
    is_header.then_some(Shift::Up { leaving: moved.begin..moved.begin + by })
}

/// The longest run of rows that are the same in both, if it says anything.
fn moved(before: &[&str], after: &[&str], stayed: impl Fn(usize) -> bool) -> Option<Moved> {
    let (mut best, mut run): (Option<Moved>, Option<Moved>) = (None, None);
    for at in 0..=after.len() {
        if at < after.len() && before[at] == after[at] {
            let run = run.get_or_insert(Moved { begin: at, told: 0 });
            run.told += usize::from(!after[at].is_empty() && !stayed(at));
        } else if let Some(ended) = run.take()
            && best.as_ref().is_none_or(|best| best.told < ended.told)
        {
            best = Some(ended);
        }
    }
    best.filter(|best| best.told >= MIN_MOVED_ROWS)
}

/// A row without a scrollbar at its end, which moves while the row stays the same.
fn words(row: &str) -> &str {
    row.trim_end_matches([' ', '│', '┃', '║', '█', '▐', '░', '▒', '▓'])
}

pub(super) fn is_same(row: &str, other: &str) -> bool {
    words(row) == words(other)
}

/// How many rows at the beginning of both are the same.
pub(super) fn common_beginning<'a>(
    rows: &[String],
    others: impl Iterator<Item = &'a String>,
) -> usize {
    rows.iter().zip(others).take_while(|(row, other)| is_same(row, other)).count()
}
