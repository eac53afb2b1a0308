//! The section of docs/benchmarks.md.

use std::fmt::Write;
use std::time::Duration;

use coven_testkit::bench::machine;
use coven_testkit::bench::table::{header, row};

use crate::{Plan, Row};

/// How long a list of ten thousand sessions may take, and how long the daemon to answer.
const LIST: Duration = Duration::from_millis(50);
const READY: Duration = Duration::from_millis(300);

pub(crate) fn section(plan: &Plan, first: Duration, found: Duration, rows: &[Row]) -> String {
    let mut text = String::from("## Command line\n\n`cargo xtask bench cli`\n\n");
    text.push_str(&machine::sentence());
    writeln!(
        text,
        "Whole commands, as a shell sees them, with {} sessions on disk.\n",
        plan.sessions
    )
    .ok();
    text.push_str(&header("", ["median, ms", "slowest, ms"]));
    for one in rows {
        let mark = if one.name == "coven ls" { LIST } else { Duration::MAX };
        row(&mut text, one.name, [marked(one.median, mark), millis(one.slowest)]);
    }
    writeln!(
        text,
        "\n`coven daemon start` took {} ms, and {} ms until the first list of everything. The \
         marks: a list in less than 50 ms, a daemon that answers in less than 300 ms. What misses \
         its mark is bold. The median of {} rounds; the machine ran other work as well.",
        marked(first, READY),
        millis(found),
        plan.rounds
    )
    .ok();
    text
}

fn marked(time: Duration, mark: Duration) -> String {
    if time > mark { format!("**{}**", millis(time)) } else { millis(time) }
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}
