//! The section of docs/benchmarks.md.

use coven_testkit::bench::{machine, table};

use super::Plan;
use super::opening::{Size, Times};
use super::staying::Look;

/// What the page may fetch, compressed, in KiB: without and with a terminal.
const MAX_FIRST_KIB: f64 = 80.0;
const MAX_TERMINAL_KIB: f64 = 250.0;

/// Within how many milliseconds a click is answered, however many agents there are.
const MAX_ANSWER_MS: f64 = 1000.0;

/// How much more the page may keep at the end than at the beginning.
const MAX_MEMORY_GROWTH: f64 = 1.25;

pub(super) fn section(
    plan: &Plan,
    size: &Size,
    few: &Times,
    many: &Times,
    looks: &[Look],
) -> String {
    let mut text = format!(
        "## Page\n\n`cargo xtask bench page`\n\n{}Chromium without a window, through its driver, \
         on the same machine as the daemon and all agents.\n\n",
        machine::sentence()
    );
    sizes(&mut text, size);
    times(&mut text, plan, few, many);
    kept(&mut text, plan, looks);
    text
}

fn sizes(text: &mut String, size: &Size) {
    text.push_str(
        "### What is fetched\n\nThe daemon is on the same machine and sends the bytes as they are; \
         compressed is what the browser's gzip makes of them.\n\n",
    );
    text.push_str(&table::header("", ["KiB", "gzip, KiB", "gzip / plain", "reach"]));
    for (name, (plain, packed), reach) in [
        ("the page", size.page, MAX_FIRST_KIB),
        ("the page and its first terminal", size.terminal, MAX_TERMINAL_KIB),
    ] {
        let cells = [
            format!("{:.1}", kib(plain)),
            marked(kib(packed), reach, 1),
            format!("{:.2}", packed as f64 / plain as f64),
            format!("≤ {reach:.0}"),
        ];
        table::row(text, name, cells);
    }
    text.push('\n');
}

fn times(text: &mut String, plan: &Plan, few: &Times, many: &Times) {
    let agents = plan.sessions * plan.agents;
    let words = format!(
        "### Until it answers\n\n{agents} agents are alive, {} in each session, and work. The time \
         is from the moment the browser begins to open the page: until something is drawn; until \
         every agent is listed, which is when the last of them is clicked; until its task is shown; \
         until its terminal shows the exact screen and takes keys. The median of {} times; *cold* \
         is with an empty cache.\n\n",
        plan.agents, plan.rounds
    );
    text.push_str(&words);
    let count = agents.to_string();
    text.push_str(&table::header("ms", ["1 agent", &count, "ratio", "reach"]));
    for (name, few, many, reach) in [
        ("drawn", &few.drawn, &many.drawn, None),
        ("all agents listed", &few.listed, &many.listed, None),
        ("all agents listed, cold", &few.listed_cold, &many.listed_cold, None),
        ("a click answered", &few.answered, &many.answered, Some(MAX_ANSWER_MS)),
        ("its terminal attached", &few.attached, &many.attached, None),
    ] {
        let (few, many) = (median(few), median(many));
        let ratio = many / few;
        let cells = [
            format!("{few:.0}"),
            reach.map_or_else(|| format!("{many:.0}"), |reach| marked(many, reach, 0)),
            format!("{ratio:.2}"),
            reach.map(|reach| format!("≤ {reach:.0}")).unwrap_or_default(),
        ];
        table::row(text, name, cells);
    }
    text.push('\n');
}

fn kept(text: &mut String, plan: &Plan, looks: &[Look]) {
    let words = format!(
        "### What it keeps\n\n{} agents talk without end, about twice a second each. Somebody \
         walks through the page once in every {} seconds, to terminals, output, facts, adapters \
         and the overview, and stays at the session, where as many terminals live as may. *Heap* \
         is what scripts use once everything unused was thrown away; *process* is what the page's \
         process has for itself, which also holds screens and pictures, and what the browser does \
         not give back at once.\n\n",
        plan.chatty,
        plan.step.as_secs()
    );
    text.push_str(&words);
    text.push_str(&table::header("after", ["heap, MiB", "nodes", "listeners", "process, MiB"]));
    for look in looks {
        let cells = [
            format!("{:.2}", kib(look.heap) / 1024.0),
            look.nodes.to_string(),
            look.listeners.to_string(),
            format!("{:.0}", kib(look.process) / 1024.0),
        ];
        table::row(text, &format!("{} s", look.after.as_secs()), cells);
    }
    let (Some(begin), Some(end)) = (looks.first(), looks.last()) else { return };
    let ratio = |of: fn(&Look) -> u64| of(end) as f64 / of(begin) as f64;
    let cells = [
        marked(ratio(|look| look.heap), MAX_MEMORY_GROWTH, 2),
        marked(ratio(|look| look.nodes), MAX_MEMORY_GROWTH, 2),
        marked(ratio(|look| look.listeners), MAX_MEMORY_GROWTH, 2),
        format!("{:.2}", ratio(|look| look.process)),
    ];
    table::row(text, "last / first", cells);
    let words = format!(
        "\nThe mark: at the end at most {MAX_MEMORY_GROWTH} times what there was at the beginning. What \
         misses a mark is bold.\n"
    );
    text.push_str(&words);
}

/// A number, bold where it is above its mark.
fn marked(number: f64, reach: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if number > reach { format!("**{text}**") } else { text }
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
