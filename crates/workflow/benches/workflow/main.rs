//! What deciding costs: steps per second through decide and fold with nothing around them, and
//! folding a journal again. Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench workflow                      measure and write docs/benchmarks.md
//! cargo xtask bench workflow -- --write PATH      write another file; PATH counts from the root
//! cargo xtask bench workflow -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]
#![expect(clippy::cast_precision_loss, reason = "nothing measured here comes near 2^52")]

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use coven_model::event::SessionEvent;
use coven_model::{JobOutcome, ProcessEnding, SessionId, Timestamp, WorkflowStatus};
use coven_notation::SourceFile;
use coven_testkit::bench::{arguments, machine, table};
use coven_workflow::input::SessionSpec;
use coven_workflow::{
    CheckEnvironment, Command, SessionInput, State, WorkflowPlan, check, decide, fold, fold_all,
};
use serde_json::Map;

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let sizes: &[usize] = if arguments.quick { &[100, 1000] } else { &[100, 1000, 5000] };
    let items: &[usize] = if arguments.quick { &[1000] } else { &[1000, 10_000] };
    let mut section = format!(
        "## Workflow\n\nWritten by `cargo xtask bench workflow`. {}Deciding and folding alone, no disk and no process.\n\n",
        machine::sentence()
    );
    let columns = ["facts", "decide + fold", "steps/s", "folding it again", "facts/s"];
    section.push_str(&table::header("run", columns));
    for &steps in sizes {
        row(&mut section, &format!("{steps} scripts in a row"), steps, &sequence(steps))?;
    }
    for &items in items {
        row(&mut section, &format!("a fan-out of {items}"), items, &fan_out(items))?;
    }
    print!("{section}");
    arguments.publish(&section).map(drop)
}

fn sequence(steps: usize) -> String {
    let mut text = "name: sequence\ndescription: Scripts in a row.\nsteps:\n".to_owned();
    for step in 0..steps {
        writeln!(
            text,
            "  - {{name: step-{step}, type: script, command: \"true\", output: out_{step}}}"
        )
        .ok();
    }
    text
}

fn fan_out(items: usize) -> String {
    let list: Vec<usize> = (0..items).collect();
    format!(
        "name: fan-out\ndescription: Many at once.\nsteps:\n  - {{name: work, type: parallel-agents, adapter: demo, mode: headless, for_each: {list:?}, prompt: \"say ${{item}}\", output: results}}\n"
    )
}

fn row(section: &mut String, name: &str, steps: usize, definition: &str) -> io::Result<()> {
    let checked =
        check(&SourceFile::new("bench.yaml", definition), &CheckEnvironment::new(["demo"]));
    let plan = checked.plan.ok_or_else(|| {
        io::Error::other(format!("the definition is wrong: {:?}", checked.problems))
    })?;
    let (facts, took) = run(plan)?;
    let begun = Instant::now();
    let state = fold_all(State::default(), &facts);
    let again = begun.elapsed();
    if state.status() != WorkflowStatus::Completed {
        return Err(io::Error::other(format!("the run ended as {}", state.status())));
    }
    let rate = |count: usize, took: Duration| format!("{:.0}", count as f64 / took.as_secs_f64());
    let ms = |took: Duration| format!("{:.1} ms", took.as_secs_f64() * 1e3);
    let cells =
        [facts.len().to_string(), ms(took), rate(steps, took), ms(again), rate(facts.len(), again)];
    table::row(section, name, cells);
    Ok(())
}

/// Runs a plan to its end; every job succeeds at once.
fn run(plan: WorkflowPlan) -> io::Result<(Vec<SessionEvent>, Duration)> {
    let session =
        SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").map_err(io::Error::other)?;
    let creation = SessionSpec {
        repository: None,
        no_trees: None,
        session,
        name: "brisk-otter".to_owned(),
        plan,
        input: Map::new(),
        goal: None,
        base_dir: None,
        auto: None,
        cause: None,
    };
    let mut inputs = std::collections::VecDeque::from([
        SessionInput::Create(Box::new(creation)),
        SessionInput::Begin,
    ]);
    let (mut state, mut facts, mut now) = (State::default(), Vec::new(), 0);
    let begun = Instant::now();
    while let Some(input) = inputs.pop_front() {
        now += 1;
        let (events, commands) = decide(&state, input, Timestamp::from_millis(now));
        for event in events {
            state = fold(state, &event);
            facts.push(event);
        }
        for command in commands {
            if let Command::Start(spec) = command {
                let job = spec.job.attempt;
                inputs.push_back(SessionInput::Started(job.clone()));
                inputs.push_back(SessionInput::Ended { job, outcome: Box::new(succeeded()) });
            }
        }
    }
    Ok((facts, begun.elapsed()))
}

fn succeeded() -> JobOutcome {
    let ending = ProcessEnding::Exited { code: 0 };
    let outcome = JobOutcome::new(true, ending, "it ended with exit code 0");
    JobOutcome { output: Some("done".to_owned()), ..outcome }
}
