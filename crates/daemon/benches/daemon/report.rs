//! The section of docs/benchmarks.md.

use std::time::Duration;

use coven_testkit::bench::{machine, table};

use crate::{Plan, Times, followers, idle, questions, sessions};

pub(crate) fn section(
    plan: &Plan,
    questions: &questions::Measured,
    polling: Option<&questions::Measured>,
    attaching: &Times,
    sessions: &sessions::Measured,
    followers: &[followers::Measured],
    idle: &idle::Measured,
) -> String {
    let mut text = format!(
        "## Daemon\n\nWritten by `cargo xtask bench daemon`. {}The load of the machine (the mean \
         of the last fifteen minutes) was {}.\n\n",
        machine::sentence(),
        load()
    );
    ask(&mut text, plan, questions, polling);
    times(&mut text, plan, attaching, sessions);
    follow(&mut text, followers);
    idling(&mut text, plan, idle);
    text
}

fn ask(
    text: &mut String,
    plan: &Plan,
    questions: &questions::Measured,
    polling: Option<&questions::Measured>,
) {
    let words = format!(
        "### From a question on a screen to an event at a client\n\n{} agents at once under \
         holders, each flooding its terminal and asking {} times at random moments. The time is \
         from right before the agent writes its question to the event, durable and parsed, in a \
         client of `GET /events`. *tmux* is the same agents in panes of one server whose screens \
         are captured every 500 ms, as tools do that are built on it.\n\n",
        plan.agents, plan.questions
    );
    text.push_str(&words);
    text.push_str(&table::header(
        "who sees it",
        ["asked", "seen", "seen twice", "p50", "p99", "longest"],
    ));
    let mut row = |name: &str, measured: &questions::Measured| {
        table::row(
            text,
            name,
            [
                measured.asked.to_string(),
                measured.delays.0.len().to_string(),
                measured.doubled.to_string(),
                millis(measured.delays.at(0.5)),
                millis(measured.delays.at(0.99)),
                millis(measured.delays.at(1.0)),
            ],
        );
    };
    row("a client of the daemon", questions);
    if let Some(polling) = polling {
        row("tmux every 500 ms", polling);
    }
    text.push_str("\nThe mark: p50 at most 25 ms, p99 at most 60 ms.\n\n");
}

fn times(text: &mut String, plan: &Plan, attaching: &Times, sessions: &sessions::Measured) {
    let words = format!(
        "### Attaching, starting, listing\n\nAttaching is from opening the connection to having \
         the exact screen, {} times. The rest is with {} sessions in one folder, in memory.\n\n",
        plan.attaches, plan.sessions
    );
    text.push_str(&words);
    text.push_str(&table::header("what", ["p50", "p99", "reach"]));
    let mut row = |name: &str, p50: Duration, p99: Duration, reach: &str| {
        table::row(text, name, [millis(p50), millis(p99), reach.to_owned()]);
    };
    row("attach to the exact screen", attaching.at(0.5), attaching.at(0.99), "< 50 ms");
    row("start: the first answer", sessions.answers, sessions.answers, "< 300 ms");
    row("start: the first list of everything", sessions.knows, sessions.knows, "");
    row(
        "`GET /workflows`, a page of 100",
        sessions.list.at(0.5),
        sessions.list.at(0.99),
        "< 50 ms",
    );
    let long = &sessions.long_list;
    row("`GET /workflows?limit=1000`", long.at(0.5), long.at(0.99), "");
    text.push('\n');
}

fn follow(text: &mut String, followers: &[followers::Measured]) {
    text.push_str(
        "### Followers\n\nAll follow `GET /events` while one run of many small steps goes on, \
         each a process under a holder; then all have the facts of that run replayed at once. \
         Clients and daemon share the machine. *CPU* is that of the daemon, for the run with \
         everything it does.\n\n",
    );
    text.push_str(&table::header(
        "followers",
        ["facts", "run", "events/s", "CPU", "replay", "events/s", "CPU per event"],
    ));
    for measured in followers {
        let events = (measured.followers * measured.facts) as f64;
        let rate = |time: Duration| format!("{:.0}", events / time.as_secs_f64());
        table::row(
            text,
            &measured.followers.to_string(),
            [
                measured.facts.to_string(),
                format!("{:.2} s", measured.live.as_secs_f64()),
                rate(measured.live),
                format!("{:.2} s", measured.live_cpu.as_secs_f64()),
                format!("{:.2} s", measured.replay.as_secs_f64()),
                rate(measured.replay),
                format!("{:.1} µs", measured.replay_cpu.as_secs_f64() * 1e6 / events),
            ],
        );
    }
    text.push('\n');
}

fn idling(text: &mut String, plan: &Plan, idle: &idle::Measured) {
    let words = format!(
        "### Idle agents\n\n{} agents at their prompts, each a shell under a holder; memory is \
         what is shared with nobody.\n\n",
        plan.idle
    );
    text.push_str(&words);
    text.push_str(&table::header(
        "idle agents",
        ["all started in", "daemon, CPU of a core", "daemon, KiB each", "holder, KiB each"],
    ));
    table::row(
        text,
        &plan.idle.to_string(),
        [
            format!("{:.1} s", idle.started.as_secs_f64()),
            format!("{:.2} %", idle.cpu * 100.0),
            format!("{:.0}", idle.daemon),
            format!("{:.0}", idle.holder),
        ],
    );
    text.push_str("\nThe mark for 1,000: at most 1 % of a core, 200 KiB and 300 KiB each.\n");
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().nth(2).unwrap_or("not known").to_owned()
}
