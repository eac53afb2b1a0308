//! `cargo xtask soak`: the survival tests, again and again and with more output. The test command
//! runs the same ones a few times each.

use crate::browser;
use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often hostile processes are stopped and holders killed
    #[arg(long, value_name = "N", default_value_t = 200)]
    stops: u32,
    /// How often a creator is killed during a flood of output
    #[arg(long, value_name = "N", default_value_t = 50)]
    floods: u32,
    /// How much output a flood is
    #[arg(long, value_name = "BYTES", default_value_t = 200_000_000)]
    bytes: u64,
    /// Leave out killing the keeper of a session after each of its records
    #[arg(long)]
    no_records: bool,
    /// How often the keeper of a session is killed at a random moment
    #[arg(long, value_name = "N", default_value_t = 300)]
    kills: u32,
    /// How often the daemon is killed under working agents
    #[arg(long, value_name = "N", default_value_t = 100)]
    daemons: u32,
    /// How many agents work under it
    #[arg(long, value_name = "N", default_value_t = 20)]
    agents: u32,
    /// What the random moments come from; the clock when left out
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many made-up programs are answered, whose received bytes are held against the answers
    #[arg(long, value_name = "N", default_value_t = 300)]
    programs: u32,
    /// How many agents of five kinds ask and are told something at the same time, answered by
    /// commands, on the page, over the API and by rules
    #[arg(long, value_name = "N", default_value_t = 30)]
    team: u32,
    /// How often each of them asks and is told something
    #[arg(long, value_name = "N", default_value_t = 67)]
    rounds: u32,
    /// How often the daemon is killed while an agent asks in its own protocol
    #[arg(long, value_name = "N", default_value_t = 200)]
    asking: u32,
    /// How many items the large fan-out has
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    items: u32,
}

const STOPS: &[&str] = &[
    "survival::hostile_children_never_survive_a_stop",
    "survival::a_killed_holder_leaves_nothing_after_adoption",
];

const FLOODS: &[&str] = &["survival::a_creator_killed_during_a_flood_loses_nothing"];

const RECORDS: &[&str] = &[
    "killed::a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been",
    "killed::the_demo_killed_at_any_record_ends_as_if_it_had_not_been",
    "killed::a_conversation_killed_at_any_record_hears_every_message_once",
    "killed::trees::a_team_in_trees_killed_at_any_record_lands_everything_and_touches_nothing_else",
];

const MOMENTS: &[&str] =
    &["killed::a_run_that_is_killed_again_and_again_at_random_moments_ends_as_if_it_had_not_been"];

const DAEMONS: &[&str] =
    &["chaos::agents_outlive_a_daemon_that_dies_again_and_again_and_nothing_is_lost_or_repeated"];

const ASKING: &[&str] =
    &["spoken::an_approval_that_is_open_when_the_daemon_is_killed_is_answered_once"];

const TEAM: &[&str] = &["team::every_question_is_decided_once_and_everything_said_is_read_once"];

const ITEMS: &[&str] =
    &["fan_out::a_fan_out_over_hundreds_of_items_gives_a_result_for_each_in_order"];

const PROGRAMS: &[&str] =
    &["received::the_bytes_an_agent_receives_are_exactly_the_answers_given_once_each_in_order"];

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    repeat(STOPS, args.stops, args.bytes)?;
    repeat(FLOODS, args.floods, args.bytes)?;
    if !args.no_records {
        eprintln!("== a kill at every record");
        orchestrate(RECORDS, &[("COVEN_TEST_EVERY_RECORD", "1".to_owned())])?;
    }
    if args.kills > 0 {
        eprintln!("== {} kills at random moments", args.kills);
        let seed = args.seed.map(|seed| ("COVEN_TEST_SEED", seed.to_string()));
        let kills = ("COVEN_TEST_KILLS", args.kills.to_string());
        let variables: Vec<_> = std::iter::once(kills).chain(seed).collect();
        orchestrate(MOMENTS, &variables)?;
    }
    if args.items > 0 {
        eprintln!("== {} agents in one step", args.items);
        orchestrate(ITEMS, &[("COVEN_TEST_ITEMS", args.items.to_string())])?;
    }
    if args.programs > 0 {
        eprintln!("== {} programs answered", args.programs);
        let seed = args.seed.map(|seed| ("COVEN_SOAK_SEED", seed.to_string()));
        let programs = ("COVEN_SOAK_PROGRAMS", args.programs.to_string());
        let variables: Vec<_> = std::iter::once(programs).chain(seed).collect();
        alone(&["--package", "coven-runner", "--test", "runner"], PROGRAMS, &variables)?;
    }
    if args.asking > 0 {
        eprintln!("== {} daemons killed while an agent asks", args.asking);
        let seed = args.seed.map(|seed| ("COVEN_SOAK_SEED", seed.to_string()));
        let kills = ("COVEN_SOAK_KILLS", args.asking.to_string());
        let variables: Vec<_> = std::iter::once(kills).chain(seed).collect();
        alone(&["--package", "coven-daemon", "--test", "daemon"], ASKING, &variables)?;
    }
    if args.team > 0 {
        team(args)?;
    }
    if args.daemons > 0 {
        eprintln!("== {} daemons killed under {} agents", args.daemons, args.agents);
        let seed = args
            .seed
            .map(|seed| ("COVEN_SOAK_SEED", u32::try_from(seed).unwrap_or(u32::MAX).to_string()));
        let kills = ("COVEN_SOAK_KILLS", args.daemons.to_string());
        let agents = ("COVEN_SOAK_AGENTS", args.agents.to_string());
        let variables: Vec<_> = [kills, agents].into_iter().chain(seed).collect();
        alone(&["--package", "coven-daemon", "--test", "daemon"], DAEMONS, &variables)?;
    }
    Ok(())
}

/// Agents that ask and are told things all the time, answered from everywhere.
fn team(args: &Args) -> Result<(), Error> {
    eprintln!("== {} agents of five kinds, {} rounds each", args.team, args.rounds);
    browser::arrange()?;
    let build = ["build", "--package", "coven-cli"];
    cargo::run(&build)?;
    let mut variables = vec![
        ("COVEN_SOAK_AGENTS", args.team.to_string()),
        ("COVEN_SOAK_ROUNDS", args.rounds.to_string()),
        ("COVEN_SOAK_KILLS", args.daemons.to_string()),
        ("COVEN_SOAK_PROGRAM", cargo::root().join("target/debug/coven").display().to_string()),
    ];
    variables.extend(args.seed.map(|seed| ("COVEN_SOAK_SEED", seed.to_string())));
    alone(&["--package", "coven-daemon", "--test", "daemon"], TEAM, &variables)
}

fn orchestrate(tests: &[&str], variables: &[(&str, String)]) -> Result<(), Error> {
    alone(&["--package", "coven-orchestrator", "--test", "orchestrator"], tests, variables)
}

/// Runs tests, one after the other and with all they say.
fn alone(binary: &[&str], tests: &[&str], variables: &[(&str, String)]) -> Result<(), Error> {
    let mut line = [&["test"], binary, &["--", "--exact", "--nocapture"]].concat();
    line.extend(["--test-threads", "1"]);
    line.extend(tests);
    let variables = variables.iter().map(|(name, value)| (name, value));
    cargo::finish(&line, cargo::command(&line).envs(variables).status())
}

fn repeat(tests: &[&str], runs: u32, bytes: u64) -> Result<(), Error> {
    if runs == 0 {
        return Ok(());
    }
    let mut line = vec!["test", "--release", "--package", "coven-runtime", "--test", "runtime"];
    line.extend(["--", "--exact", "--nocapture"]);
    line.extend(tests);
    eprintln!("== {runs} runs of {}", tests.join(", "));
    let ended = cargo::command(&line)
        .env("COVEN_SOAK_RUNS", runs.to_string())
        .env("COVEN_SOAK_BYTES", bytes.to_string())
        .status();
    cargo::finish(&line, ended)
}
