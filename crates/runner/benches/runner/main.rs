//! How long a question takes from an agent's paint to our event: twenty agents at once under
//! holders, each flooding its terminal and asking twenty times. Writes its section of
//! docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench runner                      measure and write docs/benchmarks.md
//! cargo xtask bench runner -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench runner -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, io};

use coven_adapters::{AgentAdapter, Options, default_registry};
use coven_runner::{AgentRunner, AgentTask, AnswerAction, RunnerEvent, RunnerUpdate, TaskPlace};
use coven_runtime::hold::HolderDomain;
use coven_testkit::bench::asking::{AGENT, CONFIG};
use coven_testkit::bench::{arguments, machine, table};
use coven_testkit::programs::TestProgram;

struct Plan {
    agents: usize,
    questions: usize,
    flood: usize,
}

/// What came of all agents.
struct Measured {
    plan: Plan,
    delays: Vec<Duration>,
    doubled: usize,
}

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let questions = if arguments.quick { 5 } else { 20 };
    let plan = Plan { agents: 20, questions, flood: 2000 };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = reactor.block_on(measure(plan))?;
    let section = section(&measured);
    print!("{section}");
    arguments.publish(&section).map(drop)
}

async fn measure(plan: Plan) -> io::Result<Measured> {
    let home = coven_testkit::folders::temporary()?;
    let config = home.path().join("config.json");
    std::fs::write(&config, CONFIG)?;
    let options = Options { config_path: Some(config), ..Options::default() };
    let adapter: Arc<dyn AgentAdapter> =
        default_registry().create("painter", options).map_err(io::Error::other)?.into();
    let mut agents = Vec::new();
    for number in 0..plan.agents {
        let folder = home.path().join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        let task = AgentTask::interactive(format!("bench-runner-{number}"), Some(AGENT));
        let place = place(&folder, &plan);
        agents.push(tokio::spawn(follow(adapter.clone(), task, place)));
    }
    let (mut delays, mut doubled) = (Vec::new(), 0);
    for agent in agents {
        let (seen, twice) = agent.await.map_err(io::Error::other)??;
        delays.extend(seen);
        doubled += twice;
    }
    delays.sort_unstable();
    Ok(Measured { plan, delays, doubled })
}

fn place(folder: &Path, plan: &Plan) -> TaskPlace {
    let variable = |name: &str, value: OsString| (OsString::from(name), value);
    TaskPlace {
        domain: Arc::new(HolderDomain::new(TestProgram::Agent.path())),
        cwd: folder.to_owned(),
        env: BTreeMap::from([
            variable("PATH", env::var_os("PATH").unwrap_or_default()),
            variable("HOME", folder.into()),
            variable("LC_ALL", "C".into()),
            variable("QUESTIONS", plan.questions.to_string().into()),
            variable("FLOOD", plan.flood.to_string().into()),
        ]),
        folder: Some(folder.to_owned()),
        inputs: None,
        sandbox: None,
        programs: BTreeMap::new(),
    }
}

/// Answers every question of one agent, and says how late each was seen and how many came twice.
async fn follow(
    adapter: Arc<dyn AgentAdapter>,
    task: AgentTask,
    place: TaskPlace,
) -> io::Result<(Vec<Duration>, usize)> {
    let runner = AgentRunner::start(adapter, task, &place).map_err(io::Error::other)?;
    let mut events = runner.subscribe();
    let (mut delays, mut doubled) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    let y = "y".parse().map_err(|_| io::Error::other("y is no key"))?;
    while let Some(update) = events.next().await {
        match update {
            RunnerUpdate::Event(RunnerEvent::Awaiting(question)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
                let painted = question.excerpt.iter().find_map(|line| painted(line));
                let Some(painted) = painted else { continue };
                if seen.insert(painted) {
                    delays.push(now.saturating_sub(painted));
                } else {
                    doubled += 1;
                }
                // A question that is gone by now shows as one that was never counted again.
                runner.answer(question.digest, AnswerAction::Keys(vec![y])).await.ok();
            }
            RunnerUpdate::Event(RunnerEvent::Done(_)) => break,
            _ => {}
        }
    }
    Ok((delays, doubled))
}

fn painted(line: &str) -> Option<Duration> {
    let number = line.strip_prefix("Approve ")?.split_whitespace().next()?.replace(',', ".");
    Duration::try_from_secs_f64(number.parse().ok()?).ok()
}

fn section(measured: &Measured) -> String {
    let Measured { plan, delays, doubled } = measured;
    let wanted = plan.agents * plan.questions;
    let at = |share: f64| {
        let index = ((delays.len().saturating_sub(1)) as f64 * share).round() as usize;
        delays
            .get(index)
            .map_or_else(|| "-".to_owned(), |delay| format!("{:.1} ms", delay.as_secs_f64() * 1e3))
    };
    let mut text = format!(
        "## Runner\n\nWritten by `cargo xtask bench runner`. {}{} agents at once under holders, \
         each flooding its terminal and asking {} times at random moments; the time is from right \
         before the agent writes its question to the event in another process.\n\n",
        machine::sentence(),
        plan.agents,
        plan.questions
    );
    text.push_str(&table::header(
        "questions",
        ["asked", "seen", "seen twice", "p50", "p99", "longest"],
    ));
    table::row(
        &mut text,
        "twenty flooding agents",
        [
            wanted.to_string(),
            delays.len().to_string(),
            doubled.to_string(),
            at(0.5),
            at(0.99),
            at(1.0),
        ],
    );
    text
}
