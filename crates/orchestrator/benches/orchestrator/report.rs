//! The section of docs/benchmarks.md: what was measured, where, and how it stands against what we
//! want to reach.

use std::fmt::Write;
use std::time::Duration;

use coven_testkit::bench::machine;
use coven_testkit::bench::table::{header, row};

use crate::compared::Compared;
use crate::running::Ran;
use crate::steps::Alone;
use crate::waiting::Waiting;
use crate::{ACTORS, CONCURRENT_SESSIONS, Plan};

/// Durable steps per second in one session that we want, where a step is no process.
const MIN_STEPS_PER_SECOND: f64 = 3000.0;

/// How often `find` may fit into looking at a folder before and after a job.
const MAX_COMPARING_RATIO: f64 = 3.0;

/// How long taking up all sessions may take when the program starts.
const MAX_START_TIME: Duration = Duration::from_millis(300);

/// Everything that was measured.
pub(crate) struct Measured {
    pub(crate) alone: Alone,
    /// In one session, and in [`ACTORS`].
    pub(crate) gated: [Duration; 2],
    pub(crate) processes: Ran,
    pub(crate) many: Ran,
    pub(crate) waiting: Waiting,
    /// How many facts a journal had that was taken up, and how long that took.
    pub(crate) long: (u64, Duration),
    pub(crate) compared: Compared,
}

pub(crate) fn section(plan: &Plan, load: &str, measured: &Measured) -> String {
    let mut text = String::from("## Orchestrator\n\n`cargo xtask bench orchestrator`\n\n");
    text.push_str(&machine::sentence());
    writeln!(
        text,
        "The load of the machine was {load} when this began, by other work. The best of {} rounds.\n",
        plan.rounds
    ).ok();
    text.push_str("### Durable steps\n\n");
    text.push_str(&steps(plan, measured));
    text.push_str("\n### Sessions that wait\n\n");
    text.push_str(&waits(&measured.waiting, measured.long));
    text.push_str("\n### Jobs that may only read\n\n");
    text.push_str(&compares(&measured.compared));
    text
}

/// A number in bold if it misses its mark.
fn marked(text: String, missed: bool) -> String {
    if missed { format!("**{text}**") } else { text }
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn ratio(one: Duration, other: Duration) -> String {
    format!("{:.2}", one.as_secs_f64() / other.as_secs_f64())
}

fn steps(plan: &Plan, measured: &Measured) -> String {
    let Measured { alone, gated, processes, many, .. } = measured;
    let mut text = format!(
        "*No process*: a script's job is taken for done at once. What a session's actor does for \
         each thing that happens is done in a row, without the actor: decide, append and sync, \
         fold, view. {} appends for {} steps; *bare* is as many writes of as many bytes, each with \
         `fdatasync`. *With the actor*: gates of a running session, each answered as soon as its \
         question is published; *bare* is that of the row above. *A process each*: the script `true` from end to end, with a slot, a holder, \
         a tape, a durable outcome and the session's actor; *bare* starts as many shells and \
         nothing else.\n\n",
        alone.appends, plan.in_process
    );
    text.push_str(&header("", ["steps/s", "ms per step", "/ bare"]));
    let mut line = |name: &str, steps: usize, took: Duration, bare: Duration, mark: f64| {
        let rate = steps as f64 / took.as_secs_f64();
        let each = took.div_f64(steps as f64);
        let cells = [
            marked(format!("{rate:.0}"), rate < mark),
            format!("{:.2}", each.as_secs_f64() * 1e3),
            ratio(took, bare),
        ];
        row(&mut text, name, cells);
    };
    line("no process, one session", plan.in_process, alone.took, alone.bare, MIN_STEPS_PER_SECOND);
    line("with the actor, one session", plan.in_process, gated[0], alone.bare, 0.0);
    let name = format!("with the actor, {ACTORS} sessions at once");
    line(&name, plan.in_process, gated[1], alone.bare, 0.0);
    line("a process each, one session", processes.steps, processes.took, processes.bare, 0.0);
    let name = format!("a process each, {CONCURRENT_SESSIONS} sessions at once, 8 slots");
    line(&name, many.steps, many.took, many.bare, 0.0);
    text.push_str(
        "\nThe mark: 3,000 durable steps a second in one session whose jobs are no processes. What \
         misses it is bold; it waits for the disk, so see the ratio.\n",
    );
    text
}

fn waits(waiting: &Waiting, (facts, long): (u64, Duration)) -> String {
    let mut text = format!(
        "{CONCURRENT_SESSIONS} sessions, each blocked by a question to a person, in one process. Memory is what \
         the process grew by, for each. *Taken up* is from opening the base directory until every \
         session answers.\n\n",
    );
    text.push_str(&header("", [""]));
    row(&mut text, "memory per session, KiB", [format!("{:.0}", waiting.memory)]);
    row(&mut text, &format!("{CONCURRENT_SESSIONS} made, ms"), [millis(waiting.made)]);
    let taken_up = marked(millis(waiting.taken_up), waiting.taken_up > MAX_START_TIME);
    row(&mut text, &format!("{CONCURRENT_SESSIONS} taken up, ms"), [taken_up]);
    let long = marked(millis(long), long > MAX_START_TIME);
    row(&mut text, &format!("one with {facts} facts taken up, ms"), [long]);
    text.push_str(
        "\nThe mark: less than 300 ms until the program has started. What misses it is bold.\n",
    );
    text
}

fn compares(compared: &Compared) -> String {
    let Compared { files, took, bare } = compared;
    let mut text = format!(
        "A script with `sandbox: read-only`. Modes, owners and times of its folder are looked at \
         before and after it, kept and compared; contents are not read. *More* is what it takes \
         longer in a folder with {files} files than in an empty one; *find* asks for as much of \
         each, twice.\n\n",
    );
    text.push_str(&header("", ["more, ms", "find, ms", "/ find"]));
    let missed = took.as_secs_f64() > bare.as_secs_f64() * MAX_COMPARING_RATIO;
    let cells = [millis(*took), millis(*bare), marked(ratio(*took, *bare), missed)];
    row(&mut text, &format!("{files} files"), cells);
    text.push_str("\nThe mark: at most 3 times `find`. What misses it is bold.\n");
    text
}
