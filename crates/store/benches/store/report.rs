//! The section of docs/benchmarks.md: what was measured, where, the tables, and how they stand
//! against what we want to reach.

use std::fmt::Write;
use std::time::Duration;

use coven_testkit::bench::machine;
use coven_testkit::bench::table::{header, row};

use crate::appends::{Appends, Rate};
use crate::listing::{CHANGED_SESSIONS, Listing};
use crate::replay::Replay;
use crate::views::Written;
use crate::{CONCURRENT_SESSIONS, Plan, Took};

/// Durable steps per second in one session. A step is one write.
const MIN_STEPS_PER_SECOND: f64 = 3000.0;

/// Which part of recording a fact sealing it may be.
const MAX_SEALING_PART: f64 = 0.05;

/// How long listing ten thousand sessions may take.
const MAX_LIST_TIME: Duration = Duration::from_millis(50);

pub(crate) fn section(
    plan: &Plan,
    appends: &Appends,
    replays: &[Replay],
    listing: &Listing,
    views: &[Written],
) -> String {
    let mut text = String::from("## Store\n\n`cargo xtask bench store`\n\n");
    text.push_str(&machine::sentence());
    text.push_str("### Durable facts\n\n");
    text.push_str(&durable(appends));
    text.push_str("\n### Replaying a journal\n\n");
    text.push_str(&replaying(replays));
    text.push_str("\n### Listing\n\n");
    text.push_str(&list(plan, listing));
    text.push_str("\n### Views\n\n");
    text.push_str(&viewing(views));
    writeln!(
        text,
        "\nTimes on the clock, the best of {} rounds. The machine ran other work as well, and a \
         sync waits for its disk: compare the ratios.",
        plan.rounds
    )
    .ok();
    text
}

/// A number in bold if it misses its mark.
fn marked(text: String, missed: bool) -> String {
    if missed { format!("**{text}**") } else { text }
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

fn micros(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e6)
}

fn ratio(one: Duration, other: Duration) -> String {
    format!("{:.2}", one.as_secs_f64() / other.as_secs_f64())
}

fn durable(appends: &Appends) -> String {
    let mut text = format!(
        "A fact of about 250 bytes is appended and synced before the next. *Bare* is a write of as \
         many bytes and `fdatasync`, and nothing else. {CONCURRENT_SESSIONS} sessions have a file and a thread \
         each.\n\n",
    );
    let columns = ["facts/s", "median, µs", "median / bare", "99 of 100, µs"];
    text.push_str(&header("", columns));
    let mut line = |name: &str, rate: Rate, bare: Rate, mark: f64| {
        let per_second = marked(format!("{:.0}", rate.per_second), rate.per_second < mark);
        let to_bare = ratio(rate.median, bare.median);
        let cells = [per_second, micros(rate.median), to_bare, micros(rate.p99)];
        row(&mut text, name, cells);
    };
    line("1 file, bare", appends.raw_one, appends.raw_one, 0.0);
    line("1 session", appends.one, appends.raw_one, MIN_STEPS_PER_SECOND);
    line("1 session, 10 facts a write", appends.batches, appends.raw_one, MIN_STEPS_PER_SECOND);
    line(&format!("{CONCURRENT_SESSIONS} files, bare"), appends.raw_many, appends.raw_many, 0.0);
    line(
        &format!("{CONCURRENT_SESSIONS} sessions"),
        appends.many,
        appends.raw_many,
        MIN_STEPS_PER_SECOND,
    );
    text.push_str(
        "\nThe mark: 3,000 durable steps a second in one session, of which this is the part that \
         waits for the disk. What misses it is bold.\n",
    );
    let part = appends.sealing.as_secs_f64() / appends.one.median.as_secs_f64();
    let percent = marked(format!("{:.1} %", part * 100.0), part >= MAX_SEALING_PART);
    let nanos = appends.sealing.as_nanos();
    writeln!(
        text,
        "\nSealing a fact, with its checkpoint in the state folder, takes {nanos} ns of that: {percent} \
         of a durable fact of one session. The mark: less than 5 %."
    )
    .ok();
    text
}

fn replaying(replays: &[Replay]) -> String {
    let mut text = String::from(
        "Opening checks every line and syncs; reading makes every fact. *The last ten* is a reader \
         that comes back to a journal somebody has open. *File* reads the bytes and nothing \
         else.\n\n",
    );
    let columns = ["MB", "file, ms", "open, ms", "read, ms", "µs per fact", "the last ten, ms"];
    text.push_str(&header("facts", columns));
    for replay in replays {
        let per_fact = (replay.open + replay.read).as_secs_f64() * 1e6 / replay.facts as f64;
        let cells = [
            format!("{:.1}", replay.bytes as f64 / 1e6),
            millis(replay.file),
            millis(replay.open),
            millis(replay.read),
            format!("{per_fact:.2}"),
            millis(replay.last),
        ];
        row(&mut text, &replay.facts.to_string(), cells);
    }
    text
}

fn list(plan: &Plan, listing: &Listing) -> String {
    let mut text = format!(
        "{} sessions with a view of about 1.5 KB each, in memory. Every list is checked against the \
         length of every journal.\n\n",
        plan.sessions
    );
    text.push_str(&header("", ["ms", "CPU, ms"]));
    let mut line = |name: &str, took: Took, mark: Duration| {
        row(&mut text, name, [marked(millis(took.wall), took.wall > mark), millis(took.cpu)]);
    };
    line("list, from the cache", listing.cached, MAX_LIST_TIME);
    let changed = format!("list, {CHANGED_SESSIONS} went on since the cache was written");
    line(&changed, listing.changed, MAX_LIST_TIME);
    line("list, without a cache", listing.uncached, Duration::MAX);
    line("only reading every view", listing.views, Duration::MAX);
    line("find a session by its name", listing.resolve, Duration::MAX);
    text.push_str("\nThe mark: less than 50 ms for 10,000 sessions. What misses it is bold. Two threads work at a list, so its CPU time may be longer than it takes.\n");
    text
}

fn viewing(views: &[Written]) -> String {
    let mut text = String::from(
        "Making the text and putting it in the place of the old one. *Bare* writes the same bytes \
         to a new file and renames it. A view is written at most ten times a second.\n\n",
    );
    text.push_str(&header("KB", ["bare, µs", "view, µs", "view / bare"]));
    for view in views {
        let cells = [micros(view.raw), micros(view.view), ratio(view.view, view.raw)];
        row(&mut text, &format!("{:.1}", view.bytes as f64 / 1e3), cells);
    }
    text
}
